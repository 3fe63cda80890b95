/** How a day that has passed is said; `past-day.ts` tries these rules one after the other. */

import { parseDate } from "./date.ts";
import { parseDay, type DayReading } from "./day.ts";
import {
  addDays,
  addMonths,
  weekdayOf,
  type IsoDate,
  dayOf,
  ENGLISH_MONTH,
  partsOf,
} from "./days.ts";
import { numbersOf } from "../number-words.ts";
import { notUnderstood, understood } from "../reading.ts";

/** Days that are said with their year, or with a word for it: 작년, 지난달, last year. */

/** The day of a folded text, seen from `today`; undefined where the rule has no say. */
type PastRule = (core: string, today: IsoDate) => DayReading | undefined;

/** `5/3/1990` is May 3 for some and 5 March for others. */
const slashed: PastRule = (core) => {
  const match = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/u.exec(core);
  if (!match) return undefined;
  const [, first = 0, second = 0, year = 0] = match.map(Number);
  return oneOrMore(core, [dayOf(year, first, second), dayOf(year, second, first)]);
};

/** Before any day that a person means. */
const LONG_AGO = "1600-01-01";
const HAS_YEAR = /(?<!\d)(?:1[6-9]|20)\d{2}(?!\d)|^(?:1[6-9]|20)\d{6}$/u;

/** `1990년 5월 3일`, `90.5.3`, `900503`, `작년 5월 3일`, `May 3 last year`, `지난달 5일`. */
const withYear: PastRule = (core, today) => {
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
function oneOrMore(core: string, days: readonly (IsoDate | undefined)[]): DayReading {
  const [day, ...others] = [...new Set(days)].filter((one) => one !== undefined);
  if (day === undefined) return notUnderstood("no-such-day", core);
  return understood(day, core, others.length > 0 ? "ambiguous" : "exact", others);
}

const WEEKDAY_KO = "([월화수목금토일])(?:요일|욜)";
const WEEKDAY_EN =
  "(mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)";

// --- counted from today

const NAMED: Readonly<Record<string, number>> = {
  어제: 1,
  어저께: 1,
  어젯밤: 1,
  yesterday: 1,
  "last night": 1,
  그제: 2,
  그저께: 2,
  엊그저께: 2,
  "the day before yesterday": 2,
  "day before yesterday": 2,
  그끄저께: 3,
};

const named: PastRule = (core, today) =>
  Object.hasOwn(NAMED, core) ? oneOrMore(core, [addDays(today, -NAMED[core]!)]) : undefined;

const AGO = /^(.{1,16}?) ?(?:전|ago)$/u;
const UNIT = /(일|주일?|달|개월|년|days?|weeks?|months?|years?)$/u;
const DAYS_OF: Readonly<Record<string, number>> = { 일: 1, day: 1, 주: 7, 주일: 7, week: 7 };
const MONTHS_OF: Readonly<Record<string, number>> = { 달: 1, 개월: 1, month: 1, 년: 12, year: 12 };

/** `3일 전`, `두 달 전`, `a week ago`; `며칠 전` is no day. */
const ago: PastRule = (core, today) => {
  const span = AGO.exec(core)?.[1];
  if (span === undefined) return undefined;
  const unit = UNIT.exec(span)?.[1]?.replace(/s$/u, "") ?? "";
  const counted = numbersOf(span).map((count) => back(today, count, unit));
  const days = counted.length > 0 ? counted : [mirrored(span, today)];
  return days[0] === undefined ? notUnderstood("vague", core) : oneOrMore(core, days);
};

function back(today: IsoDate, count: number, unit: string): IsoDate | undefined {
  if (!Number.isInteger(count) || count > 9_999) return undefined;
  const months = MONTHS_OF[unit];
  if (months !== undefined) return addMonths(today, -count * months);
  const days = DAYS_OF[unit];
  return days === undefined ? undefined : addDays(today, -count * days);
}

/** 사흘 전 is as far from today as 사흘 뒤. */
function mirrored(span: string, today: IsoDate): IsoDate | undefined {
  const ahead = parseDate(`${span} 뒤`, { today });
  if (!ahead.ok) return undefined;
  return addDays(today, (Date.parse(today) - Date.parse(ahead.date)) / 86_400_000);
}

// --- weekdays

const WEEKS_AGO: Readonly<Record<string, number>> = {
  지지난: 2,
  지난: 1,
  저번: 1,
  last: 1,
  이번: 0,
  금: 0,
  this: 0,
};
const OF_A_WEEK = [
  /^(지지난|지난|저번|이번|금) ?주 ?([월화수목금토일])(?:요일|욜)?$/u,
  new RegExp(`^(?:(this) )${WEEKDAY_EN}$`, "u"),
];
const OF_LAST_WEEK = new RegExp(`^${WEEKDAY_EN}(?: of)? last week$`, "u");

const ofAWeek: PastRule = (core, today) => {
  const lastWeek = OF_LAST_WEEK.exec(core)?.[1];
  const [, week, day] = OF_A_WEEK.map((one) => one.exec(core)).find((found) => found) ?? [];
  const weekday = lastWeek ?? day;
  if (weekday === undefined) return undefined;
  const weeks = WEEKS_AGO[week ?? "last"]!;
  return oneOrMore(core, [addDays(today, weekdayNumber(weekday) - weekdayOf(today) - 7 * weeks)]);
};

const LAST_WEEKDAY = [
  new RegExp(`^(?:지난|저번) ?${WEEKDAY_KO}$`, "u"),
  new RegExp(`^(?:last|this past|past) ${WEEKDAY_EN}$`, "u"),
];
const BARE_WEEKDAY = [new RegExp(`^${WEEKDAY_KO}$`, "u"), new RegExp(`^${WEEKDAY_EN}$`, "u")];

/** `last Monday` said on a Friday is this week's for some; a bare weekday may be today. */
const weekday: PastRule = (core, today) => {
  const last = wordIn(core, LAST_WEEKDAY);
  const word = last ?? wordIn(core, BARE_WEEKDAY);
  if (word === undefined) return undefined;
  const back = (weekdayOf(today) - weekdayNumber(word) + 7) % 7 || 7;
  const days = [addDays(today, -back)];
  if (last === undefined && back === 7) days.unshift(today);
  if (last !== undefined && back < weekdayOf(today)) days.push(addDays(today, -back - 7));
  return oneOrMore(core, days);
};

function wordIn(core: string, patterns: readonly RegExp[]): string | undefined {
  return patterns.map((one) => one.exec(core)?.[1]).find((word) => word !== undefined);
}

function weekdayNumber(word: string): number {
  const korean = "월화수목금토일".indexOf(word.charAt(0));
  const english = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].indexOf(word.slice(0, 3));
  return Math.max(korean, english) + 1;
}

