/**
 * The log of what happened in the whole product, read by `/v1/events`. Its events, with the data of
 * each type: `wire/events.ts`. Source: docs/spec/platform §3.
 */
export const EVENT_ROLES = ["conversation", "delegation", "orchestration", "system"] as const;
/** Which part of the platform an event tells of. */
export type EventRole = (typeof EVENT_ROLES)[number];

export interface EventFilter {
  /** Events of this tenant alone; `""`: those of no tenant. Absent: of all. */
  readonly tenant?: string | undefined;
  /** Exact types, or a prefix ending in `.*` such as `turn.*`; absent means all. */
  readonly types?: readonly string[];
  readonly session?: string;
  readonly run?: string;
  readonly room?: string;
  readonly job?: string;
  readonly role?: EventRole;
}
