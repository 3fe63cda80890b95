import { parseDate } from "./date.ts";
import { addDays, dayOf, ENGLISH_MONTH, partsOf, weekdayOf, type IsoDate } from "./days.ts";
import { MARK_FOLLOWS, withoutMarks } from "../marks.ts";
import { LONGEST_VALUE, notUnderstood, understood, type Reading } from "../reading.ts";
import { fold } from "../text.ts";

/** Why words are no day. */
export type DayBecause =
  | "empty"
  | "not-a-date"
  | "no-such-day"
  | "past"
  /** 다음 주에, 나중에, 설날: a stretch of days, or a day that must be looked up. Ask for the day. */
  | "vague";
/** A day in a person's words. */
export type DayReading = Reading<IsoDate, DayBecause>;

/**
 * A day as people write it, seen from `today`: what `parseDate` reads, and feasts, `담주 월욜`, days
 * with their weekday, two days of which one is meant. The whole text must be the day. Pure.
 */
export function parseDay(text: string, today: IsoDate): DayReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-date", words);

  const folded = fold(words);
  const within = withinOf(folded, today);
  if (within) return { ...within, words };
  const { core, approximate } = withoutManner(folded);
  if (VAGUE.test(core)) return notUnderstood("vague", words);
  if (/^(?:이번 ?주? ?)?주말$|^(?:this |the )?weekend$/u.test(core)) {
    return weekend(today, 0, words);
  }
  if (/^(?:다음|담) ?주말$|^next weekend$/u.test(core)) return weekend(today, 1, words);
  const either = EITHER.exec(core);
  if (either) return eitherOf(words, parseOne(either[1]!, today), parseOne(either[2]!, today));

  const reading = parseOne(core, today);
  if (!reading.ok || !approximate) return { ...reading, words };
  return understood(reading.value, words, "approximate");
}

const EITHER = /^(.{1,30}?) ?(?:이나|나|아니면|또는|혹은|~| or ) ?(.{1,30})$/u;
const VAGUE = new RegExp(
  "^(?:나중에?|언젠가|조만간|곧|빨리|천천히|이번 ?주|다음 ?주|담 ?주|다다음 ?주|" +
    "이번 ?달|다음 ?달|담 ?달|내년|(?:이번 |다음 |이달 )?(?:월초|월 초|초순|중순|" +
    "하순|초|중)|(?:이번|다음|담) ?[주달] ?(?:초|중|중순|말쯤|안)|다음 ?주말쯤|" +
    "(?:(?:\\d{1,2}월|이달|이번 ?달|다음 ?달|담 ?달) ?)?(?:[첫둘셋넷]째|마지막) ?주|설날?|구정|추석|명절|월급날|생일|soon|later|some ?day|(?:this|" +
    "next) (?:week|month|year))$",
  "u",
);

/** One day, with the weekday that was said beside it. */
function parseOne(core: string, today: IsoDate): DayReading {
  const feast = feastOf(core, today);
  if (feast !== undefined) return understood(feast, core);

  const dated =
    /^(.*\d일?) ?(?:\(([월화수목금토일])(?:요일|욜)?\)|([월화수목금토일])(?:요일|욜))$/u.exec(core);
  if (dated) return withWeekday(dated[1]!, (dated[2] ?? dated[3])!, today);

  const read = parseDate(core, { today });
  if (!read.ok) return notUnderstood(read.because, core);
  const other = otherDayOf(core, read.date, today);
  return other === undefined
    ? understood(read.date, core)
    : understood(read.date, core, "ambiguous", [other]);
}

/** `12월 25일 금요일`: both must be true, or the person is asked which is meant. */
function withWeekday(core: string, letter: string, today: IsoDate): DayReading {
  const read = parseDate(core.trim(), { today });
  if (!read.ok) return notUnderstood(read.because, core);
  const weekday = "월화수목금토일".indexOf(letter) + 1;
  if (weekdayOf(read.date) === weekday) return understood(read.date, core);
  const nearest = addDays(read.date, ((weekday - weekdayOf(read.date) + 10) % 7) - 3);
  const isPast = nearest !== undefined && nearest < today;
  const other = isPast ? addDays(nearest, 7) : nearest;
  if (other === undefined) return notUnderstood("no-such-day", core);

  return understood(read.date, core, "ambiguous", [other]);
}

const WEEKDAYS = new RegExp(
  "^(?:on )?(?:next )?(?:mon|tues?|wednes|wed|thurs?|thu|fri|satur|sat|sun)(?:day)?$",
  "",
);

/**
 * `next friday` said on a Wednesday is this week's for many; a bare weekday said on that weekday may
 * be today.
 */
