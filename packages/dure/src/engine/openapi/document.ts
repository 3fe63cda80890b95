import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parse as parseYaml } from "yaml";
import { systemClock, withTimeout } from "../../kernel/clock.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { isObject } from "../../kernel/json.ts";
import { readBounded } from "./read-bounded.ts";
import { textOf } from "./text-of.ts";

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
  if (typeof source !== "string" && !(source instanceof URL)) return checked(source, "The object");

  const url = URL.parse(source);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const file = url?.protocol === "file:" ? fileURLToPath(url) : String(source);
    return checked(parsed(await textOfFile(file), file), file);
  }
  const name = `${url.origin}${url.pathname}`; // a query may hold a secret
  return { ...checked(parsed(await textAt(url, name), name), name), url };
}

function checked(root: unknown, name: string): OpenApiDocument {
  const version = isObject(root) ? /^3\.[01]/.exec(textOf(root["openapi"]) ?? "")?.[0] : undefined;
  if (!isObject(root) || version === undefined) {
    throw invalid(`${name} is no document of OpenAPI 3.0 or 3.1.`);
  }
  return { root, version: version as OpenApiDocument["version"] };
}

async function textOfFile(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > MAX_DOCUMENT) throw new Error(`it has more than ${MAX_DOCUMENT} bytes`);
    return await readFile(file, "utf8");
  } catch (cause) {
    throw invalid(`${file} cannot be read: ${messageOf(cause)}.`, cause);
  }
}

async function textAt(url: URL, name: string): Promise<string> {
  const late = (): DureError => invalid(`${name} was not read within ${READ_MS} ms.`);
  return withTimeout(systemClock, { ms: READ_MS, signal: undefined }, late, async (signal) => {
    try {
      const response = await fetchAtOrigin(url, { signal });
      const { bytes, isCut } = await readBounded(response, MAX_DOCUMENT);
      if (!response.ok) throw new Error(`it answers ${response.status}`);
      if (isCut) throw new Error(`it has more than ${MAX_DOCUMENT} bytes`);
      return bytes.toString("utf8");
    } catch (cause) {
      throw invalid(`${name} cannot be read: ${messageOf(cause)}.`, cause);
    }
  });
}

function parsed(text: string, name: string): unknown {
  try {
    return /^\s*\{/.test(text) ? JSON.parse(text) : parseYaml(text);
  } catch (cause) {
    throw invalid(`${name} is neither JSON nor YAML: ${messageOf(cause).slice(0, 300)}.`, cause);
  }
}

function invalid(message: string, cause?: unknown): DureError {
  return new DureError("OPENAPI_INVALID", message, {
    class: "input",
    cause,
    hint: "Give the address, the file or the object of a document of OpenAPI 3.0 or 3.1.",
  });
}
