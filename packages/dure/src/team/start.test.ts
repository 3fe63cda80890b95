// @module-tag slow
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { z } from "zod";
import type { Database } from "../durable/database.ts";
import { testDatabase, testDatabaseUrl } from "../durable/test-database.ts";
import { chatAgent } from "../engine/agent/agent.ts";
import { combineServices, keywordRouter } from "../engine/service/combine.ts";
import { remoteService } from "../engine/remote/remote-service.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { tool } from "../engine/agent/tool.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { offlineModel } from "../models/offline.ts";
import { SseReader } from "../server/test-server.ts";
import { PostgresTokenStore } from "../server/token-store.ts";
import { readTeam, type TeamOptions } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { SCHEMA } from "./schema.ts";
import { startTeam, type RunningTeam } from "./start.ts";

/** The whole of a team over a real PostgreSQL, in this process. */
const TOKEN = "a-token-from-the-environment";
const helper = chatAgent({ name: "helper", prompt: "Answer briefly." });
const desk = defineService({
  name: "desk",
  agents: { helper },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
  },
});

interface Started extends AsyncDisposable {
  readonly team: RunningTeam;
}

async function start(
  databaseUrl: string,
  options: Partial<TeamOptions> = {},
  environment: Record<string, string> = {},
  logger: Logger = silentLogger,
): Promise<Started> {
  const loaded = await readTeam({ services: { desk }, ...options });
  const team = await startTeam(
    loaded,
    readEnvironment({ DATABASE_URL: databaseUrl, PORT: "0", ...environment }),
    { logger },
  );
  return { team, [Symbol.asyncDispose]: () => team.stop() };
}

