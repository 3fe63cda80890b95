import type { Done } from "dure/client";

/**
 * How an answer that did not do what was asked is shown: `waits` for a person's decision, `stopped`
 * by one, or `failed`.
 */
export type Tone = "waits" | "stopped" | "failed";

/** Undefined for a normal answer. Pure. */
export function toneOf(done: Done | undefined): Tone | undefined {
  switch (done?.error?.code) {
    case undefined:
      return undefined;
    case "APPROVAL_PENDING":
    case "EFFECT_UNKNOWN":
      return "waits";
    case "TURN_STOPPED":
      return "stopped";
    default:
      return "failed";
  }
}
