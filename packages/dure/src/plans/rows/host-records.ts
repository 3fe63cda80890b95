import type { Database, Transaction } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import { codeOf } from "../../kernel/errors.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import { LISTEN_SLOTS } from "./listen.ts";
import type { RunRecords } from "./records.ts";

/** Rows that one statement reads of a list. */
const PAGE = 200;
/** Other runs that may take the same slot of TCP ports in the same moment. */
const MAX_CLAIMS = 20;
/** Source: PostgreSQL, appendix A. */
const UNIQUE_VIOLATION = "23505";

/** The rows of runs by their machine: which want a leader, which are old, whose machine is gone. */
export class HostRecords {
  readonly #database: Database;
  readonly #records: Pick<RunRecords, "write">;

  constructor(database: Database, records: Pick<RunRecords, "write">) {
    this.#database = database;
    this.#records = records;
  }

  /**
   * A slot of TCP ports that no other run of this machine has. Kept by a run that has one; runs
   * beyond the last slot go without.
   */
  async claimListenSlot(lease: Lease, run: string): Promise<void> {
    for (let tries = 1; tries <= MAX_CLAIMS; tries++) {
      try {
        return await this.#records.write(
          lease,
          async (tx) => void (await tx.query(CLAIM_LISTEN, [run, LISTEN_SLOTS])),
        );
      } catch (error) {
        if (codeOf(error) !== UNIQUE_VIOLATION) throw error; // another run took the same one in this moment
      }
    }
  }

  async releaseListenSlot(lease: Lease, run: string): Promise<void> {
    await this.#records.write(lease, (tx) => tx.query(RELEASE_LISTEN, [run]));
  }

  /** Runs of this machine that want a leader: they go on, or have an open order. */
  async waiting(host: string, known: readonly string[]): Promise<readonly string[]> {
    return (await this.#database.query<{ id: string }>(WAITING, [host, [...known]])).map(
      ({ id }) => id,
    );
  }

  /** A process of this machine lives. */
  async hostSeen(host: string): Promise<void> {
    await this.#database.query(HOST_SEEN, [host]);
  }

  /** Runs of other machines that wait for theirs, which is still gone. */
  async deserted(host: string, afterMs: number): Promise<readonly string[]> {
    return (await this.#database.query<{ id: string }>(DESERTED, [host, afterMs])).map(
      ({ id }) => id,
    );
  }

  /**
   * Runs whose machine has had no living process for `afterMs`: no process can go on with them. Gives
   * those that were not known to be so.
   */
  async orphaned(
    tx: Transaction,
    afterMs: number,
  ): Promise<readonly { id: string; host: string; tenant: string; plan: string }[]> {
    return tx.query(ORPHANED, [afterMs]);
  }

  /**
   * Ended runs of a machine whose files are there, oldest first, and those of which a part is gone.
   * `tenant` null or undefined: of all.
   */
  async cleanable(about: {
    tenant: TenantView | undefined;
    host: string;
    olderThanMs: number;
    after: number;
    limit: number;
  }): Promise<readonly { id: string; seq: number }[]> {
    return this.#database.query(CLEANABLE, [
      about.tenant ?? null,
      about.host,
      about.olderThanMs,
      about.after,
      Math.min(about.limit, PAGE),
    ]);
  }
}

const WAITING = {
  name: "plan.waiting",
  text: `select r.id
    from dure.plan_runs r
    left join dure.leases l on l.name = 'run:' || r.id
    where r.host = $1 and r.id <> all($2::text[])
      and (r.status in ('running', 'paused', 'cancelling', 'waiting_host')
        or exists (select 1 from dure.plan_orders o where o.run = r.id and o.outcome is null))
      and (l.holder is null
        or l.renewed_at < clock_timestamp() - interval '6 seconds'
        or exists (
          select 1
          from dure.processes p
          where p.id = l.holder and p.ended_at is not null
        ))
    order by r.seq
    limit 50`,
};
const CLEANABLE = {
  name: "plan.cleanable",
  text: `select id, seq
    from dure.plan_runs
    where host = $2 and ($1::text is null or tenant = $1) and cleaned_at is null and seq > $4
      and (clean_began_at is not null
        or (finished_at <= clock_timestamp() - $3::double precision * interval '1 millisecond'
          and status in ('success', 'partial', 'failed', 'cancelled')))
    order by seq
    limit $5`,
};
const HOST_SEEN = {
  name: "plan.host_seen",
  text: `insert into dure.plan_hosts (host) values ($1)
    on conflict (host) do update set seen_at = clock_timestamp()`,
};
const CLAIM_LISTEN = {
  name: "plan.claim_listen",
  text: `update dure.plan_runs r set listen_slot = (
      select min(slot)
      from generate_series(0, $2::integer - 1) slot
      where not exists (
        select 1
        from dure.plan_runs o
        where o.host = r.host and o.listen_slot = slot
      ))
    where r.id = $1 and r.listen_slot is null`,
};
const RELEASE_LISTEN = {
  name: "plan.release_listen",
  text: `update dure.plan_runs set listen_slot = null
    where id = $1 and listen_slot is not null`,
};
const DESERTED = {
  name: "plan.deserted",
  text: `select r.id
    from dure.plan_runs r
    where r.status = 'waiting_host' and r.host <> $1
      and not exists (
        select 1 from dure.plan_hosts h
        where h.host = r.host
          and h.seen_at > clock_timestamp() - $2::double precision * interval '1 millisecond'
      )
    order by r.seq
    limit 50`,
};
const ORPHANED = {
  name: "plan.orphaned",
  text: `update dure.plan_runs r set
      status = 'waiting_host', status_before = r.status, listen_slot = null,
      updated_at = clock_timestamp()
    where r.status in ('running', 'paused', 'cancelling')
      and r.created_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
      and not exists (
        select 1 from dure.plan_hosts h
        where h.host = r.host
          and h.seen_at > clock_timestamp() - $1::double precision * interval '1 millisecond'
      )
    returning r.id, r.host, r.tenant, r.plan`,
};
