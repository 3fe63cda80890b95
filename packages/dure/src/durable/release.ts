import { createHash } from "node:crypto";
import type pg from "pg";
import { DureError, messageOf } from "../kernel/errors.ts";
import { isConnectionError } from "./database.ts";

/**
 * What a release wants the database to have. How an older and a newer release work side by side on
 * one database: docs/decisions/0016-sql-has-an-address.md.
 */
export interface Schema {
  /** Of the package, for people. */
  readonly version: string;
  /** Grows with each change of a table or a function, and is never given twice. */
  readonly number: number;
  /** A release with a smaller number may not work beside this one, which has taken away its needs. */
  readonly oldest: number;
  readonly migrations: readonly Migration[];
  /** Per noun, nothing but `create or replace function` statements. */
  readonly functions: Readonly<Record<string, string>>;
}

/** One forward step of dure's tables. What it does never changes once it was applied anywhere. */
export interface Migration {
  /** 1, 2, 3 … without gaps. */
  readonly id: number;
  readonly name: string;
  /** Statements, run in one transaction; names are qualified with `dure.`. */
  readonly sql: string;
}

/** The row of `dure.release`: whose functions stand in the database, and who may work on it. */
export interface StoredRelease {
  /** 0: no release has put its functions there. */
  readonly number: number;
  readonly oldest: number;
  readonly checksum: string;
  readonly version: string;
}

/** Undefined: the database is empty. */
export async function readRelease(session: pg.Client): Promise<StoredRelease | undefined> {
  if (!(await hasTable(session, "dure.release"))) return undefined;
  const { rows } = await session.query<StoredRelease>(
    "select number, oldest, checksum, version from dure.release",
  );
  return rows[0];
}

/** Creating with `if not exists` needs the right to create, also where there is nothing to do. */
export async function hasTable(session: pg.Client, name: string): Promise<boolean> {
  const { rows } = await session.query<{ found: boolean }>(
    "select to_regclass($1) is not null as found",
    [name],
  );
  return rows[0]!.found;
}

/**
 * Puts all functions of a release in place of those that stand there, in one transaction: other
 * processes call the old ones or the new ones, and a process that dies here has changed nothing.
 */
export async function putFunctions(session: pg.Client, schema: Schema): Promise<void> {
  let noun = "";
  await session.query("begin");

  try {
    for (const [name, sql] of Object.entries(schema.functions)) {
      noun = name;
      await session.query(sql);
    }
    await session.query(STORE, [
      schema.number,
      schema.oldest,
      checksumOfFunctions(schema),
      schema.version,
    ]);
    await session.query("commit");
  } catch (error) {
    await session.query("rollback").catch(() => {});
    if (isConnectionError(error)) throw error;
    throw new DureError(
      "MIGRATION_FAILED",
      `The functions of ${noun} (release ${schema.number}) were refused: ${messageOf(error)}.`,
      {
        hint:
          "Nothing was changed. Run dure db migrate once as the database user that owns schema " +
          "dure; other users can start the team after that.",
        cause: error,
      },
    );
  }
}

/** A newer release may have raised `oldest` and died before its functions. */
const STORE = `
  update dure.release
  set number = $1, oldest = greatest(oldest, $2), checksum = $3, version = $4,
    at = clock_timestamp()`;

export function checksumOfFunctions({ functions }: Schema): string {
  return checksumOf(Object.values(functions).join("\n"));
}

/** Under which databases know a text. Line ends do not count: a checkout may change them. */
export function checksumOf(sql: string): string {
  return createHash("sha256").update(sql.replaceAll("\r\n", "\n")).digest("hex");
}

/** The refusal of a process whose release must not work on the database any more. */
export function schemaNewer(found: string): DureError {
  return new DureError("SCHEMA_NEWER", found, {
    class: "conflict",
    hint: "A newer dure has used this database. Start that version, or restore a backup from before.",
  });
}
