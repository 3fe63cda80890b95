import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { Database } from "../database.ts";
import { findNativePackage, prepareBinaries } from "./binaries.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { exists } from "./processes.ts";
import { decideRunners, run } from "./runner.ts";
import { stopServer } from "./server.ts";

const SLOW = 60_000;
const asRoot = process.getuid?.() === 0;

test(
  "the first start makes everything, dure's role is no superuser, and the last user stops the server",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const server = await start(home.path, { durable: true });
    expect(server.reused).toBe(false);

    const [row] = await ask(
      server.url,
      "select rolsuper, rolcreaterole, current_database() as name, pg_get_userbyid(datdba) as owner, current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit from pg_roles, pg_database where rolname = current_user and datname = current_database()",
    );
    expect(row).toEqual({
      rolsuper: false,
      rolcreaterole: false,
      name: "dure",
      owner: "dure",
      fsync: "on",
      commit: "on",
    });
    expect(statSync(join(home.path, "postgres.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(home.path, "pg")).mode & 0o077).toBe(0);

    const pid = server.pid!;
    await Promise.all([server.stop(), server.stop()]);
    expect(exists(pid)).toBe(false);
  },
);

test(
  "without the password not even the superuser gets in",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const server = await start(home.path);

    for (const user of ["dure", "postgres"]) {
      const url = new URL(server.url);
      url.username = user;
      url.password = "guess";
      await expect(ask(url.href, "select 1")).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
    }

    await server.stop();
  },
);

test(
  "a second start finds the data again, in a folder with a space and 한글",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome("내 폴더 dure");
    const first = await start(home.path);
    await ask(first.url, "create table notes as select '두레' as text");
    await first.stop();

    const second = await start(home.path);
    expect(await ask(second.url, "select text from notes")).toEqual([{ text: "두레" }]);
    await second.stop();
  },
);

test(
  "a folder too deep for a socket gets a private one elsewhere",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome(join("d".repeat(60), "한글".repeat(10)));
    const server = await start(home.path);

    expect(server.connection.host.startsWith(home.path)).toBe(false);
    expect(statSync(server.connection.host).mode & 0o077).toBe(0);
    expect(await ask(server.url, "select 1 as one")).toEqual([{ one: 1 }]);

    await server.stop();
    rmSync(server.connection.host, { recursive: true, force: true });
  },
);

test(
  "where no path is short enough for a socket it is joined on 127.0.0.1, behind its password",
  { ...FULL, timeout: SLOW },
  async () => {
    const deep = join("d".repeat(60), "한글".repeat(10));
    await using home = temporaryHome(join(deep, "home"));
    await using temporary = temporaryHome(deep);
    const env = { ...process.env, TMPDIR: temporary.path };
    const first = await user(home.path, { env });
    const second = await user(home.path, { env });

    const { hostname, port, password } = new URL(first.url);
    expect([hostname, password.length > 20, second.url, second.reused]).toEqual([
      "127.0.0.1",
      true,
      first.url,
      true,
    ]);
    expect(await ask(first.url, "select host(inet_server_addr()) as address")).toEqual([
      { address: "127.0.0.1" },
    ]);
    await expect(ask(first.url.replace(password, "guessed"), "select 1")).rejects.toMatchObject({
      cause: { code: "28P01" },
    });
    await Promise.all([first.kill(), second.kill()]);
    process.kill(first.postmaster, "SIGKILL");
    const third = await user(home.path, { env });

    expect(new URL(third.url).port).toBe(port);
    expect(await ask(third.url, "select 1 as one")).toEqual([{ one: 1 }]);
    await third.leave();
  },
);

test(
  "processes that start at once on one new folder share one server; it stops with the last of them",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const [first, second, third] = await Promise.all([
      user(home.path),
      user(home.path),
      user(home.path),
    ]);

    expect(new Set([first, second, third].map((process) => process.postmaster)).size).toBe(1);
    expect([first, second, third].filter((process) => process.reused)).toHaveLength(2);

    await first.leave();
    await second.leave();
    expect(await ask(third.url, "select 1 as one")).toEqual([{ one: 1 }]);
    await third.leave();
    expect(exists(third.postmaster)).toBe(false);
  },
);

