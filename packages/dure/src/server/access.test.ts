import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { assertBindable, countedAs, decideOrigin, hasScope, isHostAllowed } from "./access.ts";
import type { CostBook } from "./cost-routes.ts";
import { SseReader, startTestServer, until, type TestServer } from "./test-server.ts";

import { MemoryTokenStore } from "./token-store.ts";
import type { Scope } from "../kernel/access.ts";

/** What a browser says of a request of dure's own page. */
const FROM_PAGE = { "sec-fetch-site": "same-origin" };

const chat = { session_id: "mina", message: "안녕하세요" };

/** fetch sets Host and Origin by itself; this sends what it is told. */
function send(
  server: TestServer,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const request = httpRequest(
      {
        port: server.port,
        host: "127.0.0.1",
        method,
        path,
        headers: {
          ...(text === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...headers,
        },
      },
      (response) => {
        let all = "";
        response.on("data", (bytes: Buffer) => (all += bytes.toString()));
        response.on("end", () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: all }),
        );
      },
    );
    request.on("error", reject);
    request.end(text);
  });
}

async function startWithTokens(options: Parameters<typeof startTestServer>[0] = {}): Promise<{
  server: TestServer;
  store: MemoryTokenStore;
  token: (
    scopes: Scope[],
    tenant?: string,
  ) => Promise<{ token: string; id: string; bearer: Record<string, string> }>;
}> {
  const store = new MemoryTokenStore();
  // With none the user who runs the server needs none.
  await store.create({ name: "first", scopes: ["chat"] });
  const server = await startTestServer({ auth: store, ...options });
  return {
    server,
    store,
    token: async (scopes, tenant = "") => {
      const { token, record } = await store.create({ name: "test", tenant, scopes });
      return { token, id: record.id, bearer: { authorization: `Bearer ${token}` } };
    },
  };
}

test.for([
  ["203.0.113.9", "203.0.113.9"],
  ["::ffff:203.0.113.9", "203.0.113.9"],
  ["::FFFF:cb00:7109", "203.0.113.9"],
  ["2001:db8:1:2::1", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64"],
  ["2001:db8:1:3::1", "2001:db8:1:3::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["64:ff9b::203.0.113.9", "64:ff9b:0:0::/64"],
] as const)("requests of %s are counted as those of %s", ([address, counted]) => {
  expect(countedAs(address)).toBe(counted);
});

test("addresses of one IPv6 network share what one address may ask; another network has its own", async () => {
  await using server = await startTestServer({
    trustProxy: ["127.0.0.1"],
    limits: { perAddress: 3 },
  });
  const ask = async (address: string): Promise<number> =>
    (await server.fetch("/openapi.json", { headers: { "x-forwarded-for": address } })).status;

  const shared = [
    await ask("2001:db8::1"),
    await ask("2001:db8::2"),
    await ask("2001:db8::a:b:c:d"),
    await ask("2001:db8::3"),
  ];

  expect(shared).toEqual([200, 200, 200, 429]);
  expect(await ask("2001:db8:0:1::1")).toBe(200);
});

describe("the Host header", () => {
  test.each([
    ["127.0.0.1:4600", true],
    ["localhost", true],
    ["dure.localhost:1", true],
    ["LOCALHOST.:4600", true],
    ["[::1]:4600", true],
    ["dure.example.com", true],
    ["dure.example.com:443", true],
    ["evil.example", false],
    ["127.0.0.1.evil.example", false],
    ["localhost.evil.example", false],
    ["192.168.0.5:4600", true],
    ["", false],
    ["a b", false],
    [undefined, false],
  ])("%s is this server: %s", (host, allowed) => {
    expect(isHostAllowed(host, ["dure.example.com"])).toBe(allowed);
  });

  test("a rebound name is refused before anything happens", async () => {
    await using server = await startTestServer();

    const answer = await send(server, "POST", "/v1/agent/chat", { host: "evil.example" }, chat);

    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
      403,
      { code: "HOST_NOT_ALLOWED" },
    ]);
    expect(server.conversations.changes).toBe(0);
  });
});

