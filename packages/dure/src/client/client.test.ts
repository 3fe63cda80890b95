import { describe, expect, test } from "vitest";
import { DoubleServer } from "../../../dashboard/test/double/server.ts";
import type { TurnFrame } from "./turn-cursor.ts";
import { DureClient } from "./client.ts";
import { EMPTY_TURN_VIEW, shownText, turnView } from "./turn-view.ts";

const QUICK = { attempts: 4, maxDelayMs: 20 };

function clientOf(server: DoubleServer, options: { token?: string } = {}): DureClient {
  return new DureClient({ baseUrl: server.url, reconnect: QUICK, ...options });
}

async function readAll(stream: AsyncIterable<TurnFrame>): Promise<TurnFrame[]> {
  const frames: TurnFrame[] = [];
  for await (const frame of stream) frames.push(frame);
  return frames;
}

function textOf(frames: readonly TurnFrame[]): string {
  return frames.map((frame) => (frame.type === "LLM_TOKEN" ? frame.data : "")).join("");
}

describe("a turn", () => {
  test("arrives in order and ends in one DONE, in camelCase", async () => {
    await using server = await new DoubleServer().start();

    const turn = clientOf(server).sendMessage({
      sessionId: "s1",
      message: "엄마에게 5만원 보내줘",
    });
    const frames = await readAll(turn);

    const done = await turn.done;
    expect(frames.at(-1)).toMatchObject({ type: "DONE" });
    expect(frames.filter((frame) => frame.type === "DONE")).toHaveLength(1);
    expect(textOf(frames)).toBe(done.message);
    expect(done.uiHint?.confirmId).toMatch(/^c-/);
    expect(done.trace.turnId).toBe(await turn.turnId);
    expect(done.stateSnapshot).toMatchObject({ meta: { slot_errors: {} } });
  });

  test.for([1, 2, 3, 4, 5, 7, 9, 12])(
    "loses and repeats nothing when the connection is cut after %i frames, again and again",
    async (cut) => {
      await using server = await new DoubleServer({ tokenMs: 1 }).start();
      server.openGate("long");
      server.cut(/chat\/stream/, cut);
      for (let again = 0; again < 4; again++) server.cut(/turns/, cut);

      const turn = clientOf(server).sendMessage({ sessionId: "s1", message: "길게 말해줘" });
      const frames = await readAll(turn);

      expect(textOf(frames)).toBe((await turn.done).message);
      const ids = frames.flatMap((frame) => (frame.id === undefined ? [] : [frame.id]));
      expect(new Set(ids).size).toBe(ids.length);
      expect(server.journal.filter((entry) => entry.method === "POST")).toHaveLength(1);
    },
  );

  test("is sent again with the same key when the connection dies before its id is known", async () => {
    await using server = await new DoubleServer().start();
    server.cut(/chat\/stream/, 0);
    server.cut(/chat\/stream/, 0);

    const turn = clientOf(server).sendMessage({ sessionId: "s1", message: "안녕" });
    await turn.done;

    const posts = server.journal.filter((entry) => entry.method === "POST");
    expect(posts).toHaveLength(3);
    expect(new Set(posts.map((entry) => entry.key)).size).toBe(1);
    expect(await turn.turnId).toBe("turn_1");
  });

  test("voids the text of an agent that a crash cut off", async () => {
    await using server = await new DoubleServer().start();
    const client = clientOf(server);
    const turn = client.sendMessage({ sessionId: "s1", message: "죽었다 깨어나" });

    let view = EMPTY_TURN_VIEW;
    let before = "";
    for await (const frame of turn) {
      if (frame.type === "LLM_TOKEN" && before === "") server.openGate("crash");
      if (frame.type === "AGENT_START" && frame.data.restart) before = shownText(view);
      view = turnView(view, frame, 0);
    }

    expect(before).toContain("처음에");
    expect(shownText(view)).toBe("다시 시작해서 끝까지 답했습니다.");
    expect(view.runs).toHaveLength(1);
    expect(view.runs[0]).toMatchObject({
      restarted: true,
      status: "done",
      text: "다시 시작해서 끝까지 답했습니다.",
    });
  });

  test("can be followed by another reader from its first event, running or done", async () => {
    await using server = await new DoubleServer().start();
    const client = clientOf(server);
    const first = client.sendMessage({ sessionId: "s1", message: "길게 말해줘" });
    const turnId = await first.turnId;

    const second = client.followTurn(turnId);
    server.openGate("long");
    const live = await readAll(second);
    const late = await readAll(client.followTurn(turnId));

    const { message } = await first.done;
    expect(textOf(live)).toBe(message);
    expect(textOf(late)).toBe(message);
  });

  test("goes on when its reader leaves, and ends as stopped when asked to", async () => {
    await using server = await new DoubleServer().start();
    const client = clientOf(server);
    const turn = client.sendMessage({ sessionId: "s1", message: "길게 말해줘" });
    for await (const frame of turn) if (frame.type === "LLM_TOKEN") break;
    const turnId = await turn.turnId;
    await expect(turn.done).rejects.toThrow();

    expect((await client.session("s1")).runningTurn).toEqual({ turnId });
    await client.stopTurn(turnId);

    expect((await client.followTurn(turnId).done).error?.code).toBe("TURN_STOPPED");
    await expect(client.stopTurn(turnId)).rejects.toMatchObject({
      class: "conflict",
      code: "TURN_DONE",
    });
  });

  test("that cannot be reached is given up after a bounded number of connections", async () => {
    const server = await new DoubleServer().start();
    const { url } = server;
    await server[Symbol.asyncDispose]();

    const turn = new DureClient({ baseUrl: url, reconnect: QUICK }).sendMessage({
      sessionId: "s1",
      message: "안녕",
    });

    await expect(turn.done).rejects.toMatchObject({ code: "STREAM_LOST", class: "unavailable" });
    await expect(turn.turnId).rejects.toMatchObject({ code: "STREAM_LOST" });
  });

  test("that is refused says why, and is not tried again", async () => {
    await using server = await new DoubleServer().start();
    server.refuse(/chat\/stream/, 429, {
      title: "Too many",
      code: "SESSION_BUSY",
      detail: "20 messages wait in s1.",
      hint: "Wait for an answer.",
      waiting: 20,
    });

    const turn = clientOf(server).sendMessage({ sessionId: "s1", message: "안녕" });

    await expect(turn.done).rejects.toMatchObject({
      code: "SESSION_BUSY",
      class: "limit",
      hint: "Wait for an answer.",
      details: { waiting: 20 },
    });
    expect(server.journal).toHaveLength(1);
  });

  test("outlives a server that drains: 503 is tried again with the same key", async () => {
    await using server = await new DoubleServer().start();
    server.refuse(/chat\/stream/, 503, { code: "DRAINING", detail: "going away" });

    const turn = clientOf(server).sendMessage({ sessionId: "s1", message: "안녕" });

    expect((await turn.done).message).toContain("안녕");
    expect(new Set(server.journal.map((entry) => entry.key)).size).toBe(1);
  });

  test("that falls silent is read on a new connection", async () => {
    await using server = await new DoubleServer().start();
    const client = new DureClient({
      baseUrl: server.url,
      reconnect: { ...QUICK, attempts: 1000, silenceMs: 40 },
    });
    const states: string[] = [];
    const turn = client.sendMessage(
      { sessionId: "s1", message: "길게 말해줘" },
      {
        onConnection: (state) => {
          states.push(state);
          if (state === "reconnecting") server.openGate("long");
        },
      },
    );

    const frames = await readAll(turn);

    expect(states).toContain("reconnecting");
    expect(textOf(frames)).toBe((await turn.done).message);
  });
});

