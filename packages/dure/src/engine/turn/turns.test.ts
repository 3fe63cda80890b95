// @module-tag slow
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { offlineModel } from "../../models/offline.ts";
import { AgentResult, chatAgent, customAgent } from "../agent/agent.ts";
import { remoteService } from "../remote/remote-service.ts";
import {
  defineService,
  flow,
  type BusyPolicy,
  type FlowHandler,
  type Service,
} from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import { defineState } from "./state.ts";
import {
  done,
  resetState,
  runAgent,
  streamAgentTurn,
  taskProgress,
  updateMemory,
} from "../../compat/handler-helpers.ts";
import { tool } from "../agent/tool.ts";
import { z } from "zod";

/** A model that answers when it is let go, and says when it was asked. */
function gatedModel(): {
  model: ReturnType<typeof offlineModel>;
  asked: (count: number) => Promise<void>;
  release: () => void;
  calls: () => number;
} {
  let calls = 0;
  let open = Promise.withResolvers<void>();
  const waiting: { count: number; resolve: () => void }[] = [];
  return {
    model: offlineModel("gated", async (request) => {
      calls += 1;
      for (const { count, resolve } of waiting) if (calls >= count) resolve();
      const gate = open.promise;
      await gate;
      return `answer to ${request.messages.findLast((message) => message.role === "user")?.text}`;
    }),
    asked: (count) =>
      new Promise((resolve) => (calls >= count ? resolve() : waiting.push({ count, resolve }))),
    release: () => {
      open.resolve();
      open = Promise.withResolvers<void>();
    },
    calls: () => calls,
  };
}

function chatService(busy?: BusyPolicy, handler?: FlowHandler): Service {
  return defineService({
    name: "chat",
    agents: { helper: chatAgent({ name: "helper", prompt: "Answer." }) },
    flows: {
      DEFAULT:
        handler ??
        flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
    },
    ...(busy && { sessions: { busy } }),
  });
}

test("a message that arrives while a turn runs waits and is answered after it, in order", async () => {
  const gate = gatedModel();
  await using t = await startTestEngine(chatService(), { offline: [gate.model] });

  const first = t.say("one");
  await gate.asked(1);
  const second = t.engine.turn({ session: "s1", message: "two" });
  await second.turnId;
  const third = t.engine.turn({ session: "s1", message: "three" });
  expect((await t.engine.find(await third.turnId)).status).toBe("queued");
  gate.release();
  await first;
  await gate.asked(2);
  gate.release();
  await gate.asked(3);
  gate.release();

  expect([(await second.done).message, (await third.done).message]).toEqual([
    "answer to two",
    "answer to three",
  ]);
  const session = await t.engine.session("s1");
  expect(session.history.map((entry) => entry.content)).toEqual([
    "one",
    "answer to one",
    "two",
    "answer to two",
    "three",
    "answer to three",
  ]);
  expect(session.runningTurn).toBeNull();
});

test("under reject a second message is refused with 409 and nothing is stored", async () => {
  const gate = gatedModel();
  await using t = await startTestEngine(chatService("reject"), { offline: [gate.model] });
  const first = t.say("one");
  await gate.asked(1);

  await expect(
    t.engine.accept({ session: "s1", message: "two" }, { key: "k" }),
  ).rejects.toMatchObject({ code: "SESSION_BUSY", class: "conflict" });

  gate.release();
  await first;
  const again = t.say("two", { key: "k" });
  await gate.asked(2);
  gate.release();
  expect((await again).done.message).toBe("answer to two");
});

test.each(["queue", "merge"] as const)(
  "under %s at most 20 messages wait; the next one is refused with 429",
  async (policy) => {
    const gate = gatedModel();
    await using t = await startTestEngine(chatService(policy), { offline: [gate.model] });
    await t.engine.accept({ session: "s1", message: "0" });
    for (let index = 1; index <= 20; index++) {
      await t.engine.accept({ session: "s1", message: String(index) });
    }

    await expect(t.engine.accept({ session: "s1", message: "21" })).rejects.toMatchObject({
      code: "SESSION_QUEUE_FULL",
      class: "limit",
    });
    t.fence(); // the test waits for no answer
  },
);

test("under merge the waiting messages become one turn, and all their requests get its id", async () => {
  const gate = gatedModel();
  await using t = await startTestEngine(chatService("merge"), { offline: [gate.model] });
  const first = t.say("one");
  await gate.asked(1);

  const two = await t.engine.accept({ session: "s1", message: "two" });
  const three = await t.engine.accept({ session: "s1", message: "three" });
  gate.release();
  await first;
  await gate.asked(2);
  gate.release();

  expect(three.turnId).toBe(two.turnId);
  const frames = [];
  for await (const { event } of t.engine.read(two.turnId)) frames.push(event);
  expect(frames.at(-1)).toMatchObject({ type: "DONE", data: { message: "answer to two\nthree" } });
});

test("under interrupt the running turn ends in DONE with TURN_STOPPED and the new message is answered", async () => {
  const gate = gatedModel();
  await using t = await startTestEngine(chatService("interrupt"), { offline: [gate.model] });
  const first = t.say("one");
  await gate.asked(1);

  const second = t.engine.turn({ session: "s1", message: "two" });
  expect((await first).done.error?.code).toBe("TURN_STOPPED");
  await gate.asked(2);
  gate.release();

  expect((await second.done).message).toBe("answer to two");
});

test("a stop ends a turn at once, keeps the text shown as interrupted, and drops the state's changes", async () => {
  const model = offlineModel("slow", () => ({
    chunks: ["하나 ", "둘 ", "셋 "],
    chunkDelayMs: 60_000,
  }));
  const service = defineService({
    ...chatService(),
    state: defineState({ schema: z.object({ count: z.number() }), initial: () => ({ count: 0 }) }),
    flows: {
      DEFAULT: flow(async (turn) => {
        turn.state.update({ count: 5 });
        return turn.done({ message: (await turn.agent("helper", "…")).text });
      }),
    },
  });
  await using t = await startTestEngine(service, { offline: [model] });
  const turn = t.engine.turn({ session: "s1", message: "세어 줘" });
  for await (const event of turn) if (event.type === "LLM_TOKEN") break;

  await t.engine.stopTurn(await turn.turnId);

  const turnId = await turn.turnId;
  expect(await turn.done).toMatchObject({
    error: { code: "TURN_STOPPED" },
    stateSnapshot: { count: 0 },
    trace: {
      turnId,
      agents: [{ agent: "helper", success: false, retries: 0, error: "TURN_STOPPED" }],
    },
  });
  expect((await t.engine.debug("s1")).memory.rawHistory).toEqual([
    { role: "user", content: "세어 줘" },
    { role: "assistant", content: "하나 " },
  ]);
  expect((await t.engine.session("s1")).history.at(-1)).toMatchObject({
    role: "assistant",
    content: "하나 ",
    interrupted: true,
  });
  await expect(t.engine.stopTurn(await turn.turnId)).rejects.toMatchObject({
    code: "TURN_FINISHED",
  });
});