test(
  "kill -9 of a user leaves the server running for the next, and the dead one is not counted",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const killed = await user(home.path);
    await ask(killed.url, "create table notes as select 1 as id");

    await killed.kill();
    expect(exists(killed.postmaster)).toBe(true);

    const next = await user(home.path);
    expect(next).toMatchObject({ reused: true, postmaster: killed.postmaster });
    expect(await ask(next.url, "select id from notes")).toEqual([{ id: 1 }]);
    await next.leave();
    expect(exists(killed.postmaster)).toBe(false);
  },
);

test(
  "a server whose users were all killed is stopped in good order when it was idle, and keeps its data",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const killed = await user(home.path, { idleMs: 1_000 });
    await ask(killed.url, "create table notes as select 1 as id");
    const log = (): string => readFileSync(join(home.path, "pg.log"), "utf8");

    await killed.kill();

    await expect.poll(() => exists(killed.postmaster), { timeout: 20_000 }).toBe(false);
    // The caretaker writes its line when the server has gone.
    await expect
      .poll(log, { timeout: 20_000 })
      .toMatch(
        /database system is shut down\s+dure: PostgreSQL stopped: nothing has used it for 1 s/,
      );
    const next = await user(home.path);
    expect(next.reused).toBe(false);
    expect(log()).not.toContain("not properly shut down");
    expect(await ask(next.url, "select id from notes")).toEqual([{ id: 1 }]);
    await next.leave();
  },
);

test(
  "a server is not idle while any client at all is there",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const killed = await user(home.path, { idleMs: 400 });
    const database = await Database.open({
      url: killed.url,
      applicationName: "psql",
      logger: silentLogger,
      max: 1,
    });
    await killed.kill();

    await caretakerLooks(database, 6);
    expect(exists(killed.postmaster)).toBe(true);

    await database.close();
    await expect.poll(() => exists(killed.postmaster), { timeout: 20_000 }).toBe(false);
  },
);

test(
  "a caretaker that was killed is replaced at the next start, and there is never more than one",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const first = await user(home.path, { idleMs: 1_000 });
    const database = await Database.open({
      url: first.url,
      applicationName: "dure:test",
      logger: silentLogger,
      max: 1,
    });
    const before = await caretakers(database, 1);
    process.kill(await pidOfCaretaker(home.path), "SIGKILL");
    await caretakers(database, 0);

    const others = await Promise.all([
      user(home.path, { idleMs: 1_000 }),
      user(home.path, { idleMs: 1_000 }),
    ]);

    expect(await caretakers(database, 1)).not.toEqual(before);
    await database.close();
    await Promise.all([first, ...others].map((one) => one.kill()));
    await expect.poll(() => exists(first.postmaster), { timeout: 20_000 }).toBe(false);
  },
);

test(
  "starts that come while an idle server is being stopped find it or start it, and lose nothing",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using home = temporaryHome();
    const first = await user(home.path, { idleMs: 200 });
    await ask(first.url, "create table notes (id int)");
    await first.kill();

    for (let round = 1; round <= 5; round++) {
      const next = await user(home.path, { idleMs: 200 });
      await ask(next.url, `insert into notes values (${round})`);
      expect(await ask(next.url, "select count(*)::int as count from notes")).toEqual([
        { count: round },
      ]);
      await next.kill();
      await systemClock.sleep(round * 60); // around the moment at which it is stopped
    }
  },
);

test(
  "kill -9 of the postmaster: the database is unavailable, then back with everything that was committed",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const server = await start(home.path);
    const database = await Database.open({
      connection: server.connection,
      applicationName: "dure:test",
      logger: silentLogger,
    });
    await database.query({ text: "create table notes as select 1 as id" });
    const before = server.pid!;

    process.kill(before, "SIGKILL");
    while ((await database.health()) === "ok") await systemClock.sleep(5); // looks often: it is soon back
    await expect.poll(() => database.health(), { timeout: 30_000 }).toBe("ok");

    expect(await database.query({ text: "select id from notes" })).toEqual([{ id: 1 }]);
    await expect.poll(() => server.pid, { timeout: 20_000 }).not.toBe(before);
    await database.close();
    await server.stop();
  },
);

test(
  "kill -9 of user and postmaster together: the next start recovers",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const killed = await user(home.path);
    await ask(killed.url, "create table notes as select 1 as id");
    process.kill(killed.postmaster, "SIGKILL");
    await killed.kill();

    const server = await start(home.path);

    expect(await ask(server.url, "select id from notes")).toEqual([{ id: 1 }]);
    await server.stop();
  },
);

