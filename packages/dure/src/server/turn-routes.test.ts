import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import { ProblemJson } from "../wire/problem.ts";
import { SseReader, startTestServer, until, type TestServer } from "./test-server.ts";
import {
  ChatAnswer,
  CompletedAnswer,
  DebugAnswer,
  ServicesAnswer,
  SessionAnswer,
  SessionsAnswer,
} from "../wire/turns.ts";
import { HealthAnswer, MeAnswer, ReadyAnswer } from "../wire/platform.ts";

const chat = { session_id: "mina", message: "안녕하세요" };
const json = { "content-type": "application/json" };
/** A GET that starts a turn needs the browser's word that dure's own page sent it, or a token. */
const fromPage = { "sec-fetch-site": "same-origin" };
const getPath = `/v1/agent/chat/stream?${new URLSearchParams(chat)}`;

describe("POST /v1/agent/chat", () => {
  test("answers with DONE on the wire, its hooks and the turn's id", async () => {
    await using server = await startTestServer();
    server.conversations.script = (turn) =>
      turn.finish("됐어요", {
        nextAction: "CONFIRM",
        uiHint: { buttons: ["확인", "취소"], confirmId: "c1" },
        hooks: [{ type: "notify", data: { keepMe: 1 } }],
      });

    const response = await server.post("/v1/agent/chat", chat);

    expect(response.status).toBe(200);
    const turnId = response.headers.get("turn-id");
    expect(await response.json()).toEqual({
      interaction: {
        message: "됐어요",
        next_action: "CONFIRM",
        ui_hint: { buttons: ["확인", "취소"], confirm_id: "c1" },
        state_snapshot: { stage: "INIT", camelCase: 1 },
        hooks: [{ type: "notify", data: { keepMe: 1 } }],
        _trace: {
          turn_id: turnId,
          total_elapsed_ms: 5,
          agents: [
            {
              agent: "helper",
              elapsed_ms: 4,
              success: true,
              retries: 0,
              error: null,
              tokens_in: 3,
              tokens_out: 2,
            },
          ],
        },
      },
      hooks: [{ type: "notify", data: { keepMe: 1 } }],
      turn_id: turnId,
    });
  });

  test("hands the request on in the engine's words", async () => {
    await using server = await startTestServer();

    await server.post("/v1/agent/chat", {
      ...chat,
      message: "",
      service: "transfer",
      slots: { transfer_date: "2026-01-01", camelCase: 1 },
      confirm_id: "c1",
      locale: "en",
      time_zone: "Asia/Seoul",
      unknown: 1,
    });

    expect(server.conversations.lastTurn.request).toEqual({
      session: "mina",
      message: "",
      service: "transfer",
      slots: { transfer_date: "2026-01-01", camelCase: 1 },
      confirmId: "c1",
      locale: "en",
      timeZone: "Asia/Seoul",
    });
  });

  test("a client that goes away stops nothing", async () => {
    await using server = await startTestServer();
    server.conversations.script = () => undefined;
    const gone = new AbortController();
    const answer = server
      .fetch("/v1/agent/chat", {
        method: "POST",
        headers: json,
        body: JSON.stringify(chat),
        signal: gone.signal,
      })
      .catch(() => "gone");
    await until(
      () => server.conversations.turns.size === 1 && server.conversations.lastTurn.readers === 1,
    );

    gone.abort();

    expect(await answer).toBe("gone");
    await until(() => server.conversations.lastTurn.readers === 0);
    expect(server.conversations.lastTurn.stopped).toBe(false);
    expect(server.log.join("\n")).not.toContain('"status":500');
  });
});

