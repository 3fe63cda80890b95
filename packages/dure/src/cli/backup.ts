import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type pg from "pg";
import type { Database } from "../durable/database.ts";
import { migrate } from "../durable/migrate.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { SCHEMA } from "../team/schema.ts";

/**
 * A backup is gzipped lines of JSON: a header, then per table its name and columns followed by its
 * rows, then an end with the count of rows. It is one snapshot of schema `dure`, unaffected by
 * concurrent writes, and needs no program of PostgreSQL.
 */
interface Header {
  readonly dure: "backup";
  /** 1: from before the baseline (decision 0016); its tables are those of migration 1 now. */
  readonly format: 1 | 2;
  /** The last migration that the rows fit to. */
  readonly migration: number;
  /** By the database's clock. */
  readonly at: string;
}

interface BackupTable {
  readonly name: string;
  readonly columns: readonly string[];
}

/** What a schema says of itself: it belongs to the database, and no backup brings it along. */
const SCHEMA_TABLES: readonly string[] = ["migrations", "release"];

/** Names of tables in backups of before, and what has their rows now. */
const RENAMED: Readonly<Record<string, string>> = { turn_events: "turn_journal" };

/** Made from other tables at any time, by an extension that the next server may not have. */
const DERIVED = "knowledge_near_";

/** Rows per round trip. */
const BITE = 500;

/**
 * Writes a backup beside `file`, then puts it in its place: a cut backup never looks like a whole
 * one. Returns rows per table.
 */
export async function backup(database: Database, file: string): Promise<Record<string, number>> {
  const session = await database.connectSession();
  const counts: Record<string, number> = {};
  const unfinished = `${file}.part`;

  try {
    await session.query("set idle_in_transaction_session_timeout = 0");
    await session.query("begin isolation level repeatable read read only");
    await pipeline(
      Readable.from(backupLines(session, counts)),
      createGzip(),
      createWriteStream(unfinished, { mode: 0o600 }),
    );
    await session.query("commit");
    await rename(unfinished, file);
    return counts;
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    await session.end().catch(() => {});
  }
}

async function* backupLines(
  session: pg.Client,
  counts: Record<string, number>,
): AsyncGenerator<string> {
  const { rows } = await session.query<{ migration: number; at: string }>(
    `
      select coalesce(max(id), 0) as migration, now()::text as at
      from dure.migrations`,
  );
  yield line({
    dure: "backup",
    format: 2,
    migration: rows[0]!.migration,
    at: rows[0]!.at,
  } satisfies Header);

  for (const table of await tablesInOrder(session)) {
    yield line({ table: table.name, columns: table.columns });
    counts[table.name] = 0;
    await session.query(
      `declare backup no scroll cursor for select to_json(t)::text as row from dure.${quoted(table.name)} t`,
    );
    for (;;) {
      const fetched = await session.query<{ row: string }>(`fetch ${BITE} from backup`);
      for (const { row } of fetched.rows) yield `${row}\n`;
      counts[table.name]! += fetched.rows.length;
      if (fetched.rows.length < BITE) break;
    }
    await session.query("close backup");
  }

  yield line({ end: true, rows: total(counts) });
}

/**
 * Puts a backup into the database, in one transaction: all of it or nothing. Refuses while a
 * process works on the database, and where something stands unless `replace` is given. A new era of
 * event positions begins.
 */
export async function restore(
  database: Database,
  file: string,
  options: { replace: boolean; logger: Logger },
): Promise<Record<string, number>> {
  const lines = linesOf(file);
  const header = await readHeader(file, lines);
  await migrate(database, SCHEMA, { logger: options.logger });
  const session = await database.connectSession();

  try {
    await session.query("set idle_in_transaction_session_timeout = 0");
    await session.query("begin");
    await assertRestorable(session, header, options.replace);
    await dropDerived(session);
    const tables = await tablesInOrder(session);
    if (tables.length > 0) {
      await session.query(
        `truncate ${tables.map((table) => `dure.${quoted(table.name)}`).join(", ")}`,
      );
    }
    const counts = await readRows(session, file, lines, tables);
    await resetSequences(session, tables);
    await session.query("select dure.start_era()");
    await session.query("commit");
    return counts;
  } catch (error) {
    await session.query("rollback").catch(() => {});
    throw error;
  } finally {
    await session.end().catch(() => {});
  }
}

