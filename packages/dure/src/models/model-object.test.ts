import type { LanguageModelV2StreamPart } from "@ai-sdk/provider";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import { simulateReadableStream } from "ai";
import { describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { modelNames, parseCard } from "./card.ts";
import { MODEL_OBJECT, type ModelObject } from "./model-object.ts";
import { Models } from "./models.ts";

const TEXT = [
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "hello" },
  { type: "text-end", id: "1" },
] as const;
const USAGE = {
  inputTokens: { total: 7, noCache: 7, cacheRead: 3, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
};
const NEW_FINISH = {
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage: USAGE,
} as const;

const streamOf = <Part>(parts: readonly Part[]) => ({
  stream: simulateReadableStream({ chunks: [...parts] }),
});

/** The same model as a package of each version of the AI SDK makes it. */
const OBJECTS: readonly ModelObject[] = [
  new MockLanguageModelV4({
    provider: "google.generative-ai",
    modelId: "gemini-2.5-flash",
    doStream: async () => streamOf([...TEXT, NEW_FINISH]),
  }),
  new MockLanguageModelV3({
    provider: "google.generative-ai",
    modelId: "gemini-2.5-flash",
    doStream: async () => streamOf([...TEXT, NEW_FINISH]),
  }),
  {
    specificationVersion: "v2",
    provider: "google.generative-ai",
    modelId: "gemini-2.5-flash",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("It is asked for a stream.")),
    doStream: async () =>
      streamOf<LanguageModelV2StreamPart>([
        ...TEXT,
        {
          type: "finish",
          finishReason: "stop",
          usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9, cachedInputTokens: 3 },
        },
      ]),
  },
];

const newModels = () => new Models({ clock: systemClock, logger: silentLogger });

describe("a model that is an object of the AI SDK", () => {
  test.each(OBJECTS)("of version $specificationVersion answers and is counted", async (object) => {
    const { llm } = parseCard({ model: object });

    const answer = await newModels()
      .resolve(llm!)
      .stream({ messages: [{ role: "user", text: "hi" }] });

    expect(answer).toMatchObject({
      text: "hello",
      finishReason: "stop",
      provider: "ai-sdk",
      model: "google.generative-ai/gemini-2.5-flash",
      usage: { tokensIn: 7, tokensOut: 2, cachedIn: 3, estimated: false },
    });
    expect(answer.costMicroUsd).toBeUndefined();
  });

  test("of a provider that dure knows has its name and its price", () => {
    const { llm } = parseCard({
      model: [
        createOpenAI({ apiKey: "k" })("gpt-5-mini"),
        createAnthropic({ apiKey: "k" })("claude-haiku-4-5"),
      ],
    });

    expect(modelNames(llm!)).toBe("openai:gpt-5-mini, anthropic:claude-haiku-4-5");
    expect(newModels().priceOf(llm!)).toBeDefined();
  });

  test("stands in a card that is read again, with how it is asked, and never in JSON", () => {
    const [object] = OBJECTS;
    const card = parseCard({ model: { model: object!, temperature: 0, fallbacks: ["openai:x"] } });

    const again = parseCard(card);

    expect(again.llm).toMatchObject({ temperature: 0, fallbacks: [{ model: "x" }] });
    expect(again.llm?.[MODEL_OBJECT]).toBe(object);
    expect(JSON.parse(JSON.stringify(again.llm))).toEqual({
      provider: "ai-sdk",
      model: "google.generative-ai/gemini-2.5-flash",
      temperature: 0,
      fallbacks: [{ provider: "openai", model: "x" }],
    });
  });

  test.each([
    [{ ...OBJECTS[0], specificationVersion: "v9", doStream: () => {} }, "version v9"],
    [{ modelId: "x", provider: "y" }, "unknown key"],
    [() => "hi", "expected object"],
  ])("that cannot be called is refused: %#", (object, message) => {
    const card = { model: object } as object;

    expect(() => parseCard(card)).toThrowError(
      expect.objectContaining({
        code: "CARD_INVALID",
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });

  test("is missing where only its name is given", () => {
    expect(() => newModels().resolve("ai-sdk:google/gemini")).toThrowError(
      expect.objectContaining({ code: "MODEL_OBJECT_MISSING" }) as Error,
    );
  });
});
