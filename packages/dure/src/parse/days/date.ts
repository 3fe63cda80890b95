import {
  addDays,
  addMonths,
  dayOf,
  daysInMonth,
  firstOfMonth,
  partsOf,
  weekdayOf,
  type IsoDate,
  SPANS,
} from "./days.ts";
import { fold } from "../text.ts";

/** A day of the calendar, or why there is none. */
export type DateResult =
  | { readonly ok: true; readonly date: IsoDate }
  | { readonly ok: false; readonly because: "empty" | "not-a-date" | "no-such-day" | "past" };

/**
 * The day a person means, seen from `today`; never a day before it. Pure. Weeks begin on Monday. A
 * day without a year is the next one, and today counts as that; a bare weekday is the next one
 * after today (who means today says 오늘). A bare day of the month that its month does not have is an
 * error, not the month after. Source: docs/spec/conversation §8.
 */
export function parseDate(text: string, { today }: { readonly today: IsoDate }): DateResult {
  const words = fold(text)
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[.!~]+$/, "")
    .replace(/^(?:on|by) (?=\S)/, "")
    .replace(/(?<=[가-힣0-9)])(?:날에?|에|로|으로|이요|요|에요|이에요|자로|자에)$/, "")
    .trim();
  if (words === "") return { ok: false, because: "empty" };
  if (words.length > LONGEST_TEXT) return { ok: false, because: "not-a-date" };

  for (const [pattern, read] of RULES) {
    const match = pattern.exec(words);
    if (!match) continue;

    const date = read(match.slice(1), today);
    if (date === undefined) return { ok: false, because: "no-such-day" };
    return date < today ? { ok: false, because: "past" } : { ok: true, date };
  }
  return { ok: false, because: "not-a-date" };
}

type Groups = readonly (string | undefined)[];
type DateRule = readonly [
  pattern: RegExp,
  read: (groups: Groups, today: IsoDate) => IsoDate | undefined,
];

const LONGEST_TEXT = 60;

const DAYS_FROM_TODAY: Readonly<Record<string, number>> = {
  오늘: 0,
  지금: 0,
  바로: 0,
  즉시: 0,
  당일: 0,
  내일: 1,
  낼: 1,
  모레: 2,
  내일모레: 2,
  낼모레: 2,
  글피: 3,
  그글피: 4,
  어제: -1,
  그제: -2,
  그저께: -2,
  어저께: -1,
  "지금 당장": 0,
  "지금 바로": 0,
  today: 0,
  now: 0,
  "right now": 0,
  asap: 0,
  tonight: 0,
  tomorrow: 1,
  tmrw: 1,
  tmr: 1,
  "the day after tomorrow": 2,
  "day after tomorrow": 2,
  yesterday: -1,
};

const KOREAN_WEEKDAYS = "월화수목금토일";
const ENGLISH_WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const ENGLISH_MONTHS = [
  "jan",
  "feb",
  "mar",
  "apr",
  "may",
  "jun",
  "jul",
  "aug",
  "sep",
  "oct",
  "nov",
  "dec",
];

const WEEKDAY =
  "(mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)";
const MONTH =
  "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";

