import type { RoleReason } from "../kernel/role-reasons.ts";

/** The key of an agent in the directory, such as `ruda`. */
export type AgentId = string;

/**
 * What one agent does with one message. `because` is logged, stored with the message and shown in
 * the dashboard.
 */
export interface RoleDecision {
  readonly role: "HANDLER" | "OBSERVER" | "IGNORED";
  /** Who leads when several are mentioned; only a mention gives a rank. */
  readonly rank?: "PRIMARY" | "SECONDARY";
  readonly because: RoleReason;
  /** The agent was mentioned in a thread: it is a participant from now on (or stays one). */
  readonly joins?: true;
}

/** A message as far as it matters for who answers it. */
export interface Addressing {
  /** An agent's id when `authorKind` is `agent`; else the platform's id of the author. */
  readonly author: string;
  /** `foreign`: a bot that is not an agent of this team. */
  readonly authorKind: "person" | "agent" | "foreign";
  /** Agents in the order in which the text first names them, each once (`findMentions`). */
  readonly mentions: readonly AgentId[];
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
  readonly kind: "channel" | "thread" | "direct";
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
  readonly directWith?: AgentId;
  /** Of the channel, else the team's. */
  readonly defaultAgent?: AgentId;
}

export interface RolePolicy {
  /** Whether bots of others are listened to. */
  readonly allowBots: boolean;
}

/**
 * Whether `self` answers a message. Pure; the first rule that applies wins, in the order of
 * docs/spec/collaboration §2.
 *
 * Three readings of the specification: nobody but its agent sees a direct room, as on the
 * platforms; an author who names itself (a reply to its own message does) addresses nobody by that;
 * and a person's message opens the thread that it is written in, so a participant answers it there
 * although the record may still say that the thread rests.
 */
export function decideRole(self: AgentId, message: Addressing, policy: RolePolicy): RoleDecision {
  const { author, authorKind, place } = message;

  if (!place.allowed) return { role: "IGNORED", because: "place-not-allowed" };
  if (message.seen) return { role: "IGNORED", because: "seen-before" };
  if (isBy(self, message)) return { role: "IGNORED", because: "own-message" };
  if (message.fromSink) return { role: "IGNORED", because: "sink-message" };
  if (message.isNotice) return { role: "IGNORED", because: "notice" };
  if (authorKind === "foreign" && !policy.allowBots) {
    return { role: "IGNORED", because: "foreign-bot" };
  }

  if (place.kind === "direct") {
    return place.directWith === self
      ? { role: "HANDLER", because: "direct-message" }
      : { role: "IGNORED", because: "direct-with-another" };
  }

  if (authorKind !== "person" && !message.isReminder) {
    if (place.state === "resting") return { role: "OBSERVER", because: "place-rests" };
    if (place.state === "suspended") return { role: "OBSERVER", because: "place-suspended" };
  }

  const mentions =
    authorKind === "agent" && message.mentions.includes(author)
      ? message.mentions.filter((agent) => agent !== author)
      : message.mentions;
  const position = mentions.indexOf(self);
  if (position >= 0) {
    const rank = position === 0 ? "PRIMARY" : "SECONDARY";
    return {
      role: "HANDLER",
      rank,
      because: "mentioned",
      ...(place.kind === "thread" && { joins: true }),
    };
  }
  if (mentions.length > 0) return { role: "OBSERVER", because: "others-mentioned" };

  if (place.kind === "thread") {
    if (!place.participants.includes(self)) return { role: "OBSERVER", because: "not-in-thread" };
    const isOpen = place.state === "open" || (authorKind === "person" && place.state !== "closed");
    return isOpen
      ? { role: "HANDLER", because: "participant" }
      : { role: "OBSERVER", because: "thread-not-open" };
  }
  if (authorKind === "person" && place.defaultAgent === self) {
    return { role: "HANDLER", because: "default-agent" };
  }
  return { role: "OBSERVER", because: "not-addressed" };
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