test(
  "locks of a dead postmaster whose number another process has now do not keep the server from starting",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    await (await start(home.path)).stop();
    // Not our own number: PostgreSQL passes over its parent's.
    const other = spawn("sleep", ["600"], { stdio: "ignore" });
    const lines = `${other.pid}\n${join(home.path, "pg")}\n1\n5432\n${join(home.path, "run")}\n\n\n`;
    writeFileSync(join(home.path, "pg", "postmaster.pid"), lines);
    writeFileSync(join(home.path, "run", ".s.PGSQL.5432.lock"), lines);

    const server = await start(home.path);

    expect(server.reused).toBe(false);
    await server.stop();
    other.kill("SIGKILL");
  },
);

test(
  "a data folder that was half made when the process was killed is made anew",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const child = spawn(process.execPath, ["--import", UNFINISHED, FIXTURE, home.path], {
      stdio: "ignore",
    });
    await expect
      .poll(() => readdirSync(home.path).some((name) => name.startsWith("pg.new-")), {
        interval: 2,
        timeout: 20_000,
      })
      .toBe(true);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(existsSync(join(home.path, "pg"))).toBe(false);

    const server = await start(home.path);

    expect(await ask(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(readdirSync(home.path).filter((name) => name.startsWith("pg.new-"))).toEqual([]);
    await server.stop();
  },
);

test(
  "lost settings cost the old password, not the data, even while the server runs",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const killed = await user(home.path);
    await ask(killed.url, "create table notes as select 1 as id");
    await killed.kill();
    rmSync(join(home.path, "postgres.json"));

    const server = await start(home.path);

    expect(server.url).not.toBe(killed.url);
    expect(await ask(server.url, "select id from notes")).toEqual([{ id: 1 }]);
    await server.stop();
  },
);

test(
  "library links that an install without scripts left out are made",
  { ...FULL, timeout: SLOW },
  async () => {
    await using home = temporaryHome();
    const bare = await packageWithoutLinks(join(home.path, "package"));

    const made = await prepareBinaries(bare, join(home.path, "spare"), { kind: "direct" });

    expect(made.postgres.startsWith(bare)).toBe(true);
    expect(spawnSync(made.postgres, ["--version"], { encoding: "utf8" }).stdout).toContain(
      "PostgreSQL",
    );
  },
);

test(
  "a package that the server's user cannot enter is copied to where it can, once",
  { ...FULL, timeout: SLOW },
  async () => {
    if (!asRoot) return; // only root can lock another user out
    await using home = temporaryHome();
    chmodSync(home.path, 0o755);
    const closed = join(home.path, "closed");
    mkdirSync(closed, { mode: 0o700 });
    const bare = await packageWithoutLinks(join(closed, "package"));
    const spare = join(home.path, "spare");
    const unprivileged = { kind: "drop", uid: 65534, gid: 65534 } as const;

    const made = await prepareBinaries(bare, spare, unprivileged);

    expect(made.postgres.startsWith(spare)).toBe(true);
    expect(await run(unprivileged, made.postgres, ["--version"])).toContain("PostgreSQL");
    expect(await prepareBinaries(bare, spare, unprivileged)).toEqual(made);
  },
);

