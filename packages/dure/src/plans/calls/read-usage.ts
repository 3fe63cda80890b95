import { z } from "zod";
import { isObject } from "../../kernel/json.ts";

/** Tokens of one call of a model, or of several. */
export interface CallTokens {
  /** All that was read: what came from the provider's cache and what was written to it, too. */
  readonly input: number;
  /** Of the input what came from the cache. */
  readonly cached: number;
  /** Of the input what was written to the cache. */
  readonly cacheWrites: number;
  readonly output: number;
}

export const NO_TOKENS: CallTokens = { input: 0, cached: 0, cacheWrites: 0, output: 0 };

/** What an answer of a provider tells of its call. */
export interface ReadAnswer {
  readonly tokens: CallTokens;
  readonly model: string | undefined;
  /** It told all of its tokens. */
  readonly isWhole: boolean;
  /** An error that came in an answer that had begun well. */
  readonly error: string | undefined;
}

/** Bytes of one line of a stream, and of one answer that is no stream. A longer one is not read. */
const MAX_LINE = 4_000_000;
const MAX_BODY = 8_000_000;

/**
 * Reads what an answer of a model's provider tells of its tokens while it passes: a stream of
 * server-sent events, or one text of JSON. Nothing of what it says is kept.
 */
export class AnswerReader {
  readonly #isStream: boolean;
  #parts: Buffer[] = [];
  #size = 0;
  #isTooLong = false;
  #told: ToldUsage = {};
  #events = 0;
  #bytes = 0;

  constructor(contentType: string) {
    this.#isStream = /^text\/event-stream\b/i.test(contentType);
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (!this.#isStream) return this.#keep(chunk, MAX_BODY);
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, at), MAX_LINE);
      this.#readLine(this.#taken());
      from = at + 1;
    }
    this.#keep(chunk.subarray(from), MAX_LINE);
  }

  /** @param isComplete the answer came to its end; else it was cut. */
  end(isComplete: boolean): ReadAnswer {
    const rest = this.#taken();
    if (this.#isStream) this.#readLine(rest);
    else if (isComplete) for (const value of valuesIn(rest)) this.#take(value);

    const { error, model, isDone = false, input, output, ...parts } = this.#told;
    const isWhole = input !== undefined && output !== undefined && (isDone || isComplete);
    const { cached = 0, cacheWrites = 0 } = parts;
    // A stream has about one event for each token.
    const heard = this.#isStream ? this.#events : Math.ceil(this.#bytes / 4);

    return {
      tokens: {
        input: Math.max(input ?? 0, cached + cacheWrites),
        cached,
        cacheWrites,
        output: isWhole ? output : Math.max(output ?? 0, heard),
      },
      model,
      isWhole,
      error,
    };
  }

  #keep(part: Buffer, most: number): void {
    this.#size += part.length;
    if (this.#size > most) {
      this.#isTooLong = true;
      this.#parts = [];
    }
    if (!this.#isTooLong && part.length > 0) this.#parts.push(part);
  }

  #taken(): string {
    const text = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#size = 0;
    this.#isTooLong = false;

    return text;
  }

  #readLine(line: string): void {
    if (!line.startsWith("data:")) return;
    this.#events += 1;
    // Most events are words of the model.
    if (!/"(?:usage|usageMetadata|error)"/.test(line)) return;
    for (const value of valuesIn(line.slice(5))) this.#take(value);
  }

  #take(value: unknown): void {
    this.#told = joined(this.#told, toldIn(value));
  }
}

/** What one piece of an answer tells; the last word of a stream counts. */
interface ToldUsage {
  readonly input?: number | undefined;
  readonly cached?: number | undefined;
  readonly cacheWrites?: number | undefined;
  readonly output?: number | undefined;
  readonly model?: string | undefined;
  /** It is the piece that tells the sum. */
  readonly isDone?: boolean | undefined;
  readonly error?: string | undefined;
}

/** Counts of a stream grow from piece to piece, and some tell zeros on the way. Pure. */
function joined(one: ToldUsage, other: ToldUsage): ToldUsage {
  const more = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);

  return {
    input: more(one.input, other.input),
    cached: more(one.cached, other.cached),
    cacheWrites: more(one.cacheWrites, other.cacheWrites),
    output: more(one.output, other.output),
    model: one.model ?? other.model,
    isDone: one.isDone ?? other.isDone,
    error: one.error ?? other.error,
  };
}

