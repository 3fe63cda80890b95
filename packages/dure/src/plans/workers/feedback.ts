import { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { camelCase } from "../../kernel/wire.ts";
import type { TestFeedback } from "../../wire/runs.ts";
import { verdictOf } from "../results/read-output.ts";
import type { TestReport } from "../results/report.ts";
import { headOf, tailOf } from "./bounded-text.ts";

/**
 * What the implementer hands to the tester. `changedFiles` comes from git. Source: docs/spec/plans
 * §4.
 */
export interface ImplResult {
  readonly status: "ready" | "partial" | "failed";
  readonly changedFiles: readonly string[];
  readonly summary: string;
  /** Undefined when the port has no `check`. */
  readonly buildPassed?: boolean;
}

type FailedTest = TestFeedback["failedTests"][number];

/**
 * A model mends a few failures at a time, and the rest comes back in the next try.
 */
export const MAX_FAILED_TESTS = 30;
const MAX_SUGGESTIONS = 30;
const MAX_TEXT = 2_000;
const MAX_NAME = 500;
/** Characters of an output's end that stand for it. */
const MAX_TAIL = 4_000;
/** Characters of the whole text in a prompt. */
const MAX_FEEDBACK_TEXT = 24_000;

/** What the acceptance command came to. */
export interface AcceptanceRun {
  readonly report: TestReport;
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  /** Any length; the end is used where the report has no failures to name. */
  readonly output: string;
  readonly durationMs: number;
  /** Nothing of the output was left out when it was collected. Default false. */
  readonly isComplete?: boolean;
}

/**
 * The feedback of a real run. Pure. Success is `verdictOf`'s alone: an output that says nothing
 * certain is no success.
 */
export function feedbackOf({
  report,
  exitCode,
  output,
  durationMs,
  isComplete = false,
}: AcceptanceRun): TestFeedback {
  const { verdict, because } = verdictOf(report, exitCode, { isComplete });
  const success = verdict === "passed";
  const failedTests = report.failures.slice(0, MAX_FAILED_TESTS).map((one): FailedTest => ({
    name: headOf(one.name, MAX_NAME),
    expected: cut(one.expected, MAX_TEXT),
    actual: cut(one.actual, MAX_TEXT),
    stackTrace: headOf(one.message, MAX_TEXT),
    file: cut(one.file, MAX_NAME),
    line: one.line,
  }));
  const named = failedTests.length > 0;
  const suggestions: string[] = [];
  if (!success) {
    if (!named || because === "cut-off") suggestions.push(unnamedWords(because, report, exitCode));
    if (!named) suggestions.push(`The output ends with:\n${tailOf(output.trimEnd(), MAX_TAIL)}`);
  }
  const metrics = {
    total: report.passed + report.failed + report.skipped,
    passed: report.passed,
    failed: report.failed,
    durationMs: Math.max(0, Math.round(durationMs)),
  };

  return {
    success,
    failedTests,
    suggestions: suggestions.map((text) => headOf(text, MAX_TAIL + 100)),
    metrics,
  };
}

type VerdictReason = ReturnType<typeof verdictOf>["because"];

/** What to say where no failing test can be named. Pure. */
function unnamedWords(
  because: VerdictReason,
  { passed, failed }: TestReport,
  exitCode: number | null,
): string {
  const isByCode = because === "exit-code";
  const isAround = isByCode && passed > 0 && failed === 0;
  if (isByCode && !isAround && exitCode !== null) {
    return `The acceptance command ended with exit code ${exitCode} and named no test.`;
  }
  if (!isAround) return UNNAMED[because];
  const tests = passed === 1 ? "The test" : `All ${passed} tests`;

  return `${tests} passed, but the acceptance command failed: something around the tests did.`;
}

const UNNAMED: Readonly<Record<VerdictReason, string>> = {
  "exit-code": "The acceptance command failed without naming a test.",
  failures: "Tests failed.",
  "tests-passed": "",
  "exit-code-alone": "",
  "no-tests": "The acceptance command ended well, but ran no test.",
  "cut-off": "The output of the acceptance command stops before its end.",
  "not-readable":
    "The acceptance command ended well, but its output says nothing about tests that is certain.",
};

function cut(text: string | undefined, most: number): string | undefined {
  return text === undefined ? undefined : headOf(text, most);
}

/** Feedback as the next prompt shows it. Pure; bounded. */
export function feedbackText(feedback: TestFeedback): string {
  const { reviewedBy, failedTests, suggestions } = feedback;
  if (reviewedBy === undefined) return testWords(feedback);
  // A person's words come before what is cut.
  const asked = suggestions.map((text) => `- ${text}`);
  const review = [`${reviewedBy} reviewed this work and asks for changes:`, ...asked].join("\n");
  const tests = failedTests.length > 0 ? testWords({ ...feedback, suggestions: [] }) : "";

  return headOf([review, tests].filter(Boolean).join("\n\n"), MAX_FEEDBACK_TEXT);
}

function testWords({ success, failedTests, suggestions, metrics }: TestFeedback): string {
  const { total, passed, failed, durationMs, coverage } = metrics;
  const verdict = success ? "The tests passed" : "The tests did not pass";
  const counts = `${passed} of ${total} passed, ${failed} failed`;
  const seconds = `${(durationMs / 1_000).toFixed(1)} s`;
  const covered =
    coverage === undefined ? "" : `, ${Math.round(coverage * 100)} % of the lines covered`;
  const head = `${verdict}: ${counts}, ${seconds}${covered}.`;
  const tests = failedTests.map((test, index) =>
    [
      `${index + 1}. ${test.name}${placeOf(test)}`,
      ...(test.expected === undefined ? [] : [`   expected: ${test.expected}`]),
      ...(test.actual === undefined ? [] : [`   actual:   ${test.actual}`]),
      ...(test.stackTrace === undefined ? [] : [indent(test.stackTrace)]),
      ...(test.suggestedFix === undefined ? [] : [`   suggested fix: ${test.suggestedFix}`]),
    ].join("\n"),
  );
  const more =
    failed > failedTests.length && failedTests.length > 0
      ? [`… and ${failed - failedTests.length} more.`]
      : [];
  return headOf(
    [head, ...tests, ...more, ...suggestions.map((text) => `- ${text}`)].join("\n"),
    MAX_FEEDBACK_TEXT,
  );
}

const bounded = (longest: number) => z.string().transform((text) => headOf(text, longest));
const optionalText = (longest: number) => z.union([bounded(longest), z.null()]).optional();
const count = z.number().min(0).transform(Math.round);

const failedTest = z.object({
  name: bounded(MAX_NAME),
  expected: z.unknown().optional(),
  actual: z.unknown().optional(),
  stackTrace: optionalText(MAX_TEXT),
  suggestedFix: optionalText(MAX_TEXT),
  file: optionalText(MAX_NAME),
  line: z.union([z.int().min(1), z.null()]).optional(),
});

const feedback = z.object({
  success: z.boolean().optional(),
  failedTests: z.array(failedTest).max(10_000).default([]),
  suggestions: z.array(bounded(MAX_TEXT)).max(10_000).default([]),
  metrics: z
    .object({
      total: count.optional(),
      passed: count.optional(),
      failed: count.optional(),
      durationMs: count.optional(),
      coverage: z.number().min(0).max(1).nullish(),
    })
    .default({}),
});

/**
 * Feedback as any tool may write it: keys in either spelling, unknown ones ignored, numbers that
 * can be derived left out. A report with a failing test is never a success, whatever it says.
 */
export const testFeedbackSchema = z
  .preprocess(camelKeys, feedback)
  .transform(({ success, failedTests, suggestions, metrics }): TestFeedback => {
    const failed = Math.max(metrics.failed ?? 0, failedTests.length);
    const passed = metrics.passed ?? Math.max(0, (metrics.total ?? failed) - failed);

    return {
      success: failed === 0 && (success ?? passed > 0),
      failedTests: failedTests.slice(0, MAX_FAILED_TESTS).map((test) => ({
        name: test.name,
        expected: test.expected === undefined ? undefined : headOf(textOf(test.expected), MAX_TEXT),
        actual: test.actual === undefined ? undefined : headOf(textOf(test.actual), MAX_TEXT),
        stackTrace: test.stackTrace ?? undefined,
        suggestedFix: test.suggestedFix ?? undefined,
        file: test.file ?? undefined,
        line: test.line ?? undefined,
      })),
      suggestions: suggestions.slice(0, MAX_SUGGESTIONS),
      metrics: {
        total: Math.max(metrics.total ?? 0, passed + failed),
        passed,
        failed,
        durationMs: metrics.durationMs ?? 0,
        coverage: metrics.coverage ?? undefined,
      },
    };
  });

/** Throws `TEST_FEEDBACK_INVALID` with every problem. */
export function parseTestFeedback(value: unknown): TestFeedback {
  const read = testFeedbackSchema.safeParse(value);
  if (read.success) return read.data;
  const problems = read.error.issues
    .slice(0, 10)
    .map((issue) => `${issue.path.join(".") || "report"}: ${issue.message}`);
  throw new DureError(
    "TEST_FEEDBACK_INVALID",
    `This is no report of tests: ${problems.join("; ")}.`,
    {
      class: "input",
      hint: [
        "Send {success,",
        "failed_tests: [{name, expected, actual, stack_trace, suggested_fix, file, line}],",
        "suggestions, metrics: {total, passed, failed, duration_ms}}.",
      ].join(" "),
      details: { problems },
    },
  );
}

/** Only keys that the report has; values such as `expected` belong to the tool. */
function camelKeys(value: unknown): unknown {
  if (!isObject(value)) return value;
  const rename = (object: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(object).map(([key, member]) => [camelCase(key), member]));
  const top = rename(value);
  const { failedTests, metrics } = top;
  if (Array.isArray(failedTests)) {
    top["failedTests"] = failedTests.map((test: unknown) => (isObject(test) ? rename(test) : test));
  }
  if (isObject(metrics)) top["metrics"] = rename(metrics);

  return top;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
}

function placeOf({ file, line }: FailedTest): string {
  if (file === undefined) return "";
  return line === undefined ? ` (${file})` : ` (${file}:${line})`;
}

function indent(text: string): string {
  return text
    .split("\n")
    .slice(0, 20)
    .map((line) => `   ${line}`)
    .join("\n");
}
