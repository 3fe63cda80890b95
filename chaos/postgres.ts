import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import pg from "pg";
import {
  findNativePackage,
  prepareBinaries,
  type Binaries,
} from "../packages/dure/src/durable/embedded/binaries.ts";
import {
  decideRunners,
  holds,
  run,
  type Runner,
} from "../packages/dure/src/durable/embedded/runner.ts";

/** Longest start, recovery included, on a busy machine, milliseconds. */
const START_MS = 60_000;
const LOOK_MS = 50;

/** A cluster of our own, with fsync, that may be restarted, killed, stopped and slowed. */
export class Cluster implements AsyncDisposable {
  readonly port: number;
  readonly #folder: string;
  readonly #password: string;
  readonly #runner: Runner;
  readonly #binaries: Binaries;
  #postmaster: ChildProcess | undefined;
  #admin: pg.Client | undefined;

  private constructor(parts: {
    folder: string;
    password: string;
    runner: Runner;
    binaries: Binaries;
    port: number;
  }) {
    this.#folder = parts.folder;
    this.#password = parts.password;
    this.#runner = parts.runner;
    this.#binaries = parts.binaries;
    this.port = parts.port;
  }

  static async start(folder: string): Promise<Cluster> {
    await mkdir(folder, { mode: 0o700 });
    const { native } = await findNativePackage();
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const runner = decideRunners(process.getuid?.(), undefined, owner).find((candidate) =>
      holds(candidate, 'test -w "$1"', folder),
    );
    if (!runner) {
      throw new Error(
        "PostgreSQL refuses to run as root, and this machine has no user namespaces.",
      );
    }
    const binaries = await prepareBinaries(native, join(folder, "native"), runner);
    const password = crypto.randomUUID();
    const secret = join(folder, "password");
    await writeFile(secret, password, { mode: 0o600 });
    await run(runner, binaries.initdb, [
      "-D",
      join(folder, "data"),
      "-U",
      "postgres",
      "-E",
      "UTF8",
      "--no-locale",
      "--auth=scram-sha-256",
      "--pwfile",
      secret,
      "--no-instructions",
    ]);
    const cluster = new Cluster({ folder, password, runner, binaries, port: await freePort() });
    await cluster.#launch();
    await cluster.ask("create role dure login createdb password 'dure-chaos'");
    await cluster.ask("create database dure owner dure");
    return cluster;
  }

  /** For the servers, through whatever stands at `address`. */
  urlAt(host: string, port: number): string {
    return `postgresql://dure:dure-chaos@${host}:${port}/dure`;
  }

  /** Straight to it, for the checks. */
  get url(): string {
    return this.urlAt("127.0.0.1", this.port);
  }

  get pid(): number | undefined {
    return this.#postmaster?.pid;
  }

  /** As superuser, past all forwarders. Throws while it is down. */
  async ask<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await (await this.#connection()).query<Row>(text, values)).rows;
  }

  /**
   * It is away for `awayMs` in between. `fast`: open transactions roll back. `immediate`: it
   * recovers from its log when it starts.
   */
  async restart(awayMs = 0, mode: "fast" | "immediate" = "fast"): Promise<void> {
    await this.#end(mode === "fast" ? "SIGINT" : "SIGQUIT");
    await wait(awayMs);
    await this.#launch();
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
    await this.#launch();
  }

  /** Each commit waits so long for its flush; 0: none. A setting of PostgreSQL, not of the disk. */
  async slowCommits(microseconds: number): Promise<void> {
    await this.ask("alter system set commit_siblings = 0");
    await this.ask(`alter system set commit_delay = ${microseconds}`);
    await this.ask("select pg_reload_conf()");
  }

  /** All its processes stand still; gives what lets them go on. */
  freeze(): () => void {
    const pids = this.#all();
    for (const pid of pids) signal(pid, "SIGSTOP");
    return () => {
      for (const pid of pids) signal(pid, "SIGCONT");
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.#all()) signal(pid, "SIGCONT");
    await this.#end("SIGQUIT");
  }

  async #connection(): Promise<pg.Client> {
    if (this.#admin) return this.#admin;
    const client = new pg.Client({
      host: "127.0.0.1",
      port: this.port,
      user: "postgres",
      password: this.#password,
      database: "dure",
      connectionTimeoutMillis: 5_000,
      query_timeout: 60_000,
    });
    const isFirst = await client.connect().then(
      () => false,
      async (error: { code?: string }) => {
        if (error.code !== "3D000") throw error;
        return true; // the database is made with this connection
      },
    );
    if (isFirst) return this.#firstConnection();
    client.on("error", () => {
      if (this.#admin === client) this.#admin = undefined;
    });
    return (this.#admin = client);
  }

  async #firstConnection(): Promise<pg.Client> {
    const client = new pg.Client({
      host: "127.0.0.1",
      port: this.port,
      user: "postgres",
      password: this.#password,
      database: "postgres",
    });
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  async #launch(): Promise<void> {
    const log = openSync(join(this.#folder, "postgres.log"), "a", 0o600);
    const command = [
      this.#binaries.postgres,
      "-D",
      join(this.#folder, "data"),
      "-p",
      String(this.port),
      ...SETTINGS.flatMap((setting) => ["-c", setting]),
    ];
    const [program, ...args] =
      this.#runner.kind === "namespace"
        ? ["unshare", "--user", "--map-user=65534", "--map-group=65534", ...command]
        : command;
    const identity =
      this.#runner.kind === "drop" ? { uid: this.#runner.uid, gid: this.#runner.gid } : {};
    const giveUpAt = performance.now() + START_MS;
    for (;;) {
      // Our postmaster is gone: its exit was seen.
      rmSync(join(this.#folder, "data", "postmaster.pid"), { force: true });
      const child = (this.#postmaster = spawn(program!, args, {
        ...identity,
        env: { PATH: process.env["PATH"], LC_ALL: "C" },
        stdio: ["ignore", log, log],
      }));
      if (await this.#isReady(child, giveUpAt)) break;
      if (performance.now() > giveUpAt) {
        throw new Error(
          `PostgreSQL did not start; its log is ${join(this.#folder, "postgres.log")}`,
        );
      }
    }
    closeSync(log);
  }

  /** False when it has ended: after a SIGKILL its orphans may still hold the shared memory. */
  async #isReady(child: ChildProcess, giveUpAt: number): Promise<boolean> {
    while (performance.now() < giveUpAt) {
      await wait(LOOK_MS);
      if (child.exitCode !== null || child.signalCode !== null) return false;
      const isUp = await this.#connection()
        .then((client) => client.query("select 1"))
        .then(
          () => true,
          () => false,
        );
      if (isUp) return true;
    }
    return false;
  }

  async #end(name: NodeJS.Signals): Promise<void> {
    const child = this.#postmaster;
    this.#postmaster = undefined;
    this.#admin?.end().catch(() => {});
    this.#admin = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill(name);
    await exit;
  }

  /** The postmaster and its children. */
  #all(): readonly number[] {
    const postmaster = this.pid;
    if (postmaster === undefined) return [];
    const children = readdirSync("/proc").filter(
      (name) => /^\d+$/.test(name) && parentOf(name) === postmaster,
    );
    return [postmaster, ...children.map(Number)];
  }
}

const SETTINGS = [
  "fsync=on",
  "synchronous_commit=on",
  "full_page_writes=on",
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=150",
  "timezone=UTC",
  "jit=off",
  "log_checkpoints=off",
  "client_connection_check_interval=2s",
];

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}
