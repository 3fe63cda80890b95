import type { Cancel, Clock } from "../../kernel/clock.ts";

/** The time of one try. It stands still while it is held. */
export class TryTime {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #leftMs: number;
  #runsSince: number;
  #cancel: Cancel;

  constructor(clock: Clock, ms: number, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
    this.#leftMs = ms;
    this.#runsSince = clock.monotonic();
    this.#cancel = clock.after(ms, onOver);
  }

  /** What is left stays until the returned function is called. */
  hold(): Cancel {
    this.end();
    this.#leftMs -= this.#clock.monotonic() - this.#runsSince;
    return () => {
      this.#runsSince = this.#clock.monotonic();
      this.#cancel = this.#clock.after(Math.max(0, this.#leftMs), this.#onOver);
    };
  }

  end(): void {
    this.#cancel();
  }
}
