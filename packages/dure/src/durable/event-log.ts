import { systemClock, type Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { EventFilter } from "../kernel/platform-events.ts";
import type { NewPlatformEvent, PlatformEvent } from "../wire/events.ts";
import type { Queryable, Statement } from "./database.ts";
import { filterCondition, filterParameters } from "./event-filter.ts";
import { Follower, HeldPages } from "./event-follower.ts";
import { POLL_EVERY, Poller, type EventLogOptions } from "./event-poller.ts";
import {
  comparePositions,
  formatPosition,
  parsePosition,
  START,
  whyLost,
  type Frame,
  type EventPosition,
  type Reset,
} from "./event-position.ts";
import {
  EVENT_COLUMNS,
  eventOf,
  EVENTS_TOPIC,
  FRAME,
  FRAME_COLUMNS,
  frameOf,
  scannedOf,
  type EventRow,
  type FrameRow,
} from "./event-rows.ts";

/**
 * The log of what happened in the whole product. Writers append within their own transaction;
 * readers see each event once, in one order, from any process.
 *
 * The order is (xid of the writing transaction, seq). No reader reads beyond the oldest open
 * transaction, so an event that commits late is never skipped. Followers of one process share one
 * poller; a follower that starts further back catches up by pages of its own and joins it then.
 */
export class EventLog {
  readonly #options: EventLogOptions;
  readonly #clock: Clock;
  readonly #bufferLimit: number;
  readonly #followers = new Set<Follower>();
  readonly #pages = new HeldPages();
  readonly #poller: Poller;

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#bufferLimit = options.bufferLimit ?? BUFFER_LIMIT;

    this.#poller = new Poller({
      ...options,
      clock: this.#clock,
      followers: this.#followers,
      page: Math.min(PAGE, Math.ceil(this.#bufferLimit / 2)),
    });
  }

  /**
   * Writes events in their order. Within a transaction they appear with its commit, and the caller
   * calls `announce` after it; given the database itself, they are committed and announced when
   * this resolves.
   */
  async append(target: Queryable, events: readonly NewPlatformEvent[]): Promise<void> {
    if (events.length === 0) return;
    await target.query(EMIT, [eventsParameter(events)]);
    if (target === this.#options.database) this.announce();
  }

  /** Wakes the readers of every process. Without it they look within 500 ms. */
  announce(): void {
    this.#options.notifications?.publish(EVENTS_TOPIC);
  }

  /**
   * One page of what stands behind `after`; from the oldest event without it. `next` is where to go
   * on, also when nothing matched. A page looks at 5,000 events at most, so it may be empty and
   * still not be the end.
   */
  async read(after?: string, filter: EventFilter = {}, limit = 100): Promise<EventPage> {
    return this.#readPage(after === undefined ? undefined : parsePosition(after), filter, limit);
  }

  /**
   * Resolves when everything that was committed before this call can be read: until then an open
   * transaction holds readers back. After 10 s at the latest, for a foreign transaction may be open
   * for hours. Rejects with the abort of `signal`.
   */
  async caughtUp({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const { database } = this.#options;
    const [row] = await database.query<{ next: string }>(NEXT_XID);
    const late = this.#clock.monotonic() + CATCH_UP_MS;

    for (;;) {
      const [frame] = await database.query<{ done: boolean }>(PASSED_XID, [row!.next]);
      if (frame!.done || this.#clock.monotonic() >= late) return;
      await this.#clock.sleep(CATCH_UP_LOOK_MS, { signal });
    }
  }

  /** The position behind everything that can be read now. */
  async now(): Promise<string> {
    const { end } = await this.#frame();
    return formatPosition(end);
  }

  /**
   * The position before the newest `count` matching events, so that a reader who begins there gets
   * them and then what comes. It looks at the newest 20,000 events at most; when fewer match, at
   * all that do.
   */
  async beforeLast(count: number, filter: EventFilter = {}): Promise<string> {
    const rows = await this.#options.database.query<
      FrameRow & { first_xid: string | null; first_seq: string | null }
    >(BEFORE_LAST, [count, LOOK_BACK, ...filterParameters(filter)]);
    const { first_xid: xid, first_seq: seq } = rows[0]!;
    const { era, end } = frameOf(rows[0]!);

    return formatPosition(
      xid === null || seq === null ? end : { era, xid: BigInt(xid), seq: BigInt(seq) - 1n },
    );
  }

  /**
   * Events behind `after` as they become readable, without gap or duplicate; without `after` from
   * now on. When `after` is older than what is kept, or of another era, the first item is a
   * `reset`, then come all events that there are.
   *
   * Ends with the abort of `signal`. Throws EVENT_POSITION_INVALID, and EVENT_READER_SLOW when
   * 1,000 events or 8 MiB wait that the consumer did not take; go on then from the last event that
   * was received.
   */
  async *follow(
    filter: EventFilter = {},
    options: { after?: string; signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<FollowedItem, void, undefined> {
    const { signal } = options;
    let position = options.after === undefined ? undefined : parsePosition(options.after);
    const poller = this.#poller;
    poller.users += 1;

    try {
      await this.#untilAnswered(() => poller.start(), signal);
      position ??= (await this.#untilAnswered(() => this.#frame(), signal))?.end;
      while (position && !signal?.aborted) {
        const follower: Follower | undefined = yield* this.#catchUp(position, filter, signal);
        position = follower && (yield* this.#followLive(follower, signal));
      }
    } finally {
      poller.users -= 1;
      if (poller.users === 0) poller.rest();
    }
  }

  /**
   * Age of the oldest event that readers cannot read yet, in milliseconds. An open transaction
   * hides it.
   */
  async lag(): Promise<number> {
    const [row] = await this.#options.database.query<{ lag: number }>(LAG);
    return Math.max(0, row?.lag ?? 0);
  }

  /**
   * Call once at start. In a database that other tools restored, events may have transaction ids of
   * the future; then a new era starts. Returns the era.
   */
  async start(): Promise<number> {
    const era = await this.#options.database.transaction(async (tx) => {
      const [meta] = await tx.query<{ era: number; foreign: boolean }>(CHECK_ERA);
      if (!meta!.foreign) return meta!.era;

      const [started] = await tx.query<{ era: number }>(START_ERA);

      this.#options.logger.warn(
        { era: started!.era },
        `the event log was restored; era ${started!.era} begins and readers start over`,
      );

      return started!.era;
    });
    return era;
  }

  /** For a restore: every position handed out before is void from the commit of `tx` on. */
  async startEra(tx: Queryable): Promise<number> {
    const [row] = await tx.query<{ era: number }>(START_ERA);
    return row!.era;
  }

  /** Followers end; nothing is lost, they continue elsewhere from their last event. */
  async stop(): Promise<void> {
    for (const follower of this.#followers) follower.end();
    await this.#poller.stop();
  }

  /** Pages up to the poller's place and joins it there; undefined when aborted. */
  async *#catchUp(
    from: EventPosition,
    filter: EventFilter,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<FollowedItem, Follower | undefined, undefined> {
    const poller = this.#poller;
    let position = from;

    for (;;) {
      if (signal?.aborted) return undefined;
      // No await stands between the comparison and the joining: the poller cannot move meanwhile.
      if (
        position.era === poller.position.era &&
        comparePositions(position, poller.position) >= 0
      ) {
        const follower = new Follower(filter, position, this.#bufferLimit);
        this.#followers.add(follower);
        return follower;
      }
      const page = await this.#untilAnswered(
        () => this.#readPage(position, filter, PAGE, poller.position),
        signal,
      );
      if (!page) return undefined;
      if (page.reset) yield { kind: "reset", ...page.reset };
      const held = this.#pages.hold(page.events);
      try {
        for (let event = held.take(); event !== undefined; event = held.take()) {
          if (signal?.aborted) return undefined;
          position = parsePosition(event.id);
          yield { kind: "event", event };
        }
      } finally {
        held.release();
      }
      if (held.isRevoked) continue; // what was not taken is read again
      position = parsePosition(page.next);
      if (position.era !== poller.position.era) {
        await this.#untilAnswered(() => poller.poll(), signal);
      }
    }
  }

  /**
   * Returns where to catch up from when the poller lost its place (a restore); undefined at the
   * end.
   */
  async *#followLive(
    follower: Follower,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<FollowedItem, EventPosition | undefined, undefined> {
    const onAbort = (): void => follower.end();
    signal?.addEventListener("abort", onAbort, { once: true });

    try {
      while (!signal?.aborted) {
        const event = await follower.next();
        if (event === "end") break;
        if (event === "lost") return follower.position;
        yield { kind: "event", event };
      }
      return undefined;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      this.#followers.delete(follower);
    }
  }

  /**
   * A database failure is waited out: the position stays, so nothing is lost. Undefined when
   * aborted.
   */
  async #untilAnswered<T>(
    ask: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T | undefined> {
    for (let failures = 0; ; failures++) {
      try {
        return await ask();
      } catch (error) {
        if (signal?.aborted) return undefined;
        if (failures === 0) {
          this.#options.logger.warn(
            { error: messageOf(error) },
            "events could not be read; readers wait for the database",
          );
        }
        await this.#clock.sleep(POLL_EVERY, { signal }).catch(() => {});
        if (signal?.aborted) return undefined;
      }
    }
  }

  async #frame(): Promise<Frame> {
    const [row] = await this.#options.database.query<FrameRow>(FRAME);
    return frameOf(row!);
  }

  async #readPage(
    asked: EventPosition | undefined,
    filter: EventFilter,
    limit: number,
    upTo?: EventPosition,
  ): Promise<EventPage> {
    const after = asked ?? START;
    const rows = await this.#options.database.query<FrameRow & EventRow>(READ, [
      after.xid.toString(),
      after.seq.toString(),
      upTo?.xid.toString() ?? null,
      upTo?.seq.toString() ?? null,
      SCAN,
      limit,
      ...filterParameters(filter),
    ]);

    const frame = frameOf(rows[0]!);
    const lost = asked && whyLost(asked, frame);

    if (lost) {
      const oldest = await this.#readPage({ ...START, era: frame.era }, filter, limit);
      return {
        ...oldest,
        reset: { because: lost, oldest: formatPosition({ ...frame.swept, era: frame.era }) },
      };
    }

    const events = rows.filter((row) => row.seq !== null).map((row) => eventOf(row, frame.era));
    const last =
      events.length >= limit ? parsePosition(events.at(-1)!.id) : scannedOf(rows[0]!, frame.era);
    const reached = last ?? (upTo && upTo.era === frame.era ? upTo : undefined);
    const next = reached ?? { ...after, era: frame.era };

    return { events, next: formatPosition(next), atEnd: last === undefined };
  }
}

