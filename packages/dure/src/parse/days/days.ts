/** A calendar day, `YYYY-MM-DD`. Two of them compare as strings. */
export type IsoDate = string;

/** A day of the calendar, or nothing if there is no such day (`2027-02-29`). Years 1–9999. */
export function dayOf(year: number, month: number, day: number): IsoDate | undefined {
  const exists =
    year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31
      ? new Date(epochOf(year, month, day))
      : undefined;
  return exists?.getUTCMonth() === month - 1 ? isoOf(exists) : undefined;
}

/** Whether a text is a day of the calendar in the form `YYYY-MM-DD`. */
export function isIsoDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const { year, month, day } = partsOf(text);
  return dayOf(year, month, day) !== undefined;
}

/** The parts of a day as numbers; months count from 1. */
export function partsOf(date: IsoDate): {
  readonly year: number;
  readonly month: number;
  readonly day: number;
} {
  const [year = 0, month = 0, day = 0] = date.split("-").map(Number);
  return { year, month, day };
}

/** Nothing beyond the year 9999. */
export function addDays(date: IsoDate, days: number): IsoDate | undefined {
  const { year, month, day } = partsOf(date);
  const moved = new Date(epochOf(year, month, day + days));
  return Number.isNaN(moved.getTime()) || moved.getUTCFullYear() > 9999 ? undefined : isoOf(moved);
}

/** The same day of another month; where that month is shorter, its last day. */
export function addMonths(date: IsoDate, months: number): IsoDate | undefined {
  const { day } = partsOf(date);
  const first = firstOfMonth(date, months);
  if (first === undefined) return undefined;

  const { year, month } = partsOf(first);
  return dayOf(year, month, Math.min(day, daysInMonth(first)));
}

/** The first day of the month that is `months` away. */
export function firstOfMonth(date: IsoDate, months = 0): IsoDate | undefined {
  const { year, month } = partsOf(date);
  const count = year * 12 + month - 1 + months;
  return dayOf(Math.floor(count / 12), (count % 12) + 1, 1);
}

export function daysInMonth(date: IsoDate): number {
  const { year, month } = partsOf(date);
  return new Date(epochOf(year, month + 1, 0)).getUTCDate();
}

/** 1 Monday … 7 Sunday. */
export function weekdayOf(date: IsoDate): number {
  const { year, month, day } = partsOf(date);
  return new Date(epochOf(year, month, day)).getUTCDay() || 7;
}

/** The day it is in `timeZone` (IANA name) at `nowMs` (milliseconds since the epoch). */
export function todayIn(timeZone: string, nowMs: number): IsoDate {
  return clockIn(timeZone, nowMs).today;
}

/** Day and minute (`HH:MM`, 24 hours) in `timeZone` at `nowMs`. */
export function clockIn(
  timeZone: string,
  nowMs: number,
): { readonly today: IsoDate; readonly time: string } {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  const parts = Object.fromEntries(
    format.formatToParts(nowMs).map(({ type, value }) => [type, value]),
  );
  const { year = "", month = "", day = "", hour = "", minute = "" } = parts;
  return { today: `${year.padStart(4, "0")}-${month}-${day}`, time: `${hour}:${minute}` };
}

/** Years below 100 are years, not 19xx, as `Date.UTC` would have it. */
function epochOf(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

function isoOf(date: Date): IsoDate {
  return date.toISOString().slice(0, 10);
}

/** An English month in a folded text, short or long: `feb`, `sept.`, `february`. */
export const ENGLISH_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\\.?";

/** How many days a Korean word for a span has. */
export const SPANS: Readonly<Record<string, number>> = {
  하루: 1,
  이틀: 2,
  사흘: 3,
  나흘: 4,
  닷새: 5,
  엿새: 6,
  열흘: 10,
  보름: 15,
};
