/** What a run of evaluations says: sums, JUnit, the difference of two runs. Pure. */

import type { CaseResult, RecordedRun } from "./eval-record.ts";
import type { UnmetExpectation } from "./expectation.ts";

/** One evaluation of a run. */
export interface EvalSummary {
  readonly evaluation: string;
  readonly played: number;
  readonly passed: number;
  /** Least share of its cases that has to pass. */
  readonly threshold: number;
  /** 0 to 1. */
  readonly score: number;
  readonly ok: boolean;
}

/** Of those with a case that was played. @param thresholds of each evaluation, by its name */
export function summariesOf(
  results: readonly CaseResult[],
  thresholds: ReadonlyMap<string, number>,
): readonly EvalSummary[] {
  return [...thresholds].flatMap(([evaluation, threshold]) => {
    const own = results.filter((result) => result.evaluation === evaluation);
    if (own.length === 0) return [];
    const passed = own.filter(isPassed).length;
    const score = passed / own.length;

    return { evaluation, played: own.length, passed, threshold, score, ok: score >= threshold };
  });
}

export function isPassed({ failures }: CaseResult): boolean {
  return failures.length === 0;
}

/** One case in two runs. Absent: it was not played there. */
export interface CaseDifference {
  readonly evaluation: string;
  readonly case: string;
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/** How two runs differ. */
export interface RunDifference {
  readonly before: RunFigures;
  readonly after: RunFigures;
  /** Cases whose share of passes changed, the worst first. */
  readonly cases: readonly CaseDifference[];
}

/** Figures of one run. */
export interface RunFigures {
  readonly name: string;
  readonly model: string;
  readonly played: number;
  readonly score: number;
  /** Median time of a case, milliseconds. */
  readonly ms: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

export function differenceOf(before: RecordedRun, after: RecordedRun): RunDifference {
  const [old, now] = [scoresOf(before), scoresOf(after)];
  const keys = new Set([...old.keys(), ...now.keys()]);
  const cases = [...keys].map((key) => {
    const { evaluation, case: name } = (now.get(key) ?? old.get(key))!;
    return { evaluation, case: name, before: old.get(key)?.score, after: now.get(key)?.score };
  });

  return {
    before: figuresOf(before),
    after: figuresOf(after),
    cases: cases
      .filter((one) => one.before !== one.after)
      .toSorted((one, other) => changeOf(one) - changeOf(other)),
  };
}

function changeOf({ before, after }: CaseDifference): number {
  return before === undefined || after === undefined ? 0 : after - before;
}

function figuresOf(run: RecordedRun): RunFigures {
  const { results } = run;
  const sum = (of: (result: CaseResult) => number): number =>
    results.reduce((all, result) => all + of(result), 0);
  const times = results.map(({ ms }) => ms).toSorted((one, other) => one - other);

  return {
    name: run.label ?? run.run,
    model: run.model,
    played: results.length,
    score: results.length === 0 ? 0 : results.filter(isPassed).length / results.length,
    ms: times[Math.floor(times.length / 2)] ?? 0,
    tokensIn: sum(({ tokensIn }) => tokensIn),
    tokensOut: sum(({ tokensOut }) => tokensOut),
  };
}

interface CaseScore {
  readonly evaluation: string;
  readonly case: string;
  readonly score: number;
}

function scoresOf({ results }: RecordedRun): ReadonlyMap<string, CaseScore> {
  const groups = Map.groupBy(results, (one) => JSON.stringify([one.evaluation, one.case]));
  return new Map(
    [...groups].map(([key, own]) => {
      const { evaluation, case: name } = own[0]!;
      return [key, { evaluation, case: name, score: own.filter(isPassed).length / own.length }];
    }),
  );
}

/** A file that continuous integration reads: JUnit's XML, a suite for each evaluation. */
export function junitOf(
  results: readonly CaseResult[],
  sentenceOf: (failure: UnmetExpectation) => string,
): string {
  const suites = [...Map.groupBy(results, ({ evaluation }) => evaluation)];
  const lines = suites.flatMap(([name, own]) => {
    const failed = own.filter((result) => !isPassed(result)).length;
    const counts = `tests="${own.length}" failures="${failed}" errors="0" skipped="0"`;
    return [
      `  <testsuite name="${escaped(name)}" ${counts} time="${secondsOf(own)}">`,
      ...own.flatMap((result) => testcaseOf(result, sentenceOf)),
      "  </testsuite>",
    ];
  });

  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    ...lines,
    "</testsuites>",
    "",
  ].join("\n");
}

function testcaseOf(
  result: CaseResult,
  sentenceOf: (failure: UnmetExpectation) => string,
): string[] {
  const name = result.repetition === 1 ? result.case : `${result.case} (${result.repetition})`;
  const head = `    <testcase classname="${escaped(result.evaluation)}" name="${escaped(name)}"`;
  const time = `time="${secondsOf([result])}"`;
  if (isPassed(result)) return [`${head} ${time}/>`];
  const failures = result.failures.map((failure) => {
    const sentence = escaped(sentenceOf(failure));
    return `      <failure type="${failure.kind}" message="${sentence}"/>`;
  });

  return [`${head} ${time}>`, ...failures, "    </testcase>"];
}

function secondsOf(results: readonly CaseResult[]): string {
  return (results.reduce((sum, { ms }) => sum + ms, 0) / 1_000).toFixed(3);
}

/** Also without the characters that XML 1.0 has no way to write. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll('"', "&quot;")
    .replaceAll("\n", "&#10;");
}
