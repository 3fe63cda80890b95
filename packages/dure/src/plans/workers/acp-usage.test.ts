import type { PromptResponse } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { usageIn, usageOfPiece } from "./acp-usage.ts";

const answer = (more: object): PromptResponse => ({ stopReason: "end_turn", ...more });
const usage = { inputTokens: 1_000, outputTokens: 50, cachedReadTokens: 200, totalTokens: 1_250 };

test("the sum of a turn is taken as it is told", () => {
  expect(usageIn(answer({ usage }), { calls: 7 })).toEqual({
    input: 1_200,
    cached: 200,
    output: 50,
  });
});

test("an agent that tells of its last call alone counts with it for each call, as an estimate", () => {
  const tokens = { input: 3_600, cached: 600, output: 150, isEstimate: true };
  expect(usageIn(answer({ usage }), { calls: 3, ofLastCall: true })).toEqual(tokens);
  expect(usageIn(answer({ usage }), { calls: 1, ofLastCall: true })).toEqual({
    input: 1_200,
    cached: 200,
    output: 50,
  });
});

test("the count that Gemini CLI tells beside its answer is read", () => {
  const _meta = { quota: { token_count: { input_tokens: 3_000, output_tokens: 150 } } };
  expect(usageIn(answer({ _meta }), { calls: 3 })).toEqual({ input: 3_000, output: 150 });
});

test("what Qwen Code tells of each call beside its words is read", () => {
  const usage = { inputTokens: 1_000, outputTokens: 50, totalTokens: 1_050, cachedReadTokens: 900 };
  const piece = { content: { type: "text", text: "" }, _meta: { usage, durationMs: 12 } };

  expect(usageOfPiece(piece)).toEqual({ input: 1_000, cached: 900, output: 50 });
  for (const _meta of [undefined, {}, { usage: 1 }, { usage: { inputTokens: "many" } }]) {
    expect(usageOfPiece({ ...piece, _meta })).toBeUndefined();
  }
});

test("nothing, zeros and nonsense tell of no tokens", () => {
  const nonsense = [
    {},
    { usage: {} },
    { usage: { inputTokens: -1 } },
    { usage: "many" },
    { _meta: 1 },
  ];
  for (const more of nonsense) expect(usageIn(answer(more), { calls: 1 })).toBeUndefined();
});
