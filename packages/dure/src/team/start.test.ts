import { request as httpRequest } from "node:http";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Database } from "../durable/database.ts";
import { testDatabase, testDatabaseUrl } from "../durable/test-database.ts";
import { chatAgent } from "../engine/agent.ts";
import { defineService, flow } from "../engine/service.ts";
import { tool } from "../engine/tool.ts";
import { silentLogger } from "../kernel/logger.ts";
import { offlineModel } from "../models/offline.ts";
import { SseReader } from "../server/test-server.ts";
import { PostgresTokenStore } from "../server/token-store.ts";
import { readTeam, type TeamOptions } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { startTeam, type RunningTeam } from "./start.ts";

/** The whole of a team over a real PostgreSQL, in this process. */
const TOKEN = "a-token-from-the-environment";
const helper = chatAgent({ name: "helper", prompt: "Answer briefly." });
const desk = defineService({ name: "desk", agents: { helper }, flows: { DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })) } });

interface Started extends AsyncDisposable {
  readonly team: RunningTeam;
}

async function start(databaseUrl: string, options: Partial<TeamOptions> = {}, environment: Record<string, string> = {}): Promise<Started> {
  const loaded = await readTeam({ services: { desk }, ...options });
  const team = await startTeam(loaded, readEnvironment({ DATABASE_URL: databaseUrl, PORT: "0", ...environment }), { logger: silentLogger });
  return { team, [Symbol.asyncDispose]: () => team.stop() };
}

test("under DURE_TOKEN an Idempotency-Key holds across a restart and on another process", async () => {
  await using stored = await testDatabaseUrl();
  const send = async ({ url }: RunningTeam): Promise<string> => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${TOKEN}`, "idempotency-key": "transfer-1" };
    const answer = await fetch(`${url}/v1/agent/chat`, { method: "POST", headers, body: JSON.stringify({ session_id: "mina", message: "hello" }) });
    return ((await answer.json()) as { turn_id: string }).turn_id;
  };
  const first = await start(stored.url, {}, { DURE_TOKEN: TOKEN });
  await using beside = await start(stored.url, {}, { DURE_TOKEN: TOKEN });

  const turn = await send(first.team);
  await first[Symbol.asyncDispose]();
  await using again = await start(stored.url, {}, { DURE_TOKEN: TOKEN });

  expect(turn).toMatch(/^turn_/);
  expect([await send(beside.team), await send(again.team)]).toEqual([turn, turn]);
});

test("the server keeps what its configuration says: hosts, rates, sizes", async () => {
  await using stored = await testDatabaseUrl();
  await using started = await start(stored.url, { limits: { messageBytes: 10 }, server: { allowedHosts: ["dure.example.com"], trustProxy: ["127.0.0.1"], limits: { perAddress: 2 } } });
  const { url } = started.team;
  const ask = (host: string, from: string, body?: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(url);
      const headers = { host, "x-forwarded-for": from, ...(body && { "content-type": "application/json" }) };
      const request = httpRequest({ port, host: "127.0.0.1", method: body ? "POST" : "GET", path: body ? "/v1/agent/chat" : "/v1/services", headers }, (response) => void response.resume().on("end", () => resolve(response.statusCode!)));
      request.on("error", reject).end(body && JSON.stringify(body));
    });

  expect([await ask("dure.example.com", "127.0.0.1"), await ask("other.example.com", "127.0.0.1")]).toEqual([200, 403]);
  expect([await ask("localhost", "203.0.113.7"), await ask("localhost", "203.0.113.7"), await ask("localhost", "203.0.113.7")]).toEqual([200, 200, 429]);
  expect(await ask("localhost", "127.0.0.1", { session_id: "mina", message: "eleven byte" })).toBe(413);
});

test("a session that was forgotten left no word behind, and who takes its id finds nothing of it", { timeout: 60_000 }, async () => {
  const secret = "비밀번호오칠이사";
  const order = tool({ description: "Orders a thing.", inputSchema: z.object({ thing: z.string() }), effect: "once", recover: "ask", approval: true, execute: () => ({}) });
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
    if (said.startsWith("주문")) return { toolCalls: [{ name: "order", args: { thing: secret } }] };
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
  await using started = await start(stored.url, { services: { desk: service }, model: "offline:desk", offlineModels: [model] }, { DURE_TOKEN: TOKEN });
  const { url } = started.team;
  const tokens = new PostgresTokenStore({ database: stored.database });
  const bearerOf = async (tenant: string): Promise<Record<string, string>> => ({ authorization: `Bearer ${(await tokens.create({ name: tenant, tenant, scopes: ["chat"] })).token}` });
  const [mina, juno] = [await bearerOf("mina"), await bearerOf("juno")];
  const say = async (who: Record<string, string>, message: string): Promise<number> =>
    (await fetch(`${url}/v1/agent/chat`, { method: "POST", headers: { ...who, "content-type": "application/json", "idempotency-key": encodeURIComponent(message) }, body: JSON.stringify({ session_id: "s1", message }) })).status;
  for (const message of [`기억해 ${secret}`, `주문 ${secret}`, `송금 ${secret}`]) expect(await say(mina, message)).toBe(200);
  await expect.poll(async () => stored.database.query({ text: "select state from dure.outbox where topic = 'hook' and state <> 'sent'" })).toEqual([]);
  const before = await wherever(stored.database, secret);

  const forgotten = await fetch(`${url}/v1/agent/sessions/s1`, { method: "DELETE", headers: mina });

  expect(forgotten.status).toBe(204);
  expect(before).toEqual(expect.arrayContaining(["effects", "escalations", "events", "messages", "outbox", "sessions", "turn_events", "turns"]));
  // Whether the money has left is still to be found out: the ledger and the question stay.
  expect(await wherever(stored.database, secret)).toEqual(["effects", "escalations"]);
  expect(await stored.database.query({ text: "select type, status, session_id from dure.escalations" })).toEqual([{ type: "effect_unknown", status: "open", session_id: null }]);
  expect(await say(juno, "안녕")).toBe(200);
  await using events = new SseReader(await fetch(`${url}/v1/events?session=s1&last=1000`, { headers: juno }));
  await events.until(({ types }) => types.includes("turn.done"));
  expect(events.types).toEqual(["turn.accepted", "turn.done"]);
});

/** The tables of dure in which a text stands. */
async function wherever(database: Database, text: string): Promise<readonly string[]> {
  const tables = await database.query<{ name: string }>({ text: "select table_name as name from information_schema.tables where table_schema = 'dure' order by 1" });
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await database.query<{ count: number }>({ text: `select count(*) as count from dure.${name} t where position($1 in t::text) > 0` }, [text]);
    if (row!.count > 0) found.push(name);
  }
  return found;
}
