import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect, test } from "vitest";
import type { Logger } from "../kernel/logger.ts";
import { silentLogger } from "../kernel/logger.ts";
import { decideUpgrade, migrate } from "./migrate.ts";
import { Database } from "./database.ts";
import type { Migration, Schema } from "./release.ts";
import { testDatabase, type TestDatabase } from "./test-database.ts";
import { SCHEMA } from "../team/schema.ts";

const FIRST: Migration = {
  id: 1,
  name: "notes",
  sql: "create table dure.notes (id int); select pg_sleep(0.2);",
};
const SECOND: Migration = { id: 2, name: "authors", sql: "create table dure.authors (id int)" };
const quiet = { logger: silentLogger };

/** A release that has tables alone. */
function tables(...migrations: readonly Migration[]): Schema {
  return { version: "0.0.0", number: 0, oldest: 0, migrations, functions: {} };
}

test("two processes that start at once: one migrates, the other waits and finds nothing to do", async () => {
  await using db = await testDatabase({ migrated: false });
  await using other = await second(db.url);
  const log: string[] = [];
  const logger: Logger = { ...silentLogger, info: (_, message) => log.push(message) };

  await Promise.all([
    migrate(db.database, tables(FIRST, SECOND), { logger }),
    migrate(other.database, tables(FIRST, SECOND), { logger }),
  ]);

  expect(log).toEqual(["migration 1 notes applied", "migration 2 authors applied"]);
  expect(
    await db.database.query({ text: "select id, name from dure.migrations order by id" }),
  ).toEqual([
    { id: 1, name: "notes" },
    { id: 2, name: "authors" },
  ]);
});

test("a database from before the baseline is refused with what to do, and nothing changes", async () => {
  await using db = await testDatabase({ migrated: false });
  await migrate(db.database, tables({ ...FIRST, name: "turns" }, SECOND), quiet);

  const refused = migrate(db.database, SCHEMA, quiet);

  await expect(refused).rejects.toMatchObject({
    code: "SCHEMA_TOO_OLD",
    hint: expect.stringMatching(
      /DATABASE_URL.*DURE_HOME.*dure db backup.*dure db restore/,
    ) as string,
  });
  expect(await tablesIn(db)).toEqual(["authors", "migrations", "notes"]);
});

test("a changed migration is refused, another line end is not a change", async () => {
  await using db = await testDatabase({ migrated: false });
  await migrate(db.database, tables({ ...FIRST, sql: "select 1;\nselect 2" }), quiet);

  await migrate(db.database, tables({ ...FIRST, sql: "select 1;\r\nselect 2" }), quiet);
  await expect(
    migrate(db.database, tables({ ...FIRST, sql: "select 3" }), quiet),
  ).rejects.toMatchObject({
    code: "SCHEMA_CHANGED",
  });
});

test("a migration that fails leaves nothing of itself and everything before", async () => {
  await using db = await testDatabase({ migrated: false });
  const broken: Migration = {
    id: 2,
    name: "broken",
    sql: "create table dure.half (id int); select 1 / 0",
  };

  await expect(migrate(db.database, tables(FIRST, broken), quiet)).rejects.toMatchObject({
    code: "MIGRATION_FAILED",
  });
  await migrate(db.database, tables(FIRST, SECOND), quiet);

  expect(await tablesIn(db)).toEqual(["authors", "migrations", "notes"]);
});

test("a gap in the numbering is a mistake of ours", async () => {
  await using db = await testDatabase({ migrated: false });

  await expect(migrate(db.database, tables(SECOND), quiet)).rejects.toMatchObject({
    code: "MIGRATIONS_MISNUMBERED",
  });
});

test("a transaction pooler is refused", async () => {
  await using db = await testDatabase({ migrated: false });
  await using pooler = await transactionPooler(db.url);
  const database = await Database.open({
    url: pooler.url,
    applicationName: "dure:pooled",
    logger: silentLogger,
    max: 1,
  });

  await expect(migrate(database, tables(FIRST), quiet)).rejects.toMatchObject({
    code: "DATABASE_POOLED",
  });

  await database.close();
});

test("a PostgreSQL that is older than 15 is refused with what to do", async () => {
  await using db = await testDatabase({ migrated: false });
  await using old = await sayingItIsOld(db.url);
  const database = await Database.open({
    url: old.url,
    applicationName: "dure:old",
    logger: silentLogger,
    max: 2,
  });

  await expect(migrate(database, tables(FIRST), quiet)).rejects.toMatchObject({
    code: "DATABASE_TOO_OLD",
    message: expect.stringContaining("PostgreSQL 14") as string,
    hint: expect.stringContaining("DATABASE_URL") as string,
  });

  await database.close();
});

test("only what is missing is applied", () => {
  const { migrations } = decideUpgrade(tables(FIRST, SECOND), { applied: [], release: undefined });

  expect(migrations.map(({ id }) => id)).toEqual([1, 2]);
});

async function tablesIn({ database }: TestDatabase): Promise<unknown[]> {
  const text = "select tablename from pg_tables where schemaname = 'dure' order by 1";
  return (await database.query({ text })).map((row) => row["tablename"]);
}

async function second(url: string): Promise<{ database: Database } & AsyncDisposable> {
  const database = await Database.open({
    url,
    applicationName: "dure:second",
    logger: silentLogger,
  });
  return { database, [Symbol.asyncDispose]: () => database.close() };
}

/** The same server, which says that it is of version 14. */
async function sayingItIsOld(target: string): Promise<{ url: string } & AsyncDisposable> {
  const { searchParams, port, hostname } = new URL(target);
  const folder = searchParams.get("host");
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const backend = folder
      ? connect(`${folder}/.s.PGSQL.${port}`)
      : connect(Number(port), hostname);
    sockets.push(client, backend);
    client.on("error", () => {}).pipe(backend);
    // A number as long as the true one, so no length of the protocol changes.
    backend
      .on("error", () => {})
      .on("data", (bytes) =>
        client.write(
          Buffer.from(bytes.toString("latin1").replace(/\b1[5-9]00(\d\d)/g, "1400$1"), "latin1"),
        ),
      );
  });
  return standingBefore(target, server, () => sockets);
}

/** The smallest pooler there can be: one backend, lent to whichever client speaks. */
async function transactionPooler(target: string): Promise<{ url: string } & AsyncDisposable> {
  const { searchParams, port, hostname } = new URL(target);
  const folder = searchParams.get("host");
  const backend = folder ? connect(`${folder}/.s.PGSQL.${port}`) : connect(Number(port), hostname);
  const clients: Socket[] = [];
  let borrower: Socket | undefined;
  backend.on("error", () => {}).on("data", (bytes) => borrower?.write(bytes));
  const server = createServer((client) => {
    const isFirst = clients.push(client) === 1;
    if (isFirst) borrower = client;
    let greeted = isFirst; // the first logs in at the backend, the others are let in by us
    client
      .on("error", () => {})
      .on("data", (bytes) => {
        if (!greeted) {
          greeted = true;
          client.write(Buffer.concat([AUTHENTICATION_OK, READY]));
        } else if (String.fromCharCode(bytes[0]!) !== "X") {
          borrower = client;
          backend.write(bytes);
        }
      });
  });
  return standingBefore(target, server, () => [backend, ...clients]);
}

const AUTHENTICATION_OK = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/**
 * The address of `server`, in the place of the target's; it goes with the sockets that are open
 * then.
 */
async function standingBefore(
  target: string,
  server: Server,
  sockets: () => readonly Socket[],
): Promise<{ url: string } & AsyncDisposable> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(target);
  url.searchParams.delete("host");
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets()) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