describe("Idempotency-Key", () => {
  test("gives the same turn for the same body and 422 for another", async () => {
    await using server = await startTestServer();

    const first = await server.post("/v1/agent/chat", chat, { "idempotency-key": "k-1" });
    const again = await server.post("/v1/agent/chat", chat, { "idempotency-key": "k-1" });
    const other = await server.post(
      "/v1/agent/chat",
      { ...chat, message: "other" },
      { "idempotency-key": "k-1" },
    );
    const elsewhere = await server.post("/v1/agent/chat/stream", chat, {
      "idempotency-key": "k-1",
    });

    expect(again.headers.get("turn-id")).toBe(first.headers.get("turn-id"));
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED", status: 422 });
    expect(elsewhere.headers.get("turn-id")).not.toBe(first.headers.get("turn-id"));
    expect(server.conversations.turns.size).toBe(2);
  });

  test.each([["a b"], ["é"], ["x".repeat(256)]])("refuses the key %j", async (key) => {
    await using server = await startTestServer();

    const response = await server.post("/v1/agent/chat", chat, { "idempotency-key": key });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: "REQUEST_INVALID",
      errors: [{ field: "idempotency-key" }],
    });
    expect(server.conversations.changes).toBe(0);
  });

  test("does not remember a refusal", async () => {
    await using server = await startTestServer();
    server.conversations.failure = new DureError("SESSION_QUEUE_FULL", "20 messages wait.", {
      class: "limit",
      details: { retryAfterMs: 2_500 },
    });

    const refused = await server.post("/v1/agent/chat", chat, { "idempotency-key": "k-1" });
    const accepted = await server.post("/v1/agent/chat", chat, { "idempotency-key": "k-1" });

    expect([refused.status, refused.headers.get("retry-after"), accepted.status]).toEqual([
      429,
      "3",
      200,
    ]);
  });
});

