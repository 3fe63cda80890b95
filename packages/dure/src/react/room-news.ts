import type { EventOf, PlatformEvent } from "../wire/events.ts";

/** What an event of the log means for the messages of a place. */
export interface RoomNews {
  /** A place with something new behind its last message. */
  readonly grown?: string;
  /** A message that is not what it was: delivered, handled, edited. */
  readonly changed?: { readonly place: string; readonly message: string };
  /** Agents that answer a message from now on. */
  readonly begun?: {
    readonly place: string;
    readonly message: string;
    readonly agents: readonly string[];
  };
  /** An agent that has nothing more to do with a message. */
  readonly ended?: { readonly place: string; readonly message: string; readonly agent: string };
}

/** Pure. Events hold ids and never text; what they point to is asked for. */
export function roomNewsOf(event: PlatformEvent): RoomNews {
  const { room, agent } = event;
  const message = messageIn(event);
  if (room === undefined || message === undefined) return {};

  const changed = { place: room, message };

  switch (event.type) {
    case "room.message":
      return { grown: room, begun: { ...changed, agents: handlersIn(event) } };
    case "room.heard":
      return { changed, begun: { ...changed, agents: handlersIn(event) } };
    case "room.handled":
      return { grown: room, changed, ended: { ...changed, agent: agent ?? "" } };
    default:
      return { changed };
  }
}

function handlersIn({ data }: EventOf<"room.message" | "room.heard">): readonly string[] {
  const { roles = {} } = data;
  return Object.entries(roles).flatMap(([agent, role]) => (role === "HANDLER" ? [agent] : []));
}

/** The message that an event is about, if it is about one. */
function messageIn({ type, data }: PlatformEvent): string | undefined {
  if (/^(?:account|agent|escalation)\./u.test(type)) return undefined;
  const message = "message" in data ? data.message : undefined;
  return typeof message === "string" && message !== "" ? message : undefined;
}