test(
  "a team of agents alone needs no service: each agent is spoken with by its own name",
  FULL,
  async () => {
    await using stored = await testDatabaseUrl();
    await using started = await start(stored.url, {
      services: undefined,
      model: "offline:echo",
      agents: { ruda: { displayName: "루다" }, eden: { displayName: "이든" } },
    });

    const answer = await fetch(`${started.team.url}/v1/agent/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ session_id: "mina", service: "eden", message: "안녕하세요" }),
    });

    expect(answer.status).toBe(200);
  },
);

test("a team without a port answers by fetch, streams a turn, and stops", async () => {
  await using stored = await testDatabaseUrl();
  const environment = readEnvironment({ DATABASE_URL: stored.url, DURE_TOKEN: TOKEN });
  const team = await startTeam(await readTeam({ services: { desk } }), environment, {
    logger: silentLogger,
    listen: false,
  });
  const headers = { "content-type": "application/json", authorization: `Bearer ${TOKEN}` };
  const body = JSON.stringify({ session_id: "mina", message: "hello" });
  const stream = "http://localhost/v1/agent/chat/stream";

  const turn = new SseReader(
    await team.fetch(new Request(stream, { method: "POST", headers, body })),
  );
  await turn.ended;
  const stranger = await team.fetch(new Request(stream, { method: "POST", body }));
  await team.stop();

  expect(team.url).toBeUndefined();
  expect(turn.types.at(-1)).toBe("DONE");
  expect(stranger.status).toBe(401);
});

test(
  "under DURE_TOKEN an Idempotency-Key holds across a restart and on another process",
  FULL,
  async () => {
    await using stored = await testDatabaseUrl();
    const send = async ({ url }: RunningTeam): Promise<string> => {
      const headers = {
        "content-type": "application/json",
        authorization: `Bearer ${TOKEN}`,
        "idempotency-key": "transfer-1",
      };
      const answer = await fetch(`${url}/v1/agent/chat`, {
        method: "POST",
        headers,
        body: JSON.stringify({ session_id: "mina", message: "hello" }),
      });
      return ((await answer.json()) as { turn_id: string }).turn_id;
    };
    const first = await start(stored.url, {}, { DURE_TOKEN: TOKEN });
    await using beside = await start(stored.url, {}, { DURE_TOKEN: TOKEN });

    const turn = await send(first.team);
    await first[Symbol.asyncDispose]();
    await using again = await start(stored.url, {}, { DURE_TOKEN: TOKEN });

    expect(turn).toMatch(/^turn_/);
    expect([await send(beside.team), await send(again.team)]).toEqual([turn, turn]);
  },
);

test("a team works beside a newer release, and does not start where that one excludes it", async () => {
  await using stored = await testDatabase();
  await using running = await start(stored.url);
  const [registered] = await stored.database.query({
    text: `select release from dure.processes where id = '${running.team.processId}'`,
  });

  await stored.database.query({ text: "update dure.release set number = number + 1" });
  await using beside = await start(stored.url);
  await stored.database.query({ text: "update dure.release set oldest = number" });
  const excluded = start(stored.url);

  expect(registered).toEqual({ release: SCHEMA.number });
  expect((await fetch(`${beside.team.url}/readyz`)).status).toBe(200);
  await expect(excluded).rejects.toMatchObject({
    code: "SCHEMA_NEWER",
    hint: expect.stringContaining("Start that version") as string,
  });
});

test(
  "settings of memory and busy sessions hold for remote services, alone and in a combination",
  FULL,
  async () => {
    const gate = Promise.withResolvers<void>();
    const patient = defineService({
      name: "desk",
      agents: {},
      flows: {
        DEFAULT: flow(async (turn) => {
          if (turn.message === "wait") await gate.promise;
          return turn.done({ message: "Yes." });
        }),
      },
    });
    await using far = await testDatabaseUrl();
    await using near = await testDatabaseUrl();
    await using there = await start(far.url, { services: { desk: patient } });
    const away = remoteService(there.team.url, { name: "away" });
    const both = combineServices({
      name: "both",
      services: [away, desk],
      router: keywordRouter({ rules: [], default: "away" }),
    });
    await using here = await start(
      near.url,
      {
        services: { both, away },
        sessions: { busy: "reject" },
        memory: { summarizeThreshold: 3, keepRecentTurns: 1, maxRawTurns: 2 },
      },
      { MEMORY_ENABLE_SUMMARY: "false", DEV_MODE: "true" },
    );
    const { url, engine } = here.team;
    const said = async (session: string): Promise<unknown> => {
      const { memory } = (await (await fetch(`${url}/v1/agent/debug/${session}`)).json()) as {
        memory: { raw_history: readonly { role: string; content: string }[] };
      };
      return memory.raw_history.flatMap(({ role, content }) => (role === "user" ? [content] : []));
    };
    for (const service of ["both", "away"]) {
      for (const message of ["one", "two", "three"]) {
        const { turnId } = await engine.accept({ session: service, message, service });
        for await (const { event } of engine.read(turnId)) {
          if (event.type === "DONE") expect(event.data.error).toBeUndefined();
        }
      }
      await expect.poll(() => said(service), { timeout: 20_000 }).toEqual(["two", "three"]);
      await engine.accept({ session: service, message: "wait", service });
      await expect(
        engine.accept({ session: service, message: "four", service }),
      ).rejects.toMatchObject({ code: "SESSION_BUSY" });
    }
    gate.resolve();
  },
);

test("the server keeps what its configuration says: hosts, rates, sizes", async () => {
  await using stored = await testDatabaseUrl();
  await using started = await start(
    stored.url,
    {
      limits: { messageBytes: 10 },
      server: {
        allowedHosts: ["dure.example.com"],
        trustProxy: ["127.0.0.1"],
        limits: { perAddress: 2, perToken: 100 },
      },
    },
    { DURE_TOKEN: TOKEN },
  );
  const { url } = started.team;
  const ask = (host: string, from: string, body?: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(url);
      const headers = {
        host,
        authorization: `Bearer ${TOKEN}`,
        "x-forwarded-for": from,
        ...(body ? { "content-type": "application/json" } : {}),
      };
      const request = httpRequest(
        {
          port,
          host: "127.0.0.1",
          method: body ? "POST" : "GET",
          path: body ? "/v1/agent/chat" : "/v1/services",
          headers,
        },
        (response) => void response.resume().on("end", () => resolve(response.statusCode!)),
      );
      request.on("error", reject).end(body && JSON.stringify(body));
    });

  expect([
    await ask("dure.example.com", "127.0.0.1"),
    await ask("other.example.com", "127.0.0.1"),
  ]).toEqual([200, 403]);
  expect([
    await ask("localhost", "203.0.113.7"),
    await ask("localhost", "203.0.113.7"),
    await ask("localhost", "203.0.113.7"),
  ]).toEqual([200, 200, 429]);
  expect(await ask("localhost", "127.0.0.1", { session_id: "mina", message: "eleven byte" })).toBe(
    413,
  );
});

test(
  "whatever is asked with GET, its query is not logged, nor above debug what a person or a model says",
  FULL,
  async () => {
    const secret = "비밀번호오칠이사";
    const lines: { readonly level: string; readonly path: unknown; readonly text: string }[] = [];
    const write = (level: string) => (fields: object, message: string) =>
      void lines.push({
        level,
        path: (fields as { path?: unknown }).path,
        text: JSON.stringify({ ...fields, message }),
      });
    const logger: Logger = {
      debug: write("debug"),
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
    };
    const model = offlineModel("echo", (request) => ({
      text: `You said: ${request.messages.map((message) => ("text" in message ? message.text : "")).join(" ")}`,
    }));
    await using stored = await testDatabaseUrl();
    await using started = await start(
      stored.url,
      { agents: { ruda: {} }, model: "offline:echo", offlineModels: [model] },
      { DEV_MODE: "true" },
      logger,
    );
    const { url } = started.team;
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
      paths: Record<
        string,
        Record<string, { parameters?: readonly { in: string; name: string }[] }>
      >;
    };
    const asked: string[] = [];
    const ask = async (path: string, query: string): Promise<void> => {
      using leave = new (class extends AbortController {
        [Symbol.dispose](): void {
          this.abort();
        }
      })();
      await fetch(`${url}${path}?${query}`, { signal: leave.signal });
      asked.push(path);
    };

    for (const [pattern, { get }] of Object.entries(document.paths)) {
      if (!get) continue;
      const path = pattern.replaceAll(/\{\w+\}/g, "x");
      const named = (get.parameters ?? []).flatMap(({ in: where, name }) =>
        where === "query" && name !== "session_id" && name !== "service"
          ? [`${name}=${encodeURIComponent(secret)}`]
          : [],
      );
      await ask(path, [`session_id=mina&other=${encodeURIComponent(secret)}`, ...named].join("&"));
    }
    await ask("/v1/agent/chat/stream", `session_id=mina&message=${encodeURIComponent(secret)}`);
    await ask("/nowhere", encodeURIComponent(secret));
    await ask("/v1/services", `${encodeURIComponent(secret)}=%E0%A4%A`);
    await fetch(`${url}/v1/agent/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ session_id: "juno", message: secret }),
    });

    await expect
      .poll(() => asked.filter((path) => !lines.some((line) => line.path === path)), {
        timeout: 20_000,
      })
      .toEqual([]);
    expect(asked).toEqual(
      expect.arrayContaining([
        "/v1/agent/chat/stream",
        "/v1/events",
        "/v1/rooms",
        "/v1/jobs",
        "/v1/plans",
        "/v1/escalations",
      ]),
    );
    const said = [secret, encodeURIComponent(secret)];
    expect(
      lines.filter(
        ({ level, path, text }) =>
          (path !== undefined || level !== "debug") && said.some((words) => text.includes(words)),
      ),
    ).toEqual([]);
  },
);

