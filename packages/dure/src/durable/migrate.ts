import type pg from "pg";
import { DureError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { missingRights } from "./rights.ts";
import { isConnectionError, type Database } from "./database.ts";
import { DEAD_AFTER } from "./processes.ts";
import {
  checksumOfFunctions,
  checksumOf,
  hasTable,
  putFunctions,
  readRelease,
  schemaNewer,
  type Migration,
  type Schema,
  type StoredRelease,
} from "./release.ts";
import { checkServer, explainLoss } from "./server-check.ts";

/** What `dure.migrations` knows of one step. */
export interface AppliedMigration {
  readonly id: number;
  readonly name: string;
  readonly checksum: string;
}

/** What a database has before a release starts on it. */
export interface FoundSchema {
  readonly applied: readonly AppliedMigration[];
  /** Absent: it is older than the table of releases. */
  readonly release: StoredRelease | undefined;
}

/** What a release does to a database at its start. */
export interface Upgrade {
  readonly migrations: readonly Migration[];
  /** `keep`: they are the same, or a newer release has put them there. */
  readonly functions: "replace" | "keep";
  /** Whether releases that may work now may not any more. */
  readonly excludesOlder: boolean;
}

/** Session lock of the process that migrates: "dure" as ASCII. */
const MIGRATION_LOCK = 0x64757265;
/** What the first migration was called in databases that are older than the baseline. */
const BEFORE_BASELINE = "turns";

/**
 * Brings schema `dure` up to what this release wants, under a session lock: of two processes that
 * start at once, one migrates and the other waits, then finds nothing to do. Each step commits
 * alone, so a kill loses at most the step it hit. A newer schema is left as it is.
 */
export async function migrate(
  database: Database,
  schema: Schema,
  { logger }: { logger: Logger },
): Promise<void> {
  checkNumbering(schema.migrations);
  try {
    await checkServer(database);
    const session = await database.connectSession();
    try {
      await session.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
      await upgrade(session, schema, logger);
    } catch (error) {
      throw missingRights(error, session) ?? error;
    } finally {
      await session.end().catch(() => {}); // also gives up the lock
    }
  } catch (error) {
    throw explainLoss(error);
  }
}

async function upgrade(session: pg.Client, schema: Schema, logger: Logger): Promise<void> {
  const applied = await readApplied(session);
  const release = await readRelease(session);
  const { migrations, functions, excludesOlder } = decideUpgrade(schema, { applied, release });

  if (excludesOlder) await excludeOlder(session, schema);
  await applyAll(session, migrations, logger);

  if (functions === "replace") {
    await putFunctions(session, schema);
    logger.info(
      { release: schema.number, before: release?.number ?? 0 },
      `functions of release ${schema.number} (dure ${schema.version}) put in place`,
    );
  } else if (release && release.number > schema.number) {
    logger.info(
      { release: schema.number, newer: release.number },
      `release ${schema.number} works beside release ${release.number} (dure ${release.version})`,
    );
  }
}

/**
 * What is to be done to a database. Pure; throws SCHEMA_TOO_OLD, SCHEMA_NEWER or SCHEMA_CHANGED when
 * the code must not run at all.
 */
export function decideUpgrade(schema: Schema, { applied, release }: FoundSchema): Upgrade {
  const { migrations, number } = schema;
  const stored = release ?? NO_RELEASE;

  if (applied[0]?.name === BEFORE_BASELINE) throw schemaTooOld();

  if (number < stored.oldest) {
    throw schemaNewer(
      `The database belongs to release ${stored.number} (dure ${stored.version}), which works beside ` +
        `releases from ${stored.oldest} on; this one is ${number} (dure ${schema.version}).`,
    );
  }

  const checksums = new Map(applied.map((step) => [step.id, step.checksum]));
  const changed = migrations.find(
    (step) => checksums.has(step.id) && checksums.get(step.id) !== checksumOf(step.sql),
  );

  if (changed) {
    throw schemaChanged(
      `Migration ${changed.id} (${changed.name}) was applied with another text.`,
      "An applied migration never changes: restore its text and write a new migration for the difference.",
    );
  }

  if (number > 0 && number === stored.number && stored.checksum !== checksumOfFunctions(schema)) {
    throw schemaChanged(
      `The functions of release ${number} stand in the database with another text.`,
      "Functions that change get a new number: raise it in team/schema.ts.",
    );
  }

  return {
    migrations: migrations.filter((step) => !checksums.has(step.id)),
    functions: number > stored.number ? "replace" : "keep",
    excludesOlder: release !== undefined && schema.oldest > stored.oldest,
  };
}

const NO_RELEASE: StoredRelease = { number: 0, oldest: 0, checksum: "", version: "" };

async function readApplied(session: pg.Client): Promise<AppliedMigration[]> {
  if (!(await hasTable(session, "dure.migrations"))) {
    await session.query(`
      create schema if not exists dure;
      create table if not exists dure.migrations (
        id integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`);
  }

  const { rows } = await session.query<AppliedMigration>(
    "select id, name, checksum from dure.migrations order by id",
  );
  return rows;
}

async function applyAll(
  session: pg.Client,
  migrations: readonly Migration[],
  logger: Logger,
): Promise<void> {
  for (const migration of migrations) {
    await apply(session, migration);
    logger.info({ migration: migration.id }, `migration ${migration.id} ${migration.name} applied`);
  }
}

async function apply(session: pg.Client, migration: Migration): Promise<void> {
  await session.query("begin");
  try {
    await session.query(migration.sql);
    await session.query(
      `
      insert into dure.migrations (id, name, checksum)
      values ($1, $2, $3)`,
      [migration.id, migration.name, checksumOf(migration.sql)],
    );
    await session.query("commit");
  } catch (error) {
    await session.query("rollback").catch(() => {});
    if (isConnectionError(error)) throw error;
    const rights = missingRights(error, session);
    if (rights) throw rights;
    throw new DureError(
      "MIGRATION_FAILED",
      `Migration ${migration.id} (${migration.name}) failed: ${messageOf(error)}.`,
      {
        hint: "Nothing of it was kept; start again when the cause is gone.",
        cause: error,
      },
    );
  }
}

/**
 * From here on no older process starts on the database. Refuses while one lives. The lock makes a
 * process that is about to register wait, and then see the new bound.
 */
async function excludeOlder(session: pg.Client, schema: Schema): Promise<void> {
  await session.query("begin");
  try {
    await session.query("lock table dure.processes in share row exclusive mode");
    const { rows } = await session.query<{ host: string; release: number; version: string }>(
      `
       select host, release, app_version as version
       from dure.processes
       where ended_at is null and release < $1
         and renewed_at > clock_timestamp() - $2 * interval '1 millisecond'
       order by release limit 1`,
      [schema.oldest, DEAD_AFTER],
    );
    if (rows[0]) throw inUse(schema, rows[0]);
    await session.query("update dure.release set oldest = $1", [schema.oldest]);
    await session.query("commit");
  } catch (error) {
    await session.query("rollback").catch(() => {});
    throw error;
  }
}

function inUse(
  schema: Schema,
  living: { host: string; release: number; version: string },
): DureError {
  return new DureError(
    "SCHEMA_IN_USE",
    `A process of release ${living.release} (dure ${living.version}) on ${living.host} works on the ` +
      `database; release ${schema.number} works beside releases from ${schema.oldest} on.`,
    {
      class: "conflict",
      hint: "Stop the older process first; it drains. Nothing was changed for it.",
    },
  );
}

function schemaTooOld(): DureError {
  return new DureError(
    "SCHEMA_TOO_OLD",
    "The database was made before dure 0.1.0, with tables that this version does not upgrade.",
    {
      class: "conflict",
      hint:
        "Nothing was changed. Start on a new database (DATABASE_URL) or data folder (DURE_HOME). To " +
        "keep what is stored, run dure db backup with the dure that made it, and dure db restore with " +
        "this one.",
    },
  );
}

function schemaChanged(message: string, hint: string): DureError {
  return new DureError("SCHEMA_CHANGED", message, { class: "conflict", hint });
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
