import { backOffMs, type BackOff } from "../kernel/back-off.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { countsAsTry, isTakenOver, passingOf } from "./passing.ts";

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
 * What happens to work that met a fault. `left`: another process has it. `again`: it is done again,
 * here. `given-up`: it met too many in a row.
 */
export type AfterFault = "left" | "again" | "given-up";

/**
 * Faults that pieces of work meet, each known by a key: the one place that decides what becomes of
 * the work. What another process has taken over is left alone. What only passes, such as a database
 * that is away, is waited for and never gives work up. A fault of dure's own code gives it up after
 * a few in a row.
 */
export class Faults {
  readonly #options: FaultsOptions;
  readonly #inARow = new Map<string, number>();
  readonly #waiting = new Set<string>();

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  /**
   * Logs a fault, and waits before the work is done again; the wait ends when `signal` aborts. Work
   * that is given up begins to count anew. Never rejects.
   */
  async recordAndWait(key: string, fault: Fault, signal: AbortSignal): Promise<AfterFault> {
    if (isTakenOver(fault.error)) return "left";
    if (!countsAsTry(fault.error)) return this.#waitOut(key, fault, signal);

    const { most, backOff, logger } = this.#options;
    const count = (this.#inARow.get(key) ?? 0) + 1;
    logger.error(factsOf(fault), `${fault.what} (${count} of ${most})`);
    if (count >= most) {
      this.forget(key);
      return "given-up";
    }

    this.#inARow.set(key, count);
    return this.#again(backOffMs(count, backOff), signal);
  }

  /** The work went well, or is to begin anew. */
  forget(key: string): void {
    this.#inARow.delete(key);
    this.#waiting.delete(key);
  }

  /** One line for each time that it is away. */
  #waitOut(key: string, fault: Fault, signal: AbortSignal): Promise<AfterFault> {
    const { logger } = this.#options;
    if (!this.#waiting.has(key)) logger.warn(factsOf(fault), `${fault.what}; it waits`);
    this.#waiting.add(key);

    return this.#again(passingOf(fault.error)?.retryAfterMs ?? 0, signal);
  }

  async #again(ms: number, signal: AbortSignal): Promise<AfterFault> {
    await this.#options.clock.sleep(ms, { signal }).catch(() => {});
    return "again";
  }
}

function factsOf({ error, fields }: Fault): object {
  return { ...fields, code: codeOf(error), error: messageOf(error) };
}
