import { expect, test } from "vitest";
import { commitsOf, decideRemains, type StepCommit } from "./adopt.ts";
import type { PlanPort } from "../rows/run.ts";

const run = { baseCommit: "base", startCommit: "contracts" };
const port = (position: number, id: string, change: Partial<PlanPort>): PlanPort =>
  ({
    position,
    id,
    status: "waiting",
    weakerTestsAccepted: false,
    startCommit: null,
    resultCommit: null,
    ...change,
  }) as PlanPort;
const step = (
  id: number,
  port: string,
  commit: string | null,
  change: Partial<StepCommit> = {},
): StepCommit => ({ id, port, kind: "implement", status: "done", commit, ...change });
const PORTS = [
  port(0, "a", { status: "succeeded", startCommit: "contracts", resultCommit: "a2" }),
  port(1, "b", { status: "running", startCommit: "b0" }),
  port(2, "c", {}),
];
const STEPS = [
  step(1, "a", "a1"),
  step(2, "a", "a2"),
  step(3, "b", "b1"),
  step(4, "b", null, { kind: "accept" }),
  step(5, "b", "b2"),
  step(6, "b", null, { status: "running" }),
];
const having = (...commits: string[]) =>
  decideRemains(run, PORTS, STEPS, (commit) => commits.includes(commit));

test("with every commit there only what was under way is done again", () => {
  expect(having("base", "contracts", "a1", "a2", "b0", "b1", "b2")).toEqual({
    keepsStart: true,
    lostPorts: [],
    lostStarts: [],
    lostSteps: [6],
  });
});

test("a step whose commit was not pushed is done again with all behind it, and nothing before it", () => {
  expect(having("base", "contracts", "a1", "a2", "b0", "b1")).toEqual({
    keepsStart: true,
    lostPorts: [],
    lostStarts: [],
    lostSteps: [5, 6],
  });
  expect(having("base", "contracts", "a1", "a2", "b0")).toMatchObject({ lostSteps: [3, 4, 5, 6] });
});

test("a port whose result or start is lost begins anew; without the contracts everything does", () => {
  expect(having("base", "contracts", "a1", "b0", "b1", "b2")).toEqual({
    keepsStart: true,
    lostPorts: [0],
    lostStarts: [0],
    lostSteps: [1, 2, 6],
  });
  expect(having("base", "contracts", "a1", "a2", "b1", "b2")).toEqual({
    keepsStart: true,
    lostPorts: [],
    lostStarts: [1],
    lostSteps: [3, 4, 5, 6],
  });
  expect(having("base", "a1", "a2", "b0", "b1", "b2")).toEqual({
    keepsStart: false,
    lostPorts: [0],
    lostStarts: [0, 1],
    lostSteps: [1, 2, 3, 4, 5, 6],
  });
});

test("what was merged of a lost port is merged again", () => {
  const steps = [...STEPS.slice(0, 5), step(7, "orchestrator", "m", { kind: "merge" })];
  expect(decideRemains(run, PORTS, steps, (commit) => commit !== "a2").lostSteps).toEqual([
    1, 2, 7,
  ]);
  expect(decideRemains(run, PORTS, steps, () => true).lostSteps).toEqual([]);
});

test("the commits of a run are named once each", () => {
  expect(commitsOf(run, PORTS, STEPS)).toEqual(["base", "contracts", "a2", "b0", "a1", "b1", "b2"]);
});
