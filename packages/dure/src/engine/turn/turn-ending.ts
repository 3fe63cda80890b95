import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Done, TurnError } from "../../kernel/turn-events.ts";
import { FencedError, type ClaimedTurn, type FinishedTurn } from "../../durable/turns.ts";
import { noteFailure } from "../../models/telemetry.ts";
import type { AnyService } from "../service/combine.ts";
import { EffectUnknownError } from "../effects/effects.ts";
import { DivergedError, type TurnJournal } from "./journal.ts";
import { logFailure } from "../log-failure.ts";
import { remember, turnsOf, type Memory } from "../agent/memory.ts";
import { leaving, stopRows, type StopElsewhere } from "./pass-through.ts";
import { questionAsked, type Question } from "./question.ts";
import type { DonePayload, ErrorFacts } from "../service/service.ts";
import { sessionAfter } from "./session-state.ts";
import { troubleText } from "../texts.ts";
import type { TurnAgents } from "./turn-agents.ts";
import type { TurnFacts } from "./turn-context.ts";
import type { TurnEffects } from "./turn-effects.ts";
import type { TurnsElsewhere } from "./turn-elsewhere.ts";
import {
  doneEvent,
  doneOf,
  hookRows,
  rememberInterrupted,
  terminalFlow,
  turnErrorOf,
  type CompletedFlow,
} from "./turn-end.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import {
  ApprovalPendingError,
  divergedEscalation,
  effectEscalation,
  unusedEscalation,
  unwrittenEscalation,
  type TurnEscalation,
} from "./turn-escalations.ts";
import type { TurnOutput } from "./turn-output.ts";
import type { TurnRoute } from "./turn-route.ts";
import type { TurnSteps } from "./turn-steps.ts";
import { StoppedError, type TurnStop } from "./turn-stop.ts";

/** `fenced`: it belongs to another life. `failed`: its end could not be written. */
export interface RunEnd {
  readonly end: "done" | "fenced" | "failed";
  /** The session's next turn. */
  readonly next: string | null;
}

interface TurnEndingOptions {
  readonly held: ClaimedTurn;
  readonly facts: TurnFacts;
  readonly environment: TurnEnvironment;
  readonly journal: TurnJournal;
  readonly memory: Memory;
  readonly output: TurnOutput;
  readonly stop: TurnStop;
  readonly steps: TurnSteps;
  readonly route: TurnRoute;
  readonly effects: TurnEffects;
  readonly agents: TurnAgents;
  readonly elsewhere: TurnsElsewhere;
  readonly service: AnyService | undefined;
}

/** What an error means for the end of its turn. */
interface Trouble {
  readonly error: unknown;
  readonly code: string;
  /** The turn was stopped. */
  readonly isStop: boolean;
  /** A person has to answer first; the turn keeps its stage. */
  readonly waits: boolean;
}

/** What is stored with `DONE` besides the answer. */
interface FinishOptions {
  readonly stopped: boolean;
  readonly state: JsonObject | undefined;
  /** The yes to the session's question was acted on, and the state does not say so. */
  readonly keepsQuestion?: boolean | undefined;
  /** Default: the exchange of this turn is added. */
  readonly memory?: Memory | undefined;
}

interface Finished {
  /** A stop was asked for meanwhile: nothing was stored. */
  readonly stopped: boolean;
  readonly next: string | null;
}

/**
 * Writes the one `DONE` of a turn: with what its handler made (`finish`), with an error
 * (`finishTrouble`), or, where that cannot be stored, without what it had gathered (`endWithout`).
 */
export class TurnEnding {
  readonly #options: TurnEndingOptions;
  readonly #startedAt: number;
  readonly #escalations: TurnEscalation[] = [];
  #isEnding = false;
  #memoryTurns = 0;

  constructor(options: TurnEndingOptions) {
    this.#options = options;
    this.#startedAt = options.environment.clock.monotonic();
  }

  /** The handler is done with; what fails now is left to another life. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Exchanges in the memory that was stored. */
  get memoryTurns(): number {
    return this.#memoryTurns;
  }

