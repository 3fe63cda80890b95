import { type Span, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { createHash } from "node:crypto";
import { canonicalJson } from "../kernel/json.ts";
import type { LlmRef, ModelAnswer, ModelRequest, ModelUsage } from "./model.ts";

/**
 * Names of OpenTelemetry's semantic conventions for generative AI, as they stand in semantic-conventions 1.37 (still in
 * development there). They are written nowhere else, so that a renaming is a change of this table.
 */
const NAME = {
  operation: "gen_ai.operation.name",
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
  promptHash: "dure.prompt.sha256",
  attempt: "dure.attempt",
  cachedIn: "dure.usage.cached_input_tokens",
  estimated: "dure.usage.estimated",
  costMicroUsd: "dure.cost.micro_usd",
  firstTokenMs: "dure.first_token_ms",
  labelPrefix: "dure.",
} as const;

/** Values of `gen_ai.provider.name`; what is not listed there is named as we name it. */
const PROVIDER_VALUE: Readonly<Record<string, string>> = { openai: "openai", anthropic: "anthropic" };

/** SHA-256 of the canonical JSON of a request, hexadecimal: tells whether two prompts were equal without keeping either. */
export function promptHash(request: ModelRequest): string {
  return createHash("sha256").update(canonicalJson(request)).digest("hex");
}

/** Opens the span of one model call. It holds numbers and names, never text of the prompt or the answer. */
export function startCallSpan(
  tracer: Tracer,
  llm: LlmRef,
  call: { request: ModelRequest; promptHash: string; attempt: number; maxOutputTokens: number; temperature: number | undefined; labels: Readonly<Record<string, string>> },
): Span {
  return tracer.startSpan(`chat ${llm.model}`, {
    kind: SpanKind.CLIENT,
    attributes: {
      [NAME.operation]: "chat",
      [NAME.provider]: PROVIDER_VALUE[llm.provider] ?? llm.provider,
      [NAME.requestModel]: llm.model,
      [NAME.maxTokens]: call.maxOutputTokens,
      [NAME.outputType]: call.request.output ? "json" : "text",
      [NAME.promptHash]: call.promptHash,
      [NAME.attempt]: call.attempt,
      ...(call.temperature === undefined ? {} : { [NAME.temperature]: call.temperature }),
      ...Object.fromEntries(Object.entries(call.labels).map(([label, value]) => [`${NAME.labelPrefix}${label}`, value])),
    },
  });
}

export function endCallSpan(span: Span, answer: ModelAnswer): void {
  span.setAttributes({
    [NAME.finishReasons]: [answer.finishReason],
    ...usageAttributes(answer.usage),
    ...(answer.costMicroUsd === undefined ? {} : { [NAME.costMicroUsd]: answer.costMicroUsd }),
    ...(answer.firstTokenMs === undefined ? {} : { [NAME.firstTokenMs]: answer.firstTokenMs }),
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
    ...(usage.cachedIn === undefined ? {} : { [NAME.cachedIn]: usage.cachedIn }),
  };
}
