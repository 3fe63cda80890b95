// @module-tag slow
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { SCHEMA } from "../team/schema.ts";
import { Database } from "./database.ts";
import { decideUpgrade, migrate, type FoundSchema } from "./migrate.ts";
import { applicationName, ProcessLease } from "./processes.ts";
import { checksumOf, checksumOfFunctions, type Schema } from "./release.ts";
import { testDatabase, type TestDatabase } from "./test-database.ts";
import { until } from "../../test/until.ts";

const quiet = { logger: silentLogger };

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db[Symbol.asyncDispose]());

let lastNumber = SCHEMA.number;

/** A release after all that the tests of this file have started before, which says `word`. */
function nextRelease(word: string, more: Partial<Schema> = {}): Schema {
  lastNumber += 1;
  return { ...SCHEMA, number: lastNumber, functions: { words: saying(word) }, ...more };
}

function saying(word: string): string {
  return `
    create or replace function dure.inner_word() returns text language plpgsql as $$
    begin
      return '${word}';
    end $$;
    create or replace function dure.word(p_held boolean default false) returns text
    language plpgsql as $$
    begin
      if p_held then
        perform pg_advisory_xact_lock_shared(4711);
      end if;
      return '${word}, ' || dure.inner_word();
    end $$;`;
}

async function said(): Promise<string> {
  const [row] = await db.database.query<{ word: string }>({
    name: "test.word",
    text: "select dure.word() as word",
  });
  return row!.word;
}

async function standing({ database } = db): Promise<{ number: number; oldest: number }> {
  const rows = await database.query<{ number: number; oldest: number }>({
    text: "select number, oldest from dure.release",
  });
  return rows[0]!;
}

test("a newer release replaces the functions, and an older one never puts its own back", async () => {
  const [older, newer] = [nextRelease("old"), nextRelease("new")];
  await migrate(db.database, older, quiet);
  const before = await said();

  await migrate(db.database, newer, quiet);
  await migrate(db.database, older, quiet);

  expect([before, await said()]).toEqual(["old, old", "new, new"]);
  expect(await standing()).toMatchObject({ number: newer.number });
});

test("of two processes that start at once one puts the functions in place", async () => {
  const release = nextRelease("once");
  const told: string[] = [];
  const logger: Logger = { ...silentLogger, info: (_, message) => told.push(message) };
  await using other = await connected();

  await Promise.all([
    migrate(db.database, release, { logger }),
    migrate(other.database, release, { logger }),
  ]);

  expect(told).toEqual([
    `functions of release ${release.number} (dure ${release.version}) put in place`,
  ]);
  expect(await said()).toBe("once, once");
});

test("a process that dies between two nouns has changed nothing, and the next start does it", async () => {
  const [before, release] = [nextRelease("before"), nextRelease("after")];
  await migrate(db.database, before, quiet);
  const dying = { ...release.functions, more: "select pg_terminate_backend(pg_backend_pid())" };

  await expect(migrate(db.database, { ...release, functions: dying }, quiet)).rejects.toMatchObject(
    {
      code: "DATABASE_UNAVAILABLE",
    },
  );
  const left = [await said(), (await standing()).number];
  await migrate(db.database, release, quiet);

  expect(left).toEqual(["before, before", before.number]);
  expect(await said()).toBe("after, after");
});

test("a call under way ends with its own text, calls what is new, and plans stay usable", async () => {
  const [older, newer] = [nextRelease("old"), nextRelease("new")];
  await migrate(db.database, older, quiet);
  await using other = await connected();
  const slow = { name: "test.slow-word", text: "select dure.word(true) as word" };
  await said(); // prepared on this connection

  const holder = await db.database.connectSession();
  await holder.query("select pg_advisory_lock(4711)");
  const underWay = other.database.query<{ word: string }>(slow);
  await until(isHeld, () => "no call is held");
  await migrate(db.database, newer, quiet);
  await holder.end();

  expect((await underWay)[0]!.word).toBe("old, new");
  expect(await said()).toBe("new, new");
  expect((await other.database.query<{ word: string }>(slow))[0]!.word).toBe("new, new");
});

test("the same number with other functions is refused; another line end is no difference", async () => {
  const release = nextRelease("mine");
  await migrate(db.database, release, quiet);
  const sameInWindows = { words: release.functions["words"]!.replaceAll("\n", "\r\n") };

  await migrate(db.database, { ...release, functions: sameInWindows }, quiet);
  await expect(
    migrate(db.database, { ...release, functions: { words: saying("other") } }, quiet),
  ).rejects.toMatchObject({ code: "SCHEMA_CHANGED" });
});

test("a user without the right to create starts when all is done, and else is told what to do", async () => {
  const [before, release] = [nextRelease("before"), nextRelease("mine")];
  await migrate(db.database, before, quiet);
  await db.database.query({ text: "revoke create on schema dure from current_user" });

  await migrate(db.database, before, quiet);
  await expect(migrate(db.database, release, quiet)).rejects.toMatchObject({
    code: "MIGRATION_FAILED",
    message: expect.stringMatching(/The functions of words .* were refused: .*denied/) as string,
    hint: expect.stringContaining("dure db migrate") as string,
  });
  await db.database.query({ text: "grant create on schema dure to current_user" });

  expect([await said(), (await standing()).number]).toEqual(["before, before", before.number]);
});

