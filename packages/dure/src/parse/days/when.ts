import { parseDay, DAY_SOURCE, type DayBecause } from "./day.ts";
import { addDays, type IsoDate } from "./days.ts";
import {
  LONGEST_SENTENCE,
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type Found,
  type NotUnderstood,
  type Reader,
  type Reading,
  type Understood,
} from "../reading.ts";
import { MARK_BEFORE, MARK_BEHIND } from "../marks.ts";
import { findRecurrence, type Recurrence } from "./recurrence.ts";
import { fold } from "../text.ts";
import { takeTime, TIME_SOURCE, type IsoTime, type TimeOption } from "./time.ts";

/** The moment from which 내일 is counted, in the session's time zone; `clockIn` gives it. */
export interface PersonClock {
  readonly today: IsoDate;
  /** Absent: any time of today is still to come. */
  readonly time?: IsoTime | undefined;
}

/** A day, and the time of it where one was said. */
export interface When {
  readonly date: IsoDate;
  readonly time?: IsoTime;
}

/** Why words are no moment. `recurring`: they mean many, such as each Monday. */
export type WhenBecause = DayBecause | "no-such-time" | "recurring";
/** A moment in a person's words. `recurrence` is there where the words repeat. */
export type WhenReading =
  | Understood<When>
  | (NotUnderstood<WhenBecause> & { readonly recurrence?: Recurrence | undefined });

/**
 * A day, with or without a time: `담주 월욜`, `내일 오전 9시`, `크리스마스`, `이달 말`, `next Monday 9am`,
 * `2026-12-25T09:00`. Never one that has passed. The whole text must be it. Pure.
 */
export function parseWhen(text: string, clock: PersonClock): WhenReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-date", words);

  const [repeated] = findRecurrence(words);
  if (repeated) return { ...notUnderstood("recurring", words), recurrence: repeated.value };

  const { time, dayWords } = partsOf(words);
  if (!time) return withWords(withoutTime(parseDay(dayWords, clock.today)), words);
  if (time.options.length === 0) return notUnderstood("no-such-time", words);
  const day = dayWords === "" ? anyDayFor(clock, words) : parseDay(dayWords, clock.today);
  if (!day.ok) return notUnderstood(day.because, words);
  return combine(words, { day, options: time.options, approximate: time.approximate, clock });
}

/** The time in the words, and what is left for the day. */
function partsOf(words: string): {
  readonly time: ReturnType<typeof takeTime>;
  readonly dayWords: string;
} {
  const folded = fold(words)
    .replace(/(?<=\d)t(?=\d{2}:)/, " ")
    .replace(/(?<=:\d{2}):\d{2}\S*$/, "");
  const time = takeTime(folded);
  return { time, dayWords: withoutEnds(time ? time.rest : folded) };
}

/** Every day or time in a sentence, in order; also those that have passed or repeat. Pure. */
export function findWhen(sentence: string, clock: PersonClock): readonly Found<WhenReading>[] {
  const line = sentence.normalize("NFC");
  if (line.length > LONGEST_SENTENCE) return [];

  const repeated = findRecurrence(line).map(({ at, words, value }) => ({
    ...notUnderstood("recurring" as const, words),
    recurrence: value,
    at,
  }));
  const isTaken = (at: number): boolean =>
    repeated.some((one) => at >= one.at && at < one.at + one.words.length);
  const single = [...line.matchAll(CANDIDATE)]
    .filter(({ index }) => !isTaken(index))
    .map((match) => {
      const words = match[0].trim();
      return { ...parseWhen(words, clock), words, at: match.index + match[0].indexOf(words) };
    })
    .filter((one) => one.ok || one.because !== "not-a-date");
  return [...repeated, ...single].toSorted((a, b) => a.at - b.at);
}

/** For a slot that is a day with or without a time. */
export function whenReader(clock: PersonClock): Reader<When> {
  return {
    parse: (words) => parseWhen(words, clock),
    find: (sentence) => findWhen(sentence, clock),
  };
}

/**
 * For a slot that is a day alone. A time that was said with it cannot be kept, so the day is
 * `approximate`: the person is told and asked.
 */
export function dayReader(clock: PersonClock): Reader<IsoDate> {
  return {
    parse: (words) => dayAlone(parseWhen(words, clock)),
    find: (sentence) => findWhen(sentence, clock).map((one) => ({ ...dayAlone(one), at: one.at })),
  };
}

/**
 * The same where a time is not lost: another slot has it, or the person is told that it is not kept.
 */
