import { DureError } from "../kernel/errors.ts";

/** How long a stream tries to come back. */
export interface ReconnectOptions {
  /** Connections that may fail in a row before a turn's stream gives up. Default 12, about 40 s. */
  readonly attempts?: number | undefined;
  /** The longest pause between two connections, milliseconds. Default 5 000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * A connection without a single byte for this long counts as dead, milliseconds. Default 60 000.
   */
  readonly silenceMs?: number | undefined;
}

export const RECONNECT_DEFAULTS = { attempts: 12, maxDelayMs: 5_000, silenceMs: 60_000 } as const;

/** The first pause, milliseconds; it doubles with every failure in a row. */
const FIRST_DELAY_MS = 200;

/**
 * The pause before the next connection, milliseconds: doubling, bounded, spread by ±25 % so that
 * many clients do not come back in one moment. What the server asked for (`retry:` or
 * `Retry-After`) is a lower bound.
 *
 * @param failures connections that failed in a row, at least 1
 * @param random in [0, 1)
 */
export function reconnectDelay(
  failures: number,
  maxDelayMs: number,
  askedMs: number,
  random: number,
): number {
  const doubled = FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 30);
  const spread = Math.min(doubled, maxDelayMs) * (0.75 + random / 2);
  return Math.round(Math.max(spread, askedMs));
}

/** What a failed connection means: come again, or tell the caller. */
export type ReconnectFailure =
  | { readonly retry: true; readonly askedMs: number }
  | { readonly retry: false };

const GATEWAY_STATUSES = new Set([502, 503, 504]);

/** @param resuming whether the request only reads: then also a rate limit is waited out */
export function judgeFailure(error: unknown, resuming: boolean): ReconnectFailure {
  // Fetch's own errors: refused, cut, reset.
  if (!(error instanceof DureError)) return { retry: true, askedMs: 0 };

  const status = error.details?.["status"];
  const asked = error.details?.["retryAfterMs"];
  const retry =
    typeof status === "number" && (GATEWAY_STATUSES.has(status) || (resuming && status === 429));

  return retry ? { retry, askedMs: typeof asked === "number" ? asked : 0 } : { retry: false };
}
