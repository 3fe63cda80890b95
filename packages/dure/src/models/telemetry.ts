import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
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
import { canonicalJson, jsonCopy, onlyDefined, type JsonObject } from "../kernel/json.ts";
import { toldValue } from "../kernel/told-tool.ts";
import type { LlmRef, ModelAnswer, ModelMessage, ModelRequest, ModelUsage } from "./model.ts";

/**
 * Names of OpenTelemetry's semantic conventions for generative AI, as semantic-conventions-genai has
 * them (still in development there). They are written nowhere else, so that a renaming is a change of
 * this table.
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
  cachedIn: "gen_ai.usage.cache_read.input_tokens",
  cacheWrites: "gen_ai.usage.cache_creation.input_tokens",
  /** Seconds. */
  firstToken: "gen_ai.response.time_to_first_chunk",
  conversation: "gen_ai.conversation.id",
  errorType: "error.type",
  // texts, where the team has asked for them; JSON as text
  instructions: "gen_ai.system_instructions",
  input: "gen_ai.input.messages",
  output: "gen_ai.output.messages",
  toolArgs: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  /** US dollars; no name of the conventions, but one that receivers read. */
  cost: "gen_ai.usage.cost",
  // dure's own
  service: "dure.service",
  turn: "dure.turn",
  /** How often a turn was begun: 2 and more after a crash. */
  life: "dure.life",
  promptHash: "dure.prompt.sha256",
  attempt: "dure.attempt",
  estimated: "dure.usage.estimated",
  costMicroUsd: "dure.cost.micro_usd",
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

/** Of the turn that is under way: its conversation, and whether its spans hold texts. */
const TURN = createContextKey("dure turn");

interface SpannedTurn {
  readonly session: string;
  readonly texts: boolean;
}

function spannedTurn(): SpannedTurn | undefined {
  return activeContext().getValue(TURN) as SpannedTurn | undefined;
}

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

/**
 * One life of a turn. @param turn.traceParent of its acceptance, as it is stored @param turn.texts
 * whether the spans within hold prompts, answers, and what tools take and give
 */
export function inTurnSpan<T>(
  turn: TurnLabels & {
    readonly traceParent: string | null;
    readonly life: number;
    readonly texts: boolean;
  },
  work: () => Promise<T>,
): Promise<T> {
  return inSpan(
    `turn ${turn.service}`,
    { ...turnAttributes(turn), [NAME.life]: turn.life },
    work,
    (contextOf(turn.traceParent ?? undefined) ?? ROOT_CONTEXT).setValue(TURN, turn),
  );
}

export function inAgentSpan<T>(agent: string, work: () => Promise<T>): Promise<T> {
  return inSpan(
    `invoke_agent ${agent}`,
    { [NAME.operation]: "invoke_agent", [NAME.agent]: agent },
    work,
  );
}

/** How a call of a tool may end: a failure is returned, not thrown. */
interface SpannedOutcome {
  readonly status: string;
  readonly result?: unknown;
  readonly error?: { readonly code: string } | undefined;
}

export function inToolSpan<T extends SpannedOutcome>(
  tool: string,
  input: unknown,
  work: () => Promise<T>,
): Promise<T> {
  return inSpan(
    `execute_tool ${tool}`,
    { [NAME.operation]: "execute_tool", [NAME.tool]: tool, ...textOf(NAME.toolArgs, input) },
    async () => {
      const outcome = await work();
      const { status, error, result } = outcome;
      if (status === "failed" && error) noteFailure(error.code);
      trace.getSpan(activeContext())?.setAttributes(textOf(NAME.toolResult, result));

      return outcome;
    },
  );
}

/** Bytes of one text in a span; of a longer one its beginning. */
const MOST_TEXT = 60_000;

/** A value without secrets, as text; nothing where the turn's spans hold no texts. */
function textOf(name: string, value: unknown): Attributes {
  if (spannedTurn()?.texts !== true || value === undefined || value === "") return {};
  try {
    const told = toldValue(jsonCopy(value, name), MOST_TEXT);
    return { [name]: typeof told === "string" ? told : JSON.stringify(told) };
  } catch {
    return {}; // no JSON: the call itself says so
  }
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
  const { session } = (parent.getValue(TURN) ?? {}) as Partial<SpannedTurn>;
  const all = session === undefined ? attributes : { ...attributes, [NAME.conversation]: session };
  const span = tracerOfProcess.startSpan(name, { attributes: all }, parent);
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
  return { [NAME.turn]: turn, [NAME.conversation]: session, [NAME.service]: service };
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
 * Opens the span of one model call, under the agent that makes it. It holds numbers and names, and
 * the texts of the prompt only where the team has asked for them.
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
  for (const [label, value] of Object.entries(call.labels)) {
    const name = label === "session" ? NAME.conversation : `${NAME.labelPrefix}${label}`;
    attributes[name] = value;
  }
  const { system, messages } = call.request;
  Object.assign(
    attributes,
    textOf(NAME.instructions, system && [{ type: "text", content: system }]),
    textOf(NAME.input, messages.map(messageParts)),
  );
  return tracer.startSpan(`chat ${llm.model}`, options, activeContext());
}

export function endCallSpan(span: Span, answer: ModelAnswer): void {
  span.setAttributes({
    [NAME.finishReasons]: [answer.finishReason],
    ...usageAttributes(answer.usage),
    ...onlyDefined({
      [NAME.costMicroUsd]: answer.costMicroUsd,
      [NAME.cost]: answer.costMicroUsd && answer.costMicroUsd / 1_000_000,
      [NAME.firstToken]: answer.firstTokenMs && answer.firstTokenMs / 1_000,
    }),
    ...textOf(NAME.output, [
      {
        ...messageParts({ role: "assistant", text: answer.text, toolCalls: answer.toolCalls }),
        finish_reason: answer.finishReason,
      },
    ]),
  });
  span.end();
}

/** A message in the shape that the conventions give it. Pure. */
function messageParts(message: ModelMessage): JsonObject {
  if (message.role === "tool") {
    const { role, callId: id, result } = message;
    return { role, parts: [{ type: "tool_call_response", id, response: result }] };
  }
  const { role, text } = message;
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  const said = text === "" ? [] : [{ type: "text", content: text }];
  const asked = calls.map(({ id, name, args }) => ({
    type: "tool_call",
    id,
    name,
    arguments: args,
  }));
  return { role, parts: [...said, ...asked] };
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