export interface EventPage {
  readonly events: readonly PlatformEvent[];
  /** Read on behind this. */
  readonly next: string;
  /** Whether nothing readable stood behind the asked position. */
  readonly atEnd: boolean;
  /** Set when the asked position is void; the page then begins with the oldest event. */
  readonly reset?: Reset;
}

export type FollowedItem =
  | { readonly kind: "event"; readonly event: PlatformEvent }
  | ({ readonly kind: "reset" } & Reset);

/**
 * Events per page of a follower that catches up, and per look of the poller; there half a buffer at
 * most, so that only slowness fills one.
 */
const PAGE = 500;

/** Events looked at for one page, so that a rare filter costs no long statement. */
const SCAN = 5_000;

/**
 * Events looked at to find the newest that match, so that a rare filter costs no long statement.
 */
const LOOK_BACK = 20_000;

const BUFFER_LIMIT = 1_000;

/**
 * For writers that put events into a statement of their own: `select dure.emit($1)` with this
 * parameter.
 */
function eventsParameter(events: readonly NewPlatformEvent[]): string {
  return JSON.stringify(events);
}

/** No transaction of dure is open longer than 5 s. */
const CATCH_UP_MS = 10_000;

const CATCH_UP_LOOK_MS = 20;

const NEXT_XID: Statement = {
  name: "events.next_xid",
  text: "select pg_snapshot_xmax(pg_current_snapshot())::text as next",
};

