import type { Clock } from "../kernel/clock.ts";
import type { FileRef } from "../kernel/files.ts";
import { isBlank } from "./conclusion.ts";
import { decideAnswer } from "./answer.ts";
import {
  decideEnd,
  decideFailure,
  endOf,
  readReply,
  type ExchangeEnd,
  type EndingReply,
} from "./endings.ts";
import {
  speakerOf,
  type EarlierWords,
  type FailedOutcome,
  type Job,
  type JobError,
  type JobResult,
} from "./job.ts";
import type { JobLimits } from "./limits.ts";
import { renderTurnMessage, wordsToTell } from "./turn-message.ts";
import type { GivenAnswer, JobTurn, JobWords } from "../wire/jobs.ts";

/** Who can be asked. */
export interface ExchangeAgent {
  readonly id: string;
  readonly displayName: string;
  /** The service through which it answers. */
  readonly service: string;
}

/** Outcome of one attempt of an agent to answer. */
export type SpokenTurn =
  | {
      readonly kind: "said";
      readonly text: string;
      /** `end_conversation` or `finish` was called. */
      readonly endAsked: boolean;
      /** Given to `finish`. */
      readonly finished?: string | undefined;
      /** What its tools have made, in the session in which it spoke. */
      readonly files?: readonly FileRef[] | undefined;
    }
  | {
      readonly kind: "failed";
      readonly error: JobError;
      /** Every retry was made already, inside the turn. */
      readonly isExhausted?: boolean;
    }
  | { readonly kind: "late" }
  /** The speaker was paused: its turn goes on after the resume. */
  | { readonly kind: "paused" };

/** `again`: the person has answered in this instant, so there is something to follow. */
export type Rest = "rests" | "again" | "fenced";

export interface TurnAttempt {
  readonly number: number;
  /** 1 for the first attempt of this exchange turn. */
  readonly attempt: number;
  readonly speaker: ExchangeAgent;
  readonly message: string;
  readonly background: string;
  /** Words of persons that it tells. */
  readonly words: readonly number[];
  /** Jobs whose results it tells. */
  readonly results: readonly string[];
}

/** Where an exchange stands when its holder begins with it, perhaps in the middle of a turn. */
export interface ExchangeState {
  readonly job: Job;
  readonly turns: readonly JobTurn[];
  /** With these turns. */
  readonly answer?: GivenAnswer | null | undefined;
  /** Attempts of the turn under way that were begun; the last one is followed first. */
  readonly attempt: number;
  /** The last words of earlier exchanges of the same conversation; told in the first turn. */
  readonly earlier?: readonly EarlierWords[];
}

/**
 * Where an exchange is kept and its agents speak: in the product rows and conversation turns, in
 * memory maps and functions.
 */
export interface ExchangeStore {
  /** Undefined when it is not in the team (any more). */
  agent(id: string): ExchangeAgent | undefined;
  /** What persons said that no agent was told yet, and what this turn was told before. */
  words(turn: number): Promise<readonly JobWords[]>;
  /** Outcomes of background work that this agent asked for here, for its next turn. */
  results(turn: number, agent: string): Promise<readonly JobResult[]>;
  /** Why nothing more may be spent; undefined when there is room. */
  overBudget(): Promise<JobError | undefined>;
  /** Whether a person allows this agent no model call now. */
  isPaused(id: string): boolean;
  /** The exchange rests until the agent that speaks is resumed. */
  restPaused(): Promise<Rest>;
  /** Records that an attempt begins. False: the exchange belongs to another process now. */
  begin(attempt: TurnAttempt): Promise<boolean>;
  /**
   * Lets the agent of the attempt that was begun last speak, or follows how it does. `late`: it was
   * stopped after `timeoutMs`.
   */
  speak(number: number, options: { timeoutMs: number; signal: AbortSignal }): Promise<SpokenTurn>;
  /** Records a finished turn, the end, or both. */
  settle(settled: {
    turn?: {
      number: number;
      speaker: string;
      text: string;
      files?: readonly FileRef[] | undefined;
    };
    /** With a turn: what the exchange has answered with it. */
    answer?: GivenAnswer | null | undefined;
    end?: ExchangeEnd | undefined;
  }): Promise<"continues" | "over" | "fenced">;
  /** The turn waits for a person: the exchange rests until they have answered. */
  rest(options: { signal: AbortSignal }): Promise<Rest>;
}

