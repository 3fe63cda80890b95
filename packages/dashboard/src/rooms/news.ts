import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { systemClock, type PlatformEvent } from "dure/client";
import { ROOM_EVENTS, type DureHub } from "dure/react";
import { ROOM_KEYS, type PageSpeaker } from "./room-data.ts";

/** What an event of the log means for the lists of a page of rooms. */
export interface News {
  /** Unread marks and states of rooms, or of threads, are others. */
  readonly rooms?: true;
  readonly agents?: true;
  readonly escalations?: true;
}

/** Pure. Messages of a place are followed by `useRoom`. */
export function newsOf({ type }: PlatformEvent): News {
  if (type.startsWith("account.") || type.startsWith("agent.")) return { agents: true };
  if (type.startsWith("escalation.")) return { escalations: true };
  return { rooms: true };
}

/** News are taken in together, milliseconds: a burst of events is one reading. */
const BUNDLE_MS = 30;
/** Where the log may not be followed, the page looks by itself, milliseconds. */
const LOOK_EVERY_MS = 4_000;

/** Keeps the lists of rooms, threads and agents fresh by the log of events, until the signal aborts. */
export function followRooms(
  { hub, queries }: { hub: DureHub; queries: QueryClient },
  who: PageSpeaker,
  signal: AbortSignal,
): void {
  const queryKey = ["rooms", who ?? ""];
  const readAll = (): void => void queries.invalidateQueries({ queryKey });
  let waiting: News[] = [];

  const unfollow = hub.events.follow(ROOM_EVENTS, {
    onEvent: (event) => {
      waiting.push(newsOf(event));
      if (waiting.length > 1) return;
      systemClock.after(BUNDLE_MS, () => {
        const keys = keysOf(who, waiting);
        waiting = [];
        if (signal.aborted) return;
        for (const key of keys) void queries.invalidateQueries({ queryKey: key });
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

/** What is to be read again. Pure. */
function keysOf(who: PageSpeaker, news: readonly News[]): readonly QueryKey[] {
  return [
    ...(news.some(({ rooms }) => rooms) ? [ROOM_KEYS.list(who), ROOM_KEYS.allThreads(who)] : []),
    ...(news.some(({ agents }) => agents) ? [ROOM_KEYS.agents] : []),
    ...(news.some(({ escalations }) => escalations) ? [["escalations"]] : []),
  ];
}
