import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type Tracer, trace } from "@opentelemetry/api";
import { type Clock, withIdleTimeout, withTimeout } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import { modelName, parseModelName } from "./card.ts";
import { failureError, FAILURES, type FailureClass, modelError } from "./failures.ts";
import {
  DEFAULT_MAX_OUTPUT_TOKENS,
  type FinishReason,
  type LlmRef,
  MAX_CALL_SEC,
  type ModelAnswer,
  type ModelCall,
  type ModelCallOptions,
  type ModelCallRecord,
  type ModelRequest,
  type ModelUsage,
  type OutputSpec,
  type ToolCall,
} from "./model.ts";
import { isNoModel } from "./no-model.ts";
import { OfflineModels, type OfflineModel } from "./offline.ts";
import { type Endpoint, OutputFormats, type RequestWay } from "./output-format.ts";
import {
  costMicroUsd,
  DEFAULT_PRICES,
  estimateRequestTokens,
  estimateTokens,
  type Price,
  priceOf,
  type PriceTable,
} from "./prices.ts";
import { shownFiles } from "./file-parts.ts";
import { callOptions } from "./prompt.ts";
import { connect, providerFactsOf, type ProviderSettings } from "./providers.ts";
import { type Reasoning, ReasoningReader } from "./reasoning.ts";
import { toolsFor } from "./tool-schema.ts";
import { endCallSpan, failCallSpan, promptHash, startCallSpan } from "./telemetry.ts";
import { onlyDefined } from "../kernel/json.ts";

export interface ModelsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly providers?: ProviderSettings | undefined;
  /** Go before {@link DEFAULT_PRICES}. */
  readonly prices?: PriceTable;
  /** In addition to `echo`. */
  readonly offline?: readonly OfflineModel[];
  /**
   * Gets one record per finished call, good or bad. What it throws is logged and otherwise without
   * effect.
   */
  readonly onCall?: (record: ModelCallRecord) => void;
  /** Default: the global one of OpenTelemetry, which does nothing until an SDK is installed. */
  readonly tracer?: Tracer;
}

/**
 * UTF-16 units of one answer, so that a server that never stops does not fill the memory. Far
 * above what `maxOutputTokens` allows.
 */
const MAX_ANSWER_UNITS = 4_000_000;

/**
 * The language models of one team: `resolve` a card's `llm`, then `stream` a request.
 *
 * One `stream` is one answer of one model: nothing here repeats a failed call, chooses another model
 * or runs a tool. Those are decisions of `runAttempts` and of the engine, and they are made once. A
 * request whose form the provider refuses (a schema, a temperature) is made again in the next form;
 * a refusal costs nothing, and is remembered.
 */
/** Lines about tools in one life of the process; a server's tools may be others every second. */
const MAX_LOGGED = 1_000;

export class Models {
  readonly offline: OfflineModels;
  readonly #options: ModelsOptions;
  readonly #prices: PriceTable;
  readonly #tracer: Tracer;
  readonly #formats: OutputFormats;
  /** What was logged about tools that a provider would refuse. */
  readonly #leftOut = new Set<string>();

  constructor(options: ModelsOptions) {
    this.#options = options;
    this.#formats = new OutputFormats({ clock: options.clock });
    this.#prices = { ...DEFAULT_PRICES, ...options.prices };
    this.#tracer = options.tracer ?? trace.getTracer("dure");
    this.offline = new OfflineModels(options.offline ?? [], { clock: options.clock });
  }

