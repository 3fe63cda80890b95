/** The two moments of a stop: when it is asked for, and when the work is cut. */

import { DureError } from "../../kernel/errors.ts";
import type { TurnStore } from "../../durable/turns.ts";
import type { TurnParts } from "./turn-parts.ts";

export class StoppedError extends DureError {
  constructor() {
    super("TURN_STOPPED", "The turn was stopped.", { class: "conflict" });
  }
}

/**
 * Passes a stop request, or the loss of the lease, to the running turn. Two moments: *asked*, from
 * which nothing new begins, and the *cut*, at which the handler's signal aborts.
 *
 * In a turn's first life both are the same. In a later life, an earlier one may have made an
 * effect, and the handler must reach it again to learn its outcome. Until then the handler goes on,
 * over records alone. If it does not get there in time, it is cut.
 */
export class TurnStop {
  readonly #turn: Pick<TurnParts, "held" | "environment">;
  #asked: StoppedError | undefined;
  /**
   * Follows both. It does not listen to the lease: a signal walks through all its listeners for
   * each that comes or goes, and a process has thousands of turns.
   */
  readonly #cut = new AbortController();
  /** Keys of the effects whose outcome this life knows. */
  readonly #known = new Set<string>();
  /** Keys of effects of earlier lives that the cut waits for. */
  readonly #owed = new Set<string>();
  #settling: Promise<void> | undefined;

  constructor(turn: Pick<TurnParts, "held" | "environment">) {
    this.#turn = turn;
    if (turn.environment.lease.aborted) this.leaseLost();
  }

  /** Of everything that the turn runs. */
  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  get isAsked(): boolean {
    return this.#asked !== undefined;
  }

  /** Model calls and tools without effect are cut; a recorded effect is settled first. */
  ask(): void {
    if (this.isAsked) return;
    this.#asked = new StoppedError();
    if (this.#turn.held.epoch === FIRST_EPOCH) this.#cutNow();
    else this.#settling = this.#cutWhenSettled();
  }

  /**
   * For a turn that begins with a stop request: asks, and settles when it is cut or waits for
   * effects.
   */
  async asked(): Promise<void> {
    this.ask();
    await this.#settling;
  }

  /**
   * Before work that is not recorded and is no effect of an earlier life: a stopped turn begins
   * nothing new.
   */
  assertMayBegin(): void {
    if (this.#asked) throw this.#asked;
  }

  /** The outcome of this effect is known now. */
  knows(key: string): void {
    this.#known.add(key);
    if (this.#owed.delete(key) && this.#owed.size === 0) this.#cutNow();
  }

  /**
   * Effects that an earlier life began and that this one did not come to: whether they happened,
   * only a person can find out.
   */
  async lostEffects(): Promise<
    readonly { readonly key: string; readonly tool: string; readonly input: unknown }[]
  > {
    if (this.#turn.held.epoch === FIRST_EPOCH) return [];
    const effects = await this.#effects();
    return effects.filter(
      ({ key, status }) => (status === "intent" || status === "unknown") && !this.#known.has(key),
    );
  }

  /** The lease is over: nothing more may be written. */
  leaseLost(): void {
    this.#cut.abort(this.#turn.environment.lease.reason);
  }

  async #cutWhenSettled(): Promise<void> {
    try {
      for (const { key } of await this.#effects()) {
        if (!this.#known.has(key)) this.#owed.add(key);
      }
    } catch {
      // Cut, fenced or refused: the next write of this life reports it.
    }
    if (this.#owed.size === 0) return this.#cutNow();
    const cancel = this.#turn.environment.clock.after(MAX_REPLAY_MS, () => this.#cutNow());
    this.#cut.signal.addEventListener("abort", cancel, { once: true });
  }

  /** Those that this life and earlier ones have begun. */
  #effects(): ReturnType<TurnStore["effectsOf"]> {
    const { held, environment } = this.#turn;
    return environment.store.effectsOf(held.turn, { signal: environment.lease });
  }

  #cutNow(): void {
    this.#cut.abort(this.#asked);
  }
}

/** Of a turn that was not interrupted. */
const FIRST_EPOCH = 1;
/**
 * How long a stop waits for a handler to come, over its records, to an effect of an earlier life,
 * milliseconds. Nothing on the way takes time.
 */
const MAX_REPLAY_MS = 5_000;
