import type { FileRef } from "../kernel/files.ts";
import type { Json, JsonObject } from "../kernel/json.ts";
import type { ModelSettings } from "./asking.ts";
import type { ReadFile } from "./file-parts.ts";
import type { MODEL_OBJECT, ModelObject } from "./model-object.ts";
import type { Reasoning } from "./reasoning.ts";

/**
 * Which model answers, and how it is asked. Written in a card, or as `"openai:gpt-…"` (card.ts,
 * `parseModelName`).
 */
export interface LlmRef extends ModelSettings {
  readonly provider: ProviderName;
  /**
   * The provider's own name of the model; for `offline` the name under which a function was
   * registered.
   */
  readonly model: string;
  readonly temperature?: number | undefined;
  /**
   * Upper bound of one answer in tokens, sent with every call. Default {@link
   * DEFAULT_MAX_OUTPUT_TOKENS}.
   */
  readonly maxOutputTokens?: number | undefined;
  /**
   * Address of the API up to and including its version segment, such as
   * `http://127.0.0.1:11434/v1`. Default: the provider's.
   */
  readonly baseUrl?: string | undefined;
  /** Asked instead of a provider of ours. */
  readonly [MODEL_OBJECT]?: ModelObject | undefined;
}

/** A key of the table in providers.ts. */
export type ProviderName = "openai" | "anthropic" | "openai-compatible" | "ai-sdk" | "offline";

/**
 * Used where neither request nor card says. Every call has a bound, because a reservation against a
 * budget is input estimate + this number. It fits an answer of some 30,000 Latin characters.
 */
export const DEFAULT_MAX_OUTPUT_TOKENS = 8_192;

/** No call may take longer, in seconds: neither by a card's `timeoutSec` nor without one. */
export const MAX_CALL_SEC = 600;

/** One question to a model. Plain JSON, so that it can be journaled and hashed. */
export interface ModelRequest {
  readonly system?: string | undefined;
  /** In order of time. The last one is of the user or of a tool. */
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ToolSpec[] | undefined;
  /** Default `auto` when there are tools. */
  readonly toolChoice?: ToolChoice | undefined;
  /**
   * Asks for JSON; where the provider can, bound to this schema. Read the answer's text with
   * `parseModelJson`.
   */
  readonly output?: OutputSpec | undefined;
  /** Before the card's. */
  readonly temperature?: number | undefined;
  /** Before the card's. */
  readonly maxOutputTokens?: number | undefined;
}

/** One message of a request to a model. */
export type ModelMessage =
  | {
      readonly role: "user";
      /** May be empty where there are files. */
      readonly text: string;
      /** By reference: the bytes are read when a model is asked. */
      readonly files?: readonly FileRef[] | undefined;
    }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly toolCalls?: readonly ToolCall[];
      readonly reasoning?: Reasoning | undefined;
    }
  /** The result of one call; several calls have several messages, in the order of the calls. */
  | {
      readonly role: "tool";
      readonly callId: string;
      readonly name: string;
      readonly result: Json;
      readonly isError?: boolean | undefined;
      /** What the tool gave besides. */
      readonly files?: readonly FileRef[] | undefined;
      /** Only a part of the result stands here. */
      readonly kept?: KeptResult | undefined;
    };

/** The result of one call. */
export type ToolMessage = Extract<ModelMessage, { role: "tool" }>;

/** A long result of which a model was shown the beginning and the end. */
export interface KeptResult {
  /** By which the session reads it. */
  readonly handle: string;
  /** Of the whole. */
  readonly bytes: number;
  /** The bytes that are left out. */
  readonly from: number;
  readonly to: number;
}

export interface ToolCall {
  /** Given by the provider (or made here when it gives none); names the call in its result. */
  readonly id: string;
  readonly name: string;
  /**
   * The arguments as parsed JSON; `{}` when they could not be parsed. Not yet checked against the
   * tool's schema.
   */
  readonly args: Json;
  /** The raw text of arguments that were no JSON. Tell the model; do not call the tool. */
  readonly invalidArgs?: string | undefined;
  /** The request did not offer this tool: the model has never seen what arguments it takes. */
  readonly unoffered?: true | undefined;
}

export interface ToolSpec {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments; its top is an object. */
  readonly inputSchema: JsonObject;
  /** No call leaves with arguments that were not checked by the schema. */
  readonly strict?: boolean | undefined;
}