test("a turn stopped while it waits ends with its trace and the old state; its message stays in the memory", async () => {
  const gate = gatedModel();
  const service = defineService({
    ...chatService(),
    state: defineState({ schema: z.object({ count: z.number() }), initial: () => ({ count: 0 }) }),
    flows: {
      DEFAULT: flow(async (turn) => {
        turn.state.update({ count: 5 });
        return turn.done({ message: (await turn.agent("helper", "…")).text });
      }),
    },
  });
  await using t = await startTestEngine(service, { offline: [gate.model] });
  const first = t.say("one");
  await gate.asked(1);
  const waiting = t.engine.turn({ session: "s1", message: "two" });
  const turnId = await waiting.turnId;

  await t.engine.stopTurn(turnId);
  gate.release();
  await first;

  expect(await waiting.done).toMatchObject({
    error: { code: "TURN_STOPPED" },
    stateSnapshot: { count: 5 },
    trace: { turnId, totalElapsedMs: expect.any(Number) as number, agents: [] },
  });
  expect(gate.calls()).toBe(1);
  expect((await t.engine.debug("s1")).memory.rawHistory.map(({ content }) => content)).toEqual([
    "one",
    "answer to one",
    "two",
    "",
  ]);
});

test("a stop after a death keeps what each agent has said, of one that is called again what it says then", async () => {
  const asked: string[] = [];
  const reached = Promise.withResolvers<void>();
  const model = offlineModel("slow", (request) => {
    const { text } = request.messages.at(-1) as { text: string };
    asked.push(text);
    if (text === "two" && asked.length === 2) reached.resolve();
    return text === "one"
      ? "첫째. "
      : { chunks: [`${asked.length}번째 `, "둘째."], chunkDelayMs: 60_000 };
  });
  const service = chatService(
    undefined,
    flow(async (turn) => {
      await turn.agent("helper", "하나", { input: "one" });
      return turn.done({ message: (await turn.agent("helper", "둘", { input: "two" })).text });
    }),
  );
  await using t = await startTestEngine(service, { offline: [model] });
  const { turnId } = await t.engine.accept({ session: "s1", message: "세어 줘" });
  await reached.promise;
  await expect
    .poll(
      () => t.database.query({ text: "select from dure.turn_events where data = '\"2번째 \"'" }),
      { timeout: 20_000 },
    )
    .toHaveLength(1);
  t.fence();
  await using second = await startTestEngine(service, { on: { url: t.url }, offline: [model] });
  await releaseAll(second);
  await expect
    .poll(
      () =>
        second.database.query({ text: "select from dure.turn_events where data = '\"3번째 \"'" }),
      { timeout: 20_000 },
    )
    .toHaveLength(1);
  second.fence();
  await second.database.query({
    text: `update dure.turns set holder = null, epoch = epoch + 1, stop = '{"by": "operator"}'`,
  });
  await using third = await startTestEngine(service, { on: { url: t.url }, offline: [model] });

  for await (const { event } of third.engine.read(turnId)) {
    if (event.type === "DONE") expect(event.data.error?.code).toBe("TURN_STOPPED");
  }

  expect(asked).toEqual(["one", "two", "two"]);
  expect((await third.engine.debug("s1")).memory.rawHistory.at(-1)).toMatchObject({
    role: "assistant",
    content: "첫째. 3번째 ",
  });
  expect((await third.engine.session("s1")).history.at(-1)).toMatchObject({
    role: "assistant",
    content: "첫째. 3번째 ",
    interrupted: true,
  });
});

test("a stop reaches a turn that runs in another process", async () => {
  const gate = gatedModel();
  await using t = await startTestEngine(chatService(), { offline: [gate.model] });
  await using other = await startTestEngine(chatService(), {
    on: { url: t.url },
    offline: [gate.model],
  });
  const turn = t.engine.turn({ session: "s1", message: "one" });
  await gate.asked(1);

  await other.engine.stopTurn(await turn.turnId);

  expect((await turn.done).error?.code).toBe("TURN_STOPPED");
});

test("the same Idempotency-Key and body give the same turn, another body is refused", async () => {
  await using t = await startTestEngine(chatService());

  const first = await t.say("hello", { key: "k1" });
  const again = await t.engine.accept({ session: "s1", message: "hello" }, { key: "k1" });

  expect(again).toMatchObject({ turnId: first.turnId, repeated: true, status: "done" });
  await expect(
    t.engine.accept({ session: "s1", message: "other" }, { key: "k1" }),
  ).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
  expect((await t.engine.session("s1")).history).toHaveLength(2);
});

test("an Idempotency-Key begins a new turn when it is 24 hours old", async () => {
  await using t = await startTestEngine(chatService());
  const accept = () => t.engine.accept({ session: "s1", message: "hello" }, { key: "k" });
  const age = (by: string) =>
    t.database.query({ text: "update dure.idempotency set at = at - $1::interval" }, [by]);
  const first = await accept();

  await age("23 hours 50 minutes");
  const same = await accept();
  await age("11 minutes");
  const another = await accept();

  expect(same).toMatchObject({ turnId: first.turnId, repeated: true });
  expect(another.repeated).toBe(false);
  expect(another.turnId).not.toBe(first.turnId);
});

test("locale and time zone stick to the session", async () => {
  const service = chatService(
    undefined,
    flow(async (turn) => turn.done({ message: `${turn.locale} ${turn.timeZone}` })),
  );
  await using t = await startTestEngine(service);

  await t.say("hello", { locale: "en", timeZone: "Europe/Paris" });
  const later = await t.say("again");
  const other = await t.say("ok", { session: "s2" });

  expect([later.done.message, other.done.message]).toEqual(["en Europe/Paris", "ko Asia/Seoul"]);
});

test("of the finished flows of a session the newest fifty are kept, newest first", async () => {
  const service = chatService(
    undefined,
    flow(
      async (turn) => (
        turn.complete({ stage: turn.message, data: null }),
        turn.done({ message: "ok" })
      ),
    ),
  );
  await using t = await startTestEngine(service);

  for (let index = 1; index <= 52; index++) await t.say(String(index));

  expect((await t.engine.completed("s1")).map(({ stage }) => stage)).toEqual(
    Array.from({ length: 50 }, (_, index) => String(52 - index)),
  );
});

test("looking at a session that is not there makes none", async () => {
  await using t = await startTestEngine(chatService());

  for (const look of ["debug", "session", "completed"] as const) {
    await expect(t.engine[look]("s1")).rejects.toMatchObject({ code: "SESSION_UNKNOWN" });
  }

  expect((await t.engine.sessions({})).items).toEqual([]);
});

test("fifty requests at once with one key are one turn", async () => {
  await using t = await startTestEngine(chatService());

  const turns = await Promise.all(
    Array.from({ length: 50 }, () =>
      t.engine.accept({ session: "s1", message: "hello" }, { key: "k" }),
    ),
  );

  expect(new Set(turns.map((turn) => turn.turnId)).size).toBe(1);
  expect(turns.filter((turn) => !turn.repeated)).toHaveLength(1);
});

