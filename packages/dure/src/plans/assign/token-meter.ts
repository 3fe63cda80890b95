import type { SharedTokens } from "../workers/worker.ts";

/** Tokens of one bound, as they are stored. */
export interface StoredTokens {
  readonly used: number;
  /** Null: no bound. */
  readonly most: number | null;
}

/** A bound of tokens, and how much of it is used. */
export interface TokenBound {
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
  readonly #of: TokenBound["of"];
  readonly #around: TokenMeter | undefined;
  readonly #watchers = new Set<() => void>();
  #used = 0;
  #most: number | null = null;

  constructor(of: TokenBound["of"], around?: TokenMeter) {
    this.#of = of;
    this.#around = around;
  }

  /** The tightest bound; undefined: there is none. */
  get bound(): TokenBound | undefined {
    const around = this.#around?.bound;
    if (this.#most === null) return around;
    const [of, used, most] = [this.#of, this.#used, this.#most];
    const own = { of, used, most, left: most - used };

    return around !== undefined && around.left < own.left ? around : own;
  }

  get left(): number {
    return this.bound?.left ?? Infinity;
  }

  /** Takes what is stored. Calls that are not stored yet stay counted. */
  known({ used, most }: StoredTokens): void {
    this.#used = Math.max(this.#used, used);
    this.#most = most;
    this.#look();
  }

  /** @param tokens below zero where a worker's own account is less than was heard. */
  add(tokens: number): void {
    this.#used += tokens;
    this.#around?.add(tokens);
    this.#look();
  }

  onUsedUp(stop: () => void): () => void {
    const around = this.#around?.onUsedUp(stop);
    this.#watchers.add(stop);
    return () => {
      around?.();
      this.#watchers.delete(stop);
    };
  }

  #look(): void {
    if (this.#most === null || this.#used <= this.#most) return;
    for (const stop of this.#watchers) stop();
  }
}
