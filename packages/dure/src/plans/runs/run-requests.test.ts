import { expect, test } from "vitest";
import { parsePlan } from "../plan-file.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
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
const port = { id: "a", position: 0, status: "running" } as unknown as PlanPort;

test("words go to a worker that reads prompts, and are refused to one that follows a script", () => {
  expect(() => assertListens(run, port, "implementer")).not.toThrow();
  expect(() => assertListens(run, port, "tester")).toThrow(
    expect.objectContaining({ code: "WORKER_DEAF", hint: expect.stringContaining("script") }),
  );
});
