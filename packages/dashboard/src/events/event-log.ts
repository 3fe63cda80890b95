import {
  DureError,
  messageOf,
  systemClock,
  type DureClient,
  type EventsFilter,
  type PlatformEvent,
} from "dure/client";
import { ownCode } from "../unreachable.ts";

export interface LogRow {
  /**
   * Rises by 1 per received event, never reused: the place of a row in the whole log of this page.
   */
  readonly index: number;
  readonly event: PlatformEvent;
  /** Lower case, for the search. */
  readonly words: string;
}

export interface LogView {
  readonly rows: readonly LogRow[];
  /** Received while paused, newest last. */
  readonly held: readonly LogRow[];
  /** Let go because of the limit. */
  readonly dropped: number;
  readonly paused: boolean;
  readonly connection: "connecting" | "connected" | "reconnecting" | "stopped";
  /** The server had already forgotten a part of what lies between two rows. */
  readonly wasReset: boolean;
  readonly problem?: DureError;
}

/** Rows that a page keeps, shown and held together at most twice as many. */
export const ROW_LIMIT = 2_000;
/** Stored events with which the page begins. */
const FIRST_SHOWN = 200;
/** Events are shown in bundles, milliseconds: a burst of a thousand is one drawing. */
const BUNDLE_MS = 60;

const EMPTY: LogView = {
  rows: [],
  held: [],
  dropped: 0,
  paused: false,
  connection: "connecting",
  wasReset: false,
};

/** The live event log of the page, bounded. A change of the filter begins anew. */
export class EventLog {
  readonly #client: DureClient;
  readonly #limit: number;
  readonly #listeners = new Set<() => void>();
  #view: LogView = EMPTY;
  #pending: LogRow[] = [];
  #next = 0;
  #leave: AbortController | undefined;

  constructor(options: { client: DureClient; limit?: number }) {
    this.#client = options.client;
    this.#limit = options.limit ?? ROW_LIMIT;
  }

  readonly snapshot = (): LogView => this.#view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  start(filter: EventsFilter): void {
    this.stop();
    const leave = new AbortController();
    this.#leave = leave;
    this.#change({ ...EMPTY, paused: this.#view.paused });
    void this.#follow(filter, leave.signal);
  }

  stop(): void {
    this.#leave?.abort();
    this.#pending = [];
  }

  pause(): void {
    this.#change({ paused: true });
  }

  resume(): void {
    const held = this.#view.held;
    this.#change({ paused: false, held: [], ...this.#kept(this.#view.rows, held) });
  }

  clear(): void {
    this.#change({ rows: [], held: [], dropped: 0, wasReset: false });
  }

  async #follow(filter: EventsFilter, signal: AbortSignal): Promise<void> {
    try {
      const events = this.#client.events(filter, {
        signal,
        last: FIRST_SHOWN,
        onConnection: (connection) => !signal.aborted && this.#change({ connection }),
        onReset: () => !signal.aborted && this.#change({ wasReset: true }),
      });
      for await (const event of events) this.#receive(event);
    } catch (error) {
      if (signal.aborted) return;
      const problem =
        error instanceof DureError ? error : new DureError(ownCode(error), messageOf(error));
      this.#change({ connection: "stopped", problem });
    }
  }

  #receive(event: PlatformEvent): void {
    this.#pending.push({ index: this.#next++, event, words: JSON.stringify(event).toLowerCase() });
    if (this.#pending.length === 1) systemClock.after(BUNDLE_MS, () => this.#show());
    else if (this.#pending.length > this.#limit) this.#show();
  }

  #show(): void {
    const pending = this.#pending;
    if (pending.length === 0) return;

    this.#pending = [];
    if (!this.#view.paused) return this.#change(this.#kept(this.#view.rows, pending));

    const { rows, dropped } = this.#kept(this.#view.held, pending);
    this.#change({ held: rows, dropped });
  }

  #kept(
    rows: readonly LogRow[],
    added: readonly LogRow[],
  ): { rows: readonly LogRow[]; dropped: number } {
    const all = [...rows, ...added];
    const over = Math.max(0, all.length - this.#limit);
    return { rows: over > 0 ? all.slice(over) : all, dropped: this.#view.dropped + over };
  }

  #change(part: Partial<LogView>): void {
    this.#view = { ...this.#view, ...part };
    for (const listener of this.#listeners) listener();
  }
}

const logs = new WeakMap<DureClient, EventLog>();

/** The log of a client: it outlives the page that shows it. */
export function eventLogOf(client: DureClient): EventLog {
  const log = logs.get(client) ?? new EventLog({ client });
  logs.set(client, log);
  return log;
}
