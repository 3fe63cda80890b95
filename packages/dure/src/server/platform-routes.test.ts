import { FULL } from "../kernel/test-tiers.ts";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isObject } from "../kernel/json.ts";
import { SseReader, startTestServer, until } from "./test-server.ts";
import { MemoryTokenStore } from "./token-store.ts";

const chat = { session_id: "mina", message: "안녕하세요" };

describe("GET /v1/events", () => {
  test("gives new events with their position, and replays behind Last-Event-ID", async () => {
    await using server = await startTestServer();
    server.events.publish({ type: "old.one", data: {} });
    await using live = new SseReader(await server.fetch("/v1/events"));
    await until(() => server.events.followers === 1);

    server.events.publish({
      type: "turn.done",
      session: "mina",
      turn: "turn_1",
      data: { keepMe: 1 },
    });
    await live.until(({ frames }) => frames.length === 1);
    await using again = new SseReader(
      await server.fetch("/v1/events", { headers: { "last-event-id": "1.0.1" } }),
    );
    await again.until(({ frames }) => frames.length === 1);

    expect(live.frames).toEqual([
      {
        id: "1.0.2",
        event: "turn.done",
        data: {
          id: "1.0.2",
          type: "turn.done",
          at: 1,
          role: "conversation",
          session: "mina",
          turn: "turn_1",
          data: { keepMe: 1 },
        },
      },
    ]);
    expect(again.frames).toEqual(live.frames);
  });

  test("begins with the newest that match when asked to; a returning reader gets none of them twice", async () => {
    await using server = await startTestServer();
    for (const session of ["mina", "jun", "mina", "mina", "jun"]) {
      server.events.publish({ type: "turn.done", session });
    }

    await using two = new SseReader(await server.fetch("/v1/events?session=mina&last=2"));
    await two.until(({ frames }) => frames.length === 2);
    await using none = new SseReader(await server.fetch("/v1/events?last=0"));
    await none.until(({ lastEventId }) => lastEventId !== undefined);
    await using again = new SseReader(
      await server.fetch("/v1/events?session=mina&last=2", {
        headers: { "last-event-id": "1.0.3" },
      }),
    );
    await again.until(({ frames }) => frames.length === 1);

    expect(two.frames.map(({ id }) => id)).toEqual(["1.0.3", "1.0.4"]);
    expect(none.lastEventId).toBe("1.0.5");
    expect(again.frames.map(({ id }) => id)).toEqual(["1.0.4"]);
  });

  test("says reset when the position is older than what is kept", async () => {
    await using server = await startTestServer();
    for (const type of ["a", "b", "c"]) server.events.publish({ type });
    server.events.oldest = 3;

    await using stream = new SseReader(await server.fetch("/v1/events?last_event_id=1.0.0"));
    await stream.until(({ frames }) => frames.length === 2);

    expect(
      stream.frames.map(({ event, data }) => [event, (data as { oldest?: string }).oldest]),
    ).toEqual([
      ["reset", "1.0.3"],
      ["c", undefined],
    ]);
  });

  test.each([
    "/v1/events?role=nobody",
    "/v1/events?session=a/",
    "/v1/events?last_event_id=turn_1.3",
    "/v1/events?last=1001",
    "/v1/events?last=-1",
    "/v1/events?last=all",
  ])("%s is 400", async (path) => {
    await using server = await startTestServer();

    expect((await server.fetch(path)).status).toBe(400);
    expect(server.events.followers).toBe(0);
  });

  test("a reader that is cut off before the first event misses nothing", async () => {
    await using server = await startTestServer();
    const cut = new SseReader(await server.fetch("/v1/events"));
    await cut.until(({ lastEventId }) => lastEventId !== undefined);
    await cut[Symbol.asyncDispose]();
    server.events.publish({ type: "meanwhile" });

    await using again = new SseReader(
      await server.fetch("/v1/events", { headers: { "last-event-id": cut.lastEventId! } }),
    );
    await again.until(({ frames }) => frames.length > 0);

    expect(again.types).toEqual(["meanwhile"]);
  });

  test(
    "a reader that does not read is cut off within a bounded buffer, and reads on from where it was",
    FULL,
    async () => {
      await using server = await startTestServer({ limits: { stallMs: 200 } });
      const total = 400;
      const socket = createConnection(server.port, "127.0.0.1");
      socket.write("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await until(() => server.events.followers === 1);
      for (let index = 0; index < total; index++) {
        server.events.publish({ type: "big.one", data: { text: "x".repeat(64 * 1_024) } });
      }

      await until(() => server.events.followers === 0); // the reader was sent away
      expect(server.log.join("\n")).toContain("was cut off");
      let received = "";
      socket.on("data", (bytes) => (received += bytes.toString()));
      socket.on("error", () => undefined);
      await once(socket, "close");
      const ids = [...received.matchAll(/^id: (\S+)\nevent: big\.one\ndata: .*\}\n\n/gm)].map(
        ([, id]) => Number(id!.split(".")[2]),
      );
      expect(ids.length).toBeLessThan(total); // what was not read did not pile up here

      // On a busy machine a reader that does read may be too slow as well; it comes again.
      while (ids.length < total) {
        await using rest = new SseReader(
          await server.fetch("/v1/events", {
            headers: { "last-event-id": `1.0.${ids.at(-1) ?? 0}` },
          }),
        );
        await Promise.race([
          rest.ended.catch(() => undefined),
          rest.until(({ frames }) => ids.length + frames.length === total),
        ]);
        ids.push(...rest.frames.map(({ id }) => Number(id!.split(".")[2])));
      }
      expect(ids).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    },
  );

  test("a reader that leaves ends following", async () => {
    await using server = await startTestServer();
    const stream = new SseReader(await server.fetch("/v1/events"));
    await until(() => server.events.followers === 1);

    await stream[Symbol.asyncDispose]();

    await until(() => server.events.followers === 0);
    expect(server.log.filter((line) => line.includes("broke"))).toEqual([]);
  });

  test("a token sees the events of its scopes", async () => {
    const store = new MemoryTokenStore();
    const { token } = await store.create({ name: "planner", scopes: ["plans"] });
    await using server = await startTestServer({ auth: store });
    await using stream = new SseReader(
      await server.fetch("/v1/events?last_event_id=1.0.0", {
        headers: { authorization: `Bearer ${token}` },
      }),
    );

    for (const role of ["conversation", "delegation", "system", "orchestration"] as const) {
      server.events.publish({ type: `${role}.x`, role });
    }
    await stream.until(({ frames }) => frames.length > 0);

    expect(stream.types).toEqual(["orchestration.x"]);
  });
});

