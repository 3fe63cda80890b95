import type { EventRole } from "../kernel/platform-events.ts";

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Give it back as `cursor`; null on the last page. */
  readonly nextCursor: string | null;
}

/** Which events are wanted. All given members must fit; absent ones take everything. */
export interface EventsFilter {
  /** Exact types, or prefixes such as `turn.*`. */
  readonly types?: readonly string[] | undefined;
  readonly session?: string | undefined;
  readonly run?: string | undefined;
  readonly room?: string | undefined;
  readonly job?: string | undefined;
  readonly role?: EventRole | undefined;
  /** Also tells who is in web rooms (`onPeople`). */
  readonly people?: true | undefined;
}
