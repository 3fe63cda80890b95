import { backOffMs, type BackOff } from "../kernel/back-off.ts";
import type { Clock } from "../kernel/clock.ts";
import { isDatabaseAway } from "./passing.ts";

export interface RetryUntilAnsweredOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Default 25 ms, then doubled up to 500 ms. */
  readonly backOff?: BackOff | undefined;
  /** Default: for ever. */
  readonly within?: Within | undefined;
}

/** For how long it is asked, and what is thrown afterwards. */
export interface Within {
  readonly ms: number;
  readonly onOver: () => Error;
}

const BACK_OFF: BackOff = { firstMs: 25, maxMs: 500 };

/**
 * Asks the database until it answers; only for what is safe to repeat.
 * `isRepeated`: an answer was lost, and the statement may have been carried
 * out. Rejects with every error that says more than that the database can do
 * nothing now, and with the signal's reason.
 */
export async function retryUntilAnswered<Answer>(
  ask: (isRepeated: boolean) => Promise<Answer>,
  { clock, signal, backOff = BACK_OFF, within }: RetryUntilAnsweredOptions,
): Promise<Answer> {
  const over = within === undefined ? Infinity : clock.monotonic() + within.ms;
  for (let failures = 0; ;) {
    signal?.throwIfAborted();
    try {
      return await ask(failures > 0);
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
      failures += 1;
      const restMs = over - clock.monotonic();
      await clock.sleep(Math.min(backOffMs(failures, backOff), Math.max(restMs, 0)), { signal });
      if (clock.monotonic() >= over) throw within!.onOver();
    }
  }
}
