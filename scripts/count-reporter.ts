/**
 * A vitest reporter that writes down how many tests passed and failed, for the last line of
 * `npm test`.
 */

import { writeFile } from "node:fs/promises";
import type { Reporter, TestModule } from "vitest/node";

export interface TestCounts {
  readonly passed: number;
  /**
   * Tests that failed, files that could not be loaded or whose hooks failed, and errors that no
   * test caught.
   */
  readonly failed: number;
  readonly skipped: number;
}

/** Name of the environment variable with the file to write the counts to, as JSON. */
export const COUNTS_FILE = "DURE_TEST_COUNTS";

export default class CountReporter implements Reporter {
  async onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly unknown[],
  ): Promise<void> {
    const file = process.env[COUNTS_FILE];
    if (file) await writeFile(file, JSON.stringify(countTests(modules, unhandledErrors.length)));
  }
}

/**
 * A module that failed without a failed test counts as one failure: nothing may fail and be counted
 * nowhere.
 */
export function countTests(modules: readonly TestModule[], unhandledErrors: number): TestCounts {
  const counts = { passed: 0, failed: unhandledErrors, skipped: 0 };
  for (const module of modules) {
    let failedHere = 0;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === "passed") counts.passed++;
      else if (state === "skipped") counts.skipped++;
      else failedHere++;
    }
    if (failedHere === 0 && module.state() === "failed") failedHere = 1;
    counts.failed += failedHere;
  }
  return counts;
}
