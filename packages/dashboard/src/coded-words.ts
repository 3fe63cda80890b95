import type { Coded, Json, JsonObject } from "dure/client";

/** A page's words for codes of the server; the facts come with the code. */
export type CodedWords = Readonly<Record<string, (facts: JsonObject) => string>>;

/** The words for a code; undefined where the page has none. Pure. */
export function wordsOf(words: CodedWords, coded: Coded | null | undefined): string | undefined {
  if (coded === null || coded === undefined) return undefined;
  return Object.hasOwn(words, coded.code) ? words[coded.code]?.(coded.facts) : undefined;
}

/** Entries of a list between `mark`s; `none` for an empty one. Pure. */
export function listOr(value: Json | undefined, mark: string, none: string): string {
  return Array.isArray(value) && value.length > 0 ? value.map(factOf).join(mark) : none;
}

/** A fact as it stands in a sentence; entries of a list with commas between them. Pure. */
export function factOf(value: Json | undefined): string {
  if (Array.isArray(value)) return value.map(factOf).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}
