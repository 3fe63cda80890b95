/** A run of evaluations: plays each case as turns of a team that stands for itself. */

import { createHash } from "node:crypto";
import type { Caller, Conversations, TurnRequest } from "../../engine/api.ts";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { DureError, codeOf, messageOf } from "../../kernel/errors.ts";
import type { Done, ToolDone, ToolStart } from "../../kernel/turn-events.ts";
import { judgeQuestion, JUDGE, readVerdict, USER, userMessage, userQuestion } from "./actors.ts";
import type { EvalCase, Evaluation } from "./eval-file.ts";
import type { CaseResult } from "./eval-record.ts";
import {
  failuresOf,
  type UnmetExpectation,
  type HeardCall,
  type HeardTurn,
} from "./expectation.ts";

/** One repetition of one case, to be played. */
export interface CaseToPlay {
  readonly evaluation: Evaluation;
  readonly case: EvalCase;
  /** 1-based. */
  readonly repetition: number;
}

export interface EvalRunParts {
  readonly run: string;
  readonly conversations: Conversations;
  readonly clock: Clock;
  /** Cases that are played at the same time. */
  readonly parallel: number;
  /** Told of each result, one after another. */
  readonly onResult: (result: CaseResult) => Promise<void>;
}

const CALLER: Caller = { tenant: "", name: "eval", seesTools: true };

/** All repetitions of all cases, in the order of their files. Pure. */
export function casesToPlay(
  evaluations: readonly Evaluation[],
  { only, repeat }: { readonly only?: string | undefined; readonly repeat?: number | undefined },
): readonly CaseToPlay[] {
  return evaluations.flatMap((evaluation) =>
    evaluation.cases
      .filter(({ name }) => only === undefined || name.includes(only))
      .flatMap((one) =>
        Array.from({ length: repeat ?? evaluation.repeat }, (_, index) => ({
          evaluation,
          case: one,
          repetition: index + 1,
        })),
      ),
  );
}

/**
 * Plays the cases, some at the same time. Each message has a key of run, case and place, so that a
 * run that died goes on from the turns it has. On an abort no case begins, those under way end with
 * their last answer, and what was found is told.
 */
export async function playCases(
  cases: readonly CaseToPlay[],
  parts: EvalRunParts,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  const waiting = [...cases];
  let telling: Promise<void> = Promise.resolve();
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
      const result = await new PlayedCase(next, parts, signal).play();
      if (result === undefined) return;
      telling = telling.then(() => parts.onResult(result));
      await telling;
    }
  };
  await Promise.all(Array.from({ length: Math.min(parts.parallel, cases.length) }, work));
}

/** One case while it is played. */
class PlayedCase {
  readonly #played: CaseToPlay;
  readonly #parts: EvalRunParts;
  readonly #signal: AbortSignal;
  /** Of its sessions and keys: the same whenever this case of this run is played. */
  readonly #id: string;
  readonly #heard: HeardTurn[] = [];
  #last: Done | undefined;
  #asked = 0;

  constructor(played: CaseToPlay, parts: EvalRunParts, signal: AbortSignal) {
    this.#played = played;
    this.#parts = parts;
    this.#signal = signal;
    const told = JSON.stringify([played.evaluation.name, played.case]);
    const hash = createHash("sha256").update(told).digest("hex").slice(0, 16);
    this.#id = `eval-${parts.run}-${hash}-${played.repetition}`;
  }

