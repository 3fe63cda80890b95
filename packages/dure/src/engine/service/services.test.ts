// @module-tag slow
import { createGoogle } from "@ai-sdk/google";
import { strictFetch } from "@dure/testing";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { z } from "zod";
import { offlineModel } from "../../models/offline.ts";
import { createServer, startServer } from "../../server/server.ts";
import { MemoryTokenStore } from "../../server/token-store.ts";
import { tool } from "../agent/tool.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import { AgentResult, chatAgent, conversationalAgent, customAgent } from "../agent/agent.ts";
import { Outbox } from "../../durable/outbox.ts";
import { joinTeam } from "../../durable/test-members.ts";
import { combineServices, keywordRouter, modelRouter, type AnyService } from "./combine.ts";
import { HookDelivery } from "../effects/hooks.ts";
import { remoteService } from "../remote/remote-service.ts";
import { defineService, flow, type Service } from "./service.ts";
import { defineState } from "../turn/state.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

/** Asks for two words one after another, then ends. */
const wizard = defineService({
  name: "wizard",
  agents: {
    intent: conversationalAgent({ name: "intent", schema: z.object({ scenario: z.string() }) }),
  },
  state: defineState({
    schema: z.object({
      stage: z.enum(["INIT", "FILLING", "FINISHED"]),
      words: z.array(z.string()),
    }),
    initial: (): { stage: "INIT" | "FILLING" | "FINISHED"; words: string[] } => ({
      stage: "INIT",
      words: [],
    }),
    stages: {
      initial: "INIT",
      terminal: ["FINISHED"],
      transitions: { INIT: ["FILLING"], FILLING: ["FINISHED"], FINISHED: ["INIT"] },
    },
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

const named = (name: string): Service =>
  defineService({
    name,
    agents: {},
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: `${name}: ${turn.message}` })) },
  });

test("the intent agent chooses the flow, is skipped in the middle of one; a finished flow begins anew", async () => {
  await using t = await startTestEngine(wizard, { offline: [intents] });

  const first = await t.say("wizard please");
  const second = await t.say("hello");
  const third = await t.say("hello");

  expect(first.done).toMatchObject({ message: "next word?", stateSnapshot: { stage: "FILLING" } });
  expect(second.done).toMatchObject({
    message: "got wizard please+hello",
    stateSnapshot: { stage: "FINISHED", words: ["wizard please", "hello"] },
  });
  expect(second.done.trace.agents).toEqual([]);
  expect(third.done).toMatchObject({
    message: "small talk",
    stateSnapshot: { stage: "INIT", words: [] },
  });
  expect(await t.engine.completed("s1")).toMatchObject([
    {
      service: "wizard",
      flow: "WIZARD",
      stage: "FINISHED",
      data: { words: ["wizard please", "hello"] },
    },
  ]);
});

test("an intent agent that fails keeps the scenario and does not end the turn", async () => {
  const broken = offlineModel("intents", () => ({ error: { status: 400, message: "no" } }));
  await using t = await startTestEngine(wizard, { offline: [broken] });

  const { done } = await t.say("wizard please");

  expect(done.message).toBe("small talk");
  expect(done.error).toBeUndefined();
  expect(done.trace.agents).toMatchObject([{ agent: "intent", success: false }]);
});

test("an intent agent that fails keeps the scenario; without one that has a flow the default flow answers", async () => {
  const intents = offlineModel("intents", (request) => {
    const { text } = request.messages.at(-1) as { text: string };
    return text === "fail"
      ? { error: { status: 400, message: "no" } }
      : { object: { scenario: text } };
  });
  const say = (name: string) =>
    flow(async (turn) => turn.done({ message: `${name} ${turn.scenario}` }));
  const service = (router?: Service["router"]) =>
    defineService({
      name: "flows",
      agents: wizard.agents,
      ...(router && { router }),
      flows: { DEFAULT: say("default"), ORDER: say("order"), RETURN: say("return") },
    });
  await using t = await startTestEngine(
    [
      service(),
      { ...service((scenario) => (scenario === "ORDER" ? "RETURN" : "NOWHERE")), name: "routed" },
    ],
    { offline: [intents] },
  );
  const answers: string[] = [];

  for (const message of ["fail", "ORDER", "fail", "NONE"]) {
    answers.push((await t.say(message)).done.message);
  }
  for (const message of ["ORDER", "RETURN"]) {
    answers.push((await t.say(message, { session: "s2", service: "routed" })).done.message);
  }

  expect(answers).toEqual([
    "default ",
    "order ORDER",
    "order ORDER",
    "default NONE",
    "return ORDER",
    "default RETURN",
  ]);
});

