import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { canonicalJson, isObject, onlyDefined, type Json } from "../kernel/json.ts";
import type { ModelRequest } from "./model.ts";
import { requestOf } from "./prompt.ts";
import { closest } from "../kernel/closest.ts";

/**
 * A model that is a function. Hand it to the team (or to `Models`); its name is then
 * `offline:<name>`.
 */
export interface OfflineModel {
  readonly name: string;
  readonly respond: OfflineRespond;
}

/** Should depend on its arguments only, so that a recovered turn gets the same answer. */
export type OfflineRespond = (
  request: ModelRequest,
  context: OfflineContext,
) => OfflineReply | Promise<OfflineReply>;

/** What a model that is a function knows beside the request. */
export interface OfflineContext {
  /** Which call of this model in this process it is, from 1. */
  readonly call: number;
  /**
   * Numbers in [0, 1) that depend on the request alone: the same request sees the same row of
   * numbers.
   */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Plain text, text as it comes, or anything else that a provider can do. */
export type OfflineReply = string | AsyncIterable<string> | OfflineAnswer;

/** An answer of a model that is a function: a text, or one of the members that stand for it. */
export interface OfflineAnswer {
  readonly text?: string;
  /** Instead of `text`: the same as JSON. */
  readonly object?: Json;
  /** Instead of `text`: the pieces in which it comes. Otherwise a text comes word by word. */
  readonly chunks?: readonly string[];
  readonly toolCalls?: readonly {
    readonly id?: string;
    readonly name: string;
    readonly args?: Json;
    /** Instead of `args`: text that need not be JSON. */ readonly rawArgs?: string;
  }[];
  /** Before the first piece. */
  readonly delayMs?: number;
  /** Between two pieces. Default 0. */
  readonly chunkDelayMs?: number;
  /** Reported by the "provider"; without it dure estimates. */
  readonly usage?: {
    readonly tokensIn: number;
    readonly tokensOut: number;
    readonly cachedIn?: number;
    readonly cacheWrites?: number;
  };
  readonly finishReason?: "stop" | "length" | "content-filter";
  /**
   * How the call ends, after `text` if there is one: as an HTTP error of a provider, or as any
   * error.
   */
  readonly error?:
    | Error
    | {
        readonly status: number;
        readonly message?: string;
        readonly headers?: Readonly<Record<string, string>>;
      };
}

/** @param name letters, digits, `-`, `_`, `.` */
export function offlineModel(name: string, respond: OfflineRespond): OfflineModel {
  return { name, respond };
}

/**
 * Says what the person said last; where JSON is asked for, the smallest that fits, with these words
 * as its `message`.
 */
const echoModel: OfflineModel = offlineModel("echo", (request) => {
  const said = request.messages.findLast((message) => message.role === "user")?.text ?? "";
  return request.output ? { object: exampleOf(request.output.schema, said) } : said;
});

/** The offline models of one team. `echo` is always there. */
export class OfflineModels {
  readonly #models = new Map<string, OfflineModel>([[echoModel.name, echoModel]]);
  readonly #calls = new Map<string, number>();
  readonly #clock: Clock;

  constructor(models: readonly OfflineModel[], options: { clock: Clock }) {
    this.#clock = options.clock;
    for (const model of models) this.register(model);
  }

  /**
   * Throws `OFFLINE_MODEL_EXISTS` when another function has the name. Registering the same value
   * again is nothing.
   */
  register(model: OfflineModel): void {
    const known = this.#models.get(model.name);
    if (known !== undefined && known !== model && known !== echoModel) {
      throw new DureError(
        "OFFLINE_MODEL_EXISTS",
        `There are two offline models named "${model.name}".`,
        {
          class: "input",
          hint: "Give each its own name.",
        },
      );
    }

    this.#models.set(model.name, model);
  }

