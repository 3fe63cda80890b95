import {
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type NotUnderstood,
  type Understood,
} from "../reading.ts";
import { withoutMarks } from "../marks.ts";
import { fold } from "../text.ts";

/** `HH:MM`, 24 hours. */
export type IsoTime = string;
/** Why words are no time of the day. */
export type TimeBecause = "empty" | "not-a-time" | "no-such-time";
/** A time of the day in a person's words. */
export type TimeReading = Understood<IsoTime> | NotUnderstood<TimeBecause>;

/**
 * A time of day: `오전 9시`, `저녁 7시 반`, `9:30pm`, `14시`, `열두시`, `noon`, `half past three pm`,
 * `ten o'clock`. Without a part of the day (`3시`) it is ambiguous. The whole text must be the time.
 * Pure.
 */
export function parseTime(text: string): TimeReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-time", words);

  const folded = fold(words)
    .replace(/[ ,]+(?:please|pls|plz)(?=[.!]*$)/u, "")
    .replace(TIME_ENDS, "")
    .replace(/^(?:음+|네|예|응|um+|uh+|yes|ok(?:ay)?),? /u, "")
    .trim();
  const { core, isRough } = withoutMarks(folded);
  const time = takeTime(core);
  if (!time || time.rest !== "") return notUnderstood("not-a-time", words);
  const [first, ...others] = time.options;
  if (!first) return notUnderstood("no-such-time", words);
  if (others.length > 0) {
    return understood(
      first.time,
      words,
      "ambiguous",
      others.map((option) => option.time),
    );
  }
  return understood(first.time, words, isRough || time.approximate ? "approximate" : "exact");
}

/** One way to understand a time of day. */
export interface TimeOption {
  readonly time: IsoTime;
  /** 1 for 밤 12시, which is the day after. */
  readonly dayShift: 0 | 1;
}

/**
 * The time of day in folded words, what is left without it, and the ways to understand it,
 * likeliest first; no way if there is no such time.
 */
export function takeTime(folded: string):
  | {
      readonly options: readonly TimeOption[];
      readonly approximate: boolean;
      readonly rest: string;
    }
  | undefined {
  const match = PATTERNS.map((pattern) => pattern.exec(folded)).find((found) => found !== null);
  if (!match) return undefined;

  const { period, hour, tail, named, exact, clock = "" } = match.groups ?? {};
  const rest = `${folded.slice(0, match.index)} ${folded.slice(match.index + match[0].length)}`;
  const approximate =
    exact !== undefined || /^(?:around|about) /u.test(match[0]) || ROUGH_ALONE.test(rest);
  const shared = { approximate, rest: withoutParticles(rest) };
  if (named !== undefined) {
    return { ...shared, options: NAMED[named as keyof typeof NAMED] };
  }
  const part = partOf(tail ?? period);
  const said = { hour: hourOf(hour ?? clock), minute: 0, isWritten24: clock.startsWith("0") };
  return { ...shared, options: optionsOf(part, withMinutes(said, match.groups ?? {})) };
}

/** An hour in digits or in words. */
function hourOf(words: string): number {
  if (/\d/u.test(words)) return Number(words);
  return HOURS.indexOf(words) + 1 || ENGLISH_HOURS.indexOf(words) + 1;
}

/** 3시 반, 3:30, half past three; a quarter to five is 4:45. */
function withMinutes(
  said: ClockReading,
  groups: Readonly<Record<string, string | undefined>>,
): ClockReading {
  const { minute, half, clockMinute, away, side } = groups;
  if (half !== undefined) return { ...said, minute: 30 };
  if (away === undefined) return { ...said, minute: Number(minute ?? clockMinute ?? 0) };
  const minutes = AWAY[away] ?? Number(away);
  const isBefore = side === "to" || side === "till";
  return isBefore && minutes > 0
    ? { ...said, hour: said.hour - 1 || 12, minute: 60 - minutes }
    : { ...said, minute: minutes };
}

