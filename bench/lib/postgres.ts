import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { EmbeddedPostgres } from "../../packages/dure/src/durable/embedded/embedded-postgres.ts";
import { silentLogger } from "../../packages/dure/src/kernel/logger.ts";

/** PostgreSQL as the product starts it, fsync on, in a folder that goes away with it. */
export interface BenchPostgres extends AsyncDisposable {
  /** A fresh, empty database on it. */
  database(name: string): Promise<string>;
}

export async function startPostgres(): Promise<BenchPostgres> {
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "dure-bench-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const postgres = await EmbeddedPostgres.start({ home, logger: silentLogger, durable: true });
  stack.defer(() => postgres.stop());
  // The server outlives a process that is killed; one that is asked to go takes it along.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(
      signal,
      () =>
        void postgres
          .stop()
          .then(() => rm(home, { recursive: true, force: true }))
          .finally(() => process.exit(1)),
    );
  }
  const kept = stack.move();
  return {
    async database(name) {
      await ask(postgres.url, `create database ${name}`);
      const url = new URL(postgres.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** One statement on a connection of its own. */
export async function ask<Row extends object>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
}

/**
 * How many transactions have written so far, in the whole server: each takes one id, a reader takes
 * none. A NOTIFY takes one too.
 */
export async function writesSoFar(url: string): Promise<number> {
  const [row] = await ask<{ xmax: string }>(
    url,
    "select pg_snapshot_xmax(pg_current_snapshot())::text as xmax",
  );
  return Number(row!.xmax);
}

/**
 * Bytes of the tables of schema `dure`: `files` with indexes, free space and dead rows, `rows` the
 * stored rows alone.
 */
export async function storedBytes(url: string): Promise<{ files: number; rows: number }> {
  const tables = await ask<{ name: string; files: string }>(
    url,
    `select format('%I.%I', n.nspname, c.relname) as name, pg_total_relation_size(c.oid)::text as files
       from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'dure' and c.relkind = 'r'`,
  );
  const sums = await ask<{ bytes: string }>(
    url,
    tables
      .map(
        ({ name }) => `select coalesce(sum(pg_column_size(t.*)), 0)::text as bytes from ${name} t`,
      )
      .join(" union all "),
  );
  return {
    files: tables.reduce((sum, table) => sum + Number(table.files), 0),
    rows: sums.reduce((sum, { bytes }) => sum + Number(bytes), 0),
  };
}
