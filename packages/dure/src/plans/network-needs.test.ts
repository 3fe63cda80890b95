import { expect, test } from "vitest";
import { networkOf, opensNetwork, policyOfCommand, policyOfWorker } from "./network-needs.ts";
import { parsePlan } from "./plan-file.ts";
import type { Plan, WorkerSpec } from "./plan.ts";

const plan = (more = "", worker = "{ kind: offline }", port = ""): Plan =>
  parsePlan(
    "plan.yaml",
    `plan: p\nroles: modules\nsetup: npm ci\n${more}\nworkers: { default: ${worker} }\nports:\n  - { id: a, role: a, goal: x, owns: [a/**], acceptance: "true", check: "true"${port} }\n`,
  );
const facts = {
  team: {},
  env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:4010", OPENAI_API_KEY: "key" },
};
const policy = (spec: WorkerSpec, of = plan()): unknown =>
  policyOfWorker(spec, { plan: of, port: of.ports[0] }, facts);

test("without a word commands, programs, models and offline workers have no network", () => {
  const about = { plan: plan(), port: plan().ports[0] };

  for (const user of ["setup", "check", "acceptance", "integration"] as const) {
    expect(policyOfCommand(user, about, facts)).toEqual({ kind: "none", hosts: [] });
  }
  for (const spec of [
    { kind: "offline" },
    { kind: "model", model: "offline" },
    { kind: "command", command: ["x"], prompt: "stdin", env: ["MY_FLAG"] },
  ] as const) {
    expect(policy(spec)).toEqual({ kind: "none", hosts: [] });
  }
});

test.for([
  [
    "an agent by its program's name",
    { kind: "acp", command: ["claude-agent-acp"] },
    ["api.anthropic.com", "console.anthropic.com", "platform.claude.com"],
  ],
  [
    "an agent by the address that it is given",
    {
      kind: "acp",
      command: ["claude-agent-acp"],
      env: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
    },
    ["127.0.0.1:4010"],
  ],
  [
    "an agent by its key",
    { kind: "acp", command: ["any"], env: ["OPENAI_API_KEY"] },
    ["api.openai.com", "chatgpt.com", "auth.openai.com"],
  ],
  [
    "a program that gets a key",
    { kind: "command", command: ["any"], prompt: "stdin", env: ["OPENAI_API_KEY"] },
    ["api.openai.com", "chatgpt.com", "auth.openai.com"],
  ],
  ["an agent that is not known", { kind: "acp", command: ["any"] }, []],
  [
    "hosts of the plan beside the model's",
    {
      kind: "acp",
      command: ["claude-agent-acp"],
      network: { kind: "provider", hosts: ["docs.example.org"] },
    },
    ["docs.example.org", "api.anthropic.com", "console.anthropic.com", "platform.claude.com"],
  ],
] as const)("the model's hosts are those of %s", ([, spec, hosts]) => {
  expect(policy(spec)).toEqual({ kind: "provider", hosts });
});

test("the nearest word wins: port, worker, plan, team", () => {
  const team = {
    setup: { kind: "provider", hosts: ["registry.example.org"] },
    workers: { kind: "open", hosts: [] },
  } as const;
  const said = plan(
    "network: { workers: none, acceptance: [a.example.org] }",
    "{ kind: acp, command: [x], network: open }",
    ", network: { acceptance: open, workers: [b.example.org] }",
  );
  const port = said.ports[0]!;
  const spec = said.workers.default!;

  expect(policyOfCommand("setup", { plan: said, port }, { team })).toEqual(team.setup);
  expect(policyOfCommand("acceptance", { plan: said, port }, { team }).kind).toBe("open");
  expect(policyOfCommand("acceptance", { plan: said, port: undefined }, { team })).toEqual({
    kind: "provider",
    hosts: ["a.example.org"],
  });
  expect(policyOfWorker(spec, { plan: said, port }, { team, env: {} })).toEqual({
    kind: "provider",
    hosts: ["b.example.org"],
  });
  expect(policyOfWorker(spec, { plan: said, port: undefined }, { team, env: {} }).kind).toBe(
    "open",
  );
  expect(
    policyOfWorker(
      { kind: "acp", command: ["x"] },
      { plan: said, port: undefined },
      { team, env: {} },
    ).kind,
  ).toBe("none");
  expect(
    policyOfWorker(
      { kind: "acp", command: ["x"] },
      { plan: plan(), port: undefined },
      { team, env: {} },
    ).kind,
  ).toBe("open");
  expect(opensNetwork(said, team)).toEqual(["workers.default", "ports.a.acceptance"]);
  expect(networkOf(said, { team, env: {} }).map(({ of, policy: kind }) => `${of} ${kind}`)).toEqual(
    [
      "setup provider",
      "check none",
      "acceptance provider",
      "workers.default open",
      "ports.a.workers provider",
      "ports.a.acceptance open",
    ],
  );
});

test.for([
  ["network: { setup: provider }", /setup/],
  ["network: { setup: ['http://x'] }", /network\.setup/],
  ["network: { setup: [] }", /network\.setup/],
  ["network: { lunch: open }", /lunch/],
] as const)("a policy that means nothing is refused at its line: %s", ([text, problem]) => {
  expect(() => plan(text)).toThrow(problem);
});