test.each(["openai", "anthropic"])(
  "keys and tokens are not logged, stored or told, also when %s says a key back to us",
  FULL,
  async (provider) => {
    const key = "key-47110815-of-nobody-else";
    const lines: string[] = [];
    const write = (fields: object, message: string): void =>
      void lines.push(JSON.stringify({ ...fields, message }));
    await using there = createServer((request, response) => {
      const given = request.headers.authorization ?? String(request.headers["x-api-key"]);
      response.writeHead(401, { "content-type": "application/json" }).end(
        JSON.stringify({
          type: "error",
          error: {
            type: "authentication_error",
            message: `Incorrect API key provided: ${given}.`,
          },
        }),
      );
    }).listen(0, "127.0.0.1");
    await once(there, "listening");
    const name = provider.toUpperCase();
    const address = `http://127.0.0.1:${(there.address() as AddressInfo).port}`;
    await using stored = await testDatabase();
    await using started = await start(
      stored.url,
      {},
      {
        DURE_TOKEN: TOKEN,
        DURE_MODEL: `${provider}:m`,
        [`${name}_API_KEY`]: key,
        [`${name}_BASE_URL`]: address,
      },
      { debug: write, info: write, warn: write, error: write },
    );
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

    const answer = await fetch(`${started.team.url}/v1/agent/chat`, {
      method: "POST",
      headers,
      body: JSON.stringify({ session_id: "mina", message: "hello" }),
    });
    const told = JSON.stringify([
      await answer.text(),
      await (await fetch(`${started.team.url}/metrics`, { headers })).text(),
    ]);

    expect(told).toContain("MODEL_UNAUTHORIZED");
    expect(lines.some((line) => line.includes("MODEL_UNAUTHORIZED"))).toBe(true);
    for (const secret of [key, TOKEN]) {
      expect([told, ...lines].filter((text) => text.includes(secret))).toEqual([]);
      expect(await wherever(stored.database, secret)).toEqual([]);
    }
  },
);