describe("the event log", () => {
  test("is followed across a cut connection without gap or duplicate", async () => {
    await using server = await new DoubleServer().start();
    const leave = new AbortController();
    server.cut(/events/, 2);
    const seen: number[] = [];
    const onConnection = (state: string): void => {
      if (state === "connected" && seen.length === 0) {
        for (let n = 1; n <= 6; n++) {
          server.emit({ type: "job.started", role: "delegation", data: { n } });
        }
      }
    };

    await expect(async () => {
      for await (const event of clientOf(server).events(
        { types: ["job.*"] },
        { signal: leave.signal, onConnection },
      )) {
        seen.push("n" in event.data ? Number(event.data.n) : 0);
        if (seen.length === 6) leave.abort();
      }
    }).rejects.toThrow();

    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(server.journal.at(-1)?.lastEventId).toBeDefined();
  });

  test("gives an event of a newer server as it came", async () => {
    await using server = await new DoubleServer().start();
    const onConnection = (): void => {
      server.emit({ type: "moon.rose", role: "system", data: { full: true } });
    };

    for await (const event of clientOf(server).events({}, { onConnection })) {
      expect(event).toMatchObject({ type: "moon.rose", data: { full: true } });
      break;
    }
  });

  test("loses nothing when it is cut off before its first event", async () => {
    await using server = await new DoubleServer().start();
    server.cut(/events/, 0);
    const onConnection = (state: string): void => {
      if (state === "reconnecting") {
        server.emit({ type: "job.started", role: "delegation", data: { n: 1 } });
      }
    };

    for await (const event of clientOf(server).events({}, { onConnection })) {
      expect(event.data).toEqual({ n: 1 });
      break;
    }

    expect(server.journal.map((entry) => entry.lastEventId)).toEqual([undefined, "1.1.0"]);
  });

  test("says when the position is older than what is kept, and goes on", async () => {
    await using server = await new DoubleServer().start();
    const leave = new AbortController();
    const resets: unknown[] = [];
    const onConnection = (): void => {
      server.resetReaders("1.500.9");
      server.emit({ type: "job.started", role: "delegation", data: {} });
    };

    for await (const event of clientOf(server).events(
      {},
      { signal: leave.signal, onConnection, onReset: (reset) => resets.push(reset) },
    )) {
      expect(event.type).toBe("job.started");
      break;
    }

    expect(resets).toEqual([{ oldest: "1.500.9" }]);
  });
});

