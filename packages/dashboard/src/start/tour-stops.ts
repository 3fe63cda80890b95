/** The pages of a tour, each of which has words of its own. */
export type TourStop = "chat" | "rooms" | "plans" | "events";

/** One click each: what a team has no rooms for is shown by its log of events. Pure. */
export function stopsOf(hasRooms: boolean): readonly TourStop[] {
  return hasRooms ? ["chat", "rooms", "plans"] : ["chat", "plans", "events"];
}