test("each call of an agent is recorded with its tokens, and with its cost where a price is set", async () => {
  const dear = offlineModel("dear", () => ({
    text: "Yes.",
    usage: { tokensIn: 2_000, tokensOut: 100 },
  }));
  const plain = offlineModel("plain", () => ({
    text: "Yes.",
    usage: { tokensIn: 20, tokensOut: 1 },
  }));
  const agents = {
    head: chatAgent({ name: "head", prompt: "Answer.", card: { llm: "offline:dear" } }),
    hand: chatAgent({ name: "hand", prompt: "Answer.", card: { llm: "offline:plain" } }),
  };
  const both = defineService({
    name: "desk",
    agents,
    flows: {
      DEFAULT: flow(async (turn) => {
        await turn.agent("hand", "…");
        return turn.done({ message: (await turn.agent("head", "…")).text });
      }),
    },
  });
  await using stored = await testDatabase();
  await using started = await start(stored.url, {
    services: { desk: both },
    offlineModels: [dear, plain],
    prices: { "offline:dear": { in: 3, out: 15 } },
    budgets: { team: { day: "1 USD" }, agent: { day: "500000 tokens" }, turn: { tokens: 900_000 } },
  });
  const costs = async (query = ""): Promise<unknown> =>
    (await fetch(`${started.team.url}/v1/costs${query}`)).json();
  const none = { calls: 0, tokens_in: 0, tokens_out: 0, micro_usd: 0, unpriced: 0 };
  expect(await costs()).toMatchObject({
    total: none,
    by_day: [],
    by_agent: [],
    by_service: [],
    budgets: [
      { of: "team", unit: "micro_usd", most: 1_000_000, used: 0 },
      { of: "turn", per: "turn", unit: "tokens", most: 900_000, used: null },
    ],
  });

  await fetch(`${started.team.url}/v1/agent/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_id: "s1", message: "hello" }),
  });

  // 2,000 tokens at 3 USD and 100 at 15 USD the million.
  expect(
    await stored.database.query({
      text: `
        select service, agent, model, tokens_in, tokens_out, cost_micro_usd
        from dure.model_calls
        order by agent`,
    }),
  ).toEqual([
    {
      service: "desk",
      agent: "hand",
      model: "plain",
      tokens_in: 20,
      tokens_out: 1,
      cost_micro_usd: 0,
    },
    {
      service: "desk",
      agent: "head",
      model: "dear",
      tokens_in: 2_000,
      tokens_out: 100,
      cost_micro_usd: 7_500,
    },
  ]);

  // Of three days one call is an hour inside and one an hour outside; a model without a price is
  // said.
  await stored.database.query({
    text: `
      insert into dure.model_calls (
        at, session_id, turn_id, service, agent, provider, model, attempt, prompt_hash,
        tokens_in, tokens_out, estimated, cost_micro_usd, latency_ms
      )
      select (
        date_trunc('day', clock_timestamp() at time zone 'UTC') - age
      ) at time zone 'UTC',
        's', 't', 'desk', 'hand', 'x', 'y', 1, '', 10, 5, false, null, 1
      from unnest(array[interval '47 hours', interval '49 hours']) as age`,
  });
  const day = (daysAgo: number): string =>
    new Date(systemClock.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
  const head = { calls: 1, tokens_in: 2_000, tokens_out: 100, micro_usd: 7_500, unpriced: 0 };
  expect(await costs("?days=3")).toEqual({
    since: day(2),
    time_zone: "UTC",
    total: { calls: 3, tokens_in: 2_030, tokens_out: 106, micro_usd: 7_500, unpriced: 1 },
    by_day: [
      {
        id: day(0),
        name: day(0),
        calls: 2,
        tokens_in: 2_020,
        tokens_out: 101,
        micro_usd: 7_500,
        unpriced: 0,
      },
      {
        id: day(2),
        name: day(2),
        calls: 1,
        tokens_in: 10,
        tokens_out: 5,
        micro_usd: 0,
        unpriced: 1,
      },
    ],
    by_agent: [
      { id: "head", name: "head", ...head },
      {
        id: "hand",
        name: "hand",
        calls: 2,
        tokens_in: 30,
        tokens_out: 6,
        micro_usd: 0,
        unpriced: 1,
      },
    ],
    by_service: [
      {
        id: "desk",
        name: "desk",
        calls: 3,
        tokens_in: 2_030,
        tokens_out: 106,
        micro_usd: 7_500,
        unpriced: 1,
      },
    ],
    by_model: [
      { id: "offline:dear", name: "offline:dear", ...head },
      expect.objectContaining({ id: "offline:plain", calls: 1 }),
      expect.objectContaining({ id: "x:y", calls: 1, unpriced: 1 }),
    ],
    over_time: {
      agent: [
        { day: day(2), id: "hand", name: "hand", tokens: 15, micro_usd: 0 },
        expect.objectContaining({ day: day(0) }),
        expect.objectContaining({ day: day(0) }),
      ],
      service: [
        { day: day(2), id: "desk", name: "desk", tokens: 15, micro_usd: 0 },
        { day: day(0), id: "desk", name: "desk", tokens: 2_121, micro_usd: 7_500 },
      ],
      model: expect.arrayContaining([
        { day: day(0), id: "offline:dear", name: "offline:dear", tokens: 2_100, micro_usd: 7_500 },
      ]),
    },
    budgets: [
      {
        of: "team",
        per: "day",
        agent: null,
        name: null,
        unit: "micro_usd",
        most: 1_000_000,
        used: 7_500,
      },
      {
        of: "agent",
        per: "day",
        agent: "hand",
        name: "hand",
        unit: "tokens",
        most: 500_000,
        used: 21,
      },
      {
        of: "agent",
        per: "day",
        agent: "head",
        name: "head",
        unit: "tokens",
        most: 500_000,
        used: 2_100,
      },
      {
        of: "turn",
        per: "turn",
        agent: null,
        name: null,
        unit: "tokens",
        most: 900_000,
        used: null,
      },
    ],
  });
  expect(await costs("?days=1")).toMatchObject({ total: { calls: 2 } });
  expect(await costs("?days=91")).toMatchObject({ status: 400 });
});

test("stops, forgets and refusals stand in the audit log with the token's name; a tenant reads its own", async () => {
  const gate = Promise.withResolvers<void>();
  const slow = defineService({
    name: "desk",
    agents: {},
    flows: { DEFAULT: flow(async (turn) => (await gate.promise, turn.done({ message: "Yes." }))) },
  });
  await using stored = await testDatabase();
  await using started = await start(
    stored.url,
    { services: { desk: slow } },
    { DURE_TOKEN: TOKEN },
  );
  const { url, engine } = started.team;
  const { token, record } = await new PostgresTokenStore({ database: stored.database }).create({
    name: "mina",
    tenant: "acme",
    scopes: ["chat"],
  });
  const { turnId } = await engine.accept(
    { session: "s1", message: "hello" },
    { caller: { tenant: "acme", name: record.id } },
  );
  const ask = async (method: string, path: string, bearer: string): Promise<number> =>
    (await fetch(url + path, { method, headers: { authorization: `Bearer ${bearer}` } })).status;

  expect(await ask("POST", `/v1/agent/turns/${turnId}/stop`, token)).toBe(202);
  gate.resolve();
  await expect
    .poll(() => ask("DELETE", "/v1/agent/sessions/s1", token), { timeout: 20_000 })
    .toBe(204);
  expect(await ask("DELETE", "/v1/agent/sessions/nobody", token)).toBe(404);

  const written = await stored.database.query<{ what: string; outcome: string | null }>({
    text: "select tenant, name, what, subject, outcome from dure.audit order by id",
  });
  // as long as the stopped turn was ending
  const [stopped, ...forgotten] = written.filter(({ outcome }) => outcome !== "SESSION_BUSY");
  expect(stopped).toEqual({
    tenant: "acme",
    name: record.id,
    what: "turn.stop",
    subject: turnId,
    outcome: "done",
  });
  expect(forgotten).toEqual([
    { tenant: "acme", name: record.id, what: "session.delete", subject: "s1", outcome: "done" },
    {
      tenant: "acme",
      name: record.id,
      what: "session.delete",
      subject: "nobody",
      outcome: "SESSION_UNKNOWN",
    },
  ]);

  const tokens = new PostgresTokenStore({ database: stored.database });
  const [own, other] = [
    await tokens.create({ name: "jun", tenant: "acme", scopes: ["admin"] }),
    await tokens.create({ name: "sora", tenant: "other", scopes: ["admin"] }),
  ];
  const read = async (bearer: string, query = ""): Promise<unknown> =>
    (
      await fetch(`${url}/v1/audit${query}`, { headers: { authorization: `Bearer ${bearer}` } })
    ).json();
  const entry = {
    tenant: "acme",
    name: record.id,
    person: "mina",
    role: null,
    what: "turn.stop",
    subject: turnId,
    outcome: "done",
  };
  for (const bearer of [own.token, TOKEN]) {
    expect(await read(bearer, "?what=turn.*&name=mina")).toEqual({
      items: [{ id: expect.any(Number), at: expect.any(Number), ...entry }],
      next_cursor: null,
    });
  }
  expect(await read(other.token)).toEqual({ items: [], next_cursor: null });
  expect(await ask("GET", "/v1/audit", token)).toBe(403);
  expect(await read(TOKEN, "?cursor=x")).toMatchObject({ status: 400, code: "CURSOR_INVALID" });
});

test("what cannot be written down is not done: 503, and the session is still there", async () => {
  const desk = defineService({
    name: "desk",
    agents: {},
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: "Yes." })) },
  });
  await using stored = await testDatabase();
  await using started = await start(stored.url, { services: { desk } }, {});
  const { url, engine } = started.team;
  await engine.turn({ session: "s1", message: "hello" }, { caller: { tenant: "", name: "mina" } })
    .done;
  await stored.database.query({
    text: "alter table dure.audit add constraint full_disk check (what <> 'session.delete') not valid",
  });

  const refused = await fetch(`${url}/v1/agent/sessions/s1`, { method: "DELETE" });
  const kept = await fetch(`${url}/v1/agent/sessions/s1`);

  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { code: "AUDIT_UNAVAILABLE" },
  ]);
  expect([kept.status, await kept.json()]).toMatchObject([
    200,
    { history: [{ content: "hello" }, { content: "Yes." }] },
  ]);
});

test(
  "a session that was forgotten left no word behind, and who takes its id finds nothing of it",
  { timeout: 60_000 },
  async () => {
    const secret = "비밀번호오칠이사";
    const order = tool({
      description: "Orders a thing.",
      inputSchema: z.object({ thing: z.string() }),
      effect: "once",
      recover: "ask",
      approval: true,
      execute: () => ({}),
    });
    const pay = tool({
      description: "Pays.",
      inputSchema: z.object({ note: z.string() }),
      effect: "once",
      recover: "ask",
      execute: () => {
        throw new Error("the line was cut");
      },
    });
    const model = offlineModel("desk", (request) => {
      const last = request.messages.at(-1);
      const said = last?.role === "user" ? last.text : "";
      if (said.startsWith("주문")) {
        return { toolCalls: [{ name: "order", args: { thing: secret } }] };
      }
      if (said.startsWith("송금")) return { toolCalls: [{ name: "pay", args: { note: secret } }] };
      return { text: `알겠습니다: ${said}` };
    });
    const service = defineService({
      name: "desk",
      agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { order, pay } }) },
      hooks: { noted: async () => undefined },
      flows: {
        DEFAULT: flow(async (turn) => {
          turn.hook("noted", { said: turn.message });
          return turn.done({ message: (await turn.agent("clerk", "…")).text });
        }),
      },
    });
    await using stored = await testDatabase();
    await using started = await start(
      stored.url,
      { services: { desk: service }, model: "offline:desk", offlineModels: [model] },
      { DURE_TOKEN: TOKEN },
    );
    const { url } = started.team;
    const tokens = new PostgresTokenStore({ database: stored.database });
    const bearerOf = async (tenant: string): Promise<Record<string, string>> => ({
      authorization: `Bearer ${(await tokens.create({ name: tenant, tenant, scopes: ["chat"] })).token}`,
    });
    const [mina, juno] = [await bearerOf("mina"), await bearerOf("juno")];
    const say = async (who: Record<string, string>, message: string): Promise<number> =>
      (
        await fetch(`${url}/v1/agent/chat`, {
          method: "POST",
          headers: {
            ...who,
            "content-type": "application/json",
            "idempotency-key": encodeURIComponent(message),
          },
          body: JSON.stringify({ session_id: "s1", message }),
        })
      ).status;
    for (const message of [`기억해 ${secret}`, `주문 ${secret}`, `송금 ${secret}`]) {
      expect(await say(mina, message)).toBe(200);
    }
    await expect
      .poll(async () =>
        stored.database.query({
          text: "select state from dure.outbox where topic = 'hook' and state <> 'sent'",
        }),
      )
      .toEqual([]);
    const before = await wherever(stored.database, secret);

    const forgotten = await fetch(`${url}/v1/agent/sessions/s1`, {
      method: "DELETE",
      headers: mina,
    });

    expect(forgotten.status).toBe(204);
    expect(before).toEqual(
      expect.arrayContaining([
        "effects",
        "escalations",
        "events",
        "messages",
        "outbox",
        "sessions",
        "turn_journal",
        "turns",
      ]),
    );
    // Whether the money has left is still to be found out: the ledger and the question stay.
    expect(await wherever(stored.database, secret)).toEqual(["effects", "escalations"]);
    expect(
      await stored.database.query({
        text: "select type, status, session_id from dure.escalations",
      }),
    ).toEqual([{ type: "effect_unknown", status: "open", session_id: null }]);
    expect(await say(juno, "안녕")).toBe(200);
    await using events = new SseReader(
      await fetch(`${url}/v1/events?session=s1&last=1000`, { headers: juno }),
    );
    await events.until(({ types }) => types.includes("turn.done"));
    expect(events.types).toEqual(["turn.accepted", "turn.done"]);
  },
);

/** The tables of dure in which a text stands. */
async function wherever(database: Database, text: string): Promise<readonly string[]> {
  const tables = await database.query<{ name: string }>({
    text: "select table_name as name from information_schema.tables where table_schema = 'dure' order by 1",
  });
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await database.query<{ count: number }>(
      { text: `select count(*) as count from dure.${name} t where position($1 in t::text) > 0` },
      [text],
    );
    if (row!.count > 0) found.push(name);
  }
  return found;
}
