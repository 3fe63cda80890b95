import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { Escalation, Room, RoomAgent, Thread } from "dure/client";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { meOf } from "../shell/me.ts";
import { useParts } from "../app-parts.tsx";
import { ROOM_KEYS, type PageSpeaker } from "./room-data.ts";
import { useAsked, usePages } from "../asked.ts";

/** Unread marks are looked for so often where the log of events is not followed, milliseconds. */
const LIST_EVERY_MS = 20_000;
/** Rooms of one page; the server gives no more at once. */
const ROOMS_PAGE = 200;
/** Pages of rooms that are read without being asked for. */
const MAX_ROOM_PAGES = 10;
/** Threads of a channel that the page lists and searches; the server gives no more at once. */
const MAX_THREADS = 500;
/** A suspension ends by itself, without an event: the place is looked at so often, milliseconds. */
const SUSPENDED_EVERY_MS = 5_000;

/** Who speaks here. `asks`: no person is logged in and no name is known, so the page asks for one. */
export function useSpeaker(): {
  readonly who: PageSpeaker;
  readonly asks: boolean;
  readonly named: boolean;
  /** Under which what this person writes stands. */
  readonly name: string | undefined;
} {
  const { client, personName } = useParts();
  const me = useQuery(meOf(client));

  const name = useSyncExternalStore(personName.subscribe, personName.snapshot);
  const isOpen = me.data?.person === null; // at the server's machine the person is not known by name

  return {
    who: isOpen ? (name ?? undefined) : undefined,
    asks: isOpen && name === null,
    named: isOpen && name !== null,
    name: (isOpen ? name : me.data?.person) ?? undefined,
  };
}

/**
 * Channels and direct rooms, as far as they have been read; refused with class `not-found` where
 * the team has no rooms.
 */
interface RoomList {
  readonly data: readonly Room[] | undefined;
  readonly error: Error | null;
  readonly isPending: boolean;
  /**
   * More pages are being read, or will be by themselves: what is not among `data` may still come.
   */
  readonly isReading: boolean;
  /** There are more than are read by themselves. */
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly retry: () => void;
}

/**
 * Marks and the place that is looked at need every room, so page after page is read; from some
 * thousand on, when a person asks for more.
 */
export function useRoomList(who: PageSpeaker): RoomList {
  const list = usePages(
    ROOM_KEYS.list(who),
    (client, cursor, signal) => client.rooms(who).list({ limit: ROOMS_PAGE, cursor }, { signal }),
    { refetchInterval: (query) => (query.state.status === "error" ? false : LIST_EVERY_MS) },
  );

  const {
    data,
    error,
    isPending,
    isFetching,
    isFetchingNextPage,
    hasNextPage,
    isFetchNextPageError,
    fetchNextPage,
    refetch,
  } = list;

  const goesOn = hasNextPage && !isFetchNextPageError && (data?.pages.length ?? 0) < MAX_ROOM_PAGES;
  useEffect(() => {
    if (goesOn && !isFetching) void fetchNextPage({ cancelRefetch: false });
  }, [goesOn, isFetching, fetchNextPage]);
  const rooms = useMemo(() => data?.pages.flatMap(({ items }) => items), [data]);

  return {
    data: rooms,
    error,
    isPending,
    isReading: isPending || goesOn || isFetchingNextPage,
    hasMore: hasNextPage && !goesOn,
    more: () => void fetchNextPage({ cancelRefetch: false }),
    retry: () => void refetch(),
  };
}

export function useThreads(
  who: PageSpeaker,
  room: string | undefined,
): UseQueryResult<readonly Thread[]> {
  return useAsked(
    ROOM_KEYS.threads(who, room ?? ""),
    (client, signal) => client.rooms(who).threads(room ?? "", { signal, limit: MAX_THREADS }),
    {
      enabled: room !== undefined,
    },
  );
}

/** Asked for unless `id` is undefined. */
export function useThread(who: PageSpeaker, id: string | undefined): UseQueryResult<Thread> {
  return useAsked(
    ROOM_KEYS.thread(who, id ?? ""),
    (client, signal) => client.rooms(who).thread(id ?? "", { signal }),
    {
      enabled: id !== undefined,
      refetchInterval: (query) =>
        query.state.data?.state === "suspended" ? SUSPENDED_EVERY_MS : false,
    },
  );
}

export function useAgents(enabled = true): UseQueryResult<readonly RoomAgent[]> {
  return useAsked(ROOM_KEYS.agents, (client, signal) => client.rooms().agents({ signal }), {
    staleTime: 30_000,
    enabled,
  });
}

/** The questions that buttons of messages answer. */
export function useEscalations(enabled: boolean): UseQueryResult<readonly Escalation[]> {
  return useAsked(
    ["escalations", "rooms"],
    async (client, signal) => (await client.escalations({ limit: 200 }, { signal })).items,
    {
      enabled,
    },
  );
}

export function useIsAdmin(): boolean {
  const { client } = useParts();
  const me = useQuery(meOf(client));

  return me.data?.scopes.includes("admin") ?? false;
}