/** The first pattern that fits reads the day; `undefined` is a day that does not exist. */
const RULES: readonly DateRule[] = [
  [
    new RegExp(`^(${Object.keys(DAYS_FROM_TODAY).join("|")})$`),
    ([word], today) => addDays(today, DAYS_FROM_TODAY[word!]!),
  ],

  [/^(\d{1,3}) ?일 ?(?:뒤|후)$/, ([days], today) => addDays(today, Number(days))],
  [
    /^(하루|이틀|사흘|나흘|닷새|엿새|열흘|보름) ?(?:뒤|후)$/,
    ([days], today) => addDays(today, SPANS[days!]!),
  ],
  [/^(?:일주일|1주일|한 ?주) ?(?:뒤|후)$/, (_, today) => addDays(today, 7)],
  [/^(\d{1,2}) ?주일? ?(?:뒤|후)$/, ([weeks], today) => addDays(today, 7 * Number(weeks))],
  [/^한 ?달 ?(?:뒤|후)$/, (_, today) => addMonths(today, 1)],
  [/^(\d{1,2}) ?(?:달|개월) ?(?:뒤|후)$/, ([months], today) => addMonths(today, Number(months))],
  [
    /^(?:in )?(an?|one|two|three|\d{1,3}) days?(?: from (?:now|today)| later)?$/,
    ([count], today) => addDays(today, countOf(count!)),
  ],
  [
    /^(?:in )?(an?|one|two|three|\d{1,3}) weeks?(?: from (?:now|today)| later)?$/,
    ([count], today) => addDays(today, 7 * countOf(count!)),
  ],
  [
    /^(?:in )?(an?|one|two|three|\d{1,3}) months?(?: from (?:now|today)| later)?$/,
    ([count], today) => addMonths(today, countOf(count!)),
  ],

  [
    /^(지난|저번|이번|금|다음|담|다다음|다담) ?주 ?([월화수목금토일])(?:요일|욜)?$/,
    ([week, day], today) => inWeek(today, WEEKS_AHEAD[week!]!, koreanWeekday(day!)),
  ],
  [
    /^(?:돌아오는 |오는 |이번 )?([월화수목금토일])(?:요일|욜)$/,
    ([day], today) => nextWeekday(today, koreanWeekday(day!)),
  ],
  [
    new RegExp(`^(last|this|next) ${WEEKDAY}$`),
    ([week, day], today) => inWeek(today, WEEKS_AHEAD[week!]!, englishWeekday(day!)),
  ],
  [
    new RegExp(`^(?:(?:the |this )?coming )?${WEEKDAY}$`),
    ([day], today) => nextWeekday(today, englishWeekday(day!)),
  ],

  [
    /^(\d{4})[-/.] ?(\d{1,2})[-/.] ?(\d{1,2})$/,
    ([year, month, day]) => dayOf(Number(year), Number(month), Number(day)),
  ],
  [
    /^(\d{4})(\d{2})(\d{2})$/,
    ([year, month, day]) => dayOf(Number(year), Number(month), Number(day)),
  ],
  [
    /^(\d{4}|\d{2}) ?년 ?(\d{1,2}) ?월 ?(\d{1,2}) ?일$/,
    ([year, month, day]) => dayOf(fullYear(year!), Number(month), Number(day)),
  ],
  [
    /^(작년|올해|금년|내년|후년) ?(\d{1,2}) ?월 ?(\d{1,2}) ?일$/,
    ([year, month, day], today) =>
      dayOf(partsOf(today).year + YEARS_AHEAD[year!]!, Number(month), Number(day)),
  ],
  [
    new RegExp(`^${MONTH} (\\d{1,2})(?:st|nd|rd|th)?,? (\\d{4})$`),
    ([month, day, year]) => dayOf(Number(year), englishMonth(month!), Number(day)),
  ],
  [
    new RegExp(`^(\\d{1,2})(?:st|nd|rd|th)? (?:of )?${MONTH},? (\\d{4})$`),
    ([day, month, year]) => dayOf(Number(year), englishMonth(month!), Number(day)),
  ],

  [
    /^(\d{1,2}) ?월 ?(\d{1,2}) ?일$/,
    ([month, day], today) => nextMonthDay(today, Number(month), Number(day)),
  ],
  [
    /^(\d{1,2}) ?\/ ?(\d{1,2})$/,
    ([month, day], today) => nextMonthDay(today, Number(month), Number(day)),
  ],
  [
    new RegExp(`^${MONTH} (\\d{1,2})(?:st|nd|rd|th)?$`),
    ([month, day], today) => nextMonthDay(today, englishMonth(month!), Number(day)),
  ],
  [
    new RegExp(`^(\\d{1,2})(?:st|nd|rd|th)? (?:of )?${MONTH}$`),
    ([day, month], today) => nextMonthDay(today, englishMonth(month!), Number(day)),
  ],

  [
    /^(지난|이번|이|다음|담|다다음) ?달 ?(\d{1,2}) ?일$/,
    ([month, day], today) => inMonth(today, MONTHS_AHEAD[month!]!, Number(day)),
  ],
  [
    /^(?:the )?(\d{1,2})(?:st|nd|rd|th)? of (this|next) month$/,
    ([day, month], today) => inMonth(today, MONTHS_AHEAD[month!]!, Number(day)),
  ],
  [
    /^(?:말일|월말|이번 ?달 ?말일?|이달 ?말일?|(?:the )?end of (?:the|this) month)$/,
    (_, today) => lastOfMonth(today),
  ],
  [
    /^(?:(?:다음|담) ?달 ?말일?|(?:the )?end of next month)$/,
    (_, today) => lastOfMonth(firstOfMonth(today, 1)),
  ],
  [/^(\d{1,2}) ?월 ?말일?$/, ([month], today) => lastOfNext(today, Number(month))],
  [/^(?:오는 |돌아오는 )?(\d{1,2}) ?일$/, ([day], today) => nextDayOfMonth(today, Number(day))],
  [/^(?:the )?(\d{1,2})(?:st|nd|rd|th)$/, ([day], today) => nextDayOfMonth(today, Number(day))],
];

