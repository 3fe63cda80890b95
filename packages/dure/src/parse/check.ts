import type { Found, Reader, Reading, Sureness, Understood } from "./reading.ts";
import { fold } from "./text.ts";

/** What a model says about a slot: the value, and the person's own words that it stands in. */
export interface Proposal {
  /** In any form: `50000`, `"50,000원"`, `"2026-11-23"`. */
  readonly value: unknown;
  /** As the person wrote them; a model may leave them out. */
  readonly words: string | undefined;
}

/** A model's proposal held against the person's words. */
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
 * words must stand in the person's message: a model cannot quote what was not said. A proposal
 * without such words is held against the whole message. What code finds in the message has the last
 * word, so that `5만원` quoted out of `15만원` or out of `5만원 말고 7만원` does not count. Pure.
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
  const isQuoted = words !== "" && isQuoteOf(words, message);
  const quoted = isQuoted ? readWords(words, reader) : undefined;
  const read = quoted && !isSilent(quoted) ? quoted : readWords(message, reader);
  if (!read || isSilent(read)) {
    const unquoted = words === "" ? "no-words" : "not-in-the-message";
    return {
      verdict: "unread",
      because: isQuoted ? "cannot-read-words" : unquoted,
      proposed,
      words,
    };
  }
  if (!read.ok) {
    const { because } = read;
    return { verdict: "disagree", because, read: undefined, proposed, words: read.words };
  }
  const said = { words: isQuoted ? words : message, message, reader };
  const agreed = proposed === undefined ? undefined : agreedValue(read, proposed, said);
  if (agreed) return inTheMessage({ verdict: "agree", ...agreed, words }, message, reader);
  return { verdict: "disagree", because: "other-value", read: read.value, proposed, words };
}

/** A message that says nothing of this kind. */
function isSilent(read: Reading<unknown>): boolean {
  return !read.ok && !isAboutTheValue(read.because);
}

interface WordsToRead<Value> {
  readonly words: string;
  readonly message: string;
  readonly reader: Reader<Value>;
}

/** The proposal as the words say it, with how sure they are; undefined where they do not. */
function agreedValue<Value>(
  { value, sure, others }: Understood<Value>,
  proposed: Value,
  said: WordsToRead<Value>,
): Pick<Understood<Value>, "value" | "sure" | "others"> | undefined {
  if (sameValue(value, proposed)) return { value, sure, others };
  if (others.some((other) => sameValue(other, proposed))) {
    return { value: proposed, sure, others: [value, ...others] };
  }
  const found = plainlyFound(proposed, said);
  return found && { value: found.value, sure: "exact", others: [] };
}

/** The proposal, where the message has it by itself inside of the quoted words: 엄마 of 엄마랑. */
function plainlyFound<Value>(
  proposed: Value,
  { words, message, reader }: WordsToRead<Value>,
): Understood<Value> | undefined {
  const found: readonly Reading<Value>[] = reader.find(message);
  return found
    .filter((one) => one.ok)
    .find(
      ({ sure, value, words: said }) =>
        sure === "exact" && sameValue(value, proposed) && isQuoteOf(said, words),
    );
}

/** An agreement as the whole message says it: rougher, in more words, or not at all. */
function inTheMessage<Value>(
  check: Extract<ProposalCheck<Value>, { verdict: "agree" }>,
  message: string,
  reader: Reader<Value>,
): ProposalCheck<Value> {
  const found = reader.find(message).filter((one) => one.ok);
  const [first] = found;
  const { value: proposed } = check;
  if (!first) {
    if (isWhole(check, message, reader)) return check;
    return { verdict: "unread", because: "cannot-read-words", proposed, words: check.words };
  }
  const meant = found.find(({ value, others }) =>
    [value, ...others].some((one) => sameValue(one, proposed)),
  );
  if (!meant) {
    const { words } = check;
    return { verdict: "disagree", because: "other-value", read: first.value, proposed, words };
  }
  if (check.sure !== "exact" || meant.sure === "exact") return { ...check, words: meant.words };
  const others = [meant.value, ...meant.others].filter((one) => !sameValue(one, proposed));
  return { ...check, sure: meant.sure, others, words: meant.words };
}

/** Whether the words are words of the message: 만원 is cut out of the name 김만원. */
function isWhole<Value>(
  { words, value }: { readonly words: string; readonly value: Value },
  message: string,
  reader: Reader<Value>,
): boolean {
  if (reader.find === findsNothing || words === "" || beginsAWord(words, message)) return true;
  const whole = reader.parse(message);
  return whole.ok && sameValue(whole.value, value);
}

/** For a reader that looks into no sentence: it has no say about the words around a quote. */
export const findsNothing = (): readonly [] => [];

/** Whether words stand at the beginning of a word, or digits behind letters: 참석자6명. Pure. */
function beginsAWord(words: string, message: string): boolean {
  const line = fold(message);
  const places = [...line.matchAll(/[^ ]/g)].map(({ index }) => index);
  const bare = line.replaceAll(" ", "");
  const wanted = fold(words).replaceAll(" ", "");
  for (let at = bare.indexOf(wanted); at >= 0; at = bare.indexOf(wanted, at + 1)) {
    const place = places[at]!;
    if (!/\p{L}$|\p{N}$/u.test(line.slice(0, place))) return true;
    if (/[가-힣]$/u.test(line.slice(0, place)) && /^\d/.test(wanted)) return true;
  }
  return false;
}

/** Whether words stand in a message, however it is spaced and spelt in Unicode. Pure. */
export function isQuoteOf(words: string, message: string): boolean {
  const bare = (text: string): string => fold(text).replaceAll(" ", "");
  return bare(message).includes(bare(words));
}

/** The words as a value, or the one value that stands in them; nothing that is about this kind. */
function readWords<Value>(words: string, reader: Reader<Value>): Reading<Value> | undefined {
  const inside: readonly Found<Reading<Value>>[] = reader.find(words);
  if (inside.length === 0) {
    const whole = reader.parse(words);
    return whole.ok || isAboutTheValue(whole.because) ? whole : undefined;
  }
  const [first, ...rest] = inside;
  if (!first?.ok || rest.length === 0) return first;
  const others = rest.flatMap((one) => (one.ok ? [one.value] : []));
  return { ...first, sure: "ambiguous", others };
}

/** `negative` speaks of an amount; `not-an-amount` says that there is none. */
function isAboutTheValue(because: string): boolean {
  return because !== "empty" && !because.startsWith("not-a");
}

/** The proposed value in the reader's form; a number is read as its digits, a boolean as its word. */
function valueOf<Value>(value: unknown, reader: Reader<Value>): Value | undefined {
  const isPlain = typeof value === "number" || typeof value === "boolean";
  const text = isPlain ? String(value) : value;
  if (typeof text !== "string") return undefined;
  const read = reader.parse(text);
  return read.ok ? read.value : undefined;
}

/** Names are the same however they are spaced and spelt in Unicode. */
function sameValue(a: unknown, b: unknown): boolean {
  const form = (value: unknown): string => fold(JSON.stringify(value)).replaceAll(" ", "");
  return form(a) === form(b);
}
