import type { Found, Reader, Reading, Sureness } from "./reading.ts";
import { fold } from "./text.ts";

/** What a model says about a slot: the value, and the person's own words that it stands in. */
export interface Proposal {
  /** In any form: `50000`, `"50,000원"`, `"2026-11-23"`. */
  readonly value: unknown;
  /** As the person wrote them; a model may leave them out. */
  readonly words: string | undefined;
}

export type ProposalCheck<Value> =
  | {
      readonly verdict: "agree";
      readonly value: Value;
      /** Of the words; what is not `exact` is asked for again. */
      readonly sure: Sureness;
      readonly others: readonly Value[];
      readonly words: string;
    }
  | {
      /** Model and code read different things: ask, and offer both. */
      readonly verdict: "disagree";
      /** `other-value`, or why the words cannot be taken (`foreign-currency`, `past`, …). */
      readonly because: string;
      readonly read: Value | undefined;
      readonly proposed: Value | undefined;
      readonly words: string;
    }
  | {
      /** Code finds nothing to hold against the proposal: ask before it counts. */
      readonly verdict: "unread";
      readonly because: "no-words" | "not-in-the-message" | "cannot-read-words";
      readonly proposed: Value | undefined;
      readonly words: string;
    };

/**
 * Holds what a model proposes for a slot against what code reads in the words that it quotes. The
 * words must stand in the person's message: a model cannot quote what was not said. Pure.
 *
 *     checkProposal({ value: 50000, words: "5만원씩" }, "엄마랑 아빠한테 5만원씩", moneyReader)
 *     // { verdict: "agree", value: 50000, sure: "exact", … }
 */
export function checkProposal<Value>(
  proposal: Proposal,
  message: string,
  reader: Reader<Value>,
): ProposalCheck<Value> {
  const proposed = valueOf(proposal.value, reader);
  const words = proposal.words?.trim() ?? "";
  if (words === "") return { verdict: "unread", because: "no-words", proposed, words };
  if (!isQuoteOf(words, message)) {
    return { verdict: "unread", because: "not-in-the-message", proposed, words };
  }

  const read = readWords(words, reader);
  if (!read) return { verdict: "unread", because: "cannot-read-words", proposed, words };
  if (!read.ok) {
    return { verdict: "disagree", because: read.because, read: undefined, proposed, words };
  }
  const { value, sure, others } = read;
  if (proposed !== undefined && sameValue(value, proposed)) {
    return { verdict: "agree", value, sure, others, words };
  }
  return proposed !== undefined && others.some((other) => sameValue(other, proposed))
    ? { verdict: "agree", value: proposed, sure, others: [value, ...others], words }
    : { verdict: "disagree", because: "other-value", read: value, proposed, words };
}

/** Whether words stand in a message, however it is spaced and spelt in Unicode. Pure. */
export function isQuoteOf(words: string, message: string): boolean {
  const bare = (text: string): string => fold(text).replaceAll(" ", "");
  return bare(message).includes(bare(words));
}

/** The words as a value, or the one value that stands in them; nothing that is about this kind. */
function readWords<Value>(words: string, reader: Reader<Value>): Reading<Value> | undefined {
  const whole = reader.parse(words);
  if (whole.ok) return whole;

  const inside: readonly Found<Reading<Value>>[] = reader.find(words);
  if (inside.length === 0) return isAboutTheValue(whole.because) ? whole : undefined;
  const [first, ...rest] = inside;
  if (!first?.ok || rest.length === 0) return first;
  const others = rest.flatMap((one) => (one.ok ? [one.value] : []));
  return { ...first, sure: "ambiguous", others };
}

/** `negative` speaks of an amount; `not-an-amount` says that there is none. */
function isAboutTheValue(because: string): boolean {
  return because !== "empty" && !because.startsWith("not-a");
}

/** The proposed value in the reader's form; a number is read as its digits. */
function valueOf<Value>(value: unknown, reader: Reader<Value>): Value | undefined {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") return undefined;
  const read = reader.parse(text);
  return read.ok ? read.value : undefined;
}

function sameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
