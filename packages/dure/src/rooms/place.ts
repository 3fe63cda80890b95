/** A place where people and agents talk: a channel, a thread or a direct room. */

import type { RowOf } from "../durable/rows.ts";
import { createHash } from "node:crypto";
import type { Coded } from "../kernel/coded-message.ts";
import type { PlaceAddress } from "./channel-adapter.ts";
import { isHandOverName } from "./text.ts";
import { GONE, OTHER_KEY, THREAD_NOT_MADE } from "./texts.ts";
import type { AuthorKind, MessageMark, PlaceKind, PlaceState, Role } from "../kernel/rooms.ts";

/** Where people and agents talk. */
export interface Place {
  readonly id: string;
  readonly adapter: string;
  readonly kind: PlaceKind;
  /** Of a thread: its channel. */
  readonly parent: string | null;
  readonly name: string;
  readonly tenant: string;
  readonly guild: string | null;
  readonly channel: string | null;
  /** Null while the platform is making the thread. */
  readonly thread: string | null;
  /** Of a direct room, and of its private threads. */
  readonly person: string | null;
  /** Of a direct room. */
  readonly agent: string | null;
  /** Of a thread that an agent has opened. */
  readonly owner: string | null;
  readonly isSink: boolean;
  /**
   * It is for its members alone: a direct room, a private thread, a channel that not all of its server
   * may read, and each thread of one.
   */
  readonly isPrivate: boolean;
  readonly state: PlaceState;
  /** Milliseconds since the epoch. */
  readonly suspendedUntil: number | null;
  readonly closedBecause: string | null;
  /** Code and facts of `closedBecause`; null while it is open. */
  readonly closedFor: Coded | null;
  readonly archived: boolean;
  /**
   * When its channel left the configuration for the last time, and when it was back, milliseconds
   * since the epoch. Null: never; not yet.
   */
  readonly awayFrom: number | null;
  readonly awayUntil: number | null;
}

/** A place as others see it, without what is dure's own concern. */
export type ShownPlace = Omit<Place, "awayFrom" | "awayUntil" | "isPrivate">;

/** A place under its lock, as it is now. */
export interface OpenPlace extends Place {
  /** The database's clock, milliseconds since the epoch. */
  readonly now: number;
  readonly participants: readonly string[];
  /** Agents that have left the thread, or were taken out of it. */
  readonly departed: readonly string[];
  /** Agent messages since a person or a `collaborate` spoke. */
  readonly agentMessages: number;
  /** When the newest agent messages were posted, milliseconds since the epoch, oldest first. */
  readonly recent: readonly number[];
}

/** A message that another one goes on with. */
export interface ContinuedMessage {
  readonly authorKind: AuthorKind;
  readonly author: string;
  readonly mentions: readonly string[];
  readonly roles: Readonly<Record<string, { readonly role: Role; readonly because: string }>>;
  readonly mark: MessageMark | null;
}

/** An open place, as a message finds it. */
export interface HeardPlace extends OpenPlace {
  /** What its author said there before. */
  readonly before?:
    | (Pick<ContinuedMessage, "mentions" | "roles"> & {
        readonly ageMs: number;
        /** An agent has still to answer it. */
        readonly isOpen: boolean;
      })
    | undefined;
  /** The message below which the thread stands. */
  readonly above?: ContinuedMessage | undefined;
  /** A thread where agents take part, or took part: one opened it, spoke in it, or it is named so. */
  readonly hadAgents: boolean;
}

/** A row of dure.places as JSON. */
export interface PlaceRow extends RowOf<
  Omit<Place, "suspendedUntil" | "closedFor" | "awayFrom" | "awayUntil">
> {
  readonly suspended_until: string | Date | null;
  readonly moved_to: string | null;
  readonly away_from: string | Date | null;
  readonly away_until: string | Date | null;
}

export interface OpenPlaceRow extends PlaceRow {
  readonly now: number;
  readonly participants: readonly string[];
  readonly departed: readonly string[];
  readonly agent_messages: number;
  readonly recent_ms: readonly number[];
}

export interface HeardPlaceRow extends OpenPlaceRow {
  readonly before: RowOf<NonNullable<HeardPlace["before"]>> | null;
  readonly above: RowOf<ContinuedMessage> | null;
  readonly agents_spoke: boolean;
}

