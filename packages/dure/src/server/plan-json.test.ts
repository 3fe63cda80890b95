import { expect, test } from "vitest";
import { STALLED_AFTER_MS } from "../client/plans.ts";
import type { PlanStep } from "../plans/run/run.ts";
import type { PortDetail } from "../plans/run/plans.ts";
import { STALLED_MS } from "../plans/workers/worker.ts";
import { planOf } from "../plans/run/test-runs.ts";
import { portDetailToWire } from "./plan-json.ts";

const step = (more: Partial<PlanStep>): PlanStep => ({ id: 1, port: "a", try: 1, kind: "implement", member: "implementer", worker: "acp", status: "running", seenAt: 1_000, output: null, ...more }) as PlanStep;
const stepsOf = (now: number, ...steps: PlanStep[]) => portDetailToWire({ position: 0, id: "a", steps, messages: [], violations: [] } as unknown as PortDetail, planOf({ a: "" }), now).steps;

test("a worker is stalled when it gave no sign for ten seconds; a command of dure's own and what has ended are not", () => {
  expect(STALLED_AFTER_MS).toBe(STALLED_MS);
  expect(stepsOf(11_000, step({}))[0]!.stalled).toBe(false);
  expect(stepsOf(11_001, step({}), step({ member: null }), step({ status: "done" })).map(({ stalled }) => stalled)).toEqual([true, false, false]);
});

test("a step tells where a worker's claim and its changes part", () => {
  const output = { result: { status: "ready", summary: "Done.", claimedFiles: ["a/x.ts", "a/y.ts"] }, commit: "c", changes: [{ path: "a/y.ts", kind: "new" }, { path: "a/z.ts", kind: "new" }], violations: [] };

  expect(stepsOf(0, step({ output, status: "done" }))[0]!.output).toMatchObject({ claimed_files: ["a/x.ts", "a/y.ts"], failed_files: ["a/x.ts"], unclaimed_files: ["a/z.ts"] });
  expect(stepsOf(0, step({ output, status: "done", worker: "command" }))[0]!.output).not.toHaveProperty("failed_files");
});
