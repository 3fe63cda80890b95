import type { Cancel, Clock } from "./clock.ts";

interface Timer {
  at: number;
  readonly everyMs: number | undefined;
  readonly callback: () => void;
}

/** Time that passes only when a test says so. Begins at 0. */
export class TestClock implements Clock {
  #time = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  sleep(ms: number, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);

      const cancel = this.after(ms, resolve);
      const onAbort = (): void => (cancel(), reject(signal!.reason as Error));
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  after(ms: number, callback: () => void): Cancel {
    return this.#add({ at: this.#time + ms, everyMs: undefined, callback });
  }

  every(ms: number, callback: () => void): Cancel {
    return this.#add({ at: this.#time + ms, everyMs: ms, callback });
  }

  /** Timers that wait, in milliseconds from now, the next one first. */
  get waiting(): readonly number[] {
    return [...this.#timers].map(({ at }) => at - this.#time).toSorted((a, b) => a - b);
  }

  /**
   * Calls what is due within `ms`, in its order; between two calls promises are
   * carried out.
   */
  async pass(ms: number): Promise<void> {
    const until = this.#time + ms;
    await promisesCarriedOut();

    for (let next = this.#next(until); next; next = this.#next(until)) {
      this.#time = next.at;
      if (next.everyMs === undefined) this.#timers.delete(next);
      else next.at += next.everyMs;
      next.callback();
      await promisesCarriedOut();
    }

    this.#time = until;
  }

  #add(timer: Timer): Cancel {
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  #next(until: number): Timer | undefined {
    const due = [...this.#timers].filter(({ at }) => at <= until);
    return due.toSorted((a, b) => a.at - b.at).at(0);
  }
}

function promisesCarriedOut(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
