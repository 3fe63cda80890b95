import fc from "fast-check";
import { expect, test } from "vitest";
import type { ModelMessage, ModelRequest } from "../../models/model.ts";
import { estimateRequestTokens } from "../../models/prices.ts";
import { canShrink, fitRequest } from "./fit-request.ts";

const WORDS = "a word and another one ";

/** An exchange of the history: a question, a call with its result, an answer. */
function exchange(index: number, size: number): readonly ModelMessage[] {
  const id = `c${index}`;
  return [
    { role: "user", text: `Question ${index}? ${WORDS.repeat(size)}` },
    { role: "assistant", text: "", toolCalls: [{ id, name: "pay", args: { to: `p${index}` } }] },
    {
      role: "tool",
      callId: id,
      name: "pay",
      result: `receipt ${index} ${WORDS.repeat(size * 10)}`,
    },
    { role: "assistant", text: `Answer ${index}.` },
  ];
}

function requestOf(exchanges: number, size: number): { request: ModelRequest; turnFrom: number } {
  const history = Array.from({ length: exchanges }, (_, index) => exchange(index, size)).flat();
  const turn = exchange(99, size).slice(0, 3);
  return { request: { messages: [...history, ...turn] }, turnFrom: history.length };
}

/** Calls without a result right behind them, and results without a call before them. */
function unpaired(messages: readonly ModelMessage[]): readonly string[] {
  const calls = messages.flatMap((one) => (one.role === "assistant" ? (one.toolCalls ?? []) : []));
  const results = messages.flatMap((one) => (one.role === "tool" ? [one.callId] : []));
  return [...new Set([...calls.map(({ id }) => id), ...results])].filter(
    (id) => !results.includes(id) || !calls.some((call) => call.id === id),
  );
}

test("a request that fits stays as it is", () => {
  const { request, turnFrom } = requestOf(3, 2);

  expect(fitRequest(request, 1_000_000, turnFrom)).toBe(request);
});

test("a request becomes as short as asked for, with each call beside its result", () => {
  fc.assert(
    fc.property(
      fc.nat(8),
      fc.nat(60),
      fc.integer({ min: 3_000, max: 9_000 }),
      (count, size, most) => {
        const { request, turnFrom } = requestOf(count, size);

        const fitted = fitRequest(request, most, turnFrom);

        expect(estimateRequestTokens(fitted)).toBeLessThanOrEqual(most);
        expect(unpaired(fitted.messages)).toEqual([]);
        expect(fitted.messages[0]?.role).toBe("user");
        expect(fitted.messages).toContainEqual(request.messages[turnFrom]);
      },
    ),
    { numRuns: 50, endOnFailure: true },
  );
});

test("what was done in exchanges that go stays as a line, and the newest exchanges stay whole", () => {
  const { request, turnFrom } = requestOf(6, 20);

  const { messages } = fitRequest(request, 2_600, turnFrom);

  expect(messages[0]).toMatchObject({ role: "user", text: expect.stringContaining("<done>") });
  expect(JSON.stringify(messages[0])).toMatch(/pay\(.*p0.*receipt 0/u);
  expect(JSON.stringify(messages.slice(1))).not.toContain("Question 0?");
  expect(JSON.stringify(messages.slice(1))).toContain("Question 5?");
});

test("a message that is too long by itself cannot shrink", () => {
  const request: ModelRequest = { messages: [{ role: "user", text: WORDS.repeat(9_000) }] };

  expect(canShrink(request)).toBe(false);
  expect(canShrink(requestOf(1, 20).request)).toBe(true);
});
