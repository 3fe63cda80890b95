import { createContext, use } from "react";
import type { DureClient } from "dure/client";
import type { DureHub } from "dure/react";
import type { Drafts } from "./drafts.ts";
import type { PersonName } from "./rooms/person-name.ts";
import type { RoomPosts } from "./rooms/room-posts.ts";
import type { LoginLink } from "./shell/login-link.ts";

/** What outlives a page of the dashboard. */
export interface AppParts {
  readonly client: DureClient;
  readonly hub: DureHub;
  readonly roomPosts: RoomPosts;
  readonly drafts: Drafts;
  readonly personName: PersonName;
  readonly loginLink: LoginLink;
}

export const AppPartsContext = createContext<AppParts | undefined>(undefined);

export function useParts(): AppParts {
  const parts = use(AppPartsContext);
  if (parts === undefined) throw new Error("useParts needs an AppPartsContext around it.");
  return parts;
}
