import { backOffMs } from "../../kernel/back-off.ts";

/** A connection that is over, as far as it matters for the next one. */
export interface LostLink {
  /** From READY or RESUMED to its end, milliseconds; undefined: it came to neither. */
  readonly livedMs: number | undefined;
  /** It has used up a session start of the bot. */
  readonly identified: boolean;
  /** The platform only said that the session is too old to be resumed. */
  readonly refusedResume: boolean;
}

/** A session that lasted so long is no sign that something is wrong, milliseconds. */
const LONG_MS = 5 * 60_000;

/**
 * Waits after connections that were short, milliseconds: doubled with each. Of those that cost a
 * session start at most one in 10 minutes follows, about 200 of the 1,000 a day.
 * Source: "Gateway: Session Start Limit Object".
 */
const SHORT = { firstMs: 500, maxMs: 60_000 } as const;
const SHORT_AND_COSTLY = { firstMs: 500, maxMs: 10 * 60_000 } as const;

/** How many short connections in a row this makes. Pure. */
export function shortInARow(before: number, lost: LostLink): number {
  if (lost.refusedResume) return before;
  return lost.livedMs !== undefined && lost.livedMs >= LONG_MS ? 0 : before + 1;
}

/**
 * How long to wait before the next connection, milliseconds. Pure. @param random from 0 to 1: what
 * was lost together does not come back together.
 */
export function pauseMs(short: number, identified: boolean, random: number): number {
  const most = backOffMs(Math.max(1, short), identified ? SHORT_AND_COSTLY : SHORT);
  return Math.round(most * (0.5 + random / 2));
}
