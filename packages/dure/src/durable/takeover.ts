import { backOffMs } from "../kernel/back-off.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { codeOf, isAbort, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, Transaction } from "./database.ts";
import { EVENTS_TOPIC } from "./event-rows.ts";
import { Poller, type PollResult } from "./poller.ts";
import { isGone, machineName } from "./machine.ts";
import type { Notifications } from "./notify.ts";
import { FRESH_MS } from "./lease-proof.ts";
import { DEAD_AFTER, PROCESSES_TOPIC, type ProcessLease } from "./processes.ts";
import type { NewPlatformEvent } from "../wire/events.ts";

/**
 * Finds dead processes, raises their epoch, and lets their work go on.
 *
 * `look → take → recover`: taking is one short transaction and happens once per death. Recovering
 * runs every recoverer in order until each has succeeded; if the taker dies in the middle, another
 * process begins again, so recoverers must be safe to run twice.
 */
export class Takeover {
  readonly #options: TakeoverOptions;
  readonly #clock: Clock;
  readonly #machine = machineName();
  readonly #recoverers: { name: string; recover: Recoverer }[] = [];
  readonly #recovering = new Map<string, Promise<void>>();
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  /** Processes without any connection at the last look. */
  #disconnected: ReadonlySet<string> = new Set();
  readonly #poller: Poller;
  #unsubscribe: (() => void) | undefined;

  constructor(options: TakeoverOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#signal = AbortSignal.any([this.#over.signal, options.lease.signal]);

    this.#poller = new Poller({
      what: "dead processes",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY,
      clock: this.#clock,
      logger: options.logger,
      signal: this.#signal,
    });
  }

  /** Registers what is done for a dead process. All recoverers are registered before `start`. */
  onDead(name: string, recover: Recoverer): void {
    this.#recoverers.push({ name, recover });
  }

  /** The first look is over when this resolves; what it found is being recovered. */
  async start(): Promise<void> {
    const { notifications } = this.#options;
    this.#unsubscribe ??= notifications?.subscribe(PROCESSES_TOPIC, () => this.#poller.wake());
    this.#poller.start();
    await this.#poller.settled;
  }

  /**
   * Resolves when the work of the dead processes that were found so far goes on, or after
   * `withinMs`.
   */
  async settled({ withinMs }: { withinMs: number }): Promise<void> {
    const patience = new AbortController();
    const late = this.#clock.sleep(withinMs, { signal: patience.signal }).catch(() => {});
    await Promise.race([Promise.allSettled(this.#recovering.values()), late]);
    patience.abort();
  }

  /** Stops looking; another process continues an unfinished recovery. */
  async stop(): Promise<void> {
    this.#over.abort(new DOMException("Takeover was stopped.", "AbortError"));
    this.#unsubscribe?.();
    await this.#poller.stop();
    await Promise.allSettled(this.#recovering.values());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #look(): Promise<PollResult> {
    const { database, lease } = this.#options;
    await lease.whenHeld({ signal: this.#signal }); // a suspended process cannot know who else is alive
    const candidates = await database.query<Candidate>(LOOK, [lease.id, DEAD_AFTER, FRESH_MS]);
    const disconnected = new Set<string>();

    for (const candidate of candidates) {
      const here =
        candidate.machine === this.#machine
          ? isGone({ pid: candidate.pid, started: candidate.pid_started })
            ? "gone"
            : "running"
          : "elsewhere";
      const verdict = decideDeath({
        ...candidate,
        here,
        disconnectedBefore: this.#disconnected.has(candidate.id),
      });
      if (verdict === "look-again") disconnected.add(candidate.id);
      if (verdict === "silent" || verdict === "gone") await this.#take(candidate, verdict);
    }

    this.#disconnected = disconnected;
    await this.#claimRecoveries();

    return disconnected.size > 0 ? { pauseMs: LOOK_AGAIN_AFTER } : "idle";
  }

  async #take(candidate: Candidate, because: "silent" | "gone"): Promise<void> {
    const { database, logger, lease, notifications } = this.#options;
    const taken = await database.transaction((tx) => takeEpoch(tx, candidate, because, lease));
    if (!taken) return;

    notifications?.publish(EVENTS_TOPIC);

    logger.warn(
      { process: candidate.id, epoch: candidate.epoch, because },
      `${candidate.id} is dead (${because}); ${lease.id} takes its work over`,
    );
  }

  async #claimRecoveries(): Promise<void> {
    const { database, lease } = this.#options;
    const claimed = await database.query<DeadProcess>(CLAIM, [lease.id]);

    for (const dead of claimed) {
      if (this.#recovering.has(dead.id)) continue;
      const recovery = this.#recover(dead).finally(() => this.#recovering.delete(dead.id));
      this.#recovering.set(dead.id, recovery);
    }
  }

  async #recover(dead: DeadProcess): Promise<void> {
    const { database, logger, lease } = this.#options;
    try {
      await this.#untilDone(
        dead,
        "its sessions",
        async () => void (await database.query(END_SESSIONS, [dead.id])),
      );
      for (const { name, recover } of this.#recoverers) {
        await this.#untilDone(dead, name, () => recover(dead, { signal: this.#signal }));
      }
      await this.#untilDone(
        dead,
        "its record",
        async () => void (await database.query(RECOVERED, [dead.id, lease.id])),
      );
      logger.info({ process: dead.id }, `the work of ${dead.id} goes on`);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
  }

  /** Tries until it succeeds; rejects only when this process must stop. */
  async #untilDone(dead: DeadProcess, what: string, work: () => Promise<void>): Promise<void> {
    for (let failures = 1; ; failures++) {
      this.#signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        if (this.#signal.aborted) throw error;
        const pause = backOffMs(failures, RECOVER_BACK_OFF);
        if (!isAbort(error)) {
          this.#options.logger.error(
            { process: dead.id, recoverer: what, code: codeOf(error), error: messageOf(error) },
            `recovering ${what} of ${dead.id} failed; again in ${pause} ms`,
          );
        }
        await this.#clock.sleep(pause, { signal: this.#signal });
      }
    }
  }
}