/** 에 of 7시에, or a mark, which stands alone when the time is taken out. */
function withoutParticles(rest: string): string {
  return rest
    .replace(ROUGH_ALONE, " ")
    .replace(/ (?:에|으로|로|까지(?:만|는|요)?|부터(?:는|요)?)(?= |$)/u, " ")
    .replace(/(?:^| )(?:no later than|starting|at|by|until|till?|from) (?= |$)/u, " ")
    .replace(/ +/g, " ")
    .trim();
}

const ROUGH_ALONE = /(?:^| )(?:before|after) (?= |$)| (?:이전|이후|전까지|전)(?:에|로)?(?= |$)/u;

const HOURS = "한 두 세 네 다섯 여섯 일곱 여덟 아홉 열 열한 열두".split(" ");
const ENGLISH_HOURS = "one two three four five six seven eight nine ten eleven twelve".split(" ");
const ENGLISH_HOUR = ENGLISH_HOURS.join("|");
/** Minutes beside an hour: a quarter past three. */
const AWAY: Readonly<Record<string, number>> = {
  half: 30,
  quarter: 15,
  five: 5,
  ten: 10,
  twenty: 20,
  "twenty-five": 25,
  "twenty five": 25,
};
const PERIOD = "오전|오후|아침|점심|한낮|낮|저녁|한밤|밤|새벽|am|pm";
const ENGLISH_PERIOD =
  "a\\.?m\\.?(?![a-z])|p\\.?m\\.?(?![a-z])|" +
  "in the (?:morning|afternoon|evening)|at night|" +
  "o['’]?clock(?: (?:am|pm|a\\.m\\.?|p\\.m\\.?|in the (?:morning|afternoon|evening)|at night))?";
/** `ten to five` may be from ten to five: before the hour, minutes are a quarter or are called so. */
const BESIDE =
  "(?:an? (?=quarter))?(?<away>half(?= past)|quarter(?= (?:past|after|to|till))|" +
  "(?:five|ten|twenty(?:[ -]five)?|[1-5]?\\d)" +
  "(?=(?: minutes?)? (?:past|after)| minutes? (?:to|till)))(?: minutes?)? " +
  "(?<side>past|after|to|till)";
const HANGUL_HOUR = "열한|열두|열|한|두|세|네|다섯|여섯|일곱|여덟|아홉";

const PATTERNS = [
  `(?:(?:around|about|at) )?(?<![\\p{L}\\d.,])${BESIDE} (?<clock>${ENGLISH_HOUR}|1[0-2]|[1-9])` +
    `(?![a-z\\d:])(?: ?(?<tail>${ENGLISH_PERIOD}))?`,
  `(?:(?<period>${PERIOD})(?:에)? ?)?(?<![\\d:.])(?<hour>\\d{1,2}|` +
    `(?<![가-힣])(?:${HANGUL_HOUR})|` +
    `(?<=${PERIOD})(?:${HANGUL_HOUR})) ?시(?!간|대|장|작|민|내|` +
    `험|도|켜|킬)(?: ?(?:(?<minute>\\d{1,2}) ?분|` +
    `(?<half>반)))?(?<exact> ?(?:쯤|정도|경|즈음|무렵))?`,
  `(?:(?:around|about|` +
    `at) )?(?:(?<period>${PERIOD}) ?)?(?<![\\d:.,])(?<clock>\\d{1,2}):(?<clockMinute>\\d{2})(?![\\d:])(?: ?(?<tail>${ENGLISH_PERIOD}))?(?<exact> ?(?:쯤|` +
    `정도|경))?`,
  `(?:(?:around|about|at) )?(?<![\\d:.,])(?<clock>\\d{1,2}) ?(?<tail>${ENGLISH_PERIOD})`,
  `(?<=^|\\s)(?:at) (?<clock>\\d{1,2})(?![\\d,:]|\\s?(?:k|won|원|만|천|시))`,
  `(?:(?:around|about|at) )?(?<![\\p{L}\\d-])(?<clock>${ENGLISH_HOUR}) ?(?<tail>${ENGLISH_PERIOD})`,
  `(?<![가-힣a-z])(?<named>정오|자정|noon|midday|midnight)(?![a-z])`,
].map((source) => new RegExp(source, "u"));