test("a reader on another process sees the same events, one that resumes those behind its position", async () => {
  await using t = await startTestEngine(chatService());
  await using other = await startTestEngine(chatService(), { on: { url: t.url } });
  const { turnId } = await t.say("안녕하세요");

  const all = [];
  for await (const frame of other.engine.read(turnId)) all.push(frame);
  const rest = [];
  for await (const frame of other.engine.read(turnId, { after: all[1]!.seq! })) rest.push(frame);

  expect(all.map((frame) => frame.event.type)).toEqual([
    "AGENT_START",
    "LLM_TOKEN",
    "LLM_DONE",
    "AGENT_DONE",
    "DONE",
  ]);
  expect(rest).toEqual(all.slice(2));
});

test("a turn of a dead process goes on elsewhere: only the cut model call is made again, with restart", async () => {
  const gate = gatedModel();
  const seen: string[] = [];
  const model = offlineModel("m", async (request, context) => {
    const text =
      request.messages.at(-1)?.role === "user"
        ? (request.messages.at(-1) as { text: string }).text
        : "";
    seen.push(text);
    return text === "second" && context.call > 0
      ? gate.model.respond(request, context)
      : `done ${text}`;
  });
  const service = chatService(
    undefined,
    flow(async (turn) => {
      const one = await turn.agent("helper", "하나", { input: "first" });
      const two = await turn.agent("helper", "둘", { input: "second" });
      return turn.done({ message: `${one.text} | ${two.text}` });
    }),
  );
  await using t = await startTestEngine(service, { offline: [model] });
  const turnId = (await t.engine.accept({ session: "s1", message: "go" })).turnId;
  await gate.asked(1);
  t.fence();
  await using other = await startTestEngine(service, { on: { url: t.url }, offline: [model] });
  await releaseAll(other);
  await gate.asked(2);
  gate.release();

  const events = [];
  for await (const { event } of other.engine.read(turnId)) events.push(event);

  expect(events.at(-1)).toMatchObject({
    type: "DONE",
    data: { message: "done first | answer to second" },
  });
  expect(seen).toEqual(["first", "second", "second"]);
  expect(events.filter((event) => event.type === "AGENT_START").map((event) => event.data)).toEqual(
    [
      { agent: "helper", label: "하나" },
      { agent: "helper", label: "둘" },
      { agent: "helper", label: "둘", attempt: 2, restart: true },
    ],
  );
  expect(events.filter((event) => event.type === "DONE")).toHaveLength(1);
});

test("a turn that a dead process took with its last breath goes on elsewhere", async () => {
  await using t = await startTestEngine(chatService());
  await t.database.query({
    text: "insert into dure.processes (id, app_version, host, machine, pid, pid_started, ended_at, ended_because, recovered_at) values ('process_dead', '0', 'h', 'm', 1, 's', now(), 'gone', now())",
  });
  const { turnId } = await t.engine.accept({ session: "s1", message: "one" });
  for await (const { event } of t.engine.read(turnId)) if (event.type === "DONE") break;
  await t.database.query(
    {
      text: "update dure.turns set status = 'running', holder = 'process_dead', done = null, done_seq = null where id = $1",
    },
    [turnId],
  );
  await t.database.query({ text: "update dure.sessions set running_turn = $1" }, [turnId]);

  let last;
  for await (const { event } of t.engine.read(turnId)) last = event;

  expect(last).toMatchObject({ type: "DONE", data: { message: "one" } });
});

test("the process that lost a turn writes nothing more into it", async () => {
  const answers = ["of the life before", "of the life after"].map((text) => ({
    text,
    asked: Promise.withResolvers<void>(),
    given: Promise.withResolvers<void>(),
  }));
  let calls = 0;
  const model = offlineModel("two-lives", async () => {
    const { text, asked, given } = answers[calls++]!;
    asked.resolve();
    await given.promise;
    return text;
  });
  const [before, after] = answers as [(typeof answers)[number], (typeof answers)[number]];
  await using t = await startTestEngine(chatService(), { offline: [model] });
  const { turnId } = await t.engine.accept({ session: "s1", message: "one" });
  await before.asked.promise;
  const journal = () =>
    t.database.query(
      { text: "select place, type, data from dure.turn_events where turn_id = $1 order by seq" },
      [turnId],
    );
  await expect.poll(journal).toHaveLength(1); // that its agent has begun is written beside the call
  // Another process takes the turn while this one, which claims no more, stands in its model call.
  const stopped = t.engine.stop({ graceMs: 20_000 });
  await releaseAll(t);
  await using other = await startTestEngine(chatService(), {
    on: { url: t.url },
    offline: [model],
  });
  await after.asked.promise;
  await expect.poll(journal).toHaveLength(2);
  const written = await journal();

  before.given.resolve();
  await stopped; // its life of the turn has come to its end
  const writtenThen = await journal();
  after.given.resolve();

  const done = [];
  for await (const { event } of other.engine.read(turnId)) {
    if (event.type === "DONE") done.push(event.data.message);
  }
  expect(writtenThen).toEqual(written);
  expect(done).toEqual(["of the life after"]);
  expect((await other.engine.session("s1")).history.map(({ content }) => content)).toEqual([
    "one",
    "of the life after",
  ]);
});

test.for([
  { change: "one step more in the middle", after: ["a", "x", "b"], diverged: true },
  { change: "one step less", after: ["a"], diverged: true },
  { change: "two steps exchanged", after: ["b", "a"], diverged: true },
  { change: "no change", after: ["a", "b"], diverged: false },
])(
  "a handler with $change after a restart: diverged is $diverged, and the state is as before",
  async ({ after, diverged }) => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const service = (steps: string[], wait: boolean): Service =>
      defineService({
        name: "steps",
        agents: {},
        state: defineState({
          schema: z.object({ done: z.array(z.string()) }),
          initial: () => ({ done: [] as string[] }),
        }),
        flows: {
          DEFAULT: flow(async (turn) => {
            for (const name of steps) {
              const value = await turn.step(name, () => name.toUpperCase());
              turn.state.update((state: { done: string[] }) => ({ done: [...state.done, value] }));
            }
            if (wait) {
              await turn.step("wait", async () => {
                reached.resolve();
                await gate.promise;
              });
            }
            return turn.done({ message: "ok" });
          }),
        },
      });
    await using t = await startTestEngine(service(["a", "b"], true));
    const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
    await reached.promise;
    t.fence();
    gate.resolve();
    await using other = await startTestEngine(service(after, false), { on: { url: t.url } });
    await releaseAll(other);

    let last;
    for await (const { event } of other.engine.read(turnId)) last = event;

    expect(last).toMatchObject(
      diverged
        ? { data: { error: { code: "TURN_DIVERGED" }, stateSnapshot: { done: [] } } }
        : { data: { message: "ok", stateSnapshot: { done: ["A", "B"] } } },
    );
    const open = await other.database.query(
      { text: "select type from dure.escalations where turn_id = $1" },
      [turnId],
    );
    expect(open).toEqual(diverged ? [{ type: "turn_diverged" }] : []);
  },
);