  /** Undefined: it was aborted, and nothing can be said. */
  async play(): Promise<CaseResult | undefined> {
    const failures: UnmetExpectation[] = [];
    try {
      const { user } = this.#played.case;
      failures.push(...(user ? await this.#playPerson(user) : await this.#playTurns()));
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      failures.push({ kind: "broken", wanted: messageOf(error), found: codeOf(error) });
    }
    const sum = (of: (turn: HeardTurn) => number): number =>
      this.#heard.reduce((all, turn) => all + of(turn), 0);

    return {
      evaluation: this.#played.evaluation.name,
      case: this.#played.case.name,
      repetition: this.#played.repetition,
      failures,
      turns: this.#heard.length,
      ms: sum(({ ms }) => ms),
      tokensIn: sum(({ tokensIn }) => tokensIn),
      tokensOut: sum(({ tokensOut }) => tokensOut),
      turnIds: this.#heard.map(({ turnId }) => turnId),
    };
  }

  /** Ends at the first turn that is not as expected: what follows would be about something else. */
  async #playTurns(): Promise<readonly UnmetExpectation[]> {
    for (const { say, press, expect } of this.#played.case.turns) {
      await this.#say(say ?? press!, press !== undefined);
      if (expect === undefined) continue;
      const failures = await failuresOf(expect, this.#heard, { whole: false });
      const judged = failures.length > 0 ? failures : await this.#judge(expect.judge);
      if (judged.length > 0) return judged;
    }
    return this.#settle();
  }

  async #playPerson(user: NonNullable<EvalCase["user"]>): Promise<readonly UnmetExpectation[]> {
    const { goal, persona, turns } = user;
    const person = { goal, persona, seed: this.#played.repetition };
    for (let count = 0; count < turns; count++) {
      const question = userQuestion(person, this.#heard.at(-1)?.answer);
      const { done } = await this.#ask(USER, question);
      const message = userMessage(done.message);
      if (message === undefined) break;
      await this.#say(message, false);
    }
    return this.#settle();
  }

  /** What the case expects of its last answer, and of the whole conversation. */
  async #settle(): Promise<readonly UnmetExpectation[]> {
    const { expect } = this.#played.case;
    if (expect === undefined) return [];
    const failures = await failuresOf(expect, this.#heard, { whole: true });
    return failures.length > 0 ? failures : this.#judge(expect.judge);
  }

  async #judge(criterion: string | undefined): Promise<readonly UnmetExpectation[]> {
    if (criterion === undefined) return [];
    const { done } = await this.#ask(JUDGE, judgeQuestion(criterion, this.#heard));
    const verdict = readVerdict(done.message);
    if (verdict?.pass === true) return [];

    const found = verdict ? verdict.reason : `no verdict: ${done.error?.code ?? done.message}`;
    return [{ kind: "judge", wanted: criterion, found }];
  }

  /** A message of the person, and all that comes of it. */
  async #say(message: string, isPress: boolean): Promise<void> {
    const { clock } = this.#parts;
    const { evaluation, case: played } = this.#played;
    const { service = evaluation.service, locale } = played;
    const hint = this.#last?.uiHint;
    if (isPress && !hint?.buttons?.includes(message)) {
      const shown = hint?.buttons?.join(", ") || "none";
      throw new DureError("EVAL_NO_BUTTON", `The last answer has no button "${message}".`, {
        class: "input",
        hint: `Its buttons are: ${shown}.`,
      });
    }
    const confirmId = isPress ? hint?.confirmId : undefined;
    const request = { session: this.#id, message, service, locale, confirmId };
    const key = `${this.#id}-${this.#heard.length + 1}`;
    const begun = clock.monotonic();
    const { turnId, done, calls } = await this.#turn(request, key);
    this.#last = done;
    this.#heard.push({
      turnId,
      said: message,
      answer: done.message,
      next: done.nextAction,
      state: done.stateSnapshot,
      calls,
      hooks: done.hooks,
      error: done.error?.code,
      ms: clock.monotonic() - begun,
      tokensIn: done.trace.agents.reduce((sum, { tokensIn }) => sum + tokensIn, 0),
      tokensOut: done.trace.agents.reduce((sum, { tokensOut }) => sum + tokensOut, 0),
    });
  }

  /** One of the two models beside the team, in a session of its own. */
  #ask(service: string, message: string): Promise<EndedTurn> {
    const session = `${this.#id}-${service}`;
    const key = `${session}-${++this.#asked}`;
    return this.#turn({ session, message, service }, key);
  }

  /** A turn that takes too long is stopped, so that it does not go on beside the next case. */
  async #turn(request: TurnRequest, key: string): Promise<EndedTurn> {
    const { conversations, clock } = this.#parts;
    const { timeout: ms } = this.#played.evaluation;
    const { turnId } = await conversations.accept(request, { caller: CALLER, key });
    const late = new DureError("EVAL_TIMEOUT", `There was no answer within ${ms / 1_000} s.`, {
      class: "unavailable",
      hint: "Set timeout in the evaluation, or look at the turn's trace.",
    });
    try {
      return await withTimeout(
        clock,
        { ms, signal: this.#signal },
        () => late,
        (signal) => readTurn(conversations, turnId, signal),
      );
    } catch (error) {
      if (error === late) await conversations.stopTurn(turnId, { caller: CALLER }).catch(isOver);
      throw error;
    }
  }
}

interface EndedTurn {
  readonly turnId: string;
  readonly done: Done;
  readonly calls: readonly HeardCall[];
}

async function readTurn(
  conversations: Conversations,
  turnId: string,
  signal: AbortSignal,
): Promise<EndedTurn> {
  const calls = new Map<string, HeardCall>();
  for await (const { event } of conversations.read(turnId, { caller: CALLER, signal })) {
    if (event.type === "TOOL_START") calls.set(event.data.callId, begunCall(event.data));
    if (event.type === "TOOL_DONE") {
      calls.set(event.data.callId, endedCall(event.data, calls.get(event.data.callId)));
    }
    if (event.type === "DONE") return { turnId, done: event.data, calls: [...calls.values()] };
  }
  throw new DureError("TURN_UNKNOWN", `The turn ${turnId} has no end.`, { class: "not-found" });
}

function begunCall({ tool, args }: ToolStart): HeardCall {
  return { tool, args, status: "begun" };
}

function endedCall({ tool, status, result }: ToolDone, begun: HeardCall | undefined): HeardCall {
  return { tool, args: begun?.args, result, status };
}

function isOver(error: unknown): void {
  if (codeOf(error) !== "TURN_FINISHED") throw error;
}
