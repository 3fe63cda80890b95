import { expect, test } from "vitest";
import { brokeOff, exhaustion, failureWords, missingProgram } from "./try-end.ts";

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

test("what a set-up says of its failure is npm's reason, and names a file that was too large", () => {
  const npm = [
    "npm warn tar TAR_ENTRY_ERROR EFBIG: file too large, write",
    "npm error code 1",
    "npm error path /tree/node_modules/node",
    "npm error command failed",
    "npm error command sh -c node install.js",
    "npm error Node.js v24.21.0",
    "npm error A complete log of this run can be found in: /home/.npm/_logs/x.log",
  ].join("\n");

  expect(failureWords(npm)).toBe(
    "a file of more than 1 GiB; npm: code 1; path /tree/node_modules/node; command failed; " +
      "command sh -c node install.js",
  );
  expect(failureWords("one\nmake: *** [all] Error 1\n")).toBe("make: *** [all] Error 1");
  expect(failureWords("\n")).toBe("it printed nothing.");
});
