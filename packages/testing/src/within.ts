import type { Clock } from "dure/client";

/** What `promise` gives; throws what `onTimeout` makes when it takes longer than `ms`. */
export async function within<T>(
  promise: Promise<T>,
  { clock, ms, onTimeout }: { clock: Clock; ms: number; onTimeout: () => Error },
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => late.reject(onTimeout()));

  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    cancel();
  }
}
