import {
  functionsOf,
  geminiRefusal,
  modelIn,
  partsOf,
  type GeminiAbilities,
  thoughtSignatureOf,
} from "./gemini-rules.ts";
import type { ProviderAsked, SpokenAnswer } from "./moods.ts";
import { isWire, listOf, type Wire, wordOf } from "./refusal.ts";
import {
  allMarked,
  dataFrame,
  numberOf,
  parsed,
  piecesOf,
  schemaIn,
  THOUGHT,
  TOKENS,
  type WireFormat,
} from "./wire-format.ts";

/** Gemini's `generateContent`. */
export const geminiWire: WireFormat<GeminiAbilities> = {
  path: /\/models\/[^/]+:(?:stream)?[gG]enerateContent$/,
  refusal: (body, call, abilities) => geminiRefusal(body, modelIn(call), abilities),
  statuses: { rate_limited: 429, unavailable: 503 },
  isStream: (_body, { path }) => path.includes(":stream"),
  kept: (body) => allMarked([...listOf(body["tools"]), ...listOf(body["contents"])]),
  error: geminiError,

  asked(body, call) {
    const contents = listOf(body["contents"]).filter(isWire);
    const config = isWire(body["generationConfig"]) ? body["generationConfig"] : {};
    const instruction = isWire(body["systemInstruction"]) ? body["systemInstruction"] : {};
    const functions = functionsOf(body);
    const json = functions.find(({ name }) => name === "json");
    const given = config["responseJsonSchema"] ?? config["responseSchema"];
    const schema = given ?? json?.["parametersJsonSchema"];
    const system = textIn(instruction);

    return {
      wire: "gemini",
      model: modelIn(call),
      system,
      lastText: textIn(contents.at(-1) ?? {}),
      messages: contents,
      tools: functions.map(({ name }) => wordOf(name)),
      schema: isWire(schema) ? schema : schemaIn(system),
      isStrict: given !== undefined,
      temperature: numberOf(config["temperature"]),
      thinks:
        isWire(config["thinkingConfig"]) && config["thinkingConfig"]["includeThoughts"] === true,
    };
  },

  frames(answer, asked) {
    const parts = answerParts(answer, asked);
    const last = parts.length - 1;
    const pieces = parts.flatMap((part) =>
      typeof part["text"] === "string"
        ? piecesOf(part["text"]).map((text) => ({ ...part, text }))
        : [part],
    );
    const frames = pieces.map((part) => dataFrame(responseOf([part], asked)));

    return last < 0
      ? [dataFrame(ended(responseOf([], asked), answer))]
      : [...frames.slice(0, -1), dataFrame(ended(responseOf([pieces.at(-1)!], asked), answer))];
  },

  whole: (answer, asked) => ended(responseOf(answerParts(answer, asked), asked), answer),
};

function textIn(content: Wire): string {
  return partsOf(content)
    .map(({ text, functionResponse: response }) => {
      if (!isWire(response)) return wordOf(text ?? "");
      const { content: said, error } = isWire(response["response"]) ? response["response"] : {};
      return wordOf(said ?? error ?? "");
    })
    .join("");
}

/** Where a function named `json` is the way of the answer, its arguments are the JSON. */
function answerParts(
  { text, toolCalls }: SpokenAnswer,
  { tools, thinks, model, messages }: ProviderAsked,
): readonly Wire[] {
  const input = tools.includes("json") && toolCalls.length === 0 ? parsed(text) : undefined;
  const calls = input === undefined ? toolCalls : [{ name: "json", args: input }];
  const thoughtSignature = thoughtSignatureOf(model);

  return [
    ...(thinks ? [{ text: THOUGHT, thought: true }] : []),
    ...(input === undefined && text !== "" ? [{ text }] : []),
    // Source: ai.google.dev, "Thought signatures": of parallel calls the first one is signed.
    ...calls.map(({ name, args }, index) => ({
      functionCall: { id: `fc${messages.length}_${index + 1}`, name, args },
      thoughtSignature: index === 0 ? thoughtSignature : undefined,
    })),
  ];
}

function responseOf(parts: readonly Wire[], { model, cached }: ProviderAsked): Wire {
  const promptTokenCount = TOKENS.in + (cached?.read ?? 0);
  const kept = cached?.read ? { cachedContentTokenCount: cached.read } : {};
  const usageMetadata = {
    promptTokenCount,
    candidatesTokenCount: TOKENS.out,
    totalTokenCount: promptTokenCount + TOKENS.out,
    ...kept,
  };

  return {
    candidates: [{ content: { role: "model", parts }, index: 0 }],
    usageMetadata,
    modelVersion: model,
    responseId: "response-1",
  };
}

function ended(response: Wire, { isCut }: SpokenAnswer): Wire {
  const finishReason = isCut ? "MAX_TOKENS" : "STOP";
  const candidates = listOf(response["candidates"]).map((one) => ({
    ...(one as Wire),
    finishReason,
  }));

  return { ...response, candidates };
}

/**
 * Sources: ai.google.dev, "Troubleshooting guide", "Error codes"; google/rpc/error_details.proto: how
 * long to wait stands in the body, and in no header.
 */
function geminiError(status: number, message: string) {
  const isLimit = status === 429;
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.01s" };
  const quota = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel" }],
  };
  const words = isLimit
    ? "You exceeded your current quota, please check your plan and billing details."
    : `The model is overloaded. ${message}`;
  const error = {
    code: status,
    message: words,
    status: isLimit ? "RESOURCE_EXHAUSTED" : "UNAVAILABLE",
    details: isLimit ? [quota, retry] : [],
  };

  return { status, body: { error } };
}
