/** Slots that are a day, or a range of days. */

import type { Locale } from "../../kernel/locales.ts";
import { z } from "zod";
import { dateRangeReader, isIsoDateRange } from "../../parse/days/date-range.ts";
import {
  ENGLISH_MONTH,
  isIsoDate,
  partsOf,
  weekdayOf,
  type IsoDate,
} from "../../parse/days/days.ts";
import { dayReaderFor, type PastDays } from "../../parse/days/past-day.ts";
import { notUnderstood, type Reader } from "../../parse/reading.ts";
import { namesATime } from "../../parse/days/when.ts";
import type { SlotContext, SlotSpec } from "../form.ts";
import { hasSlot, slotOf, takeExact, type KindErrors, type KindOptions } from "./kind.ts";
import { checkedOptions, KIND_OPTIONS, oneOfWords, SWITCH } from "./options.ts";

export interface DateOptions extends KindOptions<IsoDate> {
  /** Whether the day may have passed. Default: `refused`. `only`: a birthday, a day of purchase. */
  readonly past?: PastDays | undefined;
  /** Of a past day: whether its year must be said, as of a birthday. Default: the last one is meant. */
  readonly needsYear?: boolean | undefined;
}

const PAST = oneOfWords(["refused", "only", "allowed"] satisfies PastDays[]);
const DATE_OPTIONS = { ...KIND_OPTIONS, past: PAST, needsYear: SWITCH };
const DATE_RANGE_OPTIONS = { ...KIND_OPTIONS, past: PAST };

/**
 * A day: `내일`, `12월 3일`, `next Monday`. A time that is said with it is kept where the form has a
 * slot for it; else the person is told that it is not.
 */
export function dateSlot(options: DateOptions = {}): SlotSpec<IsoDate> {
  const {
    past = "refused",
    needsYear = false,
    ...own
  } = checkedOptions("date", options, DATE_OPTIONS);
  const isPast = past !== "refused";
  const readerFor = (context: SlotContext): Reader<IsoDate> => {
    const reader = dayReaderFor(past, context);
    return isPast && needsYear ? withYear(reader) : reader;
  };
  return slotOf<IsoDate>(
    {
      type: "date",
      reader: readerFor,
      remark: (words, context) =>
        !hasSlot("time", context) && namesATime(words, context) ? "DATE_WITHOUT_TIME" : undefined,
      parse: (raw, context) => {
        if (typeof raw !== "string") return { ok: false, error: "DATE_UNCLEAR" };
        return takeExact(readerFor(context).parse(raw), "DATE_UNCLEAR", DAY_BECAUSES);
      },
      schema: z.string().refine(isIsoDate),
      schemaError: "DATE_NO_SUCH_DAY",
      format: { ko: "날짜, YYYY-MM-DD", en: "a day, YYYY-MM-DD" },
      errors: withDayErrors(dateErrors(isPast)),
      examples: DATE_EXAMPLES[past],
      show: past === "only" ? showPastDay : showDay,
    },
    own,
  );
}

export interface DateRangeOptions extends KindOptions<string> {
  /** Whether its days may have passed. Default: `refused`. */
  readonly past?: PastDays | undefined;
}

/** First and last day, kept as `2026-12-03/2026-12-05`: `12월 3일부터 5일까지`, `내일부터 3일간`. */
export function dateRangeSlot(options: DateRangeOptions = {}): SlotSpec<string> {
  const { past = "refused", ...own } = checkedOptions("dateRange", options, DATE_RANGE_OPTIONS);
  return slotOf<string>(
    {
      type: "date_range",
      reader: (context) => dateRangeReader(context, past),
      parse: (raw, context) => {
        if (typeof raw !== "string") return { ok: false, error: "RANGE_UNCLEAR" };
        return takeExact(dateRangeReader(context, past).parse(raw), "RANGE_UNCLEAR", DAY_BECAUSES);
      },
      schema: z.string().refine(isIsoDateRange),
      schemaError: "RANGE_BACKWARDS",
      format: {
        ko: "첫날과 마지막 날, YYYY-MM-DD/YYYY-MM-DD",
        en: "first and last day, YYYY-MM-DD/YYYY-MM-DD",
      },
      errors: withDayErrors(RANGE_ERRORS),
      examples: RANGE_EXAMPLES[past],
      show: showRange,
    },
    own,
  );
}

const DAY_BECAUSES: Readonly<Record<string, string>> = {
  past: "DATE_PAST",
  future: "DATE_FUTURE",
  "no-such-day": "DATE_NO_SUCH_DAY",
  recurring: "DATE_REPEATS",
  "no-year": "DATE_YEAR",
  "no-end": "RANGE_END",
  backwards: "RANGE_BACKWARDS",
};

