import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parse as parseYaml } from "yaml";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { isObject } from "../../kernel/json.ts";
import { readBounded } from "./read-bounded.ts";

export type Node = Readonly<Record<string, unknown>>;

/** A document of OpenAPI 3.0 or 3.1 that is not trusted yet in any part. */
export interface OpenApiDocument {
  readonly root: Node;
  /** Where it was read from; absent: from a file, or given as an object. */
  readonly url?: URL | undefined;
  /** Schemas of 3.0 are a dialect of their own, those of 3.1 are JSON Schema. */
  readonly version: "3.0" | "3.1";
}

/** Bytes of a document. The one of Stripe has 8 MB. */
const MAX_DOCUMENT = 16_777_216;
const READ_MS = 30_000;

/** From an address, a file (its path, or a `file:` URL), or as it is. Throws `OPENAPI_INVALID`. */
export async function readDocument(source: string | URL | object): Promise<OpenApiDocument> {
  const url = urlOf(source);
  const isGiven = typeof source === "object" && !(source instanceof URL);
  const root = isGiven ? source : parsed(await textOf(url ?? source), nameOf(source));
  const version = isObject(root) ? /^3\.[01]/.exec(String(root["openapi"]))?.[0] : undefined;
  if (!isObject(root) || version === undefined) {
    throw invalid(`${nameOf(source)} is no document of OpenAPI 3.0 or 3.1.`);
  }
  return { root, url, version: version as OpenApiDocument["version"] };
}

function urlOf(source: string | URL | object): URL | undefined {
  const text = source instanceof URL ? source.href : source;
  return typeof text === "string" && /^https?:/i.test(text) ? new URL(text) : undefined;
}

/** Without a query: it may hold a secret. */
function nameOf(source: string | URL | object): string {
  const url = urlOf(source);
  if (url) return `${url.origin}${url.pathname}`;
  return typeof source === "string" || source instanceof URL ? String(source) : "The object";
}

async function textOf(source: string | URL | object): Promise<string> {
  if (source instanceof URL && source.protocol !== "file:") return textAt(source);
  const file = source instanceof URL ? fileURLToPath(source) : String(source);
  try {
    const { size } = await stat(file);
    if (size > MAX_DOCUMENT) throw new Error(`it has more than ${MAX_DOCUMENT} bytes`);
    return await readFile(file, "utf8");
  } catch (cause) {
    throw invalid(`${file} cannot be read: ${messageOf(cause)}.`, cause);
  }
}

async function textAt(url: URL): Promise<string> {
  try {
    const response = await fetchAtOrigin(url, { signal: AbortSignal.timeout(READ_MS) });
    const { bytes, isCut } = await readBounded(response, MAX_DOCUMENT);
    if (!response.ok) throw new Error(`it answers ${response.status}`);
    if (isCut) throw new Error(`it has more than ${MAX_DOCUMENT} bytes`);
    return bytes.toString("utf8");
  } catch (cause) {
    throw invalid(`${nameOf(url)} cannot be read: ${messageOf(cause)}.`, cause);
  }
}

function parsed(text: string, name: string): unknown {
  try {
    return /^\s*\{/.test(text) ? JSON.parse(text) : parseYaml(text);
  } catch (cause) {
    throw invalid(`${name} is neither JSON nor YAML: ${messageOf(cause).slice(0, 300)}.`, cause);
  }
}

export function invalid(message: string, cause?: unknown): DureError {
  return new DureError("OPENAPI_INVALID", message, {
    class: "input",
    cause,
    hint: "Give the address, the file or the object of a document of OpenAPI 3.0 or 3.1.",
  });
}
