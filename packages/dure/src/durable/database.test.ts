import { createServer, type AddressInfo, type Socket } from "node:net";
import { expect, test } from "vitest";
import { systemClock, type Clock } from "../kernel/clock.ts";
import type { DureError } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import { Database, isConnectionError, sqlState } from "./database.ts";
import { testDatabase } from "./test-database.ts";
import { FULL } from "../kernel/test-tiers.ts";

/** On a busy machine; a test that works needs far less. */

test("rows come back as numbers, parsed JSON and dates", async () => {
  await using db = await testDatabase({ migrated: false });

  const rows = await db.database.query(
    {
      name: "types",
      text: "select 42::int8 as small, 9007199254740993::int8 as large, '{\"a\":[1]}'::jsonb as json, to_timestamp(0) as at, $1::text as value",
    },
    ["두레"],
  );

  expect(rows).toEqual([
    { small: 42, large: 9007199254740993n, json: { a: [1] }, at: new Date(0), value: "두레" },
  ]);
});

test("a cut connection is DATABASE_UNAVAILABLE, and the next statement works", async () => {
  await using db = await testDatabase({ migrated: false });

  const error = await db.database
    .query({ text: "select pg_terminate_backend(pg_backend_pid())" })
    .catch((thrown: unknown) => thrown);

  expect(error).toMatchObject({
    code: "DATABASE_UNAVAILABLE",
    class: "unavailable",
    details: { commit: "unknown" },
  });
  expect(isConnectionError(error)).toBe(true);
  expect(sqlState(error)).toBe("57P01");
  expect(await db.database.health()).toBe("ok");
});

test("all sessions may be ended by name while they are idle, and the pool recovers", async () => {
  await using db = await testDatabase({ migrated: false, applicationName: "dure:victim" });
  await using other = await testDatabase({ migrated: false });
  await Promise.all(
    Array.from({ length: 4 }, () => db.database.query({ text: "select pg_sleep(0.05)" })),
  );

  const ended = await other.database.query({
    text: "select pg_terminate_backend(pid, 2000) as ended from pg_stat_activity where application_name = 'dure:victim'",
  });
  expect(ended.length).toBeGreaterThan(0);

  await expect.poll(() => db.database.health()).toBe("ok");
});

test("an error of the statement keeps its SQLSTATE and its connection", async () => {
  await using db = await testDatabase({ migrated: false, max: 1 });
  const backend = await db.database.query({ text: "select pg_backend_pid() as pid" });

  const error = await db.database
    .query({ text: "select 1 / $1::int" }, [0])
    .catch((thrown: unknown) => thrown);

  expect(sqlState(error)).toBe("22012");
  expect(isConnectionError(error)).toBe(false);
  expect(await db.database.query({ text: "select pg_backend_pid() as pid" })).toEqual(backend);
});

test("a transaction keeps all or nothing", async () => {
  await using db = await testDatabase({ migrated: false });
  await db.database.query({ text: "create table notes (id int primary key)" });
  const insert = { name: "note", text: "insert into notes values ($1)" };

  await expect(
    db.database.transaction(async (tx) => {
      await tx.query(insert, [1]);
      await tx.query(insert, [1]);
    }),
  ).rejects.toMatchObject({ code: "23505" });
  await expect(
    db.database.transaction(async (tx) => {
      await tx.query(insert, [2]);
      throw new Error("changed my mind");
    }),
  ).rejects.toThrow("changed my mind");
  const answer = await db.database.transaction(async (tx) => {
    await tx.query(insert, [3]);
    return "kept";
  });

  expect(answer).toBe("kept");
  expect(await db.database.query({ text: "select id from notes" })).toEqual([{ id: 3 }]);
});

test("a transaction whose connection is cut wrote nothing", async () => {
  await using db = await testDatabase({ migrated: false });
  await db.database.query({ text: "create table notes (id int primary key)" });

  await expect(
    db.database.transaction(async (tx) => {
      await tx.query({ text: "insert into notes values (1)" });
      await tx.query({ text: "select pg_terminate_backend(pg_backend_pid())" });
    }),
  ).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE", details: { commit: "none" } });

  expect(await db.database.query({ text: "select id from notes" })).toEqual([]);
});

test("a lost answer to COMMIT says that the outcome is unknown", async () => {
  await using db = await testDatabase({ migrated: false });
  await db.database.query({ text: "create table notes (id int)" });
  // A deferred trigger runs inside COMMIT, so that is where this connection dies.
  await db.database.query({
    text: `create function die() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
    create constraint trigger die after insert on notes deferrable initially deferred for each row execute function die()`,
  });

  await expect(
    db.database.transaction((tx) => tx.query({ text: "insert into notes values (1)" })),
  ).rejects.toMatchObject({
    code: "DATABASE_UNAVAILABLE",
    details: { commit: "unknown" },
  });
});

