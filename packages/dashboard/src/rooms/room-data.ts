import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { systemClock, type RoomAgent } from "dure/client";
import { ROOM_EVENTS, type DureHub } from "dure/react";
import { newsOf, type News } from "./news.ts";

/** In whose name rooms are read; undefined: in that of the token. */
export type PageSpeaker = string | undefined;

/** Keys of what is known of rooms besides their messages. */
export const ROOM_KEYS = {
  list: (who: PageSpeaker): QueryKey => ["rooms", who ?? "", "list"],
  allThreads: (who: PageSpeaker): QueryKey => ["rooms", who ?? "", "threads"],
  threads: (who: PageSpeaker, room: string): QueryKey => [
    "rooms",
    who ?? "",
    "threads",
    "of",
    room,
  ],
  thread: (who: PageSpeaker, id: string): QueryKey => ["rooms", who ?? "", "threads", "one", id],
  agents: ["agents"] as QueryKey,
} as const;

/** News are taken in together, milliseconds: a burst of events is one reading. */
const BUNDLE_MS = 30;
/** Where the log may not be followed, the page looks by itself, milliseconds. */
const LOOK_EVERY_MS = 4_000;

/** The lists of rooms, threads and agents, kept fresh by the log of events. */
export class RoomData {
  readonly #hub: DureHub;
  readonly #queries: QueryClient;

  constructor(options: { hub: DureHub; queries: QueryClient }) {
    this.#hub = options.hub;
    this.#queries = options.queries;
  }

  /** Follows the log until the signal aborts. */
  follow(who: PageSpeaker, signal: AbortSignal): void {
    const queryKey = ["rooms", who ?? ""];
    const readAll = (): void => void this.#queries.invalidateQueries({ queryKey });
    let waiting: News[] = [];

    const unfollow = this.#hub.events.follow(ROOM_EVENTS, {
      onEvent: (event) => {
        waiting.push(newsOf(event));
        if (waiting.length > 1) return;
        systemClock.after(BUNDLE_MS, () => {
          const news = waiting;
          waiting = [];
          if (!signal.aborted) this.#take(who, news);
        });
      },
      onConnection: (state) => state === "connected" && readAll(),
      onReset: readAll,
      onRefused: () => {
        const cancel = systemClock.every(LOOK_EVERY_MS, readAll);
        signal.addEventListener("abort", cancel, { once: true });
      },
    });
    signal.addEventListener("abort", unfollow, { once: true });
  }

  #take(who: PageSpeaker, news: readonly News[]): void {
    if (news.some(({ rooms }) => rooms)) this.#read(ROOM_KEYS.list(who), ROOM_KEYS.allThreads(who));
    if (news.some(({ agents }) => agents)) this.#read(ROOM_KEYS.agents);
    if (news.some(({ escalations }) => escalations)) this.#read(["escalations"]);
  }

  #read(...keys: readonly QueryKey[]): void {
    for (const queryKey of keys) void this.#queries.invalidateQueries({ queryKey });
  }
}

/** Agents' names, and what to call one that is not there any more. */
export function namesOf(agents: readonly RoomAgent[] | undefined): (id: string) => string {
  const names = new Map(agents?.map(({ id, displayName }) => [id, displayName]));
  return (id) => names.get(id) ?? id;
}

/** People besides the reader: some of their names, and how many they are. */
export interface Others {
  readonly names: readonly string[];
  readonly count: number;
}

/** Pure. */
export function othersOf(
  names: readonly string[] | undefined,
  count: number | undefined,
  reader: string | undefined,
): Others {
  const others = (names ?? []).filter((name) => name !== reader);
  return { names: others, count: (count ?? 0) - (names?.length ?? 0) + others.length };
}
