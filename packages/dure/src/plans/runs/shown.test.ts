import { expect, test } from "vitest";
import type { Plan, Port } from "../plan.ts";
import type { PlanStep } from "../rows/run.ts";
import type { PortDetail } from "./run-queries.ts";
import { planOf } from "./test-runs.ts";
import { shownPort } from "./shown.ts";

const step = (more: Partial<PlanStep>): PlanStep =>
  ({
    id: 1,
    port: "a",
    try: 1,
    kind: "implement",
    member: "implementer",
    worker: "acp",
    status: "running",
    seenAt: 1_000,
    output: null,
    waiting: null,
    ...more,
  }) as PlanStep;
const detailOf = (
  now: number,
  port: object,
  run: "running" | "failed" = "running",
  plan: Plan = planOf({ a: "" }),
) =>
  shownPort(
    {
      position: 0,
      id: "a",
      status: "running",
      because: null,
      triesPair: 3,
      triesOrchestrator: 2,
      messages: [],
      violations: [],
      ...port,
    } as unknown as PortDetail,
    { id: "run_1", plan, status: run },
    now,
  );
const stepsOf = (now: number, ...steps: PlanStep[]) => detailOf(now, { steps }).steps;

test("a worker is stalled after ten seconds without a sign; dure's own commands never are", () => {
  expect(stepsOf(11_000, step({}))[0]!.stalled).toBe(false);
  expect(
    stepsOf(11_001, step({}), step({ member: null }), step({ status: "done" })).map(
      ({ stalled }) => stalled,
    ),
  ).toEqual([true, false, false]);
});

test("a step that is numbered by its commit is shown as no try", () => {
  expect(stepsOf(0, step({ try: 86_860_867 }), step({ try: 7 })).map((one) => one.try)).toEqual([
    0, 7,
  ]);
});

test("the tries of a port are one record, and its channel is open while a worker may still hear", () => {
  const failing = { success: false, failedTests: [{ name: "t" }] };
  const steps = [
    step({ try: 0, kind: "setup" }),
    step({ output: { result: { status: "ready", claimedFiles: [] } } }),
    step({ kind: "accept", member: null, output: { feedback: failing } }),
    step({ try: 2, member: "orchestrator" }),
  ];

  expect(detailOf(0, { steps }).loop).toEqual({
    id: "run_1/a/loop",
    tries: 2,
    maxTries: 5,
    status: "running",
    rounds: [
      {
        try: 1,
        by: "implementer",
        status: "ready",
        feedback: { success: false, failedTests: [{ name: "t" }] },
      },
      { try: 2, by: "orchestrator", status: null, feedback: null },
    ],
  });
  const of = (status: string, code?: string, run?: "failed") => {
    const { loop, channel } = detailOf(
      0,
      { steps, status, because: code === undefined ? null : { code } },
      run,
    );
    return `${loop.status} ${channel.status}`;
  };
  expect([
    of("waiting"),
    of("succeeded"),
    of("failed", "TRIES_EXHAUSTED"),
    of("failed", "PORT_SKIPPED"),
    of("cancelled"),
    of("failed", "TRIES_EXHAUSTED", "failed"),
  ]).toEqual([
    "running active",
    "success closed",
    "escalated active",
    "failed active",
    "failed closed",
    "escalated closed",
  ]);
});

test("a step tells where a worker's claim and its changes part", () => {
  const output = {
    result: { status: "ready", summary: "Done.", claimedFiles: ["a/x.ts", "a/y.ts"] },
    commit: "c",
    changes: [
      { path: "a/y.ts", kind: "new" },
      { path: "a/z.ts", kind: "new" },
    ],
    violations: [],
  };

  expect(stepsOf(0, step({ output, status: "done" }))[0]!.output).toMatchObject({
    claimedFiles: ["a/x.ts", "a/y.ts"],
    failedFiles: ["a/x.ts"],
    unclaimedFiles: ["a/z.ts"],
  });
  expect(
    stepsOf(0, step({ output, status: "done", worker: "command" }))[0]!.output,
  ).not.toHaveProperty("failedFiles");
});

test("a port shows whether it may change nothing, and whether its tests may say less", () => {
  const plan = planOf({ a: "" });
  const lenient = { ...plan.ports[0]!, noChange: "allowed", weakerTests: "allowed" } as const;
  const shown = (port: Port) =>
    detailOf(1_000, { steps: [] }, "running", { ...plan, ports: [port] });

  expect(shown(lenient)).toMatchObject({ noChange: "allowed", weakerTests: "allowed" });
  expect(shown(plan.ports[0]!)).toMatchObject({ noChange: undefined, weakerTests: undefined });
});
