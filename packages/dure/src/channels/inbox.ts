import { backOffMs } from "../kernel/back-off.ts";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";

export interface InboxOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** For the log. */
  readonly account: string;
  /** Deliveries that may wait, over all places. */
  readonly limit: number;
  /** Lets dure read what it may have missed; while it runs nothing is delivered. */
  readonly readMissed: () => Promise<void>;
}

/** Stores one thing that the gateway told. Rejects when it was not stored. */
export type DeliverMessage = () => Promise<void>;

const CLOSE_MS = 5000;
/** Waits between attempts to read what was missed, milliseconds: doubled up to the second. */
const RETRY = { firstMs: 500, maxMs: 30_000 } as const;

/**
 * What one account received and dure has not stored yet: in order per place, places beside each
 * other, bounded.
 *
 * *Flowing*: each delivery waits for the one before it in its place.
 * *Held*: there is a gap before what arrives now (a new session, a full inbox, a delivery that
 * failed). Nothing is delivered until `readMissed` has read the gap; were a younger message stored
 * first, the gap would look as if it had been read.
 */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #lanes = new Map<string, DeliverMessage[]>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #closed = new AbortController();
  #waiting = 0;
  #held = false;
  /** More arrived than may wait: everything is left out until the gap is being read. */
  #overflown = false;
  /** The one that reads; never settles with an error. */
  #filling: Promise<void> | undefined;
  #gapAgain = false;
  #failuresInARow = 0;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  push(place: string, delivery: DeliverMessage): void {
    if (this.#closed.signal.aborted || this.#overflown) return;
    if (this.#waiting >= this.#options.limit) {
      const { logger, account, limit } = this.#options;
      logger.warn(
        { account, limit },
        `inbox of ${account} is full: ${limit} messages wait to be stored; they are left out ` +
          "now and read again from the platform",
      );
      this.#overflown = true;
      this.#lanes.clear();
      this.#waiting = 0;
      this.readGap();
      return;
    }
    const lane = this.#lanes.get(place);
    if (lane === undefined) this.#lanes.set(place, [delivery]);
    else lane.push(delivery);
    this.#waiting++;
    this.#run(place);
  }

  /** From now on nothing is delivered, until `readGap` has done its work. */
  hold(): void {
    this.#held = true;
  }

  /** Reads what may have been missed, however often it takes, then lets deliveries flow again. */
  readGap(): void {
    this.#held = true;
    this.#gapAgain = true;
    this.#filling ??= this.#fill();
  }

  /** Leaves out what waits and resolves when nothing is being delivered any more, or after 5 s. */
  async close(): Promise<void> {
    const { clock, logger, account } = this.#options;
    this.#closed.abort(new Error("The inbox is closed."));
    this.#lanes.clear();
    this.#waiting = 0;
    const finished = Promise.allSettled([...this.#running.values(), this.#filling]);
    await withTimeout(
      clock,
      CLOSE_MS,
      () => new Error("still storing"),
      () => finished,
    ).catch(() => {
      logger.warn(
        { account },
        `something that ${account} received is still being stored after ${CLOSE_MS} ms; it is not waited for`,
      );
    });
  }

  #run(place: string): void {
    if (this.#held || this.#closed.signal.aborted || this.#running.has(place)) return;
    const lane = this.#lanes.get(place);
    const delivery = lane?.shift();
    if (lane?.length === 0) this.#lanes.delete(place);
    if (delivery === undefined) return;
    this.#waiting--;
    const run = this.#deliver(delivery, place).finally(() => {
      this.#running.delete(place);
      this.#run(place);
    });
    this.#running.set(place, run);
  }

  async #deliver(delivery: DeliverMessage, place: string): Promise<void> {
    try {
      await delivery();
      this.#failuresInARow = 0;
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      const { logger, account } = this.#options;
      this.#failuresInARow++;
      logger.warn(
        { account, place, err: error },
        `a message for ${account} could not be stored (${messageOf(error)}); it will be read ` +
          "again from the platform",
      );
      this.readGap();
    }
  }

  async #fill(): Promise<void> {
    const { clock, logger, account, readMissed } = this.#options;
    const { signal } = this.#closed;
    let attempt = this.#failuresInARow;
    while (this.#gapAgain && !signal.aborted) {
      await Promise.allSettled(this.#running.values());
      // The deliveries that just ended may have failed: wait before the same storage is asked
      // again.
      attempt = Math.max(attempt, this.#failuresInARow);
      try {
        if (attempt > 0) {
          await clock.sleep(backOffMs(attempt, RETRY), { signal });
        }
        // What arrives from here on is younger than what is read, so it may wait again.
        this.#gapAgain = false;
        this.#overflown = false;
        await readMissed();
        attempt = 0;
      } catch (error) {
        if (signal.aborted) return;
        attempt++;
        this.#gapAgain = true;
        logger.warn(
          { account, err: error, attempt },
          `what ${account} may have missed could not be read (${messageOf(error)}); again soon`,
        );
      }
    }
    this.#held = false;
    // in the same step, so that no gap finds a reader that has already looked for the last time
    this.#filling = undefined;
    for (const place of this.#lanes.keys()) this.#run(place);
  }
}
