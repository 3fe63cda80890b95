import type { Clock } from "../kernel/clock.ts";
import type { ClosingStack } from "../kernel/closing-stack.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Starting } from "./core.ts";

/** A stop that takes so long says what it waits for, milliseconds. */
const SLOW_MS = 3_000;
/** As often it says so again. */
const AGAIN_MS = 15_000;

/**
 * Stops what has begun, in reverse. One part that cannot stop must not keep the others from it, and
 * one that takes long is named in the log.
 */
export function inGoodOrder(
  stack: ClosingStack,
  { logger, clock }: { logger: Logger; clock: Clock },
): Starting["defer"] {
  return (part, stop, waitsFor) =>
    stack.defer(async () => {
      const since = clock.monotonic();
      const say = (): void => {
        const ms = Math.round(clock.monotonic() - since);
        const what = [part, waitsFor?.()].filter(Boolean).join(": ");
        logger.info({ part, ms }, `the stop waits for ${what}`);
      };
      let cancel = clock.after(SLOW_MS, () => {
        say();
        cancel = clock.every(AGAIN_MS, say);
      });
      try {
        await stop();
      } catch (error) {
        logger.error({ part, error: messageOf(error) }, `${part} did not stop in good order`);
      } finally {
        cancel();
      }
    });
}
