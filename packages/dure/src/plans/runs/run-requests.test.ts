import { expect, test } from "vitest";
import { parsePlan } from "../plan-file.ts";
import type { PlanPort, PlanRun, PlanStep } from "../rows/run.ts";
import { assertListens } from "./run-requests.ts";

const plan = parsePlan(
  "plan.yaml",
  `plan: p
roles: modules
workers: { default: { kind: command, command: [agent] }, tester: { kind: offline } }
ports:
  - { id: a, role: a, goal: A, owns: [src/**], tests: [test/**], acceptance: "true" }
`,
);
const run = { id: "run_1", status: "running", plan } as unknown as PlanRun;
const portWith = (more: object) =>
  ({
    id: "a",
    position: 0,
    status: "running",
    triesPair: 2,
    triesOrchestrator: 0,
    steps: [],
    ...more,
  }) as unknown as PlanPort & { steps: readonly PlanStep[] };
const port = portWith({});

test("words go to a worker that reads prompts, and are refused to one that follows a script", () => {
  expect(() => assertListens(run, port, "implementer")).not.toThrow();
  expect(() => assertListens(run, port, "tester")).toThrow(
    expect.objectContaining({ code: "WORKER_DEAF", hint: expect.stringContaining("script") }),
  );
});

test.each(["failed", "held", "succeeded", "cancelled"])(
  "a port that is %s listens no more",
  (status) => {
    expect(() => assertListens(run, portWith({ status }), "implementer")).toThrow(
      expect.objectContaining({ code: "PORT_OVER" }),
    );
  },
);

test("an orchestrator reads only where the plan has one", () => {
  expect(() => assertListens(run, port, "orchestrator")).toThrow(
    expect.objectContaining({ code: "ORCHESTRATOR_MISSING" }),
  );
});
