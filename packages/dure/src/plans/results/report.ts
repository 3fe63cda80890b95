/** What a run of tests came to, read from its output. Source: docs/spec/plans §4. */
export interface TestReport {
  readonly framework: Framework;
  readonly passed: number;
  /** Tests that failed, and files or fixtures that could not be run. */
  readonly failed: number;
  /** Skipped, to be done, expected to fail. */
  readonly skipped: number;
  /** In the order of the output, at most 100. */
  readonly failures: readonly TestFailure[];
  /** The output stops before its end: what was counted is only what was seen. */
  readonly truncated: boolean;
  /**
   * The output has its own summary, and says nothing that contradicts it. Else the numbers are a
   * guess.
   */
  readonly certain: boolean;
}

export type Framework =
  | "vitest"
  | "jest"
  | "mocha"
  | "node"
  | "pytest"
  | "unittest"
  | "go"
  | "cargo"
  | "gradle"
  | "maven"
  | "junit"
  | "tap"
  | "unknown";

export interface TestFailure {
  /** With its groups, as `login > answers 429`, where the output has them. */
  readonly name: string;
  readonly file?: string | undefined;
  /** 1-based. */
  readonly line?: number | undefined;
  readonly message: string;
  /** As printed. */
  readonly expected?: string | undefined;
  readonly actual?: string | undefined;
}

/** What one format makes of an output. The text has no colours, and its lines end in `\n`. */
export interface ResultParser {
  readonly framework: Framework;
  /** Whether the output is written in this format at all. */
  recognises(text: string): boolean;
  /** Never throws; what it cannot read makes the report uncertain. */
  read(text: string): TestReport;
}

/** The report is handed to a model, so its length has a bound. */
export const MAX_FAILURES = 100;
const MAX_MESSAGE = 2_000;
const MAX_VALUE = 500;

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * The report of an output that was read to its end, or not. A failure that the summary does not
 * count makes it uncertain.
 */
export function report(
  framework: Framework,
  counts: Counts,
  failures: readonly TestFailure[],
  { truncated = false, certain = true } = {},
): TestReport {
  const agrees =
    failures.length <= counts.failed &&
    Number.isFinite(counts.passed + counts.failed + counts.skipped);
  return {
    framework,
    ...counts,
    failures: failures.slice(0, MAX_FAILURES),
    truncated,
    certain: certain && !truncated && agrees,
  };
}

/** What is known of a failure beside its name and its message. */
export type FailureDetails = Omit<TestFailure, "name" | "message">;

/** A failure with its message cut to size, and with the two values that its message names. */
export function failure(name: string, message: string, details: FailureDetails = {}): TestFailure {
  const hasValues = details.expected !== undefined || details.actual !== undefined;
  const { expected, actual } = hasValues ? details : valuesIn(message);

  return {
    name: name.trim() || "(no name)",
    file: details.file === "" ? undefined : details.file,
    line: isLine(details.line) ? details.line : undefined,
    message: cut(message.trim(), MAX_MESSAGE),
    expected: expected === undefined ? undefined : cut(expected, MAX_VALUE),
    actual: actual === undefined ? undefined : cut(actual, MAX_VALUE),
  };
}

function isLine(line: number | undefined): boolean {
  return line !== undefined && Number.isInteger(line) && line > 0;
}

/** How assertion libraries name the two values of a comparison; the first one that fits. */
const COMPARISONS: readonly {
  readonly pattern: RegExp;
  readonly order: "expected-first" | "actual-first";
}[] = [
  { pattern: /expected: ?<(.*?)> but was: ?<(.*?)>/s, order: "expected-first" }, // JUnit
  { pattern: /^\s*Expected: (.+)\n\s*but: (?:was )?(.+)$/m, order: "expected-first" }, // hamcrest
  { pattern: /^\s*Expected:\s*(.+)\n+\s*Received:\s*(.+)/m, order: "expected-first" }, // jest
  {
    pattern: /expected (.+) to (?:strictly |deeply |loosely )?(?:be|equal) (.+?)(?: \/\/ .*)?$/m,
    order: "actual-first",
  }, // vitest, chai
  { pattern: /^\s*(.+?) !== (.+?)\s*$/m, order: "actual-first" }, // node:assert
  {
    pattern: /^\s*(?:E\s+)?(?:AssertionError: )?assert (.+?) == (.+?)\s*$/m,
    order: "actual-first",
  }, // pytest
  { pattern: /expected\s*:\s*(.+)\n\s*actual\s*:\s*(.+)/, order: "expected-first" }, // testify
  { pattern: /\bgot:? (.+?)[,;] (?:want|expected):? (.+?)\s*$/im, order: "actual-first" }, // go
  {
    pattern: /\b(?:want|expected):? (.+?)[,;] (?:but )?got:? (.+?)\s*$/im,
    order: "expected-first",
  },
];

/** The two values of a comparison, from the words of its failure. */
export function valuesIn(message: string): { expected?: string; actual?: string } {
  const bounded = message.slice(0, MAX_MESSAGE);
  for (const { pattern, order } of COMPARISONS) {
    const match = pattern.exec(bounded);
    if (!match) continue;
    const [first, second] = [match[1]!.trim(), match[2]!.trim()];

    return order === "expected-first"
      ? { expected: first, actual: second }
      : { expected: second, actual: first };
  }

  return {};
}

/** The first `file:line` of a stack that is not a library's. */
export function placeIn(stack: string): { file?: string; line?: number } {
  for (const match of stack.matchAll(
    /(?:file:\/\/)?((?:[A-Za-z]:)?[^\s():]+\.[A-Za-z]+):(\d+)(?::\d+)?/g,
  )) {
    const [, file = "", line] = match;
    if (!/node_modules|^node:|^internal\//.test(file)) return { file, line: Number(line) };
  }

  return {};
}

/** The number before a word, as in `3 failed`; 0 without. */
export function countOf(text: string, word: string): number {
  return Number(new RegExp(`(\\d+) ${word}\\b`).exec(text)?.[1] ?? 0);
}

function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
