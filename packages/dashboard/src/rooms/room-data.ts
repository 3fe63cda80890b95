import type { QueryKey } from "@tanstack/react-query";
import type { RoomAgent } from "dure/client";

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
  message: (who: PageSpeaker, id: string): QueryKey => ["rooms", who ?? "", "message", id],
  agents: ["agents"] as QueryKey,
} as const;

/** Agents' names, and what to call one that is not there any more. */
export function namesOf(agents: readonly RoomAgent[] | undefined): (id: string) => string {
  const names = new Map(agents?.map(({ id, displayName }) => [id, displayName]));
  return (id) => names.get(id) ?? id;
}
