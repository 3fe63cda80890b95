import { expect, test } from "vitest";
import { parsePlan } from "../plan-file.ts";
import type { PlanPort, PlanRun, PlanStep } from "../rows/run.ts";
import { MAX_TRIES } from "../../kernel/plans.ts";
import { assertListens, assertRetry, assertWords } from "./run-requests.ts";

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

test("words of the operator have 1 to 8,000 characters", () => {
  const invalid = expect.objectContaining({ code: "MESSAGE_INVALID" });

  expect(() => assertWords("x".repeat(8_000))).not.toThrow();
  expect(() => assertWords("x".repeat(8_001))).toThrow(invalid);
  expect(() => assertWords("")).toThrow(invalid);
});

test("a port is given no more tries than it may ever have, of pair and orchestrator together", () => {
  const had = portWith({ triesPair: MAX_TRIES - 3, triesOrchestrator: 1 });
  const retry = (tries: number) => () => assertRetry({ type: "retry", port: "a", tries }, had);

  expect(retry(2)).not.toThrow();
  expect(retry(3)).toThrow(expect.objectContaining({ code: "TRIES_EXHAUSTED" }));
});
