import { isObject } from "../kernel/json.ts";

/** What PostgreSQL's jsonb refuses although it is JSON: U+0000 and halves of surrogate pairs. */
const REFUSED = /\\u0000|\\ud[89a-f][0-9a-f]{2}/i;

/**
 * JSON text that jsonb takes. U+0000 and lone surrogates, which a model can produce by being cut in
 * mid-character, become U+FFFD, in values and in keys; everything else is kept as it is.
 */
export function storable(value: unknown): string {
  const text = JSON.stringify(value);
  if (!REFUSED.test(text)) return text;
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member === "string") return cleaned(member);
    return isObject(member) ? withCleanedKeys(member) : member;
  });
}

function withCleanedKeys(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [cleaned(key), member]));
}

function cleaned(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}
