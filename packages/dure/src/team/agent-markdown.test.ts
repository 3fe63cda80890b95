import { expect, test } from "vitest";
import { ScriptedModel } from "@dure/testing";
import { startTestEngine } from "../engine/test-engine.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { agentServices } from "./agents.ts";
import { withApprovals } from "./approvals.ts";
import { readTeam, type TeamOptions } from "./config.ts";
import { teamFolder } from "./test-team-folder.ts";

const desk = defineService({
  name: "desk",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "x" })) },
});

const MINA = `---
name: 미나
description: Answers questions about orders.
leads: true
model: offline:scripted
temperature: 0
tools: [pay, calculator]
approvals: { pay: person }
---

You look after orders.
`;

const PAY = `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
export const pay = {
  description: "Pays.", inputSchema: z.object({}), effect: "once", recover: "ask",
  timeoutMs: 30000, settleMs: 30000, execute: () => ({ paid: true }),
};
`;

const read = (folder: string, options: Partial<TeamOptions> = {}) =>
  readTeam({ services: { desk }, ...options }, folder);

test("a folder with agent.md is an agent with its model, tools and instructions", async () => {
  await using home = await teamFolder({
    "agents/mina/agent.md": MINA,
    "agents/mina/MEMORY.md": "- the shop opens at nine",
    "agents/notes/README.md": "no agent",
    "tools/pay.mjs": PAY,
    "tools/release.mjs": "throw new Error('this script was run');",
  });
  const team = await read(home.folder);

  const services = (await agentServices(team)).map((service) => withApprovals(service));
  const mina = services[0]!.agents["mina"]!;
  const model = new ScriptedModel([
    {
      reply: "네",
      expect: ({ system }) =>
        expect(system).toBe("You are 미나.\n\nYou look after orders.\n\n- the shop opens at nine"),
    },
  ]);
  await using t = await startTestEngine(services, { offline: [model], model: "offline:scripted" });

  expect(services.map(({ name, title, description }) => [name, title, description])).toEqual([
    ["mina", "미나", "Answers questions about orders."],
  ]);
  expect(mina.card).toMatchObject({ temperature: 0, llm: { model: "scripted" } });
  expect(Object.keys(mina.tools)).toEqual(["remember", "pay", "calculator"]);
  expect(mina.tools["pay"]?.approval).toMatchObject({ by: "person", expiresMs: 86_400_000 });
  expect((await t.say("안녕")).done.message).toBe("네");
});

test("the configuration names an agent of the folder, and goes before its agent.md", async () => {
  await using home = await teamFolder({
    "agents/mina/agent.md": "---\nname: Mina\ntemperature: 1\n---\nYou help.",
    "agents/theo/agent.md": "---\n---\nYou check.",
  });

  const { config } = await read(home.folder, {
    agents: { eden: {}, theo: { displayName: "테오", card: { temperature: 0 } } },
    rooms: { channels: { general: { defaultAgent: "mina" } } },
  });

  expect(Object.entries(config.agents!).map(([id, { displayName }]) => [id, displayName])).toEqual([
    ["eden", undefined],
    ["theo", "테오"],
    ["mina", "Mina"],
  ]);
  expect(config.agents!["mina"]?.card).toEqual({ temperature: 1 });
  expect(config.agents!["theo"]?.card).toEqual({ temperature: 0 });
});

test.each([
  ["no settings", "You help.", /agent\.md:1 .*does not begin with settings/],
  ["settings that are not closed", "---\nname: x\n", /agent\.md:1 .*not closed/],
  [
    "an unknown key",
    "---\nname: x\nmodl: offline\n---",
    /agent\.md:3:1 modl: .*did you mean "model"/,
  ],
  ["a wrong type", "---\nleads: perhaps\n---", /agent\.md:2:1 leads: .*allowed: true or false/],
  ["a wrong model", "---\nmodel: unknown:x\n---", /agent\.md:2:1 model: .*provider/],
  [
    "an unknown tool",
    "---\nname: x\ntools:\n  - clock\n  - pey\n---",
    /agent\.md:5:5 tools\.1: names no tool.*allowed: calculator, clock, .*pay; did you mean "pay"/,
  ],
  [
    "an unknown server",
    "---\nmcp: [files/read_*]\n---",
    /agent\.md:2:\d+ mcp\.0: names no MCP server/,
  ],
  ["an unknown skill", "---\nskills: [x]\n---", /skills\.0: names no skill.*npx dure new skill x/],
  [
    "a yes for a tool that it lacks",
    "---\ntools: [clock]\napprovals: [pay]\n---",
    /agent\.md:3:\d+ approvals\.0: names no tool of this agent.*allowed: clock/,
  ],
])("an agent.md with %s is refused at its file and line", async (_, text, message) => {
  await using home = await teamFolder({ "agents/mina/agent.md": text, "tools/pay.mjs": PAY });

  await expect(read(home.folder)).rejects.toMatchObject({
    code: "AGENT_INVALID",
    message: expect.stringMatching(message),
    hint: expect.any(String),
  });
});

test("an agent is declared by agent.md or agent.yaml, and by a folder whose name is an id", async () => {
  await using twice = await teamFolder({
    "agents/mina/agent.md": "---\n---\nx",
    "agents/mina/agent.yaml": "displayName: x",
  });
  await using named = await teamFolder({ "agents/미나/agent.md": "---\n---\nx" });

  await expect(read(twice.folder)).rejects.toMatchObject({
    message: expect.stringMatching("agents/mina has agent.md and agent.yaml"),
  });
  await expect(read(named.folder)).rejects.toMatchObject({
    code: "AGENT_INVALID",
    hint: expect.stringMatching("`name` in agent.md"),
  });
});

test.each([
  [
    "exports no tool of its name",
    "export const other = 1;",
    /tools\/pay\.mjs exports no tool "pay"/,
  ],
  ["cannot be loaded", "throw new Error('boom');", /tools\/pay\.mjs cannot be loaded: boom/],
])("a file of tools that %s is named", async (_, code, message) => {
  await using home = await teamFolder({
    "agents/mina/agent.md": "---\ntools: [pay]\n---\nx",
    "tools/pay.mjs": code,
  });

  await expect(read(home.folder)).rejects.toMatchObject({
    code: "TOOL_INVALID",
    message: expect.stringMatching(message),
  });
});

test("a tool without a ledger cannot need a yes", async () => {
  await using home = await teamFolder({
    "agents/mina/agent.md": "---\ntools: [clock]\napprovals: [clock]\n---\nx",
  });
  const [service] = await agentServices(await read(home.folder));

  expect(() => withApprovals(service!)).toThrow(
    expect.objectContaining({ code: "TOOL_APPROVAL_WITHOUT_LEDGER" }),
  );
});