test.each(["step", "version"] as const)(
  "a handler that takes a divergence of its %s for a failure like others ends as diverged all the same",
  async (what) => {
    const reached = Promise.withResolvers<void>();
    const service = (name: string, version: string, waits: boolean): Service =>
      defineService({
        name: "steps",
        version,
        agents: {
          looks: customAgent({
            name: "looks",
            run: async (context) =>
              AgentResult.success({
                message: await context
                  .step(
                    name,
                    () => (reached.resolve(), waits ? new Promise<string>(() => {}) : name),
                  )
                  .catch(() => "well"),
              }),
          }),
        },
        flows: {
          DEFAULT: flow(async (turn) => {
            await turn.agent("looks", "…", { input: "first" }).catch(() => {});
            return turn.done({
              message: await turn.step("last", () => "all is well").catch(() => "all is well"),
            });
          }),
        },
      });
    const before = service("look", "1", true);
    await using t = await startTestEngine(before);
    const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
    await reached.promise;
    await expect
      .poll(
        () => t.database.query({ text: "select from dure.turn_events where type = 'AGENT_START'" }),
        { timeout: 20_000 },
      )
      .toHaveLength(1);
    t.fence();
    // What was about to be recorded when it died.
    await t.database.query(
      {
        text: "insert into dure.turn_events (turn_id, seq, place, type, data) values ($1, 90, '1.1 step:look', 'RECORD', '\"seen\"')",
      },
      [turnId],
    );
    await using other = await startTestEngine(
      what === "step" ? service("listen", "1", false) : service("look", "2", false),
      { on: { url: t.url } },
    );
    await releaseAll(other);

    let last;
    for await (const { event } of other.engine.read(turnId)) last = event;

    expect(last).toMatchObject({ data: { error: { code: "TURN_DIVERGED" } } });
  },
);

test.each([
  ["undefined", undefined],
  ["null", null],
])(
  "a step, of a flow or of an agent, that gives %s is recorded as nothing, and the turn ends",
  async (_, nothing) => {
    const looks = customAgent({
      name: "looks",
      run: async (context) =>
        AgentResult.success({
          message: `agent ${JSON.stringify(await context.step("nothing", () => nothing))}`,
        }),
    });
    const service = defineService({
      name: "steps",
      agents: { looks },
      flows: {
        DEFAULT: flow(async (turn) => {
          const value = await turn.step("nothing", () => nothing);
          return turn.done({
            message: `flow ${JSON.stringify(value)}, ${(await turn.agent("looks", "…")).text}`,
            completed: { flow: "x", stage: "y", data: null },
          });
        }),
      },
    });
    await using t = await startTestEngine(service);

    expect((await t.engine.turn({ session: "s1", message: "go" }).done).message).toBe(
      "flow null, agent null",
    );
  },
);

test.each([
  ["a new session", false],
  ["a session that is there", true],
])(
  "an acceptance in %s whose answer is lost is asked again and found, not stored twice or refused",
  async (_, isThere) => {
    const service = defineService({
      name: "steps",
      agents: {},
      flows: { DEFAULT: flow(async (turn) => turn.done({ message: "ok" })) },
    });
    await using t = await startTestEngine(service);
    if (isThere) await t.engine.turn({ session: "s1", message: "hello" }).done;
    const asked = {
      turn: "turn_lost",
      session: "s1",
      tenant: "",
      service: "steps",
      version: "1",
      author: "person",
      message: "go",
      input: {},
      policy: "queue",
      max_waiting: 10,
      title: "go",
      events: [],
      holder: null,
    };
    const accept = { text: "select dure.accept_turn($1) as value" };
    const first = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();

    const lost = t.database.transaction(async (tx) => {
      await tx.query(accept, [JSON.stringify(asked)]);
      first.resolve();
      await commit.promise;
    });
    await first.promise;
    const again = t.database.query<{ value: unknown }>(accept, [
      JSON.stringify({ ...asked, again: true }),
    ]);
    await expect
      .poll(
        async () =>
          (
            await t.database.query({
              text: "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            })
          ).length,
      )
      .toBe(1);
    commit.resolve();
    await lost;

    expect((await again)[0]!.value).toMatchObject({
      outcome: "accepted",
      turn: "turn_lost",
      again: true,
    });
    expect(
      await t.database.query({
        text: "select text from dure.messages where turn_id = 'turn_lost'",
      }),
    ).toHaveLength(1);
  },
);

const circular: { self?: unknown } = {};
circular.self = circular;
test.each([
  ["a BigInt", 50_000n],
  ["a cycle", circular],
  ["ten thousand levels", JSON.parse("[".repeat(10_000) + "]".repeat(10_000)) as unknown],
])(
  "a step, of a flow or of an agent, that gives %s ends its turn with an error that says so",
  async (_, value) => {
    const looks = customAgent({
      name: "looks",
      run: async (context) => {
        await context.step("stock", () => value);
        return AgentResult.success({ message: "unreachable" });
      },
    });
    const flows = {
      FLOW: flow(async (turn) =>
        turn.done({ message: String(await turn.step("stock", () => value)) }),
      ),
      AGENT: flow(async (turn) => turn.done({ message: (await turn.agent("looks", "…")).text })),
    };
    for (const [name, handler] of Object.entries(flows)) {
      await using t = await startTestEngine(
        defineService({ name: "steps", agents: { looks }, flows: { [name]: handler } }),
      );

      const { error } = await t.engine.turn({ session: "s1", message: "go" }).done;

      expect(error).toMatchObject({
        code: "VALUE_NOT_JSON",
        message: expect.stringContaining('What "step:stock" gave cannot be stored') as string,
      });
    }
  },
);

test("what a handler does with a step's value afterwards changes no record of it", async () => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const book = { entries: ["first"] };
  const service = (waits: boolean): Service =>
    defineService({
      name: "steps",
      agents: {},
      flows: {
        DEFAULT: flow(async (turn) => {
          const read = await turn.step("book", () => book);
          const before = read.entries.join();
          book.entries.push("second");
          read.entries.push("third");
          await turn.step("wait", async () => {
            reached.resolve();
            if (waits) await gate.promise;
          });
          return turn.done({ message: before });
        }),
      },
    });
  await using t = await startTestEngine(service(true));
  const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
  await reached.promise;
  t.fence();
  gate.resolve();
  await using other = await startTestEngine(service(false), { on: { url: t.url } });
  await releaseAll(other);

  let last;
  for await (const { event } of other.engine.read(turnId)) last = event;
  expect(last).toMatchObject({ type: "DONE", data: { message: "first" } });
});

test("a turn whose records the database refuses ends without them, and a person is told what it had done", async () => {
  const service = defineService({
    name: "steps",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({ message: String(await turn.step("stock", () => 3)) }),
      ),
    },
  });
  await using t = await startTestEngine(service);
  await t.database.query({
    text: `alter table dure.turn_journal
      add constraint refused check (not lines @? '$[*][2] ? (@ == "RECORD")')`,
  });

  const done = await t.engine.turn({ session: "s1", message: "go" }).done;

  expect(done).toMatchObject({
    error: expect.anything() as unknown,
    trace: { turnId: expect.stringMatching(/^turn_/) as string, agents: [] },
  });
  expect(
    await t.database.query({
      text: "select type, status, context->>'because' as because from dure.escalations",
    }),
  ).toEqual([
    { type: "blocked", status: "open", because: expect.stringContaining("refused") as string },
  ]);
  await t.database.query({ text: "alter table dure.turn_journal drop constraint refused" });
  expect((await t.engine.turn({ session: "s1", message: "go" }).done).message).toBe("3");
});