test("a stage that the machine does not allow ends the turn and changes nothing", async () => {
  const { intent: _none, ...rest } = wizard;
  const service = defineService({
    ...rest,
    agents: {},
    flows: {
      DEFAULT: flow(
        async (turn) => (turn.state.transition("FINISHED"), turn.done({ message: "never" })),
      ),
    },
  });
  await using t = await startTestEngine(service);

  expect((await t.say("go")).done).toMatchObject({
    error: { code: "STAGE_REFUSED" },
    stateSnapshot: { stage: "INIT" },
  });
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

test.for([
  ["다른 얘기 하자", true],
  ["이제 다른 거 할래요!", true],
  ["그만하고 나갈래", true],
  ["나가기", true],
  ["처음으로", true],
  ["처음으로 돌아가 줘.", true],
  ["Start over, please", true],
  ["let's talk about something else", true],
  ["처음으로 보내는 거야", false],
  ["처음으로 거래하는 곳이야", false],
  ["나가기 전에 보내줘", false],
  ["그만하고 싶은 일이 많아", false],
  ["다른 거 말고 그걸로", false],
  ["다른 서비스 이용료 3만원", false],
  ["leave it as it is", false],
  ["exit row, please", false],
  ["quit smoking fund", false],
] as const)("whether “%s” asks to leave a flow: %s", ([message, leaves]) => {
  const all = combineServices({
    services: [named("a")],
    router: keywordRouter({ rules: [], default: "a" }),
  });

  expect(all.asksToLeave(message)).toBe(leaves);
});

test("a flow whose stored state does not fit any longer ends the turn, also behind several services", async () => {
  const all = (service: Service) =>
    combineServices({
      name: "all",
      services: [service, named("faq")],
      router: keywordRouter({
        rules: [{ service: "wizard", keywords: ["wizard"] }],
        default: "faq",
      }),
    });
  const changed = {
    ...wizard,
    state: defineState({
      schema: z.object({ stage: z.string(), letters: z.string() }),
      initial: () => ({ stage: "INIT", letters: "" }),
      ...(wizard.state?.stages && { stages: wizard.state.stages }),
    }),
  };
  await using t = await startTestEngine(all(wizard), { offline: [intents] });
  await t.say("wizard now");
  await using released = await startTestEngine(all(changed), {
    on: { url: t.url },
    offline: [intents],
  });

  expect((await released.say("hello")).done.error?.code).toBe("STATE_INVALID");
});

test.each([
  ["이체해줘", "transfer"],
  ["계좌이체 하고 싶어", "transfer"],
  ["실시간이체", "transfer"],
  ["인터넷뱅킹이체 할래요", "transfer"],
  ["엄마한테 돈보내줘", "transfer"],
  ["돈 보내줘", "transfer"],
  ["용돈보내줘", "transfer"],
  ["please SEND", "transfer"],
  ["resend it", "faq"],
  ["대이체 무슨 말이야", "faq"],
  ["도대체 왜 그래", "faq"],
  ["못보내겠어", "faq"],
  ["아직못보내", "faq"],
  ["절대안보내", "faq"],
] as const)("the keywords of a transfer send “%s” to %s", async (message, service) => {
  const router = keywordRouter({
    rules: [{ service: "transfer", keywords: ["이체", "보내", "send"] }],
    default: "faq",
  });
  if (router.kind !== "function") throw new Error("a keyword router is a function");
  const { signal } = new AbortController();
  const options = { services: [], current: undefined, locale: "ko", signal };

  expect(await router.route(message, options)).toBe(service);
});

test("a model chooses the service; one that is unknown or fails falls to the default", async () => {
  const chooser = offlineModel("chooser", (request) => ({
    object: { service: (request.messages.at(-1) as { text: string }).text },
  }));
  const both = combineServices({
    name: "all",
    services: [named("a"), named("b")],
    router: modelRouter({
      default: "a",
      services: { a: "first", b: "second" },
      card: { policy: { backoffSec: 0 } },
    }),
  });
  await using t = await startTestEngine(both, { offline: [chooser] });

  expect((await t.say("b")).done.message).toBe("b: b");
  expect((await t.say("zzz")).done.message).toBe("a: zzz");
});

test.each([
  ["ko", undefined, "여기서 골라요: - a: first\n- b: second"],
  ["en", undefined, "Choose the service"],
  ["ko", "My own words.", "My own words."],
])(
  "a team's router.ko goes before ours in %s, and modelRouter's prompt %s before both",
  async (locale, prompt, begins) => {
    const seen: string[] = [];
    const chooser = offlineModel("chooser", ({ system = "" }) => {
      seen.push(system);
      return { object: { service: "b" } };
    });
    const both = combineServices({
      services: [named("a"), named("b")],
      router: modelRouter({ default: "a", services: { a: "first", b: "second" }, prompt }),
    });
    await using t = await startTestEngine(both, {
      offline: [chooser],
      engine: { locale, prompts: { "router.ko": "여기서 골라요: {{services}}" } },
    });

    expect((await t.say("아무거나")).done.message).toBe("b: 아무거나");
    expect(seen[0]!.startsWith(begins)).toBe(true);
  },
);

test.each(["보내기", "send money", "send.money", "", "x".repeat(65)])(
  "a tool that providers would refuse for its name, “%s”, cannot be given to an agent",
  (name) => {
    const look = tool({ description: "Looks.", inputSchema: z.object({}), execute: () => "" });

    expect(() => chatAgent({ name: "helper", tools: { [name]: look } })).toThrow(
      `The agent "helper" cannot offer a tool "${name}".`,
    );
    expect(chatAgent({ name: "helper", tools: { send_Money: look } }).tools).toHaveProperty(
      "send_Money",
    );
  },
);

/** A server over the engine, as another process would be. */
async function serverOf(
  there: TestEngine,
  tokens = new MemoryTokenStore(),
): Promise<{ url: string; app: ReturnType<typeof createServer> } & AsyncDisposable> {
  const app = createServer({
    conversations: there.engine,
    events: {
      follow: async function* () {},
      now: async () => "1.0.0",
      beforeLast: async () => "1.0.0",
    },
    health: async () => ({ ready: true, checks: {} }),
    metrics: async () => "",
    auth: tokens,
    devMode: true,
    logger: silentLogger,
    clock: systemClock,
    version: "0",
    locale: "ko",
  });
  const { url } = await startServer(app, { port: 0 });
  return { url, app, [Symbol.asyncDispose]: () => app.close() };
}

test("a remote service passes events, DONE and errors through unchanged, once for a turn", async () => {
  const helper = defineService({
    name: "helper",
    agents: { echo: chatAgent({ name: "echo" }) },
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({ message: (await turn.agent("echo", "생각 중")).text, nextAction: "CONFIRM" }),
      ),
    },
  });
  await using there = await startTestEngine(helper);
  await using server = await serverOf(there);
  await using here = await startTestEngine(remoteService(server.url, { name: "far" }));

  const { done, events } = await here.say("멀리 있나요");

  expect(events.map((event) => event.type).filter((type) => type !== "LLM_TOKEN")).toEqual([
    "AGENT_START",
    "LLM_DONE",
    "AGENT_DONE",
    "DONE",
  ]);
  expect(done).toMatchObject({
    message: "멀리 있나요",
    nextAction: "CONFIRM",
    trace: { agents: [{ agent: "echo" }] },
  });
});

