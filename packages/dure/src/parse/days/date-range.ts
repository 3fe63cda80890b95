/** Two days and what lies between them: a stay, a leave, a rental. */

import { plainAnswer } from "../answer.ts";
import { parseDay } from "./day.ts";
import { addDays, isIsoDate, weekdayOf, type IsoDate, addMonths, SPANS } from "./days.ts";
import { dayReaderFor, type PastDays, ANY_DAY_SOURCE } from "./past-day.ts";
import {
  LONGEST_SENTENCE,
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type Found,
  type Reader,
  type Reading,
} from "../reading.ts";
import { fold } from "../text.ts";
import { takeTime } from "./time.ts";
import type { PersonClock } from "./when.ts";
import { numbersOf } from "../number-words.ts";

/** How many days: `3일간`, `2박 3일`, `일주일`, `for two nights`. */

const COUNT =
  "(?:\\d{1,3}|an?|one|two|three|four|five|six|seven|ten|[한두세네일이삼사오육칠팔구십]{1,3})";

/** By which a span is found; `3일` alone is one only at the end of a text. */
const SPAN_SOURCE =
  `(?:${COUNT} ?박(?: ?${COUNT} ?일)?|${COUNT} ?(?:일|주일?|달|개월)(?: ?동안| ?간|(?=$))|` +
  `(?:${Object.keys(SPANS).join("|")})(?: ?동안| ?간|만)?|` +
  `${COUNT} (?:nights?|days?|weeks?|months?))`;

const COUNTED = /^(.{1,6}?) ?(박|일|주|달|개월|night|day|week|month)/u;
const BARE_DAYS = /^(?:\d{1,3}|[한두세네일이삼사오육칠팔구십]{1,3}) ?일$/u;

/**
 * The last days of a span that begins with `start`: nights end on the day after the last of them.
 * `3일` alone is three days, or the third; it counts only behind 부터 (`isFrom`). Pure.
 */
function lastDaysOf(
  span: string,
  start: IsoDate,
  isFrom: boolean,
): readonly (IsoDate | undefined)[] {
  const named = SPANS[span.replace(/ ?(?:동안|간|만)$/u, "")];
  if (named !== undefined) return [addDays(start, named - 1)];
  const isBare = BARE_DAYS.test(span);
  if (isBare && !isFrom) return [];
  const [, count = "", unit = ""] = COUNTED.exec(span) ?? [];
  const [amount, other] = numbersOf(/^[a-z]/u.test(unit) ? `${count} days` : `${count} 일`);
  if (amount === undefined || other !== undefined || amount < 1) return [];
  const third = isBare ? parseDay(span, start) : undefined;
  return [lastDay(start, amount, unit), ...(third?.ok === true ? [third.value] : [])];
}

function lastDay(start: IsoDate, amount: number, unit: string): IsoDate | undefined {
  if (unit === "박" || unit === "night") return addDays(start, amount);
  if (unit === "일" || unit === "day") return addDays(start, amount - 1);
  if (unit === "주" || unit === "week") return addDays(start, 7 * amount - 1);
  const after = addMonths(start, amount);
  return after === undefined ? undefined : addDays(after, -1);
}

/** First and last day, `2026-12-03/2026-12-05`. */
export type IsoDateRange = string;
/**
 * Why words are no range of days; else why one of its days is none. `no-end`: one day alone.
 * `backwards`: it ends before it begins.
 */
export type DateRangeBecause = "empty" | "not-a-range" | "no-end" | "backwards" | (string & {});
/** A range of days in a person's words. */
export type DateRangeReading = Reading<IsoDateRange, DateRangeBecause>;

/**
 * For a slot that is a range of days: `12월 3일부터 5일까지`, `12/3~12/5`, `Dec 3 to 5`, `내일부터 3일간`,
 * `next Monday for two nights`, `12월 3일 2박 3일`. A weekend is rough: some begin it on Friday.
 */
export function dateRangeReader(
  clock: PersonClock,
  past: PastDays = "refused",
): Reader<IsoDateRange> {
  const seen: SeenFrom = { clock, past, dayOf: dayAlone(dayReaderFor(past, clock)) };
  return {
    parse: (words) => parseRange(words, seen),
    find: (sentence) => findRanges(sentence, seen),
  };
}

/** Whether a text is a range of days in its stored form. */
export function isIsoDateRange(text: string): boolean {
  const [first = "", last = "", ...rest] = text.split("/");
  return rest.length === 0 && isIsoDate(first) && isIsoDate(last) && first <= last;
}

