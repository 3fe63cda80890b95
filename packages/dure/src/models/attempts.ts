import { type Clock, type Hold, withTimeout } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { type Llm, modelName, type Policy } from "./card.ts";
import { classify, type Failure, type FailureClass, failureError, FAILURES } from "./failures.ts";
import type { LlmRef } from "./model.ts";

export interface AttemptPlan {
  readonly llm: Llm;
  readonly policy: Pick<Policy, "maxAttempts" | "backoffSec" | "timeoutSec"> & {
    /** The pause after a model's n-th failed attempt, milliseconds. Default `backoffSec × n`. */
    readonly pauseMs?: (attempt: number) => number;
    /**
     * Whether an answer that failed after its first token was shown may be asked for again: what
     * was shown is void then. Default false.
     */
    readonly repeatsShown?: boolean;
    /** Failures that are not repeated here although they pass. */
    readonly finals?: readonly FailureClass[];
  };
}

/** One call of one model. */
export interface Attempt {
  readonly llm: LlmRef;
  /** 1 for the first; counts on over the fallbacks. */
  readonly attempt: number;
  /**
   * Aborts with the outer signal or when `policy.timeoutSec` is over (reason: `MODEL_TIMEOUT`).
   * Pass it to everything that the attempt waits for.
   */
  readonly signal: AbortSignal;
  /**
   * To be called when something of the answer has been shown: from then on a failure is final. Give
   * it as `onFirstToken` when a person reads the answer while it comes.
   */
  readonly firstTokenSeen: () => void;
  /** `policy.timeoutSec` does not run until the returned function is called. */
  readonly hold: Hold;
}

