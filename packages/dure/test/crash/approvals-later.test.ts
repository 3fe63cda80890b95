import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBank, type Bank } from "../../../../examples/transfer/bank/bank.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { ServerProcess } from "./server-process.ts";

/**
 * An approval that is answered days later: the servers that asked were killed, a new release has
 * other code, another order of steps and other functions in the database. It pays what was shown,
 * once, and nothing else. Days pass by SQL.
 */
const TEAM = fileURLToPath(new URL("approvals/team", import.meta.url));
const SLOW = { ...FULL, timeout: 240_000 };

type Release = "1" | "2" | "2-changed";

interface Done {
  readonly message: string;
  readonly error?: { readonly code: string };
}

interface Asked {
  readonly id: string;
  readonly title: string;
}

let bank: Bank;
let database: Database;
let databaseUrl: string;
const stack = new AsyncDisposableStack();
let server: ServerProcess | undefined;

beforeAll(async () => {
  databaseUrl = stack.use(await testDatabaseUrl()).url;
  bank = await startBank();
  stack.defer(() => bank.stop());
  database = await Database.open({
    url: databaseUrl,
    applicationName: "approvals",
    logger: silentLogger,
    max: 2,
  });
  stack.defer(() => database.close());
}, 120_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stack.disposeAsync();
}, 60_000);

/** Kills the server that runs, if any, and starts another one. */
async function serve(release: Release): Promise<void> {
  await server?.kill();
  const environment = {
    DATABASE_URL: databaseUrl,
    APPROVAL_BANK_URL: bank.url,
    APPROVAL_RELEASE: release,
  };
  server = ServerProcess.spawn(environment, TEAM);
  await server.url;
}

async function post(path: string, body: object, token?: string): Promise<Response> {
  const type = { "content-type": "application/json" };
  return fetch((await server!.url) + path, {
    method: "POST",
    headers: token === undefined ? type : { ...type, authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
}

async function say(session: string, message: string): Promise<Done> {
  const body = { session_id: session, service: "payments", message };
  return doneIn(await post("/v1/agent/chat/stream", body));
}

async function doneIn(answer: Response): Promise<Done> {
  const text = await answer.text();
  const data = /^event: DONE\ndata: (.*)$/mu.exec(text)?.[1];
  if (data === undefined) throw new Error(`no DONE in ${answer.status} ${text}`);
  return JSON.parse(data) as Done;
}

/** Answers, and gives the turn that goes on. */
async function answer(id: string, value: string): Promise<string> {
  const response = await post(`/v1/escalations/${id}/answer`, { value });
  const body = (await response.json()) as { turn_id?: string };
  if (!body.turn_id) throw new Error(`${response.status} ${JSON.stringify(body)}`);
  return body.turn_id;
}

async function endOf(turn: string): Promise<Done> {
  return doneIn(await fetch(`${await server!.url}/v1/agent/turns/${turn}/stream`));
}

async function askedIn(session: string): Promise<readonly Asked[]> {
  return database.query<Asked & { id: string }>(
    {
      text: `select id, title from dure.escalations
        where session_id = $1 and type = 'decision' and status = 'open'`,
    },
    [session],
  );
}

/** All that is stored was stored so many days earlier. */
async function passDays(days: number): Promise<void> {
  const columns = {
    escalations: ["created_at", "expires_at", "resolved_at"],
    sessions: ["updated_at"],
    turns: ["accepted_at", "finished_at", "held_at"],
    messages: ["at"],
  };
  for (const [table, names] of Object.entries(columns)) {
    const set = names.map((name) => `${name} = ${name} - interval '${days} days'`).join(", ");
    await database.query({ text: `update dure.${table} set ${set}` });
  }
}

/** The database as an older release left it: the next start puts its functions in place. */
async function backToAnOlderRelease(): Promise<void> {
  await server!.kill();
  await database.query({ text: "update dure.release set number = number - 1, checksum = 'older'" });
  await database.query({ text: "drop function dure.effect_intent(jsonb)" });
}

function bookingsTo(person: string): readonly number[] {
  return bank.bookings().flatMap(({ to, amount }) => (to === person ? [amount] : []));
}

/** Asked by a server that was killed; then a restart, three days, and a new release. */
async function askedDaysAgo(session: string, order: string, next: Release): Promise<Asked> {
  await serve("1");
  expect((await say(session, order)).error?.code).toBe("APPROVAL_PENDING");
  await serve("1");
  expect((await say(session, "hello")).message).toBe("release 1 listens");
  await passDays(3);
  await backToAnOlderRelease();
  await serve(next);
  const [asked] = await askedIn(session);
  return asked!;
}

test(
  "an approval of days ago pays once under a new release, though it is killed while it pays",
  SLOW,
  async () => {
    const asked = await askedDaysAgo("resumes", "hong 50000", "2");
    await fetch(`${bank.url}/faults`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ kind: "delay", when: "after", ms: 1_500 }),
    });

    expect(asked.title).toBe("hong: 50000");
    const turn = await answer(asked.id, "approve");
    await serve("2");
    const done = await endOf(turn);
    const again = await post(`/v1/escalations/${asked.id}/answer`, { value: "approve" });

    expect(done).toMatchObject({ message: "release 2: done" });
    expect(again.status).toBe(409);
    expect(bookingsTo("hong")).toEqual([50_000]);
    expect((await say("resumes", "hello")).message).toBe("release 2 listens");
  },
);

