/** The end of a turn whose handler did not come to its own end. */

import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { TurnError } from "../../kernel/turn-events.ts";
import { isTakenOver, ownTroubleOf } from "../../durable/passing.ts";
import { isAwayCode } from "../../models/outages.ts";
import { noteFailure } from "../../models/telemetry.ts";
import { messageOrDecision } from "../agent/decision.ts";
import { remember, type Memory } from "../agent/memory.ts";
import { filesOf, questionOf, withAnswered } from "../caller/handed-out.ts";
import { EffectUnknownError, WHY_UNKNOWN } from "../effects/effects.ts";
import { logFailure } from "../log-failure.ts";
import type { DonePayload, ErrorFacts } from "../service/service.ts";
import { developerText, troubleText } from "../texts.ts";
import { turnErrorOf } from "./done-record.ts";
import { DivergedError } from "./journal.ts";
import type { Question } from "./question.ts";
import {
  ApprovalPendingError,
  askingPerson,
  asksThePerson,
  divergedEscalation,
  effectEscalation,
  unusedEscalation,
  unwrittenEscalation,
  type TurnEscalation,
} from "./turn-escalations.ts";
import type { TurnFinish } from "./turn-finish.ts";
import type { TurnParts } from "./turn-parts.ts";
import { StoppedError, type TurnStop } from "./turn-stop.ts";

/**
 * `fenced`: it belongs to another life. `interrupted`: the database could not serve it. `failed`: its
 * end could not be written.
 */
export interface RunEnd {
  readonly end: "done" | "fenced" | "interrupted" | "failed";
  /** The session's next turn. */
  readonly next: string | null;
}

/** What an error means for the end of its turn. */
interface TurnProblem {
  readonly error: unknown;
  readonly code: string;
  /** The turn was stopped. */
  readonly isStop: boolean;
  /** A person has to answer first; the turn keeps its stage. */
  readonly waits: boolean;
  /** People are asked about it; it ends in its own way even when a stop was asked for meanwhile. */
  readonly isAsked: boolean;
}

/**
 * Ends a turn that did not come to what its handler was to say: with an error (`end`), or, where
 * that cannot be stored, without what the turn had gathered (`endWithout`).
 */
export class TurnTrouble {
  readonly #parts: TurnParts;
  readonly #finish: TurnFinish;
  #isEnding = false;
  /** Names what was done by a turn whose own record of it could not be stored. */
  #unwritten: readonly TurnEscalation[] = [];

  constructor(parts: TurnParts, finish: TurnFinish) {
    this.#parts = parts;
    this.#finish = finish;
  }

