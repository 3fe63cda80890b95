/** The guards of a place: how much agents may say to each other before they rest. */

import type { RoomLimits } from "../limits.ts";
import type { OpenPlace } from "../place.ts";
import type { PlaceState } from "../../kernel/rooms.ts";

/** What a message does to the counters of its place, and whether a guard has tripped. */
export interface GuardStep {
  /** The state that the message is decided under, and that the place keeps. */
  readonly state: PlaceState;
  readonly agentMessages: number;
  readonly recent: readonly number[];
  /** Absent: no guard tripped now. */
  readonly trip?: "thread-rate" | "exchange-budget";
}

/**
 * A person speaks: a place that rests is awake again; one that was too fast stays slow for agents
 * until its time. Pure.
 */
export function personSpoke(place: OpenPlace): GuardStep {
  return {
    state: place.state === "resting" ? "open" : place.state,
    agentMessages: 0,
    recent: place.recent,
  };
}

/**
 * An agent (or a foreign bot) has posted. The message that trips is posted, recorded, and handled by
 * no agent. A place that is not open counts on, but trips only once. Pure. Source:
 * docs/spec/collaboration §5.
 */
export function agentSpoke(place: OpenPlace, limits: RoomLimits): GuardStep {
  const recent = [
    ...place.recent.filter((at) => at > place.now - limits.threadPerMs),
    place.now,
  ].slice(-(limits.threadMessages + 1));
  const agentMessages = place.agentMessages + 1;
  if (place.state !== "open") return { state: place.state, agentMessages, recent };
  if (recent.length > limits.threadMessages) {
    return { state: "suspended", agentMessages, recent, trip: "thread-rate" };
  }
  if (agentMessages >= limits.exchangeMessages) {
    return { state: "resting", agentMessages, recent, trip: "exchange-budget" };
  }
  return { state: "open", agentMessages, recent };
}

/** A `collaborate` wakes a place that rests; one that is suspended keeps its time. Pure. */
export function collaborateSpoke(place: OpenPlace, step: GuardStep): GuardStep {
  const { trip: _, ...rest } = step;
  if (step.trip === "thread-rate") return { ...step, agentMessages: 0 };
  return {
    ...rest,
    state: place.state === "resting" || step.trip === "exchange-budget" ? "open" : step.state,
    agentMessages: 0,
  };
}

/** Why a pair may not call: too often now, or too long without a person. */
export type PairStop =
  | { readonly ok: false; readonly because: "too-often"; readonly waitMs: number }
  | { readonly ok: false; readonly because: "unled" };

/**
 * Whether an unordered pair may call once more. `isLed`: a person's words have led to the call. What
 * agents ask on their own counts until then, however slowly they do it. Pure. Source:
 * docs/spec/collaboration §5.
 */
export function pairMayCall(
  calls: readonly number[],
  { now, isLed }: { now: number; isLed: boolean },
  limits: RoomLimits,
): { readonly ok: true; readonly calls: readonly number[] } | PairStop {
  const recent = calls.filter((at) => at > now - limits.pairPerMs);
  const oldest = recent[recent.length - limits.pairCalls];
  if (oldest !== undefined) {
    return { ok: false, because: "too-often", waitMs: oldest + limits.pairPerMs - now };
  }
  if (isLed) return { ok: true, calls: [...recent, now] };
  return calls.length < limits.exchangeMessages
    ? { ok: true, calls: [...calls, now] }
    : { ok: false, because: "unled" };
}

/** What the chain of askers says about one more request. Pure. */
export function chainAllows(
  chain: readonly string[],
  target: string,
  sameTopic: boolean,
  limits: RoomLimits,
): "ok" | "cycle" | "too-deep" {
  if (sameTopic && chain.includes(target)) return "cycle";
  return chain.length > limits.chainDepth ? "too-deep" : "ok";
}

/**
 * Before the colon of a button's value, in place of an escalation's id: the place after it is open
 * again.
 */
export const LIFT_BUTTON = "lift";