test("an ordinary user runs PostgreSQL directly", { ...FULL, timeout: SLOW }, async () => {
  if (!asRoot) return; // every other test of this file is then this one
  await using home = temporaryHome();
  chmodSync(home.path, 0o755);
  const own = join(home.path, "unprivileged");
  mkdirSync(own);
  chownSync(own, 65534, 65534);

  const process = await user(join(own, ".dure"), { uid: 65534, gid: 65534 });

  expect(statSync(join(own, ".dure", "pg")).uid).toBe(65534);
  expect(await ask(process.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await process.leave();

  // Root in another user's project: the owner of the data decides as whom the server runs.
  const server = await start(join(own, ".dure"));
  expect(await ask(server.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await server.stop();
});

test("as whom PostgreSQL runs follows from who we are and whose the data is", () => {
  const root = { uid: 0, gid: 0 };
  const person = { uid: 1000, gid: 1000 };

  expect(decideRunners(undefined, undefined, root)).toEqual([{ kind: "direct" }]);
  expect(decideRunners(1000, undefined, person)).toEqual([{ kind: "direct" }]);
  expect(decideRunners(1000, root, person)).toEqual([]);
  expect(decideRunners(0, undefined, root).map(({ kind }) => kind)).toEqual(["namespace", "drop"]);
  expect(decideRunners(0, person, root)).toEqual([{ kind: "drop", uid: 1000, gid: 1000 }]);
});

test("a machine without a package is told what to do", async () => {
  await expect(findNativePackage("sunos-sparc")).rejects.toMatchObject({
    code: "EMBEDDED_UNAVAILABLE",
    hint: expect.stringContaining("DATABASE_URL") as string,
  });
});

async function packageWithoutLinks(folder: string): Promise<string> {
  const { native } = await findNativePackage();
  const copy = join(folder, "native");
  cpSync(native, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !lstatSync(source).isSymbolicLink(),
  });
  return copy;
}

/** Never gives a data folder that is being made its final name. */
const UNFINISHED = `data:text/javascript,${encodeURIComponent(`
  import { promises } from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const { rename } = promises;
  const never = () => new Promise(() => setInterval(() => {}, 1_000));
  promises.rename = (from, to) => (String(from).includes("pg.new-") ? never() : rename(from, to));
  syncBuiltinESMExports();
`)}`;
const FIXTURE = fileURLToPath(new URL("user.fixture.ts", import.meta.url));

interface UserProcess {
  readonly url: string;
  readonly reused: boolean;
  readonly postmaster: number;
  leave(): Promise<void>;
  kill(): Promise<void>;
}

async function user(
  home: string,
  {
    idleMs = 0,
    ...options
  }: { uid?: number; gid?: number; env?: NodeJS.ProcessEnv; idleMs?: number } = {},
): Promise<UserProcess> {
  const child = spawn(process.execPath, [FIXTURE, home, String(idleMs)], {
    stdio: ["pipe", "pipe", "inherit"],
    ...options,
  });
  const exited = once(child, "exit");
  for await (const line of createInterface(child.stdout)) {
    return {
      ...(JSON.parse(line) as { url: string; reused: boolean; postmaster: number }),
      async leave() {
        child.stdin.end("leave\n");
        expect((await exited)[0]).toBe(0);
      },
      async kill() {
        child.kill("SIGKILL");
        await exited;
      },
    };
  }
  throw new Error(`the process ended before it was ready: ${String((await exited)[0])}`);
}

/** Backends of caretakers; waits until there are `count`. */
async function caretakers(database: Database, count: number): Promise<readonly number[]> {
  const backends = async (): Promise<readonly number[]> => {
    const rows = await database.query<{ pid: number }>({
      text: "select pid from pg_locks where locktype = 'advisory' and objid = 1667330661 and granted",
    });
    return rows.map(({ pid }) => pid);
  };
  await expect.poll(async () => (await backends()).length, { timeout: 20_000 }).toBe(count);
  return backends();
}

/** Waits until the caretaker has looked so often. */
async function caretakerLooks(database: Database, times: number): Promise<void> {
  const seen = new Set<string>();
  await expect
    .poll(
      async () => {
        const rows = await database.query<{ at: Date }>({
          text: "select query_start as at from pg_stat_activity where application_name = 'dure-caretaker'",
        });
        for (const { at } of rows) seen.add(at.toISOString());
        return seen.size;
      },
      { timeout: 20_000, interval: 20 },
    )
    .toBeGreaterThanOrEqual(times);
}

async function pidOfCaretaker(home: string): Promise<number> {
  const found = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .find((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8");
        return command.includes("caretaker-main") && command.includes(home);
      } catch {
        return false;
      }
    });
  return Number(found);
}

function start(home: string, options: { durable?: boolean } = {}): Promise<EmbeddedPostgres> {
  return EmbeddedPostgres.start({ home, logger: silentLogger, durable: false, ...options });
}

async function ask(url: string, text: string): Promise<object[]> {
  const database = await Database.open({
    url,
    applicationName: "dure:test",
    logger: silentLogger,
    max: 1,
  });
  try {
    return await database.query({ text });
  } finally {
    await database.close();
  }
}

/** A new folder, removed at the end together with a server that a failed test left behind. */
function temporaryHome(name = ""): { path: string } & AsyncDisposable {
  const base = mkdtempSync(join(tmpdir(), "dure-embedded-"));
  const path = join(base, name);
  mkdirSync(path, { recursive: true });
  return {
    path,
    async [Symbol.asyncDispose]() {
      await stopServer(path, systemClock);
      rmSync(base, { recursive: true, force: true });
    },
  };
}
