import {
  LONGEST_SENTENCE,
  notUnderstood,
  understood,
  type Found,
  type Reader,
  type Reading,
  type Understood,
} from "../reading.ts";

/** Something that is to happen again and again. */
export interface Recurrence {
  /** `unsaid`: 자동이체, a standing order, without a word of how often. */
  readonly every: "day" | "week" | "month" | "year" | "unsaid";
  /** 2 for every other week; else 1. */
  readonly interval: number;
  /** Day of the month, or its last one. */
  readonly day?: number | "last" | undefined;
  /** 1 Monday … 7 Sunday. */
  readonly weekday?: number | undefined;
}

/**
 * Every wish for a repetition in a sentence: `매달 25일`, `매주 월욜마다`, `격주`, `자동이체`, `every month
 * on the 25th`, `weekly`. For a service that takes none, so that it can say so. Pure.
 */
export function findRecurrence(sentence: string): readonly Found<Understood<Recurrence>>[] {
  const line = sentence.normalize("NFC");
  if (line.length > LONGEST_SENTENCE) return [];
  return [...line.matchAll(REPEATED)].map((match) => {
    const words = match[0].trim();
    const at = match.index + match[0].indexOf(words);
    return { ...understood(recurrenceOf(words.toLowerCase()), words), at };
  });
}

/**
 * For a slot that is a repetition. Its value is a rule of iCalendar (RFC 5545): `매달 25일` is
 * `FREQ=MONTHLY;BYMONTHDAY=25`, `매주 월요일` is `FREQ=WEEKLY;BYDAY=MO`.
 */
export const recurrenceReader: Reader<string> = {
  parse(words) {
    if (RULE.test(words)) return understood(words, words);
    const [only, ...others] = findRecurrence(words);
    if (!only || others.length > 0) return notUnderstood("not-a-recurrence", words);
    return ruled(only);
  },
  find: (sentence) => findRecurrence(sentence).map((one) => ({ ...ruled(one), at: one.at })),
};

/** As a model may propose it. */
const RULE = /^FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)(?:;[A-Z]{3,12}=[-+A-Z0-9,]{1,20}){0,4}$/;

/** 자동이체 alone does not say how often. */
function ruled({ value, words }: Understood<Recurrence>): Reading<string> {
  const rule = recurrenceRule(value);
  return rule === undefined ? notUnderstood("how-often", words) : understood(rule, words);
}

const WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"] as const;
const FREQUENCIES = { day: "DAILY", week: "WEEKLY", month: "MONTHLY", year: "YEARLY" } as const;

/** A repetition as a rule of iCalendar; undefined where it is not said how often. Pure. */
export function recurrenceRule(recurrence: Recurrence): string | undefined {
  const { every, interval, day, weekday } = recurrence;
  if (every === "unsaid") return undefined;
  return [
    `FREQ=${FREQUENCIES[every]}`,
    interval > 1 ? `INTERVAL=${interval}` : "",
    every === "month" && day !== undefined ? `BYMONTHDAY=${day === "last" ? -1 : day}` : "",
    every === "week" && weekday !== undefined ? `BYDAY=${WEEKDAYS[weekday - 1]}` : "",
  ]
    .filter((part) => part !== "")
    .join(";");
}

const START = "(?<![\\p{L}\\p{N}])";
const WEEKDAY_KO = "[월화수목금토일](?:요일|욜)";
const WEEKDAY_EN = "(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?s?";
const DAY_KO = "(?: ?(?:\\d{1,2}일(?:마다|날)?|말일?|초))?";

const REPEATED = new RegExp(
  [
    `${START}(?:매달|매월|다달이|달마다|월마다|한 ?달에 한 ?번씩?)(?:마다)?${DAY_KO}`,
    `${START}(?:매주|주마다|(?:일주일|한 ?주|[이2삼3두] ?주일?)에 한 ?번씩?|격주|[이2삼3두] ?주마다)(?:에|` +
      `로)?(?: ?${WEEKDAY_KO}(?:마다|날)?)?`,
    `${START}${WEEKDAY_KO}마다`,
    `${START}(?:매일(?:매일)?(?!유업|경제|신문|\\p{L}{2,})|날마다|하루에 한 ?번씩?)`,
    `${START}(?:매년|해마다)(?: ?\\d{1,2}월(?: ?\\d{1,2}일)?)?`,
    `${START}(?:자동 ?이체|정기 ?(?:이체|송금|결제)|정기적으로|반복 ?(?:이체|송금)|월급날마다|\\d{1,2}일마다)`,
    `\\bevery (?:(?:other|two|three|\\d) )?(?:days?|weeks?|months?|years?|` +
      `${WEEKDAY_EN}|\\d{1,2}(?:st|nd|rd|` +
      `th))\\b(?:,? on (?:the )?(?:${WEEKDAY_EN}|` +
      `\\d{1,2}(?:st|nd|rd|th)))?`,
    `\\b(?:on )?(?:the )?\\d{1,2}(?:st|nd|rd|th) of (?:every|each) month\\b`,
    `\\beach (?:day|week|month|year)\\b|\\b(?:daily|` +
      `weekly|bi-?weekly|monthly|yearly|annually)\\b`,
    `\\b(?:recurring|standing order|auto-?pay|automatic (?:payment|transfer)s?)\\b`,
  ].join("|"),
  "giu",
);

const UNITS: readonly (readonly [Exclude<Recurrence["every"], "unsaid">, RegExp])[] = [
  ["week", /주|요일|욜|week|^every (?:mon(?!th)|tue|wed|thu|fri|sat|sun)/u],
  ["month", /달|월마다|매월|다달|월급날|일마다|month|\d(?:st|nd|rd|th)/u],
  ["year", /매년|해마다|year|annual/u],
  ["day", /매일|날마다|하루|day|daily/u],
];

function recurrenceOf(words: string): Recurrence {
  const every = UNITS.find(([, pattern]) => pattern.test(words))?.[0] ?? "unsaid";
  const interval = /격주|[이2두] ?주|other|two|2 |bi-?weekly/u.test(words) ? 2 : 1;
  return { every, interval, day: dayIn(words), weekday: weekdayIn(words) };
}

function dayIn(words: string): Recurrence["day"] {
  if (words.includes("말")) return "last";
  const day = Number(/(\d{1,2})(?:일|st|nd|rd|th)/u.exec(words)?.[1]);
  return day > 0 ? day : undefined;
}

function weekdayIn(words: string): number | undefined {
  const korean = /([월화수목금토일])(?:요일|욜)/u.exec(words)?.[1];
  if (korean !== undefined) return "월화수목금토일".indexOf(korean) + 1;
  const english = /\b(mon(?!th)|tue|wed|thu|fri|sat|sun)/u.exec(words)?.[1];
  return english === undefined
    ? undefined
    : ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].indexOf(english) + 1;
}