/** A year, or a day that is counted from today. */
const SAYS_A_YEAR = new RegExp(
  "(?<!\\d)\\d{4}(?!\\d)|^\\d{6}(?:\\d{2})?$|\\d{2} ?(?:년|[.-] ?\\d{1,2}[.-] ?\\d)|[작지올금]난?[년해]|" +
    `\\d(?:st|nd|rd|th)? (?:of )?${ENGLISH_MONTH},? '?\\d{2}$|` +
    "어제|제$|오늘|내일|모레|[전뒤후]$|주|year|today|tomorrow|ago|last|next",
  "iu",
);

function withYear({ parse, find }: Reader<IsoDate>): Reader<IsoDate> {
  const checked: Reader<IsoDate>["parse"] = (words) => {
    const read = parse(words);
    return read.ok && !SAYS_A_YEAR.test(words) ? notUnderstood("no-year", words) : read;
  };
  return {
    parse: checked,
    find: (sentence) =>
      find(sentence).map((one) =>
        one.ok && !SAYS_A_YEAR.test(one.words)
          ? { ...notUnderstood("no-year", one.words), at: one.at }
          : one,
      ),
  };
}

// --- words

const DATE_EXAMPLES = {
  refused: ["내일", "12월 3일", "in two weeks"],
  only: ["1990년 5월 3일", "90.5.3", "May 3, 1990"],
  allowed: ["어제", "내일", "1990년 5월 3일"],
} as const satisfies Record<PastDays, readonly string[]>;

const RANGE_EXAMPLES = {
  refused: ["12월 3일부터 5일까지", "내일부터 3일간", "Dec 3 to 5"],
  only: ["1990년 5월 3일부터 5월 5일까지"],
  allowed: ["내일부터 3일간", "1990년 5월 3일부터 5월 5일까지"],
} as const satisfies Record<PastDays, readonly string[]>;

function dateErrors(isPast: boolean): KindErrors {
  return {
    ko: {
      DATE_UNCLEAR: `날짜를 정확히 말씀해 주세요. 예: ${isPast ? "1990년 5월 3일" : "12월 3일"}`,
      DATE_YEAR: "연도까지 말씀해 주세요. 예: 1990년 5월 3일",
      DATE_WITHOUT_TIME: "시각은 정할 수 없어서 날짜만 받았어요.",
    },
    en: {
      DATE_UNCLEAR: `I need one day, such as ${isPast ? "May 3, 1990" : "December 3"}.`,
      DATE_YEAR: "I need the year too, such as May 3, 1990.",
      DATE_WITHOUT_TIME: "I cannot keep a time here, so I took the day alone.",
    },
  };
}

const RANGE_ERRORS: KindErrors = {
  ko: {
    RANGE_UNCLEAR: "언제부터 언제까지인지 말씀해 주세요. 예: 12월 3일부터 5일까지",
    RANGE_END: "언제까지인지도 말씀해 주세요. 예: 12월 3일부터 5일까지",
    RANGE_BACKWARDS: "마지막 날이 첫날보다 앞이에요. 다시 말씀해 주세요.",
  },
  en: {
    RANGE_UNCLEAR: "I need the first and the last day, such as December 3 to 5.",
    RANGE_END: "I need the last day too, such as December 3 to 5.",
    RANGE_BACKWARDS: "The last day lies before the first. Please say both again.",
  },
};

function withDayErrors({ ko, en }: KindErrors): KindErrors {
  return {
    ko: {
      DATE_PAST: "지난 날짜예요.",
      DATE_FUTURE: "아직 오지 않은 날짜예요.",
      DATE_NO_SUCH_DAY: "없는 날짜예요.",
      DATE_REPEATS: "되풀이되는 날은 받을 수 없어요. 하루를 말씀해 주세요.",
      ...ko,
    },
    en: {
      DATE_PAST: "That day has passed.",
      DATE_FUTURE: "That day is still to come.",
      DATE_NO_SUCH_DAY: "There is no such day.",
      DATE_REPEATS: "I need one day, not one that repeats.",
      ...en,
    },
  };
}

const MONTHS =
  "January February March April May June July August September October November December".split(
    " ",
  );

/** `2026년 12월 3일(목)`, `December 3, 2026`. */
function showDay(date: IsoDate, locale: Locale): string {
  const { year, month, day } = partsOf(date);
  if (locale === "en") return `${MONTHS[month - 1]} ${day}, ${year}`;
  return `${year}년 ${month}월 ${day}일(${"월화수목금토일"[weekdayOf(date) - 1]})`;
}

/** A day of which no one asks what weekday it was. */
function showPastDay(date: IsoDate, locale: Locale): string {
  return showDay(date, locale).replace(/\(.\)$/u, "");
}

function showRange(range: string, locale: Locale): string {
  const [first = "", last = ""] = range.split("/").map((day) => showDay(day, locale));
  return locale === "ko" ? `${first}부터 ${last}까지` : `${first} to ${last}`;
}