test("a person stays in a flow on another server where it asks for a yes or its stage is in the middle", async () => {
  const asks = defineService({
    name: "asks",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({
          message: `asks: ${turn.message}`,
          nextAction: turn.message === "네" ? "DONE" : "CONFIRM",
        }),
      ),
    },
  });
  await using wizardThere = await startTestEngine(wizard, { offline: [intents] });
  await using asksThere = await startTestEngine(asks);
  await using wizardServer = await serverOf(wizardThere);
  await using asksServer = await serverOf(asksThere);
  const all = combineServices({
    name: "all",
    services: [
      remoteService(wizardServer.url, { name: "far" }),
      remoteService(asksServer.url, { name: "sure", service: "asks" }),
      named("faq"),
    ],
    router: keywordRouter({
      rules: [
        { service: "far", keywords: ["wizard"] },
        { service: "sure", keywords: ["sure"] },
      ],
      default: "faq",
    }),
  });
  await using t = await startTestEngine(all);
  const answers: string[] = [];

  for (const message of ["wizard now", "hello", "hello", "sure?", "네", "네"]) {
    answers.push((await t.say(message)).done.message);
  }

  expect(answers).toEqual([
    "next word?",
    "got wizard now+hello",
    "faq: hello",
    "asks: sure?",
    "asks: 네",
    "faq: 네",
  ]);
});

test("a service on another server whose question the person leaves is told so at once", async () => {
  const asks = defineService({
    name: "asks",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        const { question, because } = { because: "", ...turn.answering };
        return turn.done({
          message: question ? `done: ${question.text}` : `sure? ${because}`,
          nextAction: question ? "DONE" : "CONFIRM",
        });
      }),
    },
  });
  await using there = await startTestEngine(asks);
  await using server = await serverOf(there);
  const all = combineServices({
    name: "all",
    services: [remoteService(server.url, { name: "far" }), named("faq")],
    router: keywordRouter({ rules: [{ service: "faq", keywords: ["faq"] }], default: "far" }),
    asksToLeave: (message) => message === "faq",
  });
  await using here = await startTestEngine(all);
  await using _delivery = await deliverer(here.url, [all]);

  const asked = await here.say("hello");
  await here.say("faq");

  expect(asked.done).toMatchObject({ message: "sure? nothing-shown", nextAction: "CONFIRM" });
  const open = () =>
    there.database.query({ text: "select state->'question' as asks from dure.sessions" });
  await expect.poll(open, { timeout: 20_000 }).toEqual([{ asks: null }]);
  const [session] = await there.database.query<{ id: string }>({
    text: "select id from dure.sessions",
  });
  const yes = await there.say("yes", { session: session!.id });
  expect(yes.done.message).toBe("sure? nothing-shown");
  const late = await fetch(`${server.url}/v1/agent/sessions/${session!.id}/leave`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ question: asked.done.uiHint?.confirmId }),
  });
  expect(await late.json()).toEqual({ taken_back: false });
});

