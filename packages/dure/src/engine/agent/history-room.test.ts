import { expect, test } from "vitest";
import { modelName } from "../../models/card.ts";
import type { ModelRequest } from "../../models/model.ts";
import { estimateRequestTokens } from "../../models/prices.ts";
import { HistoryRoom, REFUSAL_COUNTS_MS } from "./history-room.ts";

const NOW = 1_800_000_000_000;
const LLM = { provider: "openai", model: "own-model" } as const;
const OTHER = { provider: "openai", model: "other-model" } as const;

/** A request of about so many tokens. */
function requestOf(tokens: number): ModelRequest {
  return { messages: [{ role: "user", text: "word ".repeat(tokens) }] };
}

const LONG = requestOf(20_000);
const SHORT = requestOf(500);

/** What later turns may send after a turn in which this was refused. */
function mostAfter(refusals: readonly ModelRequest[], laterMs: number): number | undefined {
  const room = new HistoryRoom(undefined, NOW);
  for (const request of refusals) room.refuses(LLM, request);
  return new HistoryRoom(room.refused, NOW + laterMs).mostFor(LLM, undefined);
}

test("a refusal of a long request is believed for an hour, and no longer", () => {
  const most = estimateRequestTokens(LONG) * 0.8;

  expect(mostAfter([LONG], REFUSAL_COUNTS_MS - 1)).toBe(most);
  expect(mostAfter([LONG], REFUSAL_COUNTS_MS)).toBeUndefined();
});

test("a turn after that hour forgets the refusal for all that follow", () => {
  const refused = { model: modelName(LLM), tokens: 9_000, at: NOW };

  expect(new HistoryRoom(refused, NOW + REFUSAL_COUNTS_MS).refused).toBeUndefined();
  expect(new HistoryRoom(refused, NOW).refused).toEqual(refused);
});

test("a refusal of a short request is believed the second time in a turn", () => {
  const most = estimateRequestTokens(SHORT) * 0.8;

  expect(mostAfter([SHORT], 0)).toBeUndefined();
  expect(mostAfter([SHORT, SHORT], 0)).toBe(most);
});

test("a refusal of a short request that is not believed folds no history", () => {
  const room = new HistoryRoom(undefined, NOW);

  room.refuses(LLM, SHORT);
  room.refuses(OTHER, SHORT);

  expect([room.refused, room.tokens]).toEqual([undefined, undefined]);
});
