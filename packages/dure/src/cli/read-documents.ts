import { lstat, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { textOfHtml } from "../engine/agent/builtin-tools.ts";
import { systemClock, withTimeout } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";

/** A document that was found, not yet read. */
export interface FoundDocument {
  readonly source: string;
  /** Throws `DOCUMENT_TOO_LARGE`, `DOCUMENT_UNREADABLE`. */
  readonly read: () => Promise<string>;
}

/** What was named. */
export interface FoundDocuments {
  readonly documents: readonly FoundDocument[];
  /** Documents whose source begins so, and that are not among these, are gone. Absent: none are. */
  readonly prefix: string | undefined;
}

/** Files of one folder. Source: docs/spec/knowledge §5. */
const MAX_FILES = 5_000;

/** Bytes of one file or page, before its text is taken out of it. */
const MAX_BYTES = 4_194_304;

/** Milliseconds for one page. */
const FETCH_MS = 30_000;

const ENDINGS: ReadonlySet<string> = new Set([".md", ".mdx", ".txt", ".html", ".htm"]);
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules"]);

/**
 * The documents of a folder, a file or an address. Throws `DOCUMENTS_MISSING`, `DOCUMENTS_TOO_MANY`.
 */
export async function findDocuments(place: string): Promise<FoundDocuments> {
  if (/^https?:\/\//iu.test(place)) {
    const page = { source: place, read: () => readPage(place) };
    return { documents: [page], prefix: undefined };
  }

  const at = path.resolve(place);
  const found = await lstat(at).catch((error: unknown) => {
    throw unreadable("DOCUMENTS_MISSING", place, error);
  });
  if (!found.isDirectory()) {
    const source = place.split(path.sep).join("/");
    return { documents: [fileOf(at, source)], prefix: undefined };
  }

  const prefix = `${path.basename(at)}/`;
  const files = await filesIn(at, place);
  const documents = files.map((file) => {
    const relative = path.relative(at, file).split(path.sep).join("/");
    return fileOf(file, prefix + relative);
  });

  return { documents, prefix };
}

function fileOf(at: string, source: string): FoundDocument {
  return { source, read: () => readText(at, source) };
}

/** In the order of their names. Links are not followed, hidden folders not entered. */
async function filesIn(folder: string, named: string): Promise<readonly string[]> {
  const found: string[] = [];
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const entries = await readdir(next, { withFileTypes: true });
    for (const entry of entries) {
      const at = path.join(next, entry.name);
      if (entry.name.startsWith(".") || LEFT_OUT.has(entry.name)) continue;
      if (entry.isDirectory()) waiting.push(at);
      if (entry.isFile() && ENDINGS.has(path.extname(entry.name).toLowerCase())) found.push(at);
    }
    if (found.length > MAX_FILES) {
      throw new DureError("DOCUMENTS_TOO_MANY", `${named} has more than ${MAX_FILES} documents.`, {
        class: "input",
        hint: "Add its folders one by one.",
      });
    }
  }

  return found.toSorted();
}

async function readText(at: string, source: string): Promise<string> {
  try {
    const { size } = await lstat(at);
    if (size > MAX_BYTES) throw tooLarge(source);

    return textIn(await readFile(at), { isHtml: /\.html?$/iu.test(at), source });
  } catch (error) {
    if (error instanceof DureError) throw error;
    throw unreadable("DOCUMENT_UNREADABLE", source, error);
  }
}

async function readPage(url: string): Promise<string> {
  const late = (): Error => new Error(`it took more than ${FETCH_MS / 1_000} s`);
  try {
    return await withTimeout(systemClock, FETCH_MS, late, (signal) => fetchText(url, signal));
  } catch (error) {
    if (error instanceof DureError) throw error;
    throw unreadable("DOCUMENT_UNREADABLE", url, error);
  }
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  const type = answer.headers.get("content-type") ?? "";
  if (!/^text\/|json|markdown/u.test(type)) throw new Error(`it is ${type || "of no type"}`);

  return textIn(await bytesOf(answer, url), { isHtml: /html/u.test(type), source: url });
}

async function bytesOf(answer: Response, url: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.byteLength;
    if (size > MAX_BYTES) throw tooLarge(url);
    parts.push(part);
  }

  return Buffer.concat(parts);
}

function textIn(bytes: Buffer, of: { isHtml: boolean; source: string }): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return of.isHtml ? textOfHtml(text) : text;
  } catch {
    throw new DureError("DOCUMENT_UNREADABLE", `${of.source} is not UTF-8 text.`, {
      class: "input",
      hint: "Save it as UTF-8, or leave it out.",
    });
  }
}

function tooLarge(source: string): DureError {
  return new DureError("DOCUMENT_TOO_LARGE", `${source} has more than ${MAX_BYTES} bytes.`, {
    class: "input",
    hint: "Split it, or leave it out.",
  });
}

function unreadable(code: string, source: string, cause: unknown): DureError {
  return new DureError(code, `${source} cannot be read: ${messageOf(cause)}.`, {
    class: "input",
    hint: "Name a folder, a file or an address that begins with https://.",
    cause,
  });
}