  // --- as the handler says

  finish(payload: DonePayload): Promise<Finished> {
    const state = this.#options.route.state?.snapshot();
    return this.#finish(payload, { stopped: false, state });
  }

  async #finish(payload: DonePayload, options: FinishOptions): Promise<Finished> {
    const { held, environment, journal, route } = this.#options;
    const flows = this.#finishedFlows(payload, options.state);
    const question = this.#questionOf(payload, options.state);
    const done = this.#doneOf(payload, options.state, question);
    // First what is gathered, also the open chunk of a stopped answer: DONE stands behind it.
    const taken = await journal.take();
    const doneSeq = journal.nextSeq();
    const memory = options.memory ?? this.#memoryAfter(payload);
    const finished: FinishedTurn = {
      ...this.#head(done, doneSeq),
      stopped: options.stopped,
      rows: taken.rows,
      calls: taken.calls,
      state: this.#sessionAfter(options.state, flows.isTerminal, question),
      keeps_question: options.keepsQuestion,
      memory,
      completed: flows.completed,
      outbox: [
        ...hookRows(held, route.leaf, done.hooks, payload.message),
        ...stopRows(held, [...this.#options.elsewhere.stops, ...leftTasks(this.#options)]),
      ],
      approval: this.#options.effects.approvals.settled,
      events: [doneEvent(held, route.place.service, done)],
    };

    let result: Awaited<ReturnType<TurnEnvironment["store"]["finish"]>>;
    try {
      result = await environment.store.finish(finished, { signal: environment.lease });
    } catch (error) {
      taken.refused();
      throw error;
    }
    if (result.outcome === "stop") {
      taken.refused();
      return { stopped: true, next: null };
    }
    taken.committed();
    this.#memoryTurns = turnsOf(memory);
    journal.tellDone(doneSeq, { type: "DONE", data: done });
    return { stopped: false, next: result.next };
  }

  /** What every end stores. */
  #head(
    done: Done,
    doneSeq: number,
  ): Pick<FinishedTurn, "turn" | "session" | "epoch" | "done" | "done_seq" | "escalations"> {
    const { turn, session, epoch } = this.#options.held;
    return { turn, session, epoch, done, done_seq: doneSeq, escalations: this.#escalations };
  }

  #questionOf(payload: DonePayload, state: JsonObject = {}): Question | undefined {
    const { held, facts, environment, route } = this.#options;
    return questionAsked(payload, {
      id: held.turn,
      service: route.place.service,
      effects: facts.effects,
      state,
      holdsMs: environment.limits.confirmMs,
    });
  }

