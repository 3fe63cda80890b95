import { expect, test } from "vitest";
import { DureError } from "./errors.ts";
import { Faults } from "./faults.ts";
import { silentLogger, type Logger } from "./logger.ts";
import { TestClock } from "./test-clock.ts";

const never = new AbortController().signal;

test("work is done again after longer and longer pauses, and given up with the last fault", async () => {
  const { faults, clock, lines } = harness();
  const waited: number[] = [];
  const outcomes: boolean[] = [];

  for (let fault = 0; fault < 4; fault++) {
    const met = faults.isLast("run_1", brokenRun, never);
    waited.push(...clock.waiting);
    await clock.pass(10_000);
    outcomes.push(await met);
  }

  expect(outcomes).toEqual([false, false, true, false]); // and counts anew
  expect(waited).toEqual([500, 1_000, 500]);
  expect(lines).toEqual([
    "run run_1 could not be led (1 of 3): X no",
    "run run_1 could not be led (2 of 3): X no",
    "run run_1 could not be led (3 of 3): X no",
    "run run_1 could not be led (1 of 3): X no",
  ]);
});

test("a success between two faults begins the count anew, for its own work alone", async () => {
  const { faults, clock } = harness();
  const meet = async (key: string): Promise<boolean> => {
    const met = faults.isLast(key, brokenRun, never);
    await clock.pass(10_000);
    return met;
  };
  for (const key of ["a", "b", "a", "b"]) await meet(key);

  faults.forget("a");

  expect([await meet("a"), await meet("b")]).toEqual([false, true]);
});

test("a pause ends with the work's own end", async () => {
  const { faults } = harness();
  const stop = new AbortController();

  const met = faults.isLast("run_1", brokenRun, stop.signal);
  stop.abort(new Error("stopped"));

  await expect(met).resolves.toBe(false);
});

const brokenRun = {
  error: new DureError("X", "no"),
  what: "run run_1 could not be led",
  fields: { run: "run_1" },
};

function harness() {
  const clock = new TestClock();
  const lines: string[] = [];
  const error: Logger["error"] = (fields, message) => {
    const { code, error: why } = fields as { code: string; error: string };
    lines.push(`${message}: ${code} ${why}`);
  };
  const faults = new Faults({
    most: 3,
    backOff: { firstMs: 500, maxMs: 5_000 },
    clock,
    logger: { ...silentLogger, error },
  });
  return { faults, clock, lines };
}
