import { createHash } from "node:crypto";
import type pg from "pg";
import { DureError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { isConnectionError, pooled, type Database } from "./database.ts";

/** One forward step of dure's schema. Its SQL never changes once it was applied anywhere. */
export interface Migration {
  /** 1, 2, 3 … without gaps. */
  readonly id: number;
  readonly name: string;
  /** Statements, run in one transaction; names are qualified with `dure.`. */
  readonly sql: string;
}

/** What `dure.migrations` knows of one step. */
export interface AppliedMigration {
  readonly id: number;
  readonly name: string;
  readonly checksum: string;
}

/** Oldest PostgreSQL that dure runs on. Source: docs/spec/platform §1. */
const OLDEST_MAJOR = 15;
/** Session lock of the process that migrates: "dure" as ASCII. */
const MIGRATION_LOCK = 0x64757265;
/** Session lock that only probes for a pooler. */
const PROBE_LOCK = 0x64757266;

/**
 * Brings schema `dure` up to the last of `migrations`, under a session lock: of two processes that
 * start at once, one migrates and the other waits, then finds nothing to do. Each step commits
 * alone, so a kill loses at most the step it hit.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  { logger }: { logger: Logger },
): Promise<void> {
  checkNumbering(migrations);
  await checkServer(database);
  const session = await database.connectSession();
  try {
    await session.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    const applied = await readApplied(session);
    for (const migration of decideMigrations(migrations, applied)) {
      await apply(session, migration);
      logger.info(
        { migration: migration.id },
        `migration ${migration.id} ${migration.name} applied`,
      );
    }
  } catch (error) {
    throw explain(error);
  } finally {
    await session.end().catch(() => {}); // also gives up the lock
  }
}

/**
 * Which migrations are still to be applied. Pure; throws SCHEMA_NEWER or SCHEMA_CHANGED when the
 * code must not run at all.
 */
export function decideMigrations(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const newest = migrations.at(-1)?.id ?? 0;
  const beyond = applied.find((step) => step.id > newest);
  if (beyond) {
    throw new DureError(
      "SCHEMA_NEWER",
      `The database has migration ${beyond.id} (${beyond.name}); this version of dure knows ${newest} at most.`,
      {
        class: "conflict",
        hint: "A newer dure has used this database. Start that version, or restore a backup from before.",
      },
    );
  }
  const checksums = new Map(applied.map((step) => [step.id, step.checksum]));
  const changed = migrations.find(
    (step) => checksums.has(step.id) && checksums.get(step.id) !== checksumOf(step.sql),
  );
  if (changed) {
    throw new DureError(
      "SCHEMA_CHANGED",
      `Migration ${changed.id} (${changed.name}) was applied with another text.`,
      {
        class: "conflict",
        hint: "An applied migration never changes: restore its text and write a new migration for the difference.",
      },
    );
  }
  return migrations.filter((step) => !checksums.has(step.id));
}

/** Refuses what dure cannot run on: PostgreSQL before 15, and transaction poolers. */
export async function checkServer(database: Database): Promise<void> {
  const [first, second] = await Promise.allSettled([
    database.connectSession(),
    database.connectSession(),
  ]);
  try {
    if (first.status === "rejected") throw first.reason;
    if (second.status === "rejected") throw second.reason;
    await checkVersion(first.value);
    await checkSession(first.value, second.value);
  } catch (error) {
    throw explain(error);
  } finally {
    for (const opening of [first, second]) {
      if (opening.status === "fulfilled") await opening.value.end().catch(() => {});
    }
  }
}

async function checkVersion(session: pg.Client): Promise<void> {
  const { rows } = await session.query<{ version: string }>(
    "select current_setting('server_version_num') as version",
  );
  const major = Math.floor(Number(rows[0]?.version) / 10_000);
  if (major >= OLDEST_MAJOR) return;
  throw new DureError(
    "DATABASE_TOO_OLD",
    `The database is PostgreSQL ${major}; dure needs ${OLDEST_MAJOR} or newer.`,
    {
      class: "unavailable",
      hint: "Upgrade the server, or leave DATABASE_URL unset: dure then brings its own PostgreSQL.",
    },
  );
}

/**
 * A pooler lends a backend per transaction. While `other` holds one open, `session` must still have
 * the backend that it started with, and its lock with it.
 */
async function checkSession(session: pg.Client, other: pg.Client): Promise<void> {
  const before = await session.query<{ backend: number }>(
    "select pg_backend_pid() as backend, pg_try_advisory_lock_shared($1)",
    [PROBE_LOCK],
  );
  await other.query("begin");
  const foreign = await other.query<{ backend: number }>("select pg_backend_pid() as backend");
  const after = await session.query<{ backend: number; held: boolean }>(
    `select pg_backend_pid() as backend, exists (
       select from pg_locks
       where locktype = 'advisory' and pid = pg_backend_pid() and objid = $1 and granted) as held`,
    [PROBE_LOCK],
  );
  await other.query("rollback");

  const backend = before.rows[0]!.backend;
  const same =
    after.rows[0]!.backend === backend &&
    after.rows[0]!.held &&
    foreign.rows[0]!.backend !== backend;
  if (!same) throw pooled(`The database at ${session.host}:${session.port}`);
  await session.query("select pg_advisory_unlock_shared($1)", [PROBE_LOCK]);
}

async function readApplied(session: pg.Client): Promise<AppliedMigration[]> {
  await session.query(`
    create schema if not exists dure;
    create table if not exists dure.migrations (
      id integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`);
  const { rows } = await session.query<AppliedMigration>(
    "select id, name, checksum from dure.migrations order by id",
  );
  return rows;
}

async function apply(session: pg.Client, migration: Migration): Promise<void> {
  await session.query("begin");
  try {
    await session.query(migration.sql);
    await session.query("insert into dure.migrations (id, name, checksum) values ($1, $2, $3)", [
      migration.id,
      migration.name,
      checksumOf(migration.sql),
    ]);
    await session.query("commit");
  } catch (error) {
    await session.query("rollback").catch(() => {});
    if (isConnectionError(error)) throw error;
    throw new DureError(
      "MIGRATION_FAILED",
      `Migration ${migration.id} (${migration.name}) failed: ${messageOf(error)}.`,
      {
        hint: "Nothing of it was kept. The database user needs the right to create tables in schema dure.",
        cause: error,
      },
    );
  }
}

function checkNumbering(migrations: readonly Migration[]): void {
  const wrong = migrations.find((migration, index) => migration.id !== index + 1);
  if (wrong) {
    throw new DureError(
      "MIGRATIONS_MISNUMBERED",
      `Migration ${wrong.id} (${wrong.name}) breaks the sequence 1, 2, 3 …`,
    );
  }
}

/** Line ends do not count: a checkout may change them. */
function checksumOf(sql: string): string {
  return createHash("sha256").update(sql.replaceAll("\r\n", "\n")).digest("hex");
}

function explain(error: unknown): unknown {
  if (error instanceof DureError || !isConnectionError(error)) return error;
  return new DureError(
    "DATABASE_UNAVAILABLE",
    `The database went away during migration: ${messageOf(error)}.`,
    {
      class: "unavailable",
      hint: "Steps that were applied stay applied; start again and the rest follows.",
      details: { commit: "unknown" },
      cause: error,
    },
  );
}