describe("how the process is", () => {
  test("health, readiness with reasons, metrics, me", async () => {
    await using server = await startTestServer({
      health: async () => ({
        ready: false,
        checks: { database: { ok: false, detail: "connection refused" } },
      }),
    });

    const health = await server.fetch("/healthz");
    const ready = await server.fetch("/readyz");
    const metrics = await server.fetch("/metrics");
    const me = await server.fetch("/v1/me");

    expect([health.status, await health.json()]).toEqual([200, { status: "ok", version: "0.1.0" }]);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      { ready: false, checks: { database: { ok: false, detail: "connection refused" } } },
    ]);
    expect([metrics.headers.get("content-type"), await metrics.text()]).toEqual([
      "text/plain; version=0.0.4; charset=utf-8",
      "dure_turns_total 1\n",
    ]);
    expect(await me.json()).toEqual({
      auth: "open",
      access: { mode: "same-user", because: "no-token" },
      scopes: [
        "chat",
        "rooms",
        "jobs",
        "plans",
        "plans:read",
        "plans:run",
        "plans:merge",
        "plans:confirm",
        "admin",
      ],
      person: null,
      dev_mode: false,
      locale: "ko",
      model: "offline",
    });
  });

  test("a health check that throws is not ready, and strangers get no details", async () => {
    await using server = await startTestServer({
      access: { loginAlways: true },
      health: async () => {
        throw new Error("10.0.0.5 is gone");
      },
    });

    const ready = await server.fetch("/readyz");

    expect([ready.status, await ready.json()]).toEqual([
      503,
      { ready: false, checks: { health: { ok: false } } },
    ]);
  });

  test("a port in use says so", async () => {
    await using first = await startTestServer();

    await expect(startTestServer({}, first.port)).rejects.toMatchObject({ code: "PORT_IN_USE" });
  });
});

