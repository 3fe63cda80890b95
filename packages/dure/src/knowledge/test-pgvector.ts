import { randomBytes } from "node:crypto";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import pg from "pg";
import { Database } from "../durable/database.ts";
import { silentLogger } from "../kernel/logger.ts";
import { SCHEMA } from "../team/schema.ts";

/** A database whose server has pgvector, with the tables of dure and without its functions. */
export interface PgVectorDatabase extends AsyncDisposable {
  readonly database: Database;
  /** Runs statements as the server's owner. */
  exec(sql: string): Promise<void>;
}

/**
 * PostgreSQL and pgvector of others, in WebAssembly: one backend answers all connections. Or the
 * server that DURE_TEST_PGVECTOR_URL names, whose user must be a superuser.
 */
export async function pgVectorDatabase(): Promise<PgVectorDatabase> {
  const stack = new AsyncDisposableStack();
  const given = process.env["DURE_TEST_PGVECTOR_URL"];
  const url = given === undefined ? await startPglite(stack) : await createDatabase(stack, given);
  const database = await Database.open({
    url,
    applicationName: "dure:pgvector",
    logger: silentLogger,
    // Prepared statements of all connections share the one backend.
    max: given === undefined ? 1 : 8,
  });
  stack.defer(() => database.close());
  const exec = (sql: string): Promise<void> => execute(url, sql);

  await exec("create schema dure");
  for (const { sql } of SCHEMA.migrations) await exec(sql);

  return { database, exec, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function startPglite(stack: AsyncDisposableStack): Promise<string> {
  const db = await PGlite.create({ extensions: { vector } });
  stack.defer(() => db.close());
  const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0, maxConnections: 16 });
  await server.start();
  stack.defer(() => server.stop());

  return `postgres://postgres:postgres@${server.getServerConn()}/postgres`;
}

async function createDatabase(stack: AsyncDisposableStack, server: string): Promise<string> {
  const name = `dure_test_${process.pid}_${randomBytes(8).toString("hex")}`;
  await execute(server, `create database ${name}`);
  stack.defer(() => execute(server, `drop database ${name} with (force)`));
  const url = new URL(server);
  url.pathname = `/${name}`;

  return url.href;
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {}); // the server may end first
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
