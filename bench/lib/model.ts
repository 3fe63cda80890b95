import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { offlineModel, type OfflineModel } from "../../packages/dure/src/models/offline.ts";

/**
 * A model that answers at once with these pieces: what is left of a turn is our own work. One for
 * each side, the same answer.
 */
export interface InstantModel {
  readonly offline: OfflineModel;
  readonly aiSdk: LanguageModelV4;
}

const USAGE = {
  inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 20, text: undefined, reasoning: undefined },
};
const STOP = { unified: "stop", raw: undefined } as const;

export function instantModel(pieces: readonly string[]): InstantModel {
  const text = pieces.join("");
  return {
    offline: offlineModel("instant", () => ({
      chunks: pieces,
      usage: { tokensIn: 10, tokensOut: 20 },
    })),
    aiSdk: {
      specificationVersion: "v4",
      provider: "bench",
      modelId: "instant",
      supportedUrls: {},
      doGenerate: async () => ({
        content: [{ type: "text", text }],
        finishReason: STOP,
        usage: USAGE,
        warnings: [],
      }),
      doStream: async () => ({ stream: streamOf(pieces) }),
    },
  };
}

/**
 * Under the same name, so that a process with the instant one can go on: it is asked and never
 * answers.
 */
export const stuckModel: OfflineModel = offlineModel("instant", () => new Promise<never>(() => {}));

function streamOf(pieces: readonly string[]): ReadableStream<LanguageModelV4StreamPart> {
  const parts = partsOf(pieces);
  return new ReadableStream({
    pull(controller) {
      const { done, value } = parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

function* partsOf(pieces: readonly string[]): Generator<LanguageModelV4StreamPart, undefined> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "0" };
  for (const delta of pieces) yield { type: "text-delta", id: "0", delta };
  yield { type: "text-end", id: "0" };
  yield { type: "finish", finishReason: STOP, usage: USAGE };
}

/** The answer of a plain turn. */
export const SHORT = ["The parcel ", "arrives on Monday."];
/**
 * The answer of a streamed turn: 200 tokens of about 5 bytes. Source of the count:
 * docs/spec/platform §10.
 */
export const LONG = Array.from({ length: 200 }, (_, index) => `word${index % 10} `);
