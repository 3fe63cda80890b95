import { passingOf } from "../durable/passing.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { backOffMs } from "../kernel/back-off.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";

export interface WaitOptions {
  /** How long a database that does not answer is waited for, milliseconds; 0: not at all. */
  readonly waitMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
}

/** Between two attempts, milliseconds: doubled up to the second. */
const BACK_OFF = { firstMs: 250, maxMs: 5_000 } as const;
/** The same trouble is told again after this, milliseconds. */
const TELL_AGAIN_MS = 10_000;

/**
 * Opens what needs a database that may not be up yet, as after the start of a whole machine, or
 * that goes away during the start. Only what passes is waited for: no answer, a server that starts
 * or stops, no free connection. A wrong password or a missing database is thrown at once. Throws
 * DATABASE_UNAVAILABLE after `waitMs`, and the reason of `signal` when it aborts; nothing is open
 * then.
 */
export async function openWhenUp<Opened>(
  open: () => Promise<Opened>,
  options: WaitOptions,
): Promise<Opened> {
  const { waitMs, clock, logger, signal } = options;
  const giveUpAt = clock.monotonic() + waitMs;
  const told: { message?: string; at: number } = { at: 0 };

  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted();
    try {
      const opened = await open();
      if (told.message !== undefined) logger.info({}, "the database answers; the start goes on");
      return opened;
    } catch (error) {
      signal?.throwIfAborted();
      if (passingOf(error)?.code !== "DATABASE_UNAVAILABLE") throw error;
      const leftMs = giveUpAt - clock.monotonic();
      if (leftMs <= 0) throw notUp(error, waitMs);
      const message = messageOf(error);
      if (message !== told.message || clock.monotonic() - told.at >= TELL_AGAIN_MS) {
        logger.warn({}, `${message} It is waited for, ${Math.ceil(leftMs / 1_000)} s more.`);
        Object.assign(told, { message, at: clock.monotonic() });
      }
      await clock.sleep(Math.min(backOffMs(failures, BACK_OFF), leftMs), { signal });
    }
  }
}

function notUp(error: unknown, waitMs: number): unknown {
  if (waitMs === 0) return error;
  const hint = error instanceof DureError ? error.hint : undefined;

  return new DureError(
    "DATABASE_UNAVAILABLE",
    `${messageOf(error)} It was waited for ${Math.round(waitMs / 1_000)} s.`,
    {
      class: "unavailable",
      hint,
      cause: error,
    },
  );
}
