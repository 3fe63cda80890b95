import { expect, test } from "vitest";
import { AnswerReader, type ReadAnswer } from "./read-usage.ts";

/** What is read of an answer that comes in pieces of this many bytes. */
function readAnswer(
  type: string,
  text: string,
  { pieces = 7, isComplete = true }: { pieces?: number; isComplete?: boolean } = {},
): ReadAnswer {
  const reader = new AnswerReader(type);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieces) reader.push(bytes.subarray(at, at + pieces));

  return reader.end(isComplete);
}

const events = (...all: readonly object[]): string =>
  all.map((one) => `event: x\ndata: ${JSON.stringify(one)}\n\n`).join("");
const SSE = "text/event-stream; charset=utf-8";
const JSON_TYPE = "application/json";

/** Source: `RawMessageStreamEvent` of @anthropic-ai/sdk. */
const ANTHROPIC = [
  {
    type: "message_start",
    message: {
      type: "message",
      model: "claude-sonnet-4-5-20250929",
      usage: {
        input_tokens: 12,
        cache_read_input_tokens: 900,
        cache_creation_input_tokens: 88,
        output_tokens: 1,
      },
    },
  },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: '"usage" é' } },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn" },
    usage: { input_tokens: null, cache_read_input_tokens: null, output_tokens: 57 },
  },
  { type: "message_stop" },
];
/** Source: `ChatCompletionChunk` of openai. */
const CHAT = [
  { object: "chat.completion.chunk", model: "gpt-5", choices: [{ delta: {} }], usage: null },
  {
    object: "chat.completion.chunk",
    model: "gpt-5",
    choices: [],
    usage: {
      prompt_tokens: 1_000,
      completion_tokens: 57,
      total_tokens: 1_057,
      prompt_tokens_details: { cached_tokens: 900 },
      completion_tokens_details: { reasoning_tokens: 20 },
    },
  },
];
/** Source: `ResponseStreamEvent` of openai. */
const RESPONSES = [
  { type: "response.created", response: { object: "response", model: "gpt-5", usage: null } },
  {
    type: "response.completed",
    response: {
      object: "response",
      model: "gpt-5",
      usage: {
        input_tokens: 1_000,
        input_tokens_details: { cached_tokens: 900 },
        output_tokens: 57,
        output_tokens_details: { reasoning_tokens: 20 },
        total_tokens: 1_057,
      },
    },
  },
];
/** Source: `GenerateContentResponse` of @google/genai. */
const GEMINI = [
  {
    candidates: [{ content: { parts: [{ text: "a" }] } }],
    usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 3 },
    modelVersion: "gemini-2.5-flash",
  },
  {
    candidates: [{ content: { parts: [] }, finishReason: "STOP" }],
    usageMetadata: {
      promptTokenCount: 1_000,
      cachedContentTokenCount: 900,
      candidatesTokenCount: 37,
      thoughtsTokenCount: 20,
    },
    modelVersion: "gemini-2.5-flash",
  },
];

const TOLD = { input: 1_000, cached: 900, cacheWrites: 0, output: 57 };

test.each([
  ["Anthropic", ANTHROPIC, { ...TOLD, cacheWrites: 88 }, "claude-sonnet-4-5-20250929"],
  ["OpenAI's chat", CHAT, TOLD, "gpt-5"],
  ["OpenAI's responses", RESPONSES, TOLD, "gpt-5"],
  ["Gemini", GEMINI, TOLD, "gemini-2.5-flash"],
])(
  "a stream of %s tells its tokens and what was cached, cut anywhere",
  (_of, all, tokens, model) => {
    for (const pieces of [1, 7, 10_000]) {
      expect(readAnswer(SSE, events(...all), { pieces })).toEqual({
        tokens,
        model,
        isWhole: true,
        error: undefined,
      });
    }
  },
);

test.each([
  [
    "Anthropic",
    { type: "message", ...ANTHROPIC[0]!.message },
    { ...TOLD, cacheWrites: 88, output: 1 },
  ],
  ["OpenAI's chat", { object: "chat.completion", usage: CHAT[1]!.usage }, TOLD],
  ["OpenAI's responses", RESPONSES[1]!.response, TOLD],
  ["Gemini", GEMINI[1], TOLD],
  ["Gemini as a list", GEMINI, TOLD],
])("one text of %s tells the same", (_of, body, tokens) => {
  const read = readAnswer(JSON_TYPE, JSON.stringify(body));

  expect(read).toMatchObject({ tokens, isWhole: true });
});

test("a stream that was cut tells the input, and its output is reckoned by its events", () => {
  const words = Array.from({ length: 20 }, () => ANTHROPIC[1]!);
  const read = readAnswer(SSE, events(ANTHROPIC[0]!, ...words), { isComplete: false });

  expect(read.isWhole).toBe(false);
  expect(read.tokens).toMatchObject({ input: 1_000, cached: 900, output: 21 });
});

test("a client that did not ask for its usage is not told it: the call is known as an estimate", () => {
  const read = readAnswer(SSE, events(CHAT[0]!, CHAT[0]!));

  expect(read).toMatchObject({ isWhole: false, tokens: { input: 0, output: 2 } });
});

test("an error in a stream that began well is read", () => {
  const error = { type: "error", error: { type: "overloaded_error", message: "Over\nloaded" } };

  expect(readAnswer(SSE, events(ANTHROPIC[0]!, error)).error).toBe("Over loaded");
});

test.each([
  ["no JSON", "data: {usage\n\n"],
  ["wrong counts", events({ usage: { prompt_tokens: -1, completion_tokens: "many" } })],
  ["deep nesting", `data: ${'{"usage":'.repeat(200_000)}\n\n`],
  ["one endless line", `data: ${"x".repeat(9_000_000)}`],
])("an answer with %s tells nothing, and breaks nothing", (_what, text) => {
  const read = readAnswer(SSE, text, { pieces: 65_536 });

  expect(read.tokens.input).toBe(0);
});