test.for([
  ["a stop", "stop", "TURN_STOPPED"],
  ["an interrupting message", "interrupt", "TURN_STOPPED"],
  ["a timeout", "timeout", "REMOTE_TIMEOUT"],
] as const)("%s ends the turn on the other server too", async ([, how, code]) => {
  const model = offlineModel("slow", (request) =>
    (request.messages.at(-1) as { text: string }).text === "slow"
      ? { chunks: ["하나 ", "둘 "], chunkDelayMs: 60_000 }
      : "quick",
  );
  const chat = defineService({
    name: "chat",
    agents: { a: chatAgent({ name: "a" }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("a", "…")).text })),
    },
  });
  await using there = await startTestEngine(chat, { offline: [model] });
  await using server = await serverOf(there);
  const far = {
    ...remoteService(server.url, { name: "far", ...(how === "timeout" && { timeout: "1s" }) }),
    sessions: { busy: "interrupt" as const },
  };
  await using here = await startTestEngine(far);
  const turn = here.engine.turn({ session: "s1", message: "slow" });
  for await (const event of turn) if (event.type === "LLM_TOKEN") break;

  if (how === "stop") await here.engine.stopTurn(await turn.turnId);
  const next = how === "interrupt" ? (await here.say("quick")).done.message : "quick";

  expect((await turn.done).error?.code).toBe(code);
  expect(next).toBe("quick");
  await expect
    .poll(
      async () =>
        (
          await there.database.query({
            text: "select done->'error'->>'code' as code from dure.turns order by accepted_at limit 1",
          })
        )[0],
      { timeout: 20_000 },
    )
    .toEqual({ code: "TURN_STOPPED" });
});

/** A chat whose model takes its time over “slow”. */
const slowModel = offlineModel("slow", (request) =>
  (request.messages.at(-1) as { text: string }).text === "slow"
    ? { chunks: ["하나 ", "둘 "], chunkDelayMs: 60_000 }
    : "quick",
);
const slowChat = defineService({
  name: "chat",
  agents: { a: chatAgent({ name: "a" }) },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("a", "…")).text })),
  },
});

async function codeThere(there: TestEngine): Promise<unknown> {
  return (
    await there.database.query<{ code: string | null }>({
      text: "select done->'error'->>'code' as code from dure.turns",
    })
  ).map(({ code }) => code);
}

/**
 * A network between two servers. `lets`: what becomes of a request; of one that is `lost` no answer
 * comes, of one that is `refused` the other server hears nothing.
 */
async function networkTo(
  server: { url: string },
  lets: (url: string) => "pass" | "lost" | "refused",
): Promise<{ url: string; cut(): void } & AsyncDisposable> {
  const between = createHttpServer((request, response) => {
    void (async () => {
      const way = lets(request.url!);
      if (way === "refused") return response.destroy();
      const body = await text(request);
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(
          ([name]) => !["host", "connection", "content-length"].includes(name),
        ),
      ) as Record<string, string>;
      const answer = await fetch(`${server.url}${request.url}`, {
        method: request.method!,
        headers,
        ...(body !== "" && { body }),
      });
      if (way === "lost") return;
      response.writeHead(answer.status, {
        "content-type": answer.headers.get("content-type") ?? "",
        "turn-id": answer.headers.get("turn-id") ?? "",
      });
      response.flushHeaders();
      for await (const piece of answer.body ?? []) response.write(piece);
      response.end();
    })().catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(between, "listening");
  return {
    url: `http://127.0.0.1:${(between.address() as AddressInfo).port}`,
    cut: () => between.closeAllConnections(),
    [Symbol.asyncDispose]: async () => {
      between.closeAllConnections();
      between.close();
      await once(between, "close");
    },
  };
}

test("a stop ends the turn on the other server also before it has said which one it is", async () => {
  await using there = await startTestEngine(slowChat, { offline: [slowModel] });
  await using server = await serverOf(there);
  const arrived = Promise.withResolvers<void>();
  let chats = 0;
  await using network = await networkTo(server, (url) => {
    if (url !== "/v1/agent/chat/stream" || ++chats > 1) return "pass";
    arrived.resolve();
    return "lost";
  });
  await using here = await startTestEngine(remoteService(network.url, { name: "far" }));
  const turn = here.engine.turn({ session: "s1", message: "slow" });
  const { turnId } = turn;
  await arrived.promise;

  await here.engine.stopTurn(await turnId);

  expect((await turn.done).error?.code).toBe("TURN_STOPPED");
  await expect.poll(() => codeThere(there), { timeout: 20_000 }).toEqual(["TURN_STOPPED"]);
});

/** A process that does what turns have left to be done. */
async function deliverer(url: string, services: readonly AnyService[]): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const us = stack.use(await joinTeam(url));
  const outbox = stack.use(new Outbox(us));
  outbox.handle(
    "hook",
    new HookDelivery({
      services,
      logger: us.logger,
      lease: us.lease.signal,
    }).handler,
  );
  outbox.start();
  return stack.move();
}