  /** Undefined: the model is counted in tokens, not in money. */
  priceOf(llm: LlmRef): Price | undefined {
    return priceOf(this.#prices, llm);
  }

  /**
   * A model that can be called. Nothing is connected yet. Throws `MODEL_NAME_INVALID`,
   * `MODEL_KEY_MISSING`, `MODEL_BASE_URL_MISSING`, `MODEL_BASE_URL_INVALID`,
   * `OFFLINE_MODEL_UNKNOWN`.
   */
  resolve(llm: LlmRef | string): ModelCall {
    const ref = typeof llm === "string" ? parseModelName(llm) : llm;
    const connection = connect(ref, this.#options.providers ?? {}, this.offline);
    let opened: Promise<LanguageModelV4> | undefined;

    return {
      provider: ref.provider,
      model: ref.model,
      maxOutputTokens: ref.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
      stream: (request, options = {}) =>
        this.#stream(ref, () => (opened ??= connection()), request, options),
    };
  }

  /** The way in which this model is asked now: for `dure doctor`. */
  wayOf(llm: LlmRef, output: OutputSpec): RequestWay {
    return this.#formats.wayOf(this.#endpointOf(llm), output);
  }

  #endpointOf(llm: LlmRef): Endpoint {
    const baseUrl = llm.baseUrl ?? this.#options.providers?.[llm.provider]?.baseUrl ?? "";

    return { llm, baseUrl };
  }

  /** begin → read → settle, for one call, in the ways that the provider takes. */
  async #stream(
    llm: LlmRef,
    open: () => Promise<LanguageModelV4>,
    asked: ModelRequest,
    options: ModelCallOptions,
  ): Promise<ModelAnswer> {
    const endpoint = this.#endpointOf(llm);
    const request = this.#fitted(llm, asked); // what leaves is what is estimated

    for (;;) {
      options.signal?.throwIfAborted();
      const way = this.#formats.wayOf(endpoint, request.output);
      const call = this.#begin(llm, request, options, way);
      try {
        await this.#read(call, open);

        return this.#succeeded(call);
      } catch (error) {
        if (!this.#takesAnotherWay(endpoint, call, error)) throw this.#failed(call, error);
      }
    }
  }

  /** Whether the provider refused the form of the request, and knows another. */
  #takesAnotherWay(endpoint: Endpoint, call: RunningCall, error: unknown): boolean {
    const { clock, logger, providers } = this.#options;
    const { llm, request, span, way } = call;
    const secret = providers?.[llm.provider]?.apiKey;
    const refusal = modelError(error, { ...llm, now: clock.now(), secret });

    if (!this.#formats.learn(endpoint, way, request.output, refusal)) return false;

    failCallSpan(span, refusal.code, NOTHING_USED);
    const { format } = way;
    const because = refusal.message;

    logger.info(
      { ...call.record.labels, provider: llm.provider, model: llm.model, format, because },
      `${modelName(llm)} refused the form of a request; it is asked in another one`,
    );

    return true;
  }

  #begin(
    llm: LlmRef,
    request: ModelRequest,
    options: ModelCallOptions,
    way: RequestWay,
  ): RunningCall {
    const { clock } = this.#options;
    const { attempt = 1, labels = {} } = options;

    const limits = {
      temperature: way.hasTemperature ? (request.temperature ?? llm.temperature) : undefined,
      maxOutputTokens: request.maxOutputTokens ?? llm.maxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS,
    };

    const hash = promptHash(request);
    const at = clock.now();
    const startedAt = clock.monotonic();
    const elapsedMs = (): number => clock.monotonic() - startedAt;
    const about = { request, promptHash: hash, attempt, labels, ...limits };
    const { provider, model } = llm;

    return {
      llm,
      request,
      options,
      way,
      limits,
      elapsedMs,
      span: startCallSpan(this.#tracer, llm, about),
      reading: new Reading(options, elapsedMs),
      record: { at, provider, model, attempt, labels, promptHash: hash },
    };
  }

  async #read(call: RunningCall, open: () => Promise<LanguageModelV4>): Promise<void> {
    const { llm, request, options, way, limits, reading } = call;
    const timeoutMs = Math.min(options.timeoutMs ?? Infinity, MAX_CALL_SEC * 1_000);

    await withTimeout(
      this.#options.clock,
      { ms: timeoutMs, signal: options.signal },
      () => failureError("timeout", `${modelName(llm)} did not answer within ${timeoutMs} ms.`),
      (callSignal) =>
        this.#whileAlive(llm, options.idleTimeoutMs, callSignal, async (signal, alive) => {
          const model = await open();
          const files = await shownFiles(request.messages, llm, options.readFile, signal);

          const { stream } = await model.doStream({
            ...callOptions(request, limits, way.format, { llm, files }),
            abortSignal: signal,
            // For the pings among the raw pieces: a model that thinks in silence is alive.
            includeRawChunks: alive !== undefined,
          });

          await reading.read(stream, signal, alive);
        }),
    );
  }

  /** With the tools as the provider takes them; of those that it would refuse one line each. */
  #fitted({ provider }: LlmRef, request: ModelRequest): ModelRequest {
    if (request.tools === undefined) return request;
    const { tools, leftOut } = toolsFor(provider, request.tools);
    for (const { name, because } of leftOut) {
      const key = `${provider}/${name}/${because}`;
      if (this.#leftOut.has(key) || this.#leftOut.size >= MAX_LOGGED) continue;
      this.#leftOut.add(key);
      const { logger } = this.#options;
      logger.warn({ tool: name, provider }, `the tool ${name} is not offered: ${because}`);
    }

    return { ...request, tools };
  }

  #succeeded(call: RunningCall): ModelAnswer {
    const { llm, reading, span, record, options } = call;
    const usage = isNoModel(llm) ? NOTHING_USED : reading.usage(call.request);
    const facts = this.#factsOf(call, usage);

    const answer: ModelAnswer = {
      ...reading.result(llm),
      provider: llm.provider,
      model: llm.model,
      ...facts,
    };

    const { finishReason } = answer;
    endCallSpan(span, answer);
    this.#tell({ ...record, ...facts, finishReason }, options);

    return answer;
  }

  /** Records the end of a call that brought no answer, and returns the error to throw. */
  #failed(call: RunningCall, error: unknown): unknown {
    const { clock, logger, providers } = this.#options;
    const { llm, reading, span, record, options } = call;
    const isAborted = options.signal?.aborted === true;
    const secret = providers?.[llm.provider]?.apiKey;
    const failed: unknown = isAborted
      ? options.signal?.reason
      : modelError(error, {
          ...llm,
          now: clock.now(),
          secret,
          facts: providerFactsOf(llm.provider),
        });

    const code = codeOf(failed) ?? FAILURES.aborted.code;
    const usage = mayHaveCost(failed, reading) ? reading.usage(call.request) : NOTHING_USED;
    const facts = this.#factsOf(call, usage);
    failCallSpan(span, code, usage);
    this.#tell({ ...record, ...facts, error: code }, options);
    const { labels, provider, model, attempt } = record;
    const { latencyMs } = facts;

    logger.debug(
      { ...labels, provider, model, attempt, code, latencyMs },
      `model call to ${modelName(llm)} ended with ${code}`,
    );

    if (isAborted) return failed;

    const spent = { usage, ...this.#costOf(llm, usage) };

    return modelError(failed, { ...llm, now: clock.now(), facts: spent });
  }

  /** What a call has used by now. */
  #factsOf(
    { llm, reading, elapsedMs }: RunningCall,
    usage: ModelUsage,
  ): Pick<ModelCallRecord, "usage" | "costMicroUsd" | "latencyMs" | "firstTokenMs"> {
    const { firstTokenMs } = reading;
    return {
      usage,
      ...this.#costOf(llm, usage),
      latencyMs: Math.round(elapsedMs()),
      ...onlyDefined({ firstTokenMs: firstTokenMs && Math.round(firstTokenMs) }),
    };
  }

  #whileAlive(
    llm: LlmRef,
    idleMs: number | undefined,
    signal: AbortSignal,
    work: (signal: AbortSignal, alive?: () => void) => Promise<void>,
  ): Promise<void> {
    if (idleMs === undefined) return work(signal);
    return withIdleTimeout(
      this.#options.clock,
      { ms: idleMs, signal },
      () => failureError("timeout", `${modelName(llm)} gave no sign for ${idleMs} ms.`),
      work,
    );
  }

  #costOf(llm: LlmRef, usage: ModelUsage): { costMicroUsd?: number } {
    const price = this.priceOf(llm);

    return price ? { costMicroUsd: costMicroUsd(price, usage) } : {};
  }

  #tell(record: ModelCallRecord, { onRecord }: ModelCallOptions): void {
    for (const sink of [onRecord, this.#options.onCall]) {
      try {
        sink?.(record);
      } catch (error) {
        this.#options.logger.error(
          { model: record.model, error: messageOf(error) },
          "a sink for model calls threw; the call itself is not affected",
        );
      }
    }
  }
}

