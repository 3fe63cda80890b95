/** A vitest reporter that prints the slowest tests of a run, so that time lost is seen at once. */

import type { Reporter, TestModule } from "vitest/node";

/** Lines printed. */
const SHOWN = 20;

export default class SlowReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const timed = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        ms: test.diagnostic()?.duration ?? 0,
        name: `${module.relativeModuleId} > ${test.name}`,
      })),
    );
    const slowest = timed.toSorted((one, other) => other.ms - one.ms).slice(0, SHOWN);
    if (slowest.length === 0) return;

    console.log(`\nThe slowest ${slowest.length} tests, seconds:`);
    for (const { ms, name } of slowest) {
      console.log(`${(ms / 1_000).toFixed(1).padStart(7)}  ${name}`);
    }

    const files = modules
      .map((module) => ({ ms: module.diagnostic().duration, name: module.relativeModuleId }))
      .toSorted((one, other) => other.ms - one.ms);
    console.log(`\nThe slowest ${Math.min(SHOWN, files.length)} files, seconds:`);
    for (const { ms, name } of files.slice(0, SHOWN)) {
      console.log(`${(ms / 1_000).toFixed(1).padStart(7)}  ${name}`);
    }
  }
}
