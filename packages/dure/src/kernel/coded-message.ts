import type { JsonObject } from "./json.ts";

/** What a client needs to say a sentence of the server in words of its own. */
export interface Coded {
  readonly code: string;
  /** What the words need; `{}` when they need nothing. */
  readonly facts: JsonObject;
}

/** A sentence of the server, with its code and facts. */
export interface CodedMessage extends Coded {
  readonly message: string;
}

/** The sentence of a text that may have a code. Pure. */
export function sentenceOf(told: string | CodedMessage): string {
  return typeof told === "string" ? told : told.message;
}

/** The code and the facts of a text; null when it has none. Pure. */
export function codedOf(told: string | CodedMessage): Coded | null {
  return typeof told === "string" ? null : { code: told.code, facts: told.facts };
}
