// @module-tag slow
import { expect, test } from "vitest";
import { z } from "zod";
import {
  AgentResult,
  chatAgent,
  conversationalAgent,
  customAgent,
} from "../../src/engine/agent/agent.ts";
import { defineService, flow, type ServiceOptions } from "../../src/engine/service/service.ts";
import { defineState } from "../../src/engine/turn/state.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import { ScriptedModel } from "@dure/testing";

const QUICK = { maxAttempts: 3, backoffSec: 0 } as const;
const answers: ServiceOptions["flows"] = {
  DEFAULT: flow(async (turn) =>
    turn.done({ message: (await turn.agent("helper", "답변 작성 중", { show: false })).text }),
  ),
};
const Answer = z.object({ action: z.string(), message: z.string() });

test("a card's schema and validator are found in the service; a complaint goes back to the model", async () => {
  const model = new ScriptedModel([
    '{"action":"a","message":"야"}',
    { expect: "Be polite.", reply: '{"action":"a","message":"안녕하세요"}' },
  ]);
  const service = defineService({
    name: "polite",
    agents: {
      helper: chatAgent({
        name: "helper",
        card: { policy: { ...QUICK, schema: "Answer", validate: "polite" } },
      }),
    },
    flows: answers,
    schemas: { Answer },
    validators: {
      polite: (output) =>
        (output as { message: string }).message.endsWith("요") ? undefined : "Be polite.",
    },
  });
  await using t = await startTestEngine(service, { offline: [model] });

  const { done } = await t.say("hello");

  expect(service.agents["helper"]?.kind).toBe("conversational");
  expect(done.message).toBe("안녕하세요");
  model.assertComplete();
});

test("a chat agent's text is validated too", async () => {
  const model = new ScriptedModel(["야", "안녕하세요"]);
  const helper = chatAgent({
    name: "helper",
    card: { policy: QUICK },
    validate: (output) =>
      (output as { message: string }).message.endsWith("요") ? undefined : "Be polite.",
  });
  await using t = await startTestEngine(
    defineService({ name: "polite", agents: { helper }, flows: answers }),
    { offline: [model] },
  );

  expect((await t.say("hello")).done.message).toBe("안녕하세요");
});

test.each([
  ["schema", { schema: "Answr" }],
  ["validator", { validate: "polit" }],
])("a card that names a %s that the service does not have is refused", (kind, policy) => {
  const define = (): unknown =>
    defineService({
      name: "polite",
      agents: { helper: chatAgent({ name: "helper", card: { policy } }) },
      flows: answers,
      schemas: { Answer },
      validators: { polite: () => undefined },
    });

  expect(define).toThrow(
    new RegExp(
      `Service "polite": agents\\.helper: the card names the ${kind} "${Object.values(policy)[0]}"`,
    ),
  );
});

test("members that begin with an underscore survive the schema", async () => {
  const model = new ScriptedModel(['{"action":"a","message":"m","_meta":{"why":"so"},"other":1}']);
  const helper = conversationalAgent({ name: "helper", schema: Answer });
  const service = defineService({
    name: "s",
    agents: { helper },
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({ message: JSON.stringify((await turn.agent("helper", "…")).data) }),
      ),
    },
  });
  await using t = await startTestEngine(service, { offline: [model] });

  expect(JSON.parse((await t.say("hello")).done.message)).toEqual({
    action: "a",
    message: "m",
    _meta: { why: "so" },
  });
});

test("`completed` says what a finished flow leaves, unless its handler does", async () => {
  const service = defineService({
    name: "orders",
    agents: {},
    state: defineState({
      schema: z.object({ stage: z.enum(["INIT", "BOOKED"]), item: z.string() }),
      initial: () => ({ stage: "INIT", item: "" }),
      stages: {
        initial: "INIT",
        terminal: ["BOOKED"],
        transitions: { INIT: ["BOOKED"], BOOKED: ["INIT"] },
      },
    }),
    flows: {
      ORDER: flow(async (turn) => {
        turn.state.update({ item: turn.message });
        turn.state.transition("BOOKED");
        return turn.done({
          message: "booked",
          ...(turn.message === "own" && {
            completed: { flow: "ORDER", stage: "BOOKED", data: "the handler's" },
          }),
        });
      }),
    },
    completed: (done, key, turn) => ({
      flow: key,
      stage: "BOOKED",
      data: `${done.message} ${turn.message}`,
    }),
  });
  await using t = await startTestEngine(service);

  await t.say("tea");
  await t.say("own");

  expect((await t.engine.completed("s1")).map(({ data }) => data)).toEqual([
    "the handler's",
    "booked tea",
  ]);
});

test("onError words the trouble in the session's language; without its word the engine's text stays", async () => {
  const heard: unknown[] = [];
  const service = defineService({
    name: "s",
    agents: {},
    flows: {
      DEFAULT: flow(async () => {
        throw new Error("the desk is on fire");
      }),
    },
    onError: ({ code }, locale) => {
      heard.push([code, locale]);
      return locale === "en" ? "Our desk is on fire." : undefined;
    },
  });
  await using t = await startTestEngine(service);

  const english = await t.say("hello", { locale: "en" });
  const korean = await t.say("안녕", { session: "s2" });

  expect(english.done).toMatchObject({
    message: "Our desk is on fire.",
    error: { code: "INTERNAL" },
    stateSnapshot: {},
  });
  expect(korean.done.message).toBe("처리하는 중에 문제가 생겼어요. 잠시 후 다시 시도해 주세요.");
  expect(heard).toEqual([
    ["INTERNAL", "en"],
    ["INTERNAL", "ko"],
  ]);
});

test.each([
  ["needInfo", AgentResult.needInfo(["amount"], "얼마를 보낼까요?"), "얼마를 보낼까요?"],
  ["cannotHandle", AgentResult.cannotHandle("not my field"), ""],
  ["partial", AgentResult.partial({ message: "half" }, "the rest is unknown"), "half"],
  ["success", AgentResult.success({ message: "whole" }), "whole"],
] as const)(
  "a custom agent's %s reaches the handler and AGENT_DONE as it is",
  async (_name, result, text) => {
    const seen: unknown[] = [];
    const helper = customAgent({ name: "helper", run: async () => result });
    const service = defineService({
      name: "s",
      agents: { helper },
      flows: {
        DEFAULT: flow(async (turn) => {
          const outcome = await turn.agent("helper", "…");
          seen.push(outcome.result, outcome.text);
          return turn.done({ message: "ok" });
        }),
      },
    });
    await using t = await startTestEngine(service);

    const { events } = await t.say("hello");

    expect(seen).toEqual([result, text]);
    expect(events.find(({ type }) => type === "AGENT_DONE")?.data).toMatchObject({
      success: true,
      result,
    });
  },
);

test("a retriever's passages are in the prompt, at most eight of them", async () => {
  const model = new ScriptedModel([
    {
      expect: ({ system }) =>
        expect(system).toMatch(/passage 1\b[\s\S]*passage 8\b(?![\s\S]*passage 9)/),
      reply: "ok",
    },
  ]);
  const retriever = {
    search: async () => Array.from({ length: 10 }, (_, index) => `passage ${index + 1}`),
  };
  await using t = await startTestEngine(
    defineService({
      name: "s",
      agents: { helper: chatAgent({ name: "helper", retriever }) },
      flows: answers,
    }),
    { offline: [model] },
  );

  expect((await t.say("hello")).done.message).toBe("ok");
  model.assertComplete();
});
