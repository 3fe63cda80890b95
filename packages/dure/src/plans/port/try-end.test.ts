import { expect, test } from "vitest";
import { missingProgram } from "./try-end.ts";

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
