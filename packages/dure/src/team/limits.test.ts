import { expect, test } from "vitest";
import { chooseLlm } from "../engine/agent-run.ts";
import type { Llm } from "../models/card.ts";
import { readEnvironment } from "./environment.ts";
import { everyModelOf, modelOf } from "./limits.ts";
import type { TeamConfig } from "./config.ts";

const config = {} as TeamConfig;
const llm = (provider: Llm["provider"], model: string): Llm => ({ provider, model, fallbacks: [] });

test.for([
  [{}, "offline"],
  [{ OPENAI_API_KEY: "k" }, "openai"],
  [{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }, "anthropic"],
  [{ OPENAI_API_KEY: "k", DURE_MODEL: "offline" }, "offline"],
] as const)("with %j the team's provider is %s", ([source, provider]) => {
  expect(modelOf(config, readEnvironment(source)).provider).toBe(provider);
});

test("DURE_MODEL with a real provider holds for every agent; offline holds for none", () => {
  expect(everyModelOf(readEnvironment({ DURE_MODEL: "openai:gpt-x" }))?.model).toBe("gpt-x");
  expect(everyModelOf(readEnvironment({ DURE_MODEL: "offline" }))).toBeUndefined();
});

test.for([
  { own: undefined, team: llm("offline", "echo"), every: undefined, chosen: "offline:echo" },
  { own: llm("offline", "intent"), team: llm("offline", "echo"), every: undefined, chosen: "offline:intent" },
  { own: llm("offline", "intent"), team: llm("openai", "gpt"), every: undefined, chosen: "openai:gpt" },
  { own: llm("anthropic", "big"), team: llm("openai", "gpt"), every: undefined, chosen: "anthropic:big" },
  { own: llm("anthropic", "big"), team: llm("openai", "gpt"), every: llm("openai", "all"), chosen: "openai:all" },
] as const)("an agent with $own.model in a team with $team.model asks $chosen", ({ own, team, every, chosen }) => {
  const { provider, model } = chooseLlm(own, team, every);
  expect(`${provider}:${model}`).toBe(chosen);
});
