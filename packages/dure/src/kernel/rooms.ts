/** Words of rooms that every reader shares. Source: docs/spec/collaboration. */

export const PLACE_KINDS = ["channel", "thread", "direct"] as const;
export type PlaceKind = (typeof PLACE_KINDS)[number];

/**
 * `resting`: agents have said enough to each other. `suspended`: they said it too fast. `closed`:
 * the platform has it no more.
 */
export const PLACE_STATES = ["open", "resting", "suspended", "closed"] as const;
/**
 * Whether agents may talk in a place. `resting`: they have said enough to each other. `suspended`:
 * they said it too fast. `closed`: the platform has it no more.
 */
export type PlaceState = (typeof PLACE_STATES)[number];

/** Why a place is gone. */
export const GONE_REASONS = ["thread-deleted", "channel-removed", "not-configured"] as const;
export type GoneReason = (typeof GONE_REASONS)[number];

/**
 * `refused`: the token is not accepted. Only `ready` is online. `paused` is of older releases, in
 * which a person paused an account; now it is the agent that is paused.
 */
export const ACCOUNT_STATES = [
  "starting",
  "ready",
  "reconnecting",
  "paused",
  "refused",
  "stopped",
] as const;
/**
 * How an agent's account on a platform stands; only `ready` is online. `paused`: by a person.
 * `refused`: the token is not accepted.
 */
export type AccountState = (typeof ACCOUNT_STATES)[number];

export const AUTHOR_KINDS = ["person", "agent", "foreign"] as const;
export type AuthorKind = (typeof AUTHOR_KINDS)[number];

/**
 * `notice`: said by a guard in an agent's name. `reminder`: asks again. `sink`: reported from the
 * background.
 */
export const MESSAGE_MARKS = ["notice", "reminder", "sink"] as const;
export type MessageMark = (typeof MESSAGE_MARKS)[number];

export const DELIVERIES = ["queued", "sent", "failed", "unknown"] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** What has become of a request of one agent to another. */
export const REQUEST_STATES = ["open", "answered", "withdrawn", "expired"] as const;
export type RequestState = (typeof REQUEST_STATES)[number];

/** What an agent does with a message. */
export const ROLES = ["HANDLER", "OBSERVER", "IGNORED"] as const;
export type Role = (typeof ROLES)[number];

export const RANKS = ["PRIMARY", "SECONDARY"] as const;
export type Rank = (typeof RANKS)[number];

/** Why agents may not be asked to work together. */
export const COLLABORATE_CODES = [
  "INVALID_ARGUMENT",
  "AGENT_UNKNOWN",
  "AGENT_OFFLINE",
  "CHANNEL_NOT_ALLOWED",
  "CHANNEL_REQUIRED",
  "PRIVATE_ORIGIN",
  "THREAD_NOT_FOUND",
  "THREAD_SUSPENDED",
  "LOOP_GUARD",
  "PERMISSION_DENIED",
  "DELIVERY_FAILED",
] as const;
/** Why agents may not be asked to work together. */
export type CollaborateCode = (typeof COLLABORATE_CODES)[number];

/** How the handling of a message has ended. */
export const HANDLING_OUTCOMES = [
  "answered",
  "asked",
  "silent",
  "ended",
  "left",
  "empty",
  "stopped",
  "failed",
  "refused",
  "place_closed",
  "gathered",
  "deleted",
] as const;
export type HandlingOutcome = (typeof HANDLING_OUTCOMES)[number];

/** A person of a room: the platform vouches for the id, and a name can be changed. */
export interface RoomAsker {
  readonly adapter: string;
  readonly id: string;
  readonly name: string;
}

/** A person's own words, which a turn of a room answers. */
export interface RoomSpeaker extends RoomAsker {
  /** Position of the message in its place. */
  readonly seq: number;
  /** As the person wrote it, without the names that it calls. */
  readonly text: string;
  /** The message that it answers, by dure's id. */
  readonly replyTo?: string | undefined;
}

/** The person that a question of a room is for; undefined: it is for none. Pure. */
export function askerIn(context: Readonly<Record<string, unknown>>): RoomAsker | undefined {
  const { adapter, id, name } = (context["asker"] ?? {}) as Partial<RoomAsker>;
  if (adapter === undefined || id === undefined || name === undefined) return undefined;
  return { adapter, id, name };
}