describe("closing", () => {
  test("streams get a hint to reconnect and end; new requests are 503; turns go on", async () => {
    const server = await startTestServer({ limits: { drainMs: 100 } });
    server.conversations.script = () => undefined;
    const stream = new SseReader(await server.post("/v1/agent/chat/stream", chat));
    const events = new SseReader(await server.fetch("/v1/events"));
    const waiting = server.post("/v1/agent/chat", { ...chat, session_id: "jun" });
    await until(
      () => server.conversations.turns.size === 2 && server.conversations.lastTurn.readers === 1,
    );

    const closed = server.app.close();
    await Promise.all([stream.ended, events.ended]);
    const answer = await waiting;
    await closed;

    expect([stream.retry, events.retry]).toEqual([1_000, 1_000]);
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { code: "SERVER_DRAINING", turn_id: server.conversations.lastTurn.id },
    ]);
    expect(answer.headers.get("turn-id")).toBe(server.conversations.lastTurn.id);
    expect([...server.conversations.turns.values()].map(({ stopped }) => stopped)).toEqual([
      false,
      false,
    ]);
  });

  test("a client that does not read its answer does not keep the server from closing", async () => {
    const server = await startTestServer({
      limits: { drainMs: 50 },
      metrics: async () => "x".repeat(20_000_000),
    });
    const socket = createConnection(server.port, "127.0.0.1");
    socket.pause();
    socket.write("GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await once(socket, "readable");

    await server.app.close();

    expect(server.app.server.listening).toBe(false);
    socket.destroy();
  });

  test("a connection that has asked nothing is closed at once", async () => {
    // Were it waited for, closing would last an hour.
    const server = await startTestServer({ limits: { drainMs: 3_600_000 } });
    const accepted = once(server.app.server, "connection");
    const socket = createConnection(server.port, "127.0.0.1").resume();
    await accepted;

    const gone = once(socket, "close");
    await server.app.close();
    await gone;

    expect(server.app.server.listening).toBe(false);
  });

  test("a turn that ends in time is still answered", async () => {
    const server = await startTestServer();
    server.conversations.script = () => undefined;
    const waiting = server.post("/v1/agent/chat", chat);
    await until(
      () => server.conversations.turns.size === 1 && server.conversations.lastTurn.readers === 1,
    );

    const closed = server.app.close();
    server.conversations.lastTurn.finish("끝");

    expect(await (await waiting).json()).toMatchObject({ interaction: { message: "끝" } });
    await closed;
  });
});

describe("the dashboard", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "dure-dashboard-"));
    await mkdir(join(folder, "assets"));
    await writeFile(join(folder, "index.html"), "<!doctype html><title>두레</title>");
    await writeFile(join(folder, "assets", "app-1a2b.js"), `console.log("${"x".repeat(4_000)}")`);
    await writeFile(join(folder, ".secret"), "no");
  });
  afterAll(() => rm(folder, { recursive: true }));
  const page = { accept: "text/html,*/*" };

  test("is served with its pages, strict headers and lasting assets", async () => {
    await using server = await startTestServer({
      dashboardFolder: folder,
      auth: new MemoryTokenStore(),
    });

    const root = await server.fetch("/");
    const deep = await server.fetch("/chat/mina", { headers: page });
    const asset = await server.fetch("/assets/app-1a2b.js");

    expect([root.status, await root.text()]).toEqual([200, "<!doctype html><title>두레</title>"]);
    expect([
      deep.status,
      deep.headers.get("content-type"),
      deep.headers.get("cache-control"),
    ]).toEqual([200, "text/html; charset=utf-8", "no-cache"]);
    expect(root.headers.get("content-security-policy")).toContain("script-src 'self';");
    expect(root.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(root.headers.get("x-content-type-options")).toBe("nosniff");
    expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(asset.headers.get("content-encoding")).toBe("gzip");
    expect(await asset.text()).toContain("console.log");
  });

  test("sends a page's own document in the browser's language, and none of it to strangers", async () => {
    await mkdir(join(folder, "pages"), { recursive: true });
    await writeFile(join(folder, "pages", "start.ko.html"), "<!doctype html>한눈에 보기");
    await using open = await startTestServer({ dashboardFolder: folder });
    await using closed = await startTestServer({
      dashboardFolder: folder,
      access: { loginAlways: true },
    });
    const korean = { ...page, "accept-language": "ko" };

    const known = await open.fetch("/", { headers: korean });
    const stranger = await closed.fetch("/", { headers: korean });
    const withToken = await open.fetch("/", { headers: { ...korean, authorization: "Bearer x" } });

    expect(await known.text()).toContain("한눈에 보기");
    expect(known.headers.get("vary")).toContain("accept-language, cookie");
    expect(known.headers.get("cache-control")).toBe("no-cache");
    expect(await stranger.text()).not.toContain("한눈에 보기");
    expect(await withToken.text()).not.toContain("한눈에 보기");
  });

  test("sends an asset as the build has packed it, where the browser can read that", async () => {
    const packed = brotliCompressSync("console.log('packed')");
    await writeFile(join(folder, "assets", "app-1a2b.js.br"), packed);
    await using server = await startTestServer({ dashboardFolder: folder });
    const ask = (encoding: string): Promise<Response> =>
      server.fetch("/assets/app-1a2b.js", { headers: { "accept-encoding": encoding } });

    const small = await ask("gzip, deflate, br");
    const plain = await ask("identity");

    expect(small.headers.get("content-encoding")).toBe("br");
    expect(small.headers.get("content-type")).toContain("javascript");
    expect(small.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(small.headers.get("vary")).toContain("accept-encoding");
    expect(await small.text()).toBe("console.log('packed')");
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(await plain.text()).toContain("xxx");
  });

  test("what is not there, hidden, outside or of the API is no page", async () => {
    await using server = await startTestServer({ dashboardFolder: folder });
    const status = async (path: string, init: RequestInit = {}): Promise<number> =>
      (await server.fetch(path, { headers: page, ...init })).status;

    expect(await status("/assets/gone.js")).toBe(404);
    expect(await status("/v1/nothing")).toBe(404);
    expect(await status("/v1/agent/chat")).toBe(405);
    expect(await status("/chat/mina", { headers: { accept: "application/json" } })).toBe(404);
    expect(await status("/chat/mina", { method: "POST" })).toBe(404);
    expect(await (await server.fetch("/.secret", { headers: page })).text()).not.toBe("no");
    expect(
      await (await server.fetch("/%2e%2e/%2e%2e/etc/passwd", { headers: page })).text(),
    ).not.toContain("root:");
  });
});

