import { runAttempts, type AttemptPlan, type Attempt, type AttemptsOptions } from "./attempts.ts";
import type { LlmRef } from "./model.ts";
import { isAway, type ModelOutages } from "./outages.ts";

/** How long calls outside of turns wait for a model that is away. */
export interface AttemptPatience {
  /** Those of the process: its turns wait there too. */
  readonly outages: Pick<ModelOutages, "untilRetry" | "answered">;
  readonly patienceMs: number;
}

interface PatientOptions extends Omit<AttemptsOptions, "outlasts"> {
  readonly signal: AbortSignal;
  /** Absent: the failure of the last attempt is final. */
  readonly patience: AttemptPatience | undefined;
  /** Called before each wait. */
  readonly onWait?: ((llm: LlmRef) => void) | undefined;
}

/**
 * As `runAttempts`, and waits where the model is away. A provider that names a moment beyond the
 * patience is not waited for: its error says the moment.
 */
export async function runPatiently<T>(
  plan: AttemptPlan,
  call: (attempt: Attempt) => Promise<T>,
  { patience, onWait, ...options }: PatientOptions,
): Promise<T> {
  const { clock, signal } = options;
  let since: number | undefined;
  let waits = 0;
  const made = await runAttempts(plan, call, {
    ...options,
    outlasts: async ({ error, failure, llm }) => {
      if (!patience || !isAway(failure.class)) return false;
      since ??= clock.monotonic();
      const leftMs = since + patience.patienceMs - clock.monotonic();
      const askedMs = failure.retryAfterMs ?? 0;
      if (leftMs <= 0 || askedMs > leftMs) return false;
      onWait?.(llm);
      await patience.outages.untilRetry(llm, error, { waits, leftMs, signal, askedMs });
      waits += 1;
      return true;
    },
  });
  patience?.outages.answered(made.llm);

  return made.value;
}