test("a transaction that waits for something else than SQL is rolled back after 5 s", async () => {
  await using db = await testDatabase({ migrated: false });
  await db.database.query({ text: "create table notes (id int)" });
  const due: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (ms, callback) =>
      ms === 5_000 ? (due.push(callback), () => {}) : systemClock.after(ms, callback),
  };
  await using own = disposable(
    await Database.open({ url: db.url, applicationName: "dure:slow", logger: silentLogger, clock }),
  );
  const late: Promise<unknown>[] = [];

  const transaction = own.value.transaction(async (tx) => {
    await tx.query({ text: "insert into notes values (1)" });
    due.forEach((callback) => callback());
    await new Promise((resolve) => setImmediate(resolve)); // "something else"
    late.push(tx.query({ text: "insert into notes values (2)" }));
    await Promise.all(late);
  });

  await expect(transaction).rejects.toMatchObject({ code: "TRANSACTION_TOO_LONG" });
  await expect.poll(() => late.length).toBe(1);
  await expect(late[0]).rejects.toMatchObject({ code: "TRANSACTION_OVER" });
  expect(await db.database.query({ text: "select id from notes" })).toEqual([]);
});

test("an aborted statement is cancelled on the server, and its connection goes on", async () => {
  await using db = await testDatabase({ migrated: false, max: 1 });
  const backend = await db.database.query({ text: "select pg_backend_pid() as pid" });
  await using other = await testDatabase({ migrated: false });
  const controller = new AbortController();

  const sleeping = db.database
    .query({ text: "select pg_sleep(9)" }, [], { signal: controller.signal })
    .catch((thrown: unknown) => thrown);
  await expect
    .poll(() =>
      other.database.query({
        text: "select 1 from pg_stat_activity where query = 'select pg_sleep(9)' and state = 'active'",
      }),
    )
    .toHaveLength(1);
  controller.abort(new Error("no longer wanted"));

  expect(await sleeping).toMatchObject({ message: "no longer wanted" });
  expect(await db.database.query({ text: "select pg_backend_pid() as pid" })).toEqual(backend);
});

test("a prepared statement survives a change of its table", async () => {
  await using db = await testDatabase({ migrated: false, max: 1 });
  await db.database.query({ text: "create table notes (id int)" });
  await db.database.query({ name: "all", text: "select * from notes" });
  await db.database.query({
    text: "alter table notes add column text text; insert into notes values (1, 'a')",
  });

  expect(await db.database.query({ name: "all", text: "select * from notes" })).toEqual([
    { id: 1, text: "a" },
  ]);
});

test("statements and write commits are counted", async () => {
  await using db = await testDatabase({ migrated: false });
  await db.database.query({ text: "create table notes (id int)" });
  const before = { statements: db.database.statements, commits: db.database.commits };

  await db.database.query({ text: "insert into notes values (1)" });
  await db.database.query({ text: "select id from notes for update skip locked" });
  await db.database.query({
    text: "with gone as (delete from notes returning id) select count(*) from gone",
  });
  await db.database.transaction((tx) => tx.query({ text: "update notes set id = 2" }));

  expect(db.database.statements - before.statements).toBe(6);
  expect(db.database.commits - before.commits).toBe(3);
});

test("an address where nothing listens is explained without the password", async () => {
  const error = await open("postgresql://me:secret@127.0.0.1:1/none").catch(
    (thrown: unknown) => thrown,
  );

  expect(error).toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  expect((error as DureError).message).toContain("127.0.0.1:1/none");
  expect((error as DureError).message).not.toContain("secret");
});

test("a database that takes no connections now is away; a statement it does not allow is an error", () => {
  const error = { code: "55000", severity: "FATAL" };

  expect(isConnectionError(error)).toBe(true);
  expect(isConnectionError({ ...error, severity: "ERROR" })).toBe(false);
});

test("a wrong password is DATABASE_REFUSED", async () => {
  await using db = await testDatabase({ migrated: false });
  const wrong = new URL(db.url);
  wrong.password = "wrong";

  await expect(open(wrong.href)).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
});

test(
  "a network that swallows everything is given up within 5 s, and health stays an answer",
  { ...FULL, timeout: 10_000 },
  async () => {
    await using silence = await silentServer();

    await expect(
      open(`postgresql://me:secret@127.0.0.1:${silence.port}/none`),
    ).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  },
);

function open(url: string): Promise<Database> {
  return Database.open({ url, applicationName: "dure:test", logger: silentLogger });
}

function disposable(value: Database): { value: Database } & AsyncDisposable {
  return { value, [Symbol.asyncDispose]: () => value.close() };
}

/** Accepts connections and never says a word. */
async function silentServer(): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