interface SeenFrom {
  readonly clock: PersonClock;
  readonly past: PastDays;
  readonly dayOf: (words: string) => Reading<IsoDate>;
}

/** A day that was said: 3시 is none. */
function dayAlone({ parse }: Reader<IsoDate>): SeenFrom["dayOf"] {
  return (words) =>
    takeTime(words)?.rest === "" ? notUnderstood("not-a-date", words) : parse(words);
}

function parseRange(text: string, seen: SeenFrom): DateRangeReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-range", words);

  const core = plainAnswer(fold(words));
  const weekend = weekendOf(core, seen);
  if (weekend) return { ...weekend, words };
  const all = [...stretchesOf(core, seen), ...betweensOf(core, seen)];
  const isAboutIt = (one: DateRangeReading): boolean => !one.ok && !one.because.startsWith("not-a");
  const read = all.find((one) => one.ok) ?? all.find(isAboutIt);
  if (read) return { ...read, words };
  const alone = seen.dayOf(core);
  if (alone.ok) return notUnderstood("no-end", words);
  const because = alone.because.startsWith("not-a") ? "not-a-range" : alone.because;
  return notUnderstood(because, words);
}

// --- two days

const SPLITS: readonly RegExp[] = [
  /^(.{1,40}?) ?(?:부터|에서) ?(.{1,40}?) ?(?:까지|사이|동안)?$/u,
  /^(.{1,40}?) ?[~∼〜–—] ?(.{1,40}?) ?(?:까지|사이)?$/u,
  /^(\d{4}-\d{1,2}-\d{1,2}) ?[/-] ?(\d{4}-\d{1,2}-\d{1,2})$/u,
  /^(?:from |between )?(.{1,40}?) (?:to|through|thru|until|till|and|-) (.{1,40})$/u,
  /^([^-]{1,40})-([^-]{1,40}?) ?(?:까지)?$/u,
];

/** Each way to take the words for two days. */
function betweensOf(core: string, seen: SeenFrom): readonly DateRangeReading[] {
  return SPLITS.flatMap((split) => {
    const [, begin, end] = split.exec(core) ?? [];
    return begin === undefined || end === undefined ? [] : [between(begin, end, seen)];
  });
}

function between(begin: string, end: string, seen: SeenFrom): DateRangeReading {
  const first = seen.dayOf(begin);
  if (!first.ok) return first;
  const ends: RangeEnds[] = [];
  let isRough = first.sure === "approximate";
  for (const start of [first.value, ...first.others]) {
    const last = endFrom(start, end, seen);
    if (!last.ok) return last;
    isRough ||= last.sure === "approximate";
    ends.push(...[last.value, ...last.others].map((day) => ({ start, day })));
  }
  return rangeOf(ends, isRough, seen);
}

/** A day that takes its month and year from the first one: 5일, 12/5, Friday. */
const INHERITS = new RegExp(
  "^(?:(?:the )?\\d{1,2}(?:st|nd|rd|th)?|\\d{1,2} ?일|\\d{1,2} ?\\/ ?\\d{1,2}|" +
    "(?:\\d{1,2} ?월|[a-z]{3,9}\\.?) ?\\d{1,2}(?: ?일|st|nd|rd|th)?|" +
    "[월화수목금토일](?:요일|욜)|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)$",
  "u",
);
/** An end without a year that is further away lies before its beginning. */
const MOST_DAYS = 270;

function endFrom(start: IsoDate, words: string, { dayOf }: SeenFrom): Reading<IsoDate> {
  if (!INHERITS.test(words)) return dayOf(words);
  const read = parseDay(/^\d{1,2}$/u.test(words) ? `${words}일` : words, start);
  const furthest = addDays(start, MOST_DAYS);
  const isBefore = read.ok && furthest !== undefined && read.value > furthest;
  return isBefore ? notUnderstood("backwards", words) : read;
}

interface RangeEnds {
  readonly start: IsoDate;
  readonly day: IsoDate | undefined;
}

/** Of several ends, those that lie behind their beginnings. */
function rangeOf(
  all: readonly RangeEnds[],
  isRough: boolean,
  { past, clock }: SeenFrom,
): DateRangeReading {
  const known = all.flatMap(({ start, day }) =>
    day !== undefined && day >= start ? [{ start, day }] : [],
  );
  const kept = known.filter(({ day }) => past !== "only" || day <= clock.today);
  const [range, ...others] = new Set(kept.map(({ start, day }) => `${start}/${day}`));
  if (range === undefined) return notUnderstood(known.length > 0 ? "future" : "backwards", "");
  if (others.length > 0) return understood(range, "", "ambiguous", others);
  return understood(range, "", isRough ? "approximate" : "exact");
}

