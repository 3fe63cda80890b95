import { codeOf, messageOf } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { countsAsTry, ownTroubleOf } from "./passing.ts";
import type {
  FailureVerdict,
  OutsideHandler,
  OutboxProbeAnswer,
  RetryPolicy,
} from "./outbox-handler.ts";

/** What becomes of an entry after an attempt. Pure. */

export const DEFAULT_POLICY: RetryPolicy = { attempts: 4, firstRetryMs: 1_000, timeoutMs: 10_000 };

export type Outcome =
  | { readonly kind: "sent"; readonly result: Json | void }
  | { readonly kind: "probed"; readonly found: "happened" | "unknown"; readonly result?: Json }
  /** Every attempt is used up, and none has arrived. */
  | { readonly kind: "exhausted" }
  | {
      readonly kind: "error";
      readonly error: unknown;
      readonly phase: "probe" | "send";
      readonly verdict?: FailureVerdict | undefined;
    };

export const OPEN_ENTRY_STATES = ["pending", "sending"] as const;
export const ENTRY_ENDS = ["sent", "failed", "unknown"] as const;

export interface Step {
  readonly state: "pending" | (typeof ENTRY_ENDS)[number];
  readonly attempts: number;
  readonly inDoubt: boolean;
  readonly waitMs: number;
  readonly result?: Json | undefined;
  readonly error?: { readonly code: string | undefined; readonly message: string } | undefined;
}

/** What follows from one attempt. Pure; the first rule that applies wins. */
export function decideStep(
  entry: { readonly attempts: number; readonly in_doubt: boolean },
  outcome: Outcome,
  policy: RetryPolicy,
  random: () => number,
): Step {
  const { attempts } = entry;
  switch (outcome.kind) {
    case "sent": {
      const result = outcome.result ?? null;
      return { state: "sent", attempts: attempts + 1, inDoubt: false, waitMs: 0, result };
    }
    case "probed": {
      const { found, result } = outcome;
      const state = found === "happened" ? "sent" : "unknown";
      return { state, attempts, inDoubt: found === "unknown", waitMs: 0, result };
    }
    case "exhausted": {
      const error = { code: "OUTBOX_EXHAUSTED", message: "None of the attempts has arrived." };
      return { state: "failed", attempts, inDoubt: false, waitMs: 0, error };
    }
    case "error":
      return stepAfterError(entry, outcome, policy, random);
    default:
      return outcome satisfies never;
  }
}

function stepAfterError(
  entry: { readonly attempts: number; readonly in_doubt: boolean },
  outcome: Extract<Outcome, { kind: "error" }>,
  policy: RetryPolicy,
  random: () => number,
): Step {
  const error = { code: codeOf(outcome.error), message: messageOf(outcome.error) };
  // Trouble of dure's own database says nothing about the outside, whatever its class says.
  const isOwn = ownTroubleOf(outcome.error) !== undefined;
  const said = outcome.verdict ?? { class: "transient" };
  const verdict = isOwn ? ({ ...said, class: "transient" } as const) : said;
  const inDoubt = outcome.phase === "probe" || verdict.notSent !== true;

  if (verdict.class === "rate-limited") {
    return {
      state: "pending",
      attempts: entry.attempts,
      inDoubt: entry.in_doubt,
      waitMs: verdict.afterMs ?? policy.firstRetryMs,
      error,
    };
  }

  const isCounted = !isOwn || countsAsTry(outcome.error);
  const attempts = entry.attempts + (isCounted ? 1 : 0);
  // Without a successful probe the entry is not failed: it may have arrived.
  if (verdict.class === "permanent" && outcome.phase === "probe") {
    return { state: "unknown", attempts, inDoubt: true, waitMs: 0, error };
  }
  if (verdict.class === "permanent") {
    return { state: "failed", attempts, inDoubt: false, waitMs: 0, error };
  }

  if (isCounted && attempts >= policy.attempts) {
    const state = outcome.phase === "probe" ? "unknown" : "failed";
    return { state, attempts, inDoubt, waitMs: 0, error };
  }

  const waitMs =
    verdict.afterMs ?? policy.firstRetryMs * 2 ** entry.attempts * (1 + 0.2 * random());

  return { state: "pending", attempts, inDoubt, waitMs, error };
}

/** The last attempt failed but may have arrived. Pure. */
export function settleDoubt(step: Step, found: OutboxProbeAnswer | Delayed): Step {
  if (typeof found === "object" && "waitMs" in found) {
    return { ...step, state: "pending", inDoubt: true, waitMs: found.waitMs };
  }
  if (typeof found === "object") {
    return { ...step, state: "sent", inDoubt: false, result: found.result };
  }
  if (found === "happened") return { ...step, state: "sent", inDoubt: false };

  return found === "not_happened" ? { ...step, inDoubt: false } : { ...step, state: "unknown" };
}

/** The outside cannot be asked before this many milliseconds have passed. */
export interface Delayed {
  readonly waitMs: number;
}

export function delayed(error: unknown, handler: OutsideHandler): Delayed | undefined {
  const verdict = handler.classify?.(error);
  return verdict?.class === "rate-limited"
    ? { waitMs: verdict.afterMs ?? { ...DEFAULT_POLICY, ...handler.policy }.firstRetryMs }
    : undefined;
}

export function probed(found: Exclude<OutboxProbeAnswer, "not_happened">): Outcome {
  return typeof found === "object"
    ? { kind: "probed", found: "happened", result: found.result }
    : { kind: "probed", found };
}
