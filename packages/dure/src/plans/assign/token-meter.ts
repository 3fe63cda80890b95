import type { Stored, StoredUse } from "../rows/run.ts";
import type { SharedTokens } from "../workers/worker.ts";

/** What is counted: tokens of models, or calls of models and starts of workers. */
export type Unit = "tokens" | "calls";

/** A bound, and how much of it is used. */
export interface Bound {
  readonly unit: Unit;
  readonly left: number;
  readonly of: "port" | "run";
  readonly used: number;
  readonly most: number;
}

/**
 * What all workers below one bound have used together. Each call counts at once, so that workers
 * side by side stop before their next one. A port's meter counts for its run too.
 */
export class TokenMeter implements SharedTokens {
  readonly #of: Bound["of"];
  readonly #around: TokenMeter | undefined;
  readonly #watchers = new Set<(of: Unit) => void>();
  /** Tokens that calls under way may take, about; and who waits for their end. */
  readonly #underWay = new Set<{ readonly tokens: number }>();
  #changed = Promise.withResolvers<void>();
  readonly #use: Record<Unit, { used: number; most: number | null }> = {
    tokens: { used: 0, most: null },
    calls: { used: 0, most: null },
  };

  constructor(of: Bound["of"], around?: TokenMeter) {
    this.#of = of;
    this.#around = around;
  }

  /** The tightest bound; undefined: there is none. */
  bound(unit: Unit): Bound | undefined {
    const around = this.#around?.bound(unit);
    const { used, most } = this.#use[unit];
    if (most === null) return around;
    const own = { unit, of: this.#of, used, most, left: most - used };

    return around !== undefined && around.left < own.left ? around : own;
  }

  /** What is used by now, what is not stored yet included. */
  get use(): StoredUse {
    return { tokens: { ...this.#use.tokens }, calls: { ...this.#use.calls } };
  }

  /** The bound that lets no call be made any more; undefined: none does. */
  get usedUp(): Bound | undefined {
    return [this.bound("tokens"), this.bound("calls")].find(
      (bound) => bound !== undefined && bound.left <= 0,
    );
  }

  get left(): number {
    return this.usedUp ? 0 : (this.bound("tokens")?.left ?? Infinity);
  }

  /** Takes what is stored. Calls that are not stored yet stay counted. */
  known(stored: StoredUse): void {
    this.#known("tokens", stored.tokens);
    if (stored.calls) this.#known("calls", stored.calls);
  }

  /**
   * @param tokens below zero where a worker's own account is less than was heard.
   * @param calls of models, or a start of a worker.
   */
  add(tokens: number, calls: number): void {
    this.#use.tokens.used += tokens;
    this.#use.calls.used += calls;
    this.#around?.add(tokens, calls);
    this.#look("tokens");
    this.#look("calls");
  }

  /**
   * Before a call of a model. Where calls under way may take all that is left, it waits for their
   * end: so a bound is passed by one call at most. Gives what ends the call; undefined: nothing is
   * left. Rejects with the abort of `signal`.
   *
   * @param tokens that the call will take, about.
   */
  async enter(
    tokens: number,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<(() => void) | undefined> {
    const call = { tokens };
    while (this.usedUp === undefined && !this.#hasRoomFor(call)) {
      await this.#nextChange(signal);
    }
    if (this.usedUp) return undefined;
    this.#begin(call);

    return () => this.#end(call);
  }

  #hasRoomFor(call: { readonly tokens: number }): boolean {
    if (this.#around && !this.#around.#hasRoomFor(call)) return false;
    if (this.#underWay.size === 0) return true;
    const { tokens, calls } = this.#use;
    const taken = [...this.#underWay].reduce((sum, one) => sum + one.tokens, call.tokens);
    const fits = tokens.most === null || tokens.used + taken <= tokens.most;

    return fits && (calls.most === null || calls.used + this.#underWay.size < calls.most);
  }

  async #nextChange(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const gone = Promise.withResolvers<never>();
    const leave = (): void => gone.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    gone.promise.catch(() => {});
    try {
      await Promise.race([...this.#changes(), gone.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #changes(): readonly Promise<void>[] {
    const around = this.#around;
    return [this.#changed.promise, ...(around ? around.#changes() : [])];
  }

  #begin(call: { readonly tokens: number }): void {
    const around = this.#around;
    this.#underWay.add(call);
    if (around) around.#begin(call);
  }

  #end(call: { readonly tokens: number }): void {
    const around = this.#around;
    this.#underWay.delete(call);
    this.#tellChange();
    if (around) around.#end(call);
  }

  #tellChange(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  onUsedUp(stop: (of: Unit) => void): () => void {
    const around = this.#around?.onUsedUp(stop);
    this.#watchers.add(stop);
    return () => {
      around?.();
      this.#watchers.delete(stop);
    };
  }

  #known(unit: Unit, { used, most }: Stored): void {
    const use = this.#use[unit];
    use.used = Math.max(use.used, used);
    use.most = most;
    this.#tellChange();
    this.#look(unit);
  }

  #look(unit: Unit): void {
    const { used, most } = this.#use[unit];
    if (most === null || used <= most) return;
    for (const stop of this.#watchers) stop(unit);
  }
}
