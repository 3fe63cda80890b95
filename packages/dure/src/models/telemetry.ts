import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { codeOf } from "../kernel/errors.ts";
import { canonicalJson, onlyDefined } from "../kernel/json.ts";
import type { LlmRef, ModelAnswer, ModelRequest, ModelUsage } from "./model.ts";

/**
 * Names of OpenTelemetry's semantic conventions for generative AI, as they stand in
 * semantic-conventions 1.37 (still in development there). They are written nowhere else, so that a
 * renaming is a change of this table.
 */
const NAME = {
  operation: "gen_ai.operation.name",
  agent: "gen_ai.agent.name",
  tool: "gen_ai.tool.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  temperature: "gen_ai.request.temperature",
  maxTokens: "gen_ai.request.max_tokens",
  outputType: "gen_ai.output.type",
  finishReasons: "gen_ai.response.finish_reasons",
  tokensIn: "gen_ai.usage.input_tokens",
  tokensOut: "gen_ai.usage.output_tokens",
  errorType: "error.type",
  // dure's own
  service: "dure.service",
  turn: "dure.turn",
  session: "dure.session",
  /** How often a turn was begun: 2 and more after a crash. */
  life: "dure.life",
  promptHash: "dure.prompt.sha256",
  attempt: "dure.attempt",
  cachedIn: "dure.usage.cached_input_tokens",
  cacheWrites: "dure.usage.cache_written_tokens",
  estimated: "dure.usage.estimated",
  costMicroUsd: "dure.cost.micro_usd",
  firstTokenMs: "dure.first_token_ms",
  labelPrefix: "dure.",
} as const;

/**
 * SHA-256 of the canonical JSON of a request, hexadecimal: tells whether two prompts were equal
 * without keeping either.
 */
export function promptHash(request: ModelRequest): string {
  return createHash("sha256").update(canonicalJson(request)).digest("hex");
}

// --- what hangs on what: accept > turn > agent > model call, tool

/**
 * The span that work is done in. Not OpenTelemetry's own context: that needs a context manager,
 * which a plain exporter does not bring. It follows the work as that one does, and where there is
 * none, that one's holds.
 */
const under = new AsyncLocalStorage<Context>();

/** The tracer of the process's SDK; without an SDK its spans are no-ops. */
const tracerOfProcess = trace.getTracer("dure");

export interface TurnLabels {
  readonly turn: string;
  readonly session: string;
  readonly service: string;
}

/**
 * The acceptance of a message: the spans of all lives of its turn, in any process, are its
 * children. `traceParent` is to be stored with the turn; undefined when neither this process nor
 * the caller traces.
 * @param given W3C `traceparent` of the caller; absent, it hangs on the work from which it is called.
 */
export function startAcceptSpan(
  labels: TurnLabels,
  given?: string,
): {
  readonly traceParent: string | undefined;
  /** Once; later calls do nothing. */ end(error?: unknown): void;
} {
  const span = tracerOfProcess.startSpan(
    `accept ${labels.service}`,
    { kind: SpanKind.SERVER, attributes: turnAttributes(labels) },
    contextOf(given) ?? activeContext(),
  );

  let isOver = false;

  const end = (error?: unknown): void => {
    if (!isOver) endSpan(span, error);
    isOver = true;
  };

  return { traceParent: traceParentOf(span.spanContext()), end };
}

/** One life of a turn. @param turn.traceParent of its acceptance, as it is stored */
export function inTurnSpan<T>(
  turn: TurnLabels & { readonly traceParent: string | null; readonly life: number },
  work: () => Promise<T>,
): Promise<T> {
  return inSpan(
    `turn ${turn.service}`,
    { ...turnAttributes(turn), [NAME.life]: turn.life },
    work,
    contextOf(turn.traceParent ?? undefined) ?? ROOT_CONTEXT,
  );
}

export function inAgentSpan<T>(agent: string, work: () => Promise<T>): Promise<T> {
  return inSpan(
    `invoke_agent ${agent}`,
    { [NAME.operation]: "invoke_agent", [NAME.agent]: agent },
    work,
  );
}