export function placeOf(row: PlaceRow): Place {
  return {
    id: row.id,
    adapter: row.adapter,
    kind: row.kind,
    parent: row.parent,
    name: row.name,
    tenant: row.tenant,
    guild: row.guild,
    channel: row.channel,
    thread: row.thread,
    person: row.person,
    agent: row.agent,
    owner: row.owner,
    isSink: row.is_sink,
    isPrivate: row.is_private,
    state: row.state,
    suspendedUntil: timeOf(row.suspended_until),
    closedBecause: row.closed_because,
    closedFor: closedForOf(row),
    archived: row.archived,
    awayFrom: timeOf(row.away_from),
    awayUntil: timeOf(row.away_until),
  };
}

/**
 * Code and facts of the reason for which a place was closed. Its row holds the sentence alone, which
 * is one of a closed set. Pure.
 */
function closedForOf(row: Pick<PlaceRow, "closed_because" | "moved_to">): Coded | null {
  const { closed_because: sentence, moved_to: place } = row;
  if (sentence === null) return null;
  if (typeof place === "string") return { code: "moved", facts: { place } };
  if (sentence === OTHER_KEY) return { code: "other-key", facts: {} };
  if (sentence.startsWith(THREAD_NOT_MADE)) {
    return { code: "thread-not-made", facts: { why: sentence.slice(THREAD_NOT_MADE.length) } };
  }
  const gone = Object.entries(GONE).find(([, { en }]) => en === sentence);
  return gone === undefined ? null : { code: gone[0], facts: {} };
}

export function shownPlace(place: Place): ShownPlace {
  const { awayFrom: _from, awayUntil: _until, isPrivate: _private, ...shown } = place;
  return shown;
}

function timeOf(at: string | Date | null): number | null {
  return at === null ? null : new Date(at).getTime();
}

/**
 * Whether the channel was not in the configuration when something was said: then it is not answered.
 * Pure. Source: docs/spec/collaboration §2, rule 1.
 */
export function wasAway({ awayFrom, awayUntil }: Place, at: number): boolean {
  return awayFrom !== null && at >= awayFrom && (awayUntil === null || at < awayUntil);
}

export function openPlaceOf(row: OpenPlaceRow): OpenPlace {
  return {
    ...placeOf(row),
    now: row.now,
    participants: row.participants,
    departed: row.departed,
    agentMessages: row.agent_messages,
    recent: row.recent_ms,
  };
}

export function heardPlaceOf({ before, above, ...row }: HeardPlaceRow): HeardPlace {
  const place = openPlaceOf(row);
  const isOurs = place.owner !== null || place.participants.length > 0;
  return {
    ...place,
    before: before
      ? {
          mentions: before.mentions,
          roles: before.roles,
          ageMs: before.age_ms,
          isOpen: before.is_open,
        }
      : undefined,
    above: above
      ? {
          authorKind: above.author_kind,
          author: above.author,
          mentions: above.mentions,
          roles: above.roles,
          mark: above.mark,
        }
      : undefined,
    hadAgents:
      place.kind === "thread" && (isOurs || isHandOverName(place.name) || row.agents_spoke),
  };
}

export function addressOf(place: Place): PlaceAddress {
  return {
    adapter: place.adapter,
    channel: place.channel ?? place.id,
    guild: place.guild ?? undefined,
    thread: place.thread ?? undefined,
    direct: place.kind === "direct" ? true : undefined,
  };
}

/**
 * Whether a place was made as a private one: a direct room, or a private thread of a platform. By its
 * id: each such place is made under one of this form. A channel is private by what its platform tells
 * (`isPrivate`).
 */
export function isMadePrivate(id: string): boolean {
  return id.startsWith("direct_") || isPrivateThread(id);
}

export function isPrivateThread(id: string): boolean {
  return id.startsWith("private_");
}

/**
 * An agent's own history of a place, or of one person there: `room:eden:web:general@@<16 digits>`. Fits
 * docs/spec/conversation §6: at most 200 of `[A-Za-z0-9._:@-]`. No id of a place has two `@` in a row.
 */
export function sessionIdOf(agent: string, place: string, person?: string): string {
  const session = `room:${agent}:${place}`;
  if (person === undefined) return session;
  const hash = createHash("sha256").update(person).digest("hex");
  return `${session}@@${hash.slice(0, 16)}`;
}

/** The agent and the place of such a session; undefined for every other session. */
export function placeOfSession(session: string): { agent: string; place: string } | undefined {
  const [, agent, place] = /^room:([^:]+):(.+?)(?:@@[0-9a-f]{16})?$/.exec(session) ?? [];
  return agent !== undefined && place !== undefined ? { agent, place } : undefined;
}