test.for([
  ["that has answered already", true, "stop", "TURN_STOPPED"],
  ["that has not said yet which turn it is", false, "stop", "TURN_STOPPED"],
  ["that did not end in time", true, "timeout", "REMOTE_TIMEOUT"],
] as const)(
  "a process gone right after the end of its turn leaves others to end it on the other server, one %s",
  { timeout: 60_000 },
  async ([, answers, how, code]) => {
    await using there = await startTestEngine(slowChat, { offline: [slowModel] });
    await using server = await serverOf(there);
    const arrived = Promise.withResolvers<void>();
    let isGone = false;
    await using network = await networkTo(server, (url) => {
      if (isGone) return "refused"; // nothing that the process has still to say leaves it
      if (url.endsWith("/chat/stream")) {
        arrived.resolve();
        isGone = how === "timeout"; // it is over before any test could say so
      }
      return answers ? "pass" : "lost";
    });
    const far = remoteService(network.url, {
      name: "far",
      ...(how === "timeout" && { timeout: "1s" }),
    });
    await using here = await startTestEngine(
      combineServices({
        name: "all",
        services: [named("near"), far],
        router: keywordRouter({ rules: [], default: "far" }),
      }),
    );
    const turn = here.engine.turn({ session: "s1", message: "slow" });
    await (answers ? turn[Symbol.asyncIterator]().next() : (turn.turnId, arrived.promise));
    await expect.poll(() => codeThere(there), { timeout: 20_000 }).toEqual([null]);

    isGone = true;
    if (how === "stop") await here.engine.stopTurn(await turn.turnId);
    expect((await turn.done).error?.code).toBe(code);
    await here.engine.stop();
    await using _next = await deliverer(here.url, [remoteService(server.url, { name: "far" })]);

    await expect.poll(() => codeThere(there), { timeout: 20_000 }).toEqual(["TURN_STOPPED"]);
  },
);

test("a turn stopped after its process has died ends on the other server too, also if nothing had come", async () => {
  await using there = await startTestEngine(slowChat, { offline: [slowModel] });
  await using server = await serverOf(there);
  const arrived = Promise.withResolvers<void>();
  await using network = await networkTo(server, () => (arrived.resolve(), "lost"));
  await using here = await startTestEngine(remoteService(network.url, { name: "far" }));
  const { turnId } = await here.engine.accept({ session: "s1", message: "slow" });
  await arrived.promise;
  await expect.poll(() => codeThere(there), { timeout: 20_000 }).toEqual([null]);
  here.fence();

  await here.database.query({
    text: `update dure.turns set holder = null, epoch = epoch + 1, stop = '{"by": "operator"}'`,
  });
  await using next = await startTestEngine(remoteService(server.url, { name: "far" }), {
    on: { url: here.url },
  });
  for await (const { event } of next.engine.read(turnId)) {
    if (event.type === "DONE") expect(event.data.error?.code).toBe("TURN_STOPPED");
  }

  await expect.poll(() => codeThere(there), { timeout: 20_000 }).toEqual(["TURN_STOPPED"]);
});

test("a stop that another server cannot be told is given up after some tries and holds up no hook longer", async () => {
  await using here = await startTestEngine(named("near"));
  const told: string[] = [];
  const near = { ...named("near"), hooks: { mail: async () => void told.push("mail") } };
  const row = (key: string, service: string, type: string, data: object) => ({
    topic: "hook",
    ordering: "s1",
    key,
    payload: { service, type, data, session: "s1", turn: "turn_1" },
  });
  const stop = {
    name: "far",
    key: "turn_1/1",
    id: "turn_there",
    request: { session: "s1", message: "slow", locale: "ko", timeZone: "Asia/Seoul" },
  };
  await here.database.query({ text: "select dure.enqueue($1)" }, [
    JSON.stringify([
      row("turn_1/1/stop", "far", "@stop-elsewhere", stop),
      row("turn_2.0", "near", "mail", {}),
    ]),
  ]);
  await here.database.query({
    text: "update dure.outbox set attempts = 5 where key = 'turn_1/1/stop'",
  }); // as after five tries, which take half a minute

  await using _process = await deliverer(here.url, [
    near,
    remoteService("http://127.0.0.1:9", { name: "far" }),
  ]);

  await expect.poll(() => told, { timeout: 20_000 }).toEqual(["mail"]);
  const rows = () =>
    here.database.query({ text: "select key, state from dure.outbox order by id" });
  await expect.poll(rows, { timeout: 20_000 }).toEqual([
    { key: "turn_1/1/stop", state: "failed" },
    { key: "turn_2.0", state: "sent" },
  ]);
  expect(await here.database.query({ text: "select from dure.escalations" })).toEqual([]);
});

