import { systemClock, withTimeout, type Clock } from "../kernel/clock.ts";
import { codeOf, messageOf, ProcessError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, Transaction } from "./database.ts";
import { confirmHold } from "./lease-proof.ts";
import { DEAD_AFTER, fenced, RENEW_EVERY, type ProcessLease } from "./processes.ts";

/**
 * The right to do one thing alone: `bot:<id>`, `run:<id>`, `retention`. A name has one holder at
 * most, under an epoch that grows with each change; it is free when its holder gave it back, died,
 * or has not renewed it for 6 s.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #clock: Clock;

  constructor(options: LeasesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Undefined while another living holder has it. */
  async acquire(name: string): Promise<Lease | undefined> {
    return this.#take(name, "when-free");
  }

  /** Takes it even from a living holder, who is fenced from then on. For operators. */
  async takeOver(name: string): Promise<Lease> {
    return (await this.#take(name, "by-force"))!;
  }

  /** False when it is held by another by now: stop at once. */
  async renew(lease: Lease): Promise<boolean> {
    return (
      (await this.#options.database.query(RENEW, [lease.name, lease.holder, lease.epoch]))
        .length === 1
    );
  }

  /** Free for others at once. A lease that is lost already is left alone. */
  async release(lease: Lease): Promise<void> {
    await this.#options.database.query(RELEASE, [lease.name, lease.holder, lease.epoch]);
  }

  /**
   * Before work under `name` asks or pays for something outside: throws FENCED when it is no longer
   * this process's.
   */
  async confirm(name: string): Promise<void> {
    const { lease, database } = this.#options;
    const look = async (): Promise<void> => {
      const [held] = await database.query(HELD, [name, lease.id, lease.epoch]);
      if (!held) throw fenced(`${lease.id} as holder of ${name}`, "taken-over");
    };

    await confirmHold({ isFresh: () => lease.isFresh, clock: this.#clock, look });
  }

  /**
   * Reads the lease row FOR KEY SHARE: until `tx` ends no other process takes it over. Throws
   * FENCED if one has.
   */
  async guard(tx: Transaction, lease: Lease): Promise<void> {
    const [row] = await tx.query<{ epoch: number; holder: string | null }>(GUARD, [lease.name]);
    if (row?.epoch === lease.epoch && row.holder === lease.holder) return;
    throw fenced(`${lease.holder} as holder of ${lease.name}`, "taken-over");
  }

  /**
   * Acquires `name`, renews it every 2 s while `work` runs, and releases it. The signal given to
   * `work` aborts with FENCED when the lease is lost or could not be renewed for 6 s. Returns
   * `held-by-another` without running `work` when it is not free.
   */
  async hold<T>(
    name: string,
    work: (lease: Lease, options: { signal: AbortSignal }) => Promise<T>,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<{ ok: true; value: T } | { ok: false; because: "held-by-another" }> {
    options.signal?.throwIfAborted();
    const lease = await this.acquire(name);
    if (!lease) return { ok: false, because: "held-by-another" };

    const lost = new AbortController();
    const done = new AbortController();

    const signals = [
      lost.signal,
      this.#options.lease.signal,
      ...(options.signal ? [options.signal] : []),
    ];

    const renewing = this.#renewUntil(lease, done.signal, lost);

    try {
      return { ok: true, value: await work(lease, { signal: AbortSignal.any(signals) }) };
    } finally {
      done.abort(new DOMException("The work is done.", "AbortError"));
      await renewing;
      if (!lost.signal.aborted) {
        await this.release(lease).catch((error: unknown) =>
          this.#options.logger.warn(
            { lease: name, error: messageOf(error) },
            `lease ${name} could not be released; it runs out after ${DEAD_AFTER} ms`,
          ),
        );
      }
    }
  }

  async #take(name: string, how: "when-free" | "by-force"): Promise<Lease | undefined> {
    const { database, lease: process } = this.#options;
    try {
      return await database.transaction(async (tx) => {
        await process.guard(tx);
        await tx.query(CREATE, [name]);
        // FOR UPDATE waits for writers that are guarded by this lease: after it none of them is
        // under way.
        await tx.query({ text: "set local lock_timeout = '4s'" });
        await tx.query(LOCK, [name]);

        const [row] = await tx.query<{ epoch: number }>(TAKE, [
          name,
          process.id,
          DEAD_AFTER,
          how === "by-force",
        ]);

        return row && { name, holder: process.id, epoch: row.epoch };
      });
    } catch (error) {
      if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error;
      if (how === "when-free") return undefined;
      throw new ProcessError("LEASE_BUSY", `Lease ${name} is being written under by its holder.`, {
        class: "conflict",
        hint: "Try again in a moment.",
        cause: error,
      });
    }
  }

  async #renewUntil(lease: Lease, done: AbortSignal, lost: AbortController): Promise<void> {
    let renewedAt = this.#clock.monotonic();
    while (!done.aborted) {
      await this.#clock.sleep(RENEW_EVERY, { signal: done }).catch(() => {});
      if (done.aborted) return;
      const sentAt = this.#clock.monotonic();
      if (sentAt - renewedAt > DEAD_AFTER) {
        return lost.abort(fenced(`${lease.holder} as holder of ${lease.name}`, "not-renewed"));
      }
      try {
        const kept = await withTimeout(
          this.#clock,
          RENEW_EVERY,
          () => new Error(`no answer within ${RENEW_EVERY} ms`),
          () => this.renew(lease),
        );
        if (!kept) {
          return lost.abort(fenced(`${lease.holder} as holder of ${lease.name}`, "taken-over"));
        }
        renewedAt = sentAt;
      } catch (error) {
        this.#options.logger.warn(
          { lease: lease.name, error: messageOf(error) },
          `lease ${lease.name} could not be renewed; again in ${RENEW_EVERY} ms`,
        );
      }
    }
  }
}

