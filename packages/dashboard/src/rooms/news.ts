import { isObject, type PlatformEvent } from "dure/client";

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
export function newsOf({ type, room, agent, data }: PlatformEvent): News {
  const message = textOf(data["message"]);
  if (type.startsWith("account.")) return { agents: true };
  if (type.startsWith("escalation.")) return { escalations: true };
  if (room === undefined || message === undefined) return { rooms: true };
  switch (type) {
    case "room.message":
      return {
        grown: room,
        rooms: true,
        begun: { place: room, message, agents: handlersOf(data["roles"]) },
      };
    case "room.heard":
      return {
        changed: { place: room, message },
        rooms: true,
        begun: { place: room, message, agents: handlersOf(data["roles"]) },
      };
    case "room.handled":
      return {
        grown: room,
        changed: { place: room, message },
        rooms: true,
        ended: { place: room, message, agent: agent ?? "" },
      };
    default:
      return { changed: { place: room, message }, rooms: true };
  }
}

function handlersOf(roles: unknown): readonly string[] {
  return isObject(roles)
    ? Object.entries(roles).flatMap(([agent, role]) => (role === "HANDLER" ? [agent] : []))
    : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
