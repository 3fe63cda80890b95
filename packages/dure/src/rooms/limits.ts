/** The numbers of rooms, each with its default. */

import { durationMs } from "../kernel/duration.ts";

/**
 * Numbers of rooms; each can be set (`limits` of the team), and `dure doctor` prints the one in
 * force. Source: docs/spec/collaboration.
 */
export interface RoomLimits {
  /** `collaborate` calls of an unordered pair of agents within `pairPerMs`. §5 */
  readonly pairCalls: number;
  readonly pairPerMs: number;
  /** Agent messages of one place within `threadPerMs`; the next one suspends it. §5 */
  readonly threadMessages: number;
  readonly threadPerMs: number;
  readonly suspendMs: number;
  /**
   * Agent messages since a person or a `collaborate` spoke; the last one is handled by no agent. §5
   */
  readonly exchangeMessages: number;
  /** A asked B who asked C …: how many askers a chain may have. §5 */
  readonly chainDepth: number;
  /** Threads that agents may make in one guild within a minute. §5 */
  readonly threadsPerMinute: number;
  /** How long `collaborate` finds its last thread of a pair and topic. §4 */
  readonly routeMs: number;
  /** How long a caller's own key gives the first result. §4 */
  readonly callKeyMs: number;
  /** How long `collaborate` waits for the platform before it says `queued`. §6 */
  readonly deliveryWaitMs: number;
  /**
   * Pauses before the first and second reminder, and before the escalation, since the request. §4
   */
  readonly reminderMs: readonly [number, number];
  readonly unansweredMs: number;
  /** Participants are forgotten when their thread slept for this long. §3 */
  readonly participantsMs: number;
  /** SECONDARY waits this long for PRIMARY. §2 */
  readonly secondaryWaitMs: number;
  /** An answer to a person that takes longer is announced, with a button that stops it. §9 */
  readonly workingNoticeMs: number;
  /** An account without a ready connection for this long is offline. §4 */
  readonly offlineAfterMs: number;
  /** After a gap, messages younger than this are decided as usual. §9 */
  readonly missedMs: number;
  /** Messages read per place after a gap. §9 */
  readonly missedPerPlace: number;
  /** Records of what was heard that an agent is told. §7 */
  readonly observations: number;
  readonly observationsMs: number;
}

export const ROOM_LIMITS: RoomLimits = {
  pairCalls: 3,
  pairPerMs: durationMs("5m"),
  threadMessages: 6,
  threadPerMs: durationMs("60s"),
  suspendMs: durationMs("5m"),
  exchangeMessages: 10,
  chainDepth: 5,
  threadsPerMinute: 5,
  routeMs: durationMs("6h"),
  callKeyMs: durationMs("5m"),
  deliveryWaitMs: 2_500,
  reminderMs: [durationMs("5m"), durationMs("10m")],
  unansweredMs: durationMs("15m"),
  participantsMs: durationMs("24h"),
  secondaryWaitMs: durationMs("10s"),
  workingNoticeMs: durationMs("10s"),
  offlineAfterMs: durationMs("30s"),
  missedMs: durationMs("10m"),
  missedPerPlace: 100,
  observations: 50,
  observationsMs: durationMs("24h"),
};

/**
 * `gather`: what a person adds waits for the end of the running answer, and is answered at once.
 * `interrupt`: it ends that answer. `queue`: each message has an answer of its own.
 */
export const GATHER_POLICIES = ["gather", "queue", "interrupt"] as const;
export type GatherPolicy = (typeof GATHER_POLICIES)[number];

/** How messages of one person gather for one agent in one place. */
export interface GatherRule {
  readonly policy: GatherPolicy;
  /** The person has rested for this long, milliseconds. */
  readonly restMs: number;
  /** The first message waits for no more than this, milliseconds. */
  readonly mostMs: number;
}

export const GATHER: GatherRule = { policy: "gather", restMs: 1_200, mostMs: 8_000 };
