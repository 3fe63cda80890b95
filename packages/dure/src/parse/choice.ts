import { answersIn } from "./answer.ts";
import {
  LONGEST_SENTENCE,
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type Found,
  type Reader,
  type Reading,
} from "./reading.ts";
import { takesBack } from "./lexicon/index.ts";
import { fold } from "./text.ts";

/** One of several things, and what people call it in any language. */
export interface NamedOption<Value extends string = string> {
  readonly value: Value;
  readonly names: readonly string[];
}
/** Why words are none of the options. */
export type ChoiceBecause = "empty" | "not-a-choice";
/** One of several options in a person's words. */
export type ChoiceReading<Value extends string = string> = Reading<Value, ChoiceBecause>;

/**
 * For a slot that is one of several things: `체크카드`, `체크 카드로요`, `Debit card`, ` ＶＩＰ `. Two of
 * them in one text are ambiguous; what is said not to be meant (`체크 말고 신용`) is left out.
 */
export function choiceReader<Value extends string>(
  options: readonly NamedOption<Value>[],
): Reader<Value> {
  const known = options.flatMap(({ value, names }) =>
    namesOf(value, names).map((name) => ({ value, pattern: patternOf(name) })),
  );
  const bySpelling = new Map(
    options.flatMap(({ value, names }) =>
      [value, ...names].map((name) => [spellingOf(name), value] as const),
    ),
  );
  return {
    parse: (words) => parseChoice(words, { known, bySpelling }),
    find: (sentence) => findChoices(sentence, known),
  };
}

/** A name as it is compared: however it is spaced, spelt in Unicode and punctuated. Pure. */
export function spellingOf(name: string): string {
  const bare = fold(name).replace(/[\p{Z}\p{P}]/gu, "");
  return bare === "" ? fold(name).trim() : bare;
}

interface KnownName<Value> {
  readonly value: Value;
  readonly pattern: RegExp;
}
interface KnownChoices<Value> {
  readonly known: readonly KnownName<Value>[];
  readonly bySpelling: ReadonlyMap<string, Value>;
}

function parseChoice<Value extends string>(
  text: string,
  { known, bySpelling }: KnownChoices<Value>,
): ChoiceReading<Value> {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-choice", words);
  for (const answer of answersIn(fold(words))) {
    const value = bySpelling.get(spellingOf(answer));
    if (value !== undefined) return understood(value, words);
  }
  const [first, ...others] = findChoices(words, known);
  if (!first) return notUnderstood("not-a-choice", words);
  if (others.length === 0) return understood(first.value, words);
  return understood(
    first.value,
    words,
    "ambiguous",
    others.map(({ value }) => value),
  );
}

type FoundChoice<Value> = Found<Extract<Reading<Value>, { ok: true }>>;

/** Each option once, where it is named first; a name inside of a longer one is none: 카드 of 체크카드. */
function findChoices<Value extends string>(
  sentence: string,
  known: readonly KnownName<Value>[],
): readonly FoundChoice<Value>[] {
  const line = halfWidth(sentence.normalize("NFC"));
  if (line.length > LONGEST_SENTENCE) return [];
  const all = known
    .flatMap(({ value, pattern }) =>
      [...line.matchAll(pattern)].map(({ 0: words, index }) => ({ value, words, at: index })),
    )
    .toSorted((a, b) => a.at - b.at || b.words.length - a.words.length);
  const whole = all.filter((one) => !all.some((other) => isInside(one, other)));
  const named = whole.filter(
    (one, place) => !isRejected(line, one) && !isTakenBack(line, one, whole[place + 1]),
  );
  const values = [...new Set(named.map(({ value }) => value))];
  return values.map((value) => {
    const { words, at } = named.find((one) => one.value === value)!;
    return { ...understood(value, words), at };
  });
}

interface NamePlace {
  readonly at: number;
  readonly words: string;
}

function isInside(one: NamePlace, other: NamePlace): boolean {
  const isShorter = one.words.length < other.words.length;
  return isShorter && one.at >= other.at && one.at < other.at + other.words.length;
}

const REJECTED = new RegExp(
  "^ ?(?:은|는|이|가|을|를|도)? ?(?:말고|아니고|아니라|아닌|아니(?:에|예)요|대신|빼고|제외|싫|없|" +
    "안 ?(?:돼|되|할|써|쓰|해|먹|받)|필요 ?(?:는 ?)?없|(?:필요|원)?하지 ?(?:않|마|말))",
  "u",
);
const REJECTING =
  /(?:instead of|rather than|except(?: for)?|without|\bno|\bnot|n't want) (?:the |an? )?$/iu;

/** 신용 아니 체크로: what stands between says that the first is not meant. */
function isTakenBack(line: string, { at, words }: NamePlace, next: NamePlace | undefined): boolean {
  return next !== undefined && takesBack(line.slice(at + words.length, next.at));
}

function isRejected(line: string, { at, words }: NamePlace): boolean {
  const end = at + words.length;
  return (
    REJECTED.test(line.slice(end, end + 12)) || REJECTING.test(line.slice(Math.max(0, at - 20), at))
  );
}

// --- names in a sentence

/** An option without a name is called by its value. */
function namesOf(value: string, names: readonly string[]): readonly string[] {
  const said = names.filter((name) => spellingOf(name) !== "");
  return said.length > 0 ? said : [value];
}

/** What may follow a Korean name that it is written together with. */
const FOLLOWS =
  "은|는|이|가|을|를|의|로|으로|에|도|만|나|랑|하고|부터|까지|쪽|짜리|요|예요|입니다|인데|인걸|" +
  "할|하|해|한|주|줘|좀|부탁|예약|주문|결제|선택|신청|이용|추천";
const HANGUL_END = `(?=$|[^\\p{L}\\p{N}]|${FOLLOWS})`;
const LATIN_END = "(?:e?s)?(?![a-z0-9])";

/** Characters of a name that is looked for. */
const LONGEST_NAME = 60;

function patternOf(name: string): RegExp {
  const bare = Array.from(spellingOf(name).slice(0, LONGEST_NAME));
  const letters = bare.map((letter) => letter.replace(/[\\^$.*+?()[\]{}|/-]/u, "\\$&"));
  const start = /^[a-z0-9]/u.test(bare[0] ?? "") ? "(?<![a-z0-9])" : "(?<![\\p{L}\\p{N}])";
  const end = /[a-z0-9]$/u.test(bare.at(-1) ?? "") ? LATIN_END : HANGUL_END;
  return new RegExp(`${start}${letters.join("[\\s\\p{P}]{0,2}")}${end}`, "giu");
}

/** Of the same length, so that places in it are places in the sentence. */
function halfWidth(line: string): string {
  return line.replace(/[\uFF01-\uFF5E]/gu, (wide) =>
    String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
  );
}
