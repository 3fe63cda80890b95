import { expect, test } from "vitest";
import { MODES, weightsOf } from "./modes.ts";
import { FAULT_KINDS, planFaults, type FaultKind } from "./timeline.ts";

const OPTIONS = {
  seed: 7,
  faults: 1_000,
  servers: 3,
  durationMs: 600_000,
  weights: MODES.all.weights,
};

test("the same seed gives the same timeline, another seed another one", () => {
  expect(planFaults(OPTIONS)).toEqual(planFaults(OPTIONS));
  expect(planFaults({ ...OPTIONS, seed: 8 })).not.toEqual(planFaults(OPTIONS));
});

test("ten minutes hold a thousand faults of every kind, in order of time", () => {
  const timeline = planFaults(OPTIONS);

  expect(timeline).toHaveLength(1_000);
  expect(timeline.map(({ at }) => at)).toEqual(
    timeline.map(({ at }) => at).toSorted((a, b) => a - b),
  );
  expect(timeline.every(({ at }) => at >= 0 && at < 600_000)).toBe(true);
  expect(new Set(timeline.map(({ kind }) => kind))).toEqual(new Set(Object.keys(FAULT_KINDS)));
});

test("a server that is busy with a fault is left alone until it is over", () => {
  const restUntil = [0, 0, 0];

  for (const { at, kind, server } of planFaults(OPTIONS)) {
    if (FAULT_KINDS[kind].target !== "server") continue;
    expect(at).toBeGreaterThanOrEqual(restUntil[server]!);
    restUntil[server] = Math.max(restUntil[server]!, at + FAULT_KINDS[kind].busyMs);
  }
});

test("only the kinds that were asked for are planned", () => {
  const only: FaultKind[] = ["kill", "bank"];

  const kinds = planFaults({ ...OPTIONS, weights: weightsOf(only) }).map(({ kind }) => kind);

  expect(new Set(kinds)).toEqual(new Set(only));
});

test("the mode of the database restarts it in four faults of five, each over before the next", () => {
  const { weights, perMinute } = MODES.database;
  const seeds = Array.from({ length: 20 }, (_, seed) => seed);
  const timelines = seeds.map((seed) =>
    planFaults({ ...OPTIONS, seed, faults: 10 * perMinute, weights }),
  );
  const faults = timelines.flat();
  const restarts = faults.filter(({ kind }) => FAULT_KINDS[kind].target === "database");

  expect(restarts.length / faults.length).toBeCloseTo(0.8, 1);
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(Object.keys(weights)));
  for (const timeline of timelines) {
    const pauses = timeline.slice(1).map(({ at }, index) => at - timeline[index]!.at);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(14_000);
  }
});
