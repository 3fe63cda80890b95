import { backOffMs } from "../kernel/back-off.ts";
import { mayPass } from "../durable/passing.ts";
import type { Pauses } from "../durable/pauses.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf, ProcessError } from "../kernel/errors.ts";
import type { Done, TurnEvent } from "../kernel/turn-events.ts";
import type { Caller, Conversations } from "../engine/api.ts";
import { MAX_RESULTS } from "./turn-message.ts";
import { waitsForPerson } from "./endings.ts";
import type { TurnAttempt, ExchangeAgent, ExchangeStore, Rest, SpokenTurn } from "./exchange.ts";
import type { ExchangeFacts } from "./exchange-facts.ts";
import { sessionOf, speakerOf, type JobError, type JobResult } from "./job.ts";
import type { JobFiles } from "./job-files.ts";
import type { JobLimits } from "./limits.ts";
import type { AttemptInput, HeldAs, HeldJob, JobStore } from "./store.ts";
import type { JobWords } from "../wire/jobs.ts";
import { HeldTime } from "../kernel/held-time.ts";

/** Who is in the team, as far as exchanges have to know. */
export interface AgentDirectory {
  find(id: string): ExchangeAgent | undefined;
  all(): readonly ExchangeAgent[];
}

/** Thrown where a write was refused: another process has the job, or it was cancelled. */
export class JobFencedError extends ProcessError {
  constructor(job: string) {
    super("JOB_FENCED", `The job ${job} is no longer this process's.`, {
      class: "conflict",
      hint: "Nothing was written.",
    });
  }
}

/**
 * A conversation turn that was stopped because it is late may take this long to end, milliseconds.
 */
const STOP_PATIENCE_MS = 10_000;
/**
 * Between two looks for the turn of an answer that is being given, milliseconds. It commits at any moment.
 */
const ANSWER_LANDS_MS = 20;
const ACCEPT_BACK_OFF = { firstMs: 50, maxMs: 1_000 } as const;

/**
 * The store of an exchange that is held by this process: rows of `dure.jobs` and turns of the
 * engine.
 */
export class JobExchangeStore implements ExchangeStore {
  readonly #held: HeldJob;
  readonly #options: JobExchangeStoreOptions;
  readonly #caller: Caller;
  #input: AttemptInput | null;
  #attempt: number;
  #number: number;
  /**
   * When the attempt was begun in another life: perhaps its turn was accepted and never noted. The
   * session's first message that can be it.
   */
  #begunBefore: number | null;
  #turn: string | null;
  /** Whether any came with the request or with a turn. */
  #hasFiles: boolean;

  constructor(options: JobExchangeStoreOptions) {
    const { held } = options;
    this.#options = options;
    this.#held = held;
    this.#caller = { tenant: held.job.tenant, name: "jobs" };
    this.#input = held.input;
    this.#attempt = held.attempt;
    this.#number = held.job.turnsDone + 1;
    this.#begunBefore = held.attempt > 0 ? held.attemptFrom : null;
    this.#turn = held.currentTurn;
    this.#hasFiles = held.job.files.length > 0;
  }

  agent(id: string): ExchangeAgent | undefined {
    return this.#options.agents.find(id);
  }

  words(turn: number): Promise<readonly JobWords[]> {
    return this.#options.facts.words(this.#id, turn);
  }

  results(turn: number, agent: string): Promise<readonly JobResult[]> {
    return this.#options.facts.results(this.#id, turn, agent, MAX_RESULTS);
  }

  async overBudget(): Promise<JobError | undefined> {
    const { treeTokens, treeMicroUsd } = this.#options.limits;
    if (treeTokens === undefined && treeMicroUsd === undefined) return undefined;
    const spent = await this.#options.facts.spent(this.#held.job.rootId);
    const say = (what: string): JobError => ({
      code: "JOB_BUDGET",
      message: `The work of ${this.#held.job.rootId} may use ${what}, and has used it.`,
    });
    if (treeTokens !== undefined && spent.tokens >= treeTokens) {
      return say(`${treeTokens} tokens (jobs.treeTokens)`);
    }
    if (treeMicroUsd !== undefined && spent.microUsd >= treeMicroUsd) {
      return say(`${treeMicroUsd / 1_000_000} USD`);
    }
    return undefined;
  }

