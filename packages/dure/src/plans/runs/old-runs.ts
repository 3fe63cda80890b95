import { Poller, type PollResult } from "../../durable/poller.ts";
import type { SweepRule } from "../../durable/retention.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { RunsCleaned } from "../../wire/runs.ts";
import type { CleanRuns } from "./run-cleaner.ts";

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
