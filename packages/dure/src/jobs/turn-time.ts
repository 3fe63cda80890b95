import type { Cancel, Clock } from "../kernel/clock.ts";
import type { TurnEvent } from "../kernel/turn-events.ts";

/** What one conversation turn may take. The time stands still while its agent's model is away. */
export class TurnTime {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #leftMs: number;
  #since = 0;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, ms: number, onOver: () => void) {
    this.#clock = clock;
    this.#leftMs = ms;
    this.#onOver = onOver;
    this.#run();
  }

  /** The turn tells this. */
  hear(event: TurnEvent): void {
    const isAway = event.type === "AGENT_START" && event.data.waits === "model";
    if (isAway) this.stop();
    else this.#run();
  }

  stop(): void {
    if (!this.#cancel) return;
    this.#cancel();
    this.#cancel = undefined;
    this.#leftMs = Math.max(this.#leftMs - (this.#clock.monotonic() - this.#since), 1);
  }

  #run(): void {
    if (this.#cancel) return;
    this.#since = this.#clock.monotonic();
    this.#cancel = this.#clock.after(this.#leftMs, this.#onOver);
  }
}
