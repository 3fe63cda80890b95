import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { createHash, randomBytes } from "node:crypto";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { systemClock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import { SCHEMA } from "../team/schema.ts";
import { Database } from "./database.ts";
import { EmbeddedPostgres } from "./embedded/embedded-postgres.ts";
import { exists } from "./embedded/processes.ts";
import { migrate } from "./migrate.ts";
import { onlyDefined } from "../kernel/json.ts";

/** A database of its own for one test: empty, migrated, dropped at the end of the block. */
export interface TestDatabase extends AsyncDisposable {
  readonly database: Database;
  /** For child processes and for a second `Database.open`. */
  readonly url: string;
}

export interface TestDatabaseOptions {
  /** Default true; false leaves the database without schema `dure`. */
  readonly migrated?: boolean;
  readonly applicationName?: string;
  readonly max?: number;
  /**
   * Default `main`, which tests with frozen and killed processes use: their open transactions delay
   * readers of the event log of every database beside them.
   */
  readonly cluster?: Cluster;
}

/** Servers of a machine for tests. */
const CLUSTERS = ["main", "events"] as const;
type Cluster = (typeof CLUSTERS)[number];

/**
 * `await using db = await testDatabase()`. All tests of a machine share one embedded server in memory, or under the
 * temporary folder where memory has no folder or too little room (without fsync), or the server
 * that DURE_TEST_DATABASE_URL names, whose user must be allowed to create databases.
 */
export async function testDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { applicationName = "dure:test", cluster = "main", max } = options;
  const { url, drop } =
    (options.migrated ?? true) ? await createMigrated(cluster) : await createDatabase(cluster);

  const database = await Database.open({
    url,
    applicationName,
    logger: silentLogger,
    clock: systemClock,
    ...onlyDefined({ max }),
  });

  return {
    database,
    url,
    async [Symbol.asyncDispose]() {
      await database.close();
      await drop();
    },
  };
}

/**
 * Only the address of a fresh, empty, unmigrated database, for processes that do the rest
 * themselves.
 */
export async function testDatabaseUrl(): Promise<{ readonly url: string } & AsyncDisposable> {
  const { url, drop } = await createDatabase("main");
  return { url, [Symbol.asyncDispose]: drop };
}

/** Stops the shared servers unless another process uses them; for the end of a whole test run. */
export async function stopTestServer(): Promise<void> {
  if (process.env["DURE_TEST_DATABASE_URL"] !== undefined) return; // the operator's server
  for (const cluster of CLUSTERS) {
    const server =
      shared.get(cluster) ?? (existsSync(homeOf(cluster)) ? startShared(cluster) : undefined);
    shared.delete(cluster);
    await (await server)?.stop();
  }
}

const shared = new Map<Cluster, Promise<EmbeddedPostgres>>();

async function createDatabase(
  cluster: Cluster,
  template = "template1",
): Promise<{ url: string; drop: () => Promise<void> }> {
  const serverUrl = await serverOf(cluster);
  const name = `dure_test_${process.pid}_${randomBytes(8).toString("hex")}`;
  await administer(serverUrl, `create database ${name} template ${template} strategy file_copy`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;

  return { url: url.href, drop: () => leave(serverUrl, name) };
}

/**
 * Another run with other migrations may have swept the template meanwhile: then it is made again.
 */
async function createMigrated(
  cluster: Cluster,
): Promise<{ url: string; drop: () => Promise<void> }> {
  for (let tries = 1; ; tries++) {
    try {
      return await createDatabase(cluster, await migratedTemplate(cluster));
    } catch (error) {
      if (codeOf(error) !== NO_SUCH_DATABASE || tries >= TEMPLATE_TRIES) throw error;
      templates.delete(cluster);
    }
  }
}

const NO_SUCH_DATABASE = "3D000";
const TEMPLATE_TRIES = 5;

const templates = new Map<Cluster, Promise<string>>();

/**
 * A migrated database to copy from. The first process makes it, once per state of the schema.
 */
function migratedTemplate(cluster: Cluster): Promise<string> {
  const known = templates.get(cluster);
  if (known) return known;

  const made = (async () => {
    const serverUrl = await serverOf(cluster);
    const checksum = createHash("sha256").update(JSON.stringify(SCHEMA)).digest("hex").slice(0, 16);
    const name = `dure_template_${checksum}`;
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();

    try {
      await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [name]);
      await sweep(client);
      const { rowCount } = await client.query("select from pg_database where datname = $1", [name]);
      if (rowCount === 0) {
        const draft = await createDatabase(cluster);
        const database = await Database.open({
          url: draft.url,
          applicationName: "dure:template",
          logger: silentLogger,
          clock: systemClock,
        });
        await migrate(database, SCHEMA, { logger: silentLogger });
        await database.close();
        await client.query(
          `alter database ${new URL(draft.url).pathname.slice(1)} rename to ${name}`,
        );
      }
    } finally {
      await client.end();
    }

    return name;
  })();

  templates.set(cluster, made);

  return made;
}

