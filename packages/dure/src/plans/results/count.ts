import type { TestReport } from "./report.ts";
import type { Weakness } from "./weakened.ts";

/** How many tests a command really ran, by its own summary. */
export interface TestCount {
  readonly framework: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Undefined: nothing sure can be said, because the format is not known or the output has gaps. Of
 * what failed only tests with a name count, so that errors around them are no tests. Pure.
 */
export function countOf(report: TestReport): TestCount | undefined {
  const { framework, passed, skipped, failures, failed, certain } = report;
  if (framework === "unknown" || !certain) return undefined;

  return { framework, passed, failed: Math.min(failed, failures.length), skipped };
}

/**
 * Where a run of the same command found fewer tests than it did before, or skips more of them. A
 * command that failed before may have seen too few; then no more is said than what is sure.
 * Undefined: it tells no number any more. Pure.
 */
export function fewerTests(before: TestCount, now: TestCount | undefined): readonly Weakness[] {
  if (!now) {
    const says = `the acceptance tells of no tests, and of ${totalOf(before)} before`;
    return totalOf(before) === 0 ? [] : [{ kind: "fewer-tests", says }];
  }
  const [had, has] = [totalOf(before), totalOf(now)];
  const more = now.skipped - before.skipped;
  const found: Weakness[] = [];
  if (has < had) {
    found.push({
      kind: "fewer-tests",
      says: `the acceptance finds ${has} tests instead of ${had}`,
    });
  }
  if (more > 0 && (before.failed === 0 || ranIn(now) < ranIn(before))) {
    found.push({ kind: "skipped", says: `the acceptance skips ${more} more tests than before` });
  }

  return found;
}

function totalOf(count: TestCount): number {
  return ranIn(count) + count.skipped;
}

function ranIn({ passed, failed }: TestCount): number {
  return passed + failed;
}
