import type { QueryClient, QueryKey } from "@tanstack/react-query";
import {
  systemClock,
  type DureClient,
  type PlatformEvent,
  type RoomAgent,
  type RoomsClient,
} from "dure/client";
import { newsOf } from "./news.ts";
import {
  PAGE,
  withMessage,
  withNewer,
  withNewest,
  withOlder,
  withoutWork,
  withWork,
  type Timeline,
} from "./timeline.ts";

/** In whose name rooms are read; undefined: in that of the token. */
export type Speaker = string | undefined;

/** Keys of everything that is known of rooms. */
export const ROOM_KEYS = {
  list: (who: Speaker): QueryKey => ["rooms", who ?? "", "list"],
  timeline: (who: Speaker, place: string): QueryKey => ["rooms", who ?? "", "timeline", place],
  allThreads: (who: Speaker): QueryKey => ["rooms", who ?? "", "threads"],
  threads: (who: Speaker, room: string): QueryKey => ["rooms", who ?? "", "threads", "of", room],
  thread: (who: Speaker, id: string): QueryKey => ["rooms", who ?? "", "threads", "one", id],
  agents: ["agents"] as QueryKey,
} as const;

const EVENT_TYPES = ["room.*", "account.*", "agent.*", "collaborate.*", "escalation.*"];
/** News are taken in together, milliseconds: a burst of events is one reading. */
const BUNDLE_MS = 30;
/** Changed messages of one place that are read one by one; more are read as a page. */
const MAX_SINGLE = 12;
/** Where the log may not be followed, the page looks by itself, milliseconds. */
const LOOK_EVERY_MS = 4_000;

/**
 * What the page knows of rooms, kept fresh by the log of events: only what has changed is read
 * again.
 */
export class RoomData {
  readonly #client: DureClient;
  readonly #queries: QueryClient;

  constructor(options: { client: DureClient; queries: QueryClient }) {
    this.#client = options.client;
    this.#queries = options.queries;
  }

