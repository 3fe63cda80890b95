import { isWire, listOf, type Wire } from "./refusal.ts";

/** The formats that the provider speaks. */
export type ProviderWire = "openai" | "responses" | "anthropic" | "gemini";

/** What the provider is asked for, in the same words for all wire formats. */
export interface ProviderAsked {
  readonly wire: ProviderWire;
  readonly model: string;
  readonly system: string;
  /** The last message of the person, or the last result of a tool. */
  readonly lastText: string;
  readonly messages: readonly unknown[];
  /** Names of the offered tools. */
  readonly tools: readonly string[];
  /** The schema of the answer, where the request has one. */
  readonly schema: Wire | undefined;
  /** Whether the provider promises to keep to the schema. */
  readonly isStrict: boolean;
  readonly temperature: number | undefined;
  /** Whether it is to think first. */
  readonly thinks?: boolean | undefined;
  /** Tokens read from what was kept, and written to it; absent where nothing is kept. */
  readonly cached?: { readonly read: number; readonly written: number } | undefined;
}

/** A model's answer. */
export interface ProviderAnswer {
  readonly text?: string | undefined;
  /** Instead of `text`: the same as JSON. */
  readonly object?: unknown;
  readonly toolCalls?: readonly { readonly name: string; readonly args: unknown }[] | undefined;
}

/** What real models and their providers do. */
export type Mood =
  | "null_fields"
  | "missing_field"
  | "extra_field"
  | "number_as_word"
  | "code_fence"
  | "apology"
  | "trailing_comma"
  | "half_json"
  | "wrong_tool"
  | "tool_twice"
  | "claims_the_deed"
  | "says_yes"
  | "other_language"
  | "empty"
  | "rate_limited"
  | "unavailable"
  | "cut"
  | "slow";

/** All of them, each as likely as the others. */
export const MOODS = [
  ...(["null_fields", "missing_field", "extra_field", "number_as_word"] as const),
  ...(["code_fence", "apology", "trailing_comma", "half_json"] as const),
  ...(["wrong_tool", "tool_twice"] as const),
  ...(["claims_the_deed", "says_yes", "other_language", "empty"] as const),
  ...(["rate_limited", "unavailable", "cut", "slow"] as const),
] as const satisfies readonly Mood[];

/** Moods of the connection; the answer itself is a good one. */
const WIRE_MOODS: ReadonlySet<Mood> = new Set(["rate_limited", "unavailable", "cut", "slow"]);

/** Moods that the constrained decoding of a strict answer rules out. */
const NOT_WHEN_STRICT: ReadonlySet<Mood> = new Set([
  "missing_field",
  "extra_field",
  "number_as_word",
  "code_fence",
  "apology",
  "trailing_comma",
]);

/** Moods of an answer that calls a tool. */
const CALL_MOODS: ReadonlySet<Mood> = new Set(["wrong_tool", "tool_twice"]);

/** Moods of an answer that is JSON. */
const JSON_MOODS: ReadonlySet<Mood> = new Set([...NOT_WHEN_STRICT, "half_json"]);

/** Numbers in [0, 1). */
export type Random = () => number;

/** Whether a mood can show in an answer. Pure. */
export function fits(mood: Mood, asked: ProviderAsked, answer: ProviderAnswer): boolean {
  if (WIRE_MOODS.has(mood)) return true;
  if (asked.isStrict && NOT_WHEN_STRICT.has(mood)) return false;

  const callsTool = (answer.toolCalls ?? []).length > 0;

  if (CALL_MOODS.has(mood)) return callsTool;
  if (JSON_MOODS.has(mood)) return answer.object !== undefined && !callsTool;
  if (mood === "null_fields") return answer.object !== undefined && asked.schema !== undefined;

  return !callsTool;
}

/** An answer as it leaves the model: text and calls. */
export interface SpokenAnswer {
  readonly text: string;
  readonly toolCalls: readonly { readonly name: string; readonly args: unknown }[];
  /** The model stopped in the middle. */
  readonly isCut?: boolean;
}

/** The answer in a mood; undefined: the good one. Pure but for `random`. */
export function inMood(
  answer: ProviderAnswer,
  mood: Mood | undefined,
  asked: ProviderAsked,
  random: Random,
): SpokenAnswer {
  const { toolCalls = [] } = answer;
  if (toolCalls.length > 0) return { text: answer.text ?? "", toolCalls: calls(toolCalls, mood) };
  if (mood === "empty") return { text: "", toolCalls: [] };
  if (answer.object === undefined) return { text: spoken(answer.text ?? "", mood), toolCalls: [] };

  const object = changed(answer.object, mood, asked, random);

  return { toolCalls: [], ...written(object, mood) };
}