  async begin({
    number,
    attempt,
    speaker,
    message,
    background,
    words,
    results,
  }: TurnAttempt): Promise<boolean> {
    const input = {
      session: sessionOf(this.#id, speaker.id),
      service: speaker.service,
      message,
      background,
    };
    const isOurs = await this.#options.store.begin(this.#as, attempt, input, {
      words,
      results,
    });
    this.#input = input;
    this.#attempt = attempt;
    this.#number = number;
    this.#begunBefore = null;
    this.#turn = null;
    return isOurs;
  }

  async speak(
    _number: number,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<SpokenTurn> {
    const { clock } = this.#options;
    const late = new AbortController();
    const time = new TurnTime(clock, timeoutMs, () =>
      late.abort(new DOMException("The turn is late.", "TimeoutError")),
    );
    const paused = new AbortController();
    const leave = this.#onPaused(() =>
      paused.abort(new DOMException("The agent is paused.", "AbortError")),
    );
    const either = AbortSignal.any([signal, late.signal, paused.signal]);
    try {
      return await this.#speak(either, time);
    } catch (error) {
      signal.throwIfAborted();
      if (paused.signal.aborted) return { kind: "paused" };
      if (!late.signal.aborted) throw error;
      return await this.#stopLate(signal);
    } finally {
      leave();
      time.stop();
    }
  }

  isPaused(agent: string): boolean {
    return this.#options.pauses?.get(agent) !== undefined;
  }

  restPaused(): Promise<Rest> {
    return this.#options.store.wait(this.#id, this.#held.epoch, "resume");
  }

  /** Also at once, when the speaker is paused now. */
  #onPaused(callback: () => void): () => void {
    const { pauses } = this.#options;
    const speaker = speakerOf(this.#held.job, this.#number);
    const look = (): void => {
      if (this.isPaused(speaker)) callback();
    };
    look();
    return pauses?.onChange(look) ?? (() => {});
  }

  async settle(
    settled: Parameters<ExchangeStore["settle"]>[0],
  ): Promise<"continues" | "over" | "fenced"> {
    const answer = await this.#options.store.settle(this.#id, this.#held.epoch, settled);
    if (settled.turn?.files?.length) this.#hasFiles = true;
    if (settled.turn && answer !== "fenced") this.#options.onProgress();
    return answer;
  }

  async rest({ signal }: { signal: AbortSignal }): Promise<Rest> {
    const rest = await this.#options.store.wait(this.#id, this.#held.epoch);
    if (rest === "again") await this.#options.clock.sleep(ANSWER_LANDS_MS, { signal });
    return rest;
  }

  get #id(): string {
    return this.#held.job.jobId;
  }

  get #as(): HeldAs {
    return { id: this.#id, epoch: this.#held.epoch };
  }

  async #speak(signal: AbortSignal, time: TurnTime): Promise<SpokenTurn> {
    const { facts } = this.#options;
    const { session } = this.#input!;
    if (this.#turn === null) {
      const accepted = await this.#accept(signal);
      if (typeof accepted !== "string") return { kind: "failed", error: accepted };
      this.#turn = accepted;
      await this.#note(accepted);
    }
    for (;;) {
      const turn = this.#turn;
      const done = await this.#doneOf(turn, signal, time);
      const spoken = waitsForPerson(done.error) ? undefined : await this.#spoken(turn, done);
      if (spoken) return spoken;
      const error = done.error ?? STILL_ASKED;
      // A person is asked; their answer starts a turn of its own, and that one goes on.
      const next = await facts.turnBehind(session, turn);
      if (next === undefined) {
        if (await facts.isAsking(session)) return { kind: "failed", error };
        const late = await facts.turnBehind(session, turn); // answered between the two questions
        if (late === undefined) {
          return {
            kind: "failed",
            error: { code: "ANSWER_MISSING", message: `No agent answered: ${error.message}` },
          };
        }
        this.#turn = late;
      } else this.#turn = next;
      await this.#note(this.#turn);
    }
  }

  /** Undefined: a person is asked, or has answered, about another call. */
  async #spoken(turn: string, done: Done): Promise<SpokenTurn | undefined> {
    if (done.error) {
      // A newer release took over the turn in the middle. It may be led again as long as it has
      // done nothing to the outside.
      const isUndone =
        done.error.code === "TURN_DIVERGED" && !(await this.#options.facts.hadEffects(turn));
      return isUndone
        ? { kind: "failed", error: { code: "TURN_DIVERGED_UNDONE", message: done.error.message } }
        : {
            kind: "failed",
            error: { code: done.error.code, message: done.error.message },
            isExhausted: true,
          };
    }
    const end = await this.#options.facts.endOf({
      job: this.#id,
      turn,
      session: this.#input!.session,
    });
    if (end.goesOn && !end.isAsked) return undefined;
    return {
      kind: "said",
      text: done.message,
      endAsked: end.isAsked,
      finished: end.finished,
      files: done.files,
    };
  }

  /** Files of what is answered, in the session of the one who answers: of the request at first. */
  async #carried(): Promise<readonly string[] | undefined> {
    if (!this.#hasFiles) return undefined;
    const { session } = this.#input!;
    const files = await this.#options.files.carry(
      { job: this.#id, turn: this.#number - 1 },
      session,
    );
    return files.length > 0 ? files.map(({ id }) => id) : undefined;
  }

  /** The turn's id, or why there will be none. */
  async #accept(signal: AbortSignal): Promise<string | JobError> {
    const { conversations, facts, clock } = this.#options;
    const { session, service, message, background } = this.#input!;
    if (this.#begunBefore !== null) {
      const known = await facts.acceptedTurn(session, this.#begunBefore);
      if (known !== undefined) return known;
    }
    const files = await this.#carried();
    const key = `job:${this.#id}:turn:${this.#number}${this.#attempt > 1 ? `:${this.#attempt}` : ""}`;
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted();
      try {
        return (
          await conversations.accept(
            { session, service, message, background, files },
            { caller: this.#caller, path: "job", key },
          )
        ).turnId;
      } catch (error) {
        const code = codeOf(error) ?? "INTERNAL";
        if (!isInTheWay(error)) return { code, message: messageOf(error) };
        await clock.sleep(backOffMs(failures, ACCEPT_BACK_OFF), { signal });
      }
    }
  }

  /**
   * Throws {@link JobFencedError}. The turn goes on: it is that of the process that leads the job
   * now. Where the job is over, the database has stopped it (`dure.guard_job_turn`, `dure.end_job`).
   */
  async #note(turn: string): Promise<void> {
    const isOurs = await this.#options.store.note(this.#id, this.#held.epoch, turn);
    if (!isOurs) throw new JobFencedError(this.#id);
  }

  async #stopLate(signal: AbortSignal): Promise<SpokenTurn> {
    const { clock } = this.#options;
    if (this.#turn === null) return { kind: "late" };
    const turn = this.#turn;
    const isOurs = await this.#options.store.stopTurn(this.#as, turn);
    if (!isOurs) throw new JobFencedError(this.#id);
    const patience = new AbortController();
    const cancel = clock.after(STOP_PATIENCE_MS, () =>
      patience.abort(new DOMException("The turn does not end.", "TimeoutError")),
    );
    try {
      const done = await this.#doneOf(turn, AbortSignal.any([signal, patience.signal]));
      // It may have been quicker than the stop.
      const spoken =
        done.error?.code === "TURN_STOPPED" ? undefined : await this.#spoken(turn, done);
      return spoken ?? { kind: "late" };
    } catch (error) {
      signal.throwIfAborted();
      if (!patience.signal.aborted) throw error;
      return { kind: "late" };
    } finally {
      cancel();
    }
  }

  async #doneOf(turn: string, signal: AbortSignal, time?: TurnTime): Promise<Done> {
    for await (const { event } of this.#options.conversations.read(turn, {
      caller: this.#caller,
      signal,
    })) {
      time?.hear(event);
      if (event.type === "DONE") return event.data;
    }
    throw new DureError("TURN_ENDLESS", `The stream of ${turn} ended without DONE.`);
  }
}

/** Whether a message may be accepted in a moment. Pure. */
function isInTheWay(error: unknown): boolean {
  return mayPass(error) || (error instanceof DureError && error.class === "limit");
}

export interface JobExchangeStoreOptions {
  readonly held: HeldJob;
  readonly store: JobStore;
  readonly facts: ExchangeFacts;
  readonly conversations: Pick<Conversations, "accept" | "read">;
  readonly agents: AgentDirectory;
  /** Absent: no agent is ever paused. */
  readonly pauses?: Pick<Pauses, "get" | "onChange"> | undefined;
  readonly files: Pick<JobFiles, "carry">;
  readonly clock: Clock;
  readonly limits: JobLimits;
  /** An exchange turn was recorded. */
  readonly onProgress: () => void;
}

/** Another call of the same step waits for its yes. */
const STILL_ASKED: JobError = {
  code: "APPROVAL_PENDING",
  message: "A person is asked about another call.",
};

// --- turn time

/** What one conversation turn may take. The time stands still while its agent's model is away. */
export class TurnTime extends HeldTime {
  /** The turn tells this. */
  hear(event: TurnEvent): void {
    const isAway = event.type === "AGENT_START" && event.data.waits === "model";
    if (isAway) this.stop();
    else this.run();
  }
}
