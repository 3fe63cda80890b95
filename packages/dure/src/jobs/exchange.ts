import type { Clock } from "../kernel/clock.ts";
import { decideEnd, decideFailure, endOf, readReply, type ExchangeEnd } from "./endings.ts";
import {
  speakerOf,
  type FailedOutcome,
  type Job,
  type JobError,
  type JobTurn,
  type JobWords,
} from "./job.ts";
import type { JobLimits } from "./limits.ts";
import type { EarlierWords, JobResult } from "./store.ts";
import { renderTurnMessage, wordsToTell } from "./turn-message.ts";

/** Who can be asked. */
export interface ExchangeAgent {
  readonly id: string;
  readonly displayName: string;
  /** The service through which it answers. */
  readonly service: string;
}

/** What came of one attempt to let an agent speak. */
export type Spoken =
  | {
      readonly kind: "said";
      readonly text: string;
      /** `end_conversation` was called. */ readonly endAsked: boolean;
    }
  | {
      readonly kind: "failed";
      readonly error: JobError;
      /** Whatever may be tried again was, inside the turn. */ readonly isExhausted?: boolean;
    }
  | { readonly kind: "late" };

/** `again`: the person has answered in this instant, so there is something to follow. */
export type Rest = "rests" | "again" | "fenced";

export interface Attempt {
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
  /** Attempts of the turn under way that were begun; the last one is followed first. */
  readonly attempt: number;
  /** The last words of earlier exchanges of the same conversation; told in the first turn. */
  readonly earlier?: readonly EarlierWords[];
}

/**
 * What the exchange needs of the world: in the product rows and conversation turns, in a test a
 * function.
 */
export interface ExchangeDesk {
  /** Undefined when it is not in the team (any more). */
  agent(id: string): ExchangeAgent | undefined;
  /** What persons said that nobody was told yet, and what this turn was told before. */
  words(turn: number): Promise<readonly JobWords[]>;
  /**
   * What came of background work that this agent asked for here, and that the coming turn has to
   * tell it.
   */
  results(turn: number, agent: string): Promise<readonly JobResult[]>;
  /** Why nothing more may be spent; undefined when there is room. */
  overBudget(): Promise<JobError | undefined>;
  /** Records that an attempt begins. False: the exchange belongs to somebody else now. */
  begin(attempt: Attempt): Promise<boolean>;
  /**
   * Lets the agent of the attempt that was begun last speak, or follows how it does. `late` after
   * `timeoutMs`: it was stopped.
   */
  speak(number: number, options: { timeoutMs: number; signal: AbortSignal }): Promise<Spoken>;
  /** Records a finished turn, the end, or both. */
  settle(settled: {
    turn?: { number: number; speaker: string; text: string };
    end?: ExchangeEnd | undefined;
  }): Promise<"continues" | "over" | "fenced">;
  /** The turn waits for a person: the exchange rests until they have answered. */
  rest(options: { signal: AbortSignal }): Promise<Rest>;
}

/**
 * Leads an exchange from where it stands to its end: target and requester by turns. Returns when it
 * has ended, rests, or belongs to somebody else; throws the signal's reason when this process has
 * to leave it, and then another one goes on.
 *
 * Per turn: `begin → speak → settle`. Each is a record; between two of them nothing is kept but what can be read again.
 */
export async function runExchange(
  state: ExchangeState,
  desk: ExchangeDesk,
  options: { limits: JobLimits; clock: Clock; random: () => number; signal: AbortSignal },
): Promise<"over" | "rests" | "fenced"> {
  const { limits, clock, random, signal } = options;
  const { job } = state;
  const turns = state.turns.map(({ number, speaker, text }) => ({ number, speaker, text }));
  const nameOf = (id: string): string => desk.agent(id)?.displayName ?? id;
  let attempt = state.attempt;
  let maxTurns = job.maxTurns;

  const fail = async (outcome: FailedOutcome, error: JobError): Promise<"over" | "fenced"> =>
    (await desk.settle({ end: endOf(outcome, { error }) })) === "fenced" ? "fenced" : "over";

  for (;;) {
    const number = turns.length + 1;
    const speaker = desk.agent(speakerOf(job, number));
    if (!speaker) {
      return fail("agent_removed", {
        code: "AGENT_REMOVED",
        message: `The agent ${speakerOf(job, number)} is no longer in the team.`,
      });
    }

    const limit = number === 1 ? limits.firstReplyMs : limits.turnMs;
    const startedAt = clock.monotonic();
    let said: Extract<Spoken, { kind: "said" }> | undefined;
    while (!said) {
      signal.throwIfAborted();
      if (attempt === 0) {
        const over = await desk.overBudget();
        if (over) return fail("budget", over);
        attempt = 1;
        if (!(await begin(number, attempt, speaker))) return "fenced";
      }
      const spoken = await desk.speak(number, {
        timeoutMs: Math.max(limit - (clock.monotonic() - startedAt), 1),
        signal,
      });
      if (spoken.kind === "said") {
        said = spoken;
        break;
      }
      const late: JobError = {
        code: "JOB_TURN_TIMEOUT",
        message: `${speaker.displayName} did not answer turn ${number} within ${limit / 1_000} s.`,
      };
      if (spoken.kind === "late") return fail(number === 1 ? "no_reply" : "turn_timeout", late);

      const step = decideFailure(
        spoken.error.code,
        spoken.isExhausted ? Infinity : attempt,
        random(),
      );
      switch (step.next) {
        case "wait": {
          const rest = await desk.rest({ signal });
          if (rest !== "again") return rest;
          break;
        }
        case "empty":
          said = { kind: "said", text: "", endAsked: false };
          break;
        case "fail":
          return fail(step.outcome, spoken.error);
        case "retry":
          if (clock.monotonic() - startedAt + step.waitMs >= limit) {
            return fail("agent_error", spoken.error);
          }
          await clock.sleep(step.waitMs, { signal });
          attempt += 1;
          if (!(await begin(number, attempt, speaker))) return "fenced";
          break;
        default:
          step satisfies never;
      }
    }

    const reply = readReply(said.text);
    const outcome = decideEnd({
      reply,
      endAsked: said.endAsked,
      number,
      maxTurns,
      previousOwn: turns.at(-2)?.text,
      previousOther: turns.at(-1)?.text ?? job.message,
    });
    const turn = { number, speaker: speaker.id, text: reply.text };
    const settled = await desk.settle({
      turn,
      end: outcome && endOf(outcome, { quiet: reply.quiet }),
    });
    if (settled !== "continues") return settled;
    turns.push(turn);
    attempt = 0;
    // The end was put off because a person had spoken: they are heard, whatever the maximum was.
    if (outcome) maxTurns = Math.max(maxTurns, number + 1);
  }

  async function begin(number: number, tried: number, speaker: ExchangeAgent): Promise<boolean> {
    const [said, results] = await Promise.all([
      desk.words(number),
      desk.results(number, speaker.id),
    ]);
    const words = wordsToTell(said, number, limits.words);
    const told = renderTurnMessage({
      job: { ...job, maxTurns },
      number,
      turns,
      earlier: state.earlier ?? [],
      words,
      results,
      nameOf,
    });
    return desk.begin({
      number,
      attempt: tried,
      speaker,
      ...told,
      words: words.map(({ id }) => id),
      results: results.map(({ jobId }) => jobId),
    });
  }
}
