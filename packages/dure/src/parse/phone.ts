import { plainAnswer } from "./answer.ts";
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

/** Digits of a number in Korea (`01012345678`), or E.164 of another country (`+14155550123`). */
export type PhoneNumber = string;
/** Why words are no phone number. `wrong-length`: it begins as one, and digits are missing or too many. */
export type PhoneBecause = "empty" | "not-a-phone" | "wrong-length";
/** A phone number in a person's words. */
export type PhoneReading = Reading<PhoneNumber, PhoneBecause>;

/**
 * A phone number as people write and say it: `010-1234-5678`, `+82 10 1234 5678`, `(02) 123-4567`,
 * `공일공에 일이삼사에 오육칠팔`, `+1 (415) 555-0123`. Without a `+` it is a number in Korea. The whole
 * text must be it. Pure.
 */
export function parsePhone(text: string): PhoneReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-phone", words);

  const core = plainAnswer(fold(words).replace(LEAD, ""));
  const digits = digitsOf(core);
  if (digits === undefined) return notUnderstood("not-a-phone", words);
  const number = nationalOf(digits);
  if (isPhone(number)) return understood(number, words);
  return notUnderstood(BEGINS_AS_ONE.test(number) ? "wrong-length" : "not-a-phone", words);
}

/** Every phone number in a sentence, in order. Pure. */
export function findPhones(sentence: string): readonly Found<PhoneReading>[] {
  return findBy(sentence, CANDIDATE, parsePhone);
}

/** For a slot that is a phone number. */
export const phoneReader: Reader<PhoneNumber> = { parse: parsePhone, find: findPhones };

/** Whether a text is a phone number in its stored form. */
export function isPhone(text: string): boolean {
  return NATIONAL.some(([pattern]) => pattern.test(text)) || FOREIGN.test(text);
}

/** As it is written: `010-1234-5678`. `parsePhone` reads it back. Pure. */
export function formatPhone(number: PhoneNumber): string {
  const place = NATIONAL.find(([pattern]) => pattern.test(number));
  if (!place) return number;
  const [, head] = place;
  const rest = number.slice(head, -4);
  return [number.slice(0, head), rest, number.slice(-4)].filter((part) => part !== "").join("-");
}

/** Numbers in Korea, and how many digits stand before the first dash. */
const NATIONAL: readonly (readonly [pattern: RegExp, head: number])[] = [
  [/^010\d{8}$/u, 3],
  [/^01[16-9]\d{7,8}$/u, 3],
  [/^02\d{7,8}$/u, 2],
  [/^0(?:3[1-3]|4[1-4]|5[1-5]|6[1-4])\d{7,8}$/u, 3],
  [/^0(?:70|80)\d{7,8}$/u, 3],
  [/^050[2-8]\d{7,8}$/u, 4],
  [/^1[568]\d{6}$/u, 4],
];

/** Of other countries: at most 15 digits. Source: ITU-T E.164. */
const FOREIGN = /^\+(?!82)[1-9]\d{6,14}$/u;
const BEGINS_AS_ONE = /^(?:01[016-9]|02|0[3-6]\d|070|080|\+)/u;

/** `+82 (0)10 …` as it is dialled in Korea. */
function nationalOf(digits: string): string {
  return digits.replace(/^(?:\+|00)820?(?=[1-9])/u, "0").replace(/^00(?=[1-9])/u, "+");
}

/** 제 번호는, my number is, call me at. */
const LEAD = new RegExp(
  "^(?:(?:제|내|저희|우리|연락처|전화 ?번호|핸드폰|휴대폰|폰|전화|번호)(?: ?번호)?[은는이가]? |" +
    "(?:(?:my|the) )?(?:phone |mobile |cell )?(?:number )?(?:is |call )?(?:me )?(?:at |on )?(?=[+(\\d]))+",
  "u",
);

const SPOKEN: Readonly<Record<string, string>> = {
  영: "0",
  공: "0",
  일: "1",
  이: "2",
  삼: "3",
  사: "4",
  오: "5",
  육: "6",
  륙: "6",
  칠: "7",
  팔: "8",
  구: "9",
};
const ENGLISH = "zero one two three four five six seven eight nine".split(" ");

/** Digits with a leading `+`, out of digits and of spoken ones; undefined where anything else stands. */
function digitsOf(core: string): string | undefined {
  const written = core
    .replace(new RegExp(`\\b(${ENGLISH.join("|")}|oh)\\b`, "gu"), digitOfWord)
    .replace(/ ?(?:다시|대시|에|의|국에) ?(?=[\d영공일이삼사오육륙칠팔구])/gu, " ")
    .replace(/[영공일이삼사오육륙칠팔구]/gu, (spoken) => SPOKEN[spoken]!)
    .replace(/번$/u, "")
    .replace(/[\s().·/\-‐‑–—−]/gu, "");
  return /^\+?\d{2,20}$/u.test(written) ? written : undefined;
}

function digitOfWord(word: string): string {
  return String(Math.max(0, ENGLISH.indexOf(word)));
}

const GAP = "[ ().·\\-‐‑–—−]{0,3}";
const SAID = "[영공일이삼사오육륙칠팔구]";
const SAID_GAP = "[ ,\\-]{0,2}(?:에|다시)?[ ,]?";

const CANDIDATE = new RegExp(
  [
    `(?<![\\p{L}\\d.,+-])(?:\\+|00)[1-9](?:${GAP}\\d){7,16}(?!\\d)`,
    `(?<![\\d.,+-])\\(?0\\d{1,3}${GAP}\\d{3,4}${GAP}\\d{4}(?![\\d]|[-.]\\d)`,
    `(?<![\\p{L}\\d.,+-])1[568]\\d{2}[- .]?\\d{4}(?![\\d]|[-. ]\\d)`,
    `(?<![가-힣])[영공]${SAID}{1,2}${SAID_GAP}${SAID}{3,4}${SAID_GAP}${SAID}{4}(?!${SAID})`,
  ].join("|"),
  "gu",
);