test(
  "a turn whose end cannot be written is led again later and later, and ends when it can",
  FULL,
  async () => {
    const service = defineService({
      name: "steps",
      agents: {},
      flows: { DEFAULT: flow(async (turn) => turn.done({ message: "ok" })) },
    });
    await using t = await startTestEngine(service);
    await t.database.query({
      text: "alter table dure.turns add constraint refused check (status <> 'done') not valid",
    });
    const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
    const lives = async (): Promise<number> =>
      (
        await t.database.query<{ epoch: number }>(
          { text: "select epoch from dure.turns where id = $1" },
          [turnId],
        )
      )[0]!.epoch;

    const startedAt = performance.now();
    await expect.poll(lives, { timeout: 20_000 }).toBeGreaterThanOrEqual(3); // after one second, and two more
    expect(performance.now() - startedAt).toBeGreaterThan(2_500);
    await t.database.query({ text: "alter table dure.turns drop constraint refused" });

    let last;
    for await (const { event } of t.engine.read(turnId)) last = event;
    expect(last).toMatchObject({ type: "DONE" }); // in the middle of a life, with its error
  },
);

test("a turn of an older version ends with TURN_DIVERGED unless its handler looks at the version", async () => {
  const reached = Promise.withResolvers<void>();
  const service = (version: string, looks: boolean, wait: boolean): Service =>
    defineService({
      name: "steps",
      version,
      agents: {},
      flows: {
        DEFAULT: flow(async (turn) => {
          const began = looks ? turn.version : "";
          await turn.step("a", () => "A");
          if (wait) {
            await turn.step("wait", () => {
              reached.resolve();
              return new Promise(() => {});
            });
          }
          return turn.done({ message: `began with ${began}` });
        }),
      },
    });
  await using t = await startTestEngine(service("1", false, true));
  const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
  const second = await t.engine.accept({ session: "s2", message: "go" });
  await reached.promise;
  t.fence();
  await using strict = await startTestEngine(service("2", false, false), { on: { url: t.url } });
  await strict.database.query(
    { text: "update dure.turns set holder = null, epoch = epoch + 1 where id = $1" },
    [turnId],
  );
  let last;
  for await (const { event } of strict.engine.read(turnId)) last = event;
  expect(last).toMatchObject({ data: { error: { code: "TURN_DIVERGED" } } });
  await strict.engine.stop();

  await using looking = await startTestEngine(service("2", true, false), { on: { url: t.url } });
  await releaseAll(looking);
  for await (const { event } of looking.engine.read(second.turnId)) last = event;
  expect(last).toMatchObject({ data: { message: "began with 1" } });
});

test("what a handler asks of time and chance is after a death as it was before", async () => {
  const seen: unknown[] = [];
  const reached = Promise.withResolvers<void>();
  await using t = await startTestEngine(
    chatService(
      undefined,
      flow(async (turn) => {
        const asked = [
          turn.now(),
          turn.random(),
          turn.id("order"),
          turn.random(),
          turn.id("order"),
        ];
        seen.push(asked);
        await turn.step("note", () => asked);
        await turn.step("wait", () => (reached.resolve(), new Promise(() => {})));
        return turn.done({ message: "never" });
      }),
    ),
  );
  const { turnId } = await t.engine.accept({ session: "s1", message: "go" });
  await reached.promise;
  t.fence();
  await using other = await startTestEngine(
    chatService(
      undefined,
      flow(async (turn) => {
        seen.push([turn.now(), turn.random(), turn.id("order"), turn.random(), turn.id("order")]);
        const asked = await turn.step("note", () => "lost");
        await turn.step("wait", () => "ok");
        return turn.done({ message: JSON.stringify(asked) });
      }),
    ),
    { on: { url: t.url } },
  );
  await releaseAll(other);

  for await (const { event } of other.engine.read(turnId)) {
    if (event.type === "DONE") expect(event.data.message).toBe(JSON.stringify(seen[0]));
  }

  const [before, after] = seen as [[number, number, string, number, string], unknown];
  expect(after).toEqual(before);
  expect(new Set(before).size).toBe(5); // each is another one
  expect(before[2]).toMatch(/^order_/);
});

test("an event that is none of the turn's ends the turn, and no reader is shown it", async () => {
  const service = defineService({
    ...chatService(),
    flows: {
      DEFAULT: async function* (turn) {
        yield { type: "RECORD", data: "of mine" } as never;
        return turn.done({ message: "never" });
      },
    },
  });
  await using t = await startTestEngine(service);

  const { done, events } = await t.say("go");

  expect(done.error?.code).toBe("EVENT_UNKNOWN");
  expect(events.map(({ type }) => type)).toEqual(["DONE"]);
});

test("what memory keeps can be said apart from the answer, and a reset of the state leaves it as it is", async () => {
  const service = defineService({
    ...chatService(),
    state: defineState({ schema: z.object({ count: z.number() }), initial: () => ({ count: 0 }) }),
    flows: {
      DEFAULT: flow(async (turn) => {
        if (turn.message === "reset") resetState(turn);
        else turn.state.update({ count: turn.state.value.count + 1 });
        updateMemory(turn, `noted ${turn.message}`);
        taskProgress(turn, 1, 3, { amount: 5 });
        const result = await runAgent(turn, "helper");
        return done(turn, { message: `${turn.state.value.count} ${result.status}` });
      }),
    },
  });
  await using t = await startTestEngine(service);

  const turns = [await t.say("one"), await t.say("two"), await t.say("reset")];

  expect(turns.map((turn) => [turn.done.message, turn.done.stateSnapshot])).toEqual([
    ["1 success", { count: 1 }],
    ["2 success", { count: 2 }],
    ["0 success", { count: 0 }],
  ]);
  expect((await t.engine.debug("s1")).memory.rawHistory.map(({ content }) => content)).toEqual([
    "one",
    "noted one",
    "two",
    "noted two",
    "reset",
    "noted reset",
  ]);
  expect(turns[0]!.events.map(({ type }) => type)).toEqual([
    "TASK_PROGRESS",
    "AGENT_START",
    "AGENT_DONE",
    "DONE",
  ]); // runAgent shows no text
});

