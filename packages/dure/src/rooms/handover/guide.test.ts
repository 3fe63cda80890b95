import { expect, test } from "vitest";
import { tool } from "../../engine/agent/tool.ts";
import { z } from "zod";
import {
  agentGuide,
  agentsFile,
  collaborationPolicy,
  agentsFileKo,
  collaborationPolicyKo,
} from "./guide.ts";
import { ROOM_LIMITS } from "../limits.ts";

const aTool = (description: string) =>
  tool({ description, inputSchema: z.object({}), execute: () => null });

test.each([
  ["COLLABORATION.md", collaborationPolicy],
  ["AGENTS.md", agentsFile],
])(
  "P1 P2 %s says: visible work first, collaborate, rules of threads, guards with their numbers in force",
  (_file, write) => {
    const text = write({
      ...ROOM_LIMITS,
      pairCalls: 17,
      threadMessages: 23,
      exchangeMessages: 41,
      chainDepth: 9,
    });

    expect(text).toContain("Visible work comes first");
    expect(text).toContain("`collaborate");
    expect(text).toContain("takes part");
    for (const number of [17, 23, 41, 9]) expect(text).toMatch(new RegExp(`\\b${number}\\b`));
  },
);

test.each([
  ["COLLABORATION.md", collaborationPolicyKo, collaborationPolicy],
  ["AGENTS.md", agentsFileKo, agentsFile],
])("%s says the same numbers and names of tools in Korean", (_file, korean, english) => {
  const limits = { ...ROOM_LIMITS, pairCalls: 17, threadMessages: 23, exchangeMessages: 41 };
  const factsOf = (text: string): readonly string[] =>
    [...new Set(text.match(/\d+|`[^`]+`/g))].toSorted();

  expect(factsOf(korean(limits))).toEqual(factsOf(english(limits)));
  expect(korean(limits)).toMatch(/[가-힣]/);
});

test.each([
  ["English", agentsFile],
  ["Korean", agentsFileKo],
])("P4 AGENTS.md in %s names both ways to ask another agent", (_language, write) => {
  const text = write(ROOM_LIMITS);

  expect(text).toContain("`collaborate`");
  expect(text).toContain("`ask_agent`");
});

test("P4 with both, the guide says which is for what, and names every tool that the agent has", () => {
  const guide = agentGuide({
    collaborate: aTool("Hands over in the open."),
    ask_agent: aTool("Asks in the background."),
    remember: aTool("Keeps."),
  });

  expect(guide).toContain(
    "people should be able to follow is handed over in the open, with `collaborate`",
  );
  expect(guide).toContain("in the background, with `ask_agent`");
  expect(guide).toContain("also within a background job"); // P3
  expect(guide).toContain("- `collaborate`: Hands over in the open.");
  expect(guide).not.toContain("`remember`");
});

test("without tools there is nothing to guide", () => {
  expect(agentGuide({})).toBe("");
});
