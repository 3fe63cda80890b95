import { isObject } from "../../kernel/json.ts";
import {
  countOf,
  failure,
  placeIn,
  report,
  type ResultParser,
  type TestFailure,
} from "./report.ts";

/**
 * The object that vitest and jest write with `--reporter=json` and `--json`; words of npm may stand
 * before it.
 */
const JSON_MARK = /\{\s*"(?:numTotalTestSuites|numFailedTestSuites)"\s*:/;

export const vitestJson: ResultParser = {
  framework: "vitest",
  recognises: (text) => JSON_MARK.test(text),
  read(text) {
    const json = text.slice(JSON_MARK.exec(text)!.index);
    const value = parsed(json) ?? parsed(json.slice(0, json.lastIndexOf("}") + 1));
    // Jest alone tells how often a test was invoked.
    const framework =
      json.includes('"numPassingAsserts"') || json.includes('"numRuntimeErrorTestSuites"')
        ? "jest"
        : "vitest";
    if (!isObject(value)) return report(framework, numbersIn(json), [], { truncated: true });
    const files = Array.isArray(value["testResults"]) ? value["testResults"].filter(isObject) : [];
    const failures = files.flatMap(failuresOf);
    const brokenFiles = failures.filter(({ name }) => name === FILE_FAILED).length;
    const counts = numbersIn(json);
    const isSuccess = value["success"] === true;
    const certain = isSuccess ? failures.length === 0 : failures.length > 0;
    return report(framework, { ...counts, failed: counts.failed + brokenFiles }, failures, {
      certain,
    });
  },
};

/** A file that could not be run has failed without a test. */
const FILE_FAILED = "(the file could not be run)";

function failuresOf(file: Record<string, unknown>): TestFailure[] {
  const path = stringOr(file["name"]);
  const tests = Array.isArray(file["assertionResults"])
    ? file["assertionResults"].filter(isObject)
    : [];
  const failed = tests.filter((one) => one["status"] === "failed");
  if (failed.length === 0) {
    return file["status"] === "failed"
      ? [failure(FILE_FAILED, stringOr(file["message"]), { file: path })]
      : [];
  }
  return failed.map((one) => {
    const message = Array.isArray(one["failureMessages"])
      ? one["failureMessages"].map(String).join("\n")
      : "";
    const location = isObject(one["location"]) ? Number(one["location"]["line"]) : undefined;
    const groups = Array.isArray(one["ancestorTitles"]) ? one["ancestorTitles"].map(String) : [];
    const place = placeIn(message);
    return failure(
      [...groups, stringOr(one["title"])].filter(Boolean).join(" > "),
      withoutStack(message),
      { file: path, line: place.file === path ? place.line : location },
    );
  });
}

function numbersIn(json: string): { passed: number; failed: number; skipped: number } {
  const number = (key: string): number =>
    Number(new RegExp(`"${key}"\\s*:\\s*(\\d+)`).exec(json)?.[1] ?? 0);
  return {
    passed: number("numPassedTests"),
    failed: number("numFailedTests"),
    skipped: number("numPendingTests") + number("numTodoTests"),
  };
}

/** ` Tests  3 failed | 1 passed (4)`, in its summary. */
const SUMMARY = /^ +Tests {2}(?:no tests|.*\d+ (?:passed|failed|skipped|todo).*)$/m;
const TEXT_MARK = /^ *RUN {1,2}v\d+\.\d+\.\d+|^ +Test Files {2}\S/m;

export const vitestText: ResultParser = {
  framework: "vitest",
  recognises: (text) => TEXT_MARK.test(text),
  read(text) {
    const summaries = [...text.matchAll(new RegExp(SUMMARY, "gm"))].map(([line]) => line);
    const runs = [...text.matchAll(/^ *RUN {1,2}v\d/gm)].length;
    const failures = textFailures(text);
    const total = (word: string): number =>
      summaries.reduce((sum, line) => sum + countOf(line, word), 0);
    const brokenFiles = sumOf(text.matchAll(/Failed Suites (\d+)/g));
    const errors = sumOf(text.matchAll(/^ +Errors {2}(\d+) errors?/gm));
    const counts = {
      passed: total("passed"),
      failed: total("failed") + brokenFiles + errors,
      skipped: total("skipped") + total("todo"),
    };
    const isEmpty = /^No test files found/m.test(text);
    const truncated = !isEmpty && summaries.length < Math.max(1, runs);
    if (truncated && counts.failed < failures.length) {
      return report("vitest", { ...counts, failed: failures.length }, failures, { truncated });
    }
    return report("vitest", counts, failures, {
      truncated,
      certain: counts.failed === failures.length + errors,
    });
  },
};

/** The sum of the numbers that a pattern caught. */
function sumOf(matches: Iterable<RegExpMatchArray>): number {
  return [...matches].reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * Each begins ` FAIL  file > group > test`, or ` FAIL  file [ file ]`, and ends where the next one
 * or a rule begins.
 */
function textFailures(text: string): TestFailure[] {
  const blocks = text.split(/^ *FAIL {2}/m).slice(1);
  return blocks.map((block): TestFailure => {
    const [title = "", ...lines] = block.split("\n");
    const end = lines.findIndex((line) => /^⎯{3,}|^ +Test Files {2}/.test(line));
    const body = lines.slice(0, end < 0 ? undefined : end);
    const stackAt = body.findIndex(isFrame);
    const message = body.slice(0, stackAt < 0 ? undefined : stackAt).join("\n");
    const { line } = placeIn(body.filter(isFrame).join("\n"));
    const [file = "", ...names] = title.replace(/^\|[^|]*\| /, "").split(" > ");
    if (names.length === 0) {
      return failure(FILE_FAILED, message, { file: file.replace(/ \[ .* \]$/, "").trim(), line });
    }
    return failure(names.join(" > "), message, { file: file.trim(), line, ...diffOf(message) });
  });
}

/** A line of a stack. */
function isFrame(line: string): boolean {
  return /^ *❯ /.test(line);
}

/** The two values below `- Expected` and `+ Received`, where each is one line. */
function diffOf(message: string): { expected?: string; actual?: string } {
  const below = message.split(/^\+ Received$/m)[1];
  if (below === undefined) return {};
  const rows = below.split("\n").filter((line) => line.trim() !== "");
  const [minus, plus] = [
    rows.filter((line) => line.startsWith("- ")),
    rows.filter((line) => line.startsWith("+ ")),
  ];
  return rows.length === 2 && minus.length === 1 && plus.length === 1
    ? { expected: minus[0]!.slice(2).trim(), actual: plus[0]!.slice(2).trim() }
    : {};
}

export function withoutStack(message: string): string {
  const at = message.search(/\n\s+at /);
  return at < 0 ? message : message.slice(0, at);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function stringOr(value: unknown): string {
  return typeof value === "string" ? value : "";
}
