/** Work that several ask for. It belongs to none of them: it is stopped when all of them have left. */
export class SharedWork<T> {
  readonly #stop = new AbortController();
  readonly #result: Promise<T>;
  #callers = 0;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#stop.signal);
    // All who ask may have left.
    this.#result.catch(() => undefined);
  }

  /** Whether it was stopped: who asks now begins it again. */
  get isLeft(): boolean {
    return this.#stop.signal.aborted;
  }

  /** What it comes to; rejects with the reason of `signal` for a caller who leaves before. */
  async for(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = (): void => {
      reject(signal.reason);
      this.#callers -= 1;
      if (this.#callers === 0) this.#stop.abort(signal.reason);
    };
    this.#callers += 1;
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([this.#result, left]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }
}