function otherDayOf(core: string, date: IsoDate, today: IsoDate): IsoDate | undefined {
  const weekBefore = addDays(date, -7);
  if (weekBefore === undefined || weekBefore < today) return undefined;
  const isNext = WEEKDAYS.test(core) && core.includes("next ");
  const isBare = /^[월화수목금토일](?:요일|욜)(?:날|에)?$/u.test(core) || WEEKDAYS.test(core);
  if (isNext) return weekBefore > today ? weekBefore : undefined;
  return isBare && weekBefore === today ? today : undefined;
}

/** On its Sunday a weekend may as well be the next one. */
function weekend(today: IsoDate, weeks: number, words: string): DayReading {
  const saturday = addDays(today, 6 - weekdayOf(today) + 7 * weeks);
  const sunday = addDays(today, 7 - weekdayOf(today) + 7 * weeks);
  const next = addDays(today, 13 - weekdayOf(today) + 7 * weeks);
  if (saturday === undefined || sunday === undefined || next === undefined) {
    return notUnderstood("no-such-day", words);
  }
  return saturday < today
    ? understood(sunday, words, "ambiguous", [next])
    : understood(saturday, words, "ambiguous", [sunday]);
}

function eitherOf(words: string, one: DayReading, other: DayReading): DayReading {
  if (!one.ok) return { ...one, words };
  if (!other.ok) return { ...other, words };
  return understood(one.value, words, "ambiguous", [other.value]);
}