// --- a day and how long

const STRETCHES: readonly RegExp[] = [
  new RegExp(
    "^(?:from |starting (?:on )?)?(?<day>.{1,40}?)(?<from> ?부터| ?출발|,)? ?(?:for )?" +
      `(?<span>${SPAN_SOURCE})$`,
    "u",
  ),
  new RegExp(
    // A week from tomorrow is one day.
    `^(?!\\S+ (?:days?|weeks?|months?) from)(?:for )?(?<span>${SPAN_SOURCE}),? ` +
      "(?:from |starting (?:on |from )?)?(?<day>.{1,40}?)(?: ?부터)?$",
    "u",
  ),
];

/** Each way to take the words for a day and a length. */
function stretchesOf(core: string, seen: SeenFrom): readonly DateRangeReading[] {
  return STRETCHES.flatMap((pattern) => {
    const { day = "", from = "", span = "" } = pattern.exec(core)?.groups ?? {};
    if (day === "") return [];
    const first = seen.dayOf(day);
    if (!first.ok) return [first];
    const ends = [first.value, ...first.others].flatMap((start) =>
      lastDaysOf(span, start, from.includes("부터")).map((last) => ({ start, day: last })),
    );
    return ends.length === 0 ? [] : [rangeOf(ends, first.sure === "approximate", seen)];
  });
}

// --- a weekend

function weekendOf(core: string, { clock, past }: SeenFrom): DateRangeReading | undefined {
  const which = WEEKEND.exec(core);
  if (!which || past === "only") return undefined;
  const { today } = clock;
  const isNext = ["다음", "담", "next"].includes(which[1] ?? "");
  const sunday = addDays(today, 7 - weekdayOf(today) + (isNext ? 7 : 0));
  const saturday = sunday && addDays(sunday, -1);
  if (saturday === undefined) return undefined;
  return understood(`${saturday < today ? today : saturday}/${sunday}`, core, "approximate");
}

// --- in a sentence

function findRanges(sentence: string, seen: SeenFrom): readonly Found<DateRangeReading>[] {
  const line = sentence.normalize("NFC");
  if (line.length > LONGEST_SENTENCE) return [];
  return rangesIn(line)
    .map(({ words, at }) => ({ ...parseRange(words, seen), at }))
    .filter((one) => one.ok || !["not-a-range", "no-end"].includes(one.because));
}

// --- date range places

/** Where a sentence names a range of days; `date-range.ts` reads it. */

/** A weekend in folded words; which one is in its first group. */
const WEEKEND = /^(?:(이번|다음|담|this|next|the) ?)?(?:주말|weekend)(?:에|동안|내내)?$/u;

const DAYS = new RegExp(ANY_DAY_SOURCE, "giu");
const BETWEEN = /^ ?(?:부터|에서|~|∼|–|—|-|\/|to|through|thru|until|till|and)? ?$/iu;
const TAIL = new RegExp(
  `^ ?(?:(?:부터|출발|,)? ?(?:for )?${SPAN_SOURCE}(?![가-힣a-z])|` +
    "(?:부터|에서|~|–|-|to|through|until|till) ?\\d{1,2}(?:일|st|nd|rd|th)?(?:까지)?" +
    "(?![\\d시분:/월원만명개]))",
  "iu",
);

/** Words that may be one, each with its place. Pure. */
function rangesIn(line: string): readonly { readonly words: string; readonly at: number }[] {
  const days = [...line.matchAll(DAYS)];
  let end = 0;
  return days.flatMap((day, index) => {
    if (day.index < end) return [];
    const words = wordsFrom(line, day, days[index + 1]);
    end = day.index + words.length;
    return words === "" ? [] : [{ words, at: day.index }];
  });
}

/** The words from one day to the next, or to where its length is said; else none. */
function wordsFrom(line: string, day: RegExpExecArray, next: RegExpExecArray | undefined): string {
  const end = day.index + day[0].length;
  if (next && BETWEEN.test(line.slice(end, next.index))) {
    const last = next.index + next[0].length;
    // 5일까지요: 까지 says that it is a day, and no length.
    const until = /^ ?까지/u.exec(line.slice(last, last + 4))?.[0] ?? "";
    return line.slice(day.index, last + until.length);
  }
  const tail = TAIL.exec(line.slice(end, end + 40));
  if (tail) return line.slice(day.index, end + tail[0].length);
  return WEEKEND.test(fold(day[0]).trim()) ? day[0] : "";
}
