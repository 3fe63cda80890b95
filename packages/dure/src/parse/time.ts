import {
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type NotUnderstood,
  type Understood,
} from "./reading.ts";
import { withoutMarks } from "./marks.ts";
import { fold } from "./text.ts";

/** `HH:MM`, 24 hours. */
export type IsoTime = string;
/** Why words are no time of the day. */
export type TimeBecause = "empty" | "not-a-time" | "no-such-time";
/** A time of the day in a person's words. */
export type TimeReading = Understood<IsoTime> | NotUnderstood<TimeBecause>;

/**
 * A time of day: `오전 9시`, `저녁 7시 반`, `9:30pm`, `14시`, `열두시`, `noon`. Without a part of the day
 * (`3시`) it is ambiguous. The whole text must be the time. Pure.
 */
export function parseTime(text: string): TimeReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-time", words);

  const folded = fold(words)
    .replace(TIME_ENDS, "")
    .replace(/^(?:at|음+|네|예|응) /u, "")
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

  const { period, hour, minute, half, clock, clockMinute, tail, named, exact } = match.groups ?? {};
  const rest = `${folded.slice(0, match.index)} ${folded.slice(match.index + match[0].length)}`;
  const approximate =
    exact !== undefined || /^(?:around|about) /u.test(match[0]) || ROUGH_ALONE.test(rest);
  const shared = { approximate, rest: withoutParticles(rest) };
  if (named !== undefined) {
    return { ...shared, options: NAMED[named as keyof typeof NAMED] };
  }
  const part = partOf(tail ?? period);
  const digits = hour ?? clock ?? "";
  const options = optionsOf(part, {
    hour: /\d/.test(digits) ? Number(digits) : HOURS.indexOf(digits) + 1,
    minute: half === undefined ? Number(minute ?? clockMinute ?? 0) : 30,
    isWritten24: clock !== undefined && digits.startsWith("0"),
  });
  return { ...shared, options };
}

/** 에 of 7시에, or a mark, which stands alone when the time is taken out. */
function withoutParticles(rest: string): string {
  return rest
    .replace(ROUGH_ALONE, " ")
    .replace(/ (?:에|으로|로|까지(?:만|는|요)?|부터(?:는|요)?)(?= |$)/u, " ")
    .replace(/(?:^| )(?:no later than|starting|by|until|till?|from) (?= |$)/u, " ")
    .replace(/ +/g, " ")
    .trim();
}

const ROUGH_ALONE = /(?:^| )(?:before|after) (?= |$)| (?:이전|이후|전까지|전)(?:에|로)?(?= |$)/u;

const HOURS = "한 두 세 네 다섯 여섯 일곱 여덟 아홉 열 열한 열두".split(" ");
const PERIOD = "오전|오후|아침|점심|한낮|낮|저녁|한밤|밤|새벽|am|pm";
const ENGLISH_PERIOD =
  "a\\.?m\\.?(?![a-z])|p\\.?m\\.?(?![a-z])|" +
  "in the (?:morning|afternoon|evening)|at night|" +
  "o'?clock";
const HANGUL_HOUR = "열한|열두|열|한|두|세|네|다섯|여섯|일곱|여덟|아홉";

const PATTERNS = [
  `(?:(?<period>${PERIOD})(?:에)? ?)?(?<![\\d:.])(?<hour>\\d{1,2}|` +
    `(?<![가-힣])(?:${HANGUL_HOUR})|` +
    `(?<=${PERIOD})(?:${HANGUL_HOUR})) ?시(?!간|대|장|작|민|내|` +
    `험|도|켜|킬)(?: ?(?:(?<minute>\\d{1,2}) ?분|` +
    `(?<half>반)))?(?<exact> ?(?:쯤|정도|경|즈음|무렵))?`,
  `(?:(?:around|about|` +
    `at) )?(?:(?<period>${PERIOD}) ?)?(?<![\\d:.,])(?<clock>\\d{1,2}):(?<clockMinute>\\d{2})(?![\\d:])(?: ?(?<tail>${ENGLISH_PERIOD}))?(?<exact> ?(?:쯤|` +
    `정도|경))?`,
  `(?:(?:around|about|at) )?(?<![\\d:.,])(?<clock>\\d{1,2}) ?(?<tail>${ENGLISH_PERIOD})`,
  `(?<=^|\\s)(?:at) (?<clock>\\d{1,2})(?![\\d,:]|\\s?(?:k|won|원|만|천))`,
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

type Part = "day" | "night" | "dawn" | "am" | "pm" | "none";

const PARTS: Readonly<Record<string, Part>> = {
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

function partOf(words: string | undefined): Part {
  return PARTS[words?.replaceAll(".", "") ?? ""] ?? "none";
}

interface Said {
  readonly hour: number;
  readonly minute: number;
  /** `09:00` is a time of 24 hours. */
  readonly isWritten24: boolean;
}

function optionsOf(part: Part, { hour, minute, isWritten24 }: Said): TimeOption[] {
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
const HOURS_OF: Readonly<Record<Part, (hour: number) => readonly HourOption[]>> = {
  am: (hour) => (hour === 0 ? [[0], [12]] : [[hour]]),
  pm: (hour) => [[hour + 12]],
  dawn: (hour) => [[hour]],
  day: (hour) => (hour >= 10 ? [[hour]] : [[hour + 12]]),
  night: (hour) => (hour < 5 ? [[hour, 1], [hour]] : [[hour + 12]]),
  // 1–6 is likelier in the afternoon, 7–11 in the morning, and 12 is noon.
  none: (hour) => (hour < 7 ? [[hour + 12], [hour]] : [[hour], [hour + 12]]),
};

/** 오전 15시. */
function isContradiction(part: Part, hour: number): boolean {
  return (part === "am" || part === "dawn") && hour > 12;
}
