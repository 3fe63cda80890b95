import { expect, test } from "vitest";
import { z } from "zod";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import { offlineModel } from "../../models/offline.ts";
import { chatAgent, conversationalAgent } from "../agent/agent.ts";
import { defineService, flow, type FlowHandler } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { defineState } from "./state.ts";

const state = defineState({
  schema: z.object({ stage: z.enum(["INIT", "FILLING", "READY"]).default("INIT") }),
  initial: () => ({ stage: "INIT" as const }),
  stages: {
    initial: "INIT",
    terminal: [],
    transitions: { INIT: ["FILLING"], FILLING: ["READY"], READY: [] },
  },
});

const agents = {
  intent: conversationalAgent({
    name: "intent",
    schema: z.object({ scenario: z.string(), message: z.string() }),
  }),
  slots: conversationalAgent({ name: "slots", schema: z.object({ to: z.string() }) }),
  words: chatAgent({ name: "words", prompt: "Ask." }),
};

const fill: FlowHandler = flow(async (turn) => {
  await turn.agent("slots", "읽는 중", { show: false });
  turn.now();
  turn.state.transition("FILLING");
  const { text } = await turn.agent("words", "묻는 중");
  turn.state.transition("READY");
  return turn.done({ message: text });
});

/** The same as a generator, which passes the events on itself. */
const fillByHand: FlowHandler = async function* (turn) {
  yield* turn.streamAgent("slots", "읽는 중", { show: false });
  turn.state.transition("FILLING");
  const { text } = yield* turn.streamAgent("words", "묻는 중");
  turn.state.transition("READY");
  return turn.done({ message: text });
};

const model = offlineModel("m", ({ output, messages }) => {
  if (!output) return "얼마를 보낼까요?";
  const isIntent = JSON.stringify(output.schema).includes("scenario");
  const said = (messages.at(-1) as { text: string }).text;
  return JSON.stringify(isIntent ? { scenario: said, message: "이미 보냈어요" } : { to: "엄마" });
});

const endsOf = (events: readonly TurnEvent[]): readonly unknown[] =>
  events.flatMap((event) =>
    event.type === "AGENT_DONE" ? [[event.data.agent, event.data.stage, event.data.result]] : [],
  );

test.each([
  ["a flow", fill],
  ["a generator", fillByHand],
])("AGENT_DONE has the stage to which the outcome has led, in %s", async (_what, handler) => {
  const service = defineService({ name: "bank", agents, state, flows: { TRANSFER: handler } });
  await using t = await startTestEngine(service, { offline: [model] });

  const { events, done } = await t.say("TRANSFER");

  expect(endsOf(events)).toEqual([
    ["intent", "INIT", { status: "success", data: { scenario: "TRANSFER" } }],
    ["slots", "FILLING", undefined],
    ["words", "READY", undefined],
  ]);
  expect(done.stateSnapshot["stage"]).toBe("READY");
  expect(JSON.stringify(events)).not.toContain("이미 보냈어요");
  const types = events.map(({ type }) => type).filter((type) => type !== "LLM_TOKEN");
  expect(types.slice(-4)).toEqual(["AGENT_START", "LLM_DONE", "AGENT_DONE", "DONE"]);
});

test("the end of an agent is told before a step of its flow goes outside", async () => {
  const told = Promise.withResolvers<void>();
  const service = defineService({
    name: "bank",
    agents: { words: agents.words },
    flows: {
      DEFAULT: flow(async (turn) => {
        await turn.agent("words", "묻는 중");
        await turn.step("wait until it was told", () => told.promise);
        return turn.done({ message: "ok" });
      }),
    },
  });
  await using t = await startTestEngine(service, { offline: [model] });

  const types: string[] = [];
  for await (const { type } of t.engine.turn({ session: "s1", message: "hi" })) {
    types.push(type);
    if (type === "AGENT_DONE") told.resolve();
  }

  expect(types.slice(-2)).toEqual(["AGENT_DONE", "DONE"]);
});
