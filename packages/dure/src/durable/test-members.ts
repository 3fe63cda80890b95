import { spawn, type ChildProcess } from "node:child_process";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "../kernel/clock.ts";
import { beLate } from "../kernel/test-late.ts";
import { newId } from "../kernel/ids.ts";
import { silentLogger } from "../kernel/logger.ts";
import { Database } from "./database.ts";
import { Notifications } from "./notify.ts";
import { applicationName, ProcessLease, type ProcessLeaseOptions } from "./processes.ts";

/** A member of the team within this process: database, notifications and a held lease. */
export async function joinTeam(url: string, options: Partial<ProcessLeaseOptions> = {}) {
  const id = newId("process");
  const database = await Database.open({
    url,
    applicationName: applicationName(id),
    logger: silentLogger,
    max: 6,
  });

  const notifications = new Notifications({ database, logger: silentLogger });
  await notifications.start();

  const lease = new ProcessLease({
    database,
    id,
    appVersion: "test",
    logger: silentLogger,
    notifications,
    ...options,
  });

  await lease.start();

  return {
    id,
    database,
    notifications,
    lease,
    logger: silentLogger,
    async [Symbol.asyncDispose]() {
      await lease.stop();
      await notifications.stop();
      await database.close();
    },
  };
}

/**
 * Holds the row of a process until a guarded write of it waits there, then runs the statement
 * `meanwhile`: what happens between a process's look at the world and its write. `begin` sets the
 * look off.
 */
export async function betweenLookAndWrite(
  database: Database,
  processId: string,
  { begin, meanwhile }: { begin: () => void; meanwhile: string },
): Promise<void> {
  const session = await database.connectSession(); // a transaction of the database itself is cut after 5 s
  try {
    await session.query("begin");
    await session.query("select from dure.processes where id = $1 for update", [processId]);
    begin();
    await untilBlocked(database, "%dure.processes%where id = $1%for key share%");
    await session.query(meanwhile);
    await session.query("commit");
  } finally {
    await session.end();
  }
}

/** Resolves when a statement like this waits for a lock; rejects after 20 s. */
export async function untilBlocked(database: Database, like: string): Promise<void> {
  await beLate();
  const deadline = systemClock.monotonic() + 20_000;
  for (;;) {
    const waiting = await database.query(
      {
        text: `select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      },
      [like],
    );
    if (waiting.length > 0) return;
    if (systemClock.monotonic() > deadline) {
      throw new Error(`no statement like ${like} waits for a lock`);
    }
    await systemClock.sleep(10);
  }
}

/**
 * A network between a process and its database that can be cut (reset) or go dead (silence), and be
 * mended.
 */
export class Network implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #state: "up" | "cut" | "dead" = "up";

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async to(url: string): Promise<Network> {
    const target = new URL(url);
    const socketFolder = target.searchParams.get("host");
    const server = createServer({ allowHalfOpen: false });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = new URL(url);
    address.searchParams.delete("host");
    address.hostname = "127.0.0.1";
    address.port = String((server.address() as AddressInfo).port);
    const network = new Network(server, address.href);

    server.on("connection", (near) => {
      if (network.#state === "cut") return near.destroy();
      const far = socketFolder
        ? connect(`${socketFolder}/.s.PGSQL.${target.port || "5432"}`)
        : connect(Number(target.port || 5432), target.hostname);

      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        network.#sockets.add(one);
        one.on("data", (chunk) => network.#state === "dead" || other.write(chunk));
        one.on("error", () => {});
        one.on("close", () => {
          network.#sockets.delete(one);
          if (network.#state !== "dead") other.destroy();
        });
      }
    });

    return network;
  }

  /** Every connection is reset, and new ones too, until `mend`. */
  cut(): void {
    this.#state = "cut";
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Drops all traffic without closing, until `mend`; connections from before stay dead. */
  die(): void {
    this.#state = "dead";
  }

  mend(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#state = "up";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** One line that a child process wrote: a JSON object with a `say`. */
export type Line = { readonly say: string; readonly [key: string]: unknown };

/**
 * A real process that runs `test-member-process.ts` in one of its roles. Killed at the end of the
 * block.
 */
export class TeamProcess implements AsyncDisposable {
  readonly lines: Line[] = [];
  /** It has ended, and what it wrote is read. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;
  #isOver = false;
  readonly #waiting = new Set<() => void>();
  #errors = "";

  constructor(role: string, url: string, ...rest: string[]) {
    const program = fileURLToPath(new URL("./test-member-process.ts", import.meta.url));
    this.#child = spawn(
      process.execPath,
      ["--conditions=dure-source", "--no-warnings", program, role, url, ...rest],
      { stdio: ["pipe", "pipe", "pipe"] },
    );

    this.#child.stderr!.on("data", (chunk: Buffer) => (this.#errors += chunk.toString()));

    createInterface({ input: this.#child.stdout! }).on("line", (line) => {
      if (!line.startsWith("{")) return;
      this.lines.push(JSON.parse(line) as Line);
      for (const wake of this.#waiting) wake();
    });

    this.exited = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        this.#isOver = true;
        resolve({ code, signal });
        for (const wake of this.#waiting) wake();
      });
    });
  }

  /**
   * The first line that says `say` (and passes `test`); fails after 20 s or when the process ends
   * without it.
   */
  async says(say: string, test: (line: Line) => boolean = () => true): Promise<Line> {
    const deadline = performance.now() + 20_000;
    for (;;) {
      const found = this.lines.find((line) => line.say === say && test(line));
      if (found) return found;
      if (this.#isOver || performance.now() > deadline) {
        throw new Error(
          `the process did not say "${say}" (exit ${this.#child.exitCode}); it said ${JSON.stringify(this.lines)} ${this.#errors}`,
        );
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };

        const timer = setTimeout(wake, 200);
        this.#waiting.add(wake);
      });
    }
  }

  tell(word: string): void {
    this.#child.stdin!.write(`${word}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }

  get errors(): string {
    return this.#errors;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