export interface Lease {
  readonly name: string;
  /** The id of the holding process. */
  readonly holder: string;
  readonly epoch: number;
}

export interface LeasesOptions {
  readonly database: Database;
  /** A fenced process holds no lease. */
  readonly lease: ProcessLease;
  readonly logger: Logger;
  readonly clock?: Clock;
}

const LOCK_NOT_AVAILABLE = "55P03";

const HELD = {
  name: "lease.held",
  text: `
    select
    from dure.leases l
    join dure.processes p on p.id = l.holder
     where l.name = $1 and l.holder = $2 and p.epoch = $3 and p.ended_at is null`,
};

const CREATE = {
  name: "lease.create",
  text: `
    insert into dure.leases (name)
    values ($1)
    on conflict (name) do nothing`,
};

const LOCK = { name: "lease.lock", text: "select from dure.leases where name = $1 for update" };

const TAKE = {
  name: "lease.take",
  text: `
    update dure.leases l
       set holder = $2, epoch = epoch + 1,
         acquired_at = clock_timestamp(), renewed_at = clock_timestamp()
     where name = $1
       and ($4::boolean or holder is null
            or renewed_at < clock_timestamp() - $3::double precision * interval '1 millisecond'
            or exists (
              select
              from dure.processes p
              where p.id = l.holder and p.ended_at is not null
            ))
    returning epoch`,
};

const RENEW = {
  name: "lease.renew",
  text: `update dure.leases
    set renewed_at = clock_timestamp()
    where name = $1 and holder = $2 and epoch = $3
    returning epoch`,
};

const RELEASE = {
  name: "lease.release",
  text: `
    update dure.leases
    set holder = null
    where name = $1 and holder = $2 and epoch = $3`,
};

const GUARD = {
  name: "lease.guard",
  text: `
    select epoch, holder
    from dure.leases
    where name = $1
    for key share`,
};
