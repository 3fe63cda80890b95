import { createContext, use } from "react";
import type { DureClient } from "dure/client";
import type { Conversations } from "./chat/conversation.ts";
import type { EventLog } from "./events/event-log.ts";

/** What outlives a page of the dashboard. */
export interface AppParts {
  readonly client: DureClient;
  readonly conversations: Conversations;
  readonly eventLog: EventLog;
}

export const AppPartsContext = createContext<AppParts | undefined>(undefined);

export function useParts(): AppParts {
  const parts = use(AppPartsContext);
  if (parts === undefined) throw new Error("useParts needs an AppPartsContext around it.");
  return parts;
}