describe("streams", () => {
  test("POST streams stored events with ids, live tokens without, and ends behind DONE", async () => {
    await using server = await startTestServer();

    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    await stream.ended;

    const turnId = stream.response.headers.get("turn-id");
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(stream.response.headers.get("content-encoding")).toBeNull();
    expect(stream.comments[0]).toBe(`turn ${turnId}`);
    expect(stream.frames.map(({ id, event }) => [id, event])).toEqual([
      [`${turnId}.1`, "AGENT_START"],
      [undefined, "LLM_TOKEN"],
      [`${turnId}.2`, "LLM_TOKEN"],
      [`${turnId}.3`, "LLM_DONE"],
      [`${turnId}.4`, "AGENT_DONE"],
      [`${turnId}.5`, "DONE"],
    ]);
    expect(stream.text).toBe("안녕");
    expect(stream.frames[0]!.data).toEqual({ agent: "helper", label: "답변 작성 중" });
    expect(stream.frames[4]!.data).toMatchObject({ retry_count: 0, elapsed_ms: 4 });
    expect(stream.frames[5]!.data).toMatchObject({
      next_action: "ASK",
      _trace: { turn_id: turnId },
    });
  });

  test("the first frame and the Turn-Id leave before the turn says anything", async () => {
    await using server = await startTestServer();
    server.conversations.script = () => undefined;

    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    await stream.until(({ comments }) => comments.length > 0);

    expect(stream.response.headers.get("turn-id")).toBe(server.conversations.lastTurn.id);
    expect(stream.frames).toEqual([]);
  });

  test("live tokens leave in batches, in order, never behind a stored event", async () => {
    await using server = await startTestServer();
    server.conversations.script = async (turn) => {
      for (let index = 0; index < 200; index++) turn.token(`${index} `);
      turn.store({ type: "LLM_DONE", data: { message: "all" } });
      turn.token("late ");
      turn.store({ type: "LLM_TOKEN", data: "end" });
      turn.finish("all");
    };

    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    await stream.ended;

    const numbers = Array.from({ length: 200 }, (_, index) => `${index} `).join("");
    const before = stream.frames
      .slice(0, stream.types.indexOf("LLM_DONE"))
      .map(({ data }) => data)
      .join("");
    expect(before).toBe(numbers);
    expect(stream.text).toBe(`${numbers}late end`);
    expect(stream.types.length).toBeLessThan(20);
  });

  test("a live token that no other follows leaves within the batching time", async () => {
    await using server = await startTestServer();
    server.conversations.script = (turn) => (turn.token("a"), turn.token("b"));

    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    await stream.until(({ text }) => text === "ab");

    expect(server.conversations.lastTurn.done).toBeUndefined();
  });

  test("GET gives EventSource an id before the first event, so that it never asks twice", async () => {
    await using server = await startTestServer();
    server.conversations.script = () => undefined;
    await using cut = new SseReader(await server.fetch(getPath, { headers: fromPage }));
    await cut.until(({ lastEventId }) => lastEventId !== undefined);
    await cut[Symbol.asyncDispose]();

    await using again = new SseReader(
      await server.fetch(getPath, { headers: { ...fromPage, "last-event-id": cut.lastEventId! } }),
    );
    server.conversations.lastTurn.finish("하나");
    await again.ended;

    expect(server.conversations.turns.size).toBe(1);
    expect(again.types).toEqual(["DONE"]);
  });

  test("GET with Last-Event-ID goes on behind it, and after DONE answers 204", async () => {
    await using server = await startTestServer();
    await using first = new SseReader(await server.fetch(getPath, { headers: fromPage }));
    await first.ended;
    const turnId = first.response.headers.get("turn-id")!;

    await using rest = new SseReader(
      await server.fetch(getPath, { headers: { ...fromPage, "last-event-id": `${turnId}.3` } }),
    );
    await rest.ended;
    const over = await server.fetch(getPath, {
      headers: { ...fromPage, "last-event-id": first.lastEventId! },
    });

    expect(rest.frames).toEqual(first.frames.slice(4));
    expect(rest.response.headers.get("turn-id")).toBe(turnId);
    expect([over.status, await over.text()]).toEqual([204, ""]);
    expect(server.conversations.changes).toBe(1);
  });

  test("a turn is read again from its start, from a header, from the query; 204 behind DONE", async () => {
    await using server = await startTestServer();
    await using first = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    await first.ended;
    const turnId = first.response.headers.get("turn-id")!;
    const path = `/v1/agent/turns/${turnId}/stream`;

    await using all = new SseReader(await server.fetch(path));
    await using some = new SseReader(
      await server.fetch(`${path}?last_event_id=${turnId}.1`, {
        headers: { "last-event-id": `${turnId}.4` },
      }),
    );
    await using query = new SseReader(await server.fetch(`${path}?last_event_id=${turnId}.4`));
    await Promise.all([all.ended, some.ended, query.ended]);
    const over = await server.fetch(path, { headers: { "last-event-id": `${turnId}.5` } });

    expect(all.frames).toEqual(first.frames);
    expect(some.frames).toEqual(first.frames.slice(-1));
    expect(query.frames).toEqual(some.frames);
    expect(over.status).toBe(204);
  });

  test("a reader that leaves ends reading and stops nothing; another reads on", async () => {
    await using server = await startTestServer();
    server.conversations.script = (turn) =>
      turn.store({ type: "AGENT_START", data: { agent: "helper", label: "…" } });
    const first = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    await first.until(({ lastEventId }) => lastEventId !== undefined);
    const turn = server.conversations.lastTurn;

    await first[Symbol.asyncDispose]();
    await until(() => turn.readers === 0);
    await using second = new SseReader(
      await server.fetch(`/v1/agent/turns/${turn.id}/stream`, {
        headers: { "last-event-id": first.lastEventId! },
      }),
    );
    turn.finish("끝");
    await second.ended;

    expect(turn.stopped).toBe(false);
    expect(second.types).toEqual(["DONE"]);
  });

  test("a comment leaves when nothing else did", async () => {
    await using server = await startTestServer({ limits: { heartbeatMs: 60 } });
    server.conversations.script = () => undefined;

    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    await stream.until(({ comments }) => comments.includes("still here"));

    expect(stream.frames).toEqual([]);
  });

  test("a slow reader is cut off within a bounded buffer, and resumes without a gap", async () => {
    await using server = await startTestServer({ limits: { stallMs: 200 } });
    const size = 64 * 1024;
    const total = 400;
    server.conversations.script = (turn) => {
      for (let index = 0; index < total; index++) {
        turn.store({ type: "LLM_TOKEN", data: `${index}`.padEnd(size) });
      }
      turn.finish("끝");
    };
    const socket = createConnection(server.port, "127.0.0.1");
    const body = JSON.stringify(chat);
    socket.write(
      `POST /v1/agent/chat/stream HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await until(
      () => server.conversations.turns.size === 1 && server.conversations.lastTurn.taken > 0,
    );
    const turn = server.conversations.lastTurn;

    await until(() => turn.readers === 0); // the reader was sent away
    expect(turn.taken).toBeLessThan(total);
    expect(server.log.join("\n")).toContain("was cut off");

    let received = "";
    socket.on("data", (bytes) => (received += bytes.toString()));
    socket.on("error", () => undefined);
    await once(socket, "close");
    const last = [...received.matchAll(/^id: (\S+\.\d+)\n/gm)].at(-1)![1]!;
    const complete = received.endsWith("\n\n")
      ? last
      : `${turn.id}.${Number(last.split(".")[1]) - 1}`;
    // On a busy machine a reader that does read may be too slow as well; it comes again.
    const ids = [complete];
    for (let type: string | undefined; type !== "DONE";) {
      await using rest = new SseReader(
        await server.fetch(`/v1/agent/turns/${turn.id}/stream`, {
          headers: { "last-event-id": ids.at(-1)! },
        }),
      );
      await rest.ended.catch(() => undefined);
      ids.push(...rest.frames.map(({ id }) => id!));
      type = rest.types.at(-1);
    }

    const first = Number(complete.split(".")[1]);
    expect(ids).toEqual(ids.map((_, index) => `${turn.id}.${first + index}`));
  });

  test("a store that breaks in mid-stream asks the reader to come back", async () => {
    await using server = await startTestServer();
    const read = server.conversations.read.bind(server.conversations);
    server.conversations.read = async function* (turnId, options) {
      for await (const item of read(turnId, options)) {
        yield item;
        throw new DureError("DATABASE_UNAVAILABLE", "gone", { class: "unavailable" });
      }
    };

    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    await stream.ended;

    expect(stream.types).toEqual(["AGENT_START"]);
    expect(stream.retry).toBe(1_000);
  });
});

describe("stopping", () => {
  test("a running turn is stopped with 202, a finished one answers 409", async () => {
    await using server = await startTestServer();
    server.conversations.script = () => undefined;
    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    const turn = server.conversations.lastTurn;

    const stop = await server.fetch(`/v1/agent/turns/${turn.id}/stop`, { method: "POST" });
    await stream.ended;
    const late = await server.fetch(`/v1/agent/turns/${turn.id}/stop`, { method: "POST" });

    expect([stop.status, await stop.json()]).toEqual([
      202,
      { turn_id: turn.id, status: "stopping" },
    ]);
    expect(stream.frames.at(-1)!.data).toMatchObject({ error: { code: "TURN_STOPPED" } });
    expect([late.status, await late.json()]).toMatchObject([409, { code: "TURN_FINISHED" }]);
    expect(server.audit).toMatchObject(
      ["done", "TURN_FINISHED"].map((outcome) => ({
        tenant: "",
        name: "127.0.0.1",
        what: "turn.stop",
        subject: turn.id,
        outcome,
      })),
    );
  });
});

describe("wrong input changes nothing", () => {
  const cases: [string, (server: TestServer) => Promise<Response>, number, object][] = [
    [
      "no body",
      (server) => server.fetch("/v1/agent/chat", { method: "POST", headers: json }),
      400,
      {},
    ],
    [
      "an empty body",
      (server) => server.fetch("/v1/agent/chat", { method: "POST", headers: json, body: " " }),
      400,
      { code: "BODY_INVALID" },
    ],
    [
      "no content type",
      (server) =>
        server.fetch("/v1/agent/chat", { method: "POST", body: new Uint8Array([123, 125]) }),
      415,
      { code: "CONTENT_TYPE_UNSUPPORTED" },
    ],
    [
      "a form",
      (server) =>
        server.fetch("/v1/agent/chat", { method: "POST", body: new URLSearchParams(chat) }),
      415,
      { code: "CONTENT_TYPE_UNSUPPORTED" },
    ],
    [
      "a compressed body",
      (server) =>
        server.fetch("/v1/agent/chat", {
          method: "POST",
          headers: { ...json, "content-encoding": "gzip" },
          body: "x",
        }),
      415,
      { code: "CONTENT_TYPE_UNSUPPORTED" },
    ],
    [
      "broken JSON",
      (server) =>
        server.fetch("/v1/agent/chat", { method: "POST", headers: json, body: '{"session_id": ' }),
      400,
      { code: "BODY_INVALID" },
    ],
    ["a list", (server) => server.post("/v1/agent/chat", [chat]), 400, { code: "REQUEST_INVALID" }],
    ["null", (server) => server.post("/v1/agent/chat", null), 400, { code: "REQUEST_INVALID" }],
    [
      "broken UTF-8",
      (server) =>
        server.fetch("/v1/agent/chat", {
          method: "POST",
          headers: json,
          body: Buffer.concat([
            Buffer.from('{"session_id":"mina","message":"'),
            Buffer.from([0xed, 0x95]),
            Buffer.from('"}'),
          ]),
        }),
      400,
      { code: "BODY_INVALID" },
    ],
    [
      "half a surrogate pair",
      (server) =>
        server.fetch("/v1/agent/chat", {
          method: "POST",
          headers: json,
          body: '{"session_id":"mina","message":"\\ud83d"}',
        }),
      400,
      { code: "BODY_INVALID", errors: [{ field: "message" }] },
    ],
    [
      "U+0000 in a slot",
      (server) => server.post("/v1/agent/chat", { ...chat, slots: { memo: "a\u0000b" } }),
      400,
      { code: "BODY_INVALID", errors: [{ field: "slots.memo" }] },
    ],
    [
      "a bottomless body",
      (server) =>
        server.fetch("/v1/agent/chat", {
          method: "POST",
          headers: json,
          body: `{"session_id":"mina","message":"a","slots":{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}}`,
        }),
      400,
      { code: "BODY_TOO_COMPLEX" },
    ],
    [
      "more slots than a form has",
      (server) =>
        server.post("/v1/agent/chat", {
          ...chat,
          slots: Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`slot${index}`, 1])),
        }),
      400,
      { code: "SLOTS_TOO_MANY", errors: [{ field: "slots" }] },
    ],
    [
      "__proto__",
      (server) =>
        server.fetch("/v1/agent/chat", {
          method: "POST",
          headers: json,
          body: '{"session_id":"mina","message":"a","slots":{"__proto__":{"a":1}}}',
        }),
      400,
      { code: "BODY_INVALID" },
    ],
    [
      "a number for a message",
      (server) => server.post("/v1/agent/chat", { ...chat, message: 5 }),
      400,
      { code: "REQUEST_INVALID", errors: [{ field: "message" }] },
    ],
    [
      "a list for slots",
      (server) => server.post("/v1/agent/chat", { ...chat, slots: ["a"] }),
      400,
      { code: "REQUEST_INVALID", errors: [{ field: "slots" }] },
    ],
    [
      "a session id with a slash",
      (server) => server.post("/v1/agent/chat", { ...chat, session_id: "a/b" }),
      400,
      { code: "REQUEST_INVALID", errors: [{ field: "session_id" }] },
    ],
    [
      "a session id of 201 characters",
      (server) => server.post("/v1/agent/chat", { ...chat, session_id: "a".repeat(201) }),
      400,
      { code: "REQUEST_INVALID" },
    ],
    [
      "an empty message",
      (server) => server.post("/v1/agent/chat", { ...chat, message: "" }),
      400,
      { code: "MESSAGE_INVALID", errors: [{ field: "message" }] },
    ],
    [
      "a message of spaces",
      (server) => server.post("/v1/agent/chat/stream", { ...chat, message: " \n " }),
      400,
      { code: "MESSAGE_INVALID" },
    ],
    [
      "a message of 64 KiB and one byte",
      (server) => server.post("/v1/agent/chat", { ...chat, message: "a".repeat(65_537) }),
      413,
      { code: "MESSAGE_TOO_LARGE" },
    ],
    [
      "a message of 64 KiB in bytes, not characters",
      (server) => server.post("/v1/agent/chat", { ...chat, message: "가".repeat(21_846) }),
      413,
      { code: "MESSAGE_TOO_LARGE" },
    ],
    [
      "a body of more than 448 KiB",
      (server) => server.post("/v1/agent/chat", { ...chat, slots: { a: "a".repeat(458_752) } }),
      413,
      { code: "BODY_TOO_LARGE", detail: expect.stringContaining(" 458752 bytes") as string },
    ],
    [
      "a message of 10 MB",
      (server) => server.post("/v1/agent/chat", { ...chat, message: "a".repeat(10_000_000) }),
      413,
      { code: "BODY_TOO_LARGE" },
    ],
    [
      "an unknown service",
      (server) => server.post("/v1/agent/chat", { ...chat, service: "nope" }),
      404,
      { code: "SERVICE_UNKNOWN", hint: "Known: faq, transfer." },
    ],
    [
      "an unknown locale",
      (server) => server.post("/v1/agent/chat", { ...chat, locale: "xx" }),
      400,
      { errors: [{ field: "locale" }] },
    ],
    [
      "an unknown time zone",
      (server) => server.post("/v1/agent/chat", { ...chat, time_zone: "Mars/Olympus" }),
      400,
      { errors: [{ field: "time_zone" }] },
    ],
    [
      "a GET without a message",
      (server) => server.fetch("/v1/agent/chat/stream?session_id=mina", { headers: fromPage }),
      400,
      { errors: [{ field: "message" }] },
    ],
    [
      "a GET with broken UTF-8",
      (server) =>
        server.fetch("/v1/agent/chat/stream?session_id=mina&message=%ED%95", { headers: fromPage }),
      400,
      { code: "QUERY_INVALID" },
    ],
    [
      "a GET with broken percent-encoding",
      (server) =>
        server.fetch("/v1/agent/chat/stream?session_id=mina&message=100%", { headers: fromPage }),
      400,
      { code: "QUERY_INVALID" },
    ],
    [
      "a path with broken percent-encoding",
      (server) => server.fetch("/v1/agent/sessions/%E0%A4%A"),
      400,
      { code: "URL_INVALID" },
    ],
    [
      "an unknown turn's stream",
      (server) => server.fetch("/v1/agent/turns/turn_0/stream"),
      404,
      { code: "TURN_UNKNOWN" },
    ],
    [
      "what cannot be a turn's id",
      (server) => server.fetch("/v1/agent/turns/turn_%2F/stream"),
      404,
      { code: "TURN_UNKNOWN" },
    ],
    [
      "an unknown turn's stop",
      (server) => server.fetch("/v1/agent/turns/turn_0/stop", { method: "POST" }),
      404,
      { code: "TURN_UNKNOWN" },
    ],
    [
      "an unknown turn's Last-Event-ID",
      (server) => server.fetch(getPath, { headers: { ...fromPage, "last-event-id": "turn_0.1" } }),
      404,
      { code: "TURN_UNKNOWN" },
    ],
    [
      "a Last-Event-ID that is none",
      (server) => server.fetch(getPath, { headers: { ...fromPage, "last-event-id": "17" } }),
      400,
      { code: "EVENT_POSITION_INVALID" },
    ],
    ["an unknown route", (server) => server.fetch("/v1/nothing"), 404, { code: "ROUTE_UNKNOWN" }],
    [
      "a wrong method",
      (server) => server.fetch("/v1/agent/chat"),
      405,
      { code: "METHOD_NOT_ALLOWED" },
    ],
    ["HEAD on a stream", (server) => server.fetch(getPath, { method: "HEAD" }), 405, {}],
    [
      "an unknown session",
      (server) => server.fetch("/v1/agent/sessions/nobody"),
      404,
      { code: "SESSION_UNKNOWN" },
    ],
    [
      "completed without a session",
      (server) => server.fetch("/v1/agent/completed"),
      400,
      { errors: [{ field: "session_id" }] },
    ],
    [
      "a limit of 0",
      (server) => server.fetch("/v1/agent/sessions?limit=0"),
      400,
      { errors: [{ field: "limit" }] },
    ],
    [
      "debug outside dev mode",
      (server) => server.fetch("/v1/agent/debug/mina"),
      404,
      { code: "DEV_MODE_OFF" },
    ],
  ];

  test.each(cases)("%s", async (_name, send, status, problem) => {
    await using server = await startTestServer();

    const response = await send(server);

    expect(response.status).toBe(status);
    expect(server.conversations.changes).toBe(0);
    if (response.headers.get("content-length") === null && response.body === null) return; // HEAD
    expect(response.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    const body = await response.text();
    if (body === "") return;
    expect(JSON.parse(body)).toMatchObject({
      status,
      type: expect.stringMatching(/^urn:dure:problem:/),
      title: expect.any(String),
      detail: expect.any(String),
      code: expect.any(String),
      ...problem,
    });
  });

  test("a message of 64 KiB is taken however its JSON is spelt", async () => {
    await using server = await startTestServer();
    const message = "가".repeat(21_845);
    const escaped = `{"session_id":"mina","message":"${"\\uac00".repeat(21_845)}","slots":{"memo":"${"a".repeat(60_000)}"}}`;

    const plain = await server.post("/v1/agent/chat", { ...chat, message });
    const spelt = await server.fetch("/v1/agent/chat", {
      method: "POST",
      headers: json,
      body: escaped,
    });

    expect([plain.status, spelt.status]).toEqual([200, 200]);
    expect(server.conversations.lastTurn.request.message).toBe(message);
  });

  test("a team's own limit of a message is the one that holds", async () => {
    await using server = await startTestServer({ limits: { messageBytes: 9 } });

    const [fits, over] = [
      await server.post("/v1/agent/chat", { ...chat, message: "가나다" }),
      await server.post("/v1/agent/chat", { ...chat, message: "가나다라" }),
    ];

    expect([fits.status, over.status, await over.json()]).toMatchObject([
      200,
      413,
      { code: "MESSAGE_TOO_LARGE", errors: [{ message: "has 12 bytes of UTF-8; 9 are allowed" }] },
    ]);
  });

  test("a Last-Event-ID of another turn, of another session, of the future", async () => {
    await using server = await startTestServer();
    const one = (await server.post("/v1/agent/chat", chat)).headers.get("turn-id")!;
    const two = (await server.post("/v1/agent/chat", { ...chat, session_id: "jun" })).headers.get(
      "turn-id",
    )!;

    const refused = await Promise.all([
      server.fetch(`/v1/agent/turns/${one}/stream`, { headers: { "last-event-id": `${two}.1` } }),
      server.fetch(getPath, { headers: { ...fromPage, "last-event-id": `${two}.1` } }),
      server.fetch(`/v1/agent/turns/${one}/stream`, { headers: { "last-event-id": `${one}.6` } }),
      server.fetch(getPath, { headers: { ...fromPage, "last-event-id": `${one}.6` } }),
    ]);

    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    for (const response of refused) {
      expect(await response.json()).toMatchObject({ code: "EVENT_POSITION_INVALID" });
    }
    expect(server.conversations.changes).toBe(2);
  });

  test("a second message under policy reject is 409", async () => {
    await using server = await startTestServer();
    server.conversations.policy = "reject";
    server.conversations.script = () => undefined;
    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));

    const second = await server.post("/v1/agent/chat/stream", chat);

    expect([second.status, await second.json()]).toMatchObject([409, { code: "SESSION_BUSY" }]);
    expect(server.conversations.changes).toBe(1);
    expect(stream.response.status).toBe(200);
  });

  test("405 says what the path takes", async () => {
    await using server = await startTestServer();

    const response = await server.fetch("/v1/agent/sessions/mina", { method: "PUT" });

    expect(response.headers.get("allow")).toBe("GET, DELETE");
  });

  test("text that the database cannot store is wrong input", async () => {
    await using server = await startTestServer();
    server.conversations.failure = Object.assign(new Error("0x00"), { code: "22021" });

    const answer = await server.post("/v1/agent/chat", { session_id: "mina", message: "a" });

    expect([answer.status, await answer.json()]).toMatchObject([400, { code: "REQUEST_INVALID" }]);
  });

  test("an unexpected error tells nothing of its inside, the log does", async () => {
    await using server = await startTestServer();
    server.conversations.failure = new Error("secret inside");

    const response = await server.post("/v1/agent/chat", chat);

    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret inside");
    expect(server.log.join("\n")).toContain("secret inside");
  });

  test("a database that is away is 503 with Retry-After", async () => {
    await using server = await startTestServer();
    server.conversations.failure = new DureError(
      "DATABASE_UNAVAILABLE",
      "The database does not answer.",
      { class: "unavailable" },
    );

    const response = await server.post("/v1/agent/chat", chat);

    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  });

  test.each([
    ["what is not HTTP", "hello\r\n\r\n", 400, "HTTP_INVALID"],
    [
      "two lengths of one body",
      "POST /v1/agent/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: " +
        "chunked\r\n\r\n0\r\n\r\n",
      400,
      "HTTP_INVALID",
    ],
    [
      "a head of 20 kB",
      `GET /v1/services HTTP/1.1\r\nHost: localhost\r\nX: ${"a".repeat(20_000)}\r\n\r\n`,
      431,
      "HEADERS_TOO_LARGE",
    ],
    [
      "an expectation",
      "POST /v1/agent/chat HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\nContent-Length: 2\r\n\r\n{}",
      417,
      "EXPECTATION_FAILED",
    ],
  ])("%s gets a problem as well", async (_what, request, status, code) => {
    await using server = await startTestServer();

    const answer = await answerTo(server, (socket) => void socket.write(request));

    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(/\{.*\}/.exec(answer)![0])).toMatchObject({ status, code });
  });

  test("a request that does not come in within its time is told so", async () => {
    await using server = await startTestServer();
    const connected = once(server.app.server, "connection") as Promise<[Socket]>;

    const answer = await answerTo(server, async (socket) => {
      socket.write(
        "POST /v1/agent/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
      );
      const [accepted] = await connected;
      await expect.poll(() => accepted.bytesRead).toBeGreaterThan(0);
      // What Node does when its own timer, which no test can turn, runs out.
      server.app.server.emit(
        "clientError",
        Object.assign(new Error("Request timeout"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }),
        accepted,
      );
    });

    expect(answer).toContain("HTTP/1.1 408 ");
    expect(answer).toContain("within 60 s");
  });

  async function answerTo(
    server: TestServer,
    ask: (socket: Socket) => void | Promise<void>,
  ): Promise<string> {
    const socket = createConnection(server.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (bytes) => (answer += bytes.toString()));
    await ask(socket);
    await once(socket, "close");
    return answer;
  }
});

describe("sessions", () => {
  test("are listed in pages, shown with history, forgotten", async () => {
    await using server = await startTestServer({ devMode: true });
    const turnId = (await server.post("/v1/agent/chat", chat)).headers.get("turn-id");
    await server.post("/v1/agent/chat", { ...chat, session_id: "jun" });
    await until(() => server.conversations.sessionsById.get("mina")!.history.length === 2);

    const first = (await (await server.fetch("/v1/agent/sessions?limit=1")).json()) as {
      next_cursor: string;
    };
    const second = await (
      await server.fetch(`/v1/agent/sessions?limit=1&cursor=${first.next_cursor}`)
    ).json();
    const one = await (await server.fetch("/v1/agent/sessions/mina")).json();
    const completed = await (await server.fetch("/v1/agent/completed?session_id=mina")).json();
    const debug = await (await server.fetch("/v1/agent/debug/mina")).json();
    const forgotten = await server.fetch("/v1/agent/sessions/mina", { method: "DELETE" });
    const gone = await server.fetch("/v1/agent/debug/mina");

    expect(first).toEqual({
      items: [
        {
          session_id: "mina",
          service: "faq",
          title: "안녕하세요",
          updated_at: 1_000,
          running_turn: null,
        },
      ],
      next_cursor: "1",
    });
    expect(second).toMatchObject({ items: [{ session_id: "jun" }], next_cursor: null });
    expect(one).toMatchObject({
      session_id: "mina",
      services: ["faq", "transfer"],
      locale: "ko",
      time_zone: "Asia/Seoul",
      state: { camelCase: 1 },
      stage: "INIT",
      running_turn: null,
      history: [
        { role: "user", content: "안녕하세요", turn_id: turnId, author: "person" },
        {
          role: "assistant",
          content: "안녕",
          done: { next_action: "ASK", _trace: { turn_id: turnId } },
        },
      ],
      trace: { turn_id: turnId },
    });
    expect(completed).toEqual({
      items: [
        {
          service: "faq",
          flow: "TRANSFER",
          stage: "EXECUTED",
          turn_id: turnId,
          at: 3_000,
          data: { keepMe: 1 },
        },
      ],
    });
    expect(debug).toMatchObject({ memory: { raw_history: [{ role: "user" }], summary_text: "" } });
    expect(forgotten.status).toBe(204);
    expect(gone.status).toBe(404);
    expect(server.conversations.sessionsById.has("mina")).toBe(false); // debug creates none
    expect(server.audit).toMatchObject([
      { what: "session.delete", subject: "mina", outcome: "done" },
    ]);
  });

  test("a running turn is named", async () => {
    await using server = await startTestServer();
    server.conversations.script = () => undefined;
    await using stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));

    const session = await (await server.fetch("/v1/agent/sessions/mina")).json();

    expect(session).toMatchObject({
      running_turn: { turn_id: stream.response.headers.get("turn-id") },
    });
  });

  test("answers are what /openapi.json says of them", async () => {
    await using server = await startTestServer({ devMode: true });
    const chatted = await (await server.post("/v1/agent/chat", chat)).json();
    await until(() => server.conversations.sessionsById.get("mina")!.history.length === 2);
    const get = async (path: string): Promise<unknown> => (await server.fetch(path)).json();

    const answers: [z.ZodType, unknown][] = [
      [ChatAnswer, chatted],
      [SessionsAnswer, await get("/v1/agent/sessions")],
      [SessionAnswer, await get("/v1/agent/sessions/mina")],
      [CompletedAnswer, await get("/v1/agent/completed?session_id=mina")],
      [DebugAnswer, await get("/v1/agent/debug/mina")],
      [ServicesAnswer, await get("/v1/services")],
      [MeAnswer, await get("/v1/me")],
      [HealthAnswer, await get("/healthz")],
      [ReadyAnswer, await get("/readyz")],
      [ProblemJson, await get("/v1/agent/sessions/nobody")],
    ];

    // Nothing is wrong, nothing is more than said.
    for (const [schema, answer] of answers) expect(schema.parse(answer)).toEqual(answer);
  });

  test("services are described", async () => {
    await using server = await startTestServer();

    const services = await (await server.fetch("/v1/services")).json();

    expect(services).toMatchObject({
      items: [
        { name: "faq", default: true },
        { name: "transfer", stages: { initial: "INIT" }, slots: [{ name: "amount" }] },
      ],
    });
  });
});
