import { systemClock, type Clock } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { roughBytes } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import type { EventFilter, EventRole } from "../kernel/platform-events.ts";
import type { Database, Queryable, Statement } from "./database.ts";
import type { Notifications } from "./notify.ts";
import type { NewPlatformEvent, PlatformEvent } from "../wire/events.ts";

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
    from: Position,
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
  ): AsyncGenerator<FollowedItem, Position | undefined, undefined> {
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
    asked: Position | undefined,
    filter: EventFilter,
    limit: number,
    upTo?: Position,
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

export const EVENTS_TOPIC = "events";

export interface EventLogOptions {
  readonly database: Database;
  readonly logger: Logger;
  readonly notifications?: Pick<Notifications, "publish" | "subscribe">;
  readonly clock?: Clock;
  /** Events that wait for one slow reader before it is cut off. Default 1,000. */
  readonly bufferLimit?: number;
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

export interface Reset {
  /** The position before the oldest event that is kept. */
  readonly oldest: string;
  readonly because: "retention" | "era";
}

export type FollowedItem =
  | { readonly kind: "event"; readonly event: PlatformEvent }
  | ({ readonly kind: "reset" } & Reset);

/** Followers that are told of new events before the main thread may do something else. */
const WOKEN_AT_ONCE = 16;
/** Readers look this often without being called, in milliseconds. */
const POLL_EVERY = 500;
/**
 * First pause while an open transaction hides written events, in milliseconds; doubles up to
 * POLL_EVERY.
 */
const POLL_BLOCKED = 10;
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
 * About the bytes that wait for one slow reader before it is cut off. Readers share the events
 * themselves.
 */
const BUFFER_BYTES = 8 * 1024 * 1024;
/**
 * About the bytes of pages that were read for followers that catch up and are not taken yet, of all
 * followers of a process.
 */
const PAGES_BYTES = 32 * 1024 * 1024;

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

// ── positions
// ──────────────────────────────────────────────────────────────────────────────────────────────────────

interface Position {
  readonly era: number;
  readonly xid: bigint;
  readonly seq: bigint;
}

const START: Position = { era: 0, xid: 0n, seq: 0n };

/** `era.xid.seq`. Throws EVENT_POSITION_INVALID. */
export function parsePosition(text: string): Position {
  const match = /^([1-9]\d{0,14})\.(\d{1,20})\.(\d{1,19})$/.exec(text);
  const position = match && {
    era: Number(match[1]),
    xid: BigInt(match[2]!),
    seq: BigInt(match[3]!),
  };

  if (position && position.xid < 2n ** 64n && position.seq < 2n ** 63n) return position;

  throw new DureError(
    "EVENT_POSITION_INVALID",
    `"${text.slice(0, 80)}" is not a position in the event log.`,
    {
      class: "input",
      hint: "Give back the `id` of an event as it came, or leave it out to begin with the present.",
    },
  );
}

function formatPosition({ era, xid, seq }: Position): string {
  return `${era}.${xid}.${seq}`;
}

function comparePositions(a: Position, b: Position): number {
  if (a.era !== b.era) return a.era - b.era;
  if (a.xid !== b.xid) return a.xid < b.xid ? -1 : 1;
  return a.seq < b.seq ? -1 : a.seq > b.seq ? 1 : 0;
}

/** State of the log when a statement ran. */
interface Frame {
  readonly era: number;
  /** Behind everything readable. */
  readonly end: Position;
  /** First transaction id that was not given out yet. */
  readonly xmax: bigint;
  /** The last event that retention removed. */
  readonly swept: { readonly xid: bigint; readonly seq: bigint };
}

/** Why nothing can be read on from `position`, if so. Pure. */
function whyLost(position: Position, frame: Frame): Reset["because"] | undefined {
  if (position.era !== frame.era) return position.era === 0 ? undefined : "era";
  if (position.xid > frame.xmax) return "era"; // from a future that this database does not have
  return comparePositions(position, { ...frame.swept, era: frame.era }) < 0 && position.xid > 0n
    ? "retention"
    : undefined;
}

// ── filters
// ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Whether an event passes. Pure; says the same as `filterCondition`. */
export function matchesFilter(filter: EventFilter, event: PlatformEvent): boolean {
  const { types, tenant, session, run, room, job, role } = filter;
  if (tenant !== undefined && event.tenant !== tenant) return false;

  if (
    types &&
    !types.some((type) =>
      type.endsWith(".*") ? event.type.startsWith(type.slice(0, -1)) : event.type === type,
    )
  ) {
    return false;
  }

  if (session !== undefined && event.session !== session) return false;
  if (run !== undefined && event.run !== run) return false;
  if (room !== undefined && event.room !== room) return false;
  if (job !== undefined && event.job !== job) return false;

  return role === undefined || event.role === role;
}

/** Eight parameters for a statement's WHERE, in the order of `filterCondition`. */
function filterParameters(filter: EventFilter): unknown[] {
  const { exact, prefixes } = typePatterns(filter);
  return [
    exact,
    prefixes,
    filter.session ?? null,
    filter.run ?? null,
    filter.room ?? null,
    filter.role ?? null,
    filter.job ?? null,
    filter.tenant ?? null,
  ];
}

function typePatterns({ types }: EventFilter): { exact: string[] | null; prefixes: string[] } {
  if (!types) return { exact: null, prefixes: [] };
  return {
    exact: types.filter((type) => !type.endsWith(".*")),
    prefixes: types.filter((type) => type.endsWith(".*")).map((type) => type.slice(0, -1)),
  };
}

/** An event with its position, so that it is parsed once for all followers. */
interface PlacedEvent extends Position {
  readonly event: PlatformEvent;
  readonly bytes: number;
}

// ── pages
// ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Pages held by followers that catch up. When these hold too much in total, the oldest page is
 * revoked.
 */
class HeldPages {
  readonly #held = new Set<HeldPage>();
  #bytes = 0;

  hold(events: readonly PlatformEvent[]): HeldPage {
    const page = new HeldPage(events, () => this.#release(page));
    this.#held.add(page);
    this.#bytes += page.bytes;

    for (const oldest of this.#held) {
      if (this.#bytes <= PAGES_BYTES || oldest === page) break;
      oldest.revoke();
    }

    return page;
  }

  #release(page: HeldPage): void {
    if (this.#held.delete(page)) this.#bytes -= page.bytes;
  }
}

class HeldPage {
  readonly bytes: number;
  readonly release: () => void;
  #events: PlatformEvent[];
  #isRevoked = false;

  constructor(events: readonly PlatformEvent[], release: () => void) {
    this.#events = events.toReversed();
    this.bytes = events.reduce((sum, event) => sum + roughBytes(event), 0);
    this.release = release;
  }

  get isRevoked(): boolean {
    return this.#isRevoked;
  }

  take(): PlatformEvent | undefined {
    return this.#events.pop();
  }

  revoke(): void {
    this.#isRevoked = this.#events.length > 0;
    this.#events = [];
    this.release();
  }
}

// ── one follower
// ───────────────────────────────────────────────────────────────────────────────────────────────────

/** What one consumer has not taken yet. Bounded. */
class Follower {
  readonly filter: EventFilter;
  /** Everything up to here was taken or did not match. */
  position: Position;
  readonly #limit: number;
  #buffer: PlacedEvent[] = [];
  #bytes = 0;
  #state: "live" | "slow" | "lost" | "end" = "live";
  #wake: (() => void) | undefined;

  constructor(filter: EventFilter, position: Position, limit: number) {
    this.filter = filter;
    this.position = position;
    this.#limit = limit;
  }

  /** Share of the buffer that is in use, 0 to 1. */
  get fill(): number {
    return this.#state === "live" ? this.#buffer.length / this.#limit : 0;
  }

  /** Puts events into the buffer; `wakeUp` tells the consumer. */
  offer(events: readonly PlacedEvent[]): void {
    if (this.#state !== "live") return;
    for (const placed of events) {
      if (
        comparePositions(placed, this.position) <= 0 ||
        !matchesFilter(this.filter, placed.event)
      ) {
        continue;
      }
      if (this.#buffer.length >= this.#limit || this.#bytes + placed.bytes > BUFFER_BYTES) {
        this.#state = "slow";
        break;
      }
      this.#buffer.push(placed);
      this.#bytes += placed.bytes;
    }
  }

  wakeUp(): void {
    if (this.#buffer.length > 0 || this.#state !== "live") this.#wake?.();
  }

  /** The poller lost its position. */
  lose(): void {
    if (this.#state === "live") this.#state = "lost";
    this.#wake?.();
  }

  end(): void {
    this.#state = "end";
    this.#wake?.();
  }

  /** What waits in the buffer comes first, then the reason why no more comes. */
  async next(): Promise<PlatformEvent | "lost" | "end"> {
    for (;;) {
      if (this.#state === "end") return "end";
      const placed = this.#buffer.shift();
      if (placed) {
        this.#bytes -= placed.bytes;
        this.position = placed;
        return placed.event;
      }
      if (this.#state === "lost") return "lost";
      if (this.#state === "slow") throw this.#tooSlow();
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
    }
  }

  #tooSlow(): DureError {
    const resume = formatPosition(this.position);
    return new DureError(
      "EVENT_READER_SLOW",
      `More than ${this.#limit} events or ${BUFFER_BYTES} bytes waited for this reader; it was cut off.`,
      {
        class: "limit",
        hint: `Connect again with Last-Event-ID ${resume}; nothing is lost.`,
        details: { resume },
      },
    );
  }
}

// ── the poller of a process
// ────────────────────────────────────────────────────────────────────────────────────────

/**
 * Reads what is new, once for all followers. Runs while it has users: followers, attached or on
 * their way.
 */
class Poller {
  position: Position = START;
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

// ── rows
// ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface FrameRow {
  readonly era: number;
  readonly xmin: string;
  readonly xmax: string;
  readonly swept_xid: string;
  readonly swept_seq: string;
}

interface EventRow {
  readonly xid: string;
  readonly seq: string | null;
  readonly at: number;
  readonly type: string;
  readonly role: EventRole;
  readonly session: string | null;
  readonly turn: string | null;
  readonly service: string | null;
  readonly agent: string | null;
  readonly room: string | null;
  readonly run: string | null;
  readonly job: string | null;
  /** Null: the subject of the event is deleted, and its tenant is unknown. */
  readonly tenant: string | null;
  readonly data: Record<string, unknown>;
  readonly scanned_xid?: string | null;
  readonly scanned_seq?: string | null;
}

interface PollRow extends FrameRow, EventRow {
  readonly blocked: boolean;
}

function frameOf(row: FrameRow): Frame {
  const { era } = row;
  return {
    era,
    end: { era, xid: BigInt(row.xmin), seq: 0n },
    xmax: BigInt(row.xmax),
    swept: { xid: BigInt(row.swept_xid), seq: BigInt(row.swept_seq) },
  };
}

function scannedOf(row: EventRow, era: number): Position | undefined {
  if (!row.scanned_xid || !row.scanned_seq) return undefined;
  return { era, xid: BigInt(row.scanned_xid), seq: BigInt(row.scanned_seq) };
}

function placedOf(row: EventRow, era: number): PlacedEvent {
  const event = eventOf(row, era);
  return { era, xid: BigInt(row.xid), seq: BigInt(row.seq!), event, bytes: roughBytes(event) };
}

const SUBJECTS = ["tenant", "session", "turn", "service", "agent", "room", "run", "job"] as const;

function eventOf(row: EventRow, era: number): PlatformEvent {
  const subjects = Object.fromEntries(
    SUBJECTS.flatMap((name) => (row[name] === null ? [] : [[name, row[name]]])),
  );
  const event = {
    id: `${era}.${row.xid}.${row.seq}`,
    at: row.at,
    type: row.type,
    role: row.role,
    ...subjects,
    data: row.data,
  };

  return event as PlatformEvent; // a process of this release or of a newer one has written it
}

/** The state of the log, from the snapshot in which the reader also reads. */
const FRAME_COLUMNS = `
  m.era, pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
    pg_snapshot_xmax(pg_current_snapshot())::text as xmax,
  m.events_swept_xid::text as swept_xid, m.events_swept_seq::text as swept_seq`;

const EVENT_COLUMNS = `
  e.xid::text as xid, e.seq::text as seq, extract(epoch from e.at)::float8 * 1000 as at, e.type, e.role,
  e.session, e.turn, e.service, e.agent, e.room, e.run, e.job, e.tenant, e.data`;

const FRAME: Statement = { name: "events.frame", text: `select ${FRAME_COLUMNS} from dure.meta m` };

/** Whether row `e` passes; its eight parameters begin at `$first`. */
function filterCondition(first: number): string {
  const parameter = (offset: number): string => `$${first + offset}::text`;
  return `(${parameter(0)}[] is null or e.type = any(${parameter(0)}[]) or exists (select from unnest(${parameter(1)}[]) p where starts_with(e.type, p)))
           and (${parameter(2)} is null or e.session = ${parameter(2)})
           and (${parameter(3)} is null or e.run = ${parameter(3)})
           and (${parameter(4)} is null or e.room = ${parameter(4)})
           and (${parameter(5)} is null or e.role = ${parameter(5)})
           and (${parameter(6)} is null or e.job = ${parameter(6)})
           and (${parameter(7)} is null or e.tenant = ${parameter(7)})`;
}

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
