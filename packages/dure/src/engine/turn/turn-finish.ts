/** The one statement that ends a turn: `DONE`, with all that the turn leaves. */

import type { JsonObject } from "../../kernel/json.ts";
import type { Done } from "../../kernel/turn-events.ts";
import type { FinishedTurn, FinishedFlow } from "../../durable/turns.ts";
import { messageOrDecision } from "../agent/decision.ts";
import { turnsOf, type Memory } from "../agent/memory.ts";
import { memoryAfter } from "../caller/handed-out.ts";
import type { LeafService } from "../service/combine.ts";
import type { DonePayload } from "../service/service.ts";
import { doneEvent, doneOf, hookRows, terminalFlow, type StateAbout } from "./done-record.ts";
import { leaving, stopRows, type StopElsewhere } from "./pass-through.ts";
import { questionAsked, type Question } from "./question.ts";
import { sessionAfter } from "./session-state.ts";
import { approvalsIn, type TurnEscalation } from "./turn-escalations.ts";
import type { TurnParts } from "./turn-parts.ts";

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
  /** The session's next turn. */
  readonly next: string | null;
}

/** Errors of a turn that goes on when a person has answered. */
const WAITS: ReadonlySet<string> = new Set(["APPROVAL_PENDING", "EFFECT_UNKNOWN"]);

/** Stores the one `DONE` of a turn with all that the turn leaves, in one statement. */
export class TurnFinish {
  readonly #parts: TurnParts;
  readonly #startedAt: number;
  #memoryTurns = 0;
  #done: Done | undefined;
  /** What people are asked or told with the end of this turn. */
  escalations: readonly TurnEscalation[] = [];

  constructor(parts: TurnParts) {
    this.#parts = parts;
    this.#startedAt = parts.environment.clock.monotonic();
  }

  /** Exchanges in the memory that was stored. */
  get memoryTurns(): number {
    return this.#memoryTurns;
  }

  /** What is stored. */
  get done(): Done | undefined {
    return this.#done;
  }

  /** As the handler says. */
  asHandled(payload: DonePayload): Promise<Finished> {
    const state = this.#parts.route.state?.snapshot();
    return this.store(payload, { stopped: false, state });
  }

  async store(payload: DonePayload, options: FinishOptions): Promise<Finished> {
    const { environment, journal, steps } = this.#parts;
    steps.tellEnded();
    const question = this.#questionOf(payload, options.state);
    const done = this.#doneOf(payload, options.state, question);
    // First what is gathered, also the open chunk of a stopped answer: DONE stands behind it.
    const taken = await journal.take();
    const doneSeq = journal.nextSeq();
    const { refused } = this.#parts.agents.room;
    const memory = { ...(options.memory ?? this.#memoryAfter(payload)), refused };
    const finished: FinishedTurn = {
      ...this.#head(done, doneSeq),
      ...this.#leftBy(payload, options, question, done),
      rows: taken.rows,
      calls: taken.calls,
      memory,
    };

    let result: Awaited<ReturnType<typeof environment.store.finish>>;
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
    this.#tell(done, doneSeq);
    return { stopped: false, next: result.next };
  }

  /** Without anything that the turn has gathered: what people are asked names its effects. */
  async storeBare(
    payload: DonePayload,
    { keepsQuestion }: { keepsQuestion: boolean },
  ): Promise<string | null> {
    const { held, facts, environment, journal, elsewhere } = this.#parts;
    const done = doneOf(payload, {
      id: held.turn,
      locale: facts.locale,
      state: {},
      about: {},
      hooks: [],
      agents: [],
      elapsedMs: this.#elapsedMs(),
      question: undefined,
      approvals: [],
      files: [],
    });
    const doneSeq = journal.nextSeq();
    const bare: FinishedTurn = {
      ...this.#head(done, doneSeq),
      stopped: true,
      rows: [],
      calls: [],
      completed: [],
      outbox: stopRows(held, elsewhere.stops),
      keeps_question: keepsQuestion,
      events: [doneEvent(held, held.service, done)],
    };
    const { next } = await environment.store.finish(bare, { signal: environment.lease });
    this.#tell(done, doneSeq);
    return next;
  }

  #tell(done: Done, doneSeq: number): void {
    this.#done = done;
    this.#parts.journal.tellDone(doneSeq, { type: "DONE", data: done });
  }

  /** What every end stores. */
  #head(
    done: Done,
    doneSeq: number,
  ): Pick<FinishedTurn, "turn" | "session" | "epoch" | "done" | "done_seq" | "escalations"> {
    const { turn, session, epoch } = this.#parts.held;
    return { turn, session, epoch, done, done_seq: doneSeq, escalations: this.escalations };
  }