test("a turn whose process dies goes on with the same turn on the other server, by its given token", async () => {
  const letGo = Promise.withResolvers<void>();
  const model = offlineModel("gated", async () => (await letGo.promise, "at last"));
  await using there = await startTestEngine(slowChat, { offline: [model] });
  const store = new MemoryTokenStore();
  store.add("secret-of-the-far-server", { name: "far", scopes: ["chat"] });
  await using server = await serverOf(there, store);
  const tokens = new Set<string | undefined>();
  server.app.server.on(
    "request",
    ({ headers }: IncomingMessage) => void tokens.add(headers.authorization),
  );
  const far = remoteService(server.url, { name: "far", auth: () => "secret-of-the-far-server" });
  await using here = await startTestEngine(far);
  const turn = here.engine.turn({ session: "s1", message: "hello" });
  for await (const event of turn) if (event.type === "AGENT_START") break;
  here.fence();
  await here.database.query({ text: "update dure.turns set holder = null, epoch = epoch + 1" });
  await using next = await startTestEngine(far, { on: { url: here.url } });
  await expect.poll(() => next.engine.running).toBe(1);

  letGo.resolve();
  const events: TurnEvent[] = [];
  for await (const { event } of next.engine.read(await turn.turnId)) events.push(event);

  expect(events.at(-1)).toMatchObject({ type: "DONE", data: { message: "at last" } });
  expect(
    events
      .filter(({ type }) => type === "AGENT_START")
      .map(({ data }) => (data as { restart?: true }).restart),
  ).toEqual([undefined, true]);
  expect(await codeThere(there)).toEqual([null]);
  expect([...tokens]).toEqual(["Bearer secret-of-the-far-server"]);
});

test("a turn that is stopped after its process has died ends on the other server too", async () => {
  await using there = await startTestEngine(slowChat, { offline: [slowModel] });
  await using server = await serverOf(there);
  const far = remoteService(server.url, { name: "far" });
  await using here = await startTestEngine(far);
  const turn = here.engine.turn({ session: "s1", message: "slow" });
  for await (const event of turn) if (event.type === "AGENT_START") break;
  here.fence();

  await here.database.query({
    text: `update dure.turns set holder = null, epoch = epoch + 1, stop = '{"by": "operator"}'`,
  });
  await using next = await startTestEngine(far, { on: { url: here.url } });
  let last;
  for await (const { event } of next.engine.read(await turn.turnId)) last = event;

  expect(last).toMatchObject({ data: { error: { code: "TURN_STOPPED" } } });
  await expect.poll(() => codeThere(there), { timeout: 15_000 }).toEqual(["TURN_STOPPED"]);
});

test.for([
  ...[500, 503, 408, 429].map((status) => ({
    status,
    refusals: 1,
    asks: 2,
    end: { message: "ok" },
  })),
  { status: 503, refusals: 99, asks: 6, end: { error: { code: "SERVER_STOPPING" } } },
  { status: 403, refusals: 99, asks: 1, end: { error: { code: "SERVER_STOPPING" } } },
])(
  "a remote service that answers $status $refusals times is asked $asks times, with growing pauses",
  { ...FULL, timeout: 30_000 },
  async ({ status, refusals, asks, end }) => {
    const asked: number[] = [];
    const problem = JSON.stringify({
      code: "SERVER_STOPPING",
      detail: "This process is stopping.",
    });
    const done = JSON.stringify({
      message: "ok",
      next_action: "ASK",
      state_snapshot: {},
      hooks: [],
      _trace: { turn_id: "turn_there", total_elapsed_ms: 1, agents: [] },
    });
    const server = createHttpServer((_request, response) => {
      asked.push(performance.now());
      if (asked.length <= refusals) {
        return void response
          .writeHead(status, { "content-type": "application/problem+json" })
          .end(problem);
      }
      response
        .writeHead(200, { "content-type": "text/event-stream", "turn-id": "turn_there" })
        .end(`id: turn_there.1\nevent: DONE\ndata: ${done}\n\n`);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      await using t = await startTestEngine(
        remoteService(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
          name: "far",
        }),
      );

      expect((await t.say("hello")).done).toMatchObject(end);
      expect(asked).toHaveLength(asks);
      for (let index = 1; index < asks; index++) {
        expect(asked[index]! - asked[index - 1]!).toBeGreaterThan(100 * 2 ** (index - 1) - 10);
      }
    } finally {
      server.close();
    }
  },
);

test("a cut stream of a remote service is taken up behind what has come, as one turn in one set of books", async () => {
  const gate = Promise.withResolvers<void>();
  const model = offlineModel("two", async function* () {
    yield "하나 ".repeat(500); // more than a chunk, so that it is stored there
    await gate.promise;
    yield "둘";
  });
  await using there = await startTestEngine(
    {
      ...slowChat,
      flows: {
        DEFAULT: flow(
          async (turn) => (
            turn.complete({ stage: "END", data: "there" }),
            turn.done({ message: (await turn.agent("a", "…")).text })
          ),
        ),
      },
    },
    { offline: [model] },
  );
  await using server = await serverOf(there);
  const asked: string[] = [];
  await using network = await networkTo(server, (url) => (asked.push(url), "pass"));
  await using here = await startTestEngine(remoteService(network.url, { name: "far" }));
  const turn = here.engine.turn({ session: "s1", message: "count" });
  const events: TurnEvent[] = [];
  for await (const event of turn) {
    events.push(event);
    if (event.type === "LLM_TOKEN" && asked.length === 1) {
      network.cut();
      gate.resolve();
    }
  }

  const text = `${"하나 ".repeat(500)}둘`;
  expect(events.at(-1)).toMatchObject({ type: "DONE", data: { message: text } });
  expect(events.map((event) => (event.type === "LLM_TOKEN" ? event.data : "")).join("")).toBe(text);
  expect(asked.length).toBeGreaterThan(1);
  expect(await codeThere(there)).toEqual([null]);
  expect([await here.engine.completed("s1"), (await there.engine.completed("s1")).length]).toEqual([
    [],
    1,
  ]);
  expect(await here.engine.debug("s1")).toMatchObject({
    memory: { rawHistory: [{ content: "count" }, { content: text }] },
    completed: [],
  });
});

