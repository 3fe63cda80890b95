/** Runs calls one after another, in order of arrival. A failed call lets the next one run. */
export class Mutex {
  #isHeld = false;
  /** Calls that wait, by what starts each; a `Set` keeps the order of arrival. */
  readonly #waiting = new Set<() => void>();

  /**
   * An aborted call that still waits leaves the line and rejects with the signal's reason. Work that
   * has begun is not stopped; it takes the signal itself.
   */
  async run<T>(
    work: () => Promise<T>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    await this.#acquire(signal);

    try {
      // The signal may have come between the end of the call before and this line.
      signal?.throwIfAborted();
      return await work();
    } finally {
      this.#release();
    }
  }

  async #acquire(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#isHeld) {
      this.#isHeld = true;
      return;
    }

    const turn = Promise.withResolvers<void>();
    const start = (): void => turn.resolve();

    const leave = (): void => {
      // A call that was started already releases the mutex itself.
      if (this.#waiting.delete(start)) turn.reject(signal!.reason);
    };

    this.#waiting.add(start);
    signal?.addEventListener("abort", leave, { once: true });

    try {
      await turn.promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Hands the mutex to the call that has waited longest. */
  #release(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#isHeld = false;
      return;
    }

    this.#waiting.delete(next);
    next();
  }
}