  /** The handler is done with; what fails now is left to another life. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  // --- with an error

  /** The state is as before the turn, except what settled effects have written. */
  async end(error: unknown): Promise<string | null> {
    const { stop, effects, output, elsewhere, route } = this.#parts;
    this.#isEnding = true;
    effects.approvals.unsettle();
    const trouble = troubleOf(error, stop);
    const { isStop, waits, isAsked, code } = trouble;
    this.#finish.escalations = [...this.#unwritten, ...(await this.#askedBy(trouble))];
    if (isStop || code === "REMOTE_TIMEOUT") elsewhere.stopAll();
    if (!isStop && !waits) this.#log(trouble);

    // A turn that waits for a person keeps its stage; every other one drops what no settled effect
    // has written.
    const state = waits ? route.state?.snapshot() : (output.kept ?? route.stateBefore());
    const payload = this.#payloadOf(error, state);
    if (!waits) output.dropUnsettledFlows();
    output.hooks.length = 0;
    const result = await this.#finish.store(payload, {
      stopped: isStop || (isAsked && stop.isAsked),
      state,
      keepsQuestion: output.kept === undefined && (await this.#isYesBegun()),
      memory: isStop ? this.#memoryOfStopped() : undefined,
    });
    if (!result.stopped) {
      elsewhere.tellStops();
      return result.next;
    }
    stop.ask();
    return this.end(isAsked ? error : new StoppedError());
  }

  /** See `isYesBegun`. */
  #isYesBegun(): Promise<boolean> {
    const { held, environment, route } = this.#parts;
    return isYesBegun(route.question, () =>
      environment.store.effectsOf(held.turn, { signal: environment.lease }),
    );
  }

  #log({ error, code }: TurnProblem): void {
    const { held, environment } = this.#parts;
    const { turn, session } = held;
    const hint = error instanceof DureError && error.hint ? { hint: error.hint } : {};
    noteFailure(code);
    logFailure(environment.logger, "the turn ended with an error", {
      error,
      facts: { turn, session, code, ...hint },
    });
  }

  #memoryOfStopped(): Memory {
    const { memory, facts, steps } = this.#parts;
    const about = {
      message: messageOrDecision(facts),
      files: facts.files,
      continues: facts.callerTools?.results !== undefined,
    };
    const said = {
      content: steps.shownText,
      work: this.#parts.work(),
      interrupted: true,
    } as const;
    const question = questionOf(memory, about);
    return remember(withAnswered(memory, about), question, said, filesOf(memory, about));
  }

  // --- what is said

  #payloadOf(error: unknown, state: JsonObject = {}): DonePayload {
    const { facts, environment, output } = this.#parts;
    const { escalations } = this.#finish;
    if (asksThePerson(escalations, facts.session)) return askingPerson(escalations, facts.locale);
    const turnError = { ...turnErrorOf(error, environment), retry: this.#isRetryable(error) };
    const said = this.#ownWords(turnError, { state, settled: output.kept !== undefined });
    const textOf = environment.devMode ? developerText : troubleText;
    const message = said ?? textOf(error, facts.locale);
    return { message, nextAction: "ASK", error: turnError };
  }

  /** The model stayed away for longer than the session is patient. */
  #isRetryable(error: unknown): true | undefined {
    const { held, environment, route } = this.#parts;
    const hasWaited = environment.patienceMs(held.session) > 0;
    return (hasWaited && route.leaf?.kind === "service" && isAwayCode(codeOf(error))) || undefined;
  }

  /** What the service says of its error. One that cannot say it leaves it to the engine. */
  #ownWords(error: TurnError, errorFacts: ErrorFacts): string | undefined {
    const { held, facts, environment, route } = this.#parts;
    const { leaf } = route;
    if (leaf?.kind !== "service") return undefined;
    try {
      return leaf.onError?.(error, facts.locale, errorFacts);
    } catch (failure) {
      logFailure(environment.logger, "onError threw; the engine's text is used", {
        error: failure,
        facts: { turn: held.turn, service: leaf.name },
      });
      return undefined;
    }
  }

  // --- what people are asked or told

  async #askedBy({ error, waits }: TurnProblem): Promise<readonly TurnEscalation[]> {
    const { held, environment, effects } = this.#parts;
    const { locale } = environment;
    const asked: TurnEscalation[] = [];
    // A handler may have caught some of them.
    const questions = waits ? new Set([error, ...effects.questions]) : [error];
    for (const question of questions) {
      if (question instanceof ApprovalPendingError) asked.push(question.escalation);
      if (question instanceof EffectUnknownError) asked.push(this.#askAbout(question));
    }
    if (error instanceof DivergedError) {
      const done = await environment.store.effectsOf(held.turn, { signal: environment.lease });
      asked.push(divergedEscalation(held, locale, error, done));
    }
    asked.push(...(await this.#lostEffects(error)));
    const unused = waits ? [] : await effects.approvals.unused();
    asked.push(...unused.map((answer) => unusedEscalation(held, locale, answer)));
    return asked;
  }

  /** Effects of earlier lives that this one did not come to. */
  async #lostEffects(error: unknown): Promise<readonly TurnEscalation[]> {
    const { effects, stop } = this.#parts;
    const asked = [error, ...effects.questions].flatMap((question) =>
      question instanceof EffectUnknownError ? [question.key] : [],
    );
    const lost = await stop.lostEffects();
    return lost
      .filter(({ key }) => !asked.includes(key))
      .map((effect) => this.#askAbout(new EffectUnknownError(effect, WHY_UNKNOWN.lost)));
  }

  #askAbout(error: EffectUnknownError): TurnEscalation {
    const { held, environment, route } = this.#parts;
    return effectEscalation(held, environment.locale, route.place, error);
  }

  // --- without what cannot be stored

  /**
   * Last resorts. If what the turn has gathered cannot be written, the turn ends without it. If
   * that cannot be written either, it ends with its error alone. An escalation names its effects.
   * Else the turn rests, and another life begins later.
   */
  async endWithout(error: unknown): Promise<RunEnd> {
    const { held, environment, journal } = this.#parts;
    const { logger, lease, store, locale } = environment;
    const facts = { turn: held.turn, session: held.session };
    for (const end of [() => this.end(error), () => this.#endBare(error)]) {
      if (isTakenOver(error) || codeOf(error) === "TURN_CLOSED" || lease.aborted) {
        return { end: "fenced", next: null };
      }
      if (ownTroubleOf(error)) return this.#interrupted(error);
      try {
        journal.abandon();
        const effects = await store.effectsOf(held.turn, { signal: lease });
        this.#unwritten = [unwrittenEscalation(held, locale, messageOf(error), effects)];
        const next = await end();
        logFailure(logger, "what a turn had done could not be stored; it ended without", {
          error,
          facts,
          as: "error",
        });
        return { end: "done", next };
      } catch (failure) {
        if (isTakenOver(failure) || lease.aborted) return { end: "fenced", next: null };
        if (ownTroubleOf(failure)) return this.#interrupted(failure);
        logFailure(logger, "a turn could not be ended", {
          error: failure,
          facts: { ...facts, ended: codeOf(error) },
          as: "error",
        });
      }
    }
    return { end: "failed", next: null };
  }

  /** What was done is in the journal or is done again; the next life comes to the same end. */
  #interrupted(error: unknown): RunEnd {
    const { held, environment } = this.#parts;
    const facts = { turn: held.turn, session: held.session };
    const message = "the database could not serve a turn; it goes on in its next life";
    logFailure(environment.logger, message, { error, facts });
    return { end: "interrupted", next: null };
  }

  async #endBare(error: unknown): Promise<string | null> {
    const { facts, environment } = this.#parts;
    const message = troubleText(error, facts.locale);
    const payload = { message, error: turnErrorOf(error, environment) };
    this.#finish.escalations = this.#unwritten;
    const bare = { keepsQuestion: await this.#isYesBegun() };
    const next = await this.#finish.storeBare(payload, bare);
    this.#parts.elsewhere.tellStops();
    return next;
  }
}

function troubleOf(error: unknown, stop: TurnStop): TurnProblem {
  const code = codeOf(error) ?? "INTERNAL";
  const waits = code === "EFFECT_UNKNOWN" || code === "APPROVAL_PENDING";
  return {
    error,
    code,
    isStop: code === "TURN_STOPPED" && stop.isAsked,
    waits,
    isAsked: waits || error instanceof DivergedError,
  };
}

/**
 * Whether the effect that a yes to the session's question leads to is in the ledger. Then the
 * question stays: the next turn finds out under the same key what came of it.
 */
async function isYesBegun(
  question: Question | undefined,
  effectsOfTurn: () => Promise<readonly { readonly key: string }[]>,
): Promise<boolean> {
  const { key, begun = false } = question ?? {};
  if (key === undefined || begun) return begun;
  return (await effectsOfTurn()).some((effect) => effect.key === key);
}
