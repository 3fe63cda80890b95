import { expect, onTestFinished } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import { planOf, startTestRuns } from "../../src/plans/runs/test-runs.ts";
import { ended, OF_THE_DATABASE, type Moment, type Stage } from "./stage.ts";

/** A plan of two ports, of which the second meets the outage, and its merge. */
export async function runStage(moment: Moment): Promise<Stage> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const runs = stack.use(
    await startTestRuns({
      url,
      build: async (_run, port) => {
        if (port.id === "b") await moment.at("port step");
        return { status: "succeeded", commit: port.id };
      },
      work: {
        merge: async (_run, ports) => {
          await moment.at("merge");
          const kept = ports.flatMap(({ id, status }) => (status === "succeeded" ? [id] : []));
          const report = { commit: "m", branch: "dure/test", kept, missing: [], conflicts: [] };
          return { report, dropped: [] };
        },
      },
    }),
  );
  await moment.opened(url);
  let run: PlanRun;
  return {
    run: async () => {
      const plan = planOf({ a: "", b: "a" });
      const { id } = await runs.runs.run({ plan, repository: "/r", by: "me" });
      await moment.isOver;
      run = await ended(() => runs.runs.get(id));
    },
    assertDone: async () => {
      expect(run).toMatchObject({ status: "success", report: { kept: ["a", "b"] } });
    },
    assertHonest: async () => {
      const detail = await runs.runs.detail(run.id);
      expect(JSON.stringify(detail)).not.toMatch(OF_THE_DATABASE);
      const ends = await runs.database.query({
        text: "select type from dure.events where type = 'run.end'",
      });
      expect(ends).toHaveLength(1);
    },
    excuse: async () => run.status,
    retry: async () => {},
  };
}
