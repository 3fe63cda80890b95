import { mkdtemp, readFile, rm, stat, writeFile, chmod, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { ensureLocalToken, LocalToken, localTokenFile, readLocalToken } from "./local-token.ts";
import { MemoryLogins } from "./login-rows.ts";
import { LOGIN_LIMITS } from "./logins.ts";
import { SseReader, startTestServer, type TestServer } from "./test-server.ts";
import { MemoryTokenStore } from "./token-store.ts";
import type { Scope } from "../kernel/access.ts";

const page = { "sec-fetch-site": "same-origin", "content-type": "application/json" };

interface Stage extends AsyncDisposable {
  readonly server: TestServer;
  readonly tokens: MemoryTokenStore;
  readonly age: (ms: number) => void;
  token(
    scopes: readonly Scope[],
    tenant?: string,
  ): Promise<{ text: string; id: string; bearer: Record<string, string> }>;
  /** Logs in; gives the cookie as the browser sends it. */
  login(text: string): Promise<string>;
}

async function openStage(options: Parameters<typeof startTestServer>[0] = {}): Promise<Stage> {
  let late = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + late };
  const tokens = new MemoryTokenStore();
  const server = await startTestServer({
    auth: tokens,
    ...options,
    access: { logins: new MemoryLogins({ clock }), ...options.access },
  });
  return {
    server,
    tokens,
    age: (ms) => void (late += ms),
    token: async (scopes, tenant = "") => {
      const { token, record } = await tokens.create({ name: "mina", tenant, scopes });
      return { text: token, id: record.id, bearer: { authorization: `Bearer ${token}` } };
    },
    login: async (text) => {
      const answer = await server.fetch("/v1/login", {
        method: "POST",
        headers: page,
        body: JSON.stringify({ token: text }),
      });
      return cookieOf(answer)!;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function cookieOf(answer: Response): string | undefined {
  return answer.headers.get("set-cookie")?.split(";")[0];
}

const statusOf = async (
  server: TestServer,
  headers: Record<string, string>,
  target = "/v1/me",
): Promise<number> => (await server.fetch(target, { headers })).status;

describe("credentials that are wrong", () => {
  test.for([
    ["an unknown bearer", { authorization: "Bearer dure_wrong" }, "TOKEN_INVALID"],
    [
      "a bearer like the one of the data folder",
      { authorization: `Bearer dure_local_${"A".repeat(43)}` },
      "TOKEN_INVALID",
    ],
    ["no bearer at all", { authorization: "Basic YTpi" }, "AUTHORIZATION_INVALID"],
    ["an empty header", { authorization: "" }, "AUTHORIZATION_INVALID"],
    ["a bearer without a token", { authorization: "Bearer" }, "AUTHORIZATION_INVALID"],
    ["two tokens in one", { authorization: "Bearer a b" }, "AUTHORIZATION_INVALID"],
  ] as const)(
    "%s is 401, also where the person at the machine needs none",
    async ([_name, headers, code]) => {
      await using server = await startTestServer();

      const answer = await server.fetch("/v1/me", { headers });

      expect([answer.status, await answer.json()]).toMatchObject([401, { code }]);
      expect(await statusOf(server, {})).toBe(200);
    },
  );

  test("a revoked bearer is 401 while no other token lives", async () => {
    await using stage = await openStage();
    const { id, bearer } = await stage.token(["chat"]);
    expect([await statusOf(stage.server, bearer), await statusOf(stage.server, {})]).toEqual([
      200, 401,
    ]);

    await stage.tokens.revoke(id);

    expect([await statusOf(stage.server, bearer), await statusOf(stage.server, {})]).toEqual([
      401, 200,
    ]);
  });
});

describe("who needs credentials", () => {
  test("as soon as a token exists, everyone does; the answer says why and how to go on", async () => {
    await using stage = await openStage();
    expect(await (await stage.server.fetch("/v1/me")).json()).toMatchObject({
      auth: "open",
      access: { mode: "same-user", because: "no-token" },
    });

    await stage.token(["chat"]);
    const refused = await stage.server.fetch("/v1/me");

    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      {
        code: "TOKEN_NEEDED",
        because: "token-exists",
        hint: expect.stringContaining("dure login") as string,
      },
    ]);
  });

  test.for([
    [{ allowedHosts: ["dure.example.com"] }, "public-host"],
    [{ trustProxy: ["127.0.0.1"] }, "behind-a-proxy"],
    [{ access: { loginAlways: true } }, "login-always"],
    [{ access: { hasEnvironmentToken: true } }, "environment-token"],
    [{ access: { peers: async () => undefined } }, "peers-unknown"],
  ] as const)("with %o everyone does: %s", async ([options, because]) => {
    await using server = await startTestServer(options);

    const answer = await server.fetch("/v1/me");

    expect([answer.status, await answer.json()]).toMatchObject([401, { because }]);
  });

  test.for([
    [{ "x-forwarded-for": "203.0.113.9" }, "forwarded"],
    [{ via: "1.1 proxy" }, "forwarded"],
    [{ forwarded: "for=203.0.113.9" }, "forwarded"],
    [{ "x-real-ip": "203.0.113.9" }, "forwarded"],
    [{ "cf-connecting-ip": "203.0.113.9" }, "forwarded"],
  ] as const)(
    "with the header %o no caller is the person at the machine",
    async ([headers, because]) => {
      await using server = await startTestServer();

      const answer = await server.fetch("/v1/me", { headers });

      expect([answer.status, await answer.json()]).toMatchObject([401, { because }]);
    },
  );

  test("a stream that was opened without a token ends when the first one is made", async () => {
    const tokens = new MemoryTokenStore();
    const quick = {
      ...systemClock,
      every: (ms: number, callback: () => void) => systemClock.every(ms / 300, callback),
    };
    await using server = await startTestServer({ auth: tokens, clock: quick });
    await using events = new SseReader(await server.fetch("/v1/events"));

    await tokens.create({ name: "first", scopes: ["chat"] });

    await expect(events.ended).resolves.toBeUndefined();
  });
});

describe("the login of a browser", () => {
  test("is an opaque session: the token itself as a cookie opens nothing", async () => {
    await using stage = await openStage();
    const { text } = await stage.token(["chat"]);
    const cookie = await stage.login(text);
    const name = cookie.split("=")[0]!;
    const old = [
      `dure_token=${Buffer.from(text).toString("base64url")}`,
      `${name}=${Buffer.from(text).toString("base64url")}`,
      `${name}=${text}`,
    ];

    expect(await statusOf(stage.server, { ...page, cookie })).toBe(200);
    expect(
      await Promise.all(old.map((one) => statusOf(stage.server, { ...page, cookie: one }))),
    ).toEqual([401, 401, 401]);
  });

  test("a second login in the same browser has a new id, and the first one is over", async () => {
    await using stage = await openStage();
    const { text } = await stage.token(["chat"]);
    const first = await stage.login(text);
    const answer = await stage.server.fetch("/v1/login", {
      method: "POST",
      headers: { ...page, cookie: first },
      body: JSON.stringify({ token: text }),
    });
    const second = cookieOf(answer)!;

    expect(second).not.toBe(first);
    expect([
      await statusOf(stage.server, { cookie: first }),
      await statusOf(stage.server, { cookie: second }),
    ]).toEqual([401, 200]);
  });

  test("gets a new cookie with an answer while it is used", async () => {
    await using stage = await openStage();
    const cookie = await stage.login((await stage.token(["chat"])).text);
    const early = await stage.server.fetch("/v1/me", { headers: { cookie } });
    stage.age(LOGIN_LIMITS.rotateMs);

    const [due, parallel] = [
      await stage.server.fetch("/v1/me", { headers: { cookie } }),
      await stage.server.fetch("/v1/services", { headers: { cookie } }),
    ];
    const fresh = cookieOf(due)!;

    expect([cookieOf(early), cookieOf(parallel), fresh === cookie]).toEqual([
      undefined,
      undefined,
      false,
    ]);
    expect([
      await statusOf(stage.server, { cookie: fresh }),
      await statusOf(stage.server, { cookie }),
    ]).toEqual([200, 200]);
    stage.age(LOGIN_LIMITS.graceMs);
    expect([
      await statusOf(stage.server, { cookie: fresh }),
      await statusOf(stage.server, { cookie }),
    ]).toEqual([200, 401]);
  });

  test("everyone lists and ends their own; an administrator those of the tenant, one without a tenant all", async () => {
    await using stage = await openStage();
    const { server } = stage;
    const [mina, jun, sora, acme, all] = [
      await stage.token(["chat"], "acme"),
      await stage.token(["chat"], "other"),
      await stage.token(["chat"], "acme"),
      await stage.token(["admin"], "acme"),
      await stage.token(["admin"]),
    ];
    const [ofMina, ofJun] = [await stage.login(mina.text), await stage.login(jun.text)];
    const list = async (
      headers: Record<string, string>,
    ): Promise<{ id: string; current: boolean; token_id: string }[]> =>
      (
        (await (await server.fetch("/v1/login/sessions", { headers })).json()) as {
          items: { id: string; current: boolean; token_id: string }[];
        }
      ).items;
    const end = async (id: string, headers: Record<string, string>): Promise<number> =>
      (await server.fetch(`/v1/login/sessions/${id}`, { method: "DELETE", headers })).status;
    const [own] = await list({ cookie: ofMina });

    expect(own).toMatchObject({ token_id: mina.id, current: true });
    expect((await list(mina.bearer)).map(({ id, current }) => [id, current])).toEqual([
      [own!.id, false],
    ]);
    expect([(await list(acme.bearer)).length, (await list(all.bearer)).length]).toEqual([1, 2]);
    // Of the same tenant, and not the same person.
    expect([await list(sora.bearer), await end(own!.id, sora.bearer)]).toEqual([[], 404]);
    expect([await end(own!.id, jun.bearer), await end("login_0", all.bearer)]).toEqual([404, 404]);
    expect([await end(own!.id, mina.bearer), await statusOf(server, { cookie: ofMina })]).toEqual([
      204, 401,
    ]);
    expect(await end((await list({ cookie: ofJun }))[0]!.id, all.bearer)).toBe(204);
    expect(await statusOf(server, { cookie: ofJun })).toBe(401);
    expect(
      server.audit.map(
        ({ what, subject, outcome }) => `${what} ${subject === own!.id ? "own" : "…"} ${outcome!}`,
      ),
    ).toEqual([
      "login own done",
      "login … done",
      "login.end own LOGIN_UNKNOWN",
      "login.end own LOGIN_UNKNOWN",
      "login.end … LOGIN_UNKNOWN",
      "login.end own done",
      "login.end … done",
    ]);
  });

  test("its open streams end with it", async () => {
    const quick = {
      ...systemClock,
      every: (ms: number, callback: () => void) => systemClock.every(ms / 300, callback),
    };
    await using stage = await openStage({ clock: quick });
    const { text, bearer } = await stage.token(["chat"]);
    const cookie = await stage.login(text);
    await using events = new SseReader(
      await stage.server.fetch("/v1/events", { headers: { ...page, cookie } }),
    );
    const { items } = (await (
      await stage.server.fetch("/v1/login/sessions", { headers: bearer })
    ).json()) as { items: { id: string }[] };

    const ended = await stage.server.fetch(`/v1/login/sessions/${items[0]!.id}`, {
      method: "DELETE",
      headers: bearer,
    });

    expect(ended.status).toBe(204);
    await events.ended;
  });

  test("a page of another origin reads and changes nothing with the cookie", async () => {
    await using stage = await openStage();
    const cookie = await stage.login((await stage.token(["admin"])).text);
    const foreign = [
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site" },
      { origin: "http://127.0.0.1:1" },
      { origin: "null" },
    ];

    for (const headers of foreign) {
      expect(await statusOf(stage.server, { cookie, ...headers })).toBe(403);
      expect(
        await statusOf(
          stage.server,
          { cookie, ...headers },
          "/v1/agent/chat/stream?session_id=s&message=hi",
        ),
      ).toBe(403);
    }
    expect(
      await statusOf(stage.server, { cookie }, "/v1/agent/chat/stream?session_id=s&message=hi"),
    ).toBe(403);
    expect(stage.server.conversations.changes).toBe(0);
  });
});

describe("a link that logs in", () => {
  interface Home extends AsyncDisposable {
    readonly home: string;
    readonly localToken: LocalToken;
  }

  async function aHome(): Promise<Home> {
    const home = await mkdtemp(path.join(tmpdir(), "dure-home-"));
    return {
      home,
      localToken: new LocalToken({ home, clock: systemClock }),
      [Symbol.asyncDispose]: () => rm(home, { recursive: true }),
    };
  }

  const linkOf = async (
    server: TestServer,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; path?: string }> => {
    const answer = await server.fetch("/v1/login/links", { method: "POST", headers });
    return { status: answer.status, ...((await answer.json()) as { path: string }) };
  };
  const useLink = (server: TestServer, target: string): Promise<Response> =>
    server.fetch("/v1/login", {
      method: "POST",
      headers: page,
      body: JSON.stringify({ once: new URL(target, server.url).searchParams.get("once") }),
    });

  test("is a GET that changes nothing, and logs in once by the POST behind it", async () => {
    await using home = await aHome();
    await using stage = await openStage({
      access: { loginAlways: true, localToken: home.localToken },
    });
    const target = await stage.server.app.doors.makeLink({
      proof: "none",
      caller: { tenant: "", name: "" },
    });
    for (let looks = 0; looks < 3; looks++) await stage.server.fetch(target); // a preview, a reload

    const answers = await Promise.all([
      useLink(stage.server, target),
      useLink(stage.server, target),
    ]);
    const cookie = answers.map(cookieOf).find((one) => one !== undefined)!;

    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      204, 401,
    ]);
    expect(
      await (await stage.server.fetch("/v1/me", { headers: { cookie } })).json(),
    ).toMatchObject({
      auth: "token",
      person: null,
      scopes: expect.arrayContaining(["admin"]) as string[],
    });
    expect(stage.server.audit.map(({ what, name }) => [what, name])).toEqual([
      ["login", "token_local"],
    ]);
  });

  test("is made with a token for itself, never with a cookie", async () => {
    await using stage = await openStage();
    const { text, id, bearer } = await stage.token(["chat"]);
    const cookie = await stage.login(text);

    const made = await linkOf(stage.server, bearer);
    const fromCookie = await linkOf(stage.server, { "sec-fetch-site": "same-origin", cookie });
    await useLink(stage.server, made.path!);

    expect([made.status, fromCookie]).toMatchObject([
      200,
      { status: 403, code: "LOGIN_LINK_REFUSED" },
    ]);
    expect(await linkOf(stage.server)).toMatchObject({ status: 401 });
    expect(
      stage.server.audit.map(({ what, name, outcome }) => [what, name === id, outcome]),
    ).toEqual([
      ["login", true, "done"],
      ["login.link", true, "done"],
      ["login.link", true, "LOGIN_LINK_REFUSED"],
      ["login", true, "done"],
    ]);
  });

  test("tries are few per minute, for links as for tokens", async () => {
    await using stage = await openStage({ limits: { logins: 2 } });
    const answers: number[] = [];
    for (let tries = 0; tries < 3; tries++) {
      answers.push((await useLink(stage.server, `/login?once=guess${tries}`)).status);
    }

    expect(answers).toEqual([401, 401, 429]);
    expect(await linkOf(stage.server, (await stage.token(["chat"])).bearer)).toMatchObject({
      status: 429,
    });
  });

  test("the token of the data folder opens the server; without its file it does not, within 2 s", async () => {
    await using home = await aHome();
    let late = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + late };
    await using server = await startTestServer({
      access: { loginAlways: true, localToken: new LocalToken({ home: home.home, clock }) },
    });
    const bearer = { authorization: `Bearer ${await ensureLocalToken(home.home)}` };
    expect(await statusOf(server, bearer)).toBe(200);

    await rm(localTokenFile(home.home));
    late = 2_001;

    expect(await statusOf(server, bearer)).toBe(401);
  });

  test("its file is for its user alone, and several that make it at once get the same", async () => {
    await using home = await aHome();

    const made = new Set(
      await Promise.all(Array.from({ length: 20 }, () => ensureLocalToken(home.home))),
    );

    expect(made.size).toBe(1);
    expect((await stat(localTokenFile(home.home))).mode & 0o777).toBe(0o600);
    expect((await readFile(localTokenFile(home.home), "utf8")).trim()).toBe([...made][0]);
  });

  test.for(["that others may read", "that is a link", "that holds something else"] as const)(
    "a file %s is not used, and replaced when one is needed",
    async (kind) => {
      await using home = await aHome();
      const file = localTokenFile(home.home);
      const text = await ensureLocalToken(home.home);
      if (kind === "that others may read") await chmod(file, 0o644);
      else await rm(file);
      if (kind === "that is a link") {
        await writeFile(`${file}.elsewhere`, text, { mode: 0o600 });
        await symlink(`${file}.elsewhere`, file);
      }
      if (kind === "that holds something else") {
        await writeFile(file, "dure_local_short", { mode: 0o600 });
      }

      expect(await readLocalToken(home.home)).toBeUndefined();
      const fresh = await ensureLocalToken(home.home);
      expect([fresh === text, await readLocalToken(home.home)]).toEqual([false, fresh]);
    },
  );
});