describe("the other routes", () => {
  test.each([
    {
      ask: (dure: DureClient) => dure.trace("turn-1", { asPerson: "민준" }),
      sent: { url: "/v1/traces/turn-1?as_person=%EB%AF%BC%EC%A4%80", body: undefined },
    },
    {
      ask: (dure: DureClient) =>
        dure.answerEscalation("e-1", { value: "approve", input: { bankCode: "088" } }),
      sent: {
        url: "/v1/escalations/e-1/answer",
        body: { value: "approve", input: { bankCode: "088" } },
      },
    },
    {
      ask: (dure: DureClient) => dure.jobs.ask({ agent: "ruda", maxTurns: 3, message: "안녕" }),
      sent: { url: "/v1/jobs", body: { agent: "ruda", max_turns: 3, message: "안녕" } },
    },
  ])(
    "are asked in the wire's spelling, and arguments of a call keep theirs: $sent.url",
    async (row) => {
      const sent: { url: string; body: unknown }[] = [];
      const dure = new DureClient({
        baseUrl: "",
        fetch: async (url, { body } = {}) => {
          sent.push({ url: url as string, body: body ? JSON.parse(body as string) : undefined });
          return Response.json({});
        },
      });

      await row.ask(dure);

      expect(sent).toEqual([row.sent]);
    },
  );

  test("give resources in camelCase and leave what is the service's as it is", async () => {
    await using server = await new DoubleServer().start();
    const client = clientOf(server);
    await client.sendMessage({ sessionId: "s1", message: "엄마에게 5만원 보내줘" }).done;

    const session = await client.session("s1");
    expect(session).toMatchObject({
      sessionId: "s1",
      timeZone: "Asia/Seoul",
      stage: "READY",
      runningTurn: null,
      state: { meta: { slot_errors: {} } },
    });
    expect(session.history.map((entry) => entry.role)).toEqual(["user", "assistant"]);
    expect(session.history[1]?.done?.nextAction).toBe("CONFIRM");
    expect((await client.sessions({ limit: 1 })).items[0]).toMatchObject({
      sessionId: "s1",
      title: "엄마에게 5만원 보내줘",
    });
    expect((await client.services())[0]?.stages?.initial).toBe("INIT");
    expect((await client.debug("s1")).memory.rawHistory).toHaveLength(2);
    expect(await client.me()).toEqual({
      auth: "open",
      access: { mode: "same-user", because: "no-token" },
      scopes: ["admin", "plans:confirm"],
      devMode: true,
      locale: "ko",
      model: "offline",
      person: null,
    });
    expect(await client.completed("s1")).toEqual([]);
    await client.health();
    await client.deleteSession("s1");
    await expect(client.session("s1")).rejects.toMatchObject({
      class: "not-found",
      code: "SESSION_UNKNOWN",
    });
  });

  test("need the token where the server asks for one", async () => {
    await using server = await new DoubleServer({ token: "secret" }).start();

    await expect(clientOf(server).me()).rejects.toMatchObject({
      class: "unauthorized",
      code: "TOKEN_MISSING",
    });
    expect(await clientOf(server, { token: "secret" }).me()).toMatchObject({ auth: "token" });
    await expect(clientOf(server).login("wrong")).rejects.toMatchObject({ code: "TOKEN_INVALID" });
  });
});