  #doneOf(
    payload: DonePayload,
    state: JsonObject | undefined,
    question: Question | undefined,
  ): Done {
    const { held, facts, output, agents } = this.#options;
    return doneOf(payload, {
      id: held.turn,
      locale: facts.locale,
      state: state ?? {},
      hooks: [...output.hooks, ...(payload.hooks ?? [])],
      agents: agents.traces(payload.error?.code ?? "TURN_CLOSED"),
      elapsedMs: this.#elapsedMs(),
      question,
    });
  }

  #elapsedMs(): number {
    return this.#options.environment.clock.monotonic() - this.#startedAt;
  }

  /** Those that were named, else the one that its terminal stage tells of. */
  #finishedFlows(
    payload: DonePayload,
    state: JsonObject | undefined,
  ): { completed: readonly CompletedFlow[]; isTerminal: boolean } {
    const { route, output } = this.#options;
    const terminal = terminalFlow(route.leaf, route.flow, state);
    const named = [...output.completed];
    if (payload.completed) named.push({ service: route.place.service, ...payload.completed });
    if (named.length === 0 && terminal) named.push(terminal);
    return { completed: named, isTerminal: terminal !== undefined };
  }

  #memoryAfter(payload: DonePayload): Memory {
    const { memory, facts, output } = this.#options;
    return remember(memory, facts.message, output.remembered ?? payload.message);
  }

  #sessionAfter(
    state: JsonObject | undefined,
    isTerminal: boolean,
    question: Question | undefined,
  ): FinishedTurn["state"] {
    const { route, service, elsewhere } = this.#options;
    const { leaf } = route;
    if (!leaf) return undefined;
    const after = sessionAfter(route.session, service!, {
      leaf,
      manager: route.state !== undefined,
      state,
      scenario: route.scenario,
      isTerminal,
      isAsking: elsewhere.isAsking,
      isVisit: route.isVisit,
    });
    return { ...after, question, task: route.leftTask ? undefined : elsewhere.task };
  }

  // --- with an error

  /**
   * The end of a turn that did not do what it was asked: state as before, except what settled
   * effects have written.
   */
  async finishTrouble(error: unknown): Promise<string | null> {
    const { facts, stop, effects, output } = this.#options;
    this.#isEnding = true;
    effects.approvals.unsettle();
    const trouble = troubleOf(error, stop);
    await this.#escalate(trouble);
    const { isStop, waits, code } = trouble;
    if (isStop || code === "REMOTE_TIMEOUT") this.#options.elsewhere.stopAll();
    if (!isStop && !waits) this.#logTrouble(trouble);

    const state = this.#stateAfter(trouble);
    const turnError = turnErrorOf(error, this.#options.environment);
    const said = this.#ownWords(turnError, {
      state: state ?? {},
      settled: output.kept !== undefined,
    });
    if (!waits) output.dropUnsettledFlows();
    output.hooks.length = 0;
    // What people are asked about ends in its own way even when a stop was asked for meanwhile.
    const isAsked = waits || error instanceof DivergedError;
    const result = await this.#finish(
      { message: said ?? troubleText(error, facts.locale), nextAction: "ASK", error: turnError },
      {
        stopped: isStop || (isAsked && stop.isAsked),
        state,
        keepsQuestion: output.kept === undefined && (await this.#isYesBegun()),
        memory: isStop ? this.#memoryOfStopped() : undefined,
      },
    );
    if (!result.stopped) return result.next;
    stop.ask();
    this.#escalations.length = 0;
    return this.finishTrouble(isAsked ? error : new StoppedError());
  }

  /** See `isYesBegun`. */
  #isYesBegun(): Promise<boolean> {
    const { held, environment, route } = this.#options;
    return isYesBegun(route.question, () =>
      environment.store.effectsOf(held.turn, { signal: environment.lease }),
    );
  }

  /** Notes what people have to be asked or told. */
  async #escalate({ error, waits }: Trouble): Promise<void> {
    const { held, facts, environment, effects } = this.#options;
    const { locale } = facts;
    if (error instanceof ApprovalPendingError) this.#escalations.push(error.escalation);
    if (error instanceof EffectUnknownError) this.#askAbout(error);
    if (error instanceof DivergedError) {
      const done = await environment.store.effectsOf(held.turn, { signal: environment.lease });
      this.#escalations.push(divergedEscalation(held, locale, error, done));
    }
    await this.#askAboutLostEffects(error);
    const unused = waits ? undefined : await effects.approvals.unused();
    if (unused) this.#escalations.push(unusedEscalation(held, locale, unused));
  }

  async #askAboutLostEffects(error: unknown): Promise<void> {
    const asked = error instanceof EffectUnknownError ? error.key : undefined;
    for (const { key, tool, input } of await this.#options.stop.lostEffects()) {
      if (key === asked) continue;
      const because = "its turn ended before it could be asked for";
      this.#askAbout(new EffectUnknownError(tool, key, input, because));
    }
  }

  #askAbout(error: EffectUnknownError): void {
    const { held, facts, route } = this.#options;
    this.#escalations.push(effectEscalation(held, facts.locale, route.place, error));
  }

  #logTrouble({ error, code }: Trouble): void {
    const { held, environment } = this.#options;
    const { turn, session } = held;
    const hint = error instanceof DureError && error.hint ? { hint: error.hint } : {};
    noteFailure(code);
    logFailure(environment.logger, "the turn ended with an error", {
      error,
      facts: { turn, session, code, ...hint },
    });
  }

  /**
   * A turn that waits for a person keeps its stage; every other one drops what no settled effect
   * has written.
   */
  #stateAfter({ waits }: Trouble): JsonObject | undefined {
    const { route, output } = this.#options;
    if (waits) return route.state?.snapshot();
    return output.kept ?? route.stateBefore();
  }

  #memoryOfStopped(): Memory {
    const { memory, facts, steps } = this.#options;
    return rememberInterrupted(memory, facts.message, steps.shownText);
  }

  /** What the service says of its error. One that cannot say it leaves it to the engine. */
  #ownWords(error: TurnError, errorFacts: ErrorFacts): string | undefined {
    const { held, facts, environment, route } = this.#options;
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

  // --- without what cannot be stored

  /**
   * Last resorts. If what the turn has gathered cannot be written, the turn ends without it. If
   * that cannot be written either, it ends with its error alone. An escalation names its effects.
   * Else the turn rests, and another life begins later.
   */
  async endWithout(error: unknown): Promise<RunEnd> {
    const { held, environment } = this.#options;
    const { logger, lease } = environment;
    const facts = { turn: held.turn, session: held.session };
    for (const end of [() => this.finishTrouble(error), () => this.#finishBare(error)]) {
      if (error instanceof FencedError || codeOf(error) === "TURN_CLOSED" || lease.aborted) {
        return { end: "fenced", next: null };
      }
      try {
        await this.#escalateUnwritten(error);
        const next = await end();
        logFailure(logger, "what a turn had done could not be stored; it ended without", {
          error,
          facts,
          as: "error",
        });
        return { end: "done", next };
      } catch (failure) {
        if (failure instanceof FencedError || lease.aborted) return { end: "fenced", next: null };
        logFailure(logger, "a turn could not be ended", {
          error: failure,
          facts: { ...facts, ended: codeOf(error) },
          as: "error",
        });
      }
    }
    return { end: "failed", next: null };
  }

  /** Instead of all other escalations. */
  async #escalateUnwritten(error: unknown): Promise<void> {
    const { held, facts, environment, journal } = this.#options;
    journal.abandon();
    const effects = await environment.store.effectsOf(held.turn, { signal: environment.lease });
    const escalation = unwrittenEscalation(held, facts.locale, messageOf(error), effects);
    this.#escalations.splice(0, Infinity, escalation);
  }

  async #finishBare(error: unknown): Promise<string | null> {
    const { held, facts, environment, journal, elsewhere } = this.#options;
    const done = doneOf(
      {
        message: troubleText(error, facts.locale),
        nextAction: "ASK",
        error: turnErrorOf(error, environment),
      },
      {
        id: held.turn,
        locale: facts.locale,
        state: {},
        hooks: [],
        agents: [],
        elapsedMs: this.#elapsedMs(),
        question: undefined,
      },
    );
    const doneSeq = journal.nextSeq();
    const bare: FinishedTurn = {
      ...this.#head(done, doneSeq),
      stopped: true,
      rows: [],
      calls: [],
      completed: [],
      outbox: stopRows(held, elsewhere.stops),
      keeps_question: await this.#isYesBegun(),
      events: [doneEvent(held, held.service, done)],
    };
    const { next } = await environment.store.finish(bare, { signal: environment.lease });
    journal.tellDone(doneSeq, { type: "DONE", data: done });
    return next;
  }
}

function troubleOf(error: unknown, stop: TurnStop): Trouble {
  const code = codeOf(error) ?? "INTERNAL";
  return {
    error,
    code,
    isStop: code === "TURN_STOPPED" && stop.isAsked,
    waits: code === "EFFECT_UNKNOWN" || code === "APPROVAL_PENDING",
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

/** An agent elsewhere whose question is taken back hears of it: its task is cancelled. Pure. */
function leftTasks({ held, facts, route }: TurnEndingOptions): readonly StopElsewhere[] {
  const { leftTask } = route;
  return leftTask ? [leaving(leftTask, `${held.turn}/left`, facts)] : [];
}
