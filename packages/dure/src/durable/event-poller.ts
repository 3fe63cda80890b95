import type { Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import { roughBytes } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, Statement } from "./database.ts";
import type { Follower, PlacedEvent } from "./event-follower.ts";
import { START, whyLost, type EventPosition } from "./event-position.ts";
import {
  EVENT_COLUMNS,
  eventOf,
  EVENTS_TOPIC,
  FRAME,
  FRAME_COLUMNS,
  frameOf,
  type EventRow,
  type FrameRow,
} from "./event-rows.ts";
import type { Notifications } from "./notify.ts";

export interface EventLogOptions {
  readonly database: Database;
  readonly logger: Logger;
  readonly notifications?: Pick<Notifications, "publish" | "subscribe">;
  readonly clock?: Clock;
  /** Events that wait for one slow reader before it is cut off. Default 1,000. */
  readonly bufferLimit?: number;
}

/** Followers that are told of new events before the main thread may do something else. */
const WOKEN_AT_ONCE = 16;

/** Readers look this often without being called, in milliseconds. */
export const POLL_EVERY = 500;

/**
 * First pause while an open transaction hides written events, in milliseconds; doubles up to
 * POLL_EVERY.
 */
const POLL_BLOCKED = 10;

/**
 * Reads what is new, once for all followers. Runs while it has users: followers, attached or on
 * their way.
 */
export class Poller {
  position: EventPosition = START;
  users = 0;
  readonly #options: EventLogOptions & {
    clock: Clock;
    followers: ReadonlySet<Follower>;
    page: number;
  };
  #started: Promise<void> | undefined;
  #polling: Promise<void> | undefined;
  #pollAgain = false;
  #blockedPause = POLL_BLOCKED;
  #cancelTimer: (() => void) | undefined;
  #cancelSoon: (() => void) | undefined;
  #unsubscribe: (() => void) | undefined;
  #failing = false;

  constructor(
    options: EventLogOptions & { clock: Clock; followers: ReadonlySet<Follower>; page: number },
  ) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#started ??= this.#begin().catch((error: unknown) => {
      this.#started = undefined;
      throw error;
    });
    await this.#started;
  }

  /** The last follower has left: no more looks until the next start. */
  rest(): void {
    this.#cancelTimer?.();
    this.#cancelSoon?.();
    this.#unsubscribe?.();
    this.#started = undefined;
  }

  async stop(): Promise<void> {
    this.rest();
    await this.#polling?.catch(() => {});
  }

  /**
   * Looks now; a look that is under way is followed by another. Rejects when the database does not
   * answer.
   */
  async poll(): Promise<void> {
    if (this.#polling) {
      this.#pollAgain = true;
      return this.#polling;
    }

    this.#polling = this.#pollAll().finally(() => (this.#polling = undefined));
    return this.#polling;
  }

  async #begin(): Promise<void> {
    await this.#polling?.catch(() => {});
    const [row] = await this.#options.database.query<FrameRow>(FRAME);
    this.position = frameOf(row!).end;
    if (this.users === 0) return this.rest();

    this.#cancelTimer = this.#options.clock.every(POLL_EVERY, () => this.#look());
    this.#unsubscribe = this.#options.notifications?.subscribe(EVENTS_TOPIC, () => this.#look());
  }

  #look(): void {
    void this.poll().then(
      () => this.#recovered(),
      (error: unknown) => this.#failed(error),
    );
  }

  async #pollAll(): Promise<void> {
    do {
      this.#pollAgain = false;
      await this.#pollOnce();
      await this.#letThemTake();
    } while (this.#pollAgain);
  }

  async #pollOnce(): Promise<void> {
    const { database, followers, page } = this.#options;
    const rows = await database.query<PollRow>(POLL, [
      this.position.xid.toString(),
      this.position.seq.toString(),
      page,
    ]);

    const frame = frameOf(rows[0]!);

    if (whyLost(this.position, frame)) {
      this.position = frame.end;
      for (const follower of followers) follower.lose();
      return;
    }

    const events = rows.filter((row) => row.seq !== null).map((row) => placedOf(row, frame.era));

    if (events.length > 0) {
      this.position = events.at(-1)!;
      for (const follower of followers) follower.offer(events);
      await this.#wakeUp([...followers]);
    }

    if (events.length === page) this.#pollAgain = true;
    else if (rows[0]!.blocked) this.#pollSoon();
    else this.#blockedPause = POLL_BLOCKED;
  }

  /** In batches: the work of a thousand consumers would block the main thread for seconds. */
  async #wakeUp(followers: readonly Follower[]): Promise<void> {
    for (let first = 0; first < followers.length; first += WOKEN_AT_ONCE) {
      if (first > 0) await this.#options.clock.sleep(0);
      for (const follower of followers.slice(first, first + WOKEN_AT_ONCE)) follower.wakeUp();
    }
  }

  /**
   * A burst of thousands is no reason to cut off a reader that is only a moment behind: it gets 200
   * ms per page.
   */
  async #letThemTake(): Promise<void> {
    for (let pauses = 0; pauses < 10; pauses++) {
      if (![...this.#options.followers].some((follower) => follower.fill > 0.5)) return;
      await this.#options.clock.sleep(20);
    }
  }

  /**
   * Something is written and hidden by an open transaction: no wake-up comes when that one ends
   * without an event.
   */
  #pollSoon(): void {
    const pause = this.#blockedPause;
    this.#blockedPause = Math.min(pause * 2, POLL_EVERY);
    this.#cancelSoon?.();
    if (pause < POLL_EVERY && this.users > 0) {
      this.#cancelSoon = this.#options.clock.after(pause, () => this.#look());
    }
  }

  #failed(error: unknown): void {
    if (!this.#failing) {
      this.#options.logger.warn(
        { error: messageOf(error) },
        "events could not be read; followers wait for the database",
      );
    }
    this.#failing = true;
  }

  #recovered(): void {
    if (this.#failing) this.#options.logger.info({}, "events are read again");
    this.#failing = false;
  }
}

interface PollRow extends FrameRow, EventRow {
  readonly blocked: boolean;
}

function placedOf(row: EventRow, era: number): PlacedEvent {
  const event = eventOf(row, era);
  return { era, xid: BigInt(row.xid), seq: BigInt(row.seq!), event, bytes: roughBytes(event) };
}

const POLL: Statement = {
  name: "events.poll",
  text: `
    select ${FRAME_COLUMNS},
           exists (select from dure.events b
             where b.xid >= pg_snapshot_xmin(pg_current_snapshot())) as blocked,
           ${EVENT_COLUMNS}
      from dure.meta m left join lateral (
        select * from dure.events e
         where (e.xid, e.seq) > ($1::xid8, $2::bigint)
           and e.xid < pg_snapshot_xmin(pg_current_snapshot())
         order by e.xid, e.seq limit $3::integer
      ) e on true
     order by e.xid, e.seq`,
};
