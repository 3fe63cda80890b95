import type { RoomAgent } from "dure/client";

type ShownAccountState = RoomAgent["accounts"][number]["state"];

/** From the best to the worst: an agent that can be reached somewhere can be reached. */
const BEST_FIRST = [
  "ready",
  "starting",
  "reconnecting",
  "paused",
  "refused",
  "stopped",
] as const satisfies readonly ShownAccountState[];

/** How reachable an agent is, over all its accounts; `none` without one. Pure. */
export function onlineOf({
  accounts,
  paused,
}: Pick<RoomAgent, "accounts" | "paused">): ShownAccountState | "none" {
  if (paused !== null) return "paused";
  return BEST_FIRST.find((state) => accounts.some((account) => account.state === state)) ?? "none";
}