// --- without a year

const OF_A_YEAR = new RegExp(
  "^(?:\\d{1,2} ?월 ?\\d{1,2} ?일|\\d{1,2} ?\\/ ?\\d{1,2}$|[a-z]{3,9}\\.? \\d{1,2}(?:st|nd|rd|th)?$|" +
    "\\d{1,2}(?:st|nd|rd|th)? (?:of )?[a-z]{3,9}$|크리스마스|성탄절|신정|(?:어린이|어버이) ?날|" +
    "광복절|개천절|한글날|삼일절|현충일|christmas|new year|halloween)",
  "u",
);
const OF_A_MONTH = /^(?:the )?\d{1,2}(?:st|nd|rd|th)$|^\d{1,2} ?일$/u;

/** The last one: `5월 3일`, `크리스마스`, `5일`. */
const mostRecent: PastRule = (core, today) => {
  const isYearly = OF_A_YEAR.test(core);
  if (!isYearly && !OF_A_MONTH.test(core)) return undefined;
  const spans = isYearly ? [12, 48, 96] : [1, 2];
  const read = spans.map((months) => parseDay(core, addDays(addMonths(today, -months)!, 1)!));
  return read.find((one) => one.ok && one.value <= today) ?? read[0];
};

/** In the order in which they are tried. */
export const PAST_RULES: readonly PastRule[] = [
  slashed,
  withYear,
  named,
  ago,
  ofAWeek,
  weekday,
  mostRecent,
];