test("text is stored in pieces of a kibibyte or of what came in 100 ms, and each carries its id", async () => {
  const burst = offlineModel("burst", (request) =>
    (request.messages.at(-1) as { text: string }).text === "burst"
      ? { chunks: Array.from({ length: 40 }, () => "가".repeat(34)) }
      : { chunks: Array.from({ length: 8 }, (_, index) => `${index} `), chunkDelayMs: 60 },
  );
  await using t = await startTestEngine(chatService(), { offline: [burst] });
  const piecesOf = async (message: string): Promise<readonly string[]> => {
    const { turnId } = await t.say(message, { session: message });
    return (
      await t.database.query<{ data: string }>(
        {
          text: "select data from dure.turn_events where turn_id = $1 and type = 'LLM_TOKEN' order by seq",
        },
        [turnId],
      )
    ).map(({ data }) => data);
  };

  const [quick, slow] = [await piecesOf("burst"), await piecesOf("slow")];

  expect(quick.join("")).toBe("가".repeat(40 * 34));
  // 40 pieces of 102 bytes: each chunk is closed by the piece that fills it.
  for (const piece of quick) expect(Buffer.byteLength(piece)).toBeLessThan(1_024 + 102);
  expect(quick.length).toBeGreaterThanOrEqual(4);
  expect(slow.join("")).toBe("0 1 2 3 4 5 6 7 ");
  expect(slow.length).toBeGreaterThanOrEqual(3); // half a second of it, and never a piece for itself alone to fill a kibibyte
});

test("a generator handler and its helpers do the same as an async one", async () => {
  const service = defineService({
    ...chatService(),
    flows: {
      DEFAULT: async function* (turn) {
        return yield* streamAgentTurn(turn, "helper", "답변 중", {
          doneTransform: ({ text }) => ({ message: `«${text}»` }),
        });
      },
    },
  });
  await using t = await startTestEngine(service);

  const { done, events } = await t.say("안녕");

  expect(done.message).toBe("«안녕»");
  expect(events[0]).toEqual({ type: "AGENT_START", data: { agent: "helper", label: "답변 중" } });
});

test("a handler that throws ends in one DONE with a text in the session's language", async () => {
  const service = chatService(
    undefined,
    flow(async () => Promise.reject(new Error("boom"))),
  );
  await using t = await startTestEngine(service);

  const korean = await t.say("안녕");
  const english = await t.say("hello", { session: "s2", locale: "en" });

  expect(korean.done.message).toContain("문제가 생겼어요");
  expect(english.done).toMatchObject({
    error: { code: "INTERNAL" },
    message: expect.stringContaining("Something went wrong") as string,
  });
});

test.for([
  ["an empty message", { session: "s1", message: "  " }, "MESSAGE_INVALID"],
  ["a message over 64 KiB", { session: "s1", message: "가".repeat(22_000) }, "MESSAGE_TOO_LONG"],
  ["a NUL character", { session: "s1", message: "a\u0000b" }, "MESSAGE_INVALID"],
  ["half of a surrogate pair", { session: "s1", message: "a\ud83d" }, "MESSAGE_INVALID"],
  ["a session id with a space", { session: "s 1", message: "hi" }, "SESSION_INVALID"],
  ["an unknown service", { session: "s1", message: "hi", service: "nope" }, "SERVICE_UNKNOWN"],
  [
    "an unknown time zone",
    { session: "s1", message: "hi", timeZone: "Mars/Base" },
    "TIME_ZONE_UNKNOWN",
  ],
] as const)("%s is refused and stores nothing", async ([, request, code]) => {
  await using t = await startTestEngine(chatService());

  const error = await t.engine.accept(request).catch((reason: unknown) => reason);

  expect(codeOf(error)).toBe(code);
  expect(
    await t.database.query({
      text: "select id from dure.sessions union all select id from dure.turns",
    }),
  ).toEqual([]);
});

test("forgetting a session stops its turn and removes everything of it", async () => {
  const gate = gatedModel();
  await using t = await startTestEngine(chatService(), { offline: [gate.model] });
  await t.engine.accept({ session: "s1", message: "one" });
  await gate.asked(1);

  await t.engine.forget("s1");

  await expect(t.engine.session("s1")).rejects.toMatchObject({ code: "SESSION_UNKNOWN" });
  expect(
    await t.database.query({
      text: "select turn_id from dure.messages union all select id from dure.turns",
    }),
  ).toEqual([]);
});

test("another tenant's session does not exist", async () => {
  await using t = await startTestEngine(chatService());
  const mine = { tenant: "a", name: "alice" };
  const theirs = { tenant: "b", name: "bob" };
  const { turnId } = await t.engine.accept({ session: "s1", message: "hello" }, { caller: mine });

  for (const session of ["s1", "a/s1"]) {
    await expect(t.engine.session(session, { caller: theirs })).rejects.toMatchObject({
      code: "SESSION_UNKNOWN",
    });
    await expect(t.engine.forget(session, { caller: theirs })).rejects.toMatchObject({
      code: "SESSION_UNKNOWN",
    });
  }
  await expect(
    t.engine.accept({ session: "a/s1", message: "hi" }, { caller: theirs }),
  ).rejects.toMatchObject({ code: "SESSION_INVALID" });
  await expect(t.engine.find(turnId, { caller: theirs })).rejects.toMatchObject({
    code: "TURN_UNKNOWN",
  });
  await expect(t.engine.stopTurn(turnId, { caller: theirs })).rejects.toMatchObject({
    code: "TURN_UNKNOWN",
  });
  expect((await t.engine.session("s1", { caller: mine })).sessionId).toBe("s1");
});

test("two tenants and a caller without one talk in sessions of the same id, each in its own", async () => {
  await using t = await startTestEngine(chatService());
  const said = { "": "hello of none", a: "hello of a", b: "hello of b" };
  const callers = Object.keys(said).map((tenant) => ({ tenant, name: `token of ${tenant}` }));

  for (const caller of callers) {
    const turn = t.engine.turn(
      { session: "ceo", message: said[caller.tenant as keyof typeof said] },
      { caller },
    );
    await turn.done;
  }

  for (const caller of callers) {
    const { sessionId, history } = await t.engine.session("ceo", { caller });
    const { items } = await t.engine.sessions({ caller });
    expect([sessionId, items.map((item) => item.sessionId)]).toEqual(["ceo", ["ceo"]]);
    expect(history.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
      said[caller.tenant as keyof typeof said],
    ]);
  }
  await t.engine.forget("ceo", { caller: callers[1]! });
  await expect(t.engine.session("ceo", { caller: callers[1]! })).rejects.toMatchObject({
    code: "SESSION_UNKNOWN",
  });
  expect((await t.engine.session("ceo", { caller: callers[2]! })).history).toHaveLength(2);
});

test("who sees all tenants finds every session under its tenant's name, and can forget it", async () => {
  await using t = await startTestEngine(chatService());
  const everyone = { tenant: null, name: "operator" };
  for (const tenant of ["", "a"]) {
    await t.engine.turn({ session: "ceo", message: "hello" }, { caller: { tenant, name: "" } })
      .done;
  }

  const { items } = await t.engine.sessions({ caller: everyone });
  const theirs = await t.engine.session("a/ceo", { caller: everyone });
  await t.engine.forget("a/ceo", { caller: everyone });

  expect(items.map(({ sessionId }) => sessionId).toSorted()).toEqual(["a/ceo", "ceo"]);
  expect(theirs.history).toHaveLength(2);
  expect(
    (await t.engine.sessions({ caller: everyone })).items.map(({ sessionId }) => sessionId),
  ).toEqual(["ceo"]);
});