const PASSED_XID: Statement = {
  name: "events.passed_xid",
  text: "select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as done",
};

const EMIT: Statement = { name: "events.emit", text: "select dure.emit($1)" };

/** $1, $2 after; $3, $4 up to; $5 rows looked at; $6 rows returned; $7 … filter. */
const READ: Statement = {
  name: "events.read",
  text: `
    with frame as materialized (select ${FRAME_COLUMNS} from dure.meta m),
    scanned as materialized (
      select e.* from dure.events e
       where (e.xid, e.seq) > ($1::xid8, $2::bigint)
         and e.xid < pg_snapshot_xmin(pg_current_snapshot())
         and ($3::xid8 is null or (e.xid, e.seq) <= ($3::xid8, $4::bigint))
       order by e.xid, e.seq limit $5::integer
    ),
    last as (select xid, seq from scanned order by xid desc, seq desc limit 1)
    select frame.*, last.xid::text as scanned_xid, last.seq::text as scanned_seq, ${EVENT_COLUMNS}
      from frame left join last on true left join lateral (
        select * from scanned e
         where ${filterCondition(7)}
         order by e.xid, e.seq limit $6::integer
      ) e on true
     order by e.xid, e.seq`,
};

/** $1 events wanted; $2 rows looked at; $3 … filter. */
const BEFORE_LAST: Statement = {
  name: "events.before-last",
  text: `
    with frame as materialized (select ${FRAME_COLUMNS} from dure.meta m),
    newest as (
      select e.xid, e.seq, e.type, e.session, e.run, e.room, e.role, e.job, e.tenant
      from dure.events e
       where e.xid < pg_snapshot_xmin(pg_current_snapshot())
       order by e.xid desc, e.seq desc limit $2::integer
    ),
    wanted as (select e.xid, e.seq
      from newest e
      where ${filterCondition(3)}
      order by e.xid desc, e.seq desc
      limit $1::integer)
    select frame.*, first.xid::text as first_xid, first.seq::text as first_seq
      from frame
        left join lateral (select xid, seq from wanted order by xid, seq limit 1) first on true`,
};

const LAG: Statement = {
  name: "events.lag",
  text: `
    select coalesce(extract(epoch from clock_timestamp() - min(at))::float8 * 1000, 0) as lag
      from dure.events
      where xid >= pg_snapshot_xmin(pg_current_snapshot())`,
};

/** The row lock makes two starting processes agree on one new era. */
const CHECK_ERA: Statement = {
  name: "events.check-era",
  text: `
    select era, exists (select from dure.events
      where xid >= pg_snapshot_xmax(pg_current_snapshot())) as foreign
      from dure.meta for update`,
};

const START_ERA: Statement = { name: "events.start-era", text: "select dure.start_era() as era" };
