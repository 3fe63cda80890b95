import type {
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { LlmRef, ProviderName } from "./model.ts";

/** A model that a package of the AI SDK made: `openai("gpt-…")`, `google("gemini-…")`. */
export type ModelObject = LanguageModelV2 | LanguageModelV3 | LanguageModelV4;

/**
 * Where a reference keeps its object: a symbol, so that JSON, logs and pages never show the object,
 * which may hold a key.
 */
export const MODEL_OBJECT = Symbol("dure.model-object");

const VERSIONS: ReadonlySet<unknown> = new Set(["v2", "v3", "v4"]);

/** Whether it looks like a model object, of whatever version. */
export function looksLikeModelObject(value: unknown): value is ModelObject {
  if (typeof value !== "object" || value === null) return false;
  const { specificationVersion, modelId, provider, doStream } = value as Partial<ModelObject>;
  const isNamed = typeof modelId === "string" && typeof provider === "string";
  return isNamed && typeof doStream === "function" && typeof specificationVersion === "string";
}

/** Undefined: the object can be called. Pure. */
export function modelObjectFault({ specificationVersion, modelId }: ModelObject) {
  if (VERSIONS.has(specificationVersion)) return undefined;
  return `${modelId} is a model of the AI SDK's version ${specificationVersion}; known are v2, v3 and v4`;
}

/**
 * How a model object is named in prices, logs and traces. One of OpenAI or Anthropic has the name
 * that text would give it, and so its price; every other is
 * `ai-sdk:<its provider>/<its model>`. Pure.
 */
export function namesOfObject(object: ModelObject): Pick<LlmRef, "provider" | "model"> {
  const { provider, modelId } = object;
  const known = KNOWN.find(([pattern]) => pattern.test(provider))?.[1];
  if (known) return { provider: known, model: modelId };
  return { provider: "ai-sdk", model: `${provider}/${modelId}` };
}

/** Whose rules hold for what a model is sent. */
export type Dialect = ProviderName | "google";

/** A provider of ours, or one that makes the object and has rules of its own. Pure. */
export function dialectOf({ provider, [MODEL_OBJECT]: object }: ModelSpeaker): Dialect {
  return object && /^google(?:\.|$)/.test(object.provider) ? "google" : provider;
}

type ModelSpeaker = Pick<LlmRef, "provider" | typeof MODEL_OBJECT>;

/** What packages call themselves: `openai.responses`, `anthropic.messages`. */
const KNOWN: readonly (readonly [RegExp, ProviderName])[] = [
  [/^openai(?:\.|$)/, "openai"],
  [/^anthropic(?:\.|$)/, "anthropic"],
];

/** The object as the version that dure speaks. */
export function asNewestModel(object: ModelObject): LanguageModelV4 {
  if (object.specificationVersion === "v4") return object;
  const older: LanguageModelV2 | LanguageModelV3 = object;

  return {
    specificationVersion: "v4",
    provider: older.provider,
    modelId: older.modelId,
    supportedUrls: older.supportedUrls,
    doGenerate: () => Promise.reject(new Error("Models are asked for streams alone.")),
    doStream: async (options) => {
      // Older versions differ in what is read, not in how they are asked, but for files.
      const asked = withOlderFiles(options) as never;
      const { stream, ...rest } = await older.doStream(asked);
      const parts: ReadableStream<OlderPart> = stream;
      return { ...rest, stream: parts.pipeThrough(new TransformStream(NEWER)) };
    },
  };
}

type OlderPart = LanguageModelV2StreamPart | LanguageModelV3StreamPart;

const NEWER: Transformer<OlderPart, LanguageModelV4StreamPart> = {
  transform: (part, controller) => controller.enqueue(newerPart(part)),
};

function newerPart(part: OlderPart): LanguageModelV4StreamPart {
  if (part.type !== "finish") return part as LanguageModelV4StreamPart;
  const { finishReason: reason, usage } = part;
  if (typeof reason !== "string") return part;
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;

  return {
    ...part,
    finishReason: { unified: reason === "unknown" ? "other" : reason, raw: undefined },
    usage: {
      inputTokens: {
        total: inputTokens,
        noCache: undefined,
        cacheRead: cachedInputTokens,
        cacheWrite: undefined,
      },
      outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens },
    },
  };
}

/** Older versions take the bytes or the address of a file, without a word about which it is. */
function withOlderFiles(options: LanguageModelV4CallOptions): LanguageModelV3CallOptions {
  const prompt = options.prompt.map((message) => {
    if (typeof message.content === "string") return message;
    const content = message.content.map((part) => {
      if (part.type !== "file" || !("data" in part)) return part;
      const { data } = part;
      const bare = data.type === "url" ? data.url : data.type === "data" ? data.data : data;
      return { ...part, data: bare };
    });
    return { ...message, content };
  });
  return { ...options, prompt } as unknown as LanguageModelV3CallOptions;
}
