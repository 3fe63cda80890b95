/** One life of a turn as an object: what it begins with, what it is about, and its parts in order. */

import type { JsonObject } from "../../kernel/json.ts";
import type { ClaimedTurn, FinishedFlow, TurnStore } from "../../durable/turns.ts";
import { openMemory, type Memory } from "../agent/memory.ts";
import type { AgentWork } from "../agent/work.ts";
import type { AnyService } from "../service/combine.ts";
import { TurnJournal } from "./journal.ts";
import { namesOf, type PauseGate } from "./paused.ts";
import { memoryAtStart } from "../caller/handed-out.ts";
import { TurnAgents } from "./turn-agents.ts";
import type { TurnFacts } from "./turn-context.ts";
import { TurnEffects } from "./turn-effects.ts";
import { RemoteTurns } from "./remote-turns.ts";
import { HeardAnswers } from "./heard-answers.ts";
import { TurnFiles } from "./turn-files.ts";
import { TurnRoute } from "./turn-route.ts";
import { TurnSteps } from "./turn-steps.ts";
import { TurnStop } from "./turn-stop.ts";
import type { FileRef } from "../../kernel/files.ts";
import { sessionIdOfKey } from "../../kernel/tenant.ts";
import type { HookRecord } from "../../kernel/turn-events.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Files } from "../../durable/files/files.ts";
import type { Llm } from "../../models/card.ts";
import type { ModelCall } from "../../models/model.ts";
import type { ModelOutages } from "../../models/outages.ts";
import type { PromptOverrides } from "../../models/prompt-files.ts";
import type { AttemptRules } from "../agent/agent-environment.ts";
import type { ApprovalReader } from "../effects/approval-reader.ts";
import type { Budgets } from "../money/budgets.ts";
import type { Replay } from "../replay/replay.ts";

/** What one life of a turn begins with. */
export interface TurnStart {
  readonly held: ClaimedTurn;
  /** Absent: no living process has it, and the turn ends by saying so. */
  readonly service: AnyService | undefined;
  readonly environment: TurnEnvironment;
  /** Earlier lives that the database interrupted; they do not count against the turn. */
  readonly interruptions: number;
}

/** What the run of a turn needs from its engine. */
export interface TurnEnvironment {
  readonly store: TurnStore;
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly devMode: boolean;
  /** Spans of OpenTelemetry hold prompts, answers, and what tools take and give. */
  readonly spanTexts: boolean;
  readonly locale: string;
  readonly timeZone: string;
  readonly defaultLlm: Llm;
  readonly everyLlm: Llm | undefined;
  /** The team's prompts in the place of ours. */
  readonly prompts: PromptOverrides | undefined;
  readonly attemptRules: (session: string) => AttemptRules | undefined;
  readonly outages: ModelOutages;
  /** How long a session's turns wait for a model that is away, milliseconds. */
  readonly patienceMs: (session: string) => number;
  readonly limits: { readonly maxFillTurns: number; readonly confirmMs: number };
  /** Aborts when this process may write no more. */
  readonly lease: AbortSignal;
  resolve(llm: Llm | Llm["fallbacks"][number]): ModelCall;
  /** Absent: nothing is limited. */
  readonly budgets: Budgets | undefined;
  /** Absent: no agent is ever paused. */
  readonly pauses: PauseGate | undefined;
  readonly approvals: Pick<ApprovalReader, "askedIn" | "find" | "standing">;
  /** The turn is a replay of a stored one. */
  readonly replay?: Replay | undefined;
}

/**
 * One life of a turn: what it is about, and its parts in the order in which they are made. Each part
 * guards one thing, and asks the turn for the others.
 */
export class TurnParts implements TurnStart {
  readonly held: ClaimedTurn;
  readonly service: AnyService | undefined;
  readonly environment: TurnEnvironment;
  readonly interruptions: number;
  /** Answers to questions that were asked before; `facts` tell them. */
  readonly heard: HeardAnswers;
  readonly facts: TurnFacts;
  /** As it was before the turn. */
  readonly memory: Memory;
  /** What the handler leaves for the end. */
  readonly output = new TurnOutput();
  readonly stop: TurnStop;
  /** What is recorded, and what was recorded by earlier lives. */
  readonly journal: TurnJournal;
  /** What the handler does, in its order. */
  readonly steps: TurnSteps;
  /** Which service and flow answer. */
  readonly route: TurnRoute;
  /** What tools make. */
  readonly files: TurnFiles;
  /** Turns on other servers. */
  readonly elsewhere: RemoteTurns;
  readonly effects: TurnEffects;
  readonly agents: TurnAgents;

  constructor({ held, service, environment, interruptions }: TurnStart) {
    this.held = held;
    this.service = service;
    this.environment = environment;
    this.interruptions = interruptions;

    this.heard = new HeardAnswers(inputOf(held).escalation);
    this.facts = factsOf(held, environment, this.heard);
    this.memory = openMemory(memoryAtStart(held.memory, { leavesCalls: leavesCalls(this.facts) }));
    this.stop = new TurnStop(this);
    this.journal = openJournal(held, environment);
    this.journal.onStop(() => this.stop.ask());
    this.steps = new TurnSteps(this);
    this.route = new TurnRoute(this);
    this.files = new TurnFiles(this);
    this.elsewhere = new RemoteTurns(this);
    this.effects = new TurnEffects(this);
    this.agents = new TurnAgents(this);
  }

