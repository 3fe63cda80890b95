import type { Clock } from "dure/client";

/** So many requests in so much time. */
export interface RateLimit {
  readonly limit: number;
  readonly perMs: number;
}

/** How many requests the server takes. */
export interface RateLimits {
  /** All requests of one bot. Source: "Rate Limits: Global Rate Limit", 50 per second. */
  readonly global: RateLimit;
  /**
   * Per `METHOD /route/{id}` and per channel, guild or webhook in it. The platform tells no numbers
   * but by its headers.
   */
  readonly routes: Readonly<Record<string, RateLimit>>;
  /** Routes that are not named. */
  readonly others: RateLimit;
}

/** What was seen of the platform's headers; the numbers are no promise of the platform. */
export const USUAL_RATE_LIMITS: RateLimits = {
  global: { limit: 50, perMs: 1000 },
  routes: {
    "POST /channels/{channel}/messages": { limit: 5, perMs: 5000 },
    "PATCH /channels/{channel}/messages/{message}": { limit: 5, perMs: 5000 },
    "GET /channels/{channel}/messages": { limit: 5, perMs: 5000 },
    "POST /channels/{channel}/typing": { limit: 5, perMs: 5000 },
  },
  others: { limit: 50, perMs: 1000 },
};

/** What a request finds: its headers, and whether it is too much. */
export interface RateVerdict {
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds; present when the request is refused. */
  readonly refused?: { readonly retryAfter: number; readonly global: boolean };
}

interface Window {
  endsAt: number;
  used: number;
}

/** Windows of requests per bot, route and major parameter. Source: "Rate Limits: Header Format". */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #limits: RateLimits;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock, limits: RateLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Counts one request. @param major the id of the channel, guild or webhook in the path; else
   * empty.
   */
  take(bot: string, route: string, major: string): RateVerdict {
    const now = this.#clock.now();
    const global = this.#window(`${bot} global`, this.#limits.global, now);

    if (global.used >= this.#limits.global.limit) {
      const retryAfter = (global.endsAt - now) / 1000;
      return {
        headers: {
          "retry-after": String(Math.ceil(retryAfter)),
          "x-ratelimit-global": "true",
          "x-ratelimit-scope": "global",
        },
        refused: { retryAfter, global: true },
      };
    }

    global.used++;

    const limit = this.#limits.routes[route] ?? this.#limits.others;
    const window = this.#window(`${bot} ${route} ${major}`, limit, now);
    const isTooMuch = window.used >= limit.limit;
    if (!isTooMuch) window.used++;
    const resetAfter = (window.endsAt - now) / 1000;

    const headers = {
      "x-ratelimit-limit": String(limit.limit),
      "x-ratelimit-remaining": String(limit.limit - window.used),
      "x-ratelimit-reset": (window.endsAt / 1000).toFixed(3),
      "x-ratelimit-reset-after": resetAfter.toFixed(3),
      "x-ratelimit-bucket": bucketName(route),
    };

    if (!isTooMuch) return { headers };

    return {
      headers: {
        ...headers,
        "retry-after": String(Math.ceil(resetAfter)),
        "x-ratelimit-scope": "user",
      },
      refused: { retryAfter: resetAfter, global: false },
    };
  }

  #window(key: string, limit: RateLimit, now: number): Window {
    const window = this.#windows.get(key);
    if (window !== undefined && window.endsAt > now) return window;

    for (const [old, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(old);
    const fresh = { endsAt: now + limit.perMs, used: 0 };
    this.#windows.set(key, fresh);

    return fresh;
  }
}

/** A short name that hides which route it is, as the platform's does. */
function bucketName(route: string): string {
  let hash = 5381;
  for (const character of route) hash = (hash * 33 + (character.codePointAt(0) ?? 0)) % 2 ** 32;
  return hash.toString(16).padStart(8, "0");
}
