import type { Cancel, Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { StepWaiting } from "../../wire/runs.ts";
import type { ProviderTrouble } from "../calls/provider-trouble.ts";
import type { TranscriptEntry, WorkerEvent } from "../workers/worker.ts";
import { TranscriptBuffer } from "./transcript.ts";
import type { Counting } from "../rows/records.ts";
import type { PlanStep } from "../rows/run.ts";
import {
  countedOf,
  lessCounted,
  NOTHING_COUNTED,
  type Counted,
  type StepLog,
} from "../rows/step-log.ts";
import { type Member, STALLED_AFTER_MS, type STALLED_ON } from "../../kernel/plans.ts";
import { BEGUN, paceAfter, shareDone } from "./milestones.ts";

/**
 * How often the sign of a worker is stored, milliseconds. Source: docs/spec/plans §6, at least
 * every 10 s.
 */
const SIGN_EVERY_MS = 2_000;
/** After a model was paid a sign is stored sooner, milliseconds: a kill may lose so much. */
const PAID_EVERY_MS = 250;

/** What is noted is stored so soon, milliseconds: a page that looks on sees it. */
const NOTES_EVERY_MS = 500;

/** What every worker is said to have done that does not say it. */
const SAYS_NOTHING = 0.05;

/** What its provider comes to is told so soon, milliseconds: many calls are served at once again. */
const WAITING_EVERY_MS = 500;

export interface WorkerHeartbeatsOptions {
  readonly stepLog: StepLog;
  readonly step: PlanStep;
  readonly port: string;
  readonly member: Member;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * A worker without a sign for longer is stalled, milliseconds. Default 10 s. Source:
   * docs/spec/plans §6.
   */
  readonly stalledMs?: number | undefined;
  /** By which the work of its port is accepted. Default: none. */
  readonly tests?: string | undefined;
  /** How long such steps take, milliseconds. Undefined: it is not known. */
  readonly typicalMs?: number | undefined;
  /** Adds it to the port and the run that pay for it, together with the sign. */
  readonly count: (more: Counted) => Counting;
}

type ProgressEvent = Extract<WorkerEvent, { type: "progress" }>;

/**
 * The signs of life of one worker in one step. Each is stored with the tokens that were used since
 * the last one, so that a kill loses no more than those of a moment; a silence is told once as
 * `worker.stalled`, and the next sign says that it is over.
 */
export class WorkerHeartbeats {
  readonly #options: WorkerHeartbeatsOptions;
  readonly #cancel: Cancel;
  readonly #beganAt: number;
  #pace = BEGUN;
  /** The worker says by itself how far it is. */
  #tellsShare = false;
  #heardAt: number;
  #storedAt: number;
  #isStalled = false;
  #last: ProgressEvent | undefined;
  /** Heard, and stored within a moment. */
  #unstored: { readonly event: ProgressEvent; readonly log: string } | undefined;
  #counted: Counted = NOTHING_COUNTED;
  readonly #notes = new TranscriptBuffer();
  #cancelNotes: Cancel | undefined;
  #trouble: ProviderTrouble | undefined;
  #cancelWaiting: Cancel | undefined;
  /** What the step waits for, as it is stored. */
  #waiting: StepWaiting | null = null;
  #storing: Promise<void> = Promise.resolve();

  constructor(options: WorkerHeartbeatsOptions) {
    const { clock, stalledMs = STALLED_AFTER_MS } = options;
    this.#options = options;
    this.#beganAt = this.#heardAt = this.#storedAt = clock.monotonic();
    this.#cancel = clock.every(stalledMs / 4, () => this.#look(stalledMs));
  }

  /** What is counted already; the end of the step adds the rest. */
  get counted(): Counted {
    return this.#counted;
  }

  session(id: string): Promise<void> {
    const { stepLog, step } = this.#options;
    return stepLog.session(step, id);
  }

  /** Stored within a moment, in the order in which it came. */
  note(entry: TranscriptEntry): void {
    this.#notes.add(entry);
    this.#pace = paceAfter(this.#pace, entry, this.#options.tests ?? "");
    this.#cancelNotes ??= this.#options.clock.after(NOTES_EVERY_MS, () => this.#storeSoon());
  }

  /** Stores what was noted, and the sign that waits. One at a time. */
  #storeSoon(): void {
    this.#storeWaitingSign().catch((error: unknown) => {
      const { logger, step, port } = this.#options;
      logger.warn(
        { step: step.id, error: messageOf(error) },
        `a part of the transcript of ${port} could not be stored`,
      );
    });
  }

  #storeWaitingSign(): Promise<void> {
    const sign = this.#unstored;
    if (sign) return this.#store(sign.event, sign.log, this.#options.clock.monotonic());
    this.#cancelNotes?.();
    this.#cancelNotes = undefined;
    const { stepLog, step } = this.#options;

    return this.#inTurn(() => stepLog.note(step, this.#notes.take()));
  }

  #inTurn(store: () => Promise<void>): Promise<void> {
    const storing = this.#storing.then(store);
    this.#storing = storing.catch(() => {});
    return storing;
  }

  /** What keeps the provider from the worker, or that nothing does. Stored within a moment. */
  provider(trouble: ProviderTrouble | undefined): void {
    this.#trouble = trouble;
    this.#cancelWaiting ??= this.#options.clock.after(WAITING_EVERY_MS, () => {
      this.#cancelWaiting = undefined;
      this.#storeWaiting();
    });
  }

  #storeWaiting(): void {
    const { stepLog, step, port, member, logger } = this.#options;
    const waiting = this.#trouble === undefined ? null : waitingOf(this.#trouble);
    if (isSameWait(waiting, this.#waiting)) return;
    this.#waiting = waiting;
    const place = { step, port, member };
    const event = waiting ? waitingEvent(waiting, place) : this.#progressEvent(this.#last);
    stepLog.waits(step, waiting, [event]).catch((error: unknown) => {
      logger.warn(
        { step: step.id, error: messageOf(error) },
        `what ${port} waits for could not be stored`,
      );
    });
  }

  async heard(told: ProgressEvent, log: string): Promise<void> {
    const now = this.#options.clock.monotonic();
    const event = { ...told, progress: this.#shareOf(told, now) };
    const isBack = this.#isStalled;
    this.#heardAt = now;
    this.#isStalled = false;
    this.#last = event;
    const { input, output } = this.#counted;
    const isPaid = event.tokensUsed > input + output;
    const everyMs = isPaid ? PAID_EVERY_MS : SIGN_EVERY_MS;
    if (isBack || now - this.#storedAt >= everyMs) return this.#store(event, log, now);
    if (event.progress !== 1 && !isPaid) return;
    // Mostly its end comes at once, and is stored with it.
    this.#unstored = { event, log };
    this.#cancelNotes ??= this.#options.clock.after(PAID_EVERY_MS, () => this.#storeSoon());
  }

  /** How much is done: as the worker says, else by what it has come to. */
  #shareOf({ progress }: ProgressEvent, now: number): number {
    this.#tellsShare ||= progress > SAYS_NOTHING;
    if (this.#tellsShare) return progress;
    const { typicalMs, step } = this.#options;
    const spentMs = now - this.#beganAt;
    const share = shareDone(this.#pace.milestone, { spentMs, typicalMs });

    return Math.max(step.progress, progress, share);
  }

  /** The worker has ended: what was not stored yet is. */
  async end(log: string): Promise<void> {
    this.stop();
    const last = this.#last;
    const isUncounted = last !== undefined && last.callsMade > this.#counted.calls;
    if (isUncounted) this.#unstored ??= { event: last, log };
    await this.#storeWaitingSign();
  }

  /** No silence is told any more. */
  stop(): void {
    this.#cancelWaiting?.();
    this.#cancel();
  }

  async #store(event: ProgressEvent, log: string, now: number): Promise<void> {
    const { stepLog, step, count } = this.#options;
    this.#storedAt = now;
    this.#unstored = undefined;
    this.#cancelNotes?.();
    this.#cancelNotes = undefined;
    await this.#inTurn(async () => {
      const used = countedOf(event.tokens, event.callsMade, event.tokensUsed);
      const counting = count(lessCounted(used, this.#counted));
      const { progress, currentTask: task } = event;
      const sign = { progress, task, log, used, entries: this.#notes.take() };
      await stepLog.sign(step, sign, counting, [this.#progressEvent(event)]);
      this.#counted = used;
    });
  }

  #progressEvent(event: ProgressEvent | undefined) {
    const { step, port, member } = this.#options;
    const {
      progress = step.progress,
      currentTask: task = "",
      tokensUsed: tokens = 0,
    } = event ?? {};
    const data = { port, member, try: step.try, progress, task, tokens };
    return { type: "worker.progress", data } as const;
  }

  /** What a worker waits for that says nothing. */
  #stalledOn(): (typeof STALLED_ON)[number] {
    if (this.#trouble) return "provider";
    if ((this.#last?.callsUnderWay ?? 0) > 0) return "model";

    return this.#pace.tool === undefined ? "nothing" : "tool";
  }

  #look(stalledMs: number): void {
    const { clock, stepLog, step, port, member, logger } = this.#options;
    const silentMs = clock.monotonic() - this.#heardAt;
    if (this.#isStalled || silentMs <= stalledMs) return;
    this.#isStalled = true;
    const seconds = Math.round(silentMs / 1_000);
    logger.warn(
      { step: step.id, port },
      `the ${member} of ${port} gave no sign for ${seconds} s; ` +
        "nothing is ended for it, its time limit does that",
    );
    stepLog
      .tell([
        {
          type: "worker.stalled",
          data: {
            port,
            member,
            try: step.try,
            silentMs: Math.round(silentMs),
            on: this.#stalledOn(),
            task: this.#pace.tool ?? this.#last?.currentTask ?? "",
          },
        },
      ])
      .catch((error: unknown) => {
        logger.debug(
          { step: step.id, error: messageOf(error) },
          `that ${port} is stalled could not be told`,
        );
      });
  }
}

const WAITS_FOR = { limited: "rate_limit", key: "key", failing: "provider" } as const;

/** What a step waits for whose provider has trouble. Pure. */
function waitingOf({ kind, status, until, says, since }: ProviderTrouble): StepWaiting {
  return {
    for: WAITS_FOR[kind],
    status: status ?? null,
    since,
    until: until ?? null,
    isTold: until !== undefined,
    says,
  };
}

/** Moments that differ by less than this are one, milliseconds: a provider counts in seconds. */
const SAME_MOMENT_MS = 2_000;

/** Pure. */
function isSameWait(one: StepWaiting | null, other: StepWaiting | null): boolean {
  if (one === null || other === null) return one === other;
  const isOfSame = one.for === other.for && one.status === other.status;

  return isOfSame && Math.abs((one.until ?? 0) - (other.until ?? 0)) < SAME_MOMENT_MS;
}

/** Tells what a worker waits for. Pure. */
export function waitingEvent(
  { for: what, status, until, says }: StepWaiting,
  {
    step,
    port,
    member,
  }: { readonly step: PlanStep; readonly port: string; readonly member: Member },
) {
  const data = { port, member, try: step.try, for: what, status, until, says };
  return { type: "worker.waiting", data } as const;
}
