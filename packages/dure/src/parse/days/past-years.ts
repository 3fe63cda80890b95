/** Days that are said with their year, or with a word for it: 작년, 지난달, last year. */

import { parseDay, type DayReading } from "./day.ts";
import { addMonths, dayOf, ENGLISH_MONTH, partsOf, type IsoDate } from "./days.ts";
import { notUnderstood, understood } from "../reading.ts";

/** The day of a folded text, seen from `today`; undefined where the rule has no say. */
export type PastRule = (core: string, today: IsoDate) => DayReading | undefined;

/** `5/3/1990` is May 3 for some and 5 March for others. */
export const slashed: PastRule = (core) => {
  const match = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/u.exec(core);
  if (!match) return undefined;
  const [, first = 0, second = 0, year = 0] = match.map(Number);
  return oneOrMore(core, [dayOf(year, first, second), dayOf(year, second, first)]);
};

/** Before any day that a person means. */
const LONG_AGO = "1600-01-01";
const HAS_YEAR = /(?<!\d)(?:1[6-9]|20)\d{2}(?!\d)|^(?:1[6-9]|20)\d{6}$/u;

/** `1990년 5월 3일`, `90.5.3`, `900503`, `작년 5월 3일`, `May 3 last year`, `지난달 5일`. */
export const withYear: PastRule = (core, today) => {
  const dated = YEARS.reduce((words, rewrite) => rewrite(words, today), core);
  return HAS_YEAR.test(dated) ? parseDay(dated, LONG_AGO) : undefined;
};

const YEARS_AGO: Readonly<Record<string, number>> = {
  재작년: 2,
  작년: 1,
  지난해: 1,
  last: 1,
  올해: 0,
  금년: 0,
  this: 0,
};
const MONTHS_AGO: Readonly<Record<string, number>> = { 지난: 1, 저번: 1, 이번: 0, 이: 0 };

/** 2nd of Feb 85; whether a day stands before it is asked of the words. */
const MONTH_AND_YEAR = new RegExp(`^(.{0,12}${ENGLISH_MONTH}),? '?(\\d{2})$`, "u");

/** The words with a year of four digits, where they say the year in another way. */
const YEARS: readonly ((core: string, today: IsoDate) => string)[] = [
  (core, today) =>
    core.replace(/^\d{2}(?= ?[./년-] ?\d{1,2} ?[./월-] ?\d{1,2} ?일?(?:$|[ (]))/u, (year) =>
      fullYear(year, today),
    ),
  (core, today) =>
    core.replace(
      /^(\d{2})(\d{2})(\d{2})$/u,
      (_, year: string, month: string, day: string) => `${fullYear(year, today)}-${month}-${day}`,
    ),
  (core, today) =>
    core.replace(/^(\d{2}) ?년생,? ?(?=\d)/u, (_, year: string) => `${fullYear(year, today)}년 `),
  (core, today) =>
    core.replace(MONTH_AND_YEAR, (words: string, day: string, year: string) =>
      /\d/u.test(day) ? `${day} ${fullYear(year, today)}` : words,
    ),
  (core, today) =>
    core.replace(/^(재작년|작년|지난해|올해|금년) ?(?=\d)/u, (word) => `${yearOf(word, today)}년 `),
  (core, today) =>
    core
      .replace(/^(last|this) year,? (?:on )?(.{3,20})$/u, "$2 $1 year")
      .replace(/(?: of)?,? (last|this) year$/u, (_, word: string) => `, ${yearOf(word, today)}`),
  (core, today) =>
    core.replace(/^(지난|저번|이번|이) ?달 ?(?=\d)/u, (_, word: string) => {
      const { year, month } = partsOf(addMonths(today, -MONTHS_AGO[word]!)!);
      return `${year}년 ${month}월 `;
    }),
];

/** 90 is 1990, and 25 in 2026 is 2025. */
function fullYear(digits: string, today: IsoDate): string {
  const year = 2000 + Number(digits);
  return String(year > partsOf(today).year ? year - 100 : year);
}

function yearOf(word: string, today: IsoDate): number {
  return partsOf(today).year - YEARS_AGO[word.trim()]!;
}

/** The first of the days that exist, and what else is meant by the same words. */
export function oneOrMore(core: string, days: readonly (IsoDate | undefined)[]): DayReading {
  const [day, ...others] = [...new Set(days)].filter((one) => one !== undefined);
  if (day === undefined) return notUnderstood("no-such-day", core);
  return understood(day, core, others.length > 0 ? "ambiguous" : "exact", others);
}
