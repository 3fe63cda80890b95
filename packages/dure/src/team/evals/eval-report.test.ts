import { expect, test } from "vitest";
import type { CaseResult } from "./eval-record.ts";
import { summariesOf } from "./eval-report.ts";

const passed: CaseResult = {
  evaluation: "desk",
  case: "asks",
  repetition: 1,
  failures: [],
  turns: 1,
  ms: 1,
  tokensIn: 1,
  tokensOut: 1,
  turnIds: ["turn_1"],
};
const failed = { ...passed, failures: [{ kind: "says", wanted: "yes" }] } as const;

test("an evaluation of which no case was asked for is neither passed nor failed", () => {
  const thresholds = new Map([
    ["desk", 1],
    ["faq", 1],
  ]);

  expect(summariesOf([passed], thresholds)).toMatchObject([{ evaluation: "desk", ok: true }]);
});

test("an evaluation is as good as the share of its cases that passed", () => {
  const results = [passed, failed];

  expect(
    [0.5, 0.6].map((share) => summariesOf(results, new Map([["desk", share]]))[0]?.ok),
  ).toEqual([true, false]);
});
