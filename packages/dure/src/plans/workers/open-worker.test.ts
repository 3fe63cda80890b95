import { expect, test } from "vitest";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { Models } from "../../models/models.ts";
import type { WorkerSpec } from "../plan.ts";
import { openWorker } from "./open-worker.ts";
import { aPlace, workOn } from "./test-worker.ts";
import { runWorker } from "./worker-run.ts";
import type { Worker } from "./worker.ts";

const SPECS: readonly WorkerSpec[] = [
  { kind: "acp", command: ["no-such-agent-here"] },
  { kind: "model", model: "offline" },
  { kind: "command", command: ["true"], prompt: "stdin" },
  { kind: "offline" },
  { kind: "offline", script: "team.yaml" },
  { kind: "own", name: "idle" },
];

test.each(SPECS)("opens a worker of kind $kind, and it ends with one result", async (spec) => {
  await using place = await aPlace();
  const asked: string[] = [];
  const models = new Models({ clock: systemClock, logger: silentLogger });

  const worker = openWorker(spec, {
    clock: systemClock,
    model: { models },
    script: (path) => (asked.push(path), { ports: {} }),
    own: { idle: ({ clock }) => idleWorker(clock) },
  });
  const { result } = await workOn(worker, place.assignment);

  expect(worker.kind).toBe(spec.kind);
  expect(result.status).toBe(spec.kind === "acp" ? "failed" : "ready");
  expect(asked).toEqual(spec.kind === "offline" && spec.script ? ["team.yaml"] : []);
});

test("a worker that the team does not have is refused, with the names of those that it has", () => {
  const models = new Models({ clock: systemClock, logger: silentLogger });
  const own = { idle: () => idleWorker(systemClock) };
  const parts = { clock: systemClock, model: { models }, script: () => ({ ports: {} }), own };

  expect(() => openWorker({ kind: "own", name: "toString" }, parts)).toThrow(
    expect.objectContaining({
      code: "WORKER_NOT_STARTED",
      hint: expect.stringContaining("idle") as string,
    }) as Error,
  );
});

function idleWorker(clock: Clock): Worker {
  return {
    kind: "own",
    run: (assignment, { signal }) =>
      runWorker(assignment, async () => ({ status: "ready", summary: "", claimedFiles: [] }), {
        clock,
        signal,
      }),
  };
}
