import { expect, test } from "vitest";
import type { TestFeedback } from "../../wire/runs.ts";
import { decideReport, withReports } from "./hooks.ts";

const feedback = (
  success: boolean,
  names: readonly string[] = [],
  suggestions: readonly string[] = [],
): TestFeedback => ({
  success,
  failedTests: names.map((name) => ({ name })),
  suggestions,
  metrics: { total: names.length + 1, passed: 1, failed: names.length, durationMs: 5 },
});

test.for([
  [true, 1, "accept", /acceptance command decides/],
  [false, 1, "retry", /2 of 3 failed in try 1 of 3 of api; the implementer is told/],
  [false, 3, "escalate", /a person decides/],
] as const)(
  "a report (success: %s) in try %i of 3 is answered with %s",
  ([success, number, decision, told]) => {
    const answer = decideReport(feedback(success, success ? [] : ["a", "b"]), {
      port: "api",
      try: number,
      tries: 3,
    });

    expect(answer).toEqual({ decision, notifications: [expect.stringMatching(told)] });
  },
);

test("reports add what the acceptance did not say, each once, and never turn success into failure", () => {
  const accepted = feedback(false, ["a"], ["look at a"]);
  const reports = [feedback(false, ["a", "b"], ["look at a", "look at b"]), feedback(false, ["b"])];

  expect(withReports(accepted, reports)).toEqual({
    ...accepted,
    failedTests: [{ name: "a" }, { name: "b" }],
    suggestions: ["look at a", "look at b"],
  });
  expect(withReports(feedback(true), reports)).toEqual(feedback(true));
  expect(withReports(accepted, [])).toBe(accepted);
  expect(
    withReports(accepted, [
      feedback(
        false,
        Array.from({ length: 100 }, (_, index) => `t${index}`),
      ),
    ]).failedTests,
  ).toHaveLength(30);
});
