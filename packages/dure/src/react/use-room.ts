import { useMemo, useSyncExternalStore } from "react";
import type { RoomMessage, RoomPeople } from "../wire/rooms.ts";
import type { DureError } from "../kernel/errors.ts";
import { useHub } from "./provider.ts";
import { roomOf, type RoomFollower } from "./room-follower.ts";
import { writersOf, type Timeline } from "./timeline.ts";

/** In whose name `useRoom` reads and writes. */
export interface UseRoomOptions {
  /** A person's name, where the server asks for no token; with a token it is left out. */
  readonly asPerson?: string | undefined;
}

/** A place as it stands, and what can be done there. */
export interface UsedRoom {
  /** Undefined until it was read. */
  readonly timeline: Timeline | undefined;
  /** Oldest first; empty until they were read. */
  readonly messages: readonly RoomMessage[];
  /** Agents that write now. */
  readonly writers: readonly string[];
  /** People who look at a web room now, and who of them writes. Undefined: no one is known to. */
  readonly people: RoomPeople | undefined;
  /** Why the last reading failed; what was read before stays. */
  readonly problem: DureError | undefined;
  /** Says something; the same `clientId` again is harmless for 24 h. Rejects with a refusal. */
  readonly post: (text: string, options?: PostOptions) => Promise<string>;
  /** Reads messages before the oldest one. */
  readonly older: () => Promise<void>;
  /** Reads one page behind the last one, where `timeline.hasNewer`. */
  readonly newer: () => Promise<void>;
  /** Goes from a part from before to the newest messages. */
  readonly newest: () => Promise<void>;
  /** Reads what stands around a message. Rejects where the room has it not. */
  readonly around: (message: string) => Promise<void>;
  /** Reads the newest messages anew. */
  readonly reload: () => Promise<void>;
}

/** How a message is posted. */
export interface PostOptions {
  readonly clientId?: string | undefined;
  /** The message that it answers. */
  readonly replyTo?: string | undefined;
}

/** The messages of a channel, a thread or a direct room, live while the component is there. */
export function useRoom(place: string, { asPerson }: UseRoomOptions = {}): UsedRoom {
  const hub = useHub();
  const room = useMemo(() => roomOf(hub, place, asPerson), [hub, place, asPerson]);
  const { timeline, problem, people } = useSyncExternalStore(
    room.subscribe,
    room.snapshot,
    room.snapshot,
  );
  const deeds = useMemo(() => {
    const post = (text: string, options: PostOptions = {}): Promise<string> =>
      posted(hub.client.rooms(asPerson).post(place, { text, ...options }), room);

    return {
      post,
      older: () => room.older(),
      newer: () => room.newer(),
      newest: () => room.newest(),
      around: (message: string) => room.around(message),
      reload: () => room.load(),
    };
  }, [hub, room, place, asPerson]);

  const messages = timeline?.messages ?? NOTHING;
  const writers = useMemo(() => (timeline === undefined ? [] : writersOf(timeline)), [timeline]);
  return { timeline, messages, writers, people, problem, ...deeds };
}

const NOTHING: readonly RoomMessage[] = [];

async function posted(sent: Promise<string>, room: RoomFollower): Promise<string> {
  const id = await sent;
  await room.grow().catch(() => {}); // it is said; the log of events brings it
  return id;
}
