import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { Escalation, Room, RoomAgent, Thread } from "dure/client";
import { useSyncExternalStore } from "react";
import { useParts } from "../app-parts.tsx";
import { ROOM_KEYS, type Speaker } from "./room-data.ts";
import type { Timeline } from "./timeline.ts";

/** Unread marks are looked for so often where the log of events is not followed, milliseconds. */
const LIST_EVERY_MS = 20_000;
/** Threads of a channel that the page lists and searches; the server gives no more at once. */
const THREADS_MOST = 500;
/** A suspension ends by itself and tells nobody: the place is looked at so often, milliseconds. */
const SUSPENDED_EVERY_MS = 5_000;

/** Who speaks here. `asks`: nobody is logged in and no name is known, so the page asks for one. */
export function useSpeaker(): { readonly who: Speaker; readonly asks: boolean; readonly named: boolean } {
  const { client, personName } = useParts();
  const me = useQuery({ queryKey: ["me"], queryFn: ({ signal }) => client.me({ signal }), staleTime: 60_000 });
  const name = useSyncExternalStore(personName.subscribe, personName.snapshot);
  const isOpen = me.data?.auth === "open";
  return { who: isOpen ? (name ?? undefined) : undefined, asks: isOpen && name === null, named: isOpen && name !== null };
}

/** Channels and direct rooms; refused with class `not-found` where the team has no rooms. */
export function useRoomList(who: Speaker): UseQueryResult<readonly Room[]> {
  const { client } = useParts();
  return useQuery({ queryKey: ROOM_KEYS.list(who), queryFn: ({ signal }) => client.rooms(who).list({ signal }), refetchInterval: (query) => (query.state.status === "error" ? false : LIST_EVERY_MS) });
}

export function useTimeline(who: Speaker, place: string): UseQueryResult<Timeline> {
  const { roomData } = useParts();
  return useQuery({ queryKey: ROOM_KEYS.timeline(who, place), queryFn: ({ signal }) => roomData.newest(who, place, signal) });
}

export function useThreads(who: Speaker, room: string | undefined): UseQueryResult<readonly Thread[]> {
  const { client } = useParts();
  return useQuery({ queryKey: ROOM_KEYS.threads(who, room ?? ""), queryFn: ({ signal }) => client.rooms(who).threads(room ?? "", { signal, limit: THREADS_MOST }), enabled: room !== undefined });
}

/** Asked for unless `id` is undefined. */
export function useThread(who: Speaker, id: string | undefined): UseQueryResult<Thread> {
  const { client } = useParts();
  return useQuery({
    queryKey: ROOM_KEYS.thread(who, id ?? ""),
    queryFn: ({ signal }) => client.rooms(who).thread(id ?? "", { signal }),
    enabled: id !== undefined,
    refetchInterval: (query) => (query.state.data?.state === "suspended" ? SUSPENDED_EVERY_MS : false),
  });
}

export function useAgents(enabled = true): UseQueryResult<readonly RoomAgent[]> {
  const { client } = useParts();
  return useQuery({ queryKey: ROOM_KEYS.agents, queryFn: ({ signal }) => client.rooms().agents({ signal }), staleTime: 30_000, enabled });
}

/** The questions that buttons of messages answer. */
export function useEscalations(enabled: boolean): UseQueryResult<readonly Escalation[]> {
  const { client } = useParts();
  return useQuery({ queryKey: ["escalations", "rooms"], queryFn: async ({ signal }) => (await client.escalations({ limit: 200 }, { signal })).items, enabled });
}

export function useIsAdmin(): boolean {
  const { client } = useParts();
  const me = useQuery({ queryKey: ["me"], queryFn: ({ signal }) => client.me({ signal }), staleTime: 60_000 });
  return me.data?.scopes.includes("admin") ?? false;
}
