import { expect, test } from "vitest";
import { EventLog } from "../durable/event-log.ts";
import { chatAgent } from "../engine/agent/agent.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { startTestEngine, type TestEngine } from "../engine/test-engine.ts";
import { silentLogger } from "../kernel/logger.ts";
import { offlineModel } from "../models/offline.ts";
import { SseReader, startTestServer, type TestServer } from "./test-server.ts";
import type { NewPlatformEvent } from "../wire/events.ts";

/** The server over the real engine, the real event log and a real PostgreSQL. */
const helper = chatAgent({ name: "helper", prompt: "Answer briefly." });
const service = defineService({
  name: "chat",
  agents: { helper },
  flows: {
    DEFAULT: flow(async (turn) =>
      turn.done({ message: (await turn.agent("helper", "답변 작성 중")).text }),
    ),
  },
});
const words = Array.from({ length: 200 }, (_, index) => `${index} `);
const model = offlineModel("words", () => ({ chunks: words }));
const chat = { session_id: "mina", message: "안녕하세요" };

interface Whole extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly server: TestServer;
  readonly log: EventLog;
}

async function start(): Promise<Whole> {
  await using stack = new AsyncDisposableStack();
  const engine = stack.use(await startTestEngine(service, { offline: [model] }));
  const events = new EventLog({ database: engine.database, logger: silentLogger });
  stack.defer(() => events.stop());
  const server = stack.use(
    await startTestServer({ conversations: engine.engine, events, logger: silentLogger }),
  );
  const kept = stack.move();
  return { engine, server, log: events, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("a turn is streamed, read again, resumed in its middle, and over", async () => {
  await using whole = await start();
  const { server } = whole;

  await using live = new SseReader(await server.post("/v1/agent/chat/stream", chat));
  await live.ended;
  const turnId = live.response.headers.get("turn-id")!;
  const stored = live.frames.filter(({ id }) => id !== undefined);
  await using again = new SseReader(await server.fetch(`/v1/agent/turns/${turnId}/stream`));
  await using rest = new SseReader(
    await server.fetch(`/v1/agent/turns/${turnId}/stream`, {
      headers: { "last-event-id": stored[0]!.id! },
    }),
  );
  await Promise.all([again.ended, rest.ended]);
  const over = await server.fetch(`/v1/agent/turns/${turnId}/stream`, {
    headers: { "last-event-id": live.lastEventId! },
  });
  const session = await (await server.fetch("/v1/agent/sessions/mina")).json();

  expect(live.text).toBe(words.join(""));
  expect(live.types.at(-1)).toBe("DONE");
  expect(again.text).toBe(words.join(""));
  expect(rest.frames.at(-1)).toEqual(live.frames.at(-1));
  expect(over.status).toBe(204);
  expect(session).toMatchObject({
    session_id: "mina",
    running_turn: null,
    history: [
      { role: "user", content: chat.message },
      { role: "assistant", done: { _trace: { turn_id: turnId } } },
    ],
  });
});

test("what the session did is in the event log", async () => {
  await using whole = await start();
  const { server } = whole;
  await using events = new SseReader(await server.fetch("/v1/events?session=mina"));
  await events.until(({ lastEventId }) => lastEventId !== undefined);

  const answer = await server.post("/v1/agent/chat", chat);
  await events.until(({ types }) => types.includes("turn.done"));

  expect(answer.status).toBe(200);
  expect(events.frames.find(({ event }) => event === "turn.done")!.data).toMatchObject({
    session: "mina",
    turn: answer.headers.get("turn-id"),
    role: "conversation",
  });
});

test("the events are filtered by type, session, run, room, job and role, those of before and those to come", async () => {
  await using whole = await start();
  const { server, log } = whole;
  const publish = (round: string): Promise<unknown> => {
    const events = [
      { type: `turn.${round}`, role: "conversation", session: "mina", data: {} },
      { type: `post.${round}`, role: "delegation", room: "web:general", data: {} },
      { type: `job.${round}`, role: "delegation", job: "job_1", data: {} },
      { type: `run.${round}`, role: "orchestration", run: "run_1", data: {} },
      { type: `process.${round}`, role: "system", data: {} },
      {
        type: `end.${round}`,
        role: "system",
        session: "mina",
        run: "run_1",
        room: "web:general",
        job: "job_1",
        data: {},
      },
    ];
    return log.append(whole.engine.database, events as readonly object[] as NewPlatformEvent[]);
  };
  await publish("before");
  await using all = new SseReader(await server.fetch("/v1/events?last=6"));
  await all.until(({ types }) => types.includes("end.before"));
  const filters = {
    "types=turn.*,end.*": ["turn", "end"],
    "session=mina": ["turn", "end"],
    "run=run_1": ["run", "end"],
    "room=web:general": ["post", "end"],
    "job=job_1": ["job", "end"],
    "role=delegation&types=post.*,job.*": ["post", "job"],
    "role=system": ["process", "end"],
    "role=system&types=turn.*,process.*": ["process"],
  };

  const readers = await Promise.all(
    Object.keys(filters).map(
      async (query) => new SseReader(await server.fetch(`/v1/events?last=6&${query}`)),
    ),
  );
  await publish("after");

  for (const [index, [query, kinds]] of Object.entries(filters).entries()) {
    const wanted = ["before", "after"].flatMap((round) => kinds.map((kind) => `${kind}.${round}`));
    await using reader = readers[index]!;
    await reader.until(({ types }) => types.includes(wanted.at(-1)));
    expect(reader.types, query).toEqual(wanted);
  }
});

test("an unknown turn, service, session and a used key are refused by the real engine as by the double", async () => {
  await using whole = await start();
  const { server } = whole;
  await server.post("/v1/agent/chat", chat, { "idempotency-key": "k" });

  const answers = await Promise.all([
    server.fetch("/v1/agent/turns/turn_0/stream"),
    server.fetch("/v1/agent/turns/turn_0/stop", { method: "POST" }),
    server.post("/v1/agent/chat", { ...chat, service: "nope" }),
    server.fetch("/v1/agent/sessions/nobody"),
    server.fetch("/v1/agent/sessions/nobody", { method: "DELETE" }),
    server.post("/v1/agent/chat", { ...chat, message: "other" }, { "idempotency-key": "k" }),
  ]);

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 422]);
});