const NOTHING_USED: ModelUsage = { tokensIn: 0, tokensOut: 0, estimated: true };

/** A refused request costs nothing; one that was cut off while the model worked probably does. */
function mayHaveCost(failed: unknown, reading: Reading): boolean {
  if (reading.hasUsage || reading.firstTokenMs !== undefined) return true;

  const failure =
    failed instanceof DureError
      ? (failed.details?.["failure"] as FailureClass | undefined)
      : undefined;

  if (failed instanceof DureError && /ECONNREFUSED|ENOTFOUND/.test(codeChain(failed))) return false;

  return failure === undefined || FAILURES[failure].mayCost;
}

function codeChain(error: unknown): string {
  const codes: string[] = [];

  for (
    let current = error, depth = 0;
    current instanceof Error && depth < 6;
    current = current.cause, depth++
  ) {
    codes.push(codeOf(current) ?? "");
  }

  return codes.join(" ");
}

/** One call under way. */
interface RunningCall {
  readonly llm: LlmRef;
  readonly request: ModelRequest;
  readonly options: ModelCallOptions;
  readonly way: RequestWay;
  readonly limits: { readonly temperature: number | undefined; readonly maxOutputTokens: number };
  /** Since its start. */
  readonly elapsedMs: () => number;
  readonly span: ReturnType<typeof startCallSpan>;
  readonly reading: Reading;
  readonly record: Pick<
    ModelCallRecord,
    "at" | "provider" | "model" | "attempt" | "labels" | "promptHash"
  >;
}