/** A cut file throws after its last whole line. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const text = createGunzip();
  createReadStream(file)
    .on("error", (error) => text.destroy(error))
    .pipe(text);
  text.setEncoding("utf8");
  let rest = "";

  for await (const chunk of text as AsyncIterable<string>) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }

  if (rest !== "") yield rest;
}

async function readHeader(file: string, lines: AsyncIterator<string>): Promise<Header> {
  const unreadable = (cause?: unknown): DureError =>
    new DureError(
      "BACKUP_UNREADABLE",
      `${file} is no backup of dure${cause === undefined ? "" : `: ${messageOf(cause)}`}.`,
      { class: "input", hint: "Give a file that dure db backup has written.", cause },
    );

  let header: Partial<Header>;

  try {
    const first = await lines.next();
    header = JSON.parse(first.done ? "" : first.value) as Partial<Header>;
  } catch (cause) {
    throw unreadable(cause);
  }

  const { dure, format } = header;
  if (dure !== "backup" || (format !== 1 && format !== 2)) throw unreadable();

  const newest = SCHEMA.migrations.at(-1)?.id ?? 0;
  if (format === 1 || header.migration! <= newest) return header as Header;

  throw new DureError(
    "BACKUP_NEWER",
    `${file} comes from a newer dure (migration ${header.migration}; this one knows ${newest}).`,
    { class: "conflict", hint: "Restore it with the version that wrote it." },
  );
}

async function assertRestorable(
  session: pg.Client,
  header: Header,
  replace: boolean,
): Promise<void> {
  const { rows } = await session.query<{ living: number; sessions: number }>(
    `select (select count(*)::int from pg_stat_activity
              where datname = current_database()
                and application_name like 'dure:%'
                and application_name not like 'dure:cli-%') as living,
            (select count(*)::int from dure.sessions) as sessions`,
  );

  const { living, sessions } = rows[0]!;

  if (living > 0) {
    throw new DureError(
      "DATABASE_IN_USE",
      "A dure process works on this database; nothing was restored.",
      { class: "conflict", hint: "Stop every process of the team first." },
    );
  }

  if (sessions > 0 && !replace) {
    throw new DureError(
      "DATABASE_NOT_EMPTY",
      `The database holds ${sessions} sessions; the backup of ${header.at} would replace them. ` +
        "Nothing was restored.",
      {
        class: "conflict",
        hint: "Make a backup of what is there, then run it again with --replace.",
      },
    );
  }
}

async function readRows(
  session: pg.Client,
  file: string,
  lines: AsyncIterator<string>,
  known: readonly BackupTable[],
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let table: BackupTable | undefined;
  let bite: string[] = [];

  const flush = async (): Promise<void> => {
    if (table && bite.length > 0) await insert(session, table, bite);
    bite = [];
  };

  const cut = (cause?: unknown): DureError =>
    new DureError("BACKUP_CUT", `${file} ends in its middle; nothing was restored.`, {
      class: "input",
      hint: "Use another backup; this one was not written to its end.",
      cause,
    });

  for (;;) {
    const next = await lines.next().catch((cause: unknown) => {
      throw cut(cause);
    });
    if (next.done) throw cut();
    const mark = /^\{"(?:table|end)":/.test(next.value)
      ? (JSON.parse(next.value) as {
          table?: string;
          columns?: string[];
          end?: true;
          rows?: number;
        })
      : undefined;
    const isTable =
      mark?.table !== undefined && Array.isArray(mark.columns) && Object.keys(mark).length === 2;
    if (isTable) {
      await flush();
      const here = tableOf(mark.table!, known);
      if (!here) {
        throw new DureError(
          "BACKUP_UNREADABLE",
          `${file} has the table ${mark.table}, which this version does not have.`,
          { class: "input", hint: "Restore it with the version that wrote it." },
        );
      }
      table = {
        name: here.name,
        columns: mark.columns!.filter((column) => here.columns.includes(column)),
      };
      counts[table.name] = 0;
    } else if (mark?.end === true && Object.keys(mark).length === 2) {
      await flush();
      if (mark.rows !== total(counts)) throw cut();
      return counts;
    } else if (table) {
      bite.push(next.value);
      counts[table.name]! += 1;
      if (bite.length === BITE) await flush();
    }
  }
}

/** What has the rows of a table of a backup now. */
function tableOf(name: string, known: readonly BackupTable[]): BackupTable | undefined {
  return known.find((candidate) => candidate.name === (RENAMED[name] ?? name));
}