test(
  "a release that changes the arguments gets no money for an approval of others: it asks",
  SLOW,
  async () => {
    const asked = await askedDaysAgo("changed", "kim 30000", "2-changed");

    const refused = await endOf(await answer(asked.id, "approve"));
    const [second] = await askedIn("changed");

    expect(refused.error?.code).toBe("APPROVAL_PENDING");
    expect(bookingsTo("kim")).toEqual([]);
    expect(second!.title).toBe("kim: 30001");
    await serve("2");
    expect(await endOf(await answer(second!.id, "approve"))).toMatchObject({
      message: "release 2: done",
    });
    expect(bookingsTo("kim")).toEqual([30_001]);
  },
);

test("words that follow an approval of days ago pay no other", SLOW, async () => {
  const asked = await askedDaysAgo("others", "park 20000", "2");
  await endOf(await answer(asked.id, "approve"));

  const codes: (string | undefined)[] = [];
  for (const order of ["park 20001", "choi 20000", "park2 20000"]) {
    codes.push((await say("others", order)).error?.code);
  }

  expect(codes).toEqual(["EFFECT_KEY_REUSED", "APPROVAL_PENDING", "APPROVAL_PENDING"]);
  for (const person of ["choi", "park2"]) expect(bookingsTo(person)).toEqual([]);
  expect(bookingsTo("park")).toEqual([20_000]);
});

test("an approval whose time is over pays nothing", SLOW, async () => {
  const asked = await askedDaysAgo("late", "jung 10000", "2");
  await passDays(30);

  const response = await post(`/v1/escalations/${asked.id}/answer`, { value: "approve" });

  expect(response.status).toBe(409);
  expect(bookingsTo("jung")).toEqual([]);
});

test(
  "of two people's yeses the first outlives a kill and a new release, and the second pays once",
  SLOW,
  async () => {
    const tokens = new PostgresTokenStore({ database });
    const treasurer = async (name: string): Promise<string> =>
      (await tokens.create({ name, scopes: ["chat"], roles: ["treasury"] })).token;
    await serve("1");
    expect((await say("two", "yoon 100000")).error?.code).toBe("APPROVAL_PENDING");
    const [asked] = await askedIn("two");
    const [kim, lee] = [await treasurer("kim"), await treasurer("lee")];
    const approve = (token: string): Promise<Response> =>
      post(`/v1/escalations/${asked!.id}/answer`, { value: "approve" }, token);

    const first = await approve(kim);
    await server!.kill();
    await passDays(3);
    await backToAnOlderRelease();
    await serve("2");
    const again = await approve(kim);
    const before = bookingsTo("yoon");
    const second = await approve(lee);
    const { turn_id: turn } = (await second.json()) as { turn_id: string };
    await serve("2");
    const stream = `${await server!.url}/v1/agent/turns/${turn}/stream`;
    const done = await doneIn(await fetch(stream, { headers: { authorization: `Bearer ${lee}` } }));

    expect([first.status, again.status, second.status]).toEqual([200, 409, 200]);
    expect(before).toEqual([]);
    expect(done).toMatchObject({ message: "release 2: done" });
    expect(bookingsTo("yoon")).toEqual([100_000]);
  },
);
