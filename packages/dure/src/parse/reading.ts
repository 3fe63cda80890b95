/**
 * How sure a reading is.
 *
 * - `exact`: it says one thing.
 * - `approximate`: it is said to be rough (`5만원 정도`, `around 5pm`); ask for the exact value.
 * - `ambiguous`: it can be read in more than one way; `others` has the other readings; ask which.
 * - `partial`: the words around it go on and make another value of it (`5천원 더`, `half of 30,000`);
 *   what they compute is for `deriveAmounts`.
 */
export type Sureness = "exact" | "approximate" | "ambiguous" | "partial";

/** Words that a reader took for a value, and how sure it is. */
export interface Understood<Value> {
  readonly ok: true;
  readonly value: Value;
  readonly sure: Sureness;
  /** What else it may mean, likeliest first; empty unless `sure` is `ambiguous`. */
  readonly others: readonly Value[];
  /** What was read, as it was written. */
  readonly words: string;
}

/** Words that a reader could not take for a value. */
export interface NotUnderstood<Because extends string = string> {
  readonly ok: false;
  /** A reason that a text for people can be found by. */
  readonly because: Because;
  readonly words: string;
}

/** What a reader found in a person's words. */
export type Reading<Value, Because extends string = string> =
  | Understood<Value>
  | NotUnderstood<Because>;

/** A reading inside of a sentence, and the place of its words there. */
export type Found<Read> = Read & { readonly at: number };

/**
 * How values of one kind are read from words. `parse` takes a text that is the value and nothing
 * else (an answer to a question, the words that a model quotes); `find` looks into a sentence. Both
 * are pure, bounded, and never throw.
 */
export interface Reader<Value> {
  readonly parse: (words: string) => Reading<Value>;
  readonly find: (sentence: string) => readonly Found<Reading<Value>>[];
}

/** Characters of a value that is read; what is longer is no value. */
export const LONGEST_VALUE = 80;
/** Characters of a sentence that is looked into; in a longer one nothing is found. */
export const LONGEST_SENTENCE = 1_000;

export function understood<Value>(
  value: Value,
  words: string,
  sure: Sureness = "exact",
  others: readonly Value[] = [],
): Understood<Value> {
  return { ok: true, value, sure, others, words };
}

export function notUnderstood<Because extends string>(
  because: Because,
  words: string,
): NotUnderstood<Because> {
  return { ok: false, because, words };
}
