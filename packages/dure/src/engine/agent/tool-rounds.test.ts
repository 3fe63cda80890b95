import { expect, test } from "vitest";
import { z } from "zod";
import type { ModelRequest } from "../../models/model.ts";
import { offlineModel, type OfflineReply } from "../../models/offline.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { chatAgent } from "./agent.ts";
import { tool } from "./tool.ts";

const look = tool({
  description: "Looks something up.",
  inputSchema: z.object({ what: z.string() }),
  execute: ({ what }) => `${what} is 42`,
});

const desk = defineService({
  name: "desk",
  agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { look } }) },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
  },
});

function looks(what: string): OfflineReply {
  return { toolCalls: [{ name: "look", args: { what } }] };
}

function lastText({ messages }: ModelRequest): string {
  const last = messages.at(-1);
  return last?.role === "user" ? last.text : "";
}

test("a model that makes the same call three times is told once, and may do better", async () => {
  const model = offlineModel("model", (request) =>
    lastText(request).includes("the same call of look") ? "It is 42." : looks("the price"),
  );
  await using at = await startTestEngine(desk, { offline: [model] });

  const { done, events } = await at.say("What is the price?");

  expect(done).toMatchObject({ message: "It is 42." });
  expect(done.error).toBeUndefined();
  expect(events.filter(({ type }) => type === "TOOL_START")).toHaveLength(3);
});

test("a model that goes on with the same call ends its turn, with words for the person", async () => {
  const model = offlineModel("model", () => looks("the price"));
  await using at = await startTestEngine(desk, { offline: [model] });

  const { done, events } = await at.say("What is the price?");

  expect(done.error).toMatchObject({ code: "AGENT_LOOPS" });
  expect(done.message).toMatch(/without coming to an answer/);
  expect(events.filter(({ type }) => type === "TOOL_START")).toHaveLength(4);
});

test("a model that answers nothing when its rounds are over is no success", async () => {
  let calls = 0;
  const asked: ModelRequest[] = [];
  const model = offlineModel("model", (request) => {
    asked.push(request);
    return looks(`thing ${calls++}`);
  });
  await using at = await startTestEngine(desk, { offline: [model] });

  const { done } = await at.say("Look at everything");

  expect(done.error).toMatchObject({ code: "AGENT_LOOPS" });
  expect(done.trace.agents).toMatchObject([{ success: false, error: "AGENT_LOOPS" }]);
  expect(asked).toHaveLength(9);
  expect(asked.at(-1)).toMatchObject({ toolChoice: "none" });
  expect(lastText(asked.at(-1)!)).toMatch(/No tool can be called any more/);
});
