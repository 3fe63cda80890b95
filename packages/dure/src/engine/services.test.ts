import { expect, test } from "vitest";
import { z } from "zod";
import { offlineModel } from "../models/offline.ts";
import { createServer, startServer } from "../server/server.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { chatAgent, conversationalAgent } from "./agent.ts";
import { combineServices, keywordRouter, modelRouter } from "./combine.ts";
import { remoteService } from "./remote-service.ts";
import { defineService, flow, type Service } from "./service.ts";
import { defineState } from "./state.ts";
import { startTestEngine } from "./test-engine.ts";

/** Asks for two words one after another, then ends. */
const wizard = defineService({
  name: "wizard",
  agents: { intent: conversationalAgent({ name: "intent", schema: z.object({ scenario: z.string() }) }) },
  state: defineState({
    schema: z.object({ stage: z.enum(["INIT", "FILLING", "FINISHED"]), words: z.array(z.string()) }),
    initial: (): { stage: "INIT" | "FILLING" | "FINISHED"; words: string[] } => ({ stage: "INIT", words: [] }),
    stages: { initial: "INIT", terminal: ["FINISHED"], transitions: { INIT: ["FILLING"], FILLING: ["FINISHED"], FINISHED: ["INIT"] } },
  }),
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: "small talk" })),
    WIZARD: flow(async (turn) => {
      const words = [...(turn.state.value.words as string[]), turn.message];
      turn.state.update({ words, stage: words.length > 1 ? "FINISHED" : "FILLING" });
      return turn.done({ message: words.length > 1 ? `got ${words.join("+")}` : "next word?" });
    }),
  },
});

const intents = offlineModel("intents", (request) => {
  const text = (request.messages.at(-1) as { text: string }).text;
  return { object: { scenario: text.startsWith("wizard") ? "WIZARD" : "DEFAULT" } };
});

const named = (name: string): Service => defineService({ name, agents: {}, flows: { DEFAULT: flow(async (turn) => turn.done({ message: `${name}: ${turn.message}` })) } });

test("the intent agent chooses the flow, is skipped in the middle of a flow, and a finished flow begins anew", async () => {
  await using t = await startTestEngine(wizard, { offline: [intents] });

  const first = await t.say("wizard please");
  const second = await t.say("hello");
  const third = await t.say("hello");

  expect(first.done).toMatchObject({ message: "next word?", stateSnapshot: { stage: "FILLING" } });
  expect(second.done).toMatchObject({ message: "got wizard please+hello", stateSnapshot: { stage: "FINISHED", words: ["wizard please", "hello"] } });
  expect(second.done.trace.agents).toEqual([]);
  expect(third.done).toMatchObject({ message: "small talk", stateSnapshot: { stage: "INIT", words: [] } });
  expect(await t.engine.completed("s1")).toMatchObject([{ service: "wizard", flow: "WIZARD", stage: "FINISHED", data: { words: ["wizard please", "hello"] } }]);
});

test("an intent agent that fails keeps the scenario and does not end the turn", async () => {
  const broken = offlineModel("intents", () => ({ error: { status: 400, message: "no" } }));
  await using t = await startTestEngine(wizard, { offline: [broken] });

  const { done } = await t.say("wizard please");

  expect(done.message).toBe("small talk");
  expect(done.error).toBeUndefined();
  expect(done.trace.agents).toMatchObject([{ agent: "intent", success: false }]);
});

test("a stage that the machine does not allow ends the turn and changes nothing", async () => {
  const { intent: _none, ...rest } = wizard;
  const service = defineService({ ...rest, agents: {}, flows: { DEFAULT: flow(async (turn) => (turn.state.transition("FINISHED"), turn.done({ message: "never" }))) } });
  await using t = await startTestEngine(service);

  expect((await t.say("go")).done).toMatchObject({ error: { code: "STAGE_REFUSED" }, stateSnapshot: { stage: "INIT" } });
});

test("several services answer behind one name; a person stays in a flow unless it asks to leave", async () => {
  const both = combineServices({
    name: "all",
    services: [wizard, named("faq")],
    router: keywordRouter({ rules: [{ service: "wizard", keywords: ["wizard"] }], default: "faq" }),
  });
  await using t = await startTestEngine(both, { offline: [intents] });

  expect((await t.say("what is it")).done.message).toBe("faq: what is it");
  expect((await t.say("wizard now")).done.message).toBe("next word?");
  expect((await t.say("다른 얘기 하자")).done.message).toBe("faq: 다른 얘기 하자");
  expect((await t.say("wizard again")).done.message).toBe("next word?");
  expect((await t.say("faq")).done.message).toBe("got wizard again+faq");
});