export function dayOnlyReader(clock: PersonClock): Reader<IsoDate> {
  const dayOf = (reading: WhenReading): Reading<IsoDate> =>
    reading.ok ? dayAlone(withoutTimes(reading, clock)) : reading;
  return {
    parse: (words) => dayOf(parseWhen(words, clock)),
    find: (sentence) => findWhen(sentence, clock).map((one) => ({ ...dayOf(one), at: one.at })),
  };
}

/** `내일 7시` is one day, whichever 7 it is; and `내일 7시쯤` is that day for sure. */
function withoutTimes(
  { value, others, words, sure }: Understood<When>,
  { today }: PersonClock,
): Understood<When> {
  const days = [...new Set([value, ...others].map(({ date }) => date))];
  const [first, ...rest] = days.map((date) => ({ date }));
  if (rest.length > 0) return understood(first!, words, "ambiguous", rest);
  const { time, dayWords } = partsOf(words);
  const day = time && dayWords !== "" ? parseDay(dayWords, today) : undefined;
  const isRough = (day?.ok ? day.sure : sure) === "approximate";
  return understood(first!, words, isRough ? "approximate" : "exact");
}

/** Whether words name a time: 내일 오전 9시, but not 내일. Pure. */
export function namesATime(words: string, clock: PersonClock): boolean {
  const read = parseWhen(words, clock);
  return read.ok && read.value.time !== undefined;
}

function dayAlone(reading: WhenReading): Reading<IsoDate> {
  if (!reading.ok) return reading;
  const { value, words, sure, others } = reading;
  const days = [...new Set([value, ...others].map(({ date }) => date))];
  const [day, ...otherDays] = days;
  if (otherDays.length > 0) return understood(day!, words, "ambiguous", otherDays);
  const isExact = sure !== "approximate" && value.time === undefined;
  return understood(day!, words, isExact ? "exact" : "approximate");
}

// --- a day with a time

interface WhenParts {
  readonly day: Understood<IsoDate>;
  readonly options: readonly TimeOption[];
  readonly approximate: boolean;
  readonly clock: PersonClock;
}

function combine(words: string, { day, options, approximate, clock }: WhenParts): WhenReading {
  const all = [day.value, ...day.others].flatMap((date) =>
    options.flatMap(({ time, dayShift }) => {
      const shifted = addDays(date, dayShift);
      return shifted === undefined ? [] : [{ date: shifted, time }];
    }),
  );
  const [first, ...others] = all.filter((when) => !isPast(when, clock));
  if (!first) return notUnderstood("past", words);
  if (others.length > 0) return understood(first, words, "ambiguous", others);
  const isRough = approximate || day.sure === "approximate";
  return understood(first, words, isRough ? "approximate" : "exact");
}

function isPast(when: When, { today, time }: PersonClock): boolean {
  if (when.date !== today) return when.date < today;
  return time !== undefined && when.time !== undefined && when.time < time;
}

/** A time without a day: today, or tomorrow if it has passed. */
function anyDayFor({ today }: PersonClock, words: string): Understood<IsoDate> {
  const tomorrow = addDays(today, 1);
  return understood(today, words, "exact", tomorrow === undefined ? [] : [tomorrow]);
}

function withoutTime(day: Reading<IsoDate, DayBecause>): WhenReading {
  if (!day.ok) return day;
  const { value, words, sure, others } = day;
  return understood(
    { date: value },
    words,
    sure,
    others.map((date) => ({ date })),
  );
}

function withWords(reading: WhenReading, words: string): WhenReading {
  return { ...reading, words };
}

const ENDS: readonly RegExp[] = [
  /^(?:음+|네|예|응|그럼|그러면|아니|일단|그냥|on|at|for|from) ?,? /u,
  /[\s.!~,ㅎㅋㅠㅜ]+$/u,
  /(?<=[가-힣0-9)]) ?(?:이요|요|에요|이에요|예요|입니다|이야)$/u,
];

function withoutEnds(folded: string): string {
  let rest = folded.trim();
  for (let taken = 0; taken < 4; taken++) {
    const shorter = ENDS.reduce((text, pattern) => text.replace(pattern, ""), rest).trim();
    if (shorter === rest) break;
    rest = shorter;
  }
  return rest;
}

/** A day, a time, or both in either order, with what says how they are meant. */
const CANDIDATE = new RegExp(
  [
    `${MARK_BEFORE}(?:${DAY_SOURCE})${MARK_BEHIND}` +
      `(?:(?:에|날|,)? ?(?:at |by |until |before |after )?(?:${TIME_SOURCE})${MARK_BEHIND})?`,
    `${MARK_BEFORE}(?:${TIME_SOURCE})${MARK_BEHIND}(?: ?(?:on )?(?:${DAY_SOURCE})${MARK_BEHIND})?`,
  ].join("|"),
  "giu",
);