export interface AttemptsOptions {
  readonly clock: Clock;
  /** Called before each wait. `next` is the model that will be asked. */
  readonly onRetry?: (retry: {
    attempt: number;
    error: DureError;
    waitMs: number;
    next: LlmRef;
  }) => void;
  /**
   * Called where every model has failed: resolves with true when the call is to be made again, as
   * if it had not been made, and with false when the failure is final.
   */
  readonly outlasts?: ((failed: FailedAttempts) => Promise<boolean>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The last failure of all attempts. */
export interface FailedAttempts {
  readonly error: unknown;
  readonly failure: Failure;
  /** The model that is asked first where the call is made again. */
  readonly llm: LlmRef;
}

export interface AttemptsResult<T> {
  readonly value: T;
  /** Calls that were made, the good one included. */
  readonly attempts: number;
  /** The model that answered. */
  readonly llm: LlmRef;
}

/**
 * A provider that wants us to wait longer is not asked again, milliseconds: a
 * person is waiting too.
 */
export const MAX_RETRY_AFTER_MS = 60_000;

/** The same where another model may answer, milliseconds; a longer pause of the plan counts. */
export const MAX_WAIT_MS = 5_000;

/**
 * Makes `call` until it succeeds, fails for good, or every model of the plan has had `maxAttempts`
 * calls. `call` asks the model once and checks its answer; a `formatError` counts as a failed
 * attempt. An abort rejects with the signal's reason, as soon as the interrupted call has settled
 * or {@link SETTLE_MS} later. The error at the end is the last one; after more than one attempt its
 * `details.attempts` says how many there were.
 */
export async function runAttempts<T>(
  plan: AttemptPlan,
  call: (attempt: Attempt) => Promise<T>,
  options: AttemptsOptions,
): Promise<AttemptsResult<T>> {
  const { clock, onRetry, signal } = options;
  const models: readonly LlmRef[] = [plan.llm, ...plan.llm.fallbacks];
  let attempt = 0;
  let position = 0;
  let attemptsOfModel = 0;

  for (;;) {
    const llm = models[position]!;
    attempt += 1;
    attemptsOfModel += 1;
    const made = await callOnce(plan, call, { llm, attempt }, options);
    if (made.ok) return { value: made.value, attempts: attempt, llm };

    const { error } = made;
    signal?.throwIfAborted();
    const failure = failureUnder(plan, error, clock);
    const decision = decideNext(failure, {
      attemptsOfModel,
      maxAttempts: plan.policy.maxAttempts,
      pauseMs: pauseAfter(plan, attemptsOfModel),
      modelsLeft: models.length - position - 1,
      tokenSeen: made.tokenSeen && !plan.policy.repeatsShown,
    });
    if (decision.next === "fail") {
      if (!(await options.outlasts?.({ error, failure, llm: plan.llm }))) {
        throw finalError(error, attempt, decision.because);
      }
      position = 0;
      attemptsOfModel = 0;
      continue;
    }
    if (decision.next === "fallback") {
      position += 1;
      attemptsOfModel = 0;
    }
    const next = models[position]!;
    onRetry?.({ attempt, error: asDureError(error, llm), waitMs: decision.waitMs, next });
    if (decision.waitMs > 0) await clock.sleep(decision.waitMs, { signal });
  }
}

type Made<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly error: unknown;
      /** Whether something of the answer has been shown. */
      readonly tokenSeen: boolean;
    };

/** One call, within the time that the plan allows. Settles when the call has, or soon after. */
async function callOnce<T>(
  plan: AttemptPlan,
  call: (attempt: Attempt) => Promise<T>,
  { llm, attempt }: Pick<Attempt, "llm" | "attempt">,
  { clock, signal }: AttemptsOptions,
): Promise<Made<T>> {
  const { timeoutSec } = plan.policy;
  let tokenSeen = false;
  const firstTokenSeen = (): void => void (tokenSeen = true);
  let running: Promise<T> | undefined;

  try {
    const value = await withTimeout(
      clock,
      { ms: timeoutSec * 1_000, signal },
      () => timeoutError(llm, timeoutSec),
      (attemptSignal, hold) =>
        (running = call({ llm, attempt, signal: attemptSignal, firstTokenSeen, hold })),
    );
    return { ok: true, value };
  } catch (error) {
    await settled(running, clock);
    return { ok: false, error, tokenSeen };
  }
}

function failureUnder({ policy }: AttemptPlan, error: unknown, clock: Clock): Failure {
  const failure = classify(error, clock.now());
  return policy.finals?.includes(failure.class) ? { ...failure, retryable: false } : failure;
}

function pauseAfter({ policy }: AttemptPlan, attemptsOfModel: number): number {
  return policy.pauseMs?.(attemptsOfModel) ?? policy.backoffSec * 1_000 * attemptsOfModel;
}

/**
 * An interrupted call that obeys its signal settles at once; one that does not is left behind after
 * this, milliseconds.
 */
const SETTLE_MS = 50;

/**
 * Lets an interrupted call finish its bookkeeping (records, usage) before the next one begins. Its
 * result no longer counts.
 */
async function settled(running: Promise<unknown> | undefined, clock: Clock): Promise<void> {
  if (running === undefined) return;

  const { promise: patienceEnds, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(SETTLE_MS, resolve);
  await Promise.race([Promise.allSettled([running]), patienceEnds]);
  cancel();
}

export interface AttemptSituation {
  /** Calls of this model so far, the failed one included. */
  readonly attemptsOfModel: number;
  readonly maxAttempts: number;
  /** Before the next call of the same model, at least. */
  readonly pauseMs: number;
  /** Fallbacks that have not been asked yet. */
  readonly modelsLeft: number;
  /** Whether something of the failed answer has been shown, and stays shown. */
  readonly tokenSeen: boolean;
}

export type NextStep =
  | { readonly next: "retry"; readonly waitMs: number; readonly because: "retryable" }
  | {
      readonly next: "fallback";
      readonly waitMs: 0;
      readonly because: "attempts-used-up" | "not-worth-repeating" | "told-to-wait-too-long";
    }
  | {
      readonly next: "fail";
      readonly because:
        | "token-seen"
        | "not-retryable"
        | "attempts-used-up"
        | "told-to-wait-too-long";
    };

/**
 * What follows a failed attempt. Pure; the first rule that applies wins. Source:
 * docs/spec/conversation §4. The wait is the pause, or what the provider asked for if that is
 * longer. One that asks for more than {@link MAX_RETRY_AFTER_MS}, or {@link MAX_WAIT_MS} where a
 * model is left, would refuse an earlier call too: then it is the next model's turn.
 */
export function decideNext(failure: Failure, situation: AttemptSituation): NextStep {
  const { attemptsOfModel, maxAttempts, pauseMs, modelsLeft, tokenSeen } = situation;
  if (tokenSeen) return { next: "fail", because: "token-seen" };

  const askedMs = failure.retryAfterMs ?? 0;
  const longestMs = modelsLeft > 0 ? Math.max(pauseMs, MAX_WAIT_MS) : MAX_RETRY_AFTER_MS;
  const isTooLong = failure.retryable && askedMs > longestMs;
  if (failure.retryable && !isTooLong && attemptsOfModel < maxAttempts) {
    return { next: "retry", waitMs: Math.max(pauseMs, askedMs), because: "retryable" };
  }

  const over = isTooLong ? "told-to-wait-too-long" : "attempts-used-up";

  if (FAILURES[failure.class].fallback && modelsLeft > 0) {
    return {
      next: "fallback",
      waitMs: 0,
      because: failure.retryable ? over : "not-worth-repeating",
    };
  }

  return { next: "fail", because: failure.retryable ? over : "not-retryable" };
}

function timeoutError(llm: LlmRef, timeoutSec: number): DureError {
  return failureError("timeout", `${modelName(llm)} did not answer within ${timeoutSec} s.`, {
    details: { provider: llm.provider, model: llm.model },
  });
}

function finalError(error: unknown, attempts: number, because: string): unknown {
  if (!(error instanceof DureError) || attempts === 1) return error;
  return new DureError(error.code, `${error.message} (attempt ${attempts}, ${because})`, {
    class: error.class,
    hint: error.hint,
    cause: error,
    details: { ...error.details, attempts },
  });
}

function asDureError(error: unknown, llm: LlmRef): DureError {
  return error instanceof DureError
    ? error
    : failureError("other", `${modelName(llm)} failed: ${messageOf(error)}`, { cause: error });
}
