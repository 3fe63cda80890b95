import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { runWorker } from "../../src/plans/workers/worker-run.ts";
import type { Assignment, Worker } from "../../src/plans/workers/worker.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

/** Calls that are made in the whole run. */
class Calls {
  count = 0;
  readonly #waiting: (() => void)[] = [];

  /** Made when another worker makes one too, so that none is ahead. */
  async beside(others: number, signal: AbortSignal): Promise<void> {
    this.count++;
    if (this.#waiting.length + 1 >= others) {
      for (const go of this.#waiting.splice(0)) go();
      return;
    }
    await new Promise<void>((go) => {
      this.#waiting.push(go);
      signal.addEventListener("abort", () => go(), { once: true });
    });
  }
}

/** Calls its model again and again, until it is stopped. */
const endless = (calls: Calls, others: number): Worker => ({
  kind: "own",
  run: (assignment: Assignment, options: { signal: AbortSignal }) =>
    runWorker(
      assignment,
      async (report) => {
        while (!report.signal.aborted && calls.count < 100) {
          await calls.beside(others, report.signal);
          report.used({ input: 90, output: 10 });
        }
        return { status: "ready" as const, summary: "done", claimedFiles: [] };
      },
      { clock: systemClock, ...options },
    ),
});

const PORT = (id: string) => ({
  id,
  role: id,
  goal: "Spend.",
  owns: [`src/${id}/**`],
  acceptance: "true",
});

test(
  "ports side by side stop at the run's tokens together, each after the call that it is in",
  { ...FULL, timeout: 300_000 },
  async () => {
    const calls = new Calls();
    const files = { "src/a/a": "", "src/b/b": "", "src/c/c": "" };
    const { runs, repository } = await openStage(files, { worker: () => endless(calls, 3) });
    const plan = {
      plan: "spend",
      roles: "modules",
      mode: "parallel",
      limits: { tries: 1, budget: "1000 tokens" },
      workers: { default: { kind: "own", name: "endless" } },
      ports: ["a", "b", "c"].map(PORT),
    };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await runs.runs.get(id)).finishedAt !== null, { timeout: 90_000 })
      .toBe(true);

    const run = await runs.runs.get(id);
    expect(calls.count * 100).toBeLessThanOrEqual(1_000 + 3 * 100);
    expect(run.tokensIn + run.tokensOut).toBe(calls.count * 100);
    const codes = new Set(run.report!.missing.map(({ because }) => because?.code));
    expect([...codes]).toEqual(["RUN_TOKENS_EXHAUSTED"]);
  },
);

test(
  "a run's workers stop at its calls of models; more of them let its port go on",
  { ...FULL, timeout: 300_000 },
  async () => {
    const calls = new Calls();
    const { runs, repository } = await openStage(
      { "src/a/a": "" },
      { worker: () => endless(calls, 1) },
    );
    const plan = {
      plan: "spend",
      roles: "modules",
      limits: { tries: 1, maxCalls: 5 },
      workers: { default: { kind: "own", name: "endless" } },
      ports: [PORT("a")],
    };
    const ended = async (id: string): Promise<boolean> =>
      (await runs.runs.get(id)).finishedAt !== null;

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await expect.poll(() => ended(id), { timeout: 90_000 }).toBe(true);
    const stopped = await runs.runs.get(id);
    const asked = await runs.database.query<{ context: unknown }>({
      name: "test.asked",
      text: "select context from dure.escalations where type = 'token_exhausted'",
    });
    await runs.runs.commands.order(id, { type: "extend", calls: 10 }, { by: "me" });
    await expect.poll(async () => (await runs.runs.get(id)).calls, { timeout: 90_000 }).toBe(16);

    // Its start, the five calls that were left, and the one in which it was stopped.
    expect(stopped).toMatchObject({ calls: 6, callsMost: 5 });
    expect(stopped.report!.missing).toMatchObject([
      {
        because: { code: "RUN_CALLS_EXHAUSTED", message: expect.stringContaining("6 of 5 calls") },
      },
    ]);
    expect(asked.map(({ context }) => context)).toContainEqual(
      expect.objectContaining({ unit: "calls", most: 5 }),
    );
    expect((await runs.runs.get(id)).callsMost).toBe(15);
  },
);

test(
  "an orchestrator begins no task of a run whose tokens are used up",
  { ...FULL, timeout: 300_000 },
  async () => {
    const calls = new Calls();
    const { runs, repository } = await openStage({}, { worker: () => endless(calls, 1) });
    const own = { kind: "own", name: "endless" };
    const plan = {
      plan: "spend",
      roles: "modules",
      limits: { budget: "300 tokens" },
      workers: { default: own, orchestrator: own },
      contracts: [{ path: "src/shared.ts", by: "orchestrator" }],
      ports: [PORT("a")],
    };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await runs.runs.get(id)).finishedAt !== null, { timeout: 90_000 })
      .toBe(true);

    expect(calls.count).toBe(4);
    expect((await runs.runs.get(id)).because).toMatchObject({ code: "CONTRACTS_MISSING" });
  },
);
