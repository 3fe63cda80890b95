import { backOffMs, type BackOff } from "../kernel/back-off.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, type ProcessError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { modelName } from "./card.ts";
import { FAILURES, type FailureClass } from "./failures.ts";
import type { LlmRef } from "./model.ts";

/**
 * Failures that come from the provider's state, not from the call: the same call works when it is
 * back. A call that took too long may take too long again, so `timeout` is none.
 */
const AWAY: ReadonlySet<FailureClass> = new Set(["rate_limit", "server", "network"]);

/** Between two calls to a model that is away. */
const RETRY = { firstMs: 5_000, maxMs: 30_000 } as const;
/** Calls that waited for the same model do not come back in the same moment, milliseconds. */
const SPREAD_MS = 500;

export function isAway(failure: FailureClass): boolean {
  return AWAY.has(failure);
}

/** Whether a turn that ended with this code ended because its model was away. */
export function isAwayCode(code: string | undefined): boolean {
  return [...AWAY].some((failure) => FAILURES[failure].code === code);
}

/** A model that could not be reached, from its first failure until it answers. */
export interface ModelOutage {
  readonly model: string;
  readonly code: string;
}

interface OutagesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retry?: BackOff | undefined;
  readonly random?: () => number;
  /** Tells people; what it throws is logged. */
  readonly onBegin?: ((outage: ModelOutage) => Promise<void>) | undefined;
  readonly onEnd?: ((outage: ModelOutage) => Promise<void>) | undefined;
}

interface WaitingCall {
  /** Waits of this call before this one. */
  readonly waits: number;
  /** The provider's own word, milliseconds. */
  readonly askedMs?: number | undefined;
  /** What is left of its patience, milliseconds. */
  readonly leftMs: number;
  readonly signal: AbortSignal;
}

/**
 * The models that this process cannot reach now. Each is logged once, and people are told once;
 * all calls that wait for it go on when one of them is answered, or when a person says so.
 */
export class ModelOutages {
  readonly #options: OutagesOptions;
  readonly #away = new Map<string, ModelOutage>();
  /** Aborted, and replaced, where waiting calls are made at once. */
  #now = new AbortController();
  readonly #over = new AbortController();
  /** What people are told, in its order: an end before its beginning would leave that open. */
  #told: Promise<void> = Promise.resolve();

  constructor(options: OutagesOptions) {
    this.#options = options;
  }

  /** Resolves when the call is to be made again. Rejects with the reason of its signal. */
  async untilRetry(llm: LlmRef, error: unknown, call: WaitingCall): Promise<void> {
    this.#begin(llm, error);
    const { clock, retry = RETRY, random = Math.random } = this.#options;
    const { waits, askedMs = 0, leftMs, signal } = call;
    const pauseMs = Math.max(backOffMs(waits + 1, retry) * (0.8 + 0.2 * random()), askedMs);
    const now = this.#now.signal;
    const over = this.#over.signal;
    await clock
      .sleep(Math.min(pauseMs, leftMs), { signal: AbortSignal.any([now, over, signal]) })
      .catch(() => {});
    signal.throwIfAborted();
    over.throwIfAborted();
    if (!now.aborted) return;
    const spreadMs = Math.min(SPREAD_MS, retry.firstMs);
    await clock.sleep(spreadMs * random(), { signal });
  }

  /** The model has answered a call. */
  answered(llm: LlmRef): void {
    const outage = this.#away.get(modelName(llm));
    if (!outage) return;
    this.#away.delete(outage.model);
    this.#options.logger.info({ model: outage.model }, `${outage.model} answers again`);
    this.#tell(this.#options.onEnd, outage);
    this.retryNow();
  }

  /** Makes all waiting calls now. */
  retryNow(): void {
    this.#now.abort();
    this.#now = new AbortController();
  }

  /** Ends all waits with the reason: another process goes on with them. */
  stop(reason: ProcessError): void {
    this.#over.abort(reason);
  }

  #begin(llm: LlmRef, error: unknown): void {
    const model = modelName(llm);
    if (this.#away.has(model)) return;
    const outage = { model, code: codeOf(error) ?? "MODEL_FAILED" };
    this.#away.set(model, outage);
    this.#options.logger.warn(outage, `${model} cannot be reached; work that needs it waits`);
    this.#tell(this.#options.onBegin, outage);
  }

  #tell(tell: OutagesOptions["onBegin"], outage: ModelOutage): void {
    const said = this.#told.then(() => tell?.(outage));
    this.#told = said.catch((error: unknown) => {
      this.#options.logger.warn(
        { ...outage, cause: codeOf(error) },
        `people could not be told that ${outage.model} is away or back`,
      );
    });
  }
}