/** A process that will never write again. */
export interface DeadProcess {
  readonly id: string;
  /** The epoch under which it wrote; its rows carry it. */
  readonly epoch: number;
  readonly because: "stopped" | "silent" | "gone";
}

/**
 * Resumes the work of a dead process. Runs at least once per death, perhaps in several processes
 * one after another.
 */
export type Recoverer = (dead: DeadProcess, options: { signal: AbortSignal }) => Promise<void>;

export interface TakeoverOptions {
  readonly database: Database;
  readonly lease: ProcessLease;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly notifications?: Pick<Notifications, "publish" | "subscribe">;
}

/**
 * Milliseconds between two looks. Any process picks up within 1 s.
 */
const LOOK_EVERY = 1_000;
/**
 * After a look that found a process without connections, in milliseconds: long enough for a cut one
 * to connect again.
 */
const LOOK_AGAIN_AFTER = 250;
const RECOVER_BACK_OFF = { firstMs: 100, maxMs: 5_000 } as const;

interface Candidate {
  readonly id: string;
  readonly epoch: number;
  readonly machine: string;
  readonly pid: number;
  readonly pid_started: string;
  /** As text: the microseconds count. */
  readonly renewed: string;
  readonly silent: boolean;
  readonly disconnected: boolean;
}

/**
 * Whether a process is dead. Pure; the first rule that applies wins.
 *
 * Silence is the one rule that covers every kind of death. The others are short cuts for a restart
 * after a kill, and must not mistake a cut connection for a death: so no connection has to be there
 * in two looks, and a process that can be seen running on this machine is only dead by its silence.
 */
export function decideDeath(facts: {
  /** Not renewed for DEAD_AFTER, by the database's clock. */
  silent: boolean;
  /**
   * No connection of it, in a database that has been up since its last renewal, which is so old
   * that it is no proof to itself.
   */
  disconnected: boolean;
  disconnectedBefore: boolean;
  /** What this machine's kernel says; `elsewhere` when it cannot know. */
  here: "gone" | "running" | "elsewhere";
}): "alive" | "silent" | "gone" | "look-again" {
  if (facts.silent) return "silent";
  if (facts.here === "gone") return "gone";
  if (facts.here === "running") return "alive";
  if (!facts.disconnected) return "alive";

  return facts.disconnectedBefore ? "gone" : "look-again";
}