/** What has come of one answer so far. */
class Reading {
  /** From the start of the call, milliseconds. */
  firstTokenMs: number | undefined;
  readonly #options: Pick<ModelCallOptions, "onText" | "onFirstToken">;
  readonly #elapsed: () => number;
  readonly #toolCalls: ToolCall[] = [];
  readonly #reasoning = new ReasoningReader();
  #text = "";
  #finish: Extract<LanguageModelV4StreamPart, { type: "finish" }> | undefined;

  constructor(options: Pick<ModelCallOptions, "onText" | "onFirstToken">, elapsed: () => number) {
    this.#options = options;
    this.#elapsed = elapsed;
  }

  get hasUsage(): boolean {
    return Boolean(this.#finish?.usage.inputTokens.total);
  }

  /**
   * Reads to the end. After an abort nothing is taken in any more, and the connection is given up.
   */
  async read(
    stream: ReadableStream<LanguageModelV4StreamPart>,
    signal: AbortSignal,
    alive?: () => void,
  ): Promise<void> {
    const reader = stream.getReader();
    const giveUp = (): void => void reader.cancel(signal.reason).catch(() => {});
    signal.addEventListener("abort", giveUp, { once: true });

    try {
      for (;;) {
        const { done, value } = await reader.read();
        signal.throwIfAborted();

        if (done) return;
        alive?.();
        this.#take(value);
      }
    } catch (error) {
      giveUp();

      throw error;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  #take(part: LanguageModelV4StreamPart): void {
    this.#reasoning.take(part);
    switch (part.type) {
      case "text-delta":
        if (part.delta === "") return;
        this.#sawToken();
        this.#text += part.delta;

        if (this.#text.length > MAX_ANSWER_UNITS) {
          throw failureError("format", `The answer is longer than ${MAX_ANSWER_UNITS} characters.`);
        }
        this.#options.onText?.(part.delta);

        return;
      case "tool-input-start":
        this.#sawToken();

        return;
      case "tool-call":
        this.#sawToken();
        this.#toolCalls.push({ id: part.toolCallId, name: part.toolName, ...argsOf(part.input) });

        return;
      case "finish":
        this.#finish = part;

        return;
      case "error":
        throw part.error;
      default: // sources, files, metadata: nothing that is shown or kept
    }
  }

  #sawToken(): void {
    if (this.firstTokenMs !== undefined) return;
    this.firstTokenMs = this.#elapsed();
    this.#options.onFirstToken?.();
  }

  /** Throws where the stream ended but is no answer. */
  result(llm: LlmRef): {
    text: string;
    toolCalls: readonly ToolCall[];
    reasoning?: Reasoning | undefined;
    finishReason: FinishReason;
  } {
    const reason = this.#finish?.finishReason.unified ?? "interrupted";
    switch (reason) {
      case "interrupted":
        throw failureError("network", `The answer of ${modelName(llm)} was cut off.`);
      case "error":
        throw failureError("server", `${modelName(llm)} ended its answer with an error.`);
      case "content-filter":
        throw failureError("refused", `${modelName(llm)} refused to answer.`);
      default:
    }

    if (this.#text.trim() === "" && this.#toolCalls.length === 0) {
      throw failureError("empty", `${modelName(llm)} answered nothing (finish reason ${reason}).`);
    }

    const toolCalls = this.#toolCalls;
    const reasoning = toolCalls.length > 0 ? this.#reasoning.by(llm) : undefined;
    return { text: this.#text, toolCalls, ...onlyDefined({ reasoning }), finishReason: reason };
  }

  /**
   * The provider's numbers, or ours: some providers send none or 0, and after a cut there are none.
   */
  usage(request: ModelRequest): ModelUsage {
    const { inputTokens, outputTokens } = this.#finish?.usage ?? {};
    if (inputTokens?.total) {
      return {
        tokensIn: inputTokens.total,
        tokensOut: outputTokens?.total ?? this.#estimatedOut(),
        ...onlyDefined({
          cachedIn: inputTokens.cacheRead || undefined,
          cacheWrites: inputTokens.cacheWrite || undefined,
        }),
        estimated: outputTokens?.total === undefined,
      };
    }

    return {
      tokensIn: estimateRequestTokens(request),
      tokensOut: this.#estimatedOut(),
      estimated: true,
    };
  }

  #estimatedOut(): number {
    return (
      estimateTokens(this.#text) +
      (this.#toolCalls.length > 0 ? estimateTokens(JSON.stringify(this.#toolCalls)) : 0)
    );
  }
}

/** A tool without arguments is often called with no text at all. */
function argsOf(input: string): Pick<ToolCall, "args" | "invalidArgs"> {
  if (input.trim() === "") return { args: {} };
  try {
    return { args: JSON.parse(input) as Json };
  } catch {
    return { args: {}, invalidArgs: input };
  }
}
