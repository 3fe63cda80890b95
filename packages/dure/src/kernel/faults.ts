import { backOffMs, type BackOff } from "./back-off.ts";
import type { Clock } from "./clock.ts";
import { codeOf, messageOf } from "./errors.ts";
import type { Logger } from "./logger.ts";

export interface FaultsOptions {
  /** Faults in a row with which a piece of work is given up. */
  readonly most: number;
  /** Before the work is done again. */
  readonly backOff: BackOff;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One fault, as its log line names it. */
export interface Fault {
  readonly error: unknown;
  /** "run run_1 could not be led". */
  readonly what: string;
  readonly fields: object;
}

/**
 * Faults of dure's own code with pieces of work, each known by a key. Work that
 * meets one is done again after a pause, a few times in a row; then it is given
 * up.
 */
export class Faults {
  readonly #options: FaultsOptions;
  readonly #inARow = new Map<string, number>();

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  /**
   * Logs a fault. False after a pause, or when `signal` aborts: the work is
   * done again. True: it is given up, and begins to count anew. Never rejects.
   */
  async isLast(key: string, fault: Fault, signal: AbortSignal): Promise<boolean> {
    const { most, backOff, clock, logger } = this.#options;
    const count = (this.#inARow.get(key) ?? 0) + 1;

    logger.error(
      { ...fault.fields, code: codeOf(fault.error), error: messageOf(fault.error) },
      `${fault.what} (${count} of ${most})`,
    );

    if (count >= most) {
      this.forget(key);
      return true;
    }

    this.#inARow.set(key, count);
    await clock.sleep(backOffMs(count, backOff), { signal }).catch(() => {});

    return false;
  }

  /** The work went well, or is to begin anew. */
  forget(key: string): void {
    this.#inARow.delete(key);
  }
}