/**
 * Raises the epoch of a dead process: from the commit on nothing is written in its name. False when
 * another process was first, or when the process is alive.
 */
async function takeEpoch(
  tx: Transaction,
  dead: Candidate,
  because: "silent" | "gone",
  taker: ProcessLease,
): Promise<boolean> {
  const [turn] = await tx.query<{ mine: boolean }>(TAKERS_TURN, [dead.id]);
  if (!turn?.mine) return false;

  await taker.guard(tx);
  const [before] = await tx.query(UNCHANGED, [dead.id, dead.epoch, dead.renewed]);
  if (!before) return false;

  // A frozen holder may have a transaction open that holds the row; it is ended before we wait for
  // the row.
  await tx.query(END_SESSIONS, [dead.id]);
  await tx.query({ text: "set local lock_timeout = '3s'" });

  const [locked] = await tx.query(
    { ...UNCHANGED, name: "takeover.lock", text: `${UNCHANGED.text} for update` },
    [dead.id, dead.epoch, dead.renewed],
  );

  if (!locked) return false; // it renewed at the last moment: it lives, and connects again

  await tx.query(TAKE, [dead.id, because]);

  const event: NewPlatformEvent = {
    type: "process.taken_over",
    role: "system",
    data: { process: dead.id, epoch: dead.epoch, because, by: taker.id },
  };

  await tx.query({ name: "takeover.event", text: "select dure.emit($1)" }, [
    JSON.stringify([event]),
  ]);

  return true;
}

const LOOK = {
  name: "takeover.look",
  text: `
    select p.id, p.epoch, p.machine, p.pid, p.pid_started, p.renewed_at::text as renewed,
           p.renewed_at
             < clock_timestamp() - $2::double precision * interval '1 millisecond' as silent,
           pg_postmaster_start_time() < p.renewed_at
             and p.renewed_at < clock_timestamp() - $3::double precision * interval '1 millisecond'
             and not exists (
               select from pg_stat_activity a
                where a.application_name = 'dure:' || p.id
                  or starts_with(a.application_name, 'dure:' || p.id || ':')) as disconnected
      from dure.processes p
     where p.ended_at is null and p.id <> $1
     order by p.started_at
     limit 1000`,
};

const TAKERS_TURN = {
  name: "takeover.turn",
  text: "select pg_try_advisory_xact_lock(hashtextextended('dure:takeover:' || $1, 0)) as mine",
};

const UNCHANGED = {
  name: "takeover.unchanged",
  text: `select id
    from dure.processes
    where id = $1 and epoch = $2 and ended_at is null and renewed_at = $3::timestamptz`,
};

const END_SESSIONS = {
  name: "takeover.end-sessions",
  text: `
    select pg_terminate_backend(pid) from pg_stat_activity
     where (application_name = 'dure:' || $1
       or starts_with(application_name, 'dure:' || $1 || ':'))
       and pid <> pg_backend_pid()`,
};

const TAKE = {
  name: "takeover.take",
  text: `update dure.processes
    set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = $2
    where id = $1`,
};

/** Dead processes whose recovery is unclaimed, or claimed by this process or by a dead one. */
const CLAIM = {
  name: "takeover.claim",
  text: `
    update dure.processes p set recovering_by = $1
     where p.ended_at is not null and p.recovered_at is null
       and (p.recovering_by is null or p.recovering_by = $1
            or not exists (
              select
              from dure.processes r
              where r.id = p.recovering_by and r.ended_at is null
            ))
    returning p.id, p.epoch - 1 as epoch, p.ended_because as because`,
};

const RECOVERED = {
  name: "takeover.recovered",
  text: `
    update dure.processes
    set recovered_at = clock_timestamp()
    where id = $1 and recovering_by = $2`,
};
