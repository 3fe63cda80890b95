import type { Json } from "../../kernel/json.ts";

/**
 * Bytes of UTF-8 of a tool's result that a model reads; JSON counts as written. As much as a message
 * may hold: docs/spec/conversation §6.
 */
const MAX_RESULT = 65_536;

/** A result that fits; of a longer one its beginning, marked as such. Pure. */
export function bounded(result: Json): Json {
  return cutResult(result, MAX_RESULT);
}

/** The same for another number of bytes. Pure. */
export function cutResult(result: Json, most: number): Json {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= most) return result;
  const beginning = Buffer.from(text)
    .subarray(0, most)
    .toString()
    .replace(/\uFFFD+$/u, "");
  return `${beginning}\n[cut: the first ${most} of ${bytes} bytes]`;
}
