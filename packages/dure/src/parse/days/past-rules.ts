/** How a day that has passed is said; `past-day.ts` tries these rules one after the other. */

import { parseDate } from "./date.ts";
import { parseDay } from "./day.ts";
import { addDays, addMonths, weekdayOf, type IsoDate } from "./days.ts";
import { numbersOf } from "../number-words.ts";
import { oneOrMore, slashed, withYear, type PastRule } from "./past-years.ts";
import { notUnderstood } from "../reading.ts";

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
