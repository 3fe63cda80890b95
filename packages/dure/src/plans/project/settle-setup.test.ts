import { expect, test } from "vitest";
import { parsePlan } from "../plan-file.ts";
import { withProject } from "./settle-setup.ts";

const PROJECT = { setup: "npm ci", hosts: ["registry.npmjs.org:443"] };
const PROVIDER = { kind: "provider", hosts: PROJECT.hosts };

const plan = (more = "") =>
  parsePlan(
    "a.yaml",
    `plan: a\nroles: modules\nsetup: auto\n${more}workers: { default: { kind: offline } }\n` +
      `ports: [{ id: one, role: one, goal: x, owns: [src/**], acceptance: "true" }]\n`,
  );

test("a plan whose setup is auto is set up as its repository says, and reaches its hosts then", () => {
  const settled = withProject(plan(), PROJECT, { reachesOut: true, team: {} });

  expect([settled.setup, settled.network]).toEqual(["npm ci", { setup: PROVIDER }]);
});

test.each([
  ["its caller may not say what it reaches", plan(), { reachesOut: false, team: {} }, undefined],
  [
    "the team says it",
    plan(),
    { reachesOut: true, team: { setup: { kind: "open", hosts: [] } } as const },
    undefined,
  ],
  [
    "the plan says it",
    plan("network: { setup: none }\n"),
    { reachesOut: true, team: {} },
    { setup: { kind: "none", hosts: [] } },
  ],
])("no host is added where %s", (_why, before, how, network) => {
  const settled = withProject(before, PROJECT, how);

  expect([settled.setup, settled.network]).toEqual(["npm ci", network]);
});

test("a repository that needs nothing has no setup", () => {
  const settled = withProject(plan(), { hosts: [] }, { reachesOut: true, team: {} });

  expect(settled).not.toHaveProperty("setup");
});
