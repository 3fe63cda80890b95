import path from "node:path";
import { migrate } from "../durable/migrate.ts";
import { silentLogger } from "../kernel/logger.ts";
import { SCHEMA } from "../team/schema.ts";
import type { Environment } from "../team/environment.ts";
import { backup, restore } from "./backup.ts";
import { openDatabase, type CommandDatabase } from "./database.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { runTasks, type CleaningTask } from "./tasks.ts";

export interface DbCommand {
  readonly folder: string;
  readonly environment: Environment;
  readonly output: Output;
}

export async function dbMigrate(command: DbCommand): Promise<ExitCode> {
  const { database: words } = command.output.words.admin;
  let found = { migration: 0, release: 0 };
  await withDatabase(command, ({ database }) => [
    {
      title: words.migrate,
      run: async () => {
        await migrate(database, SCHEMA, { logger: silentLogger });
        found = (await database.query<typeof found>({ text: STANDS_AT }))[0]!;
        return words.migrated(found.migration, found.release);
      },
    },
  ]);

  command.output.result(found);

  return EXIT.ok;
}

/** Of the database, where a newer release may have been before. */
const STANDS_AT = `
    select (select max(id) from dure.migrations) as migration, number as release
    from dure.release`;

export async function dbStats(command: DbCommand): Promise<ExitCode> {
  const { output } = command;
  await using opened = await openDatabase(command);

  const tables = await opened.database.query<{ name: string; rows: number; bytes: number }>({
    text: `
      select n.nspname || '.' || c.relname as name,
             greatest(c.reltuples, s.n_live_tup, 0)::bigint as rows,
             pg_total_relation_size(c.oid) as bytes
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      left join pg_stat_user_tables s on s.relid = c.oid
      where n.nspname = 'dure' and c.relkind = 'r'
      order by bytes desc, name`,
  });

  const [size] = await opened.database.query<{ bytes: number; version: string }>({
    text: `
      select pg_database_size(current_database()) as bytes,
             current_setting('server_version') as version`,
  });

  const { admin, said } = output.words;
  output.line(`${said(opened.where)}, PostgreSQL ${size!.version}, ${megabytes(size!.bytes)}`);

  output.table([
    admin.database.head,
    ...tables.map(({ name, rows, bytes }) => [name, String(rows), megabytes(bytes)]),
  ]);

  output.result({ database: opened.where, postgres: size!.version, bytes: size!.bytes, tables });

  return EXIT.ok;
}

export async function dbBackup(file: string, command: DbCommand): Promise<ExitCode> {
  const target = path.resolve(file);
  const { database: words } = command.output.words.admin;
  let rows: Record<string, number> = {};

  await withDatabase(command, ({ database }) => [
    {
      title: words.backUp(target),
      run: async () => {
        rows = await backup(database, target);
        return words.rows(sum(rows), Object.keys(rows).length);
      },
    },
  ]);

  command.output.result({ file: target, rows: sum(rows), tables: rows });

  return EXIT.ok;
}

export async function dbRestore(
  file: string,
  command: DbCommand & { replace: boolean },
): Promise<ExitCode> {
  const source = path.resolve(file);
  const { database: words } = command.output.words.admin;
  let rows: Record<string, number> = {};

  await withDatabase(command, ({ database }) => [
    {
      title: words.restore(source),
      run: async () => {
        rows = await restore(database, source, { replace: command.replace, logger: silentLogger });
        return words.rows(sum(rows), Object.keys(rows).length);
      },
    },
  ]);

  command.output.result({ file: source, rows: sum(rows), tables: rows });

  return EXIT.ok;
}

async function withDatabase(
  command: DbCommand,
  tasksOf: (opened: CommandDatabase) => readonly CleaningTask[],
): Promise<void> {
  await using opened = await openDatabase(command);
  const { admin, said } = command.output.words;
  command.output.note(admin.database.at(said(opened.where)));
  await runTasks(command.output, tasksOf(opened));
}

function sum(rows: Readonly<Record<string, number>>): number {
  return Object.values(rows).reduce((total, count) => total + count, 0);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