test(
  "a remote service that cannot be reached ends the turn with a normal error DONE",
  FULL,
  async () => {
    await using here = await startTestEngine(remoteService("http://127.0.0.1:9", { name: "far" }));

    expect((await here.say("hello")).done.error?.code).toBe("REMOTE_UNAVAILABLE");
  },
);

test("older turns are folded into a summary between turns, and the model sees summary and recent turns", async () => {
  const requests: string[] = [];
  const model = offlineModel("m", (request) => {
    const last = (request.messages.at(-1) as { text: string }).text;
    if (last.includes("<dialog>")) return `summary of ${last.match(/user: /g)?.length} turns`;
    requests.push(`${request.system ?? ""} / ${request.messages.length}`);
    return "ok";
  });
  const chat = defineService({
    name: "chat",
    agents: { a: chatAgent({ name: "a", prompt: "P" }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("a", "…")).text })),
    },
  });
  await using t = await startTestEngine(chat, { offline: [model] });

  for (let index = 1; index <= 6; index++) await t.say(`message ${index}`);
  await expect
    .poll(async () => (await t.engine.debug("s1")).memory.summaryText, { timeout: 20_000 })
    .toBe("summary of 2 turns");
  await t.say("message 7");

  const { memory } = await t.engine.debug("s1");
  expect(
    memory.rawHistory.filter((entry) => entry.role === "user").map((entry) => entry.content),
  ).toEqual(["message 3", "message 4", "message 5", "message 6", "message 7"]);
  expect(requests.at(-1)).toContain("summary of 2 turns");
  const calls = await t.database.query<{ turn_id: string; service: string; tokens: number }>({
    text: "select turn_id, service, tokens_in + tokens_out as tokens from dure.model_calls where agent = 'memory'",
  });
  expect(calls).toEqual([
    { turn_id: "memory/s1", service: "chat", tokens: expect.any(Number) as number },
  ]);
});

test.each([
  ["fails", true],
  ["is turned off", false],
])("a summary that %s keeps the old one and the last 12 turns", async (_, enableSummary) => {
  let folds = 0;
  const model = offlineModel("m", (request) =>
    (request.messages.at(-1) as { text: string }).text.includes("<dialog>")
      ? (folds++, { error: { status: 400 } })
      : "ok",
  );
  const chat = defineService({
    name: "chat",
    agents: { a: chatAgent({ name: "a" }) },
    memory: { enableSummary },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("a", "…")).text })),
    },
  });
  await using t = await startTestEngine(chat, { offline: [model] });
  await t.say("message 1");
  await t.database.query({
    text: `update dure.sessions set memory = memory || '{"summaryText": "what was before"}'`,
  });

  for (let index = 2; index <= 14; index++) await t.say(`message ${index}`);

  await expect
    .poll(async () => (await t.engine.debug("s1")).memory.rawHistory.length, { timeout: 20_000 })
    .toBe(24);
  expect((await t.engine.debug("s1")).memory.summaryText).toBe("what was before");
  expect(folds > 0).toBe(enableSummary);
});

test("the prompt of a fold is the service's own, by the model that it names, with what there is to fold", async () => {
  const asked: string[] = [];
  const cheap = offlineModel(
    "cheap",
    (request) => (asked.push((request.messages.at(-1) as { text: string }).text), "shorter"),
  );
  const chat = defineService({
    ...named("chat"),
    memory: {
      summarizeThreshold: 2,
      keepRecentTurns: 1,
      summaryModel: "offline:cheap",
      summaryPrompt: "Before: [{memory_block}] Said: [{dialog}]",
    },
  });
  await using t = await startTestEngine(chat, { offline: [offlineModel("m", () => "ok"), cheap] });

  await t.say("{dialog} $& one");
  await t.say("two");
  await expect
    .poll(async () => (await t.engine.debug("s1")).memory.summaryText, { timeout: 20_000 })
    .toBe("shorter");
  await t.say("three");
  await expect.poll(() => asked.length, { timeout: 20_000 }).toBe(2);

  expect(asked).toEqual([
    "Before: [] Said: [user: {dialog} $& one\nassistant: chat: {dialog} $& one]",
    "Before: [shorter] Said: [user: two\nassistant: chat: two]",
  ]);
});

