import type { Clock } from "../kernel/clock.ts";

/** What a process knows of its right to work without asking. */
export interface LeaseProof {
  /** The lease was renewed so lately, by both clocks, that no other process can have taken over. */
  readonly isFresh: boolean;
}

/**
 * How old the last renewal may be, milliseconds: one is sent every 2 s and may take 2 s. Others
 * take over after 6 s. Source: RENEW_EVERY, RENEW_TIMEOUT and DEAD_AFTER in processes.ts.
 */
export const FRESH_MS = 4_000;

/**
 * Directly before something outside is asked or paid for: makes sure that another process has not
 * done it already. A process that was frozen, or cannot reach the database, checks (`look` throws
 * when the work is no longer its own); every other one goes on without a statement. A slow answer
 * may be outdated, so the check is repeated.
 */
export async function confirmHold({
  isFresh,
  clock,
  look,
}: {
  isFresh: () => boolean;
  clock: Clock;
  look: () => Promise<void>;
}): Promise<void> {
  while (!isFresh()) {
    const askedAt = clock.monotonic();
    await look();
    if (clock.monotonic() - askedAt < FRESH_MS) return;
  }
}
