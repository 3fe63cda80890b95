import { systemClock } from "../src/kernel/clock.ts";
import { atLeastLate, beLate } from "../src/kernel/test-late.ts";

export interface Patience {
  /** How long is waited between looks, all pauses together, in milliseconds. Default 20 000. */
  readonly patienceMs?: number;
  /** Between two looks, milliseconds. Default 30. */
  readonly everyMs?: number;
  /** What the error says besides: the last lines of a log. */
  readonly also?: () => string;
}

/**
 * Looks until `look` does not throw, and gives what it found. Patience is counted in looks: each
 * pause counts what it asked for, not what the clock says, so that a machine that stood still for a
 * minute has used up nothing. The error is the last one of `look`.
 */
export async function eventually<T>(
  look: () => Promise<T> | T,
  { patienceMs = 20_000, everyMs = 30, also }: Patience = {},
): Promise<T> {
  const pauseMs = atLeastLate(everyMs);
  await beLate();
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      return await look();
    } catch (error) {
      if (waitedMs < patienceMs) {
        await systemClock.sleep(pauseMs);
        continue;
      }
      if (also && error instanceof Error) error.message += `\n${also()}`;
      throw error;
    }
  }
}

/**
 * Asks until the answer is something else than undefined or false; what `ask` throws is passed on
 * at once. `what` says what did not come.
 */
export async function until<T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  what: () => string,
  { patienceMs = 20_000, everyMs = 15 }: Omit<Patience, "also"> = {},
): Promise<T> {
  const pauseMs = atLeastLate(everyMs);
  await beLate();
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    const found = await ask();
    if (found !== undefined && found !== false) return found;
    if (waitedMs >= patienceMs) {
      throw new Error(
        `${what()} (after ${Math.round(waitedMs / pauseMs) + 1} looks; the last one saw ${String(found)})`,
      );
    }
    await systemClock.sleep(pauseMs);
  }
}
