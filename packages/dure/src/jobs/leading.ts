import { codeOf, messageOf } from "../kernel/errors.ts";
import type { Clock } from "../kernel/clock.ts";
import { Faults } from "../durable/faults.ts";
import type { Logger } from "../kernel/logger.ts";
import { Poller, type PollResult } from "../durable/poller.ts";
import type { Pauses } from "../durable/pauses.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { Conversations } from "../engine/api.ts";
import { endOf } from "./endings.ts";
import { runExchange } from "./exchange.ts";
import type { ExchangeFacts } from "./exchange-facts.ts";
import type { JobFiles } from "./job-files.ts";
import { JobExchangeStore, JobFencedError, type AgentDirectory } from "./job-exchange-store.ts";
import type { JobLimits } from "./limits.ts";
import type { HeldJob, JobStore } from "./store.ts";

interface JobLeadingParts {
  readonly store: JobStore;
  readonly facts: ExchangeFacts;
  readonly lease: Pick<ProcessLease, "id" | "whenHeld">;
  readonly conversations: Pick<Conversations, "accept" | "read">;
  readonly agents: AgentDirectory;
  readonly pauses?: Pick<Pauses, "get" | "onChange"> | undefined;
  readonly files: JobFiles;
  readonly limits: JobLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For the jitter of retries. */
  readonly random: () => number;
  /** Aborts when this process leads nothing any more. */
  readonly signal: AbortSignal;
}

interface LedJob {
  readonly controller: AbortController;
  /** Nothing else runs here until it has made progress. */
  isQuarantined: boolean;
  finished: Promise<void>;
}

/**
 * How often a process looks for jobs that wait, in milliseconds. Source:
 * docs/spec/jobs §6, resume begins within 2 s.
 */
const LOOK_EVERY_MS = 400;
/**
 * Jobs that one look takes; the first of them goes on before the last is taken.
 */
const TAKE_AT_ONCE = 32;
/** Faults of our own code with one job with which it is given up here. */
const FAULTS = { most: 3, backOff: { firstMs: 500, maxMs: 5_000 } } as const;
/** How the leading of an exchange has ended here, in the log's words. */
const LEFT_BECAUSE = {
  rests: "waits for a person, or for the resume of its agent",
  over: "has ended",
  fenced: "is led by another process",
} as const;

/** The exchanges that this process leads, and its look for more. */
export class JobLeading {
  readonly #parts: JobLeadingParts;
  readonly #poller: Poller;
  readonly #led = new Map<string, LedJob>();
  readonly #faults: Faults;

  constructor(parts: JobLeadingParts) {
    this.#parts = parts;
    this.#faults = new Faults({ ...FAULTS, clock: parts.clock, logger: parts.logger });
    this.#poller = new Poller({
      what: "jobs",
      poll: () => this.#take(),
      everyMs: LOOK_EVERY_MS,
      clock: parts.clock,
      logger: parts.logger,
      signal: parts.signal,
    });
  }

  /** Exchanges that are led here. */
  get size(): number {
    return this.#led.size;
  }

  start(): void {
    this.#poller.start();
  }

  /** A job may wait. */
  wake(): void {
    this.#poller.wake();
  }

  /**
   * The parts' signal has aborted. Resolves when no exchange is led any more.
   */
  async stop(): Promise<void> {
    await this.#poller.stop();
    await Promise.allSettled([...this.#led.values()].map(({ finished }) => finished));
  }

  async #take(): Promise<PollResult> {
    const { store, lease, agents, limits, signal } = this.#parts;
    await lease.whenHeld({ signal });
    const { taken, lost } = await store.take({
      holder: lease.id,
      known: [...this.#led.keys()],
      alone: [...this.#led].filter(([, led]) => led.isQuarantined).map(([id]) => id),
      room: Math.min(TAKE_AT_ONCE, limits.running - this.#led.size),
      agents: agents.all().map(({ id }) => id),
      permits: limits.permits,
      permitWaitMs: limits.permitWaitMs,
      unknownAgentMs: limits.unknownAgentMs,
    });
    for (const id of lost) this.#led.get(id)?.controller.abort(new JobFencedError(id));
    for (const { id, quarantined } of taken) this.#begin(id, quarantined);
    // There may be more than one statement gives.
    return taken.length > 0 && !taken.some(({ quarantined }) => quarantined) ? "more" : "idle";
  }

  #begin(id: string, isQuarantined: boolean): void {
    this.#led.get(id)?.controller.abort(new JobFencedError(id));
    const controller = new AbortController();
    const led: LedJob = { controller, isQuarantined, finished: Promise.resolve() };
    this.#led.set(id, led);
    const signal = AbortSignal.any([controller.signal, this.#parts.signal]);
    led.finished = this.#lead(id, led, signal).then(() => {
      if (this.#led.get(id) === led) this.#led.delete(id);
      this.wake();
    });
  }

  /** Never rejects. */
  async #lead(id: string, led: LedJob, signal: AbortSignal): Promise<void> {
    const { store, lease } = this.#parts;
    let held: HeldJob | undefined;
    try {
      held = await store.held(id, lease.id);
      if (held) await this.#leadHeld(held, led, signal);
    } catch (error) {
      if (signal.aborted) return;
      await this.#onFault({ id, epoch: held?.epoch }, error, signal);
    }
  }

  async #leadHeld(held: HeldJob, led: LedJob, signal: AbortSignal): Promise<void> {
    const { clock, logger, limits, random } = this.#parts;
    const { job, turns, answer, attempt, earlier } = held;
    const id = job.jobId;
    if (job.resumes > 0) {
      logger.info(
        { job: id, turn: job.turnsDone + 1, resumeCount: job.resumeCount },
        `job ${id} resumed at turn ${job.turnsDone + 1} of ${Math.max(job.maxTurns, 1)}`,
      );
    }
    const onProgress = (): void => {
      if (!led.isQuarantined) return;
      led.isQuarantined = false;
      this.wake();
    };
    const exchangeStore = new JobExchangeStore({ ...this.#parts, held, onProgress });
    const facts = { job, turns, answer, attempt, earlier };
    const end = await runExchange(facts, exchangeStore, { limits, clock, random, signal });
    this.#faults.forget(id);
    logger.info({ job: id, end }, `job ${id} ${LEFT_BECAUSE[end]}`);
  }

  /**
   * Waits before the job is led again. After too many faults of dure's own it is given up.
   * Never rejects.
   */
  async #onFault(
    { id, epoch }: { id: string; epoch: number | undefined },
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, logger } = this.#parts;
    const fault = { error, what: `job ${id} could not be led`, fields: { job: id } };
    const after = await this.#faults.recordAndWait(id, fault, signal);
    if (after !== "given-up" || epoch === undefined) return;
    const end = endOf("agent_error", {
      error: { code: codeOf(error) ?? "INTERNAL", message: messageOf(error) },
    });
    await store
      .settle(id, epoch, { end })
      .catch((reason: unknown) =>
        logger.error({ job: id, error: messageOf(reason) }, `job ${id} could not be ended`),
      );
  }
}
