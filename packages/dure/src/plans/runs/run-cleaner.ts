/** Folders of runs that are over are removed, and old runs with them. */

import { isRunOver } from "../../kernel/plans.ts";
import type { Lease, Leases } from "../../durable/leases.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { RunCleaned, RunsCleaned } from "../../wire/runs.ts";
import type { Because } from "../../wire/plans.ts";
import { becauseOf } from "../rows/outcomes.ts";
import type { RunWork } from "../lead/leader-parts.ts";
import { emit, type RunRecords } from "../rows/records.ts";
import type { RunQueries } from "./run-queries.ts";
import type { PlanRun } from "../rows/run.ts";
import { eventOfRun } from "../rows/run-event.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import type { SweepRule } from "../../durable/retention.ts";
import type { Clock } from "../../kernel/clock.ts";

/** Which runs are cleaned, and how. */
export interface CleanRuns {
  readonly run?: string | undefined;
  /** Ended longer ago, milliseconds. Default 7 days. */
  readonly olderThanMs?: number | undefined;
  /** What is on no branch, or in no commit, goes too. */
  readonly force?: boolean | undefined;
  /** Removes nothing; says what would be done. */
  readonly dryRun?: boolean | undefined;
  /** Where the last page ended. */
  readonly after?: number | undefined;
  /** At most 100, which is the default. */
  readonly limit?: number | undefined;
}

/** The tenant whose runs are cleaned, and the callbacks. */
export interface CleanFor {
  /** Undefined: runs of all. */
  readonly tenant?: TenantView | undefined;
  /** Why the caller may not remove these files; undefined: it may. Default: all are removed. */
  readonly whyRefused?: ((run: PlanRun) => Promise<Because | undefined>) | undefined;
  /** Of this run files go from now on. */
  readonly onBegun?: ((run: string) => void) | undefined;
  /**
   * The caller does not wait any more: the run that is cleaned is cleaned to its end, and no other
   * is begun.
   */
  readonly asked?: AbortSignal | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface CleanerParts {
  readonly records: RunRecords;
  readonly queries: RunQueries;
  readonly leases: Leases;
  readonly logger: Logger;
  /** Of this machine. */
  readonly host: string;
  readonly work: (parts: { records: RunRecords; lease: Lease; run: PlanRun }) => RunWork;
  /** Wakes readers of events. */
  readonly announce: () => void;
}

/** One run that is cleaned, with what the caller wants. */
interface Cleaning {
  readonly run: PlanRun;
  readonly lease: Lease;
  readonly wanted: CleanRuns;
  readonly how: CleanFor;
  readonly signal: AbortSignal;
}

/** Runs that are cleaned by one request. */
const MAX_CLEAN = 100;
const CLEAN_AFTER_MS = 7 * 86_400_000;
const GOES_ON: Because = {
  code: "RUN_GOING",
  message: "It is running, or a request for it is open.",
  hint: "Cancel it, or look again when it has ended.",
};

/** Removes the files and refs of ended runs of this machine. */
export class RunCleaner {
  readonly #parts: CleanerParts;

  constructor(parts: CleanerParts) {
    this.#parts = parts;
  }

