import type pg from "pg";
import { DureError, messageOf } from "../kernel/errors.ts";
import { isConnectionError, pooled, type Database } from "./database.ts";

/** Oldest PostgreSQL that dure runs on. Source: docs/spec/platform §1. */
const OLDEST_MAJOR = 15;
/** Session lock that only probes for a pooler. */
const PROBE_LOCK = 0x64757266;

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
    throw explainLoss(error);
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

/** What a connection that was lost means to a start; other errors stay as they are. */
export function explainLoss(error: unknown): unknown {
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
