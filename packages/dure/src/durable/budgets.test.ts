import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { BudgetStore } from "./budgets.ts";
import type { Database } from "./database.ts";
import { testDatabase } from "./test-database.ts";
import { FencedError, TurnStore } from "./turns.ts";

const notifications = { publish: () => {} };

function storeOf(database: Database, process: string): BudgetStore {
  return new BudgetStore({
    database,
    notifications,
    clock: systemClock,
    process,
    lease: new AbortController().signal,
  });
}

async function runningTurn(database: Database, turn: string): Promise<TurnStore> {
  const turns = new TurnStore({
    database,
    notifications: notifications as never,
    clock: systemClock,
    holder: "p1",
  });
  await turns.accept({
    turn,
    session: turn,
    tenant: "",
    service: "x",
    version: "1",
    author: "person",
    policy: "queue",
    max_waiting: 1,
    message: "m",
    input: {},
    title: "t",
    events: [],
  });
  return turns;
}

const RESERVATION = {
  epoch: 1,
  place: "1",
  agent: "a",
  tokens: 30,
  micro_usd: 0,
  bounds: [],
  rows: [],
  calls: [],
} as const;

const CALL = {
  at: 0,
  place: "1",
  agent: "a",
  provider: "p",
  model: "m",
  attempt: 1,
  prompt_hash: "",
  tokens_in: 3,
  tokens_out: 4,
  estimated: false,
  cost_micro_usd: 5,
  latency_ms: 1,
  error: null,
};

test("a pool lends what is wanted, then what is left, never less than needed, never over the limit", async () => {
  await using db = await testDatabase();
  const [one, two] = [storeOf(db.database, "p1"), storeOf(db.database, "p2")];

  expect(await one.grant("team/day/x/tokens", 100, 10, 60)).toMatchObject({
    granted: 60,
    left: 40,
  });
  expect(await two.grant("team/day/x/tokens", 100, 50, 60)).toMatchObject({ granted: 0, left: 40 });
  expect(await two.grant("team/day/x/tokens", 100, 10, 60)).toMatchObject({ granted: 40, left: 0 });
  expect(await one.grant("team/day/x/tokens", 100, 1, 60)).toMatchObject({ granted: 60, left: 0 });
  expect(await one.grant("team/day/x/tokens", 50, 1, 60)).toMatchObject({ granted: 60, left: 0 });
  expect(await one.pools(["team/day/x/tokens"])).toEqual([
    { key: "team/day/x/tokens", used: 0, lent: 100 },
  ]);
});

test("a process that was taken over is lent nothing", async () => {
  await using db = await testDatabase();
  await db.database.query({
    text: "insert into dure.processes (id, app_version, host, machine, pid, pid_started, ended_at) values ('p1', '', '', '', 1, '', clock_timestamp())",
  });

  expect(await storeOf(db.database, "p1").grant("team/day/x/tokens", 100, 10, 60)).toBeNull();
  expect(await db.database.query({ text: "select key from dure.budget_pools" })).toEqual([]);
});

test("a reservation is written once, by the turn's holder alone, from blocks held, and not after a stop", async () => {
  await using db = await testDatabase();
  const store = storeOf(db.database, "p1");
  const turns = await runningTurn(db.database, "t1");
  const pools = ["team/day/x/tokens"];

  expect(await store.reserve({ ...RESERVATION, turn: "t1", pools })).toEqual({
    outcome: "blocks_gone",
  });
  await store.grant("team/day/x/tokens", 100, 30, 60);
  expect(await store.reserve({ ...RESERVATION, turn: "t1", pools })).toEqual({
    outcome: "reserved",
  });
  expect(await store.reserve({ ...RESERVATION, turn: "t1", pools })).toEqual({
    outcome: "found",
    process: "p1",
  });
  await expect(store.reserve({ ...RESERVATION, turn: "t1", epoch: 2, pools })).rejects.toThrow(
    FencedError,
  );
  await turns.stop("t1", "", "me");
  expect(await store.reserve({ ...RESERVATION, turn: "t1", place: "2", pools })).toEqual({
    outcome: "stop",
  });
  expect([await store.isReserved("t1", "1"), await store.isReserved("t1", "2")]).toEqual([
    true,
    false,
  ]);
});

test.for(["turn", "session"] as const)(
  "what fits a bound of a %s exactly is reserved, and not one token more",
  async (scope) => {
    await using db = await testDatabase();
    const store = storeOf(db.database, "p1");
    await runningTurn(db.database, "t1");
    const reserve = (place: string, amount: number) =>
      store.reserve({
        ...RESERVATION,
        turn: "t1",
        place,
        tokens: amount,
        pools: [],
        bounds: [{ scope, agent: null, unit: "tokens", most: 100, amount }],
      });

    expect(await reserve("1", 60)).toEqual({ outcome: "reserved" });
    expect(await reserve("2", 41)).toEqual({
      outcome: "exceeded",
      scope,
      agent: null,
      unit: "tokens",
      left: 40,
    });
    expect(await reserve("2", 40)).toEqual({ outcome: "reserved" });
    expect(await reserve("3", 1)).toMatchObject({ outcome: "exceeded", left: 0 });
  },
);

