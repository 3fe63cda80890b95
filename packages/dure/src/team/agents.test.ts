import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { startTestEngine } from "../engine/test-engine.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { Inbox } from "../escalations/inbox.ts";
import { ScriptedModel } from "@dure/testing";
import { agentServices } from "./agents.ts";
import { readTeam, type TeamOptions } from "./config.ts";
import { teamFolder } from "./test-team-folder.ts";

const other = defineService({
  name: "other",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: "x" })) },
});

const team = (agents: NonNullable<TeamOptions["agents"]>): TeamOptions => ({
  services: { other },
  agents,
});

test("an agent answers with its name and its persona files, under its own name", async () => {
  await using home = await teamFolder({
    "agents/ruda/SOUL.md": "You lead.",
    "agents/ruda/MEMORY.md": "- likes tea",
    "agents/ruda/agent.yaml": "display_name: 루다\n",
  });
  const services = await agentServices(
    await readTeam(team({ ruda: {}, eden: { service: "other" } }), home.folder),
  );
  const model = new ScriptedModel([
    {
      reply: "네",
      expect: (request) => expect(request.system).toBe("You are 루다.\n\nYou lead.\n\n- likes tea"),
    },
  ]);
  await using t = await startTestEngine(services, { offline: [model], model: "offline:scripted" });

  expect(services.map((service) => [service.name, service.title])).toEqual([["ruda", "루다"]]);
  expect(services[0]?.description).toBe("An agent of the team. Talk with it here.");
  expect(services[0]?.translations?.["ko"]?.description).toMatch("팀의 에이전트");
  expect((await t.say("안녕")).done.message).toBe("네");
});

test("an agent proposes a memory; the file changes only when a person says yes, and once", async () => {
  await using home = await teamFolder({ "agents/ruda/MEMORY.md": "- likes tea\n" });
  const file = path.join(home.folder, "agents/ruda/MEMORY.md");
  const services = await agentServices(await readTeam(team({ ruda: {} }), home.folder));
  const model = new ScriptedModel([
    { toolCalls: [{ name: "remember", args: { text: "the office moves in May" } }] },
    "기억했어요",
  ]);
  await using t = await startTestEngine(services, { offline: [model], model: "offline:scripted" });
  const inbox = new Inbox({ database: t.database, notifications: t.notifications });

  expect((await t.say("we move in May")).done.error?.code).toBe("APPROVAL_PENDING");
  expect(await readFile(file, "utf8")).toBe("- likes tea\n");
  const {
    items: [escalation],
  } = await inbox.list({ tenant: "", status: "open" });
  expect(escalation?.title).toBe("MEMORY.md: - the office moves in May");
  const { turn } = await inbox.answer(
    escalation!.id,
    { value: "approve" },
    { tenant: "", name: "boss" },
  );
  for await (const { event } of t.engine.read(turn!)) {
    if (event.type === "DONE") expect(event.data.message).toBe("기억했어요");
  }

  expect(await readFile(file, "utf8")).toBe("- likes tea\n- the office moves in May\n");
});

test("a key of agent.yaml that is not known is refused with what was meant", async () => {
  await using home = await teamFolder({ "agents/ruda/agent.yaml": "displyName: 루다\n" });

  await expect(readTeam(team({ ruda: {} }), home.folder)).rejects.toMatchObject({
    code: "AGENT_INVALID",
    hint: "Did you mean displayName?",
  });
});

test("a card stands in the configuration and in agent.yaml, and the configuration goes first", async () => {
  await using home = await teamFolder({
    "agents/ruda/agent.yaml": "card: { line: person, temperature: 1, budget: { day: 20 USD } }\n",
  });
  const { config, ...loaded } = await readTeam(
    team({ ruda: { card: { temperature: 0, budget: { turn: "1 USD" } } } }),
    home.folder,
  );

  const [ruda] = await agentServices({ config, ...loaded });

  expect(config.agents?.["ruda"]?.card?.line).toBe("person");
  expect(ruda?.agents["ruda"]?.card).toMatchObject({
    line: "person",
    temperature: 0,
    budget: { turn: { microUsd: 1_000_000 } },
  });
});