export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

export interface OutputSpec {
  readonly schema: JsonObject;
  /** For the provider's logs and the model. Default `answer`. Letters, digits, `_`, `-`. */
  readonly name?: string;
  readonly description?: string;
}

export type FinishReason = "stop" | "length" | "tool-calls" | "other";

/** What one call brought. Plain JSON. */
export interface ModelAnswer {
  /** All text, joined. Empty when the model only calls tools. */
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  /** With the calls alone, which it belongs to. */
  readonly reasoning?: Reasoning | undefined;
  /**
   * `length`: the text is cut at `maxOutputTokens`. A refusal is no answer but the error
   * `MODEL_REFUSED`.
   */
  readonly finishReason: FinishReason;
  readonly usage: ModelUsage;
  readonly provider: ProviderName;
  /** As it was asked for. */
  readonly model: string;
  /**
   * Millionths of a US dollar, rounded up. Absent when the model has no price: count tokens then.
   */
  readonly costMicroUsd?: number | undefined;
  readonly latencyMs: number;
  /** From the start of the call to the first piece of text or of a tool call. */
  readonly firstTokenMs?: number | undefined;
}

export interface ModelUsage {
  /** All input tokens, cached ones included. */
  readonly tokensIn: number;
  /** All output tokens, hidden reasoning included. */
  readonly tokensOut: number;
  /** The part of `tokensIn` read from the provider's cache. */
  readonly cachedIn?: number | undefined;
  /** The part of `tokensIn` written to the provider's cache. */
  readonly cacheWrites?: number | undefined;
  /** Whether the provider gave no numbers (or was cut off) and these come from `estimateTokens`. */
  readonly estimated: boolean;
}

/** A model that can be called. Got from `models.resolve(llm)`. */
export interface ModelCall {
  readonly provider: ProviderName;
  readonly model: string;
  /** What a call may produce at most unless its request says otherwise; for reservations. */
  readonly maxOutputTokens: number;
  /**
   * Asks once: no retry at any level. Throws a `DureError` whose code is in `FAILURES`
   * (failures.ts); read it with `classify`. An abort rejects with the signal's reason as soon as it
   * comes, without waiting for the provider; text that arrives later is dropped.
   */
  stream(request: ModelRequest, options?: ModelCallOptions): Promise<ModelAnswer>;
}

export interface ModelCallOptions {
  /** Called with each piece of text in order, never after `stream` has settled. */
  readonly onText?: ((delta: string) => void) | undefined;
  /** Called once, before the first `onText`, with the first piece of text or of a tool call. */
  readonly onFirstToken?: (() => void) | undefined;
  /**
   * Gets the record of this call when it has succeeded or failed, in addition to the sink of all
   * calls.
   */
  readonly onRecord?: ((record: ModelCallRecord) => void) | undefined;
  /**
   * Milliseconds until the call is interrupted with `MODEL_TIMEOUT`. Default and at most {@link
   * MAX_CALL_SEC} s.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Milliseconds without any sign of the provider (a piece of text, of reasoning, a ping) until the
   * call is interrupted with `MODEL_TIMEOUT`. Default: no such bound.
   */
  readonly idleTimeoutMs?: number | undefined;
  /** 1 for the first attempt. Only for the record. */
  readonly attempt?: number | undefined;
  /** Ids for record, log and span, such as `{turn, session, agent}`. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Reads the files of the messages. Without it the model gets a line of each. */
  readonly readFile?: ReadFile | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One record per finished call, successful or failed, for `onCall`. Holds no message text. */
export interface ModelCallRecord {
  /** Wall clock at the start, milliseconds since the epoch. */
  readonly at: number;
  readonly provider: ProviderName;
  readonly model: string;
  readonly attempt: number;
  readonly labels: Readonly<Record<string, string>>;
  /** SHA-256 of the canonical JSON of the request, hexadecimal. */
  readonly promptHash: string;
  readonly usage: ModelUsage;
  readonly costMicroUsd?: number | undefined;
  readonly latencyMs: number;
  readonly firstTokenMs?: number | undefined;
  readonly finishReason?: FinishReason | undefined;
  /** The code of the error that ended it. */
  readonly error?: string | undefined;
}