test("a bound of one agent counts that agent alone", async () => {
  await using db = await testDatabase();
  const store = storeOf(db.database, "p1");
  await runningTurn(db.database, "t1");
  const reserve = (place: string, agent: string) =>
    store.reserve({
      ...RESERVATION,
      turn: "t1",
      place,
      agent,
      pools: [],
      bounds: [{ scope: "turn", agent, unit: "tokens", most: 50, amount: 30 }],
    });

  expect(await reserve("1", "a")).toEqual({ outcome: "reserved" });
  expect(await reserve("2", "b")).toEqual({ outcome: "reserved" });
  expect(await reserve("3", "a")).toMatchObject({ outcome: "exceeded", agent: "a", left: 20 });
});

test("a call outside of turns takes what a pool has left to the last token, and nothing beside a turn", async () => {
  await using db = await testDatabase();
  const store = storeOf(db.database, "p1");
  await runningTurn(db.database, "t1");
  const pool = (amount: number) => [{ key: "team/total/tokens", most: 100, amount }];
  const conversation = { agent: "a", tokens: 1, micro_usd: 0, bounds: [] };

  expect(await store.charge({ session: "s", bounds: [], pools: pool(60) })).toEqual({
    outcome: "charged",
  });
  expect(await store.charge({ session: "s", bounds: [], pools: pool(41) })).toEqual({
    outcome: "exceeded",
    key: "team/total/tokens",
    left: 40,
  });
  expect(await store.charge({ session: "s", bounds: [], pools: pool(40) })).toEqual({
    outcome: "charged",
  });
  expect(await store.charge({ session: "t1", bounds: [], pools: [], conversation })).toEqual({
    outcome: "busy",
  });
});

test("a call that is recorded again is charged once, also while another one is open", async () => {
  await using db = await testDatabase();
  const store = storeOf(db.database, "p1");
  const turns = await runningTurn(db.database, "t1");
  for (const place of ["1", "2"]) {
    await store.reserve({ ...RESERVATION, turn: "t1", place, pools: [] });
  }

  await turns.journal({ turn: "t1", epoch: 1, rows: [], calls: [CALL] });
  await turns.journal({ turn: "t1", epoch: 1, rows: [], calls: [CALL] });

  expect(await db.database.query({ text: "select tokens from dure.budget_sessions" })).toEqual([
    { tokens: 7 },
  ]);
});

test("what was used of a pool is not lent again", async () => {
  await using db = await testDatabase();
  const store = storeOf(db.database, "p1");
  await store.charge({
    session: "s",
    bounds: [],
    pools: [{ key: "team/total/tokens", most: 100, amount: 70 }],
  });

  expect(await store.grant("team/total/tokens", 100, 10, 60)).toMatchObject({
    granted: 30,
    left: 0,
  });
});

test("what a dead process had under way counts as used, and the rest of its block is free", async () => {
  await using db = await testDatabase();
  const store = storeOf(db.database, "p1");
  await runningTurn(db.database, "t1");
  await store.grant("team/total/tokens", 100, 30, 60);
  await store.reserve({ ...RESERVATION, turn: "t1", pools: ["team/total/tokens"] });

  expect(await store.release("p1")).toBe(1);

  expect(await store.pools(["team/total/tokens"])).toEqual([
    { key: "team/total/tokens", used: 30, lent: 0 },
  ]);
});

test("a session that is forgotten takes what it has used with it", async () => {
  await using db = await testDatabase();
  const store = storeOf(db.database, "p1");
  const turns = await runningTurn(db.database, "t1");
  await store.reserve({
    ...RESERVATION,
    turn: "t1",
    pools: [],
    bounds: [{ scope: "session", agent: null, unit: "tokens", most: 100, amount: 30 }],
  });
  await turns.journal({ turn: "t1", epoch: 1, rows: [], calls: [CALL] });
  await turns.journal({ turn: "t1", epoch: 1, rows: [], calls: [CALL] });
  const before = await db.database.query({ text: "select * from dure.budget_sessions" });
  await db.database.query({ text: "delete from dure.sessions where id = 't1'" });

  expect(before).toEqual([{ session_id: "t1", agent: "a", tokens: 7, micro_usd: 5 }]);
  expect(await db.database.query({ text: "select * from dure.budget_sessions" })).toEqual([]);
});

test("a call of a turn is reserved and settled by the turn's key, however many turns run and have ended", async () => {
  await using db = await testDatabase({ max: 1 }); // one connection, which keeps the plans it made while the tables were empty
  const store = storeOf(db.database, "p1");
  const reserveAndSettle = async (turn: string) => {
    const turns = await runningTurn(db.database, turn);
    await store.reserve({
      ...RESERVATION,
      turn,
      pools: [],
      bounds: [{ scope: "turn", agent: null, unit: "tokens", most: 100, amount: 30 }],
    });
    await turns.journal({ turn: turn, epoch: 1, rows: [], calls: [CALL] });
  };
  for (let index = 0; index < 10; index++) await reserveAndSettle(`first${index}`);
  await db.database.query({
    text: `insert into dure.turns (id, session_id, service, version, author, status, epoch, holder, accepted_at, finished_at)
           select 'old' || i, 's' || i, 'x', '1', 'person', case when i % 2 = 0 then 'done' else 'running' end, 1, 'p2', now(), case when i % 2 = 0 then now() end from generate_series(1, 2000) i`,
  });

  const before = await turnsRead(db.database);
  await reserveAndSettle("last");
  expect((await turnsRead(db.database)) - before).toBeLessThan(20);
});

/** Rows of dure.turns that this connection has read so far. */
async function turnsRead(database: Database): Promise<number> {
  await database.query({ text: "select pg_stat_force_next_flush()" });
  const [row] = await database.query<{ read: number }>({
    text: "select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where relid = 'dure.turns'::regclass",
  });
  return row!.read;
}
