/** Days that have passed: a birthday, the day of a purchase. `parseDay` reads those to come. */

import { plainAnswer } from "../answer.ts";
import { DAY_SOURCE, parseDay, type DayBecause } from "./day.ts";
import { ENGLISH_MONTH, type IsoDate } from "./days.ts";
import { findBy } from "../find-by.ts";
import { withoutMarks } from "../marks.ts";
import { PAST_RULES } from "./past-rules.ts";
import { LONGEST_VALUE, notUnderstood, understood, type Reader, type Reading } from "../reading.ts";
import { fold } from "../text.ts";
import { takeTime } from "./time.ts";
import { dayOnlyReader, type PersonClock } from "./when.ts";

/** Whether a day may lie before today. `only`: today or before it. */
export type PastDays = "refused" | "only" | "allowed";
/** Why words are no day up to today. */
export type PastDayBecause = DayBecause | "future";
/** A day up to today in a person's words. */
export type PastDayReading = Reading<IsoDate, PastDayBecause>;

/**
 * A day up to today: `1990년 5월 3일`, `90.5.3`, `May 3, 1990`, `어제`, `지난주 금요일`, `3일 전`,
 * `two weeks ago`, `작년 5월 3일`. A day without a year is the last one. The whole text must be it.
 * Pure.
 */
export function parsePastDay(text: string, today: IsoDate): PastDayReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-date", words);

  const { core, isRough } = coreOf(words);
  const rule = PAST_RULES.map((one) => one(core, today)).find((one) => one !== undefined);
  const read = rule ?? parseDay(core, today);
  if (!read.ok) return notUnderstood(read.because === "past" ? "not-a-date" : read.because, words);
  const [day, ...others] = [read.value, ...read.others].filter((one) => one <= today);
  if (day === undefined) return notUnderstood("future", words);
  if (others.length > 0) return understood(day, words, "ambiguous", others);
  return understood(day, words, isRough || read.sure === "approximate" ? "approximate" : "exact");
}

/**
 * For a slot that is a day alone, past or to come as the slot has it. A time that was said with it is
 * another slot's. Where both sides of today are meant by the same words (`5월 3일`), it is ambiguous.
 */
export function dayReaderFor(past: PastDays, clock: PersonClock): Reader<IsoDate> {
  const toCome = dayOnlyReader(clock);
  if (past === "refused") return toCome;
  const parse = (words: string): Reading<IsoDate> => {
    const passed = parsePastDay(words, clock.today);
    const isPast = past === "only" || (passed.ok && SHORT_YEAR.test(fold(passed.words)));
    return isPast ? passed : eitherSide(passed, toCome.parse(words));
  };
  return { parse, find: (sentence) => findBy(sentence, CANDIDATE, parse) };
}

/** 90년 is 1990 here, and 2090 for days to come. */
const SHORT_YEAR = /^\d{2} ?년/u;

function eitherSide(passed: PastDayReading, next: Reading<IsoDate>): Reading<IsoDate> {
  if (!passed.ok) return next.ok || passed.because === "future" ? next : passed;
  if (!next.ok) return passed;
  const [day, ...others] = new Set([next.value, ...next.others, passed.value, ...passed.others]);
  if (others.length > 0) return understood(day!, next.words, "ambiguous", others);
  return next;
}

/** Folded words without what stands around the day, and without a time of it. */
function coreOf(words: string): { readonly core: string; readonly isRough: boolean } {
  const { core, isRough } = withoutMarks(plainAnswer(fold(words)));
  const dayWords = takeTime(core)?.rest || core;
  return {
    core: dayWords
      .replace(/^on (?=\S)/u, "")
      .replace(/(?<=[가-힣\d)]) ?(?:날에?|에|생)$/u, "")
      .trim(),
    isRough,
  };
}

const COUNT =
  "(?:\\d{1,4}|한|두|세|네|[일이삼사오육칠팔구십]{1,3}|an?|one|two|three|four|five|six|ten)";
const WEEKDAY = "(?:mon|tues?|wed(?:nes)?|thurs?|fri|sat(?:ur)?|sun)(?:day)?";
const START = "(?<![\\p{L}\\p{N}])";

/** By which a day of either side is found in a sentence. */
export const ANY_DAY_SOURCE = [
  "(?<![\\d.\\/-])\\d{1,2}[.\\/-] ?\\d{1,2}[.\\/-] ?(?:\\d{4}|\\d{1,2})(?![\\d.\\/-]\\d|\\d)",
  `${START}${COUNT} ?(?:일|주일?|달|개월|년|days?|weeks?|months?|years?) ?(?:전|ago)(?![가-힣]{2})`,
  `${START}(?:하루|이틀|사흘|나흘|닷새|엿새|열흘|보름) ?전`,
  `${START}(?:지지난|지난|저번) ?주? ?[월화수목금토일](?:요일|욜)`,
  `${START}\\d{2} ?년생,? ?\\d{1,2}월 ?\\d{1,2}일`,
  `${START}(?:the )?\\d{1,2}(?:st|nd|rd|th)? (?:of )?${ENGLISH_MONTH},? '?\\d{2}(?!\\d)`,
  `${START}(?:재작년|작년|지난해|올해) ?\\d{1,2}월 ?\\d{1,2}일`,
  `${START}(?:어저께|어젯밤|엊그저께|그끄저께|(?:the )?day before yesterday|last night)`,
  `${START}(?:last|this past|past) ${WEEKDAY}\\b|${START}${WEEKDAY} last week\\b`,
  DAY_SOURCE,
].join("|");

const CANDIDATE = new RegExp(ANY_DAY_SOURCE, "giu");
