import type { Clock } from "dure/client";

/** So many refused requests in so much time ban an address. */
export interface InvalidRequestLimit {
  readonly limit: number;
  readonly perMs: number;
}

/**
 * Source: "Rate Limits: Invalid Request Limit aka Cloudflare Bans": 10,000 in 10 minutes; 401, 403
 * and 429 count, but not a 429 of the scope `shared`.
 */
export const USUAL_INVALID_LIMIT: InvalidRequestLimit = { limit: 10_000, perMs: 10 * 60_000 };

/** The requests of this address that were refused. */
export class InvalidRequests {
  readonly #clock: Clock;
  readonly #limit: InvalidRequestLimit;
  #window = { endsAt: 0, count: 0 };

  constructor(clock: Clock, limit: InvalidRequestLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  count(status: number, scope: string | undefined): void {
    if (![401, 403, 429].includes(status) || scope === "shared") return;

    const now = this.#clock.now();
    if (this.#window.endsAt <= now) this.#window = { endsAt: now + this.#limit.perMs, count: 0 };
    this.#window.count++;
  }

  /** Until the ban is over, milliseconds; undefined: there is none. */
  bannedForMs(): number | undefined {
    const { endsAt, count } = this.#window;
    const leftMs = endsAt - this.#clock.now();
    return leftMs > 0 && count >= this.#limit.limit ? leftMs : undefined;
  }
}
