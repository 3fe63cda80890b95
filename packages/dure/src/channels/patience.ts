import type { Clock } from "../kernel/clock.ts";
import { ChannelError } from "../rooms/channel-adapter.ts";

/** Does what may be done twice until it succeeds. */
export type Patient = <T>(work: () => Promise<T>) => Promise<T>;

/** Waits after a transient failure, milliseconds. Source: docs/spec/collaboration §6, E4. */
const AGAIN_AFTER_MS: readonly number[] = [1000, 2000, 4000];

/**
 * Does what may be done twice (reading, joining) until it succeeds: waits at a rate limit however
 * often, and tries again up to three times after a transient failure. For what no outbox stands
 * behind. Rejects with the last `ChannelError`, or the signal's reason.
 */
export async function patiently<T>(
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  let failures = 0;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ChannelError)) throw error;
      const waitMs =
        error.failure === "rate-limited"
          ? (error.retryAfterMs ?? 1000)
          : error.failure === "transient"
            ? AGAIN_AFTER_MS[failures++]
            : undefined;
      if (waitMs === undefined) throw error;
      await clock.sleep(waitMs, { signal });
    }
  }
}
