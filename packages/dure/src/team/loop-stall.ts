import type { Clock } from "../kernel/clock.ts";

/** The loop is looked at this often, milliseconds. */
const LOOK_MS = 20;

/**
 * Measures how long the main thread did nothing but one thing. `monitorEventLoopDelay` of Node
 * would do, but after a reset it forgets the first stall that follows, so a scrape would hide it.
 */
export class LoopStall {
  readonly #clock: Clock;
  #lookedAt: number;
  #longestMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAt = clock.monotonic();
    clock.every(LOOK_MS, () => this.#look());
  }

  /** The longest since it was taken the last time, milliseconds. */
  take(): number {
    const longest = this.#longestMs;
    this.#longestMs = 0;
    return longest;
  }

  #look(): void {
    const now = this.#clock.monotonic();
    this.#longestMs = Math.max(this.#longestMs, now - this.#lookedAt - LOOK_MS);
    this.#lookedAt = now;
  }
}