  /** The newest messages, joined to those that are known. */
  async newest(who: Speaker, place: string, signal?: AbortSignal): Promise<Timeline> {
    const page = await this.#rooms(who).messages(place, { limit: PAGE }, { signal });
    return withNewest(this.#queries.getQueryData<Timeline>(ROOM_KEYS.timeline(who, place)), page);
  }

  /** Reads what was said since. Does nothing for a place that is not looked at. */
  async grow(who: Speaker, place: string): Promise<void> {
    const key = ROOM_KEYS.timeline(who, place);
    while (true) {
      const known = this.#queries.getQueryData<Timeline>(key);
      if (known === undefined) return;
      const page = await this.#rooms(who).messages(place, {
        after: known.messages.at(-1)?.seq ?? 0,
        limit: PAGE,
      });
      this.#change(who, place, (timeline) => withNewer(timeline, page));
      if (page.items.length < PAGE) return;
    }
  }

  async older(who: Speaker, place: string): Promise<void> {
    const first = this.#queries.getQueryData<Timeline>(ROOM_KEYS.timeline(who, place))?.messages[0];
    if (first === undefined) return;

    const page = await this.#rooms(who).messages(place, { before: first.seq, limit: PAGE });
    this.#change(who, place, (timeline) => withOlder(timeline, page));
  }

  /** Follows the log until the signal aborts. */
  async follow(who: Speaker, signal: AbortSignal): Promise<void> {
    const bundle = new NewsBundle((events) => this.#take(who, events), signal);
    const queryKey = ["rooms", who ?? ""];
    const readAll = (): void => void this.#queries.invalidateQueries({ queryKey });
    const beginAnew = (): void => void this.#queries.resetQueries({ queryKey }); // who had begun to write may have ended unheard

    try {
      const events = this.#client.events(
        { types: EVENT_TYPES },
        { signal, onReset: beginAnew, onConnection: (state) => state === "connected" && readAll() },
      );
      for await (const event of events) bundle.add(event);
    } catch {
      if (signal.aborted) return;
    }

    // The log could not be followed: then everything is asked again every so often.
    const cancel = systemClock.every(LOOK_EVERY_MS, readAll);
    signal.addEventListener("abort", cancel, { once: true });
  }

  async #take(who: Speaker, events: readonly PlatformEvent[]): Promise<void> {
    const all = events.map(newsOf);
    for (const { begun, ended } of all) {
      if (begun !== undefined) {
        this.#change(who, begun.place, (timeline) =>
          withWork(timeline, begun.message, begun.agents),
        );
      }
      if (ended !== undefined) {
        this.#change(who, ended.place, (timeline) =>
          withoutWork(timeline, ended.message, ended.agent),
        );
      }
    }

    const places = new Set(
      all.flatMap(({ grown, changed }) =>
        [grown, changed?.place].filter((place) => place !== undefined),
      ),
    );

    await Promise.all([
      ...[...places].map((place) => {
        const changed = new Set(
          all.flatMap((news) => (news.changed?.place === place ? [news.changed.message] : [])),
        );
        return this.#refresh(who, place, {
          grown: all.some((news) => news.grown === place),
          changed,
        });
      }),
      all.some((news) => news.rooms) && this.#read(ROOM_KEYS.list(who), ROOM_KEYS.allThreads(who)),
      all.some((news) => news.agents) && this.#read(ROOM_KEYS.agents),
      all.some((news) => news.escalations) && this.#read(["escalations"]),
    ]);
  }

  /** A place that is not looked at is read when a page looks again. */
  async #refresh(
    who: Speaker,
    place: string,
    { grown, changed }: { grown: boolean; changed: ReadonlySet<string> },
  ): Promise<void> {
    const queryKey = ROOM_KEYS.timeline(who, place);
    const query = this.#queries.getQueryCache().find({ queryKey });
    if (query === undefined) return;
    if (!query.isActive() || changed.size > MAX_SINGLE) return this.#read(queryKey);

    try {
      if (grown) await this.grow(who, place);
      const held =
        this.#queries
          .getQueryData<Timeline>(queryKey)
          ?.messages.filter(({ id }) => changed.has(id)) ?? [];
      const fresh = await Promise.all(held.map(({ id }) => this.#rooms(who).message(id)));
      for (const message of fresh) {
        this.#change(who, place, (timeline) => withMessage(timeline, message));
      }
    } catch {
      await this.#read(queryKey); // which tries again, and shows why it cannot
    }
  }

  #change(who: Speaker, place: string, change: (timeline: Timeline) => Timeline): void {
    this.#queries.setQueryData<Timeline>(
      ROOM_KEYS.timeline(who, place),
      (known) => known && change(known),
    );
  }

  async #read(...keys: readonly QueryKey[]): Promise<void> {
    await Promise.all(keys.map((queryKey) => this.#queries.invalidateQueries({ queryKey })));
  }

  #rooms(who: Speaker): RoomsClient {
    return this.#client.rooms(who);
  }
}

/** Agents' names, and what to call one that is not there any more. */
export function namesOf(agents: readonly RoomAgent[] | undefined): (id: string) => string {
  const names = new Map(agents?.map(({ id, displayName }) => [id, displayName]));
  return (id) => names.get(id) ?? id;
}

/** Gathers events, and hands them on one bundle after the other. */
class NewsBundle {
  readonly #take: (events: readonly PlatformEvent[]) => Promise<void>;
  readonly #signal: AbortSignal;
  #waiting: PlatformEvent[] = [];
  #running = false;

  constructor(take: (events: readonly PlatformEvent[]) => Promise<void>, signal: AbortSignal) {
    this.#take = take;
    this.#signal = signal;
  }

  add(event: PlatformEvent): void {
    this.#waiting.push(event);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0 && !this.#signal.aborted) {
      await systemClock.sleep(BUNDLE_MS);
      await this.#take(this.#waiting.splice(0));
    }

    this.#running = false;
  }
}