/** Days that are the same each year. */
const FEASTS: readonly (readonly [RegExp, number, number])[] = [
  [/^(?:크리스마스|성탄절|x-?mas|christmas(?: day)?)$/u, 12, 25],
  [/^(?:크리스마스 ?이브|christmas eve)$/u, 12, 24],
  [/^(?:새해 ?첫 ?날|신정|new year'?s? day|new year)$/u, 1, 1],
  [/^(?:연말|올해 ?말|new year'?s eve)$/u, 12, 31],
  [/^(?:발렌타인 ?데이|밸런타인 ?데이|valentine'?s day)$/u, 2, 14],
  [/^(?:삼일절)$/u, 3, 1],
  [/^(?:화이트 ?데이)$/u, 3, 14],
  [/^(?:만우절)$/u, 4, 1],
  [/^(?:어린이 ?날)$/u, 5, 5],
  [/^(?:어버이 ?날)$/u, 5, 8],
  [/^(?:스승의 ?날)$/u, 5, 15],
  [/^(?:현충일)$/u, 6, 6],
  [/^(?:제헌절)$/u, 7, 17],
  [/^(?:광복절)$/u, 8, 15],
  [/^(?:개천절)$/u, 10, 3],
  [/^(?:한글날)$/u, 10, 9],
  [/^(?:핼러윈|할로윈|halloween)$/u, 10, 31],
  [/^(?:빼빼로 ?데이)$/u, 11, 11],
];

function feastOf(core: string, today: IsoDate): IsoDate | undefined {
  const feast = FEASTS.find(([name]) => name.test(core.replace(/(?:에|날에)$/u, "")));
  if (!feast) return undefined;
  const [, month, day] = feast;
  const { year } = partsOf(today);
  const thisYear = dayOf(year, month, day);
  return thisYear !== undefined && thisYear >= today ? thisYear : dayOf(year + 1, month, day);
}

function withoutManner(folded: string): { readonly core: string; readonly approximate: boolean } {
  const { core, isRough } = withoutMarks(folded);
  const rest = core
    .replace(/^(?:the )(?=weekend)/u, "")
    .replace(/(?<=주말|나중|[주달초중말])에$/u, "");
  return { core: rest, approximate: isRough };
}

const WITHIN = [
  [/^(.+?) ?(?:이내|내|안)(?:에|로|으로)?(?:까지)?$/u, (span: string) => `${span} 뒤`],
  [/^(?:within|in the next) (?:the next )?(.+)$/u, (span: string) => `in ${span}`],
] as const;

/** More days than these can be a day of the month too: 25일 안에. */
const SURELY_COUNTED = 10;

/** The last day of a stretch that begins today: 3일 이내, 일주일 안에, within two weeks. */
function withinOf(folded: string, today: IsoDate): DayReading | undefined {
  for (const [pattern, afterIt] of WITHIN) {
    const span = pattern.exec(folded)?.[1];
    const last = span === undefined ? undefined : parseDate(afterIt(span), { today });
    if (span === undefined || !last?.ok) continue;
    const named = parseDate(span, { today });
    const isDayToo = named.ok && Number.parseInt(span, 10) > SURELY_COUNTED;
    return isDayToo
      ? understood(last.date, folded, "ambiguous", [named.date])
      : understood(last.date, folded);
  }
  return undefined;
}

const WEEKDAY = "(?:mon|tues?|wed(?:nes)?|thurs?|fri|sat(?:ur)?|sun)(?:day)?";
const NOT_IN_A_WORD = "(?<![\\p{L}\\p{N}])";
const KOREAN_END = `(?=$|[\\s,.!?~0-9]|에|로|은|날|이나|${MARK_FOLLOWS}|이요|요|오전|오후)`;

/** By which a day is found in a sentence; `parseDay` judges what is found. */
export const DAY_SOURCE = [
  `(?<!\\d)\\d{4}[-/.] ?\\d{1,2}[-/.] ?\\d{1,2}(?:[t ]\\d{2}:\\d{2})?(?!\\d)`,
  `(?:(?:\\d{2,4}년|작년|올해|금년|내년|` +
    `후년) ?)?(?<!\\d)\\d{1,2}월 ?(?:\\d{1,2}일|` +
    `말일?)(?: ?\\(?[월화수목금토일](?:요일|욜|(?=\\)))\\)?)?(?:까지|` +
    `쯤)?`,
  `${NOT_IN_A_WORD}(?:지난|이번|다음|담|다다음) ?달 ?(?:\\d{1,2}일|말일?|초)(?:까지|쯤)?`,
  `${NOT_IN_A_WORD}이달 ?말일?|${NOT_IN_A_WORD}(?:지난|이번|금|` +
    `다음|담|다다음|다담|저번) ?주 ?[월화수목금토일](?:(?:요일|욜)날?|(?=$|` +
    `[\\s,.!에]))`,
  `(?<!\\d)(?:\\d{1,2}월|이달|이번 ?달|다음 ?달|담 ?달) ?(?:[첫둘셋넷]째|마지막) ?주${KOREAN_END}`,
  `${NOT_IN_A_WORD}(?:이번 ?주?|다음|담) ?주말|` +
    `${NOT_IN_A_WORD}(?:다음|담|` +
    `다다음) ?[주달](?:쯤)?${KOREAN_END}`,
  `${NOT_IN_A_WORD}(?:돌아오는 |오는 )?[월화수목금토일](?:요일|욜)날?(?:까지|쯤)?`,
  `${NOT_IN_A_WORD}(?:내일모레|낼모레|그글피|글피|모레|내일|낼|오늘|어제|` +
    `그저께|그제|말일|월말|연말|월급날|설날|추석|주말|크리스마스(?: ?이브)?|성탄절|` +
    `어린이날|어버이날|스승의 ?날|광복절|개천절|한글날|삼일절|현충일|새해 ?첫날|` +
    `발렌타인 ?데이|빼빼로 ?데이)(?:까지|쯤)?${KOREAN_END}`,
  `${NOT_IN_A_WORD}(?:하루|이틀|사흘|나흘|닷새|열흘|보름|한 ?달|일주일|` +
    `한 ?주|\\d{1,3}일|\\d{1,2}주일?|\\d{1,2}(?:달|개월)) ?(?:뒤|` +
    `후|이내|내에|내로|안에|안으로)`,
  `(?<![\\d/.])\\d{1,2}/\\d{1,2}(?![\\d/])`,
  `(?<![\\d.,-])(?:오는 |` +
    `돌아오는 )?\\d{1,2}일(?: ?\\(?[월화수목금토일](?:요일|욜|` +
    `(?=\\)))\\)?)?(?:까지|쯤)?(?=$|[\\s,.!?]|에|로|자|날|${MARK_FOLLOWS})`,
  `\\b(?:by )?(?:the )?day after tomorrow\\b|` +
    `\\b(?:by )?(?:today|tonight|tomorrow|tmrw|tmr|` +
    `yesterday)\\b`,
  `\\b(?:(?:by )?(?:next|this|coming|last) ${WEEKDAY}|` +
    `(?:on|by) ${WEEKDAY}|(?:mon|tues?|wed(?:nes)?|` +
    `thurs?|fri)(?:day)?|saturday|` +
    `sunday)\\b(?:,? ${ENGLISH_MONTH} \\d{1,2}(?:st|nd|rd|th)?)?`,
  `\\b(?:by )?${ENGLISH_MONTH} \\d{1,2}(?:st|nd|rd|` +
    `th)?(?:,? \\d{4})?\\b|\\b\\d{1,2}(?:st|nd|rd|` +
    `th)? (?:of )?${ENGLISH_MONTH}(?:,? \\d{4})?\\b`,
  `\\b(?:christmas(?: eve| day)?|x-?mas|` +
    `new year'?s (?:day|eve)|halloween|` +
    `valentine'?s day)\\b`,
  `\\b(?:this |next )?weekend\\b|\\bnext (?:week|` +
    `month)\\b|\\b(?:the )?end of (?:the|this|` +
    `next) month\\b`,
  `\\b(?:with)?in (?:the next )?(?:a|an|one|two|three|\\d{1,3}) (?:days?|` +
    `weeks?|months?)\\b|\\ba week from (?:today|now)\\b`,
  `\\b(?:on )?the \\d{1,2}(?:st|nd|rd|` +
    `th)\\b(?: of (?:this|next) month)?|\\b\\d{1,2}(?:st|` +
    `nd|rd|th)\\b(?: of (?:this|next) month)?`,
].join("|");
