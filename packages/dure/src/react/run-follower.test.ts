import { expect, test } from "vitest";
import type { PlatformEvent } from "../wire/events.ts";
import type { RunDetail } from "../wire/runs.ts";
import type { DureHub } from "./hub.ts";
import { RunFollower } from "./run-follower.ts";

const PORTS = ["a", "b", "c"].map((id) => ({ id, status: "running", tokensIn: 0 }));
const RUN = { id: "run_1", status: "running", phase: "building", tokensIn: 0, ports: PORTS };

/** A page that looks at a run, of which the test sends news. */
function openPage() {
  const asked: string[] = [];
  const news: PlatformEvent[] = [];
  let wake = Promise.withResolvers<void>();
  const plans = {
    run: async () => {
      asked.push("run");
      return RUN;
    },
    ports: async (_id: string, names: readonly string[]) => {
      asked.push(`ports ${names.join(" ")}`);
      return { ports: names.map((id) => ({ id, status: "succeeded", tokensIn: 5 })) };
    },
    async *stream(_id: string, { signal }: { signal: AbortSignal }) {
      yield { kind: "run", run: RUN };
      while (!signal.aborted) {
        for (const event of news.splice(0)) yield { kind: "event", event };
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
  };
  const follower = new RunFollower({ hub: { client: { plans } } as unknown as DureHub, id: "r" });
  const tell = (type: string, data: object): void => {
    news.push({ type, data } as PlatformEvent);
    wake.resolve();
  };
  return { follower, asked, tell, leave: follower.subscribe(() => {}) };
}

test("what happens to a port costs its own row, and what happens to the run the run", async () => {
  const { follower, asked, tell, leave } = openPage();
  await expect.poll(() => asked).toEqual(["run"]);

  tell("worker.progress", { port: "a" });
  tell("port.success", { port: "a" });
  tell("port.start", { port: "b" });
  await expect.poll(() => asked).toEqual(["run", "ports a b"]);
  const shown = (): RunDetail => follower.snapshot().run!;
  await expect.poll(() => shown().tokensIn).toBe(10);
  expect(shown().ports.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "running"]);

  tell("worker.progress", { port: "orchestrator" });
  await expect.poll(() => asked).toEqual(["run", "ports a b", "run"]);
  leave();
});
