import type { Json } from "../kernel/json.ts";
import type { Transaction } from "./database.ts";

/** What does the deliveries of a topic, and what it answers. */

export type OutboxHandler = OutsideHandler | TransactionalHandler;

/** Sends to the outside: at least once, with the same key each time. */
export interface OutsideHandler extends HandlerOptions {
  readonly transactional?: false;
  send(
    payload: Json,
    options: {
      key: string;
      attempt: number;
      /** An earlier attempt may have arrived, as far as `probe` could tell. */
      inDoubt: boolean;
      signal: AbortSignal;
    },
  ): Promise<Json | void>;
  /**
   * Whether an attempt whose outcome is unknown has arrived. Without it such an entry is sent
   * again, with its key.
   */
  probe?(payload: Json, options: { key: string; signal: AbortSignal }): Promise<OutboxProbeAnswer>;
  /**
   * In the transaction that records `sent`: what follows from it. Holds nothing but SQL and may run
   * more than once before it commits. What it returns is called after the commit.
   */
  onSent?(sent: Sent, tx: Transaction): Promise<(() => void) | void>;
  /** For payloads of this topic that leave nothing but rows. */
  readonly rows?: RowsHandler;
}

/** Exactly once; holds nothing but SQL and may run more than once before it commits. */
export interface RowsHandler {
  /** Whether this payload is one of them; the others are sent. */
  holds(payload: Json): boolean;
  run: TransactionalHandler["run"];
}

export type OutboxProbeAnswer =
  | "happened"
  | "not_happened"
  | "unknown"
  | { readonly status: "happened"; readonly result: Json };

export interface Sent {
  readonly key: string;
  readonly payload: Json;
  /** What `send` gave, or the probe; null when only the fact is known. */
  readonly result: Json;
}

/**
 * Writes rows only: exactly once. Holds nothing but SQL and may run more than once before it
 * commits.
 */
export interface TransactionalHandler extends HandlerOptions {
  readonly transactional: true;
  run(
    payload: Json,
    options: { key: string; tx: Transaction; attempt: number; signal: AbortSignal },
  ): Promise<Json | void>;
}

interface HandlerOptions {
  readonly policy?: Partial<RetryPolicy>;
  /** What an error means; undefined means: try again, perhaps it has arrived. */
  classify?(error: unknown): FailureVerdict | undefined;
  /** In the transaction that records `failed` or `unknown`: the place for an escalation. */
  onGivenUp?(given: GivenUp, tx: Transaction): Promise<void>;
}

export interface FailureVerdict {
  /**
   * `permanent`: not again. `rate-limited`: again after `afterMs`, not counted as an attempt.
   * `transient`: counted.
   */
  readonly class: "permanent" | "rate-limited" | "transient";
  readonly afterMs?: number | undefined;
  /** The outside certainly has not done it: the next attempt needs no probe. */
  readonly notSent?: boolean;
}

export interface GivenUp {
  readonly key: string;
  readonly topic: string;
  readonly ordering: string;
  readonly payload: Json;
  readonly outcome: "failed" | "unknown";
  readonly attempts: number;
  readonly error: unknown;
}

export interface RetryPolicy {
  /** Attempts in all. Default 4. Source: docs/spec/collaboration §6 E4: 3 retries. */
  readonly attempts: number;
  /**
   * Pause before the first retry, doubled each time, in milliseconds. Default 1,000 (1, 2, 4 s;
   * jitter ≤ 20 %). Source: §6 E4.
   */
  readonly firstRetryMs: number;
  /** Longest wait for one answer, in milliseconds. Default 10,000. Source: §6 E5. */
  readonly timeoutMs: number;
}