/**
 * Removes what killed processes left behind, and templates of old migrations that no process uses.
 */
async function sweep(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; makers_pid: number }>(
    `select datname as name, split_part(datname, '_', 3)::integer as makers_pid
      from pg_database
      where datname ~ '^dure_test_[0-9]+_'`,
  );

  const { rows: templates } = await client.query<{ name: string }>(
    `select datname as name
      from pg_database
      where starts_with(datname, 'dure_template_')
      order by oid desc offset $1`,
    [TEMPLATES_KEPT],
  );

  const left = [...rows.filter((database) => !exists(database.makers_pid)), ...templates];
  for (const { name } of left) {
    await client.query(`drop database if exists ${name} with (force)`).catch(() => {});
  } // another run sweeps too, or autovacuum looks at it: the next run finds it again
}

/** More than the states of the migrations that checkouts of one machine are tested in at once. */
const TEMPLATES_KEPT = 4;

async function serverOf(cluster: Cluster): Promise<string> {
  const given = process.env["DURE_TEST_DATABASE_URL"];
  if (given !== undefined) return given;

  const started = shared.get(cluster) ?? startShared(cluster);
  shared.set(cluster, started);

  return (await started).url;
}

function startShared(cluster: Cluster): Promise<EmbeddedPostgres> {
  return EmbeddedPostgres.start({ home: homeOf(cluster), logger: silentLogger, durable: false });
}

function homeOf(cluster: Cluster): string {
  return join(homes(), `dure-test-pg-${userInfo().uid}${cluster === "main" ? "" : `-${cluster}`}`);
}

/**
 * A database is about 900 files, made and removed for each test. ext4 does not give a number of a
 * removed file away again for some seconds and looks at each of them for every new file, so that
 * half of a run's time went there; memory has no such memory.
 */
function homes(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_NEEDED ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

const MEMORY = "/dev/shm";
/**
 * Both servers together stay below 1 GiB, of which the logs of changes are a part (`durable: false`
 * bounds them).
 */
const MEMORY_NEEDED = 2 * 1024 ** 3;

/** Databases that their tests have left, by server. */
const left = new Map<string, string[]>();
/**
 * Each removal makes the server write out what it holds of all databases, so several go at once;
 * what a process leaves the next one sweeps.
 */
const MAX_LEFT = 8;

/**
 * When this resolves, the database has no sessions and accepts none. An open transaction of a
 * killed or frozen process would hold up readers of other databases.
 */
async function leave(serverUrl: string, name: string): Promise<void> {
  await administer(serverUrl, `alter database ${name} with allow_connections false`);
  await administer(
    serverUrl,
    `select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = '${name}' and backend_type = 'client backend'`,
  );

  const names = [...(left.get(serverUrl) ?? []), name];
  left.set(serverUrl, names.length < MAX_LEFT ? names : []);
  if (names.length >= MAX_LEFT) for (const one of names) await drop(serverUrl, one);
}

/**
 * A worker of autovacuum may be looking at the database; it belongs to the superuser, so we wait
 * until it has left.
 */
async function drop(serverUrl: string, name: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await administer(serverUrl, `drop database if exists ${name} with (force)`);
    } catch (error) {
      if (codeOf(error) !== INSUFFICIENT_PRIVILEGE || tries >= DROP_TRIES) throw error;
      await systemClock.sleep(DROP_PAUSE_MS);
    }
  }
}

const INSUFFICIENT_PRIVILEGE = "42501";
const DROP_TRIES = 100;
const DROP_PAUSE_MS = 100;

const administrators = new Map<string, Promise<Administrator>>();

async function administer(url: string, statement: string): Promise<void> {
  const administrator =
    administrators.get(url) ?? Administrator.open(url, () => void administrators.delete(url));
  administrators.set(url, administrator);
  await (await administrator).run(statement);
}

/** What its types leave out. */
type HoldingClient = pg.Client & { ref(): void; unref(): void };

/**
 * One connection for all that a process makes and removes. It keeps the process alive only while it
 * works.
 */
class Administrator {
  readonly #client: HoldingClient;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** `onEnd`: it cannot be used any more. */
  static async open(url: string, onEnd: () => void): Promise<Administrator> {
    const client = new pg.Client({ connectionString: url });
    client.on("error", onEnd).once("end", onEnd); // a server that stops is an error of its own, and one of the line

    try {
      await client.connect();
    } catch (error) {
      onEnd();
      throw error;
    }

    return new Administrator(client);
  }

  private constructor(client: pg.Client) {
    this.#client = client as HoldingClient;
  }

  /** One after the other. */
  async run(statement: string): Promise<void> {
    this.#waiting++;
    this.#client.ref();
    const done = this.#last.then(() => this.#client.query(statement));
    this.#last = done.catch(() => {}); // the caller gets the error

    try {
      await done;
    } finally {
      if (--this.#waiting === 0) this.#client.unref();
    }
  }
}