async function insert(
  session: pg.Client,
  table: BackupTable,
  rows: readonly string[],
): Promise<void> {
  const columns = table.columns.map(quoted).join(", ");
  await session.query(
    `insert into dure.${quoted(table.name)} (${columns}) overriding system value
     select ${columns}
     from json_populate_recordset(null::dure.${quoted(table.name)}, $1::json)`,
    [`[${rows.join(",")}]`],
  );
}

/**
 * Tables with the ones they refer to before them, without the list of migrations; generated columns
 * are left out.
 */
async function dropDerived(session: pg.Client): Promise<void> {
  const { rows } = await session.query<{ name: string }>(
    `
      select tablename as name
      from pg_tables
      where schemaname = 'dure' and starts_with(tablename, $1)`,
    [DERIVED],
  );
  for (const { name } of rows) await session.query(`drop table dure.${quoted(name)}`);
}

async function tablesInOrder(session: pg.Client): Promise<BackupTable[]> {
  const { rows: tables } = await session.query<{
    name: string;
    columns: string[];
    needs: string[];
  }>(
    `select c.relname as name,
            (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0
                and not a.attisdropped and a.attgenerated = '') as columns,
            coalesce((select array_agg(distinct r.relname::text)
               from pg_constraint k join pg_class r on r.oid = k.confrelid
              where k.conrelid = c.oid and k.contype = 'f' and r.oid <> c.oid), '{}') as needs
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'dure' and c.relkind = 'r' and c.relname <> all ($1)
        and not starts_with(c.relname, $2)
      order by c.relname`,
    [SCHEMA_TABLES, DERIVED],
  );

  const ordered: BackupTable[] = [];
  const placed = new Set<string>();

  while (ordered.length < tables.length) {
    const ready = tables.filter(
      ({ name, needs }) =>
        !placed.has(name) &&
        needs.every((need) => placed.has(need) || SCHEMA_TABLES.includes(need)),
    );
    if (ready.length === 0) {
      throw new DureError(
        "BACKUP_CYCLIC",
        `Tables refer to each other in a circle: ${tables
          .filter(({ name }) => !placed.has(name))
          .map(({ name }) => name)
          .join(", ")}.`,
      );
    }
    for (const { name, columns } of ready) {
      ordered.push({ name, columns });
      placed.add(name);
    }
  }

  return ordered;
}

async function resetSequences(session: pg.Client, tables: readonly BackupTable[]): Promise<void> {
  for (const { name, columns } of tables) {
    for (const column of columns) {
      const { rows } = await session.query<{ sequence: string | null }>(
        "select pg_get_serial_sequence($1, $2) as sequence",
        [`dure.${quoted(name)}`, column],
      );
      const sequence = rows[0]?.sequence;
      if (sequence) {
        await session.query(
          `select setval($1, coalesce((select max(${quoted(column)}) from dure.${quoted(name)}), 0) + ` +
            "1, false)",
          [sequence],
        );
      }
    }
  }
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
