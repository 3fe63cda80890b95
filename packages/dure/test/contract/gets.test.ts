import { afterAll, beforeAll, expect, test } from "vitest";
import { startContractTeam, type ContractTeam } from "./contract-team.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

/**
 * What is asked with GET changes nothing: a page of another site, a preview or a crawler can make a
 * browser ask it.
 */

let team: ContractTeam;
beforeAll(async () => {
  team = await startContractTeam();
}, 120_000);
afterAll(() => team?.[Symbol.asyncDispose]());

/** What a process writes by itself, without being asked. */
const OF_THE_PROCESS = ["processes", "leases", "plan_hosts"];
/**
 * The one GET that does something: it needs a token, or dure's own page. See access.test.ts of the
 * server.
 */
const STARTS_A_TURN = "/v1/agent/chat/stream";
/** Longest wait for the first bytes of a stream, milliseconds. */
const READ_MS = 500;

/** The content of every table, as a hash. */
async function contents(): Promise<Record<string, string>> {
  const tables = await team.database.query<{ name: string }>({
    text: `
      select table_name as name
      from information_schema.tables
      where table_schema = 'dure'
      and table_type = 'BASE TABLE'
      order by 1`,
  });
  const found: Record<string, string> = {};
  for (const { name } of tables.filter((table) => !OF_THE_PROCESS.includes(table.name))) {
    const [row] = await team.database.query<{ hash: string }>({
      text:
        "select count(*) || ' ' || md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as " +
        `hash from dure."${name}" t`,
    });
    found[name] = row!.hash;
  }
  return found;
}

/** Whether an entry of the outbox is still to leave, at once or later. */
async function isLeaving(): Promise<boolean> {
  const open = await team.database.query({
    text: "select from dure.outbox where state in ('pending', 'sending') limit 1",
  });
  return open.length > 0;
}

/** Waits until nothing changes any more. */
async function settled(): Promise<Record<string, string>> {
  let before: Record<string, string> = {};
  await expect
    .poll(
      async () => {
        const now = await contents();
        const isSame = JSON.stringify(now) === JSON.stringify(before);
        before = now;
        return isSame && !(await isLeaving());
      },
      { timeout: 60_000, interval: 1_000 },
    )
    .toBe(true);
  return before;
}

async function call(
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: unknown }> {
  const headers = {
    authorization: `Bearer ${team.admin}`,
    ...(body && { "content-type": "application/json" }),
  };
  const answer = await fetch(team.url + path, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

/** Asks, reads for a moment, leaves. */
async function look(path: string): Promise<number> {
  const leave = new AbortController();
  const answer = await fetch(team.url + path, {
    headers: { authorization: `Bearer ${team.admin}` },
    signal: leave.signal,
  });
  await Promise.race([
    answer.text().catch(() => {}),
    new Promise((done) => AbortSignal.timeout(READ_MS).addEventListener("abort", done)),
  ]);
  leave.abort();
  return answer.status;
}

test(
  "no route that is asked with GET changes a row, but the one that starts a turn",
  { ...FULL, timeout: 180_000 },
  async () => {
    const asPerson = "mina";
    await call("POST", "/v1/agent/chat", {
      session_id: "seen",
      message: "안녕하세요",
      service: "desk",
    });
    const turn = (
      (
        await call("POST", "/v1/agent/chat", {
          session_id: "asks",
          message: "주문해 줘",
          service: "desk",
        })
      ).body as { turn_id: string }
    ).turn_id;
    const room = (
      (await call("POST", "/v1/rooms", { agent: "eden", as_person: asPerson })).body as {
        id: string;
      }
    ).id;
    const message = (
      (
        await call("POST", `/v1/rooms/${encodeURIComponent(room)}/messages`, {
          text: "안녕",
          as_person: asPerson,
        })
      ).body as { message_id: string }
    ).message_id;
    const job = (
      (
        await call("POST", "/v1/jobs", {
          agent: "ruda",
          target: "eden",
          message: "봐 주세요",
          max_turns: 1,
        })
      ).body as { job_id: string }
    ).job_id;
    const run = ((await call("POST", "/v1/runs", { plan: "greet" })).body as { id: string }).id;
    const escalation = ((await call("GET", "/v1/escalations")).body as { items: { id: string }[] })
      .items[0]!.id;
    const known: Record<string, string> = {
      turn_id: turn,
      session_id: "seen",
      room,
      run,
      port: "greet",
      step: "1",
      name: "greet",
    };
    const idOf = (route: string): string =>
      ({ messages: message, jobs: job, runs: run, escalations: escalation })[
        route.split("/")[2]!
      ] ?? "unknown";
    const before = await settled();

    const { paths } = (await call("GET", "/openapi.json")).body as {
      paths: Record<string, Record<string, unknown>>;
    };
    const routes = Object.keys(paths).filter(
      (route) => paths[route]!["get"] !== undefined && route !== STARTS_A_TURN,
    );
    const answered: Record<string, number> = {};
    for (const route of routes) {
      const path = route.replaceAll(/\{(\w+)\}/g, (_, parameter: string) =>
        encodeURIComponent(known[parameter] ?? idOf(route)),
      );
      const query = /completed/.test(route)
        ? "?session_id=seen"
        : /rooms\/|messages|threads/.test(route)
          ? `?as_person=${asPerson}`
          : "";
      answered[route] = await look(path + query);
    }
    const after = await settled();

    expect(routes.length).toBeGreaterThan(25);
    expect(
      Object.entries(answered).filter(([, status]) => status === 200 || status === 204).length,
    ).toBeGreaterThan(20);
    expect(after).toEqual(before);
  },
);
