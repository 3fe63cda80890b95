import { expect, test } from "vitest";
import { z } from "zod";
import { offlineModel } from "../models/offline.ts";
import { chatAgent, conversationalAgent } from "./agent/agent.ts";
import { defineService, flow } from "./service/service.ts";
import { startTestEngine } from "./test-engine.ts";

const chat = defineService({
  name: "chat",
  agents: { helper: chatAgent({ name: "helper", prompt: "Answer briefly." }) },
  flows: {
    DEFAULT: flow(async (turn) =>
      turn.done({ message: (await turn.agent("helper", "답변 작성 중")).text }),
    ),
  },
});

test("a plain turn streams its agent and ends in one DONE with a snapshot and a trace", async () => {
  await using t = await startTestEngine(chat);

  const { done, events } = await t.say("안녕하세요 반갑습니다");

  expect(
    events.map((event) => event.type).filter((type, index, all) => type !== all[index - 1]),
  ).toEqual(["AGENT_START", "LLM_TOKEN", "LLM_DONE", "AGENT_DONE", "DONE"]);
  expect(done).toMatchObject({
    message: "안녕하세요 반갑습니다",
    nextAction: "ASK",
    stateSnapshot: {},
    trace: { agents: [{ agent: "helper", success: true }] },
  });
});

test("the model sees the conversation so far and the new message once", async () => {
  const seen: string[][] = [];
  const model = offlineModel("m", (request) => {
    seen.push(request.messages.map((message) => (message.role === "tool" ? "tool" : message.text)));
    return `answer ${seen.length}`;
  });
  await using t = await startTestEngine(chat, { offline: [model] });

  await t.say("first");
  await t.say("second");

  expect(seen).toEqual([["first"], ["first", "answer 1", "second"]]);
});

test("a conversational agent streams its message from incomplete JSON, and keeps underscored members", async () => {
  const model = offlineModel("m", () => ({
    chunks: ['{"action":"ask","_meta":{"x":1},"mess', 'age":"얼마를 ', '보낼까요?"}'],
  }));
  const service = defineService({
    name: "json",
    agents: {
      ask: conversationalAgent({
        name: "ask",
        schema: z.object({ action: z.string(), message: z.string() }),
      }),
    },
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({ message: JSON.stringify((await turn.agent("ask", "…")).data) }),
      ),
    },
  });
  await using t = await startTestEngine(service, { offline: [model] });

  const { done, events } = await t.say("hi");

  const shown = events
    .flatMap((event) => (event.type === "LLM_TOKEN" ? [event.data] : []))
    .join("");
  expect(shown).toBe("얼마를 보낼까요?");
  expect(JSON.parse(done.message)).toEqual({
    _meta: { x: 1 },
    action: "ask",
    message: "얼마를 보낼까요?",
  });
});
