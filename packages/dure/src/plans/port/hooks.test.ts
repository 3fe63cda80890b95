import { expect, test } from "vitest";
import type { TestFeedback } from "../../wire/runs.ts";
import { decideReport, withFindings } from "./hooks.ts";

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

  expect(withFindings(accepted, reports)).toEqual({
    ...accepted,
    failedTests: [{ name: "a" }, { name: "b" }],
    suggestions: ["look at a", "look at b"],
  });
  expect(withFindings(feedback(true), reports)).toEqual(feedback(true));
  expect(withFindings(accepted, [])).toBe(accepted);
  expect(
    withFindings(accepted, [
      feedback(
        false,
        Array.from({ length: 100 }, (_, index) => `t${index}`),
      ),
    ]).failedTests,
  ).toHaveLength(30);
});

test("what a tester knows of a failing test comes to the implementer: values, fix and coverage", () => {
  const accepted = { ...feedback(false, ["adds"]), failedTests: [{ name: "adds", actual: "3" }] };
  const found: TestFeedback = {
    ...feedback(false),
    failedTests: [
      { name: "adds", expected: "4", actual: "5", suggestedFix: "use +", file: "add.ts", line: 2 },
      { name: "overflows", suggestedFix: "use bigint" },
    ],
    metrics: { total: 2, passed: 0, failed: 2, durationMs: 1, coverage: 0.5 },
  };

  const told = withFindings(accepted, [found]);

  expect(told.failedTests).toEqual([
    { name: "adds", expected: "4", actual: "3", suggestedFix: "use +", file: "add.ts", line: 2 },
    { name: "overflows", suggestedFix: "use bigint" },
  ]);
  expect(told.metrics).toEqual({ ...accepted.metrics, coverage: 0.5 });
});
