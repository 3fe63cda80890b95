/** What the output of a test run says of its tests, whatever tool wrote it. */

import { stripVTControlCharacters } from "node:util";
import { cargo } from "./cargo.ts";
import { goJson, goText } from "./go.ts";
import { gradle } from "./gradle.ts";
import { jestText } from "./jest-text.ts";
import { junit } from "./junit.ts";
import { maven } from "./maven.ts";
import { mocha } from "./mocha.ts";
import { nodeSpec } from "./node-spec.ts";
import { pytest } from "./pytest.ts";
import type { ResultParser, TestReport } from "./report.ts";
import { tap } from "./tap.ts";
import { unittest } from "./unittest.ts";
import { vitestJson, vitestText } from "./vitest.ts";

/** The more exact a format's mark, the earlier it stands. */
const PARSERS: readonly ResultParser[] = [
  vitestJson,
  junit,
  goJson,
  vitestText,
  jestText,
  mocha,
  cargo,
  maven,
  gradle,
  pytest,
  unittest,
  nodeSpec,
  goText,
  tap,
];

/** Characters that are read, from the end: summaries stand there. */
const MAX_OUTPUT = 8_000_000;

/**
 * Reads what a test command printed. Pure. The first format that knows its mark reads the output;
 * what none of them knows is `unknown` and never certain. Colours and lines that were written over
 * are taken out first.
 */
export function readTestOutput(output: string): TestReport {
  const text = plainText(output);
  const parser = PARSERS.find((one) => one.recognises(text));
  if (!parser) return UNKNOWN;
  const report = parser.read(text);

  return output.length > MAX_OUTPUT ? { ...report, truncated: true, certain: false } : report;
}

const UNKNOWN: TestReport = {
  framework: "unknown",
  passed: 0,
  failed: 0,
  skipped: 0,
  failures: [],
  truncated: false,
  certain: false,
};

/**
 * Formats in which nothing stands at the end: only the process that collected the output knows
 * whether packages are missing.
 */
const ENDLESS: ReadonlySet<TestReport["framework"]> = new Set(["go", "cargo", "mocha"]);

/**
 * What a report and an exit code say together. `unknown`: nothing failed that was seen, but nothing
 * says that tests ran.
 */
export type OutputVerdict = {
  readonly verdict: "passed" | "failed" | "unknown";
  readonly because:
    | "exit-code"
    | "failures"
    | "tests-passed"
    | "no-tests"
    | "cut-off"
    | "not-readable"
    | "exit-code-alone";
};

/**
 * Whether the tests passed. Pure; the first rule that applies wins: with a format that is known
 * nothing but a complete output of at least one passed test and exit code 0 is `passed`. Of any
 * other command the exit code decides, where all that it printed is there. Source: docs/spec/plans
 * §4.
 *
 * @param options `isComplete`: nothing of the output was left out when it was collected. Default false.
 */
export function verdictOf(
  report: TestReport,
  exitCode: number | null,
  { isComplete = false }: { isComplete?: boolean } = {},
): OutputVerdict {
  if (exitCode !== 0) return { verdict: "failed", because: "exit-code" };
  if (report.failed > 0 || report.failures.length > 0) {
    return { verdict: "failed", because: "failures" };
  }
  if (ENDLESS.has(report.framework) && !isComplete) {
    return { verdict: "unknown", because: "cut-off" };
  }
  if (isComplete && report.framework === "unknown") {
    return { verdict: "passed", because: "exit-code-alone" };
  }
  if (report.truncated) return { verdict: "unknown", because: "cut-off" };
  if (!report.certain) return { verdict: "unknown", because: "not-readable" };
  if (report.passed === 0) return { verdict: "unknown", because: "no-tests" };

  return { verdict: "passed", because: "tests-passed" };
}

function plainText(output: string): string {
  return stripVTControlCharacters(output.slice(-MAX_OUTPUT))
    .replace(/\r\n/g, "\n")
    .replace(/^[^\n]*\r(?!\n)/gm, "");
}
