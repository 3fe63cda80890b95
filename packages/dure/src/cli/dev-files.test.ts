import { expect, test } from "vitest";
import { isOfProcess } from "./dev.ts";

test.each([
  [".env", true],
  ["package.json", true],
  ["tsconfig.json", true],
  ["agents/mina/agent.yaml", false],
  ["skills/refunds/SKILL.md", false],
  ["tools/greet.ts", false],
  ["services/faq/package.json", false],
  ["dure.config.ts", false],
])("whether %s is read at the start of a process alone: %s", (file, is) => {
  expect(isOfProcess(file)).toBe(is);
});
