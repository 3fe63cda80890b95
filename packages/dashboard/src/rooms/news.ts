import type { EventOf, PlatformEvent } from "dure/client";

/** What an event of the log means for what a page holds. */
export interface News {
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
  /** Unread marks and states of rooms, or of threads, are others. */
  readonly rooms?: true;
  readonly agents?: true;
  readonly escalations?: true;
}

/** Pure. Events hold ids and never text; what they point to is asked for. */
export function newsOf(event: PlatformEvent): News {
  const { type, room, agent } = event;
  if (type.startsWith("account.") || type.startsWith("agent.")) return { agents: true };
  if (type.startsWith("escalation.")) return { escalations: true };

  const message = messageIn(event);
  if (room === undefined || message === undefined) return { rooms: true };

  const changed = { place: room, message };

  switch (event.type) {
    case "room.message":
      return { grown: room, rooms: true, begun: { ...changed, agents: handlersIn(event) } };
    case "room.heard":
      return { changed, rooms: true, begun: { ...changed, agents: handlersIn(event) } };
    case "room.handled":
      return { grown: room, changed, rooms: true, ended: { ...changed, agent: agent ?? "" } };
    default:
      return { changed, rooms: true };
  }
}

function handlersIn({ data }: EventOf<"room.message" | "room.heard">): readonly string[] {
  const { roles = {} } = data;
  return Object.entries(roles).flatMap(([agent, role]) => (role === "HANDLER" ? [agent] : []));
}

/** The message that an event is about, if it is about one. */
function messageIn({ data }: PlatformEvent): string | undefined {
  const message = "message" in data ? data.message : undefined;
  return typeof message === "string" && message !== "" ? message : undefined;
}
