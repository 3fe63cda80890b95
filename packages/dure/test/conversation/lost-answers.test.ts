import { expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { newId } from "../../src/kernel/ids.ts";
import { TurnStore } from "../../src/durable/turns.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import type { TurnFrame } from "../../src/engine/api.ts";
import {
  defineService,
  flow,
  type BusyPolicy,
  type Service,
} from "../../src/engine/service/service.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";
import { offlineModel, type OfflineModel } from "../../src/models/offline.ts";
import { PostgresProxy } from "@dure/testing";

function chatService(busy: BusyPolicy): Service {
  return defineService({
    name: "chat",
    agents: { helper: chatAgent({ name: "helper", prompt: "Answer." }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
    },
    sessions: { busy },
  });
}

/** Answers when it is let go; says when it was asked. */
function patientModel(): { model: OfflineModel; asked: Promise<void>; letGo: () => void } {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  return {
    model: offlineModel("patient", async (request) => {
      asked.resolve();
      await gate.promise;
      return `answer to ${request.messages.findLast((message) => message.role === "user")?.text}`;
    }),
    asked: asked.promise,
    letGo: () => gate.resolve(),
  };
}

async function textsOf(t: TestEngine): Promise<unknown> {
  return t.database.query({
    text: "select text, count(*)::int as count from dure.messages group by text order by text",
  });
}

test.for(["queue", "merge", "interrupt"] as const)(
  "under %s a message whose acceptance was stored but never confirmed is stored once",
  async (busy) => {
    const { model, asked, letGo } = patientModel();
    await using t = await startTestEngine(chatService(busy), { offline: [model] });
    await using proxy = await PostgresProxy.start(t.url);
    await using cut = await startTestEngine(chatService(busy), {
      on: { url: proxy.url },
      offline: [model],
    });
    await t.engine.accept({ session: "s1", message: "one" });
    await asked;
    await t.engine.accept({ session: "s1", message: "two" });
    const stop = proxy.stop("after", ({ name }) => name === "accept_turn");

    const third = cut.engine.accept({ session: "s1", message: "three" });
    await stop.reached;
    proxy.cutAll();
    const { turnId } = await third;

    letGo();
    let last;
    for await (const { event } of cut.engine.read(turnId)) last = event;
    expect(await textsOf(t)).toEqual(["one", "three", "two"].map((text) => ({ text, count: 1 })));
    expect(last).toMatchObject({
      type: "DONE",
      data: { message: busy === "merge" ? "answer to two\nthree" : "answer to three" },
    });
  },
);

test("under merge a message is not added to a turn that was stopped while it waited", async () => {
  const { model, asked, letGo } = patientModel();
  await using t = await startTestEngine(chatService("merge"), { offline: [model] });
  const one = t.say("one");
  await asked;
  const two = await t.engine.accept({ session: "s1", message: "two" });
  await t.engine.stopTurn(two.turnId);

  const three = t.say("three");
  letGo();

  expect((await three).done.message).toBe("answer to three");
  expect((await one).done.message).toBe("answer to one");
});

test("under merge a message is not added to a waiting turn of the inbox", async () => {
  const { model, asked, letGo } = patientModel();
  await using t = await startTestEngine(chatService("merge"), { offline: [model] });
  const one = t.say("one");
  await asked;
  await t.database.query({ text: "select dure.accept_turn($1)" }, [
    JSON.stringify({
      turn: "turn_inbox",
      session: "s1",
      tenant: "",
      service: "chat",
      version: "",
      author: "system",
      policy: "queue",
      max_waiting: 20,
      message: "approved",
      input: {},
      title: "",
      events: [],
    }),
  ]);

  const two = t.engine.turn({ session: "s1", message: "two" });
  expect(await two.turnId).not.toBe("turn_inbox");
  letGo();

  expect((await two.done).message).toBe("answer to two");
  expect((await one).done.message).toBe("answer to one");
});

test("a turn that a dead process still accepted after its turns were given up is found within a second", async () => {
  await using t = await startTestEngine(chatService("queue"));
  await t.database.query({
    text: `insert into dure.processes (id, app_version, host, machine, pid, pid_started, ended_at, ended_because, recovered_at)
           values ('process_dead', 'test', 'test', 'test', 1, '', clock_timestamp(), 'silent', clock_timestamp())`,
  });
  const late = new TurnStore({
    database: t.database,
    notifications: t.notifications,
    clock: systemClock,
    holder: "process_dead",
  });
  const turn = newId("turn");
  await late.accept({
    turn,
    session: "s1",
    tenant: "",
    service: "chat",
    version: "1",
    author: "person",
    policy: "queue",
    max_waiting: 20,
    message: "late",
    input: {},
    title: "late",
    events: [],
  });

  let last;
  for await (const { event } of t.engine.read(turn, { signal: AbortSignal.timeout(5_000) })) {
    last = event;
  }

  expect(last).toMatchObject({ type: "DONE", data: { message: "late" } });
  await expect(late.journal({ turn: turn, epoch: 1, rows: [], calls: [] })).rejects.toMatchObject({
    code: "TURN_FENCED",
  });
});

test("a reader that changes processes is not shown text twice that only its old process had stored", async () => {
  const more = Promise.withResolvers<void>();
  const model = offlineModel("halves", async function* () {
    await systemClock.sleep(50); // the start is stored by then, so that text is shown before it is stored
    yield "하나 ";
    await more.promise;
    yield "둘";
  });
  await using t = await startTestEngine(chatService("queue"), { offline: [model] });
  await using proxy = await PostgresProxy.start(t.url);
  await using holder = await startTestEngine(chatService("queue"), {
    on: { url: proxy.url },
    offline: [model],
  });
  const stop = proxy.stop(
    "after",
    ({ name, parameters }) => name === "journal_turn" && parameters.includes("하나"),
  );
  const { turnId } = await holder.engine.accept({ session: "s1", message: "go" });
  await stop.reached;
  let after = 0;
  for await (const { seq, event } of t.engine.read(turnId)) {
    after = seq!;
    if (event.type === "LLM_TOKEN") break;
  }

  const reading = holder.engine.read(turnId, { after });
  const first = reading[Symbol.asyncIterator]().next();
  stop.release();
  more.resolve();
  const frames = [(await first).value as TurnFrame];
  for await (const frame of reading) frames.push(frame);

  expect(frames.map(({ event }) => (event.type === "LLM_TOKEN" ? event.data : "")).join("")).toBe(
    "둘",
  );
});
