import type { Clock } from "../kernel/clock.ts";

/** The main thread looks at the clock this often, milliseconds. */
const LOOK_MS = 500;
/**
 * A gap between two looks that is longer was a stop of the process, not a busy moment,
 * milliseconds. Source: four looks that were missed.
 */
const STOOD_STILL_MS = 2_000;

/**
 * Knows whether the process stood still a moment ago: stopped by a signal, suspended with its
 * machine. After that all its timers are late at once, and a client that was prompt looks slow.
 */
export class SuspendDetector {
  readonly stop: () => void;
  readonly #clock: Clock;
  #lookedAt: number;
  #wokeAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAt = clock.monotonic();
    this.stop = clock.every(LOOK_MS, () => this.#look());
  }

  /** Whether it woke within the last `ms`, also when it has had no time to look since. */
  endedWithin(ms: number): boolean {
    this.#look();
    return this.#clock.monotonic() - this.#wokeAt <= ms;
  }

  #look(): void {
    const now = this.#clock.monotonic();
    if (now - this.#lookedAt > STOOD_STILL_MS) this.#wokeAt = now;
    this.#lookedAt = now;
  }
}
