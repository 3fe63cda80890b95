import { expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import type { Assignment, Worker, WorkerEvent } from "../../src/plans/workers/worker.ts";
import { shownDetail, shownPort } from "../../src/plans/runs/shown.ts";
import { realPlan, startRealRuns, type TestRepository } from "./real-runs.ts";
import { openStage } from "./stage.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

const FILES = { "src/a/a.mjs": "export const a = 1;\n" };
/** One try: a wait that took it would fail the run. */
const PLAN = `
plan: shop
roles: modules
limits: { tries: 1 }
workers: { default: { kind: offline } }
ports:
  - { id: a, role: a, goal: Make a., owns: [src/a/**], acceptance: "true", no_change: allowed }
`;

/** What its starts were given, in order. */
type Starts = Pick<Assignment, "session">[];

/** Its provider takes no calls at its first start, and then none until `waitMs` are over. */
function limitedWorker(starts: Starts, waitMs: number): Worker {
  return {
    kind: "offline",
    async *run({ session }): AsyncGenerator<WorkerEvent> {
      starts.push({ session });
      yield { type: "session", id: `talk ${starts.length}`, isResumed: session !== undefined };
      const base = { claimedFiles: [], tokens: { input: 100, output: 10 } };
      const until = systemClock.now() + waitMs;
      const message = "The provider of the agent takes no more calls now: 429";
      const error = { code: "WORKER_RATE_LIMITED", message, until } as const;
      const failed = { ...base, status: "failed", summary: message, error } as const;
      const ready = { ...base, status: "ready", summary: "done" } as const;
      yield { type: "result", result: starts.length === 1 ? failed : ready };
    },
  };
}

async function begin(runs: TestRuns, repository: TestRepository): Promise<string> {
  return (await runs.runs.run({ plan: realPlan(PLAN), repository: repository.folder, by: "me" }))
    .id;
}

async function waitingOf(runs: TestRuns, id: string) {
  const run = await runs.runs.detail(id);
  return shownDetail(run, ({ repository }) => repository, systemClock.now()).ports[0]!.waiting;
}

async function untilWaiting(runs: TestRuns, id: string): Promise<void> {
  await expect
    .poll(() => waitingOf(runs, id), { timeout: 60_000, interval: 250, message: "it waits" })
    .toMatchObject({ for: "rate_limit", isTold: true });
}

async function ended(runs: TestRuns, id: string): Promise<PlanRun> {
  await expect
    .poll(async () => (await runs.runs.get(id)).finishedAt !== null, {
      timeout: 60_000,
      interval: 250,
      message: "the run ended",
    })
    .toBe(true);
  return runs.runs.get(id);
}

test(
  "a worker whose provider takes no calls waits, and goes on in its conversation and its try",
  { ...FULL, timeout: 300_000 },
  async () => {
    const starts: Starts = [];
    const { runs, repository } = await openStage(FILES, {
      worker: () => limitedWorker(starts, 2_000),
    });

    const id = await begin(runs, repository);
    const run = await ended(runs, id);

    expect(run.status, JSON.stringify(run.because)).toBe("success");
    expect(starts).toEqual([{ session: undefined }, { session: "talk 1" }]);
    const port = await runs.runs.port(id, "a");
    const made = port.steps.filter(({ kind }) => kind === "implement");
    expect(made).toMatchObject([
      { try: 1, starts: 1, tokensIn: 200, tokensOut: 20, waiting: null },
    ]);
    expect([port.tokensIn, port.tokensOut]).toEqual([200, 20]);
    await runs.events.caughtUp();
    const { events } = await runs.events.read(undefined, { run: id }, 500);
    const waits = events.filter(({ type }) => type === "worker.waiting");
    expect(waits.map(({ data }) => data)).toMatchObject([
      { port: "a", member: "implementer", try: 1, for: "rate_limit" },
    ]);
  },
);

test(
  "the wait outlives its process, and is shown meanwhile as no stall",
  { ...FULL, timeout: 300_000 },
  async () => {
    const starts: Starts = [];
    const { runs, repository, home, url } = await openStage(FILES, {
      worker: () => limitedWorker(starts, 3_600_000),
    });
    const id = await begin(runs, repository);
    await untilWaiting(runs, id);
    const before = await waitingOf(runs, id);
    await runs[Symbol.asyncDispose]();

    await using next = await startRealRuns({
      url,
      home,
      worker: () => limitedWorker(starts, 3_600_000),
    });
    await expect
      .poll(async () => (await next.runs.port(id, "a")).steps[0]?.starts, {
        timeout: 60_000,
        interval: 250,
        message: "another process has it",
      })
      .toBe(2);

    expect(await waitingOf(next, id)).toEqual(before);
    expect(starts).toHaveLength(1);
    const run = await next.runs.get(id);
    const soon = systemClock.now() + 60_000;
    const shown = shownPort(await next.runs.port(id, "a"), run, soon);
    expect(shown.waiting).toEqual(before);
    expect(shown.steps).toMatchObject([{ status: "running", stalled: false, waiting: before }]);
  },
);
