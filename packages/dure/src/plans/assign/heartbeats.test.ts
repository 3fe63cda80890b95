import { expect, test } from "vitest";
import { TestClock } from "../../kernel/test-clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { StepWaiting } from "../../wire/runs.ts";
import type { ProviderTrouble } from "../calls/provider-trouble.ts";
import type { RunEvent } from "../rows/run-event.ts";
import type { PlanStep } from "../rows/run.ts";
import type { Counted, StepLog } from "../rows/step-log.ts";
import type { WorkerEvent } from "../workers/worker.ts";
import { WorkerHeartbeats } from "./heartbeats.ts";

type ProgressEvent = Extract<WorkerEvent, { type: "progress" }>;

function openSigns(more: { typicalMs?: number } = {}) {
  const clock = new TestClock();
  const shares: number[] = [];
  const counted: Counted[] = [];
  const waits: (StepWaiting | null)[] = [];
  const told: RunEvent[] = [];
  const stepLog: Partial<StepLog> = {
    note: async () => {},
    sign: async (_step, { progress }) => void shares.push(progress),
    waits: async (_step, waiting) => void waits.push(waiting),
    tell: async (events) => void told.push(...events),
  };
  const step = { id: 1, try: 1, progress: 0, tokensIn: 0, tokensCached: 0, tokensOut: 0 };
  const signs = new WorkerHeartbeats({
    stepLog: stepLog as StepLog,
    step: step as unknown as PlanStep,
    port: "api",
    member: "implementer",
    clock,
    logger: silentLogger,
    tests: "make accept",
    count: (used) => {
      counted.push(used);
      return { writes: [], stored: () => {} };
    },
    ...more,
  });

  return { signs, clock, shares, counted, waits, told };
}

const progress = (more: Partial<ProgressEvent> = {}): ProgressEvent => ({
  type: "progress",
  progress: 0.05,
  currentTask: "working",
  tokensUsed: 0,
  callsMade: 1,
  ...more,
});

test("tokens are counted by kind as they come, and what was told too high is taken back", async () => {
  const { signs, clock, counted } = openSigns();
  const at = async (input: number, cached: number, output: number): Promise<void> => {
    await clock.pass(3_000);
    const tokens = { input, cached, output };
    await signs.heard(progress({ tokens, tokensUsed: input + output }), "");
  };

  await at(1_000, 900, 50);
  await at(2_000, 1_800, 100);
  await at(1_500, 1_800, 120);

  expect(counted.map(({ input, cached, output }) => [input, cached, output])).toEqual([
    [1_000, 900, 50],
    [1_000, 900, 50],
    [-500, 0, 20],
  ]);
  expect(signs.counted).toMatchObject({ input: 1_500, cached: 1_800, output: 120 });
});

test("without a word of its agent a step goes on by what was done, and by how long such steps take", async () => {
  const { signs, clock, shares } = openSigns({ typicalMs: 100_000 });
  const after = async (ms: number): Promise<void> => {
    await clock.pass(ms);
    await signs.heard(progress(), "");
  };

  await after(4_000);
  signs.note({ kind: "tool", title: "Read", text: "src/a.ts" });
  await after(30_000);
  signs.note({ kind: "tool", title: "Bash", text: "make accept" });
  await after(4_000);
  signs.note({ kind: "result", text: "ok", status: "completed" });
  await after(4_000);

  expect(shares.map((share) => Math.round(share * 100))).toEqual([5, 33, 70, 90]);
});

test("an agent that tells its plan is believed", async () => {
  const { signs, clock, shares } = openSigns({ typicalMs: 1 });
  await clock.pass(3_000);

  await signs.heard(progress({ progress: 0.35 }), "");

  expect(shares).toEqual([0.35]);
});

const LIMITED: ProviderTrouble = {
  kind: "limited",
  status: 429,
  until: 90_000,
  says: "Too many",
  since: 1_000,
  times: 1,
};

test("what keeps the provider is stored within a moment, once, and that it is over", async () => {
  const { signs, clock, waits } = openSigns();

  signs.provider(LIMITED);
  signs.provider(undefined);
  await clock.pass(1_000);
  signs.provider(LIMITED);
  await clock.pass(1_000);
  signs.provider({ ...LIMITED, until: 91_000, times: 2 });
  await clock.pass(1_000);
  signs.provider(undefined);
  await clock.pass(1_000);

  expect(waits).toEqual([
    { for: "rate_limit", status: 429, since: 1_000, until: 90_000, isTold: true, says: "Too many" },
    null,
  ]);
});

test.each([
  ["provider", "working"],
  ["model", "working"],
  ["tool", "npm ci"],
  ["nothing", "working"],
] as const)("a worker without a sign is told to wait for: %s", async (on, task) => {
  const { signs, clock, told } = openSigns();
  if (on === "provider") signs.provider({ ...LIMITED, kind: "failing", status: 500 });
  if (on === "tool") signs.note({ kind: "tool", title: "npm ci", text: "" });
  await signs.heard(progress({ callsUnderWay: on === "model" ? 1 : 0 }), "");

  await clock.pass(20_000);

  expect(told).toMatchObject([{ type: "worker.stalled", data: { on, task } }]);
});