  get names(): readonly string[] {
    return [...this.#models.keys()];
  }

  /** Calls of a model so far. */
  calls(name: string): number {
    return this.#calls.get(name) ?? 0;
  }

  /** Throws `OFFLINE_MODEL_UNKNOWN`. */
  assertKnown(name: string): void {
    if (this.#models.has(name)) return;
    const meant = closest(name, this.names);

    throw new DureError("OFFLINE_MODEL_UNKNOWN", `There is no offline model "${name}".`, {
      class: "input",
      hint: meant
        ? `Did you mean "${meant}"?`
        : `Registered are ${this.names.join(", ")}; make one with offlineModel("${name}", respond).`,
    });
  }

  /** The model as the AI SDK sees one: from here on the code is the same as for every provider. */
  languageModel(name: string): LanguageModelV4 {
    this.assertKnown(name);
    const open = (options: LanguageModelV4CallOptions): ReadableStream<LanguageModelV4StreamPart> =>
      this.#stream(this.#models.get(name)!, options);

    return {
      specificationVersion: "v4",
      provider: "offline",
      modelId: name,
      supportedUrls: {},
      doStream: async (options) => ({ stream: open(options) }),
      doGenerate: () =>
        Promise.reject(new DureError("MODEL_FAILED", "Offline models answer as streams only.")),
    };
  }

  #stream(
    model: OfflineModel,
    options: LanguageModelV4CallOptions,
  ): ReadableStream<LanguageModelV4StreamPart> {
    const parts = this.#parts(model, options);
    return new ReadableStream<LanguageModelV4StreamPart>(
      {
        async pull(controller) {
          const { done, value } = await parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => void parts.return(undefined),
      },
      { highWaterMark: 0 },
    );
  }

  async *#parts(
    model: OfflineModel,
    options: LanguageModelV4CallOptions,
  ): AsyncGenerator<LanguageModelV4StreamPart, undefined> {
    const call = this.calls(model.name) + 1;
    this.#calls.set(model.name, call);
    const signal = options.abortSignal ?? new AbortController().signal;
    const request = requestOf(options);
    let random: (() => number) | undefined;

    const reply = await model.respond(request, {
      call,
      random: () => (random ??= randomFrom(canonicalJson(request)))(),
      signal,
    });

    const answer = answerOf(reply);
    if (answer.delayMs) await this.#clock.sleep(answer.delayMs, { signal });

    yield { type: "stream-start", warnings: [] };
    let isFirst = true;

    for await (const delta of isAsyncIterable(reply) ? reply : piecesOf(answer)) {
      if (isFirst) yield { type: "text-start", id: "0" };
      else if (answer.chunkDelayMs) await this.#clock.sleep(answer.chunkDelayMs, { signal });
      isFirst = false;
      yield { type: "text-delta", id: "0", delta };
    }

    if (!isFirst) yield { type: "text-end", id: "0" };
    if (answer.error) {
      throw answer.error instanceof Error ? answer.error : httpError(model.name, answer.error);
    }

    yield* toolCallsOf(answer, call);
    yield { type: "finish", finishReason: finishOf(answer), usage: usageOf(answer) };
  }
}

/** What is said besides the pieces of a text that comes bit by bit. */
function answerOf(reply: string | OfflineAnswer | AsyncIterable<string>): OfflineAnswer {
  if (typeof reply === "string") return { text: reply };
  return isAsyncIterable(reply) ? {} : reply;
}

function toolCallsOf(
  { toolCalls = [] }: OfflineAnswer,
  call: number,
): readonly LanguageModelV4StreamPart[] {
  return toolCalls.map(({ id, name, args, rawArgs }, index) => ({
    type: "tool-call",
    toolCallId: id ?? `offline_${call}_${index + 1}`,
    toolName: name,
    input: rawArgs ?? JSON.stringify(args ?? {}),
  }));
}

function piecesOf(answer: OfflineAnswer): readonly string[] {
  if (answer.chunks) return answer.chunks;
  const text = answer.object === undefined ? (answer.text ?? "") : JSON.stringify(answer.object);
  return text.match(/\s*\S+(?:\s+$)?|\s+$/g) ?? [];
}

function finishOf(
  answer: OfflineAnswer,
): Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"] {
  return {
    unified: answer.finishReason ?? (answer.toolCalls?.length ? "tool-calls" : "stop"),
    raw: undefined,
  };
}

function usageOf({
  usage,
}: OfflineAnswer): Extract<LanguageModelV4StreamPart, { type: "finish" }>["usage"] {
  return {
    inputTokens: {
      total: usage?.tokensIn,
      noCache: undefined,
      cacheRead: usage?.cachedIn,
      cacheWrite: usage?.cacheWrites,
    },
    outputTokens: { total: usage?.tokensOut, text: undefined, reasoning: undefined },
  };
}

function httpError(
  name: string,
  error: { status: number; message?: string; headers?: Readonly<Record<string, string>> },
): APICallError {
  return new APICallError({
    message: error.message ?? `HTTP ${error.status}`,
    url: `offline:${name}`,
    requestBodyValues: {},
    statusCode: error.status,
    ...onlyDefined({ responseHeaders: error.headers && { ...error.headers } }),
  });
}

/** The smallest value that fits a JSON Schema of the usual kinds. */
export function exampleOf(schema: unknown, message: string, member = ""): Json {
  if (!isObject(schema)) return null;
  if ("const" in schema) return schema["const"] as Json;
  if (Array.isArray(schema["enum"])) return schema["enum"][0] as Json;

  const variants = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(variants)) return exampleOf(variants[0], message, member);

  switch ([schema["type"]].flat()[0]) {
    case "string":
      return member === "message" ? message : "";
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? schema["minimum"] : 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return exampleObject(schema, message);
    default:
      return null;
  }
}

/** Its required members alone. */
function exampleObject(schema: Readonly<Record<string, unknown>>, message: string): Json {
  const { properties, required } = schema;
  const members = isObject(properties) ? Object.entries(properties) : [];
  const names: readonly unknown[] = Array.isArray(required) ? required : [];

  return Object.fromEntries(
    members
      .filter(([key]) => names.includes(key))
      .map(([key, inner]) => [key, exampleOf(inner, message, key)]),
  );
}

function isAsyncIterable(value: unknown): value is AsyncIterable<string> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** FNV-1a as the seed of mulberry32: small, even enough, and the same on every machine. */
export function randomFrom(text: string): () => number {
  let state = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  }

  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);

    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