test("a release that takes away what older ones need waits for their end, then keeps them out", async () => {
  const [older, newer] = [nextRelease("old"), nextRelease("new", { oldest: lastNumber })];
  await migrate(db.database, older, quiet);
  await using running = await leased("process_older", older.number - 1);

  await expect(migrate(db.database, newer, quiet)).rejects.toMatchObject({ code: "SCHEMA_IN_USE" });
  expect(await standing()).toMatchObject({ number: older.number, oldest: 0 });
  await running.lease.stop();
  await migrate(db.database, newer, quiet);

  expect(await standing()).toMatchObject({ number: newer.number, oldest: newer.oldest });
  await migrate(db.database, older, quiet);
  await expect(
    migrate(db.database, { ...older, number: older.number - 1 }, quiet),
  ).rejects.toMatchObject({ code: "SCHEMA_NEWER" });
  // One that had looked at the tables before, and registers only now.
  await expect(leased("process_late", older.number - 1)).rejects.toMatchObject({
    code: "SCHEMA_NEWER",
  });
});

test("a new database keeps out what the release that makes it excludes", async () => {
  await using fresh = await testDatabase({ migrated: false });

  await migrate(fresh.database, { ...SCHEMA, number: 5, oldest: 4 }, quiet);

  expect(await standing(fresh)).toEqual({ number: 5, oldest: 4 });
});

const APPLIED = SCHEMA.migrations.map((step) => ({ ...step, checksum: checksumOf(step.sql) }));
const BEYOND = { id: APPLIED.length + 1, name: "later", checksum: "x" };

test.each<[string, Partial<FoundSchema>, object]>([
  ["an empty database", { applied: [] }, { migrations: SCHEMA.migrations, functions: "replace" }],
  ["its own", { release: stored(SCHEMA.number) }, { migrations: [], functions: "keep" }],
  [
    "one with newer functions",
    { release: stored(SCHEMA.number + 1) },
    { migrations: [], functions: "keep" },
  ],
  [
    "one with newer tables",
    { applied: [...APPLIED, BEYOND], release: stored(SCHEMA.number + 1) },
    { migrations: [], functions: "keep" },
  ],
  [
    "one whose newer release died behind its tables",
    { applied: [...APPLIED, BEYOND], release: stored(SCHEMA.number - 1) },
    { migrations: [], functions: "replace" },
  ],
])("what a release does to %s", (_name, found, expected) => {
  const upgrade = decideUpgrade(SCHEMA, { applied: APPLIED, release: undefined, ...found });

  expect(upgrade).toMatchObject(expected);
});

test("an older process stops before a release that excludes it", () => {
  const release = { ...stored(SCHEMA.number + 2), oldest: SCHEMA.number + 1 };

  expect(() => decideUpgrade(SCHEMA, { applied: APPLIED, release })).toThrow(
    expect.objectContaining({ code: "SCHEMA_NEWER" }) as Error,
  );
});

function stored(number: number): NonNullable<FoundSchema["release"]> {
  return { number, oldest: 0, checksum: checksumOfFunctions(SCHEMA), version: "0.0.0" };
}

test("every function of the database is one of the files beside what uses them", async () => {
  await using fresh = await testDatabase();
  const rows = await fresh.database.query<{ name: string; text: string }>({
    text: `select p.proname as name, p.prosrc as text from pg_proc p
           join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'dure'`,
  });
  const files = Object.values(SCHEMA.functions).join("\n");

  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter(({ text }) => !files.includes(text)).map(({ name }) => name)).toEqual([]);
});

/** Whether a call of this database waits for the lock of `word`. */
async function isHeld(): Promise<boolean> {
  const waiting = await db.database.query({
    text: `
      select from pg_stat_activity
      where datname = current_database() and wait_event = 'advisory'`,
  });
  return waiting.length > 0;
}

async function connected(): Promise<{ database: Database } & AsyncDisposable> {
  const database = await Database.open({
    url: db.url,
    applicationName: "dure:second",
    logger: silentLogger,
  });
  return { database, [Symbol.asyncDispose]: () => database.close() };
}

async function leased(
  id: string,
  release: number,
): Promise<{ lease: ProcessLease } & AsyncDisposable> {
  const database = await Database.open({
    url: db.url,
    applicationName: applicationName(id),
    logger: silentLogger,
  });
  const lease = new ProcessLease({
    database,
    id,
    appVersion: "0.0.0",
    release,
    logger: silentLogger,
  });
  const close = async (): Promise<void> => {
    await lease.stop();
    await database.close();
  };
  await lease.start().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return { lease, [Symbol.asyncDispose]: close };
}
