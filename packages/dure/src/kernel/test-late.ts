import { systemClock } from "./clock.ts";

/**
 * How late tests look, for finding those that wait for a state which passes: on a busy machine they
 * fail once in many runs, and with `DURE_TEST_LATE_MS=1500` in each one. docs/decisions/0002-checks.md
 */

/** Milliseconds before the first look of a waiter, and between its looks. */
export const LATE_MS = readLateness(process.env["DURE_TEST_LATE_MS"]);

/** Before the first look of a waiter. */
export async function beLate(): Promise<void> {
  if (LATE_MS > 0) await systemClock.sleep(LATE_MS);
}

/** The time between two looks. */
export const atLeastLate = (everyMs: number): number => Math.max(everyMs, LATE_MS);

/** The given look, of which the first is late; for the waiters of others. */
export function lateFirst<Given extends unknown[], T>(
  look: (...given: Given) => T | Promise<T>,
): (...given: Given) => Promise<T> {
  let isFirst = true;
  return async (...given) => {
    if (isFirst) await beLate();
    isFirst = false;
    return await look(...given);
  };
}

function readLateness(text: string | undefined): number {
  const ms = Number(text ?? "0");
  if (ms >= 0 && ms <= 60_000) return ms;
  throw new Error(`DURE_TEST_LATE_MS is ${text}; use milliseconds from 0 to 60000`);
}
