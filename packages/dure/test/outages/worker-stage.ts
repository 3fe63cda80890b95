import { expect } from "vitest";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import type { Worker, WorkerEvent } from "../../src/plans/workers/worker.ts";
import { realPlan } from "../plans/real-runs.ts";
import { openStage } from "../plans/stage.ts";
import { ended, OF_THE_DATABASE, type Moment, type Stage } from "./stage.ts";

const FILES = { "src/a/a.mjs": "export const a = 1;\n" };
/** One try: an outage that took it would fail the run. */
const PLAN = `
plan: shop
roles: modules
limits: { tries: 1 }
workers: { default: { kind: offline } }
ports:
  - { id: a, role: a, goal: Make a., owns: [src/a/**], acceptance: "true", no_change: allowed }
`;

/** A worker that goes on talking in the outage, on a real repository. */
function talkingWorker(moment: Moment): Worker {
  return {
    kind: "offline",
    async *run(): AsyncGenerator<WorkerEvent> {
      yield { type: "session", id: "talk", isResumed: false };
      await moment.at("worker");
      yield { type: "said", text: "I look at it." };
      yield {
        type: "result",
        result: {
          status: "ready",
          summary: "done",
          claimedFiles: [],
          tokens: { input: 100, output: 10 },
        },
      };
    },
  };
}

/** A plan of one port with a pair of workers, of which the first meets the outage. */
export async function workerStage(moment: Moment): Promise<Stage> {
  const { runs, repository, url } = await openStage(FILES, {
    worker: () => talkingWorker(moment),
  });
  await moment.opened(url);
  let run: PlanRun;
  return {
    run: async () => {
      const start = { plan: realPlan(PLAN), repository: repository.folder, by: "me" };
      const { id } = await runs.runs.run(start);
      await moment.isOver;
      run = await ended(() => runs.runs.get(id));
    },
    assertDone: async () => {
      expect(run.status, JSON.stringify(run.because)).toBe("success");
      const port = await runs.runs.port(run.id, "a");
      expect(port.steps.filter(({ kind }) => kind === "implement")).toMatchObject([{ try: 1 }]);
    },
    assertHonest: async () => {
      const port = await runs.runs.port(run.id, "a");
      expect(JSON.stringify([run.because, port.steps])).not.toMatch(OF_THE_DATABASE);
    },
    excuse: async () => run.status,
    retry: async () => {},
  };
}