/** How the leading of an exchange ended here. */
type Left = "over" | "rests" | "fenced";

/** What leading an exchange needs besides its store. */
export interface ExchangeOptions {
  readonly limits: JobLimits;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** The turn under way: its number, its speaker, and when this process began to wait for it. */
interface OpenTurn {
  readonly number: number;
  readonly speaker: ExchangeAgent;
  /** Milliseconds that the whole turn may take. */
  readonly limitMs: number;
  readonly startedAt: number;
}

/**
 * Leads an exchange from its stored position to its end: target and requester by turns. Returns
 * when it has ended, rests, or belongs to another process. Throws the signal's reason when this
 * process has to leave it, and then another one goes on.
 *
 * Per turn: `begin → speak → settle`. Each is a record; between two of them nothing is kept but what
 * can be read again.
 */
export async function runExchange(
  state: ExchangeState,
  store: ExchangeStore,
  options: ExchangeOptions,
): Promise<Left> {
  const run = new ExchangeRun(state, store, options);
  for (;;) {
    const left = await run.turn();
    if (left !== "continues") return left;
  }
}

class ExchangeRun {
  readonly #state: ExchangeState;
  readonly #store: ExchangeStore;
  readonly #options: ExchangeOptions;
  readonly #turns: { number: number; speaker: string; text: string }[];
  #attempt: number;
  #maxTurns: number;
  #answer: GivenAnswer | null;

  constructor(state: ExchangeState, store: ExchangeStore, options: ExchangeOptions) {
    this.#state = state;
    this.#store = store;
    this.#options = options;
    this.#turns = state.turns.map(({ number, speaker, text }) => ({ number, speaker, text }));
    this.#attempt = state.attempt;
    this.#maxTurns = state.job.maxTurns;
    this.#answer = state.answer ?? null;
  }

  async turn(): Promise<Left | "continues"> {
    const { limits, clock } = this.#options;
    const number = this.#turns.length + 1;
    const id = speakerOf(this.#state.job, number);
    const speaker = this.#store.agent(id);
    if (!speaker) {
      return this.#fail("agent_removed", {
        code: "AGENT_REMOVED",
        message: `The agent ${id} is no longer in the team.`,
      });
    }

    const limitMs = number === 1 ? limits.firstReplyMs : limits.turnMs;
    const turn: OpenTurn = { number, speaker, limitMs, startedAt: clock.monotonic() };
    const said = await this.#untilSaid(turn);
    return typeof said === "string" ? said : this.#settle(turn, said);
  }

  async #untilSaid(turn: OpenTurn): Promise<SpokenReply | Left> {
    const { signal } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      if (this.#store.isPaused(turn.speaker.id)) return this.#restPaused();
      if (this.#attempt === 0) {
        const over = await this.#store.overBudget();
        if (over) return this.#fail("budget", over);
        if (!(await this.#beginNext(turn))) return "fenced";
      }
      const timeoutMs = Math.max(turn.limitMs - this.#elapsed(turn), 1);
      const spoken = await this.#store.speak(turn.number, { timeoutMs, signal });
      if (spoken.kind === "said") return spoken;
      if (spoken.kind === "late") return this.#failLate(turn);
      if (spoken.kind === "paused") return this.#restPaused();

      const next = await this.#afterFailure(turn, spoken);
      if (next !== "again") return next;
    }
  }

  /** Whether it was resumed meanwhile is seen by the process that takes the job next. */
  async #restPaused(): Promise<Left> {
    return (await this.#store.restPaused()) === "fenced" ? "fenced" : "rests";
  }

  /** `again`: the next attempt has begun, or there is something to follow. */
  async #afterFailure(turn: OpenTurn, failed: Failed): Promise<SpokenReply | Left | "again"> {
    const { clock, random, signal } = this.#options;
    const attempt = failed.isExhausted ? Infinity : this.#attempt;
    const step = decideFailure(failed.error.code, attempt, random());
    switch (step.next) {
      case "wait":
        return this.#store.rest({ signal });
      case "empty":
        return { kind: "said", text: "", endAsked: false };
      case "fail":
        return this.#fail(step.outcome, failed.error);
      case "retry":
        if (this.#elapsed(turn) + step.waitMs >= turn.limitMs) {
          return this.#fail("agent_error", failed.error);
        }
        await clock.sleep(step.waitMs, { signal });
        return (await this.#beginNext(turn)) ? "again" : "fenced";
      default:
        return step satisfies never;
    }
  }

  async #settle({ number, speaker }: OpenTurn, said: SpokenReply): Promise<Left | "continues"> {
    const reply = replyOf(said);
    const outcome = decideEnd({
      reply,
      endAsked: said.endAsked,
      number,
      maxTurns: this.#maxTurns,
      previousOwn: this.#turns.at(-2)?.text,
      previousOther: this.#turns.at(-1)?.text ?? this.#state.job.message,
    });
    const turn = { number, speaker: speaker.id, text: reply.text };
    const end = outcome && endOf(outcome, { quiet: reply.quiet });
    this.#answer = this.#answerWith(turn, said.finished);
    const { files } = said;
    const settled = await this.#store.settle({
      turn: { ...turn, files },
      answer: this.#answer,
      end,
    });
    if (settled !== "continues") return settled;

