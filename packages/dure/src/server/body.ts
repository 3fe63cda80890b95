import type { FastifyInstance, FastifyRequest } from "fastify";
import { DureError, messageOf } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import { fieldError } from "./problem.ts";

/** Levels of arrays and objects in one body; far above any form, far below the stack. */
const MAX_DEPTH = 32;
/** Half a character, or U+0000: neither can be stored as it was sent, and nothing is replaced silently. */
const UNSTORABLE = /[\p{Surrogate}\u0000]/u;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** JSON from the bytes of a body. Throws `BODY_INVALID` for broken UTF-8, broken JSON, text that cannot be stored, too deep nesting. */
function parseJsonBody(bytes: Uint8Array): unknown {
  const value = parse(decode(bytes));
  assertStorable(value, "", 0);
  return value;
}

/** Makes `parseJsonBody` the only way a body comes in. */
export function useStrictJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, async (request: FastifyRequest, bytes: Buffer) => {
    if (request.headers["content-encoding"] !== undefined) {
      throw new DureError("CONTENT_TYPE_UNSUPPORTED", `Content-Encoding ${request.headers["content-encoding"]} is not accepted.`, {
        class: "input",
        hint: "Send the body uncompressed.",
      });
    }
    return parseJsonBody(bytes);
  });
}

/** Throws `QUERY_INVALID` when the query holds broken percent-encoding, broken UTF-8 or U+0000: a lenient parser would hand on other text than was sent. */
export function assertQueryDecodes(url: string): void {
  const query = url.indexOf("?");
  if (query < 0) return;
  let decoded: string;
  try {
    decoded = decodeURIComponent(url.slice(query + 1).replaceAll("+", " "));
  } catch (cause) {
    throw new DureError("QUERY_INVALID", "The query is not percent-encoded UTF-8.", { class: "input", hint: "Encode it with encodeURIComponent.", cause });
  }
  if (decoded.includes("\u0000")) throw new DureError("QUERY_INVALID", "The query holds U+0000.", { class: "input" });
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new DureError("BODY_INVALID", "The body is not valid UTF-8.", { class: "input", hint: "Encode the JSON as UTF-8.", cause });
  }
}

function parse(text: string): unknown {
  if (text.trim() === "") throw new DureError("BODY_INVALID", "The body is empty.", { class: "input", hint: "Send a JSON object." });
  try {
    return JSON.parse(text);
  } catch (cause) {
    // V8 quotes the text around the mistake; a person's words do not belong into logs, so only the position is told.
    const position = /position \d+/.exec(messageOf(cause))?.[0];
    throw new DureError("BODY_INVALID", `The body is not valid JSON${position ? ` (${position})` : ""}.`, { class: "input" });
  }
}

function assertStorable(value: unknown, path: string, depth: number): void {
  if (typeof value === "string") {
    if (UNSTORABLE.test(value)) throw fieldError("BODY_INVALID", path, "holds U+0000 or half of a surrogate pair");
    return;
  }
  if (!Array.isArray(value) && !isObject(value)) return;
  if (depth >= MAX_DEPTH) throw fieldError("BODY_INVALID", path, `is nested deeper than ${MAX_DEPTH} levels`);
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__" || UNSTORABLE.test(key)) throw fieldError("BODY_INVALID", path, "holds a key that cannot be stored");
    assertStorable(member, path === "" ? key : `${path}.${key}`, depth + 1);
  }
}
