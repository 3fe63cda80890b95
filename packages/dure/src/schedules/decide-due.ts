import type { ScheduleRule } from "./rule.ts";

/** What becomes of moments that passed while no process looked. */
export const MISSED_RULES = ["skip", "once"] as const;
export type MissedRule = (typeof MISSED_RULES)[number];

/** A moment that is not older counts, milliseconds. Source: docs/spec/interop §6. */
const LATE_MS = 5 * 60_000;
/** A missed moment that is older is passed over, milliseconds. Source: docs/spec/interop §6. */
const MISSED_MS = 12 * 3_600_000;
/** Moments of cron are a minute apart. */
const MOST_LATE = LATE_MS / 60_000 + 1;

export interface LookedAtSchedule {
  readonly rule: ScheduleRule;
  readonly missed: MissedRule;
  /** All moments up to it are decided, milliseconds since the epoch. */
  readonly since: number;
  readonly now: number;
}

/** What is due, oldest first, and what was missed. */
export interface Due {
  readonly take: readonly number[];
  /** The newest moment that is not done any more. */
  readonly missed: number | undefined;
}

/** Which moments are taken now. Pure; the first rule that applies wins. */
export function decideDue({ rule, missed, since, now }: LookedAtSchedule): Due {
  // A clock that was set back: what follows now is still to come, and a row is there for the rest.
  const from = Math.min(since, now);
  const late = rule.between(Math.max(from, now - LATE_MS), now, MOST_LATE);
  if (late.length > 0) return { take: late, missed: undefined };

  const [older] = rule.between(Math.max(from, now - MISSED_MS), now - LATE_MS, 1);
  if (older === undefined) return { take: [], missed: undefined };

  return missed === "once" ? { take: [older], missed: undefined } : { take: [], missed: older };
}
