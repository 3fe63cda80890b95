import { answersIn } from "./answer.ts";
import { COUNT_SOURCES, numbersOf } from "./number-words.ts";
import { findBy } from "./find-by.ts";
import {
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type Found,
  type Reader,
  type Reading,
} from "./reading.ts";
import { fold } from "./text.ts";

/** Why words are no number. */
export type NumberBecause = "empty" | "not-a-number";
/** A number in a person's words. */
export type NumberReading = Reading<number, NumberBecause>;

/**
 * A number as people say it, with or without what is counted: `3`, `3.5`, `-2`, `12명`, `세 개`,
 * `스물두 살`, `이십삼`, `two`, `a dozen`, `for four people`. Money and times are none. The whole text
 * must be it. Pure.
 */
export function parseNumber(text: string): NumberReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-number", words);

  // What stands around a number may be part of it: 네 of 네 명, 이 of 십이.
  for (const answer of answersIn(fold(words))) {
    const { numbers, isRough } = numbersIn(answer);
    const [value, other] = numbers;
    if (value === undefined) continue;
    if (other !== undefined) return understood(value, words, "ambiguous", [other]);
    return understood(value, words, isRough ? "approximate" : "exact");
  }
  return notUnderstood("not-a-number", words);
}

/** Every number of things in a sentence, in order; not those of days, times, amounts. Pure. */
export function findNumbers(sentence: string): readonly Found<NumberReading>[] {
  return findBy(sentence, CANDIDATE, parseNumber);
}

/** For a slot that is a number. */
export const numberReader: Reader<number> = { parse: parseNumber, find: findNumbers };

// --- what stands around a number

/** Something near it is meant, or a bound. */
const ROUGH: readonly RegExp[] = [
  new RegExp(
    "^(?:약|대략|대충|거의|최소|최대|적어도|많아야|about|around|roughly|approximately|" +
      "at least|at most|up to|more than|less than|over|under|~) ?(?=\\S)",
    "u",
  ),
  /^한 (?=\d)/u,
  new RegExp(
    " ?(?:정도|쯤|가량|남짓|안팎|내외|이상|이하|미만|초과|넘게|or so|or more|or less|or fewer|-?ish)$",
    "u",
  ),
];
const AROUND: readonly RegExp[] = [
  new RegExp(
    "^(?:총|모두|전부|다 해서|합쳐서|합해서|for|a (?:table|party|group) (?:for|of)|party of|" +
      "we are|we're|there (?:are|will be|is)|(?:a )?total of) ?(?=\\S)",
    "u",
  ),
  /(?<=[가-힣]) ?(?:이서|씩|을|를|은|는|만|이)$/u,
];

/** No number has more of them. */
const MOST_AFFIXES = 6;

function numbersIn(answer: string): {
  readonly numbers: readonly number[];
  readonly isRough: boolean;
} {
  let core = answer;
  let isRough = false;
  for (let taken = 0; taken < MOST_AFFIXES; taken++) {
    const numbers = numbersOf(core);
    if (numbers.length > 0) return { numbers, isRough };
    const rough = ROUGH.find((one) => one.test(core));
    const affix = rough ?? AROUND.find((one) => one.test(core));
    if (!affix) break;
    core = core.replace(affix, "").trim();
    isRough ||= rough !== undefined;
  }
  return { numbers: [], isRough };
}

// --- numbers in a sentence

const { digits, korean, things, english, englishThings } = COUNT_SOURCES;
const ROUGHLY = "(?: ?(?:정도|쯤|가량|이상|이하)| or (?:so|more|less))?";
const ENDS =
  "(?=$|[^\\p{L}\\p{N}]|이서|이요|요|입니다|이에요|예요|씩|을|를|은|는|이|만|로|으로|예약|주문|부탁|주세요|줘)";
const NOT_INSIDE = "(?<![\\p{L}\\d.,:/+₩$-])";

const CANDIDATE = new RegExp(
  [
    `${NOT_INSIDE}${korean} ?${things}${ROUGHLY}${ENDS}`,
    `${NOT_INSIDE}${english}(?: |(?<=\\d))${englishThings}(?![a-z\\d])${ROUGHLY}`,
    // Against a word: 참석자6명.
    `(?<=[가-힣])(?<![일이삼사오육칠팔구십백천만])\\d{1,6}${things}${ROUGHLY}${ENDS}`,
    // Alone, where nothing says that it is a day, a time or an amount.
    `${NOT_INSIDE}${digits}(?![\\d:/.,-]| ?[가-힣a-z%₩$])`,
  ].join("|"),
  "giu",
);
