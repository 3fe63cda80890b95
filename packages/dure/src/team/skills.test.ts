import { cp } from "node:fs/promises";
import { expect, test } from "vitest";
import { ScriptedModel } from "@dure/testing";
import { chatAgent } from "../engine/agent/agent.ts";
import { loadSkillTool, skillsPart } from "../engine/agent/skills.ts";
import { defineService, flow, type Service } from "../engine/service/service.ts";
import { tool } from "../engine/agent/tool.ts";
import type { EngineDefinitions } from "../engine/engine.ts";
import { startTestEngine } from "../engine/test-engine.ts";
import type { CardInput } from "../models/card.ts";
import type { ModelRequest } from "../models/model.ts";
import type { OfflineReply } from "../models/offline.ts";
import { z } from "zod";
import { agentBook } from "./agent-book.ts";
import { agentServices } from "./agents.ts";
import { readTeam } from "./config.ts";
import { withSkills } from "./skills.ts";
import { teamFolder } from "./test-team-folder.ts";

const skill = (name: string, description: string, body: string): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;

const SHOP = {
  "agents/mina/agent.md": "---\nname: Mina\n---\nYou help.",
  "agents/theo/agent.md": "---\nname: Theo\nskills: [refunds]\n---\nYou check.",
  "agents/eden/agent.md": "---\nname: Eden\nskills: []\n---\nYou plan.",
  "skills/refunds/SKILL.md": skill("refunds", "Decides on refunds.", "Read references/policy.md."),
  "skills/refunds/references/policy.md": "Money back within 14 days.",
  "skills/letters/SKILL.md": skill("letters", "Writes letters.", "Be short."),
};

/** The agents of a folder with their skills, by name. */
async function agentsOf(folder: string): Promise<Readonly<Record<string, Service>>> {
  const team = await readTeam({}, folder);
  const services = (await agentServices(team)).map((one) => withSkills(one, team.skills));
  return Object.fromEntries(services.map((service) => [service.name, service]));
}

const promptOf = (services: Readonly<Record<string, Service>>, name: string): string =>
  services[name]!.agents[name]!.prompt;

test("an agent is told of its skills, and loads one and its files when it wants them", async () => {
  await using home = await teamFolder(SHOP);
  const services = await agentsOf(home.folder);
  const results: unknown[] = [];
  const keep = ({ messages }: ModelRequest): unknown => results.push(messages.at(-1));
  const loads = (file: string): OfflineReply => ({
    toolCalls: [{ name: "load_skill", args: { name: "refunds", file } }],
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: "load_skill", args: { name: "refunds" } }] },
    { reply: loads("references/policy.md"), expect: keep },
    { reply: loads("../letters/SKILL.md"), expect: keep },
    { reply: "Within 14 days.", expect: keep },
  ]);
  await using t = await startTestEngine([services["mina"]!], {
    offline: [model],
    model: "offline:scripted",
  });

  expect((await t.say("May I return it?")).done.message).toBe("Within 14 days.");

  expect(results).toMatchObject([
    {
      result:
        "Read references/policy.md.\n\n---\nFiles of this skill, read with load_skill and `file`: " +
        "references/policy.md.",
    },
    { result: "Money back within 14 days." },
    { isError: true, result: expect.stringMatching(/^SKILL_FILE_UNKNOWN: /) },
  ]);
});

test("an agent has all skills of the team, those that its card names, or none", async () => {
  await using home = await teamFolder(SHOP);
  const services = await agentsOf(home.folder);

  expect(promptOf(services, "mina")).toMatch(
    /^You are Mina\.\n\nYou help\.\n\n# Skills\n[\s\S]*\n\n- `letters`: Writes letters\.\n- `refunds`: Decides on refunds\.$/,
  );
  expect(promptOf(services, "theo")).toMatch(/\n\n- `refunds`: Decides on refunds\.$/);
  expect(promptOf(services, "theo")).not.toContain("letters");
  expect(promptOf(services, "eden")).toBe("You are Eden.\n\nYou plan.");
  expect(services["eden"]!.agents["eden"]!.tools["load_skill"]).toBeUndefined();
  const { load_skill: load } = services["theo"]!.agents["theo"]!.tools;
  expect(() => load!.execute({ name: "letters" }, undefined as never, undefined as never)).toThrow(
    expect.objectContaining({ code: "SKILL_UNKNOWN", hint: "Skills are: refunds." }),
  );
});

test("the same skills make the same prompt on another machine", async () => {
  await using one = await teamFolder(SHOP);
  await using other = await teamFolder({});
  await cp(one.folder, other.folder, { recursive: true });

  const [here, there] = [await agentsOf(one.folder), await agentsOf(other.folder)];

  expect(promptOf(here, "mina")).toBe(promptOf(there, "mina"));
});

test("descriptions that have no room are left out by name, and the skills stay loadable", () => {
  const skills = ["c", "b", "a"].map((name) => ({
    ...{ name, description: `${name} `.repeat(20), instructions: name, folder: "/none" },
    unknownKeys: [],
  }));

  const { text, withoutDescription } = skillsPart(skills, 100);

  expect(withoutDescription).toEqual(["c"]);
  expect(text).toMatch(/- `a`: a[\s\S]*- `b`: b[\s\S]*- More skills, .*descriptions: c$/);
  expect(loadSkillTool(skills).inputSchema.parse({ name: "c" })).toEqual({ name: "c" });
});

test("an agent of a service has the skills that its card names, and no others", async () => {
  await using home = await teamFolder(SHOP);
  const { skills } = await readTeam({}, home.folder);
  const own = tool({ description: "x", inputSchema: z.object({}), execute: () => "x" });
  const desk = (card: CardInput, tools = {}): Service =>
    defineService({
      name: "desk",
      agents: { clerk: chatAgent({ name: "clerk", prompt: { ko: "가", en: "A" }, card, tools }) },
      flows: { DEFAULT: flow(async (turn) => turn.done({ message: "x" })) },
    });

  const withOne = withSkills(desk({ skills: ["refunds"] }), skills);
  const { prompts, tools } = withOne.agents["clerk"]!;
  const definitions = {
    services: [withOne],
    defaultLlm: { provider: "offline", model: "echo", fallbacks: [] },
  } as Partial<EngineDefinitions> as EngineDefinitions;
  const book = agentBook({ folder: home.folder, definitions: () => definitions });

  expect(prompts?.ko).toMatch(/^가\n\n# Skills/);
  expect(prompts?.en).toMatch(/^A\n\n# Skills/);
  expect(Object.keys(tools)).toEqual(["load_skill"]);
  expect(book.making({ service: "desk" }).skills).toEqual([
    { name: "refunds", description: "Decides on refunds." },
  ]);
  expect(withSkills(desk({}), skills).agents["clerk"]!.tools).toEqual({});
  expect(() => withSkills(desk({ skills: ["refund"] }), skills)).toThrow(
    expect.objectContaining({ code: "SKILL_UNKNOWN", hint: "Did you mean refunds?" }),
  );
  expect(() => withSkills(desk({ skills: ["refunds"] }, { load_skill: own }), skills)).toThrow(
    expect.objectContaining({ code: "AGENT_INVALID" }),
  );
});
