import type { Clock } from "dure/client";

/** So many requests in so much time. */
export interface SlackRateLimit {
  readonly limit: number;
  readonly perMs: number;
}

/** Requests per app, workspace and method. Source: docs.slack.dev/apis/web-api/rate-limits. */
export interface SlackRateLimits {
  /** The tier of each method that is served: its own page names it. */
  readonly tiers: Readonly<Record<SlackTier, SlackRateLimit>>;
  /** `chat.postMessage`, per channel: "one message per second per channel", short bursts taken. */
  readonly posting: SlackRateLimit;
}

/** A class of methods that share a rate limit, from the strictest to the widest. */
export type SlackTier = "1" | "2" | "3" | "4";

const MINUTE = 60_000;

/** The least that the page promises. */
export const SLACK_RATE_LIMITS: SlackRateLimits = {
  tiers: {
    "1": { limit: 1, perMs: MINUTE },
    "2": { limit: 20, perMs: MINUTE },
    "3": { limit: 50, perMs: MINUTE },
    "4": { limit: 100, perMs: MINUTE },
  },
  posting: { limit: 1, perMs: 1000 },
};

/** Windows of requests. */
export class SlackRateLimiter {
  readonly #clock: Clock;
  readonly #limits: SlackRateLimits;
  readonly #windows = new Map<string, { endsAt: number; used: number }>();

  constructor(clock: Clock, limits: SlackRateLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Counts one request; seconds to wait when it is too much. */
  take(app: string, method: string, rate: SlackTier | "special", channel: string): number {
    const limit = rate === "special" ? this.#limits.posting : this.#limits.tiers[rate];
    const key = rate === "special" ? `${app} ${method} ${channel}` : `${app} ${method}`;
    const now = this.#clock.now();
    const known = this.#windows.get(key);
    const window = known && known.endsAt > now ? known : { endsAt: now + limit.perMs, used: 0 };
    this.#windows.set(key, window);
    if (window.used >= limit.limit) return Math.max(1, Math.ceil((window.endsAt - now) / 1000));

    window.used += 1;

    return 0;
  }
}