function calls(toolCalls: NonNullable<ProviderAnswer["toolCalls"]>, mood: Mood | undefined) {
  if (mood === "tool_twice") return toolCalls.flatMap((call) => [call, call]);
  if (mood !== "wrong_tool") return toolCalls;
  return toolCalls.map((call) => ({ ...call, name: otherCase(call.name) }));
}

/** A name as a model remembers it: `sendMoney` for `send_money`. */
function otherCase(name: string): string {
  const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

  return camel === name ? `${name}_now` : camel;
}

/** Words that claim what only code can know, that answer for the person, or that were not asked for. */
const CLAIMS = ["보냈어요! 이체가 완료됐어요.", "Done! I have sent the money.", "예약을 마쳤어요."];
const YES = "네, 확인했어요. 바로 진행할게요.";
const OTHER_LANGUAGE = "かしこまりました。すぐに確認いたします。";

function spoken(text: string, mood: Mood | undefined): string {
  if (mood === "claims_the_deed") return CLAIMS[0]!;
  if (mood === "says_yes") return YES;
  return mood === "other_language" ? OTHER_LANGUAGE : text;
}

function changed(
  object: unknown,
  mood: Mood | undefined,
  asked: ProviderAsked,
  random: Random,
): unknown {
  switch (mood) {
    case "null_fields":
      return withNulls(object, asked.schema);
    case "missing_field":
      return withoutOne(object, random);
    case "extra_field":
      return isWire(object) ? { ...object, confidence: 0.93, reasoning: "as asked" } : object;
    case "number_as_word":
      return wordsForNumbers(object);
    case "claims_the_deed":
      return withMessage(object, CLAIMS[Math.floor(random() * CLAIMS.length)]!);
    case "says_yes":
      return withYes(object);
    case "other_language":
      return withMessage(object, OTHER_LANGUAGE);
    default:
      return object;
  }
}

/** Null for each member that the schema knows and the answer leaves out, at every depth. */
function withNulls(value: unknown, schema: unknown): unknown {
  if (!isWire(schema)) return value;
  if (Array.isArray(value)) return value.map((one) => withNulls(one, schema["items"]));
  if (!isWire(value)) return value;

  const known = isWire(schema["properties"]) ? schema["properties"] : {};
  const absent = Object.keys(known).filter((key) => !Object.hasOwn(value, key));

  return {
    ...Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, withNulls(one, known[key])]),
    ),
    ...Object.fromEntries(absent.map((key) => [key, null])),
  };
}

function withoutOne(object: unknown, random: Random): unknown {
  if (!isWire(object)) return object;

  const keys = Object.keys(object);
  const dropped = keys[Math.floor(random() * keys.length)];

  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== dropped));
}

const WORDS: Readonly<Record<number, string>> = {
  10_000: "만원",
  20_000: "이만원",
  30_000: "삼만 원",
  50_000: "fifty thousand",
};

function wordsForNumbers(value: unknown): unknown {
  if (typeof value === "number") return WORDS[value] ?? `${value.toLocaleString("en")}원`;
  if (Array.isArray(value)) return value.map(wordsForNumbers);
  if (!isWire(value)) return value;

  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, wordsForNumbers(one)]));
}

function withMessage(object: unknown, message: string): unknown {
  if (!isWire(object)) return object;
  const holder = ["message", "note", "text", "answer"].find((key) => key in object);

  return holder === undefined ? object : { ...object, [holder]: message };
}

/** A yes that the person did not say, in whatever place the shape has for it. */
function withYes(object: unknown): unknown {
  if (!isWire(object)) return object;
  const operations = listOf(object["operations"]);

  return {
    ...(withMessage(object, YES) as Wire),
    // Only members that the asked shape has.
    ...("operations" in object ? { operations: [...operations, { op: "confirm" }] } : {}),
    ...("kind" in object ? { kind: "confirm" } : {}),
  };
}

function written(object: unknown, mood: Mood | undefined): Pick<SpokenAnswer, "text" | "isCut"> {
  const text = JSON.stringify(object);
  switch (mood) {
    case "code_fence":
      return { text: `\`\`\`json\n${JSON.stringify(object, null, 2)}\n\`\`\`` };
    case "apology":
      return {
        text: `죄송해요, 다시 정리했어요. 결과는 다음과 같아요:\n\n${text}\n\n도움이 됐길 바라요!`,
      };
    case "trailing_comma":
      return { text: text.replaceAll(/([}\]])/g, ",$1").replaceAll(/([{[]),/g, "$1") };
    case "half_json":
      return { text: text.slice(0, Math.ceil(text.length / 2)), isCut: true };
    default:
      return { text };
  }
}
