import type { Coded, Json, JsonObject } from "dure/client";

/** Languages of the pages. The words of each are in `words/<language>.yaml`; types are of the first. */
export const LANGUAGES = ["ko", "en"] as const;

export type Language = (typeof LANGUAGES)[number];

/** What a message may be given for one of its names. */
export type Sayable = Json | undefined;

/** A page's words for codes of the server; the facts come with the code. */
export type CodedWords = Readonly<Record<string, string | ((facts: JsonObject) => string)>>;

/** Words as a file has them; in those that are spoken a message with names is a function. */
export interface WordTable {
  readonly [key: string]: string | readonly string[] | WordTable;
}

/** A part of a message: text as it is, or what is said for a name. */
export type Piece = string | Named;

interface Named {
  readonly name: string;
  readonly how: string;
  readonly cases: ReadonlyMap<string, readonly Piece[]>;
}

/** The words of a file, ready to be said. Messages are read when they are first said. */
export function spoken(words: object, language: Language): unknown {
  const entries = Object.entries(words as WordTable).map(([key, word]) => [
    key,
    typeof word === "string" ? spokenMessage(word, language) : spokenTable(word, language),
  ]);
  return Object.fromEntries(entries);
}

function spokenTable(words: readonly string[] | WordTable, language: Language): unknown {
  return Array.isArray(words) ? words : spoken(words, language);
}

function spokenMessage(message: string, language: Language): unknown {
  if (!/\{\w/.test(message)) return message;

  let pieces: readonly Piece[] | undefined;
  return (said: Readonly<Record<string, Sayable>>) =>
    sayAll((pieces ??= piecesOf(message)), said, language);
}

/**
 * The parts of a message. `{name}` is said as it is, `{count, number}` by thousands, `{names, join
 * →}` with a mark between, `{name, 이/가}` with the particle that follows it. `{count, plural, =0 {…}
 * one {…} other {…}}` is said by number, `{name, select, key {…} none {…} other {…}}` by value; what
 * is empty is `none`. A brace before a blank is text.
 */
export function piecesOf(message: string): readonly Piece[] {
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(message);
    at += found?.[0].length ?? 0;
    return found;
  };
  const takePieces = (end: RegExp): readonly Piece[] => {
    const pieces: Piece[] = [];
    while (at < message.length && take(end) === null) {
      const [, name, how = "", close] = take(/\{(\w+)(?:, ([^,{}]+))?(\}|,)/y) ?? [];
      if (name === undefined) pieces.push(take(/.[^{}]*/suy)![0]);
      else pieces.push({ name, how, cases: close === "," ? takeCases() : new Map() });
    }
    return pieces;
  };
  const takeCases = (): Named["cases"] => {
    const cases = new Map<string, readonly Piece[]>();
    for (let key = take(/ ([\w=-]+) \{/y); key !== null; key = take(/ ([\w=-]+) \{/y)) {
      cases.set(key[1]!, takePieces(/\}/y));
    }
    take(/\}/y);
    return cases;
  };

  return takePieces(/$/y);
}

function sayAll(
  pieces: readonly Piece[],
  said: Readonly<Record<string, Sayable>>,
  language: Language,
): string {
  const say = ({ name, how, cases }: Named): string => {
    const value = said[name];
    if (cases.size > 0) {
      const keys = how === "plural" ? countKeys(Number(value), language) : [caseOf(value)];
      const key = [...keys, "other"].find((one) => cases.has(one)) ?? "";
      return sayAll(cases.get(key) ?? [], said, language);
    }
    if (how === "number") return Number(value).toLocaleString(language);
    if (how.startsWith("join ")) return listOf(value, ` ${how.slice("join ".length)} `);

    return how === "" ? factOf(value) : withJosa(factOf(value), how);
  };

  return pieces.map((part) => (typeof part === "string" ? part : say(part))).join("");
}

/** Endings of other words that Korean says with a last consonant: `team`, `stock`, `run-7`. */
const CLOSED = /(?:[lmn]|ng|ck|[aeiou]p|[013678])$/i;

/** A word with that of two Korean particles which follows it: `이/가`. */
function withJosa(word: string, pair: string): string {
  const last = word.codePointAt(word.length - 1) ?? 0;
  const isHangul = last >= 0xac00 && last <= 0xd7a3;
  const isClosed = isHangul ? (last - 0xac00) % 28 > 0 : CLOSED.test(word);

  return word + pair.split("/")[isClosed ? 0 : 1]!;
}

function countKeys(count: number, language: Language): readonly string[] {
  return [`=${count}`, new Intl.PluralRules(language).select(count)];
}

function caseOf(value: Sayable): string {
  const isNone = value === undefined || value === null || value === "";
  return isNone || (Array.isArray(value) && value.length === 0) ? "none" : factOf(value);
}

function listOf(value: Sayable, mark: string): string {
  return Array.isArray(value) ? value.map(factOf).join(mark) : factOf(value);
}

/** A fact as it stands in a sentence; entries of a list with commas between them. Pure. */
function factOf(value: Sayable): string {
  if (Array.isArray(value)) return value.map(factOf).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

/** The words for a code; undefined where the page has none. Pure. */
export function wordsOf(words: CodedWords, coded: Coded | null | undefined): string | undefined {
  if (coded === null || coded === undefined || !Object.hasOwn(words, coded.code)) return undefined;
  const word = words[coded.code];
  return typeof word === "function" ? word(coded.facts) : word;
}