test("a keyword counts at the start of a word only", async () => {
  const router = keywordRouter({ rules: [{ service: "transfer", keywords: ["이체", "send"] }], default: "faq" });
  if (router.kind !== "function") throw new Error("a keyword router is a function");
  const options = { services: [], current: undefined, locale: "ko", signal: new AbortController().signal };

  expect(["이체해줘", "계좌이체 안내", "please send", "resend it"].map((text) => router.route(text, options))).toEqual(["transfer", "faq", "transfer", "faq"]);
});

test("a model chooses the service; one that is unknown or fails falls to the default", async () => {
  const chooser = offlineModel("chooser", (request) => ({ object: { service: (request.messages.at(-1) as { text: string }).text } }));
  const both = combineServices({ name: "all", services: [named("a"), named("b")], router: modelRouter({ default: "a", services: { a: "first", b: "second" } }) });
  await using t = await startTestEngine(both, { offline: [chooser] });

  expect((await t.say("b")).done.message).toBe("b: b");
  expect((await t.say("zzz")).done.message).toBe("a: zzz");
});

test("a remote service passes events, DONE and errors through unchanged, once for a turn", async () => {
  const helper = defineService({
    name: "helper",
    agents: { echo: chatAgent({ name: "echo" }) },
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("echo", "생각 중")).text, nextAction: "CONFIRM" })) },
  });
  await using there = await startTestEngine(helper);
  const app = createServer({
    conversations: there.engine,
    events: { follow: async function* () {}, now: async () => "1.0.0", beforeLast: async () => "1.0.0" },
    health: async () => ({ ready: true, checks: {} }),
    metrics: async () => "",
    auth: "open",
    devMode: true,
    logger: silentLogger,
    clock: systemClock,
    version: "0",
    locale: "ko",
  });
  const { url } = await startServer(app, { port: 0 });
  try {
    await using here = await startTestEngine(remoteService(url, { name: "far" }));

    const { done, events } = await here.say("멀리 있나요");

    expect(events.map((event) => event.type).filter((type) => type !== "LLM_TOKEN")).toEqual(["AGENT_START", "LLM_DONE", "AGENT_DONE", "DONE"]);
    expect(done).toMatchObject({ message: "멀리 있나요", nextAction: "CONFIRM", trace: { agents: [{ agent: "echo" }] } });
  } finally {
    await app.close();
  }
});

test("a remote service that cannot be reached ends the turn with a normal error DONE", async () => {
  await using here = await startTestEngine(remoteService("http://127.0.0.1:9", { name: "far" }));

  expect((await here.say("hello")).done.error?.code).toBe("REMOTE_UNAVAILABLE");
});

test("older turns are folded into a summary between turns, and the model sees summary and recent turns", async () => {
  const requests: string[] = [];
  const model = offlineModel("m", (request) => {
    const last = (request.messages.at(-1) as { text: string }).text;
    if (last.includes("<dialog>")) return `summary of ${last.match(/user: /g)?.length} turns`;
    requests.push(`${request.system ?? ""} / ${request.messages.length}`);
    return "ok";
  });
  const chat = defineService({ name: "chat", agents: { a: chatAgent({ name: "a", prompt: "P" }) }, flows: { DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("a", "…")).text })) } });
  await using t = await startTestEngine(chat, { offline: [model] });

  for (let index = 1; index <= 6; index++) await t.say(`message ${index}`);
  await expect.poll(async () => (await t.engine.debug("s1")).memory.summaryText, { timeout: 5_000 }).toBe("summary of 2 turns");
  await t.say("message 7");

  const { memory } = await t.engine.debug("s1");
  expect(memory.rawHistory.filter((entry) => entry.role === "user").map((entry) => entry.content)).toEqual(["message 3", "message 4", "message 5", "message 6", "message 7"]);
  expect(requests.at(-1)).toContain("summary of 2 turns");
  const calls = await t.database.query<{ turn_id: string; service: string; tokens: number }>({ text: "select turn_id, service, tokens_in + tokens_out as tokens from dure.model_calls where agent = 'memory'" });
  expect(calls).toEqual([{ turn_id: "memory/s1", service: "chat", tokens: expect.any(Number) as number }]);
});

test("a summary that fails keeps the old one and the last 12 turns", async () => {
  const model = offlineModel("m", (request) => ((request.messages.at(-1) as { text: string }).text.includes("<dialog>") ? { error: { status: 400 } } : "ok"));
  const chat = defineService({ name: "chat", agents: { a: chatAgent({ name: "a" }) }, flows: { DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("a", "…")).text })) } });
  await using t = await startTestEngine(chat, { offline: [model] });

  for (let index = 1; index <= 14; index++) await t.say(`message ${index}`);

  await expect.poll(async () => (await t.engine.debug("s1")).memory.rawHistory.length, { timeout: 5_000 }).toBe(24);
});