  /** What agents and the handler have done so far. */
  work(): readonly AgentWork[] {
    return [...this.agents.work(), ...this.effects.work];
  }

  /** The state of the service that answers, as it is now. */
  state(): JsonObject {
    return this.route.state?.snapshot() ?? {};
  }

  /** Waits while people have paused the session's service or `name`, the one that would answer. */
  async untilUnpaused(name: string): Promise<void> {
    const { session, service } = this.held;
    const names = namesOf({ session, services: [service, name] });
    await this.environment.pauses?.passes(names, { signal: this.stop.signal });
  }
}

/** A person says something else than the results that the session waits for. */
function leavesCalls({ author, callerTools }: TurnFacts): boolean {
  return author === "person" && callerTools?.results === undefined;
}

/** The journal of one life; its rows are written under the turn's epoch. */
function openJournal(held: ClaimedTurn, environment: TurnEnvironment): TurnJournal {
  const { store, clock, lease, budgets, replay } = environment;
  const { turn, epoch } = held;
  return new TurnJournal({
    clock,
    rows: held.rows,
    replay,
    store: {
      append: (rows, calls) => store.journal({ turn, epoch, rows, calls }, { signal: lease }),
    },
    onCallsStored: (calls) => budgets?.settled(turn, calls),
  });
}

/** Characters of a session id. Source: docs/spec/conversation §6. */
const MAX_SESSION_ID = 200;

/**
 * The session's id on another server, which knows no tenants. The incarnation stands before it, so
 * that sessions of the same name of two tenants are two sessions there.
 */
function sessionElsewhere({ session, incarnation }: ClaimedTurn): string {
  const id = sessionIdOfKey(session);
  return id === session ? id : `${incarnation}.${id}`.slice(0, MAX_SESSION_ID);
}

/** What a message may carry besides its text. */
interface StoredInput {
  readonly slots?: JsonObject;
  readonly confirm_id?: string;
  readonly last_question?: string | null;
  readonly escalation?: TurnFacts["escalation"];
  readonly background?: string;
  readonly caller_tools?: TurnFacts["callerTools"];
  readonly speaker?: TurnFacts["speaker"];
  readonly files?: readonly FileRef[];
  /** The session's language when the message was accepted. */
  readonly locale?: string;
}

/**
 * What a turn is about; locale and time zone fall back to those of the team. A message that was
 * accepted meanwhile in another language does not change those of this turn. Pure.
 */
function factsOf(
  held: ClaimedTurn,
  team: { readonly locale: string; readonly timeZone: string },
  heard: HeardAnswers,
): TurnFacts {
  const input = inputOf(held);
  return {
    turnId: held.turn,
    session: held.session,
    sessionElsewhere: sessionElsewhere(held),
    // Without the tenant: keys of effects are older than tenants.
    effects: `${sessionIdOfKey(held.session)}/${held.incarnation}`,
    message: wordsOf(held),
    files: held.messages.flatMap((message) => (message.input as StoredInput).files ?? []),
    slots: input.slots,
    confirmId: input.confirm_id,
    lastQuestion: input.last_question,
    locale: input.locale ?? held.locale ?? team.locale,
    timeZone: held.time_zone ?? team.timeZone,
    author: held.author,
    speaker: held.messages.length === 1 ? input.speaker : undefined,
    sawPrevious: held.messages.every((message) => !message.queued),
    acceptedAt: Math.floor(held.messages[0]?.at ?? held.accepted_at),
    get escalation() {
      return heard.deciding;
    },
    get answers() {
      return heard.all;
    },
    background: input.background,
    callerTools: input.caller_tools,
  };
}

/** One without words carries files alone. */
function wordsOf({ messages }: ClaimedTurn): string {
  const texts = messages.map((message) => message.text);
  return (messages.length > 1 ? texts.filter(Boolean) : texts).join("\n");
}

function inputOf(held: ClaimedTurn): StoredInput {
  return held.messages.at(-1)?.input ?? {};
}

/** What a handler leaves for the end of its turn besides its answer. */
class TurnOutput {
  readonly hooks: HookRecord[] = [];
  readonly completed: FinishedFlow[] = [];
  /** What memory keeps as the answer, when it is not `DONE.message`. */
  remembered: string | undefined;
  #kept: JsonObject | undefined;
  /** How many of `completed` were named when `kept` was set. */
  #keptCompleted = 0;

  /** The state that a settled effect has written; it is stored even when the turn fails. */
  get kept(): JsonObject | undefined {
    return this.#kept;
  }

  /** An effect was settled, with this state. */
  keep(state: JsonObject | undefined): void {
    this.#kept = state;
    this.#keptCompleted = this.completed.length;
  }

  /** Drops the finished flows that no settled effect has written. */
  dropUnsettledFlows(): void {
    this.completed.length = this.#keptCompleted;
  }
}
