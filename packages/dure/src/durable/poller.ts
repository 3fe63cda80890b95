import type { Cancel, Clock } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";

/**
 * What a look found out about the next one: at once, after the usual pause, or
 * after a pause of its own.
 */
export type LookResult = "again" | "rest" | { readonly pauseMs: number };

export interface LookerOptions {
  /**
   * What is looked for, in log lines: "could not look for jobs; looking again
   * in 800 ms".
   */
  readonly what: string;
  /**
   * One look. Its signal aborts with `stop`; whatever it throws costs one log
   * line at most.
   */
  readonly look: (signal: AbortSignal) => Promise<LookResult>;
  /**
   * Between two looks, milliseconds. A wake-up may be lost; a look finds what
   * waits.
   */
  readonly everyMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * After it no look begins, as after `stop`: the end of this process's lease.
   */
  readonly signal?: AbortSignal | undefined;
  /** For the jitter of the pause after a failure. */
  readonly random?: (() => number) | undefined;
}

/**
 * The longest pause after failed looks, in milliseconds, where the usual one is
 * shorter. Source: docs/spec/jobs §6, resume begins within 2 s.
 */
const MAX_FAILURE_PAUSE_MS = 2_000;

/**
 * Looks for rows that wait: now and then, and at each wake-up; one look at a
 * time. A wake-up during a look causes exactly one more. A look that fails
 * follows again, later with each failure in a row. It is logged where the reason
 * is new, and now and then while it stays the same. Nothing here rejects.
 */
export class Looker {
  readonly #options: LookerOptions;
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  #isStarted = false;
  #isAsked = false;
  #looking: Promise<void> | undefined;
  #cancelNext: Cancel | undefined;
  /** In a row. */
  #failures = 0;
  #lastError = "";

  constructor(options: LookerOptions) {
    this.#options = options;
    const { signal } = options;
    this.#signal = signal ? AbortSignal.any([this.#over.signal, signal]) : this.#over.signal;
  }

  /**
   * Looks at once, or first `inMs` from now, and from then on again and again.
   * Idempotent.
   */
  start({ inMs = 0 }: { inMs?: number } = {}): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    if (inMs === 0) this.wake();
    else if (!this.#looking) this.#lookIn(inMs);
  }

  /**
   * Looks now, or once more when a look is under way. Before the start it does
   * nothing.
   */
  wake(): void {
    if (this.#isStarted) void this.look();
  }

  /** Resolves when no look is under way. */
  get looked(): Promise<void> {
    return this.#looking ?? Promise.resolve();
  }

  /**
   * Looks now, also before the start. Resolves when a look that began after
   * this call, and all that it has led to at once, is over.
   */
  look(): Promise<void> {
    if (!this.#signal.aborted) {
      this.#isAsked = true;
      this.#looking ??= this.#lookWhileAsked();
    }
    return this.looked;
  }

  /** No look begins after this. Waits for the one that runs. Idempotent. */
  async stop(): Promise<void> {
    this.#cancelNext?.();
    this.#over.abort(new DOMException("The looks were stopped.", "AbortError"));
    await this.#looking;
  }

  async #lookWhileAsked(): Promise<void> {
    this.#cancelNext?.();
    let pauseMs = this.#options.everyMs;

    while (this.#isAsked && !this.#signal.aborted) {
      this.#isAsked = false;
      pauseMs = await this.#lookOnce();
    }

    // In the same breath as the last question of the loop: a wake-up is never
    // lost between them.
    this.#looking = undefined;
    if (this.#isStarted) this.#lookIn(pauseMs);
  }

  /** The milliseconds until the next look. */
  async #lookOnce(): Promise<number> {
    const { look, everyMs } = this.#options;
    try {
      const result = await look(this.#signal);
      this.#afterSuccess();
      if (result === "again") this.#isAsked = true;
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
    // The first, the second, the fourth and so on: an outage is no flood.
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

  #lookIn(ms: number): void {
    this.#cancelNext?.();
    if (this.#signal.aborted) return;
    this.#cancelNext = this.#options.clock.after(ms, () => this.wake());
  }
}
