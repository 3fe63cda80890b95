import type { Database } from "../durable/database.ts";
import { Poller, type PollResult } from "../durable/poller.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";

interface EndedParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when this process waits for nothing any more. */
  readonly signal: AbortSignal;
}

/** A waiting call looks for the end at least this often, in milliseconds. */
const LOOK_EVERY_MS = 500;

/**
 * Calls that wait for the end of a job; one question to the database for all of
 * them.
 */
export class EndedJobs {
  readonly #parts: EndedParts;
  readonly #poller: Poller;
  readonly #waiters = new Map<string, Set<() => void>>();

  constructor(parts: EndedParts) {
    this.#parts = parts;
    this.#poller = new Poller({
      what: "jobs that have ended",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock: parts.clock,
      logger: parts.logger,
      signal: parts.signal,
    });
  }

  start(): void {
    this.#poller.start();
  }

  /** A job may have ended. */
  wake(): void {
    this.#poller.wake();
  }

  async stop(): Promise<void> {
    await this.#poller.stop();
  }

  /** False when it has not ended within `waitMs`. */
  async until(id: string, waitMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { clock } = this.#parts;
    let hasEnded = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const onEnd = (): void => {
      hasEnded = true;
      resolve();
    };
    const waiting = this.#waiters.get(id) ?? new Set();
    this.#waiters.set(id, waiting.add(onEnd));
    const cancel = clock.after(waitMs, resolve);
    const signals = signal ? [signal, this.#parts.signal] : [this.#parts.signal];
    const onAbort = (): void => resolve();
    for (const one of signals) one.addEventListener("abort", onAbort, { once: true });
    if (signals.some((one) => one.aborted)) resolve();
    void this.#poller.poll();
    try {
      await promise;
      if (!hasEnded) for (const one of signals) one.throwIfAborted();
      return hasEnded;
    } finally {
      cancel();
      for (const one of signals) one.removeEventListener("abort", onAbort);
      waiting.delete(onEnd);
      if (waiting.size === 0) this.#waiters.delete(id);
    }
  }

  async #look(): Promise<PollResult> {
    if (this.#waiters.size === 0) return "idle";
    const ended = await this.#parts.database.query<{ id: string }>(ENDED, [
      [...this.#waiters.keys()],
    ]);
    for (const { id } of ended) for (const onEnd of this.#waiters.get(id) ?? []) onEnd();
    return "idle";
  }
}

const ENDED = {
  name: "job.ended",
  text: `
    select id
    from dure.jobs
    where id = any($1) and finished_at is not null`,
};