describe("/openapi.json", () => {
  test("describes every route in OpenAPI 3.1, and every reference leads somewhere", async () => {
    await using server = await startTestServer();

    const document = (await (await server.fetch("/openapi.json")).json()) as Document;

    expect(document.openapi).toBe("3.1.0");
    expect(Object.keys(document.paths).sort()).toEqual([
      "/healthz",
      "/metrics",
      "/readyz",
      "/v1/agent/chat",
      "/v1/agent/chat/stream",
      "/v1/agent/completed",
      "/v1/agent/debug/{session_id}",
      "/v1/agent/sessions",
      "/v1/agent/sessions/{session_id}",
      "/v1/agent/sessions/{session_id}/leave",
      "/v1/agent/turns/{turn_id}/retry",
      "/v1/agent/turns/{turn_id}/stop",
      "/v1/agent/turns/{turn_id}/stream",
      "/v1/audit",
      "/v1/events",
      "/v1/login",
      "/v1/login/links",
      "/v1/login/sessions",
      "/v1/login/sessions/{id}",
      "/v1/logout",
      "/v1/me",
      "/v1/services",
    ]);
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const operation of Object.values(operations)) {
        const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
        const declared = (operation.parameters ?? [])
          .filter((parameter) => parameter.in === "path")
          .map(({ name }) => name);
        expect(declared.sort()).toEqual(named.sort());
        expect(Object.keys(operation.responses).length).toBeGreaterThan(0);
        for (const response of Object.values(operation.responses)) {
          expect(typeof response.description).toBe("string");
        }
      }
    }
    for (const reference of referencesIn(document)) {
      const target = reference
        .slice(2)
        .split("/")
        .reduce<unknown>((part, key) => (isObject(part) ? part[key] : undefined), document);
      expect(target, reference).toBeDefined();
    }
    const post = document.paths["/v1/agent/chat/stream"]!["post"]!;
    expect(post.responses["200"]!.content).toHaveProperty("text/event-stream");
    expect(post.responses["422"]!.content).toHaveProperty("application/problem+json");
    expect(post.requestBody?.content["application/json"]?.schema.required).toEqual(["message"]);
  });
});

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: { required: string[] } }> };
  responses: Record<string, { description: string; content?: Record<string, unknown> }>;
}

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === "$ref" ? [String(member)] : referencesIn(member),
  );
}
