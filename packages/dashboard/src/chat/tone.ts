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

/** What a provider refuses until an operator mends the set-up. */
const REFUSES_ALL: ReadonlySet<string> = new Set([
  "MODEL_UNAUTHORIZED",
  "MODEL_UNKNOWN",
  "MODEL_QUOTA_EXHAUSTED",
  "MODEL_REQUEST_INVALID",
]);

/** Whether no model has heard the message, so that sending it anew repeats nothing. Pure. */
export function isRefusedUnheard(done: Done | undefined): boolean {
  const { error, trace } = done ?? {};
  if (error === undefined || error.retry === true || !REFUSES_ALL.has(error.code)) return false;
  return trace?.agents.every(({ success, tokensOut }) => !success && tokensOut === 0) ?? false;
}
