import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { Faults, type AfterFault } from "./faults.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { TestClock } from "../kernel/test-clock.ts";

const never = new AbortController().signal;

test("work is done again after longer and longer pauses, and given up with the last fault", async () => {
  const { faults, clock, lines } = harness();
  const waited: number[] = [];
  const outcomes: AfterFault[] = [];

  for (let fault = 0; fault < 4; fault++) {
    const met = faults.recordAndWait("run_1", brokenRun, never);
    waited.push(...clock.waiting);
    await clock.pass(10_000);
    outcomes.push(await met);
  }

  expect(outcomes).toEqual(["again", "again", "given-up", "again"]); // and counts anew
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
  const meet = async (key: string): Promise<AfterFault> => {
    const met = faults.recordAndWait(key, brokenRun, never);
    await clock.pass(10_000);
    return met;
  };
  for (const key of ["a", "b", "a", "b"]) await meet(key);

  faults.forget("a");

  expect([await meet("a"), await meet("b")]).toEqual(["again", "given-up"]);
});

test("a pause ends with the work's own end", async () => {
  const { faults } = harness();
  const stop = new AbortController();

  const met = faults.recordAndWait("run_1", brokenRun, stop.signal);
  stop.abort(new Error("stopped"));

  await expect(met).resolves.toBe("again");
});

test("a database that is away for a minute gives no work up, and is one line of the log", async () => {
  const { faults, clock, lines } = harness();
  const away = { ...brokenRun, error: new DureError("DATABASE_UNAVAILABLE", "away") };
  const outcomes = new Set<AfterFault>();

  for (let second = 0; second < 60; second++) {
    const met = faults.recordAndWait("run_1", away, never);
    await clock.pass(1_000);
    outcomes.add(await met);
  }

  expect([...outcomes]).toEqual(["again"]);
  expect(lines).toEqual(["run run_1 could not be led; it waits: DATABASE_UNAVAILABLE away"]);
});

test.each(["FENCED", "TURN_FENCED", "JOB_FENCED"])(
  "work that another process has taken over (%s) is left at once, without a line",
  async (code) => {
    const { faults, clock, lines } = harness();

    const error = new DureError(code, "another has it");
    expect(await faults.recordAndWait("run_1", { ...brokenRun, error }, never)).toBe("left");
    expect([lines, clock.waiting]).toEqual([[], []]);
  },
);

const brokenRun = {
  error: new DureError("X", "no"),
  what: "run run_1 could not be led",
  fields: { run: "run_1" },
};

function harness() {
  const clock = new TestClock();
  const lines: string[] = [];
  const note: Logger["error"] = (fields, message) => {
    const { code, error: why } = fields as { code: string; error: string };
    lines.push(`${message}: ${code} ${why}`);
  };
  const faults = new Faults({
    most: 3,
    backOff: { firstMs: 500, maxMs: 5_000 },
    clock,
    logger: { ...silentLogger, error: note, warn: note },
  });
  return { faults, clock, lines };
}
