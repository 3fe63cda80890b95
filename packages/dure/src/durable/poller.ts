import type { Cancel, Clock } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";

/** When to poll next: at once (`more`), after the usual pause (`idle`), or after its own pause. */
export type PollResult = "more" | "idle" | { readonly pauseMs: number };

export interface PollerOptions {
  /** What it polls for, in log lines: "could not look for jobs; looking again in 800 ms". */
  readonly what: string;
  /** Polls once. `stop` aborts its signal; an error it throws costs at most one log line. */
  readonly poll: (signal: AbortSignal) => Promise<PollResult>;
  /** Between two polls, milliseconds. A lost wake-up delays work by this much at most. */
  readonly everyMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** When aborted, no further poll begins, as after `stop`: this process's lease has ended. */
  readonly signal?: AbortSignal | undefined;
  /** For the jitter of the pause after a failure. */
  readonly random?: (() => number) | undefined;
}

/**
 * The longest pause after failed polls, in milliseconds, unless the usual one is longer. Source:
 * docs/spec/jobs §6, resume begins within 2 s.
 */
const MAX_FAILURE_PAUSE_MS = 2_000;

/**
 * Polls for waiting rows: at an interval and on each wake-up, one poll at a time. A wake-up during a
 * poll causes exactly one more. A failed poll is retried with a growing pause, and logged when the
 * reason changes and at the 1st, 2nd, 4th … failure in a row. Nothing here rejects.
 */
export class Poller {
  readonly #options: PollerOptions;
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  #isStarted = false;
  #isAsked = false;
  #polling: Promise<void> | undefined;
  #cancelNext: Cancel | undefined;
  #waking: NodeJS.Immediate | undefined;
  /** In a row. */
  #failures = 0;
  #lastError = "";

  constructor(options: PollerOptions) {
    this.#options = options;
    const { signal } = options;
    this.#signal = signal ? AbortSignal.any([this.#over.signal, signal]) : this.#over.signal;
  }

  /** Polls at once, or `inMs` from now, and from then on at the interval. Idempotent. */
  start({ inMs = 0 }: { inMs?: number } = {}): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    if (inMs === 0) void this.poll();
    else if (!this.#polling) this.#pollIn(inMs);
  }

  /**
   * Polls now, or once more after the poll that is running. Wake-ups in one turn of the event loop are
   * one. Does nothing before `start`.
   */
  wake(): void {
    if (!this.#isStarted || this.#waking !== undefined) return;
    this.#waking = setImmediate(() => {
      this.#waking = undefined;
      void this.poll();
    });
  }

  /** Resolves when no poll is running. */
  get settled(): Promise<void> {
    return this.#polling ?? Promise.resolve();
  }

  /** Polls now, also before `start`. Resolves when a poll that began after this call has ended. */
  poll(): Promise<void> {
    if (!this.#signal.aborted) {
      this.#isAsked = true;
      this.#polling ??= this.#pollWhileAsked();
    }
    return this.settled;
  }

  /** No poll begins after this. Waits for the running one. Idempotent. */
  async stop(): Promise<void> {
    this.#cancelNext?.();
    this.#over.abort(new DOMException("Polling was stopped.", "AbortError"));
    await this.#polling;
  }

  async #pollWhileAsked(): Promise<void> {
    this.#cancelNext?.();
    let pauseMs = this.#options.everyMs;

    while (this.#isAsked && !this.#signal.aborted) {
      this.#isAsked = false;
      pauseMs = await this.#pollOnce();
    }

    // Without an await since the loop's last check, so no wake-up is lost in between.
    this.#polling = undefined;
    if (this.#isStarted) this.#pollIn(pauseMs);
  }

  /** Milliseconds until the next poll. */
  async #pollOnce(): Promise<number> {
    const { poll, everyMs } = this.#options;
    try {
      const result = await poll(this.#signal);
      this.#afterSuccess();
      if (result === "more") this.#isAsked = true;
      return typeof result === "string" ? everyMs : result.pauseMs;
    } catch (error) {
      return this.#afterFailure(error);
    }
  }

  #afterFailure(error: unknown): number {
    const { what, logger, everyMs, random = Math.random } = this.#options;
    const code = codeOf(error);
    // This process has closed its database: it is about to end.
    if (this.#signal.aborted || code === "DATABASE_CLOSED") return everyMs;

    this.#failures += 1;
    const longestMs = Math.max(everyMs, MAX_FAILURE_PAUSE_MS);
    const doubledMs = Math.min(everyMs * 2 ** this.#failures, longestMs);
    const pauseMs = Math.round(doubledMs * (0.5 + 0.5 * random()));

    const failure = messageOf(error);
    // The 1st, 2nd, 4th and so on: an outage does not flood the log.
    const isTold = failure !== this.#lastError || Number.isInteger(Math.log2(this.#failures));
    this.#lastError = failure;
    if (isTold) {
      logger.warn(
        { code, error: failure, failures: this.#failures },
        `could not look for ${what}; looking again in ${pauseMs} ms`,
      );
    }

    return pauseMs;
  }

  #afterSuccess(): void {
    const { what, logger } = this.#options;
    if (this.#failures > 1) {
      logger.info({ failures: this.#failures }, `looks for ${what} work again`);
    }
    this.#failures = 0;
    this.#lastError = "";
  }

  #pollIn(ms: number): void {
    this.#cancelNext?.();
    if (this.#signal.aborted) return;
    this.#cancelNext = this.#options.clock.after(ms, () => void this.poll());
  }
}
