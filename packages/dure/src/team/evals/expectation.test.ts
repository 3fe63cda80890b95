import { expect, test } from "vitest";
import type { Expectation } from "./eval-file.ts";
import { failuresOf, holds, type HeardTurn } from "./expectation.ts";

const turn: HeardTurn = {
  turnId: "turn_1",
  said: "pay",
  answer: "I sent 50,000 won.",
  next: "DONE",
  state: { to: "Hong", amount: { won: 50_000 } },
  calls: [
    { tool: "pay", args: { to: "Hong", amount: 50_000 }, status: "done" },
    { tool: "look", args: {}, status: "failed" },
  ],
  hooks: [{ type: "paid", data: {} }],
  ms: 1,
  tokensIn: 1,
  tokensOut: 1,
};

const fails: readonly [string, Expectation, readonly string[]][] = [
  ["nothing", {}, []],
  ["words in any case", { says: ["i SENT", "/5\\d,000/"] }, []],
  ["words that are missing", { says: ["thanks"] }, ["says"]],
  ["words that must not be there", { neverSays: ["/won/"] }, ["neverSays"]],
  ["a call by part of its arguments", { calls: [{ tool: "pay", with: { to: "Hong" } }] }, []],
  ["a call with other arguments", { calls: [{ tool: "pay", with: { to: "Kim" } }] }, ["calls"]],
  ["a call that failed", { calls: [{ tool: "look" }] }, ["calls"]],
  ["a call that must not be there", { neverCalls: ["look"] }, ["neverCalls"]],
  ["a part of the state", { state: { amount: { won: 50_000 } } }, []],
  ["another state", { state: { amount: { won: 5 } } }, ["state"]],
  ["another next step and hook", { next: "ASK", hooks: ["sent"] }, ["next", "hooks"]],
  ["an error that did not come", { error: "MODEL_TIMEOUT" }, ["error"]],
  ["a schema of an answer that is no JSON", { schema: { type: "object" } }, ["schema"]],
  ["a check that gives what is wrong", { check: () => "too long" }, ["check"]],
  ["a check that throws", { check: () => Promise.reject(new Error("no")) }, ["check"]],
];

test.each(fails)("%s is told for what it is", async (_what, expected, kinds) => {
  const failures = await failuresOf(expected, [turn], { whole: true });

  expect(failures.map(({ kind }) => kind)).toEqual(kinds);
});

test("an error that was not expected fails, whatever else is right", async () => {
  const broken = { ...turn, error: "BUDGET_EXCEEDED" };

  expect(await failuresOf({ says: ["sent"] }, [broken], { whole: true })).toEqual([
    { kind: "error", wanted: "", found: "BUDGET_EXCEEDED" },
  ]);
});

test("calls of earlier turns count for a case, and not for a turn", async () => {
  const conversation = [turn, { ...turn, calls: [] }];
  const paid = { calls: [{ tool: "pay" }] };

  expect(await failuresOf(paid, conversation, { whole: true })).toEqual([]);
  expect(await failuresOf(paid, conversation, { whole: false })).toHaveLength(1);
});

test("a value holds another by its members, and a list in whole", () => {
  expect([
    holds({ a: 1, b: [1, 2] }, { b: [1, 2] }),
    holds({ b: [1, 2] }, { b: [1] }),
    holds({ a: null }, { a: undefined }),
    holds([], {}),
  ]).toEqual([true, false, false, false]);
});