const anotherService = (name: string): Service =>
  defineService({
    name,
    agents: {},
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: `${name}: ${turn.message}` })) },
  });

test("a turn of a service that this process does not have goes on in one that has it", async () => {
  const gate = gatedModel();
  await using older = await startTestEngine(chatService(), { offline: [gate.model] });
  await using newer = await startTestEngine([chatService(), anotherService("orders")], {
    on: { url: older.url },
    offline: [gate.model],
  });
  const first = older.say("one");
  await gate.asked(1);
  const second = newer.engine.turn({ session: "s1", message: "two", service: "orders" });
  await second.turnId;

  gate.release();

  expect((await first).done.message).toBe("answer to one");
  expect((await second.done).message).toBe("orders: two");
});

/** Until a process has told the others which services it has. */
async function announced(t: TestEngine): Promise<void> {
  await expect
    .poll(() =>
      t.database.query({ text: "select from dure.processes where id = $1 and services <> '[]'" }, [
        t.processId,
      ]),
    )
    .toHaveLength(1);
}

test("a message for a service that this process does not have goes to one that has it, named or not", async () => {
  await using older = await startTestEngine(chatService());
  await using newer = await startTestEngine([chatService(), anotherService("orders")], {
    on: { url: older.url },
  });
  await announced(newer);
  await newer.say("one", { service: "orders" });

  const unnamed = await older.say("two");
  const named = await older.say("three", { session: "s2", service: "orders" });

  expect([unnamed.done.message, named.done.message]).toEqual(["orders: two", "orders: three"]);
  expect(
    await newer.database.query({
      text: "select service, version from dure.turns order by accepted_at",
    }),
  ).toEqual(["one", "two", "three"].map(() => ({ service: "orders", version: "1" })));
  expect((await older.engine.session("s1")).service).toBe("orders");
});

test("what a busy session of another process's service does with a message is what its service says", async () => {
  const gate = gatedModel();
  await using older = await startTestEngine(anotherService("talk"));
  await using newer = await startTestEngine(chatService("reject"), {
    on: { url: older.url },
    offline: [gate.model],
  });
  await announced(newer);
  await newer.engine.accept({ session: "s1", message: "one" });
  await gate.asked(1);

  await expect(older.engine.accept({ session: "s1", message: "two" })).rejects.toMatchObject({
    code: "SESSION_BUSY",
  });
  gate.release();
});

test("a service counts as there for 5 minutes after its last process, then the default one answers", async () => {
  await using left = await startTestEngine(chatService());
  {
    await using gone = await startTestEngine(anotherService("orders"), { on: { url: left.url } });
    await announced(gone);
    await gone.say("one", { service: "orders" });
  }
  const ended = (ago: string) =>
    left.database.query(
      { text: "update dure.processes set ended_at = now() - $1::interval where id <> $2" },
      [ago, left.processId],
    );
  await ended("4 minutes");
  const waits = await left.engine.accept({ session: "s2", message: "two", service: "orders" });
  await ended("6 minutes");

  expect((await left.say("three")).done.message).toBe("three");
  await expect(
    left.engine.accept({ session: "s3", message: "four", service: "orders" }),
  ).rejects.toMatchObject({ code: "SERVICE_UNKNOWN" });
  expect(await left.engine.find(waits.turnId)).toMatchObject({ status: "running" });
  await left.engine.stopTurn(waits.turnId);
});

