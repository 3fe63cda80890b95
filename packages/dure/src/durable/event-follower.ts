import { DureError } from "../kernel/errors.ts";
import { roughBytes } from "../kernel/json.ts";
import type { EventFilter } from "../kernel/platform-events.ts";
import type { PlatformEvent } from "../wire/events.ts";
import { matchesFilter } from "./event-filter.ts";
import { comparePositions, formatPosition, type EventPosition } from "./event-position.ts";

/** What readers of the log have not taken yet; all of it is bounded. */

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

/** An event with its position, so that it is parsed once for all followers. */
export interface PlacedEvent extends EventPosition {
  readonly event: PlatformEvent;
  readonly bytes: number;
}

/**
 * Pages held by followers that catch up. When these hold too much in total, the oldest page is
 * revoked.
 */
export class HeldPages {
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

/** What one consumer has not taken yet. Bounded. */
export class Follower {
  readonly filter: EventFilter;
  /** Everything up to here was taken or did not match. */
  position: EventPosition;
  readonly #limit: number;
  #buffer: PlacedEvent[] = [];
  #bytes = 0;
  #state: "live" | "slow" | "lost" | "end" = "live";
  #wake: (() => void) | undefined;

  constructor(filter: EventFilter, position: EventPosition, limit: number) {
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
