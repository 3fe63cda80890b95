import { Poller, type PollResult } from "../durable/poller.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { JobLimits } from "./limits.ts";
import type { JobStore, RetryAsked } from "./store.ts";

interface TendingParts {
  readonly store: JobStore;
  readonly limits: JobLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** See `Jobs.retry`. */
  readonly retry: (asked: RetryAsked) => Promise<unknown>;
}

/**
 * How often running time is counted and loose ends are looked for, in
 * milliseconds. The permit's 30 s are counted by it.
 */
const TEND_EVERY_MS = 1_000;
/**
 * Running time that one count adds at most, in milliseconds: a jump of the
 * clock is no running time: two ticks.
 */
const MAX_STEP_MS = 2_000;
const STALE_EVERY_MS = 60_000;

/**
 * Counts running time, tries again what people asked for, and gives up what is
 * stale.
 */
export class JobTimekeeping {
  readonly #parts: TendingParts;
  readonly #poller: Poller;
  #staleAt = 0;

  constructor(parts: TendingParts) {
    this.#parts = parts;
    this.#poller = new Poller({
      what: "loose ends of jobs",
      poll: () => this.#tend(),
      everyMs: TEND_EVERY_MS,
      clock: parts.clock,
      logger: parts.logger,
      signal: parts.signal,
    });
  }

  start(): void {
    this.#poller.start({ inMs: TEND_EVERY_MS });
  }

  async stop(): Promise<void> {
    await this.#poller.stop();
  }

  async #tend(): Promise<PollResult> {
    const { store, clock, limits } = this.#parts;
    await store.tend(MAX_STEP_MS);
    for (const asked of await store.retriesAsked()) await this.#retry(asked);
    const now = clock.monotonic();
    if (now - this.#staleAt >= STALE_EVERY_MS) {
      this.#staleAt = now;
      await store.abandonStale(limits.staleMs);
    }
    return "idle";
  }

  async #retry(asked: RetryAsked): Promise<void> {
    const { store, logger, retry } = this.#parts;
    const { escalation, job } = asked;
    try {
      await retry(asked);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // Purged meanwhile, or no longer allowed: asking again each second
      // changes nothing.
      logger.warn(
        { job, code: error.code, error: error.message },
        `job ${job} is not tried again: ${error.message}`,
      );
    }
    await store.retryUsed(escalation);
  }
}

/** It would come again. */
function isRefusal(error: unknown): error is DureError {
  return error instanceof DureError && error.class !== "internal" && error.class !== "unavailable";
}
