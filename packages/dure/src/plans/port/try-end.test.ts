import { expect, test } from "vitest";
import { brokeOff, exhaustion, missingProgram } from "./try-end.ts";

const FEEDBACK = {
  success: false,
  failedTests: [],
  suggestions: [],
  metrics: { total: 0, passed: 0, failed: 0, durationMs: 0 },
};

test.each([
  [126, true],
  [127, true],
  [1, false],
  [null, false],
])("an acceptance that ends with %s asks at once: %s", (exitCode, asks) => {
  const failure = missingProgram(
    { acceptance: "run" },
    { exitCode, feedback: FEEDBACK, output: "sh: run: not found" },
  );

  expect(failure !== undefined).toBe(asks);
  if (failure) expect(failure.because.message).toContain("cannot be run: sh: run: not found");
});

test.each([
  ["exit code 1", 1, {}, "tries-exhausted"],
  ["exit code 3", 3, {}, "acceptance-broken"],
  ["a signal", null, {}, "acceptance-broken"],
  ["exit code 2 with a failed test", 2, { failed: 1, total: 1 }, "tries-exhausted"],
] as const)(
  "an acceptance that ends with %s is asked about as such",
  (_what, exitCode, of, trigger) => {
    const feedback = { ...FEEDBACK, metrics: { ...FEEDBACK.metrics, ...of } };
    const last = { commit: "c", feedback, isBroken: brokeOff({ exitCode, feedback }) };

    expect(exhaustion("a", 3, last).trigger).toBe(trigger);
  },
);