describe("a request that two readers could read in two ways", () => {
  /** The status of each answer to these lines, and the code in it. */
  async function answerTo(server: TestServer, ...lines: readonly string[]): Promise<string> {
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`);
    const answers = (await text(socket)).split("HTTP/1.1 ").slice(1);
    return answers
      .map((one) => `${one.slice(0, 3)} ${/"code":"(\w+)"/.exec(one)?.[1] ?? ""}`.trim())
      .join(" then ");
  }

  test.for<[string, string, readonly string[]]>([
    ["one Host", "200", ["GET /v1/me HTTP/1.1", "Host: localhost"]],
    ["two", "400 HEADER_TWICE", ["GET /v1/me HTTP/1.1", "Host: localhost", "host: evil.example"]],
    [
      "two Authorizations",
      "400 HEADER_TWICE",
      ["GET /v1/me HTTP/1.1", "Host: localhost", "Authorization: a", "authorization: b"],
    ],
    [
      "a foreign host in its address",
      "403 HOST_NOT_ALLOWED",
      ["GET http://evil.example/v1/me HTTP/1.1", "Host: localhost"],
    ],
    [
      "two, the other one folded",
      "400 HTTP_INVALID",
      ["GET /v1/me HTTP/1.1", "Host: localhost", "Host:", " evil.example"],
    ],
    [
      "a folded Authorization",
      "400 HTTP_INVALID",
      ["GET /v1/me HTTP/1.1", "Host: localhost", "Authorization: Bearer", " a"],
    ],
    [
      "two behind another request of the connection",
      "200 then 400 HEADER_TWICE",
      [
        ...["GET /v1/me HTTP/1.1", "Host: localhost", ""],
        ...["GET /v1/me HTTP/1.1", "Host: localhost", "Host: evil.example"],
      ],
    ],
    [
      "a foreign host behind another request of the connection",
      "200 then 403 HOST_NOT_ALLOWED",
      [
        ...["GET /v1/me HTTP/1.1", "Host: localhost", ""],
        ...["GET http://evil.example/v1/me HTTP/1.1", "Host: localhost"],
      ],
    ],
    [
      "an address that is none",
      "400 HTTP_INVALID",
      ["GET evil.example:80/v1/me HTTP/1.1", "Host: localhost"],
    ],
  ])("with %s is answered %s", async ([, status, lines]) => {
    await using server = await startTestServer();

    expect(await answerTo(server, ...lines)).toBe(status);
  });
});

test("an id with U+0000 is wrong input on every route that takes one", async () => {
  await using server = await startTestServer();
  const { paths } = (await (await server.fetch("/openapi.json")).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const routes = Object.entries(paths)
    .filter(([path]) => path.includes("{"))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, "a%00"),
      })),
    );
  const answers = routes.map(async ({ method, path }) => {
    const answer = await server.fetch(path, { method });
    return `${method} ${path} ${((await answer.json()) as { code: string }).code}`;
  });

  expect(routes.length).toBeGreaterThan(5);
  expect(await Promise.all(answers)).toEqual(
    routes.map(({ method, path }) => `${method} ${path} URL_INVALID`),
  );
});

describe("pages of other sites", () => {
  const here = {
    method: "POST",
    host: "127.0.0.1:4600",
    origin: undefined,
    secFetchSite: undefined,
  };

  test.each([
    ["a program without origin", here, "none", true],
    [
      "dure's own page",
      { ...here, origin: "http://127.0.0.1:4600", secFetchSite: "same-origin" },
      "cookie",
      true,
    ],
    [
      "dure's own page behind TLS",
      { ...here, host: "dure.example.com", origin: "https://dure.example.com" },
      "cookie",
      true,
    ],
    [
      "another port of this machine",
      { ...here, origin: "http://127.0.0.1:3000", secFetchSite: "same-site" },
      "none",
      false,
    ],
    [
      "another site",
      { ...here, origin: "https://evil.example", secFetchSite: "cross-site" },
      "none",
      false,
    ],
    ["another site that sends no origin", { ...here, secFetchSite: "cross-site" }, "none", false],
    ["another port that sends no origin", { ...here, secFetchSite: "same-site" }, "none", false],
    ["a sandboxed frame", { ...here, origin: "null" }, "none", false],
    [
      "a listed page with a token",
      { ...here, origin: "https://app.example.com", secFetchSite: "cross-site" },
      "bearer",
      true,
    ],
    [
      "the own page of a proxy that adds a token",
      { ...here, origin: "http://localhost:5173", secFetchSite: "same-origin" },
      "bearer",
      true,
    ],
    [
      "a third page that uses a proxy that adds a token",
      { ...here, origin: "https://evil.example", secFetchSite: "cross-site" },
      "bearer",
      false,
    ],
    [
      "another port of the proxy's host that uses its token",
      { ...here, origin: "http://localhost:3000", secFetchSite: "same-site" },
      "bearer",
      false,
    ],
    [
      "a page of another name with a cookie",
      { ...here, origin: "https://app.example.com", secFetchSite: "cross-site" },
      "cookie",
      false,
    ],
    [
      "a page of another name without a token",
      { ...here, origin: "https://app.example.com", secFetchSite: "cross-site" },
      "none",
      false,
    ],
    ["a cookie without a word of where it comes from", here, "cookie", false],
    [
      "a GET that starts a turn, with a cookie and without a word",
      { ...here, method: "GET" },
      "cookie",
      false,
    ],
    [
      "a GET that starts a turn, without a token and a word",
      { ...here, method: "GET" },
      "none",
      false,
    ],
    [
      "a GET that starts a turn, typed into the address bar",
      { ...here, method: "GET", secFetchSite: "none" },
      "none",
      false,
    ],
    [
      "a GET that starts a turn, of dure's own page",
      { ...here, method: "GET", secFetchSite: "same-origin" },
      "none",
      true,
    ],
    ["a GET that starts a turn, with a bearer", { ...here, method: "GET" }, "bearer", true],
    [
      "an EventSource of another site",
      { ...here, method: "GET", secFetchSite: "cross-site" },
      "none",
      false,
    ],
  ] as const)("%s", (_name, request, proof, allowed) => {
    expect(
      decideOrigin(request, proof, { unsafe: true, corsOrigins: ["https://app.example.com"] })
        .allowed,
    ).toBe(allowed);
  });

  test("another page's GET or POST starts no turn, also on an open server", async () => {
    await using server = await startTestServer();

    const get = await send(server, "GET", "/v1/agent/chat/stream?session_id=mina&message=hi", {
      "sec-fetch-site": "cross-site",
    });
    const post = await send(
      server,
      "POST",
      "/v1/agent/chat",
      { origin: "https://evil.example" },
      chat,
    );

    expect([get.status, post.status]).toEqual([403, 403]);
    expect(JSON.parse(post.body)).toMatchObject({ code: "ORIGIN_NOT_ALLOWED" });
    expect(server.conversations.changes).toBe(0);
  });

  test("CORS is off unless an origin is listed", async () => {
    const store = new MemoryTokenStore();
    await using server = await startTestServer({
      auth: store,
      corsOrigins: ["https://app.example.com"],
    });
    const preflight = (origin: string): ReturnType<typeof send> =>
      send(server, "OPTIONS", "/v1/agent/chat", {
        origin,
        "access-control-request-method": "POST",
      });

    const listed = await preflight("https://app.example.com");
    const other = await preflight("https://evil.example");
    const read = await send(server, "GET", "/v1/services", { origin: "https://evil.example" });
    const asPerson = await send(
      server,
      "POST",
      "/v1/agent/chat/stream",
      { origin: "https://app.example.com" },
      chat,
    );
    const { token } = await store.create({ name: "app", scopes: ["chat"] });
    const stream = await send(
      server,
      "POST",
      "/v1/agent/chat/stream",
      { origin: "https://app.example.com", authorization: `Bearer ${token}` },
      chat,
    );

    expect([listed.status, listed.headers["access-control-allow-origin"]]).toEqual([
      204,
      "https://app.example.com",
    ]);
    expect(listed.headers["access-control-allow-credentials"]).toBeUndefined();
    expect([other.status, other.headers["access-control-allow-origin"]]).toEqual([405, undefined]);
    expect(read.headers["access-control-allow-origin"]).toBeUndefined();
    expect(asPerson.status).toBe(403); // a listed page needs a token of its own
    expect([
      stream.status,
      stream.headers["access-control-allow-origin"],
      stream.headers["access-control-expose-headers"],
    ]).toEqual([200, "https://app.example.com", "turn-id, session-id, retry-after"]);
  });
});

describe("tokens", () => {
  test("without one nothing but the public is answered", async () => {
    const { server } = await startWithTokens();
    await using _ = server;

    const paths = [
      "/v1/services",
      "/v1/agent/sessions",
      "/v1/events",
      "/v1/me",
      "/metrics",
      "/v1/login/sessions",
    ];
    const answers = await Promise.all(paths.map((path) => server.fetch(path)));
    const open = await Promise.all(
      ["/healthz", "/readyz", "/openapi.json"].map((path) => server.fetch(path)),
    );

    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 401));
    expect(answers[0]!.headers.get("www-authenticate")).toBe('Bearer realm="dure"');
    expect(await answers[0]!.json()).toMatchObject({ code: "TOKEN_NEEDED" });
    expect(open.map(({ status }) => status)).toEqual([200, 200, 200]);
    await Promise.all([...answers.slice(1), ...open].map((response) => response.text()));
  });

  test("scopes decide, admin includes all", async () => {
    const { server, token } = await startWithTokens();
    await using _ = server;
    const [chatter, planner, admin] = [
      await token(["chat"]),
      await token(["plans"]),
      await token(["admin"]),
    ];
    const status = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await server.fetch(path, { headers })).status;

    expect(await status("/v1/services", chatter.bearer)).toBe(200);
    expect(await status("/metrics", chatter.bearer)).toBe(403);
    expect(await status("/v1/services", planner.bearer)).toBe(403);
    expect(await status("/v1/me", planner.bearer)).toBe(200);
    expect(await status("/v1/services", admin.bearer)).toBe(200);
    expect(await status("/metrics", admin.bearer)).toBe(200);
    expect(await status("/v1/services", { authorization: "Bearer wrong" })).toBe(401);
    expect(await status("/v1/services", { authorization: "Basic YTpi" })).toBe(401);
  });

  test.each(["plans:unconfined", "plans:confirm"] as const)(
    "admin and plans do not hold %s, which is given by its name alone",
    (scope) => {
      const holds = (...scopes: Scope[]): boolean =>
        hasScope({ caller: { tenant: "", name: "mina" }, scopes, proof: "bearer" }, scope);

      expect(holds("admin")).toBe(false);
      expect(holds("plans", "plans:run", "plans:merge")).toBe(false);
      expect(holds(scope)).toBe(true);
    },
  );

  test("a revoked token is refused at once", async () => {
    const { server, store, token } = await startWithTokens();
    await using _ = server;
    const { id, bearer } = await token(["chat"]);
    expect((await server.fetch("/v1/me", { headers: bearer })).status).toBe(200);

    await store.revoke(id);

    expect((await server.fetch("/v1/me", { headers: bearer })).status).toBe(401);
  });

  test("a revoked token's open streams end at a look that comes every 2 s at least", async () => {
    const store = new MemoryTokenStore();
    const quick = {
      ...systemClock,
      every: (ms: number, callback: () => void) =>
        systemClock.every(ms <= 2_000 ? ms / 300 : 600_000, callback),
    };
    await using server = await startTestServer({ auth: store, clock: quick });
    server.conversations.script = () => undefined;
    const { token, record } = await store.create({ name: "mina", scopes: ["chat"] });
    const bearer = { authorization: `Bearer ${token}` };
    await using events = new SseReader(await server.fetch("/v1/events", { headers: bearer }));
    await using turn = new SseReader(await server.post("/v1/agent/chat/stream", chat, bearer));

    await store.revoke(record.id);
    await Promise.all([events.ended, turn.ended]);

    expect(server.conversations.lastTurn.stopped).toBe(false);
  });

  test("the token's tenant owns what it makes; for another tenant it is not there", async () => {
    const { server, token } = await startWithTokens();
    await using _ = server;
    const [mina, jun] = [await token(["chat"], "mina"), await token(["chat"], "jun")];
    const turnId = (await server.post("/v1/agent/chat", chat, mina.bearer)).headers.get("turn-id")!;
    const paths = [
      `/v1/agent/turns/${turnId}/stream`,
      "/v1/agent/sessions/mina",
      "/v1/agent/completed?session_id=mina",
    ];

    const own = await Promise.all(
      paths.map((path) => server.fetch(path, { headers: mina.bearer })),
    );
    const other = await Promise.all(
      paths.map((path) => server.fetch(path, { headers: jun.bearer })),
    );

    expect(own.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(other.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(
      (
        await server.fetch(`/v1/agent/turns/${turnId}/stop`, {
          method: "POST",
          headers: jun.bearer,
        })
      ).status,
    ).toBe(404);
    expect(
      (await server.fetch("/v1/agent/sessions/mina", { method: "DELETE", headers: jun.bearer }))
        .status,
    ).toBe(404);
    expect((await server.post("/v1/agent/chat", chat, jun.bearer)).status).toBe(200); // a session of its own
    expect(
      await (await server.fetch("/v1/agent/sessions/mina", { headers: mina.bearer })).json(),
    ).toMatchObject({ history: [{}, {}] });
  });

  test("a reader of the event log is told what its tenant's are, and only an administrator without one all", async () => {
    const { server, token } = await startWithTokens();
    await using _ = server;
    for (const tenant of ["", "mina", "jun"]) {
      server.events.publish({
        type: "turn.done",
        tenant,
        session: tenant === "" ? "ceo" : `${tenant}/ceo`,
        data: { message: `of ${tenant}` },
      });
    }
    const read = async (scopes: Scope[], tenant?: string): Promise<unknown[]> => {
      await using stream = new SseReader(
        await server.fetch("/v1/events?last_event_id=1.0.0", {
          headers: (await token(scopes, tenant)).bearer,
        }),
      );
      server.events.publish({ type: "turn.done", tenant: tenant ?? "", session: "end" });
      await stream.until(({ frames }) =>
        frames.some(({ data }) => (data as { session: string }).session === "end"),
      );
      server.events.all.pop();
      return stream.frames
        .slice(0, -1)
        .map(({ data }) => [
          (data as { session: string }).session,
          (data as { tenant?: string }).tenant,
          (data as { data: { message: string } }).data.message,
        ]);
    };

    expect(await read(["chat"], "mina")).toEqual([["ceo", undefined, "of mina"]]);
    expect(await read(["admin"], "mina")).toEqual([["ceo", undefined, "of mina"]]);
    expect(await read(["chat"])).toEqual([["ceo", undefined, "of "]]);
    expect(await read(["admin"])).toEqual([
      ["ceo", undefined, "of "],
      ["mina/ceo", "mina", "of mina"],
      ["jun/ceo", "jun", "of jun"],
    ]);
  });

  test("a tenant's admin is no admin of the other tenants: what is done to all of them at once is refused", async () => {
    const untouched = {} as Rooms; // refused before anybody looks at a room
    const { server, token } = await startWithTokens({
      rooms: untouched,
      costs: {} as CostBook,
      reload: async () => ({ services: [], agents: [], restart: [] }),
    });
    await using _ = server;
    const [tenant, everybody] = [await token(["admin"], "mina"), await token(["admin"])];
    const requests = [
      ["GET", "/metrics", "METRICS_NOT_ALLOWED"],
      ["GET", "/v1/costs", "COSTS_NOT_ALLOWED"],
      ["POST", "/v1/reload", "RELOAD_NOT_ALLOWED"],
      ["POST", "/v1/agents/eden/pause", "PAUSE_NOT_ALLOWED", { paused: true }],
      [
        "POST",
        "/v1/collaborate",
        "COLLABORATE_NOT_ALLOWED",
        { agent: "ruda", target_agent: "eden", message: "hello" },
      ],
    ] as const;

    for (const [method, path, code, body] of requests) {
      const answer = await send(server, method, path, tenant.bearer, body);
      expect([path, answer.status, (JSON.parse(answer.body) as { code: string }).code]).toEqual([
        path,
        403,
        code,
      ]);
    }
    expect(server.audit.map(({ tenant: whose, what, outcome }) => [whose, what, outcome])).toEqual([
      ["mina", "team.reload", "RELOAD_NOT_ALLOWED"],
      ["mina", "agent.pause", "PAUSE_NOT_ALLOWED"],
      ["mina", "collaborate", "COLLABORATE_NOT_ALLOWED"],
    ]);
    expect((await server.fetch("/metrics", { headers: everybody.bearer })).status).toBe(200);
    expect(
      (await server.fetch("/v1/reload", { method: "POST", headers: everybody.bearer })).status,
    ).toBe(200);
  });

  test("an Idempotency-Key belongs to its token", async () => {
    const { server, token } = await startWithTokens();
    await using _ = server;
    const [one, two] = [await token(["chat"]), await token(["chat"])];

    const first = await server.post("/v1/agent/chat", chat, {
      ...one.bearer,
      "idempotency-key": "k",
    });
    const second = await server.post("/v1/agent/chat", chat, {
      ...two.bearer,
      "idempotency-key": "k",
    });

    expect(first.headers.get("turn-id")).not.toBe(second.headers.get("turn-id"));
  });

  test("login sets a cookie that scripts cannot read, logout takes it back", async () => {
    const { server, token } = await startWithTokens();
    await using _ = server;
    const { token: text, id } = await token(["chat"]);
    const page = { origin: server.url, "sec-fetch-site": "same-origin" };

    const login = await send(server, "POST", "/v1/login", page, { token: text });
    const setCookie = String(login.headers["set-cookie"]);
    const cookie = setCookie.split(";")[0]!;
    const me = await send(server, "GET", "/v1/me", { cookie });
    const posted = await send(server, "POST", "/v1/agent/chat", { ...page, cookie }, chat);
    const forged = await send(
      server,
      "POST",
      "/v1/agent/chat",
      { cookie, origin: "https://evil.example" },
      chat,
    );
    const silent = await send(server, "POST", "/v1/agent/chat", { cookie }, chat);
    const wrong = await send(server, "POST", "/v1/login", page, { token: "nope" });
    const lured = await send(
      server,
      "POST",
      "/v1/login",
      { origin: "https://evil.example" },
      { token: text },
    );
    const logout = await send(server, "POST", "/v1/logout", { ...page, cookie });

    expect([login.status, wrong.status, logout.status]).toEqual([204, 401, 204]);
    expect(setCookie).toMatch(
      new RegExp(
        `^dure_session_${server.port}=login_[0-9A-Z]{26}\\.[A-Za-z0-9_-]{43}; Path=/; HttpOnly; ` +
          "SameSite=Strict$",
      ),
    );
    expect(setCookie).not.toContain(text);
    expect(JSON.parse(me.body)).toEqual({
      auth: "token",
      access: { mode: "credentials", because: "token-exists" },
      scopes: ["chat"],
      person: "test",
      dev_mode: false,
      locale: "ko",
      model: "offline",
    });
    expect([posted.status, forged.status, silent.status]).toEqual([200, 403, 403]);
    // No login changes its owner.
    expect([lured.status, lured.headers["set-cookie"]]).toEqual([403, undefined]);
    expect(String(logout.headers["set-cookie"])).toContain("Max-Age=0");
    expect(server.audit.map(({ what, subject }) => [what, subject])).toEqual([
      ["login", expect.stringMatching(/^login_/)],
      ["logout", server.audit[0]!.subject],
    ]);
    expect(server.audit.map(({ name }) => name)).toEqual([id, id]);
    expect(server.log.join("\n")).not.toContain(text);
  });

  test("a page behind TLS gets a Secure cookie", async () => {
    const { server, token } = await startWithTokens({ allowedHosts: ["dure.example.com"] });
    await using _ = server;
    const { token: text } = await token(["chat"]);

    const login = await send(
      server,
      "POST",
      "/v1/login",
      { host: "dure.example.com", origin: "https://dure.example.com" },
      { token: text },
    );

    const other = await send(
      server,
      "POST",
      "/v1/login",
      { host: "dure.example.com", origin: "http://dure.example.com", "x-forwarded-proto": "https" },
      { token: text },
    );

    expect(String(login.headers["set-cookie"])).toMatch(
      /^__Host-dure_session=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(String(other.headers["set-cookie"])).not.toContain("Secure"); // no proxy is trusted here
  });
});

describe("sessions that dure leads", () => {
  const job = "job:job_01K00000000000000000000000:eden";

  test.each([job, "room:ruda:web:general", "escalation:escalation_1"])(
    "no caller writes into %s or forgets it",
    async (session) => {
      await using server = await startTestServer();
      const said = { session_id: session, message: "approve it" };

      const answers = await Promise.all([
        server.post("/v1/agent/chat", said),
        server.post("/v1/agent/chat/stream", said),
        server.fetch(`/v1/agent/chat/stream?${new URLSearchParams(said).toString()}`, {
          headers: FROM_PAGE,
        }),
        server.fetch(`/v1/agent/sessions/${session}`, { method: "DELETE" }),
      ]);

      for (const answer of answers) {
        expect([answer.status, await answer.json()]).toMatchObject([
          403,
          {
            code: "SESSION_RESERVED",
            hint: expect.stringMatching(/POST \/v1\/(jobs|rooms|escalations)\//) as string,
          },
        ]);
      }
      expect(server.conversations.changes).toBe(0);
    },
  );

  test("an exchange is read and stopped with the scope jobs, and with chat alone it is not", async () => {
    const { server, token } = await startWithTokens();
    await using _ = server;
    server.conversations.script = () => undefined;
    const { turnId } = await server.conversations.accept({ session: job, message: "hello" });
    const [guest, member] = [await token(["chat"]), await token(["chat", "jobs"])];
    const status = async (
      path: string,
      headers: Record<string, string>,
      method = "GET",
    ): Promise<number> => (await server.fetch(path, { method, headers })).status;
    const reads = [`/v1/agent/sessions/${job}`, `/v1/agent/completed?session_id=${job}`];

    expect(
      await Promise.all(
        [...reads, `/v1/agent/turns/${turnId}/stream`].map((path) => status(path, guest.bearer)),
      ),
    ).toEqual([403, 403, 403]);
    expect(await status(`/v1/agent/turns/${turnId}/stop`, guest.bearer, "POST")).toBe(403);
    expect(await Promise.all(reads.map((path) => status(path, member.bearer)))).toEqual([200, 200]);
    expect(await status(`/v1/agent/turns/${turnId}/stop`, member.bearer, "POST")).toBe(202);
  });
});

test("what agents say in an exchange is in the events of those who may read jobs, alone", async () => {
  const { server, token } = await startWithTokens();
  await using _ = server;
  const read = async (scopes: Scope[]): Promise<(string | undefined)[]> => {
    await using events = new SseReader(
      await server.fetch("/v1/events?last=2", { headers: (await token(scopes)).bearer }),
    );
    await events.until(({ frames }) =>
      frames.some(({ data }) => (data as { session: string }).session === "mina"),
    );
    return events.frames.map(({ data }) => (data as { session: string }).session);
  };
  server.events.publish({ type: "turn.done", session: "job:job_1:eden" });
  server.events.publish({ type: "turn.done", session: "mina" });

  expect([await read(["chat"]), await read(["chat", "jobs"])]).toEqual([
    ["mina"],
    ["job:job_1:eden", "mina"],
  ]);
});

describe("limits of requests", () => {
  test("more than allowed are 429 with Retry-After", async () => {
    await using server = await startTestServer({ limits: { perLoopback: 3 } });

    const answers = [];
    for (let index = 0; index < 4; index++) answers.push(await server.fetch("/v1/services"));
    const health = await server.fetch("/healthz");

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(Number(answers[3]!.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await answers[3]!.json()).toMatchObject({ code: "RATE_LIMITED" });
    expect(health.status).toBe(200);
  });

  test("each token has its own count, wrong tokens count by address", async () => {
    const { server, token } = await startWithTokens({ limits: { perToken: 2, perLoopback: 6 } });
    await using _ = server;
    const [one, two] = [await token(["chat"]), await token(["chat"])];
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await server.fetch("/v1/me", { headers })).status;

    expect([await status(one.bearer), await status(one.bearer), await status(one.bearer)]).toEqual([
      200, 200, 429,
    ]);
    expect(await status(two.bearer)).toBe(200);
    const guesses = [
      await status({ authorization: "Bearer guess1" }),
      await status({ authorization: "Bearer guess2" }),
      await status({ authorization: "Bearer guess3" }),
    ];
    expect(guesses).toEqual([401, 401, 429]);
  });

  test("behind a trusted proxy each caller has its own count, and no other header is believed", async () => {
    const limits = { perAddress: 1, perLoopback: 2 };
    await using behind = await startTestServer({ limits, trustProxy: ["127.0.0.1"] });
    await using alone = await startTestServer({ limits });
    const ask = async (server: TestServer, from: string): Promise<number> =>
      (await send(server, "GET", "/openapi.json", { host: "localhost", "x-forwarded-for": from }))
        .status;

    expect([
      await ask(behind, "203.0.113.1"),
      await ask(behind, "203.0.113.1"),
      await ask(behind, "203.0.113.2"),
    ]).toEqual([200, 429, 200]);
    expect([
      await ask(alone, "203.0.113.1"),
      await ask(alone, "203.0.113.1"),
      await ask(alone, "203.0.113.2"),
    ]).toEqual([200, 200, 429]);
  });

  test("tries to log in are few", async () => {
    const { server } = await startWithTokens({ limits: { logins: 2 } });
    await using _ = server;

    const answers = [];
    for (let index = 0; index < 3; index++) {
      answers.push((await server.post("/v1/login", { token: `guess-${index}` })).status);
    }

    expect(answers).toEqual([401, 401, 429]);
  });
});

describe("where it listens", () => {
  const refused = expect.objectContaining({ code: "BIND_NEEDS_TOKEN" }) as Error;

  test("an address that others can reach needs a token that lives", async () => {
    const store = new MemoryTokenStore();
    for (const host of ["0.0.0.0", "::", "192.168.0.5"]) {
      await expect(assertBindable(host, store)).rejects.toEqual(refused);
    }
    await expect(assertBindable("0.0.0.0", store)).rejects.toEqual(refused);

    const { record } = await store.create({ name: "mina", scopes: ["chat"] });
    await assertBindable("0.0.0.0", store);
    await store.revoke(record.id);

    await expect(assertBindable("0.0.0.0", store)).rejects.toEqual(refused);
  });

  test.each(["127.0.0.1", "127.8.8.8", "localhost", "::1"])("%s needs none", async (host) => {
    await assertBindable(host, new MemoryTokenStore());
  });
});

describe("what the log says", () => {
  test("ids, but no words of a person and no query", async () => {
    await using server = await startTestServer();

    await using stream = new SseReader(
      await server.fetch("/v1/agent/chat/stream?session_id=mina&message=my-secret-words", {
        headers: FROM_PAGE,
      }),
    );
    await stream.ended;
    await server.post("/v1/agent/chat", { session_id: "mina", message: "my-secret-words" });
    await server.fetch("/v1/agent/chat", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"message": my-secret-words}',
    });
    await until(() => server.log.length >= 3);

    const lines = server.log.join("\n");
    expect(lines).not.toContain("my-secret-words");
    expect(JSON.parse(server.log[0]!)).toMatchObject({
      method: "GET",
      path: "/v1/agent/chat/stream",
      status: 200,
      session: "mina",
      turn: stream.response.headers.get("turn-id"),
    });
  });
});