  /** See `Runs.clean`. */
  async clean(wanted: CleanRuns, how: CleanFor, signal: AbortSignal): Promise<RunsCleaned> {
    if (wanted.run !== undefined) {
      const run = await this.#runHere(wanted.run, how.tenant);
      return { items: [await this.#cleanOne(run, wanted, how, signal)], next: null };
    }
    const { records, host } = this.#parts;
    const limit = Math.min(wanted.limit ?? MAX_CLEAN, MAX_CLEAN);
    const after = wanted.after ?? 0;
    const found = await records.hosts.cleanable({
      tenant: how.tenant,
      host,
      olderThanMs: wanted.olderThanMs ?? CLEAN_AFTER_MS,
      after,
      limit,
    });
    const items: RunCleaned[] = [];
    let next = after;
    for (const { id, seq } of found) {
      signal.throwIfAborted();
      if (how.asked?.aborted) return { items, next };
      items.push(await this.#cleanOne(id, wanted, how, signal));
      next = seq;
    }
    return { items, next: found.length === limit ? found.at(-1)!.seq : null };
  }

  /** Throws `RUN_UNKNOWN`, `RUN_ELSEWHERE`. */
  async #runHere(id: string, tenant: TenantView | undefined): Promise<string> {
    const run = await this.#parts.queries.find(id, tenant === undefined ? "" : tenant);
    if (run.host === this.#parts.host) return run.id;
    throw new DureError("RUN_ELSEWHERE", `The files of the run ${run.id} are on another machine.`, {
      class: "conflict",
      hint: `Ask a server on ${run.host}.`,
    });
  }

  /** Rejects with the abort of `signal` alone. */
  async #cleanOne(
    id: string,
    wanted: CleanRuns,
    how: CleanFor,
    signal: AbortSignal,
  ): Promise<RunCleaned> {
    const { records, leases, logger } = this.#parts;
    try {
      const held = await leases.hold(
        `run:${id}`,
        async (lease, { signal: whileHeld }) => {
          const run = (await records.run(id))!;
          return this.#cleanHeld({ run, lease, wanted, how, signal: whileHeld });
        },
        { signal },
      );
      return held.ok ? held.value : kept((await records.run(id))!, GOES_ON);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn(
        { run: id, code: codeOf(error), error: messageOf(error) },
        `run ${id} could not be cleaned`,
      );
      return kept((await records.run(id))!, becauseOf(error));
    }
  }

  /** The lease is held: no leader works on the run. */
  async #cleanHeld(cleaning: Cleaning): Promise<RunCleaned> {
    const { run, lease, wanted, how, signal } = cleaning;
    const { records, logger, announce } = this.#parts;
    const because = await this.#whyKept(cleaning);
    if (because) return kept(run, because);
    const done: RunCleaned = { run: run.id, plan: run.plan.name, outcome: "cleaned" };
    if (wanted.dryRun) return done;
    if (!(await this.#begin(run, lease))) return kept(run, GOES_ON);

    how.onBegun?.(run.id);
    const work = this.#parts.work({ records, lease, run });
    await work.clear(run, { signal });
    await work.remove(run, { signal });
    await records.write(lease, (tx) => records.cleaned(tx, run.id));
    announce();
    logger.info(
      { run: run.id },
      `the files and refs of run ${run.id} of ${run.plan.name} were cleaned away`,
    );
    return done;
  }

  /** Undefined: its files may go. A run of which a part is gone is not asked about again. */
  async #whyKept({ run, lease, wanted, how, signal }: Cleaning): Promise<Because | undefined> {
    const { records } = this.#parts;
    const wasBegun = run.cleanedAt !== null;
    const [ports, steps, orders] = await Promise.all([
      records.ports(run.id),
      records.steps.of(run.id),
      records.orders.open(run.id),
    ]);
    if (!wasBegun && (!isRunOver(run.status) || orders.length > 0)) return GOES_ON;
    const refused = await how.whyRefused?.(run);
    if (refused) return refused;
    if (wanted.force || wasBegun) return undefined;
    return this.#parts.work({ records, lease, run }).whyKept(run, ports, steps, { signal });
  }

  /**
   * From here on no leader begins anything on the run. A process that dies in the middle leaves a
   * run that is cleaned to its end next time. False: an order came meanwhile.
   */
  async #begin(run: PlanRun, lease: Lease): Promise<boolean> {
    const { records } = this.#parts;
    return records.write(lease, async (tx) => {
      const isFree = await records.beginClean(tx, run.id);
      if (!isFree || run.cleanedAt !== null) return isFree;
      await emit(tx, [eventOfRun(run, "run.cleaned", {})]);
      return true;
    });
  }
}

function kept(run: PlanRun, because: Because): RunCleaned {
  return { run: run.id, plan: run.plan.name, outcome: "kept", because };
}

interface OldRunsParts {
  readonly clean: (wanted: CleanRuns) => Promise<RunsCleaned>;
  /** See `RunsOptions`. */
  readonly keepFilesMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Runs that are cleaned by themselves each hour; one takes some tenths of a second. */
const CLEAN_AT_ONCE = 20;
const CLEAN_EVERY_MS = 3_600_000;
const KEEP_FILES_MS = 90 * 86_400_000;
/** Ended runs that go by themselves: their files every hour, their rows with the sweep. */
export class OldRuns {
  readonly #parts: OldRunsParts;
  readonly #cleaning: Poller;
  /** The last run that was looked at for cleaning, by its number. */
  #cleanAfter = 0;

  constructor(parts: OldRunsParts) {
    this.#parts = parts;
    this.#cleaning = new Poller({
      what: "old runs to clean",
      poll: () => this.#cleanOld(),
      everyMs: CLEAN_EVERY_MS,
      clock: parts.clock,
      logger: parts.logger,
      signal: parts.signal,
    });
  }

  start(): void {
    this.#cleaning.start({ inMs: CLEAN_EVERY_MS });
  }

  async stop(): Promise<void> {
    await this.#cleaning.stop();
  }

  /** Every hour some runs that are old enough, one page after the other. */
  async #cleanOld(): Promise<PollResult> {
    const { keepFilesMs = KEEP_FILES_MS } = this.#parts;
    const { next } = await this.#parts.clean({
      olderThanMs: keepFilesMs,
      after: this.#cleanAfter,
      limit: CLEAN_AT_ONCE,
    });
    this.#cleanAfter = next ?? 0;

    return "idle";
  }
}

/**
 * Rows of ended runs age with their files: what could still be merged is known as long as it is
 * there. Files on a machine that is gone are removed by no process.
 */
export function rowsOfOldRuns(): SweepRule {
  return {
    name: "plan-runs",
    keep: "90d",
    sweep: async (tx, { keepMs, limit }) => (await tx.query(PURGE, [keepMs, limit])).length,
  };
}

/** Cleaned ones, and those of machines that have not been seen for as long. */
const PURGE = {
  name: "plan.purge",
  text: `delete from dure.plan_runs where id in (
      select r.id from dure.plan_runs r
      where r.finished_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
        and (r.cleaned_at is not null
          or not exists (
            select 1 from dure.plan_hosts h
            where h.host = r.host
              and h.seen_at > clock_timestamp() - $1::double precision * interval '1 millisecond'
          ))
      limit $2
    )
    returning id`,
};