/** A text of JSON; of a list its members. What is none tells nothing. Pure. */
function valuesIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
}

const count = z.number().int().nonnegative().max(1e12).optional().catch(undefined);
const name = z.string().max(200).optional().catch(undefined);

/** Source: Anthropic's Messages API; what was cached stands beside `input_tokens`. */
const anthropicUsage = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});
/** Source: OpenAI's Responses API; what was cached stands in `input_tokens`. */
const responseUsage = z.object({
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: z.object({ cached_tokens: count }).optional().catch(undefined),
});
/** Source: OpenAI's Chat Completions API, and of many that speak it. */
const chatUsage = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count }).optional().catch(undefined),
});
/** Source: the Gemini API, `GenerateContentResponse.UsageMetadata`. */
const geminiUsage = z.object({
  promptTokenCount: count,
  toolUsePromptTokenCount: count,
  cachedContentTokenCount: count,
  candidatesTokenCount: count,
  thoughtsTokenCount: count,
});

/** What a value of an answer tells of its call, in the form of any of them. Pure. */
function toldIn(value: unknown): ToldUsage {
  if (!isObject(value)) return {};
  const error = errorIn(value);
  // Anthropic and OpenAI wrap the object of a stream in an event.
  const event = isObject(value["message"]) ? value["message"] : value["response"];
  const whole = isObject(event) ? event : value;
  const model = name.parse(whole["model"] ?? whole["modelVersion"]);
  const type = value["type"];

  return { ...usageIn(whole, type), model, error };
}

function usageIn(whole: Record<string, unknown>, type: unknown): ToldUsage {
  const { usage, usageMetadata } = whole;
  if (isObject(usageMetadata)) return ofGemini(usageMetadata, whole);
  if (!isObject(usage)) return {};
  if ("prompt_tokens" in usage || "completion_tokens" in usage) return ofChat(usage);
  const isAnthropic = whole["object"] !== "response" && !("input_tokens_details" in usage);

  return isAnthropic ? ofAnthropic(usage, type) : ofResponse(usage);
}

function ofAnthropic(given: object, type: unknown): ToldUsage {
  const usage = anthropicUsage.parse(given);
  const { cache_read_input_tokens: cached, cache_creation_input_tokens: cacheWrites } = usage;
  const { input_tokens: fresh, output_tokens: output } = usage;
  const input = fresh === undefined ? undefined : fresh + (cached ?? 0) + (cacheWrites ?? 0);
  // The first event of a stream tells the input alone: its output has just begun.
  return type === "message_start"
    ? { input, cached, cacheWrites }
    : { input, cached, cacheWrites, output, isDone: true };
}

function ofResponse(given: object): ToldUsage {
  const usage = responseUsage.parse(given);
  const cached = usage.input_tokens_details?.cached_tokens;

  return { input: usage.input_tokens, cached, output: usage.output_tokens, isDone: true };
}

function ofChat(given: object): ToldUsage {
  const usage = chatUsage.parse(given);
  const cached = usage.prompt_tokens_details?.cached_tokens;
  // An embedding has no output.
  const output = usage.completion_tokens ?? 0;

  return { input: usage.prompt_tokens, cached, output, isDone: true };
}

/** Each piece of its stream tells the sum so far; the last one has a reason for its end. */
function ofGemini(given: object, whole: Record<string, unknown>): ToldUsage {
  const usage = geminiUsage.parse(given);
  const { promptTokenCount: prompt, toolUsePromptTokenCount: tools = 0 } = usage;
  const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage;
  const [candidate] = Array.isArray(whole["candidates"]) ? (whole["candidates"] as unknown[]) : [];
  const isDone = isObject(candidate) && candidate["finishReason"] !== undefined ? true : undefined;

  return {
    input: prompt === undefined ? undefined : prompt + tools,
    cached: usage.cachedContentTokenCount,
    output: candidatesTokenCount + thoughtsTokenCount,
    isDone,
  };
}

/** Longest words of a provider that are told on. */
const MAX_WORDS = 300;

/** What an error of a provider says, in one line. Pure. */
export function errorIn(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const inner = isObject(value["response"]) ? value["response"]["error"] : undefined;
  const error = value["error"] ?? inner;
  if (typeof error === "string") return inLine(error);
  if (!isObject(error)) return undefined;
  const { message } = error;

  return inLine(typeof message === "string" ? message : JSON.stringify(error));
}

function inLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, MAX_WORDS);
}
