/** What the platform says of a bot's session starts. Source: "Gateway: Session Start Limit Object". */
export interface StartLimit {
  readonly total: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
}

/** Whether a bot may start a session now. */
export type StartDecision =
  | { readonly start: true }
  | { readonly start: false; readonly remaining: number; readonly waitMs: number };

/**
 * The part of the platform's budget that is left for people: the platform resets the token of a bot
 * that uses up the whole. Source: "Gateway: Session Start Limit Object": 1,000 in 24 h.
 */
const RESERVE = 0.05;

/** Session starts of this process in 24 h. Back-off alone makes about 200 (`reconnect.ts`). */
const OWN_PER_DAY = 250;

/** Before the platform is asked again, milliseconds. */
const LOOK_AGAIN = { leastMs: 1000, mostMs: 60 * 60_000 } as const;

/**
 * Decides by what the platform counts, over all processes, and by what this one has started in 24 h.
 * Pure. @param limit undefined: the platform did not say
 */
export function decideStart(limit: StartLimit | undefined, startedToday: number): StartDecision {
  const ownLeft = Math.max(0, OWN_PER_DAY - startedToday);
  const platformLeft =
    limit === undefined ? ownLeft : limit.remaining - Math.ceil(limit.total * RESERVE);
  if (Math.min(ownLeft, platformLeft) > 0) return { start: true };
  const resetMs = limit?.resetAfterMs ?? LOOK_AGAIN.mostMs;
  return {
    start: false,
    remaining: Math.min(ownLeft, limit?.remaining ?? ownLeft),
    waitMs: Math.min(Math.max(resetMs, LOOK_AGAIN.leastMs), LOOK_AGAIN.mostMs),
  };
}
