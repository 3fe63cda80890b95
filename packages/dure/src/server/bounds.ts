import { SERVER_LIMITS, type ServerLimitKey } from "./limits.ts";

/** Every limit of a server with its value. */
export type ServerBounds = Readonly<Record<ServerLimitKey, number>>;

/** Limits as a team may give them; what it leaves out is as in `SERVER_LIMITS`. */
export type GivenLimits = Readonly<Partial<Record<ServerLimitKey, number | undefined>>>;

/** The given limits, and the defaults for the others. Pure. */
export function boundsOf(given: GivenLimits = {}): ServerBounds {
  const stated = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...SERVER_LIMITS, ...(Object.fromEntries(stated) as Partial<ServerBounds>) };
}