/** A turn of a service that only the process had that is gone, and the one that is left. */
async function orphaned(): Promise<{ turnId: string; left: TestEngine } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const gate = gatedModel();
  const gone = stack.use(await startTestEngine(chatService(), { offline: [gate.model] }));
  const { turnId } = await gone.engine.accept({ session: "s1", message: "one" });
  await gate.asked(1);
  gone.fence();
  const left = stack.use(
    await startTestEngine(anotherService("orders"), { on: { url: gone.url } }),
  );
  await releaseAll(left);
  const kept = stack.move();
  return { turnId, left, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("a turn of a service that no process has waits for one, and ends when none comes", async () => {
  await using world = await orphaned();
  const { turnId, left } = world;
  await left.engine.pickUp();
  await left.engine.pickUp();
  const [before] = await left.database.query<{
    status: string;
    holder: string | null;
    epoch: number;
  }>({ text: "select status, holder, epoch from dure.turns" });

  await left.database.query({
    text: "update dure.turns set held_at = held_at - interval '10 minutes'",
  });
  let last;
  for await (const { event } of left.engine.read(turnId)) last = event;

  expect(before).toEqual({ status: "running", holder: null, epoch: 2 });
  expect(last).toMatchObject({
    type: "DONE",
    data: { error: { code: "SERVICE_UNAVAILABLE" }, stateSnapshot: {} },
  });
});

test("a turn of a service that no process has can be stopped, and its session forgotten", async () => {
  await using world = await orphaned();
  const { turnId, left } = world;

  await left.engine.stopTurn(turnId);
  let last;
  for await (const { event } of left.engine.read(turnId)) last = event;

  expect(last).toMatchObject({ data: { error: { code: "TURN_STOPPED" } } });
  await left.engine.forget("s1");
});

test("a stored state that no longer fits ends the turn, stays stored, and is migrated where it says how", async () => {
  const counting = (state: Service["state"]): Service =>
    defineService({
      name: "counts",
      agents: {},
      ...(state && { state }),
      flows: {
        DEFAULT: flow(
          async (turn) => (
            turn.state.update({}),
            turn.done({ message: JSON.stringify(turn.state.value) })
          ),
        ),
      },
    });
  const next = { schema: z.object({ total: z.number() }), initial: () => ({ total: 0 }) };
  await using t = await startTestEngine(
    counting(
      defineState({ schema: z.object({ count: z.number() }), initial: () => ({ count: 5 }) }),
    ),
  );
  await t.say("one");
  await using strict = await startTestEngine(counting(defineState(next)), { on: { url: t.url } });
  await using migrating = await startTestEngine(
    counting(
      defineState({
        ...next,
        migrate: (stored) => ({ total: (stored as { count: number }).count }),
      }),
    ),
    { on: { url: t.url } },
  );

  const broken = await strict.say("two");
  const kept = await t.say("three");
  const migrated = await migrating.say("four");

  expect(broken.done).toMatchObject({
    error: { code: "STATE_INVALID" },
    message: expect.stringContaining("문제가 생겼어요") as string,
  });
  expect([kept.done.message, migrated.done.message]).toEqual(['{"count":5}', '{"total":5}']);
});

test.for([
  [
    "an onError that throws",
    {
      onError: () => {
        throw new Error("cannot say it");
      },
    },
    flow(async () => Promise.reject(new Error("boom"))),
  ],
  [
    "a receipt that is no JSON",
    {},
    flow(async (turn) => turn.done({ message: "ok", receipt: { amount: 1n } })),
  ],
  [
    "a finished flow that is no JSON",
    {},
    flow(async (turn) => (turn.complete({ stage: "END", data: 1n }), turn.done({ message: "ok" }))),
  ],
] as const)("%s ends in a DONE too", async ([, options, handler]) => {
  await using t = await startTestEngine(
    defineService({ ...chatService(undefined, handler), ...options }),
  );

  expect((await t.say("go")).done.error?.message).toBeDefined();
});

test("outside of dev mode DONE holds no word of a provider, a tool or a handler", async () => {
  const provider = offlineModel("m", () => ({
    error: { status: 400, message: "secret: the prompt was 'my salary'" },
  }));
  const own = flow(async (turn) =>
    turn.message === "model"
      ? turn.done({ message: (await turn.agent("helper", "…")).text })
      : Promise.reject(new DureError("ORDER_CLOSED", "secret order 7")),
  );
  await using t = await startTestEngine(chatService(undefined, own), {
    offline: [provider],
    engine: { devMode: false },
  });

  const ends = [await t.say("model"), await t.say("handler")];

  expect(ends.map(({ done }) => done.error)).toEqual([
    { code: "MODEL_REQUEST_INVALID", message: "The model refuses every call." },
    { code: "ORDER_CLOSED", message: "The turn failed." },
  ]);
  expect(
    JSON.stringify(await t.database.query({ text: "select done from dure.turns" })),
  ).not.toContain("secret");
});

test("above debug no line of the log holds a word of a provider, a tool, a handler or another server", async () => {
  const lines: { level: string; line: string }[] = [];
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, line: `${message} ${JSON.stringify(fields)}` });
  const logger = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
  };
  const provider = offlineModel("m", () => ({
    error: { status: 400, message: "refused: 'my salary is 7'" },
  }));
  const secret = "my salary is 7";
  const far = createServer((_request, response) =>
    response
      .writeHead(400, { "content-type": "application/problem+json" })
      .end(JSON.stringify({ code: "REFUSED", detail: secret, error: { message: secret } })),
  ).listen(0, "127.0.0.1");
  await once(far, "listening");
  const farUrl = `http://127.0.0.1:${(far.address() as AddressInfo).port}`;
  const lookUp = tool({
    description: "Looks.",
    inputSchema: z.object({}),
    execute: () => Promise.reject(new Error("no row for my salary is 7")),
  });
  const clerk = customAgent({
    name: "clerk",
    tools: { lookUp },
    run: async (context) => AgentResult.success(await context.tool("lookUp", {})),
  });
  const chat = defineService({
    ...chatService(),
    agents: { helper: chatAgent({ name: "helper" }), clerk },
    // An offline model that knows no summaries is no failure: this one is a provider's.
    memory: { summarizeThreshold: 1, keepRecentTurns: 0, summaryModel: "openai:gpt-4.1-mini" },
    onError: () => {
      throw new Error("cannot word my salary is 7");
    },
    flows: {
      DEFAULT: flow(async (turn) => {
        if (turn.message === "fold") return turn.done({ message: "my salary is 7" });
        if (turn.message === "handler") throw new TypeError("cannot read\n    my salary is 7");
        if (turn.message === "ours") {
          throw new DureError("ORDER_CLOSED", "the order of my salary is 7");
        }
        if (turn.message === "json") {
          await turn.step("parse", () => JSON.parse("my salary is 7") as unknown);
        }
        return turn.done({
          message: (await turn.agent(turn.message === "tool" ? "clerk" : "helper", "…")).text,
        });
      }),
    },
  });
  await using t = await startTestEngine([chat, remoteService(farUrl, { name: "far" })], {
    offline: [provider],
    providers: { openai: { apiKey: "sk-test", baseUrl: `${farUrl}/v1` } },
    logger,
    engine: { devMode: false },
  });

  const codes = [];
  for (const message of ["provider", "tool", "handler", "ours", "json"]) {
    codes.push((await t.say(message)).done.error?.code);
  }
  codes.push((await t.say("hello", { session: "s2", service: "far" })).done.error?.code);
  await t.say("fold", { session: "s3" });
  await expect
    .poll(
      () => lines.filter(({ line }) => line.startsWith("a memory could not be folded")).length,
      { timeout: 20_000 },
    )
    .toBeGreaterThan(1);
  far.close();

  expect(codes).toEqual([
    "MODEL_REQUEST_INVALID",
    "TOOL_FAILED",
    "INTERNAL",
    "ORDER_CLOSED",
    "INTERNAL",
    "REFUSED",
  ]);
  const [said, loud] = [
    lines.filter(({ line }) => line.includes("my salary")),
    lines.filter(({ level }) => level !== "debug"),
  ];
  expect(new Set(said.map(({ level }) => level))).toEqual(new Set(["debug"]));
  expect(said.some(({ line }) => line.startsWith("a memory could not be folded"))).toBe(true);
  expect(
    loud
      .filter(({ line }) => line.startsWith("the turn ended with an error"))
      .map(({ line }) => /"code":"(\w+)"/.exec(line)?.[1]),
  ).toEqual(codes);
  expect(loud.find(({ line }) => line.includes('"code":"INTERNAL"'))?.line).toContain(
    "turns.test.ts",
  ); // the place, for the operator
});

test("a connection that a handler could not make is told as one", async () => {
  const refused = Object.assign(new TypeError("fetch failed"), {
    cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
  });
  await using t = await startTestEngine(
    chatService(
      undefined,
      flow(async () => Promise.reject(refused)),
    ),
  );

  expect((await t.say("안녕")).done.message).toContain("연결이 원활하지 않아요");
});

test("under merge a message with slots or a confirmation stays a message of its own", async () => {
  const gate = gatedModel();
  const seen: unknown[] = [];
  const handler = flow(async (turn) => {
    seen.push([turn.message, turn.slots, turn.confirmId]);
    return turn.done({
      message: turn.message === "one" ? (await turn.agent("helper", "…")).text : turn.message,
    });
  });
  await using t = await startTestEngine(chatService("merge", handler), { offline: [gate.model] });
  const first = t.say("one");
  await gate.asked(1);
  const requests = [
    { message: "two" },
    { message: "three" },
    { message: "edit", slots: { amount: 1 } },
    { message: "yes", confirmId: "c1" },
    { message: "six" },
  ];
  const turns: string[] = [];
  for (const request of requests) {
    turns.push((await t.engine.accept({ session: "s1", ...request })).turnId);
  }

  gate.release();
  await first;
  for await (const { event } of t.engine.read(turns.at(-1)!)) if (event.type === "DONE") break;

  expect(new Set(turns).size).toBe(4);
  expect(seen).toEqual([
    ["one", undefined, undefined],
    ["two\nthree", undefined, undefined],
    ["edit", { amount: 1 }, undefined],
    ["yes", undefined, "c1"],
    ["six", undefined, undefined],
  ]);
});

/** What takeover does for a dead process. */
async function releaseAll(t: {
  database: { query(statement: { text: string }): Promise<unknown> };
}): Promise<void> {
  await t.database.query({
    text: "update dure.turns set holder = null, epoch = epoch + 1, held_at = clock_timestamp() where status = 'running'",
  });
}
