/** Whether an agent answers a message, and why. */

import type { RoleReason } from "../../kernel/role-reasons.ts";
import type { AuthorKind, PlaceKind, Rank, Role } from "../../kernel/rooms.ts";

/** The key of an agent in the directory, such as `ruda`. */
export type AgentId = string;

/**
 * What one agent does with one message. `because` is logged, stored with the message and shown in
 * the dashboard.
 */
export interface RoleDecision {
  readonly role: Role;
  /** Who leads when several are mentioned; only a mention gives a rank. */
  readonly rank?: Rank | undefined;
  readonly because: RoleReason;
  /** The agent was mentioned in a thread: it is a participant from now on (or stays one). */
  readonly joins?: true | undefined;
}

/** A message as far as it matters for who answers it. */
export interface Addressing {
  /** An agent's id when `authorKind` is `agent`; else the platform's id of the author. */
  readonly author: string;
  /** `foreign`: a bot that is not an agent of this team. */
  readonly authorKind: AuthorKind;
  /** Agents in the order in which the text first names them, each once (`findMentions`). */
  readonly mentions: readonly AgentId[];
  /** A person answers another person, or calls one first. */
  readonly toPerson: boolean;
  /** Stands in a sink's thread or carries the sink's mark. */
  readonly fromSink: boolean;
  /** dure itself wrote it in an agent's name, such as the line that tells of a guard. */
  readonly isNotice: boolean;
  /**
   * Reminds its target of an open request. It mentions the target and is handled also where agents'
   * talk rests.
   */
  readonly isReminder: boolean;
  /** The agents in question have seen this message before. */
  readonly seen: boolean;
  readonly place: AddressedPlace;
}

export interface AddressedPlace {
  readonly kind: PlaceKind;
  /** Whether guild and channel are on the allowlist. */
  readonly allowed: boolean;
  /**
   * `resting`: the exchange budget is used up; `suspended`: the thread rate tripped. Channels have
   * a state like threads.
   */
  readonly state: "open" | "resting" | "suspended" | "closed";
  /** Of the thread; none elsewhere. */
  readonly participants: readonly AgentId[];
  /** The agent of a direct room. */
  readonly directWith?: AgentId | undefined;
  /** Of the channel, else the team's. */
  readonly defaultAgent?: AgentId | undefined;
}

export interface RolePolicy {
  /** Whether bots of others are listened to. */
  readonly allowBots: boolean;
}

/**
 * Whether `self` answers a message. Pure; the first rule that applies wins, in the order of
 * docs/spec/collaboration §2.
 *
 * Three readings of the specification. Only its agent sees a direct room, as on the platforms. An
 * author who names itself (a reply to its own message does) addresses no agent by that. A person's
 * message opens the thread that it is written in, so a participant answers it there although the
 * record may still say that the thread rests.
 */
export function decideRole(self: AgentId, message: Addressing, policy: RolePolicy): RoleDecision {
  return (
    decideIgnored(self, message, policy) ??
    decideInDirectRoom(self, message) ??
    decideWhileStopped(message) ??
    decideByMention(self, message) ??
    decideToPerson(message) ??
    decideInThread(self, message) ??
    decideAsDefaultAgent(self, message)
  );
}

function decideIgnored(
  self: AgentId,
  message: Addressing,
  policy: RolePolicy,
): RoleDecision | undefined {
  if (!message.place.allowed) return { role: "IGNORED", because: "place-not-allowed" };
  if (message.seen) return { role: "IGNORED", because: "seen-before" };
  if (isBy(self, message)) return { role: "IGNORED", because: "own-message" };
  if (message.fromSink) return { role: "IGNORED", because: "sink-message" };
  if (message.isNotice) return { role: "IGNORED", because: "notice" };
  if (message.authorKind === "foreign" && !policy.allowBots) {
    return { role: "IGNORED", because: "foreign-bot" };
  }
  return undefined;
}

function decideInDirectRoom(self: AgentId, { place }: Addressing): RoleDecision | undefined {
  if (place.kind !== "direct") return undefined;
  return place.directWith === self
    ? { role: "HANDLER", because: "direct-message" }
    : { role: "IGNORED", because: "direct-with-another" };
}

/** Agents' talk that a guard has stopped. */
function decideWhileStopped(message: Addressing): RoleDecision | undefined {
  if (message.authorKind === "person" || message.isReminder) return undefined;
  if (message.place.state === "resting") return { role: "OBSERVER", because: "place-rests" };
  if (message.place.state === "suspended") {
    return { role: "OBSERVER", because: "place-suspended" };
  }
  return undefined;
}

function decideByMention(self: AgentId, message: Addressing): RoleDecision | undefined {
  const others = message.mentions.filter((agent) => !isBy(agent, message));
  const position = others.indexOf(self);
  if (position >= 0) {
    return {
      role: "HANDLER",
      rank: position === 0 ? "PRIMARY" : "SECONDARY",
      because: "mentioned",
      joins: message.place.kind === "thread" ? true : undefined,
    };
  }
  return others.length > 0 ? { role: "OBSERVER", because: "others-mentioned" } : undefined;
}

/** An agent that is not named stays out of what people say to each other. */
function decideToPerson({ toPerson }: Addressing): RoleDecision | undefined {
  return toPerson ? { role: "OBSERVER", because: "to-a-person" } : undefined;
}

function decideInThread(self: AgentId, message: Addressing): RoleDecision | undefined {
  const { place } = message;
  if (place.kind !== "thread") return undefined;
  if (!place.participants.includes(self)) return { role: "OBSERVER", because: "not-in-thread" };
  const isOpened = message.authorKind === "person" && place.state !== "closed";
  return place.state === "open" || isOpened
    ? { role: "HANDLER", because: "participant" }
    : { role: "OBSERVER", because: "thread-not-open" };
}

function decideAsDefaultAgent(self: AgentId, { authorKind, place }: Addressing): RoleDecision {
  return authorKind === "person" && place.defaultAgent === self
    ? { role: "HANDLER", because: "default-agent" }
    : { role: "OBSERVER", because: "not-addressed" };
}

/**
 * The decisions of all agents that a message reaches, in their order. `message.seen` holds for all
 * of them.
 */
export function decideRoles(
  message: Addressing,
  agents: readonly AgentId[],
  policy: RolePolicy,
): ReadonlyMap<AgentId, RoleDecision> {
  const decisions = new Map<AgentId, RoleDecision>();
  for (const agent of agents) decisions.set(agent, decideRole(agent, message, policy));
  return decisions;
}

function isBy(self: AgentId, message: Addressing): boolean {
  return message.authorKind === "agent" && message.author === self;
}