  #doneOf(
    payload: DonePayload,
    state: JsonObject | undefined,
    question: Question | undefined,
  ): Done {
    const { held, facts, output, agents, elsewhere, files, route } = this.#parts;
    const own = this.#approvals.map(({ subject: _subject, ...approval }) => approval);
    return doneOf(payload, {
      id: held.turn,
      locale: facts.locale,
      state: state ?? {},
      about: { scenario: route.scenario, slots: slotsOf(route.leaf) },
      hooks: [...output.hooks, ...(payload.hooks ?? [])],
      agents: agents.traces(payload.error?.code ?? "TURN_CLOSED"),
      elapsedMs: this.#elapsedMs(),
      question,
      approvals: [...own, ...elsewhere.approvals],
      files: files.shownWith(payload.message, facts),
    });
  }

  get #approvals(): ReturnType<typeof approvalsIn> {
    return approvalsIn(this.escalations, this.#parts.environment.clock.now());
  }

  #elapsedMs(): number {
    return this.#parts.environment.clock.monotonic() - this.#startedAt;
  }

  #questionOf(payload: DonePayload, state: JsonObject = {}): Question | undefined {
    const { held, facts, environment, route } = this.#parts;
    return questionAsked(payload, {
      id: held.turn,
      service: route.place.service,
      effects: facts.effects,
      state,
      holdsMs: environment.limits.confirmMs,
      isElsewhere: isOfDure(route.leaf) || undefined,
      after: { text: facts.message, at: facts.acceptedAt },
      approvals: this.#approvals.map(({ subject }) => subject),
    });
  }

  #memoryAfter(payload: DonePayload): Memory {
    const { memory, facts, output, held, route } = this.#parts;
    return memoryAfter(memory, {
      turn: held.turn,
      service: route.place.service,
      at: facts.acceptedAt,
      message: messageOrDecision(facts),
      files: facts.files,
      continues: facts.callerTools?.results !== undefined,
      answer: output.remembered ?? payload.message,
      work: this.#parts.work(),
      calls: payload.handedCalls,
      failed: payload.error !== undefined && !WAITS.has(payload.error.code),
    });
  }

  // --- what the turn leaves to the session, to people and to other servers

  #leftBy(
    payload: DonePayload,
    { stopped, state, keepsQuestion }: FinishOptions,
    question: Question | undefined,
    done: Done,
  ): Pick<
    FinishedTurn,
    "stopped" | "state" | "keeps_question" | "completed" | "outbox" | "approvals" | "events"
  > {
    const { held, route, effects, elsewhere } = this.#parts;
    const flows = this.#finishedFlows(payload, state);
    return {
      stopped,
      state: this.#sessionAfter(state, flows.isTerminal, question),
      keeps_question: keepsQuestion,
      completed: flows.completed,
      outbox: [
        ...hookRows(held, route.leaf, done.hooks, payload.message),
        ...stopRows(held, [...elsewhere.stops, ...leftElsewhere(this.#parts)]),
      ],
      approvals: effects.approvals.settled,
      events: [doneEvent(held, route.place.service, done)],
    };
  }

  /** Those that were named, else the one that its terminal stage tells of. */
  #finishedFlows(
    payload: DonePayload,
    state: JsonObject | undefined,
  ): { completed: readonly FinishedFlow[]; isTerminal: boolean } {
    const { route, output } = this.#parts;
    const terminal = terminalFlow(route.leaf, route.flow, state);
    const named = [...output.completed];
    if (payload.completed) named.push({ service: route.place.service, ...payload.completed });
    if (named.length === 0 && terminal) named.push(terminal);
    return { completed: named, isTerminal: terminal !== undefined };
  }

  #sessionAfter(
    state: JsonObject | undefined,
    isTerminal: boolean,
    question: Question | undefined,
  ): FinishedTurn["state"] {
    const { route, service, elsewhere } = this.#parts;
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
    const left = this.#parts.facts.author === "person" ? undefined : after.left;
    return { ...after, question, left, task: route.leftTask ? undefined : elsewhere.task };
  }
}

/** The one elsewhere whose question is taken back hears of it; a task is cancelled. Pure. */
function leftElsewhere({ held, facts, route }: TurnParts): readonly StopElsewhere[] {
  const { leftTask, leftQuestion } = route;
  const key = `${held.turn}/left`;
  if (leftTask) return [leaving({ name: leftTask.service, key, id: leftTask.id }, facts)];
  if (!leftQuestion) return [];
  return [leaving({ name: leftQuestion.service, key, question: leftQuestion.id }, facts)];
}

function slotsOf(leaf: LeafService | undefined): StateAbout["slots"] {
  return leaf?.kind === "service" ? leaf.state?.slots : undefined;
}

function isOfDure(leaf: LeafService | undefined): boolean {
  return leaf?.kind === "remote" && leaf.protocol === "dure";
}