/** @param failureOf the code of a failure that is returned, not thrown */
export function inToolSpan<T>(
  tool: string,
  work: () => Promise<T>,
  failureOf: (result: T) => string | undefined,
): Promise<T> {
  return inSpan(
    `execute_tool ${tool}`,
    { [NAME.operation]: "execute_tool", [NAME.tool]: tool },
    async () => {
      const result = await work();
      const failure = failureOf(result);
      if (failure !== undefined) noteFailure(failure);

      return result;
    },
  );
}

/**
 * Marks the span of the work that is under way as failed; for a failure that is told, not thrown.
 */
export function noteFailure(code: string): void {
  const span = trace.getSpan(activeContext());
  span?.setAttributes({ [NAME.errorType]: code });
  span?.setStatus({ code: SpanStatusCode.ERROR, message: code });
}

async function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
  parent: Context = activeContext(),
): Promise<T> {
  const span = tracerOfProcess.startSpan(name, { attributes }, parent);
  let thrown: unknown;

  try {
    return await under.run(trace.setSpan(parent, span), work);
  } catch (error) {
    thrown = error;
    throw error;
  } finally {
    endSpan(span, thrown);
  }
}

function endSpan(span: Span, error: unknown): void {
  if (error !== undefined) {
    const code = codeOf(error) ?? "INTERNAL"; // its message may quote what was said
    span.setAttributes({ [NAME.errorType]: code });
    span.setStatus({ code: SpanStatusCode.ERROR, message: code });
  }
  span.end();
}

function activeContext(): Context {
  return under.getStore() ?? context.active();
}

function turnAttributes({ turn, session, service }: TurnLabels): Attributes {
  return { [NAME.turn]: turn, [NAME.session]: session, [NAME.service]: service };
}

const TRACE_PARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Of a W3C `traceparent`; undefined for what is none. */
function contextOf(traceParent: string | undefined): Context | undefined {
  const [, traceId = "", spanId = "", flags = "00"] = TRACE_PARENT.exec(traceParent ?? "") ?? [];
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : undefined;
}

function traceParentOf(span: SpanContext): string | undefined {
  return isSpanContextValid(span)
    ? `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`
    : undefined;
}

/**
 * Opens the span of one model call, under the agent that makes it. It holds numbers and names,
 * never text of the prompt or the answer.
 */
export function startCallSpan(
  tracer: Tracer,
  llm: LlmRef,
  call: {
    request: ModelRequest;
    promptHash: string;
    attempt: number;
    maxOutputTokens: number;
    temperature: number | undefined;
    labels: Readonly<Record<string, string>>;
  },
): Span {
  const options = {
    kind: SpanKind.CLIENT,
    attributes: {
      [NAME.operation]: "chat",
      [NAME.provider]: llm.provider,
      [NAME.requestModel]: llm.model,
      [NAME.maxTokens]: call.maxOutputTokens,
      [NAME.outputType]: call.request.output ? "json" : "text",
      [NAME.promptHash]: call.promptHash,
      [NAME.attempt]: call.attempt,
    } as Attributes,
  };
  const { attributes } = options;
  if (call.temperature !== undefined) attributes[NAME.temperature] = call.temperature;
  for (const label of Object.keys(call.labels)) {
    attributes[`${NAME.labelPrefix}${label}`] = call.labels[label];
  }
  return tracer.startSpan(`chat ${llm.model}`, options, activeContext());
}

export function endCallSpan(span: Span, answer: ModelAnswer): void {
  span.setAttributes({
    [NAME.finishReasons]: [answer.finishReason],
    ...usageAttributes(answer.usage),
    ...onlyDefined({
      [NAME.costMicroUsd]: answer.costMicroUsd,
      [NAME.firstTokenMs]: answer.firstTokenMs,
    }),
  });
  span.end();
}

/** @param code the error's code; its message may quote the prompt and stays out. */
export function failCallSpan(span: Span, code: string, usage: ModelUsage): void {
  span.setAttributes({ [NAME.errorType]: code, ...usageAttributes(usage) });
  span.setStatus({ code: SpanStatusCode.ERROR, message: code });
  span.end();
}

function usageAttributes(usage: ModelUsage): Record<string, number | boolean> {
  return {
    [NAME.tokensIn]: usage.tokensIn,
    [NAME.tokensOut]: usage.tokensOut,
    [NAME.estimated]: usage.estimated,
    ...onlyDefined({ [NAME.cachedIn]: usage.cachedIn, [NAME.cacheWrites]: usage.cacheWrites }),
  };
}
