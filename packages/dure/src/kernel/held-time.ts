import type { Cancel, Clock } from "./clock.ts";

/** What some work may take. The time stands still while it is stopped. */
export class HeldTime {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #leftMs: number;
  #since = 0;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, ms: number, onOver: () => void) {
    this.#clock = clock;
    this.#leftMs = ms;
    this.#onOver = onOver;
    this.run();
  }

  /** Goes on with what is left. Does nothing where it runs. */
  run(): void {
    if (this.#cancel) return;
    this.#since = this.#clock.monotonic();
    this.#cancel = this.#clock.after(this.#leftMs, this.#onOver);
  }

  /** Does nothing where it stands still. */
  stop(): void {
    if (!this.#cancel) return;
    this.#cancel();
    this.#cancel = undefined;
    this.#leftMs = Math.max(this.#leftMs - (this.#clock.monotonic() - this.#since), 0);
  }
}
