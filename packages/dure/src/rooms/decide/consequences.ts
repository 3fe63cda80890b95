/** What a message sets off: the roles of all agents, and the guard that it trips. */

import { restOf } from "../answer/gathering.ts";
import type { GatherRule } from "../limits.ts";
import type { Directory } from "../directory.ts";
import { formerNameIn } from "./former-names.ts";
import type { GuardStep } from "./guards.ts";
import { sessionIdOf, type OpenPlace } from "../place.ts";
import { decideRoles, type RoleDecision } from "./role.ts";
import type { NewHandling, StoredMessage, StoredRole } from "../room-store.ts";

/** What a decision needs to know of a message, stored or new. */
export type DecidedMessage = Pick<
  StoredMessage,
  "id" | "authorKind" | "author" | "authorName" | "text" | "mentions" | "mark" | "ends" | "request"
>;

/** A message in its place, and the agents that decide about it. */
export interface SpokenMessage {
  readonly place: OpenPlace;
  readonly message: DecidedMessage;
  /** What the guards say. */
  readonly step: GuardStep;
  readonly agents: readonly string[];
  /** A person speaks to another person. */
  readonly toPerson?: boolean | undefined;
  /** Participants of the place that it has since this message: they speak above the thread. */
  readonly joins?: readonly string[] | undefined;
}

/** What one message makes of the agents that hear it. */
export interface Consequences {
  readonly roles: Readonly<Record<string, StoredRole>>;
  readonly joins: readonly string[];
  readonly observers: readonly string[];
  readonly handlings: readonly NewHandling[];
  /** Those that `onlyRecord` has kept from an answer that they were asked for. */
  readonly unheeded: readonly string[];
}

export function decideIn(
  { place, message, step, agents, toPerson = false }: SpokenMessage,
  { directory, allowBots }: { directory: Directory; allowBots: boolean },
): ReadonlyMap<string, RoleDecision> {
  const channel = directory.channelOf(place.kind === "thread" ? (place.parent ?? "") : place.id);
  const former = formerNameIn(message, directory);
  return decideRoles(
    {
      author: message.author,
      authorKind: message.authorKind,
      // A name that was an agent's narrows the message as any mention does: to no one.
      mentions: former === undefined ? message.mentions : [former],
      toPerson,
      fromSink: message.mark === "sink" || place.isSink,
      isNotice: message.mark === "notice",
      isReminder: message.mark === "reminder",
      seen: false,
      place: {
        kind: place.kind,
        allowed: channel !== undefined || place.person !== null,
        // A message that ends a part is heard as in a place that rests: no agent goes on from it.
        state: message.ends && step.state === "open" ? "resting" : step.state,
        participants: place.participants,
        directWith: place.agent ?? undefined,
        defaultAgent: channel?.defaultAgent ?? directory.lead?.id,
      },
    },
    agents,
    { allowBots },
  );
}

/** `onlyRecord`: the message is too old to be answered. Pure. */
export function consequencesOf(
  decisions: ReadonlyMap<string, RoleDecision>,
  { place, message, joins = [] }: SpokenMessage,
  {
    onlyRecord,
    secondaryWaitMs,
    gather,
    directory,
  }: {
    onlyRecord: boolean;
    secondaryWaitMs: number;
    gather: GatherRule;
    directory: Pick<Directory, "find">;
  },
): Consequences {
  const heard = [...decisions].filter(([, { role }]) => role !== "IGNORED");
  const decided = heard.map(
    ([agent, decision]) => [agent, onlyRecord ? MISSED : decision] as const,
  );
  const handlers = decided.filter(([, { role }]) => role !== "OBSERVER");
  return {
    roles: Object.fromEntries(
      decided.map(([agent, decision]) => [agent, storedRole(decision, place.now)]),
    ),
    joins: [...joins, ...decided.filter(([, decision]) => decision.joins).map(([agent]) => agent)],
    observers: decided.filter(([, { role }]) => role === "OBSERVER").map(([agent]) => agent),
    handlings: handlers.map(([agent, { rank }]) => ({
      id: handlingId(message.id, agent),
      agent,
      session: sessionIdOf(agent, place.id, lineOf(directory.find(agent)?.line, place, message)),
      rank,
      request: message.request ?? undefined,
      ...waitOf(rank, message, secondaryWaitMs),
      ...restOf(message, gather),
    })),
    unheeded: onlyRecord
      ? heard.filter(([, decision]) => isAsked(decision)).map(([agent]) => agent)
      : [],
  };
}

/**
 * The person in whose line of its own the message stands; undefined: in the line of the place. Pure.
 * Source: docs/spec/collaboration §2.
 */
function lineOf(
  line: "place" | "person" | undefined,
  { kind }: Pick<OpenPlace, "kind">,
  { authorKind, author }: Pick<DecidedMessage, "authorKind" | "author">,
): string | undefined {
  return line === "person" && kind === "channel" && authorKind === "person" ? author : undefined;
}

const MISSED: RoleDecision = { role: "OBSERVER", because: "missed" };

/** The message names the agent, or speaks to it alone. */
function isAsked({ because }: RoleDecision): boolean {
  return because === "mentioned" || because === "direct-message";
}

function storedRole({ role, because, rank }: RoleDecision, now: number): StoredRole {
  return { role, because, at: Math.round(now), rank };
}

/** The agents that a message names after the first one wait for the first one's answer. */
function waitOf(
  rank: RoleDecision["rank"],
  message: DecidedMessage,
  waitMs: number,
): Pick<NewHandling, "behind" | "wait_ms"> {
  const primary = message.mentions[0];
  if (rank !== "SECONDARY" || primary === undefined) return {};
  return { behind: handlingId(message.id, primary), wait_ms: waitMs };
}

/** The id of the work that a message makes for an agent: the same wherever it is decided. */
function handlingId(message: string, agent: string): string {
  return `handling_${message.slice(message.indexOf("_") + 1)}_${agent}`;
}
