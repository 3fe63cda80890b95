import type { PlatformEvent } from "dure/client";

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
