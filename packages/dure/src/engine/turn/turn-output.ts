import type { FinishedFlow } from "../../durable/turns.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { HookRecord } from "../../kernel/turn-events.ts";

/** What a handler leaves for the end of its turn besides its answer. */
export class TurnOutput {
  readonly hooks: HookRecord[] = [];
  readonly completed: FinishedFlow[] = [];
  /** What memory keeps as the answer, when it is not `DONE.message`. */
  remembered: string | undefined;
  #kept: JsonObject | undefined;
  /** How many of `completed` were named when `kept` was set. */
  #keptCompleted = 0;

  /** The state that a settled effect has written; it is stored even when the turn fails. */
  get kept(): JsonObject | undefined {
    return this.#kept;
  }

  /** An effect was settled, with this state. */
  keep(state: JsonObject | undefined): void {
    this.#kept = state;
    this.#keptCompleted = this.completed.length;
  }

  /** Drops the finished flows that no settled effect has written. */
  dropUnsettledFlows(): void {
    this.completed.length = this.#keptCompleted;
  }
}