/** By which a time is found in a sentence. */
export const TIME_SOURCE = PATTERNS.map(({ source }) =>
  source.replaceAll(/\(\?<[a-zA-Z]+>/g, "(?:"),
).join("|");

const TIME_ENDS =
  /[\s.!~]+$|(?<=[시분반pm\d쯤경])(?:에|으로|로|이요|요|입니다|이에요|예요)[\s.!~]*$/u;

const NAMED = {
  정오: [{ time: "12:00", dayShift: 0 }],
  noon: [{ time: "12:00", dayShift: 0 }],
  midday: [{ time: "12:00", dayShift: 0 }],
  자정: [
    { time: "00:00", dayShift: 1 },
    { time: "00:00", dayShift: 0 },
  ],
  midnight: [
    { time: "00:00", dayShift: 1 },
    { time: "00:00", dayShift: 0 },
  ],
} as const satisfies Record<string, readonly TimeOption[]>;

type DayPart = "day" | "night" | "dawn" | "am" | "pm" | "none";

const PARTS: Readonly<Record<string, DayPart>> = {
  오전: "am",
  am: "am",
  "in the morning": "am",
  아침: "am",
  새벽: "dawn",
  오후: "pm",
  pm: "pm",
  "in the afternoon": "pm",
  "in the evening": "pm",
  저녁: "pm",
  점심: "day",
  낮: "day",
  한낮: "day",
  밤: "night",
  한밤: "night",
  "at night": "night",
};

function partOf(words: string | undefined): DayPart {
  const part = words?.replace(/^o['’]?clock ?/u, "").replaceAll(".", "");
  return PARTS[part ?? ""] ?? "none";
}

interface ClockReading {
  readonly hour: number;
  readonly minute: number;
  /** `09:00` is a time of 24 hours. */
  readonly isWritten24: boolean;
}

function optionsOf(part: DayPart, { hour, minute, isWritten24 }: ClockReading): TimeOption[] {
  if (hour > 24 || minute > 59 || (hour === 24 && minute > 0)) return [];
  const at = ([hours, dayShift = 0]: HourOption): TimeOption => ({
    time: `${String(hours).padStart(2, "0")}:${String(minute).padStart(2, "0")}`,
    dayShift,
  });
  if (hour === 24) return [at([0, 1])];
  if (hour === 0 || hour > 12 || isWritten24) {
    return isContradiction(part, hour) ? [] : [at([hour])];
  }
  return HOURS_OF[part](hour % 12).map(at);
}

type HourOption = readonly [hour: number, dayShift?: 0 | 1];

/** What an hour of the clock means in a part of the day; 12 is given as 0. */
const HOURS_OF: Readonly<Record<DayPart, (hour: number) => readonly HourOption[]>> = {
  am: (hour) => (hour === 0 ? [[0], [12]] : [[hour]]),
  pm: (hour) => [[hour + 12]],
  dawn: (hour) => [[hour]],
  day: (hour) => (hour >= 10 ? [[hour]] : [[hour + 12]]),
  night: (hour) => (hour < 5 ? [[hour, 1], [hour]] : [[hour + 12]]),
  // 1–6 is likelier in the afternoon, 7–11 in the morning, and 12 is noon.
  none: (hour) => (hour < 7 ? [[hour + 12], [hour]] : [[hour], [hour + 12]]),
};

/** 오전 15시. */
function isContradiction(part: DayPart, hour: number): boolean {
  return (part === "am" || part === "dawn") && hour > 12;
}
