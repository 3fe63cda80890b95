import pg from "pg";
import { onTestFinished } from "vitest";
import { signalTo } from "../../src/plans/sandbox/processes.ts";

/** Begins an outage; the returned function ends it. */
export type Outage = (world: World) => Promise<() => Promise<void>>;

/** What outages are made of. */
export interface World {
  readonly admin: pg.Client;
  readonly database: string;
  readonly provider: Provider;
}

export interface Provider {
  isAway: boolean;
}

/** A connection of its own, beside the database of a test. */
export async function worldOf(teamUrl: string, provider: Provider): Promise<World> {
  await watchWrites(teamUrl);
  const url = new URL(teamUrl);
  const database = url.pathname.slice(1);
  url.pathname = "/postgres";
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  onTestFinished(() => admin.end());
  return { admin, database, provider };
}

export const providerAway: Outage = async ({ provider }) => {
  provider.isAway = true;
  return async () => void (provider.isAway = false);
};

/** As a server that stops and starts: sessions are cut, and new ones are refused meanwhile. */
export const restarted: Outage = async ({ admin, database }) => {
  await admin.query(`alter database ${database} allow_connections false`);
  await cutSessions(admin, database);
  return async () => void (await admin.query(`alter database ${database} allow_connections true`));
};

/** As after a failover to a standby, or with a full disk that its operator guards. */
export const readOnly: Outage = async ({ admin, database }) => {
  await admin.query(`alter database ${database} set default_transaction_read_only = on`);
  await cutSessions(admin, database);
  return async () => {
    await admin.query(`alter database ${database} reset default_transaction_read_only`);
    await cutSessions(admin, database);
  };
};

/** All sessions of the database stand still. */
export const frozen: Outage = async ({ admin, database }) => {
  const { rows } = await admin.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = $1",
    [database],
  );
  for (const { pid } of rows) signalTo(pid, "SIGSTOP"); // a pool may have ended one meanwhile
  return async () => {
    for (const { pid } of rows) signalTo(pid, "SIGCONT");
  };
};

async function cutSessions(admin: pg.Client, database: string): Promise<void> {
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
    [database],
  );
}

/**
 * As on a disk without room. The server is shared, so that no file of it can be full: each write is
 * refused in the words and with the code of PostgreSQL instead.
 */
export const full: Outage = async ({ admin, database }) => {
  await inDatabase(admin, database, refusing(true));
  return () => inDatabase(admin, database, refusing(false));
};

/** Every write to a table of dure asks a function first, which outages replace. */
async function watchWrites(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(refusing(false));
  await client.query(`
    do $$
    declare
      watched regclass;
    begin
      for watched in
        select oid::regclass
        from pg_class
        where relnamespace = 'dure'::regnamespace and relkind in ('r', 'p') and not relispartition
      loop
        execute format(
          'create trigger room before insert or update on %s execute function public.room_left()',
          watched);
      end loop;
    end $$`);
  await client.end();
}

function refusing(isFull: boolean): string {
  const refusal = `
    raise exception 'could not extend file "base/16384/16402": No space left on device'
      using errcode = 'disk_full';`;
  return `
    create or replace function public.room_left() returns trigger language plpgsql as $$
    begin
      ${isFull ? refusal : ""}
      return null;
    end $$`;
}

async function inDatabase(admin: pg.Client, database: string, text: string): Promise<void> {
  const { host, port, user, password } = admin;
  const client = new pg.Client({ host, port, user, password: password ?? undefined, database });
  await client.connect();
  await client.query(text);
  await client.end();
}
