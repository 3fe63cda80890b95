/** Time as something handed in. Only this file reads the machine's clock or sets its timers. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** Never goes back, milliseconds; for measuring. */
  monotonic(): number;
  /** Waits `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, options?: { signal?: AbortSignal | undefined }): Promise<void>;
  /**
   * Calls `callback` once after `ms`, unless cancelled. The timer does not keep the process alive.
   */
  after(ms: number, callback: () => void): Cancel;
  /** Calls `callback` every `ms` until cancelled. The timer does not keep the process alive. */
  every(ms: number, callback: () => void): Cancel;
}

export type Cancel = () => void;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(ms, { signal } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);

      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal!.reason as Error);
      };

      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);

      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
  after(ms, callback) {
    const timer: { unref?: () => void } | number = setTimeout(callback, ms);
    if (typeof timer === "object") timer.unref?.();
    return () => clearTimeout(timer as never);
  },
  every(ms, callback) {
    const timer: { unref?: () => void } | number = setInterval(callback, ms);
    if (typeof timer === "object") timer.unref?.();
    return () => clearInterval(timer as never);
  },
};

/** Milliseconds, or these and a signal that ends the work earlier. */
export type Patience = number | { readonly ms: number; readonly signal: AbortSignal | undefined };

/**
 * Runs `work` with a signal that aborts after the given time or with the given signal, whichever
 * comes first. The abort reason after a timeout is `onTimeout()`; the timer is gone when `work`
 * settles.
 */
export async function withTimeout<T>(
  clock: Clock,
  patience: Patience,
  onTimeout: () => Error,
  work: (signal: AbortSignal, hold: Hold) => Promise<T>,
): Promise<T> {
  return withIdleTimeout(clock, patience, onTimeout, (signal, _alive, hold) => work(signal, hold));
}

/** The time stands still until the returned function is called; then it begins anew. */
export type Hold = () => Cancel;

/** As `withTimeout`, but each call of `alive` by the work restarts the time. */
export async function withIdleTimeout<T>(
  clock: Clock,
  patience: Patience,
  onTimeout: () => Error,
  work: (signal: AbortSignal, alive: () => void, hold: Hold) => Promise<T>,
): Promise<T> {
  const { ms, signal } =
    typeof patience === "number" ? { ms: patience, signal: undefined } : patience;
  signal?.throwIfAborted();
  const controller = new AbortController();
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const interrupt = (reason: unknown): void => {
    controller.abort(reason);
    reject(controller.signal.reason as Error);
  };
  const pass = (): void => interrupt(signal!.reason);
  signal?.addEventListener("abort", pass, { once: true });
  let lastSign: number | undefined;
  let holds = 0;
  const alive = (): void => void (lastSign = clock.monotonic());
  const hold: Hold = () => {
    holds += 1;
    return () => {
      holds -= 1;
      alive();
    };
  };

  // A sign only leaves its time: one timer for all of them, and not one for each piece of an
  // answer.
  const watch = (wait: number): Cancel =>
    clock.after(wait, () => {
      if (holds > 0) alive();
      if (lastSign === undefined) return interrupt(onTimeout());

      const rest = lastSign + ms - clock.monotonic();
      lastSign = undefined;
      cancel = watch(Math.max(rest, 0));
    });

  let cancel = watch(ms);

  try {
    // The race makes the timeout interrupt even work that ignores its signal; its late answer is
    // dropped.
    return await Promise.race([work(controller.signal, alive, hold), interrupted]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", pass);
  }
}