    this.#turns.push(turn);
    this.#attempt = 0;
    // The end was put off because a person wrote: the message is answered even beyond the maximum.
    if (outcome) this.#maxTurns = Math.max(this.#maxTurns, number + 1);
    return "continues";
  }

  /** What was given to `finish` stands, also when a person has put off the end since. */
  #answerWith(
    turn: { speaker: string; text: string },
    result: string | undefined,
  ): GivenAnswer | null {
    const earlier = this.#answer?.how === "finish" ? this.#answer : undefined;
    const finished = result === undefined ? earlier : { by: turn.speaker, text: result };
    return decideAnswer({
      target: this.#state.job.target,
      turns: [...this.#turns, turn],
      finished,
      nameOf: (id) => this.#store.agent(id)?.displayName ?? id,
    });
  }

  async #fail(outcome: FailedOutcome, error: JobError): Promise<Left> {
    const settled = await this.#store.settle({ end: endOf(outcome, { error }) });
    return settled === "fenced" ? "fenced" : "over";
  }

  async #failLate({ number, speaker, limitMs }: OpenTurn): Promise<Left> {
    const seconds = limitMs / 1_000;
    return this.#fail(number === 1 ? "no_reply" : "turn_timeout", {
      code: "JOB_TURN_TIMEOUT",
      message: `${speaker.displayName} did not answer turn ${number} within ${seconds} s.`,
    });
  }

  /** False: the exchange belongs to another process now. */
  async #beginNext({ number, speaker }: OpenTurn): Promise<boolean> {
    this.#attempt += 1;
    const { job, earlier = [] } = this.#state;
    const [said, results] = await Promise.all([
      this.#store.words(number),
      this.#store.results(number, speaker.id),
    ]);
    const words = wordsToTell(said, number, this.#options.limits.words);
    const told = renderTurnMessage({
      job: { ...job, maxTurns: this.#maxTurns },
      number,
      turns: this.#turns,
      earlier,
      words,
      results,
      nameOf: (id) => this.#store.agent(id)?.displayName ?? id,
    });
    return this.#store.begin({
      number,
      attempt: this.#attempt,
      speaker,
      ...told,
      words: words.map((word) => word.id),
      results: results.map(({ jobId }) => jobId),
    });
  }

  #elapsed({ startedAt }: OpenTurn): number {
    return this.#options.clock.monotonic() - startedAt;
  }
}

/** An agent that said nothing beside `finish` has said its result. */
function replyOf({ text, finished }: SpokenReply): EndingReply {
  const reply = readReply(text);
  return finished !== undefined && isBlank(reply.text) ? { ...reply, text: finished } : reply;
}

type SpokenReply = Extract<SpokenTurn, { kind: "said" }>;
type Failed = Extract<SpokenTurn, { kind: "failed" }>;
