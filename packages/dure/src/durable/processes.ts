import { hostname } from "node:os";
import type pg from "pg";
import { backOffMs } from "../kernel/back-off.ts";
import { systemClock, withTimeout, type Clock } from "../kernel/clock.ts";
import { DureError, messageOf, ProcessError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, Transaction } from "./database.ts";
import { confirmHold, FRESH_MS, type LeaseProof } from "./lease-proof.ts";
import { currentProcess, machineName } from "./machine.ts";
import type { Notifications } from "./notify.ts";
import { schemaNewer } from "./release.ts";

/**
 * The right of this process to work, from its start to its end; a row of `dure.processes` under an
 * epoch.
 *
 * - *held*: renewed within the last 6 s.
 * - *suspended*: the database was not reached for 6 s, so others may have taken over. Nothing new
 *   begins (`whenHeld`); what runs may go on, because each of its writes is guarded. Ends as held
 *   or as fenced.
 * - *fenced*: others have taken over, or the process was frozen so long that they may have. Never
 *   again held: the signal is aborted, `onFenced` was called once, and the server leaves with exit
 *   code 75.
 * - *ended*: stopped in good order; others take what is left at once.
 */
export class ProcessLease implements LeaseProof {
  readonly id: string;
  /**
   * Aborted, with a DureError FENCED or PROCESS_STOPPED, when this process must not work any
   * longer.
   */
  readonly signal: AbortSignal;
  readonly #options: ProcessLeaseOptions;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #epoch = 0;
  #state: ProcessState = "new";
  /**
   * When the last successful renewal was sent, on the monotonic clock: never later than the
   * database's `renewed_at`.
   */
  #renewedAt = 0;
  /** The same by the wall clock, which goes on while a virtual machine sleeps. */
  #renewedWall = 0;
  #lastTick = 0;
  #session: pg.Client | undefined;
  #lockHeld = false;
  #started: Promise<void> | undefined;
  #renewing: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  #cancelWatch: (() => void) | undefined;
  #wake = new AbortController();
  #onHeld: (() => void)[] = [];

  constructor(options: ProcessLeaseOptions) {
    if (options.database.applicationName !== applicationName(options.id)) {
      throw new DureError(
        "PROCESS_NAME_MISMATCH",
        `The database was opened as "${options.database.applicationName}", the process is ${options.id}.`,
        {
          hint: `Open the database with applicationName "${applicationName(options.id)}": by it others tell a cut connection from a death.`,
        },
      );
    }
    this.id = options.id;
    this.signal = this.#over.signal;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** The epoch under which this process writes; its rows carry it. */
  get epoch(): number {
    return this.#epoch;
  }

  /**
   * See `LeaseProof`. A session that was lost is no proof either: others may see this process as
   * gone.
   */
  get isFresh(): boolean {
    if (this.#state !== "held" || this.#session === undefined) return false;
    return (
      this.#clock.monotonic() - this.#renewedAt < FRESH_MS &&
      this.#clock.now() - this.#renewedWall < FRESH_MS
    );
  }

  async start(): Promise<void> {
    this.#started ??= this.#begin();
    await this.#started;
  }

  /**
   * Resolves when the lease is held, rejects when it is over. To be awaited before anything new
   * begins.
   */
  async whenHeld(options: { signal?: AbortSignal } = {}): Promise<void> {
    this.signal.throwIfAborted();
    options.signal?.throwIfAborted();
    if (this.#state === "held") return;
    const any = options.signal ? AbortSignal.any([this.signal, options.signal]) : this.signal;
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#onHeld = this.#onHeld.filter((waiting) => waiting !== onHeld);
        reject(any.reason as Error);
      };
      const onHeld = (): void => {
        any.removeEventListener("abort", onAbort);
        resolve();
      };
      any.addEventListener("abort", onAbort, { once: true });
      this.#onHeld.push(onHeld);
    });
  }