const WEEKS_AHEAD: Readonly<Record<string, number>> = {
  지난: -1,
  저번: -1,
  last: -1,
  이번: 0,
  금: 0,
  this: 0,
  다음: 1,
  담: 1,
  next: 1,
  다다음: 2,
  다담: 2,
};
const COUNTS: Readonly<Record<string, number>> = { a: 1, an: 1, one: 1, two: 2, three: 3 };
const MONTHS_AHEAD: Readonly<Record<string, number>> = {
  지난: -1,
  이번: 0,
  이: 0,
  this: 0,
  다음: 1,
  담: 1,
  next: 1,
  다다음: 2,
};
const YEARS_AHEAD: Readonly<Record<string, number>> = {
  작년: -1,
  올해: 0,
  금년: 0,
  내년: 1,
  후년: 2,
};

function countOf(word: string): number {
  return COUNTS[word] ?? Number(word);
}

function fullYear(digits: string): number {
  return digits.length === 2 ? 2000 + Number(digits) : Number(digits);
}

/**
 * The next one that exists: 2월 29일 is in the next leap year, at most eight years away (2096 →
 * 2104).
 */
function nextMonthDay(today: IsoDate, month: number, day: number): IsoDate | undefined {
  const { year: thisYear } = partsOf(today);
  for (let year = thisYear; year <= thisYear + 8; year++) {
    const candidate = dayOf(year, month, day);
    if (candidate !== undefined && candidate >= today) return candidate;
  }
  return undefined;
}

function nextDayOfMonth(today: IsoDate, day: number): IsoDate | undefined {
  return inMonth(today, day >= partsOf(today).day ? 0 : 1, day);
}

function inMonth(today: IsoDate, monthsAhead: number, day: number): IsoDate | undefined {
  const first = firstOfMonth(today, monthsAhead);
  if (first === undefined) return undefined;
  const { year, month } = partsOf(first);
  return dayOf(year, month, day);
}

function lastOfMonth(date: IsoDate | undefined): IsoDate | undefined {
  if (date === undefined) return undefined;
  const { year, month } = partsOf(date);
  return dayOf(year, month, daysInMonth(date));
}

function lastOfNext(today: IsoDate, month: number): IsoDate | undefined {
  const now = partsOf(today);
  return lastOfMonth(dayOf(month < now.month ? now.year + 1 : now.year, month, 1));
}

function inWeek(today: IsoDate, weeksAhead: number, weekday: number): IsoDate | undefined {
  return addDays(today, weekday - weekdayOf(today) + 7 * weeksAhead);
}

function nextWeekday(today: IsoDate, weekday: number): IsoDate | undefined {
  return addDays(today, ((weekday - weekdayOf(today) + 6) % 7) + 1);
}

function koreanWeekday(letter: string): number {
  return KOREAN_WEEKDAYS.indexOf(letter) + 1;
}

function englishWeekday(word: string): number {
  return ENGLISH_WEEKDAYS.indexOf(word.slice(0, 3)) + 1;
}

function englishMonth(word: string): number {
  return ENGLISH_MONTHS.indexOf(word.slice(0, 3)) + 1;
}
