import { systemClock } from "./clock.ts";

/**
 * Ids sort by the time they were made: 48 bits of milliseconds, then 80 random bits, as 26
 * characters of Crockford's base 32.
 */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

export type IdKind =
  | "turn"
  | "file"
  | "effect"
  | "escalation"
  | "flow"
  | "process"
  | "event"
  | "token"
  | "login"
  | "call"
  | "thread"
  | "direct"
  | "private"
  | "message"
  | "handling"
  | "request"
  | "stop"
  | "alert";

/** A new id such as `turn_01KAJ…`; unique without coordination. */
export function newId(kind: IdKind, now: number = systemClock.now()): string {
  return `${kind}_${ulid(now)}`;
}

/** A unique id of 26 characters that sorts by time. `now`: milliseconds since the epoch. */
export function ulid(now: number = systemClock.now()): string {
  let text = "";
  let time = now;

  for (let index = 0; index < 10; index++) {
    text = ALPHABET.charAt(time % 32) + text;
    time = Math.floor(time / 32);
  }

  for (const byte of crypto.getRandomValues(new Uint8Array(16))) text += ALPHABET.charAt(byte & 31);

  return text;
}