  /**
   * Reads the lease row FOR KEY SHARE: until `tx` ends no other process can take over. If one has,
   * this throws FENCED and the lease ends. Every write of this process in its own name begins with
   * it.
   */
  async guard(tx: Transaction): Promise<void> {
    this.signal.throwIfAborted();
    const [row] = await tx.query<{ epoch: number; ended: boolean }>(GUARD, [this.id]);
    if (row?.epoch === this.#epoch && !row.ended) return;
    throw this.fence("taken-over");
  }

  /**
   * Before this process asks or pays for something outside that is no work under a lease: throws
   * FENCED when others have taken over.
   */
  async confirm(): Promise<void> {
    const { database } = this.#options;
    await confirmHold({
      isFresh: () => this.isFresh,
      clock: this.#clock,
      look: () => database.transaction((tx) => this.guard(tx)),
    });
  }

  /**
   * Ends the lease from inside: others have taken over, or may have. Returns the error with which
   * the signal aborts.
   */
  fence(because: FencedBecause): DureError {
    const error = fenced(this.id, because);
    if (this.#state === "fenced" || this.#state === "ended") return error;
    this.#state = "fenced";
    this.#options.logger.error(
      { process: this.id, epoch: this.#epoch, because },
      `${this.id} is fenced (${because}); it stops working`,
    );
    this.#end(error);
    this.#options.onFenced?.(error);
    return error;
  }

  /**
   * Gives the lease back; others take what is left at once. Call it last, when the work has come to
   * rest.
   */
  async stop(): Promise<void> {
    this.#stopped ??= this.#finish();
    await this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #begin(): Promise<void> {
    const { logger } = this.#options;
    this.#renewedAt = this.#clock.monotonic();
    this.#renewedWall = this.#clock.now();
    const session = await this.#connect();
    const me = currentProcess();
    // The lock comes before the row: other processes never see the row without the lock.
    const { rows } = await session.query<{ epoch: number }>(REGISTER, [
      this.id,
      this.#options.appVersion,
      this.#options.host ?? hostname(),
      machineName(),
      me.pid,
      me.started,
      this.#options.release ?? 0,
    ]);
    if (!rows[0]) {
      await assertRelease(session, this.#options.release ?? 0);
      throw new DureError("PROCESS_ID_TAKEN", `The process id ${this.id} was used before.`, {
        hint: "Make a new id for each start.",
        class: "conflict",
      });
    }
    this.#epoch = rows[0].epoch;
    this.#hold();
    this.#lastTick = this.#clock.monotonic();
    this.#cancelWatch = this.#clock.every(WATCH_EVERY, () => this.#watch());
    this.#renewing = this.#renewUntilOver();
    logger.info(
      { process: this.id, epoch: this.#epoch },
      `${this.id} works under epoch ${this.#epoch}`,
    );
  }

  async #renewUntilOver(): Promise<void> {
    let failures = 0;
    while (!this.signal.aborted) {
      try {
        const sentAt = this.#clock.monotonic();
        const sentWall = this.#clock.now();
        const kept = await this.#renew();
        // If the process was fenced meanwhile, an earlier answer does not undo it.
        if (this.signal.aborted) return;
        if (!kept) return void this.fence("taken-over");
        this.#renewedAt = sentAt;
        this.#renewedWall = sentWall;
        failures = 0;
        if (this.#clock.monotonic() - sentAt < DEAD_AFTER) this.#hold();
      } catch (error) {
        failures += 1;
        this.#drop();
        if (this.signal.aborted) return;
        this.#options.logger.warn(
          { process: this.id, error: messageOf(error) },
          `${this.id} could not renew its lease; it tries again`,
        );
      }
      await this.#nap(failures === 0 ? RENEW_EVERY : backOffMs(failures, RENEW_BACK_OFF));
    }
  }

  async #renew(): Promise<boolean> {
    return withTimeout(
      this.#clock,
      RENEW_TIMEOUT,
      () => new Error(`no answer within ${RENEW_TIMEOUT} ms`),
      async () => {
        const session = this.#session ?? (await this.#connect());
        if (!this.#lockHeld) await this.#lock(session);
        const { rowCount } = await session.query(RENEW, [this.id, this.#epoch]);
        return rowCount === 1;
      },
    );
  }

  async #connect(): Promise<pg.Client> {
    const session = await this.#options.database.connectSession();
    if (this.#over.signal.aborted || this.#session) {
      // The connection was opened after its time-out: no caller waits for it.
      await session.end().catch(() => {});
      throw new Error("another session was opened meanwhile");
    }
    this.#session = session;
    session.once("end", () => {
      if (this.#session !== session) return;
      this.#drop();
      this.#wake.abort();
    });
    await this.#lock(session);
    return session;
  }

  /**
   * The session of a cut connection may hold the lock a little longer; then the next renewal tries
   * again.
   */
  async #lock(session: pg.Client): Promise<void> {
    const { rows } = await session.query<{ locked: boolean }>(
      "select pg_try_advisory_lock(hashtextextended($1, 0)) as locked",
      [lockName(this.id)],
    );
    this.#lockHeld = rows[0]?.locked === true;
  }

  #drop(): void {
    const session = this.#session;
    this.#session = undefined;
    this.#lockHeld = false;
    if (session) this.#options.database.dropSession(session);
  }

  #watch(): void {
    const now = this.#clock.monotonic();
    const verdict = decideLease({ now, lastTick: this.#lastTick, renewedAt: this.#renewedAt });
    this.#lastTick = now;
    if (verdict === "stood-still") this.fence("stood-still");
    if (verdict === "suspended" && this.#state === "held") {
      this.#state = "suspended";
      this.#options.logger.warn(
        { process: this.id },
        `${this.id} has not reached the database for ${DEAD_AFTER} ms; it begins nothing new until it does`,
      );
      this.#options.onSuspended?.();
    }
  }

  #hold(): void {
    if (this.#state === "held" || this.#state === "fenced" || this.#state === "ended") return;
    const resumed = this.#state === "suspended";
    this.#state = "held";
    for (const onHeld of this.#onHeld.splice(0)) onHeld();
    if (!resumed) return;
    this.#options.logger.info(
      { process: this.id, epoch: this.#epoch },
      `${this.id} reached the database again and no process took over; it goes on`,
    );
    this.#options.onResumed?.();
  }

  async #nap(ms: number): Promise<void> {
    this.#wake = new AbortController();
    await this.#clock
      .sleep(ms, { signal: AbortSignal.any([this.#wake.signal, this.signal]) })
      .catch(() => {});
  }

  #end(reason: DureError): void {
    this.#cancelWatch?.();
    this.#over.abort(reason);
    this.#drop();
  }

  async #finish(): Promise<void> {
    await this.#started?.catch(() => {});
    const { database, logger, notifications } = this.#options;
    const wasFenced = this.#state === "fenced";
    if (!wasFenced) this.#state = "ended";
    this.#end(
      new ProcessError("PROCESS_STOPPED", `${this.id} was stopped.`, { class: "unavailable" }),
    );
    await this.#renewing;
    if (wasFenced || this.#epoch === 0) return;
    try {
      const [ended] = await database.query(END, [this.id, this.#epoch]);
      if (!ended) return this.#tellTaken();
      notifications?.publish(PROCESSES_TOPIC);
    } catch (error) {
      logger.warn(
        { process: this.id, error: messageOf(error) },
        `${this.id} could not say goodbye; others notice its silence after ${DEAD_AFTER} ms`,
      );
    }
  }

  /** Other processes took over before the goodbye, and this process had not noticed. */
  #tellTaken(): void {
    const error = fenced(this.id, "taken-over");
    this.#state = "fenced";
    this.#options.logger.error(
      { process: this.id, epoch: this.#epoch },
      `${this.id} had been taken over before it stopped`,
    );
    this.#options.onFenced?.(error);
  }
}

/**
 * A newer release may have taken the database over since this one looked at its tables. Ends the
 * session, which has no process.
 */
async function assertRelease(session: pg.Client, release: number): Promise<void> {
  try {
    const { rows } = await session.query<{ oldest: number }>(
      "select oldest from dure.release where oldest > $1",
      [release],
    );
    if (!rows[0]) return;
    throw schemaNewer(
      `The database works with releases from ${rows[0].oldest} on; this one is ${release}.`,
    );
  } finally {
    await session.end().catch(() => {});
  }
}

export type ProcessState = "new" | "held" | "suspended" | "fenced" | "ended";
export type FencedBecause = "taken-over" | "stood-still";

export interface ProcessLeaseOptions {
  readonly database: Database;
  /** New for each start; the database's `applicationName` is `dure:<id>`. */
  readonly id: string;
  readonly appVersion: string;
  /** Number of its schema. Default 0, which stands for releases that had none. */
  readonly release?: number | undefined;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly host?: string;
  /** Tells the others at once of a stop in good order. */
  readonly notifications?: Pick<Notifications, "publish">;
  /** Called at most once; a server leaves with exit code 75. */
  readonly onFenced?: ((error: DureError) => void) | undefined;
  /** The database was not reached for 6 s: not ready. */
  readonly onSuspended?: () => void;
  readonly onResumed?: () => void;
}

/** Renewals, in milliseconds. */
export const RENEW_EVERY = 2_000;
const RENEW_BACK_OFF = { firstMs: 50, maxMs: 1_000 } as const;
/**
 * A process that was silent for longer counts as dead, in milliseconds.
 */
export const DEAD_AFTER = 6_000;
/** Topic on which a process says that it ended. */
export const PROCESSES_TOPIC = "processes";

/**
 * Longest wait for one renewal, connecting included: a third of DEAD_AFTER, so that a cut line is
 * tried three times.
 */
const RENEW_TIMEOUT = 2_000;
/** How often a process checks its own lease, in milliseconds. */
const WATCH_EVERY = 250;

/** State of the process's own lease, by its own clock. Pure; the first rule that applies wins. */
export function decideLease(facts: {
  now: number;
  lastTick: number;
  renewedAt: number;
}): "go-on" | "stood-still" | "suspended" {
  if (facts.now - facts.lastTick > DEAD_AFTER) return "stood-still";
  if (facts.now - facts.renewedAt > DEAD_AFTER) return "suspended";
  return "go-on";
}

/** The advisory lock that a living process holds on its own session. */
function lockName(processId: string): string {
  return `dure:process:${processId}`;
}

/** Under which name a process connects to the database. */
export function applicationName(processId: string): string {
  return `dure:${processId}`;
}

export function fenced(holder: string, because: string): DureError {
  return new ProcessError("FENCED", `${holder} may not write any longer: ${because}.`, {
    class: "conflict",
    hint: "Another process goes on with its work; this one leaves with exit code 75 and may be started again.",
    details: { holder, because },
  });
}

const REGISTER = `
  insert into dure.processes (id, app_version, host, machine, pid, pid_started, release)
  select $1, $2, $3, $4, $5::integer, $6, $7::integer
  where not exists (select from dure.release where oldest > $7::integer)
  on conflict (id) do nothing returning epoch`;

const RENEW = `update dure.processes
    set renewed_at = clock_timestamp()
    where id = $1 and epoch = $2 and ended_at is null`;

const GUARD = {
  name: "process.guard",
  text: `
    select epoch, ended_at is not null as ended
    from dure.processes
    where id = $1
    for key share`,
};

const END = {
  name: "process.end",
  text: `update dure.processes set ended_at = clock_timestamp(), ended_because = 'stopped', epoch = epoch + 1
          where id = $1 and epoch = $2 and ended_at is null
          returning id`,
};
