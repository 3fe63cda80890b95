import { expect, test } from "vitest";
import { z } from "zod";
import { chatAgent } from "../engine/agent/agent.ts";
import { tool, type ToolOptions } from "../engine/agent/tool.ts";
import { defineService, flow } from "../engine/service/service.ts";
import type { Approver, CardInput } from "../models/card.ts";
import { withApprovals } from "./approvals.ts";

type Approval = ToolOptions<unknown, unknown>["approval"];

/** What the tool `pay` needs, where it and the card of its agent say so. */
function needed(own: Approval, approvals: CardInput["approvals"]) {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({}),
    effect: "once",
    recover: "ask",
    ...(own === undefined ? {} : { approval: own }),
    execute: () => ({ paid: true }),
  });
  const clerk = chatAgent({
    name: "clerk",
    prompt: "Help.",
    tools: { pay },
    card: { approvals: approvals! },
  });
  const desk = defineService({
    name: "desk",
    agents: { clerk },
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: "x" })) },
  });
  const { by, needs } = withApprovals(desk).agents["clerk"]!.tools["pay"]!.approval!;
  return { by, needs };
}

const TREASURY = { role: "treasury" };

test.each<[string, Approval, CardInput["approvals"], object]>([
  ["a list", undefined, ["pay"], { by: "operator", needs: undefined }],
  ["the person", undefined, { pay: "person" }, { by: "person", needs: undefined }],
  ["a role", undefined, { pay: TREASURY }, { by: "operator", needs: TREASURY }],
  ["two people", undefined, { pay: { two: true } }, { by: "operator", needs: { two: true } }],
  [
    "a second person beside the tool's role",
    { by: TREASURY },
    { pay: { two: true } },
    { by: "operator", needs: { ...TREASURY, two: true } },
  ],
  [
    "less than the tool",
    { by: TREASURY, two: true },
    { pay: { ...TREASURY, two: false } },
    { by: "operator", needs: { ...TREASURY, two: true } },
  ],
])("a card that names %s takes nothing from what the tool asks for", (_what, own, card, needs) => {
  expect(needed(own, card)).toEqual(needs);
});

test("a card cannot put another role in the place of the tool's", () => {
  expect(() => needed({ by: TREASURY }, { pay: { role: "interns" } })).toThrow(
    "The tool pay asks for the role treasury; a card cannot name interns instead.",
  );
});

test.each([
  [{ pay: { role: "Big Boss" } }, "approvals.pay.role: must be small letters"],
  [{ pay: { rolle: "treasury" } }, "must be a list of tools"],
  [{ pay: "boss" }, 'approvals: must be a list of tools, or "operator"'],
] as unknown as [Record<string, Approver>, string][])(
  "a card with the approvals %j is refused with words that name the fault",
  (card, words) => {
    expect(() => needed(undefined, card)).toThrow(words);
  },
);
