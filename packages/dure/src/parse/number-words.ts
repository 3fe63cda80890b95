/** Numbers in words, and what is counted with them: `스물두 살`, `이십삼`, `a dozen`, `세 개 반`. */

import { readByTheLetter } from "./money/amount.ts";
import { readEnglishAmount } from "./money/english-number.ts";

/** What Koreans count; the longer of two that begin alike stands first. */
const THINGS =
  "명|사람|인분|인|개월|개|잔|병|권|장|마리|대|회|차례|살|세|층|박|일간|주간|년간|시간|분간|초|" +
  "킬로그램|킬로|그램|미터|리터|퍼센트|프로|도|평|점|건|가지|종류|쪽|페이지|채|그루|송이|켤레|벌|자루|" +
  "통|봉지|봉|박스|상자|세트|팩|묶음|줄|판|조각|모|단|알|정|군데|곳|팀|쌍|커플|자리|좌석|석|매|부|편|곡";
/** These count too, and name days, times and addresses in a sentence. */
const THINGS_OR_DAYS = "분|일|주일|주|달|년|호|번";
const ENGLISH_THINGS =
  "people|persons?|guests?|adults?|kids?|children|child|pax|items?|pieces?|pcs|cups?|bottles?|" +
  "books?|tickets?|rooms?|nights?|days?|weeks?|months?|years?(?: old)?|hours?|minutes?|mins?|" +
  "times?|seats?|tables?|boxes|box|sets?|packs?|units?|copies|copy|of (?:us|them)|points?|pages?|" +
  "percent|degrees?|kgs?|kilos?|grams?|g|meters?|metres?|km|cm|mm|m|lit(?:er|re)s?|l|ml|%";

const TENS = "열 스물 서른 마흔 쉰 예순 일흔 여든 아흔".split(" ");
const ONES = "하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉".split(" ");
/** As they stand before what is counted. */
const BEFORE_A_THING: Readonly<Record<string, string>> = {
  한: "하나",
  두: "둘",
  세: "셋",
  석: "셋",
  네: "넷",
  넉: "넷",
};
const NATIVE =
  `(?:(?:${TENS.join("|")}|스무)(?:${[...ONES, ...Object.keys(BEFORE_A_THING)].join("|")})?|` +
  `${[...ONES, ...Object.keys(BEFORE_A_THING)].join("|")})`;
const SINO = "[영공일이삼사오육칠팔구십백천만억]{1,12}";
const DIGITS = "[-−]?(?:\\d{1,3}(?:,\\d{3})+|\\d{1,15})(?:\\.\\d{1,6})?";
const ENGLISH =
  "(?:an?(?: (?:dozen|hundred))?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|" +
  "(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty" +
  "(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)";

/** 서너 명: one of two. */
const EITHER: Readonly<Record<string, readonly [number, number]>> = {
  한두: [1, 2],
  두세: [2, 3],
  서너: [3, 4],
  세네: [3, 4],
  너댓: [4, 5],
  네댓: [4, 5],
  대여섯: [5, 6],
  예닐곱: [6, 7],
};

/** By which a number of things is found in a sentence. */
export const COUNT_SOURCES = {
  digits: DIGITS,
  korean: `(?:${DIGITS}|${Object.keys(EITHER).join("|")}|${NATIVE}|${SINO})`,
  things: `(?:${THINGS})`,
  english: `(?:${DIGITS}|${ENGLISH})`,
  englishThings: `(?:${ENGLISH_THINGS})`,
} as const;

const COUNTED = new RegExp(
  `^(?<number>.{1,40}?) ?(?:(?<thing>${THINGS}|${THINGS_OR_DAYS})|` +
    `(?:(?<= )|(?<=\\d))(?:${ENGLISH_THINGS}))$`,
  "u",
);
const TWO = /^(.{1,12}?) ?(?:~|-|–|에서|이나|나|또는|혹은|아니면| to | or ) ?(.{1,20})$/u;

