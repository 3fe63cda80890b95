import { expect, test } from "vitest";
import { isOfAgents } from "./dev.ts";

test.each([
  ["agents/mina/agent.yaml", true],
  ["agents/mina/SOUL.md", true],
  ["agents/mina/agent.md", true],
  ["AGENTS.md", true],
  ["skills/refunds/SKILL.md", true],
  ["skills/refunds/references/policy.md", true],
  ["agents/mina/notes/SOUL.md", false],
  ["agents/mina/tools.ts", false],
  ["dure.config.ts", false],
  ["services/minimal/AGENTS.md", false],
])("whether %s is read by agents alone: %s", (file, is) => {
  expect(isOfAgents(file)).toBe(is);
});