test("a model object of the AI SDK folds, and what is no model is refused at once", async () => {
  const asked: string[] = [];
  const fetch = strictFetch({ text: "shorter", onRequest: ({ wire }) => void asked.push(wire!) });
  const summaryModel = createGoogle({ apiKey: "k", fetch })("gemini-2.5-flash");
  const memory = { summarizeThreshold: 2, keepRecentTurns: 1, summaryModel };
  const chat = defineService({ ...named("chat"), memory });
  await using t = await startTestEngine(chat, { offline: [offlineModel("m", () => "ok")] });
  await t.say("one");

  await t.say("two");

  await expect
    .poll(async () => (await t.engine.debug("s1")).memory.summaryText, { timeout: 20_000 })
    .toBe("shorter");
  expect(asked).toEqual(["gemini"]);
  expect(() =>
    defineService({ ...named("chat"), memory: { ...memory, summaryModel: "gogle:x" } }),
  ).toThrowError(expect.objectContaining({ code: "CARD_INVALID" }) as Error);
});

test("of services behind one name each has its own settings of memory", async () => {
  const model = offlineModel("m", (request) =>
    (request.messages.at(-1) as { text: string }).text.includes("<dialog>") ? "a summary" : "ok",
  );
  const chat = (name: string, summarizeThreshold: number): Service =>
    defineService({
      name,
      agents: { a: chatAgent({ name: "a" }) },
      memory: { summarizeThreshold, keepRecentTurns: 1 },
      flows: {
        DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("a", "…")).text })),
      },
    });
  const both = combineServices({
    name: "all",
    services: [chat("short", 2), chat("long", 50)],
    router: keywordRouter({ rules: [{ service: "long", keywords: ["long"] }], default: "short" }),
  });
  await using t = await startTestEngine(both, { offline: [model] });

  for (let index = 1; index <= 8; index++) await t.say("long", { session: "long" });
  for (let index = 1; index <= 2; index++) await t.say("short", { session: "short" });

  await expect
    .poll(async () => (await t.engine.debug("short")).memory.summaryText)
    .toBe("a summary");
  expect((await t.engine.debug("long")).memory).toMatchObject({
    summaryText: "",
    rawHistory: { length: 16 },
  });
});

const MEANWHILE: readonly (readonly [what: string, happen: (t: TestEngine) => Promise<unknown>])[] =
  [
    ["its history cut", (t) => cutHistory(t)],
    [
      "itself forgotten",
      (t) =>
        t.engine
          .forget("s1")
          .then(() => t.say("one"))
          .then(() => t.say("two")),
    ],
  ];

/** As another process does whose fold has failed. */
function cutHistory({ database }: TestEngine): Promise<unknown> {
  const text = `update dure.sessions set memory_rev = memory_rev + 1,
    memory = jsonb_set(memory, '{rawHistory}', (memory->'rawHistory') - 0 - 0)`;
  return database.query({ text });
}

test.for(MEANWHILE)(
  "a fold writes nothing of a session that has had %s since it read the memory",
  async ([, happen]) => {
    const asked = Promise.withResolvers<void>();
    const letGo = Promise.withResolvers<void>();
    let folds = 0;
    const model = offlineModel("m", async (request) => {
      if (!(request.messages.at(-1) as { text: string }).text.includes("<dialog>")) return "ok";
      if (++folds > 1) return { error: { status: 400, message: "only one" } };
      asked.resolve();
      await letGo.promise;
      return "old words";
    });
    const chat = defineService({
      name: "chat",
      agents: { a: chatAgent({ name: "a" }) },
      memory: { summarizeThreshold: 2, keepRecentTurns: 1 },
      flows: {
        DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("a", "…")).text })),
      },
    });
    await using t = await startTestEngine(chat, { offline: [model] });
    for (const message of ["one", "two"]) await t.say(message);
    await asked.promise;

    await happen(t);
    letGo.resolve();
    await expect
      .poll(() =>
        t.database.query({
          text: "select from dure.model_calls where agent = 'memory' and error is null",
        }),
      )
      .toHaveLength(1);
    await t.engine.stop(); // and its folds

    const { memory } = await t.engine.debug("s1");
    expect(memory.summaryText).toBe("");
    expect(memory.rawHistory.map(({ content }) => content)).toContain("two");
  },
);

test("an agent cannot change what it is shown", async () => {
  const meddler = customAgent({
    name: "meddler",
    run: async ({ memory, state }) => {
      (state as { stage: string }).stage = "FINISHED";
      (memory.rawHistory as unknown as object[]).push({ role: "user", content: "never said" });
      return AgentResult.success({ message: "done" });
    },
  });
  const service = defineService({
    name: "meddling",
    agents: { meddler },
    state: defineState({
      schema: z.object({ stage: z.string() }),
      initial: () => ({ stage: "INIT" }),
    }),
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({
          message:
            turn.message === "meddle"
              ? (await turn.agent("meddler", "…").catch(() => ({ text: "refused" }))).text
              : "ok",
        }),
      ),
    },
  });
  await using t = await startTestEngine(service);
  await t.say("hello");

  expect((await t.say("meddle")).done).toMatchObject({
    message: "refused",
    stateSnapshot: { stage: "INIT" },
  });
  expect((await t.engine.debug("s1")).memory.rawHistory.map(({ content }) => content)).toEqual([
    "hello",
    "ok",
    "meddle",
    "refused",
  ]);
});