/**
 * The number in folded words, with or without what is counted; two where either may be meant; none
 * where it is none. Pure.
 */
export function numbersOf(core: string): readonly number[] {
  const one = numberOf(core);
  if (one !== undefined) return [one];
  const counted = COUNTED.exec(core)?.groups;
  const either = counted?.["number"]?.trim() ?? core;
  return Object.hasOwn(EITHER, either) ? EITHER[either]! : twoNumbersOf(core);
}

/** 3~4명, three to four: the first may borrow what is counted from the second. */
function twoNumbersOf(core: string): readonly number[] {
  const [, low = "", high = ""] = TWO.exec(core) ?? [];
  const upper = numberOf(high);
  const thing = COUNTED.exec(high)?.groups?.["thing"] ?? "";
  const lower = numberOf(low) ?? numberOf(`${low}${thing}`);
  return lower === undefined || upper === undefined ? [] : [lower, upper];
}

function numberOf(core: string): number | undefined {
  const plain = signed(core, false);
  if (plain !== undefined) return plain;
  const number = COUNTED.exec(core)?.groups?.["number"];
  return number === undefined ? undefined : signed(number.trim(), true);
}

const SIGN = /^(?:[-−]|마이너스 ?|영하 ?|minus )(?=\S)/u;

function signed(text: string, isCounted: boolean): number | undefined {
  const bare = text.replace(SIGN, "");
  const value = positive(bare, isCounted);
  return value !== undefined && bare !== text ? -value : value;
}

const PLAIN = new RegExp(`^${DIGITS.slice("[-−]?".length)}$`, "u");
const HALF = /^(?:(.{1,20}?) ?반|(.{1,20}) and a half|half)$/u;
const WORDS: Readonly<Record<string, number>> = {
  영: 0,
  공: 0,
  zero: 0,
  혼자: 1,
  혼자서: 1,
  dozen: 12,
  "a dozen": 12,
  "two dozen": 24,
};

function positive(text: string, isCounted: boolean): number | undefined {
  if (PLAIN.test(text)) return Number(text.replaceAll(",", ""));
  if (Object.hasOwn(WORDS, text)) return WORDS[text];
  const half = HALF.exec(text);
  if (half) return halfMore(half[1] ?? half[2], isCounted);
  return nativeNumber(text, isCounted) ?? writtenNumber(text, isCounted);
}

function halfMore(whole: string | undefined, isCounted: boolean): number | undefined {
  if (whole === undefined) return 0.5;
  const value = numberOf(whole) ?? positive(whole, isCounted);
  return value === undefined ? undefined : value + 0.5;
}

const IS_NATIVE = new RegExp(`^${NATIVE}$`, "u");

function nativeNumber(text: string, isCounted: boolean): number | undefined {
  if (!IS_NATIVE.test(text) || (!isCounted && needsAThing(text))) return undefined;
  const whole = text.replace("스무", "스물");
  const ten = TENS.findIndex((word) => whole.startsWith(word));
  const rest = ten < 0 ? whole : whole.slice(TENS[ten]!.length);
  return 10 * (ten + 1) + ONES.indexOf(BEFORE_A_THING[rest] ?? rest) + 1;
}

/** 네, 오 and 이만 alone are no numbers: 네 명, 오 층 and 이만 명 are. */
function needsAThing(text: string): boolean {
  return /^(?:[^열둘셋넷십백]|이만|만일|천만|일일)$/u.test(text);
}

/** 이십삼, 3만, twenty five, 5k; no amount of money. */
function writtenNumber(text: string, isCounted: boolean): number | undefined {
  if (/[원₩\\]|won|krw/u.test(text) || (!isCounted && needsAThing(text))) return undefined;
  const korean = readByTheLetter(text.replaceAll(" ", ""));
  if (korean.ok) return korean.won;
  const english = readEnglishAmount(text);
  return english?.ok === true ? english.won : undefined;
}
