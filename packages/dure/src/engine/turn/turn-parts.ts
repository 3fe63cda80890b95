import type { JsonObject } from "../../kernel/json.ts";
import type { ClaimedTurn } from "../../durable/turns.ts";
import { openMemory, type Memory } from "../agent/memory.ts";
import type { AgentWork } from "../agent/work.ts";
import type { AnyService } from "../service/combine.ts";
import { TurnJournal } from "./journal.ts";
import { namesOf } from "./paused.ts";
import { memoryAtStart } from "../caller/handed-out.ts";
import { TurnAgents } from "./turn-agents.ts";
import type { TurnFacts } from "./turn-context.ts";
import { TurnEffects } from "./turn-effects.ts";
import { RemoteTurns } from "./remote-turns.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import { factsOf, inputOf } from "./turn-facts.ts";
import { HeardAnswers } from "./heard-answers.ts";
import { TurnFiles } from "./turn-files.ts";
import { TurnOutput } from "./turn-output.ts";
import { TurnReads } from "./turn-reads.ts";
import { TurnRoute } from "./turn-route.ts";
import { TurnSteps } from "./turn-steps.ts";
import { TurnStop } from "./turn-stop.ts";

/** What one life of a turn begins with. */
export interface TurnStart {
  readonly held: ClaimedTurn;
  /** Absent: no living process has it, and the turn ends by saying so. */
  readonly service: AnyService | undefined;
  readonly environment: TurnEnvironment;
  /** Earlier lives that the database interrupted; they do not count against the turn. */
  readonly interruptions: number;
}

/** What one life of a turn is made of; each part guards one thing. */
export interface TurnParts extends TurnStart {
  readonly facts: TurnFacts;
  /** Answers to questions that were asked before; `facts` tell them. */
  readonly heard: HeardAnswers;
  /** As it was before the turn. */
  readonly memory: Memory;
  /** What is recorded, and what was recorded by earlier lives. */
  readonly journal: TurnJournal;
  readonly stop: TurnStop;
  /** What the handler does, in its order. */
  readonly steps: TurnSteps;
  /** Which service and flow answer. */
  readonly route: TurnRoute;
  readonly effects: TurnEffects;
  readonly reads: TurnReads;
  readonly agents: TurnAgents;
  /** Turns on other servers. */
  readonly elsewhere: RemoteTurns;
  /** What tools make. */
  readonly files: TurnFiles;
  /** What the handler leaves for the end. */
  readonly output: TurnOutput;
}

export function turnParts(start: TurnStart): TurnParts {
  const { held, service, environment, interruptions } = start;
  const { clock, lease, logger, store } = environment;
  const heard = new HeardAnswers(inputOf(held).escalation);
  const facts = factsOf(held, environment, heard);
  const memory = openMemory(memoryAtStart(held.memory, { leavesCalls: leavesCalls(facts) }));
  const output = new TurnOutput();
  const stop = new TurnStop({ held, store, clock, lease });
  const journal = openJournal(held, environment);
  journal.onStop(() => stop.ask());

  const version = service?.version ?? held.version;
  const stage = (): string | undefined => route.state?.stage;
  const steps = new TurnSteps({ held, journal, stop, environment, version, stage });
  const route = new TurnRoute({ held, facts, logger, stop, steps, service });
  const asked = { question: route.question, task: route.session.task };
  const files = new TurnFiles({ held, files: environment.files, logger });
  const base = { held, facts, environment, journal, stop, steps, files };
  const elsewhere = new RemoteTurns({
    ...base,
    ...asked,
    clock,
    service,
    untilUnpaused: (name) => untilUnpaused(name, start, stop.signal),
  });
  const effects = new TurnEffects({
    ...base,
    place: () => route.place,
    onKept: () => output.keep(route.state?.snapshot()),
  });
  const reads = new TurnReads(base);
  const state = (): JsonObject => route.state?.snapshot() ?? {};
  const agents = new TurnAgents({ ...base, memory, effects, state });
  return {
    ...base,
    heard,
    service,
    interruptions,
    memory,
    output,
    route,
    effects,
    reads,
    agents,
    elsewhere,
  };
}

/** What agents and the handler have done so far. */
export function workOf({ agents, effects }: TurnParts): readonly AgentWork[] {
  return [...agents.work(), ...effects.work];
}

/** A person says something else than the results that the session waits for. */
function leavesCalls({ author, callerTools }: TurnFacts): boolean {
  return author === "person" && callerTools?.results === undefined;
}

/** Waits while people have paused the session's service or `name`, the one that would answer. */
async function untilUnpaused(
  name: string,
  { held, environment }: TurnStart,
  signal: AbortSignal,
): Promise<void> {
  const { session, service } = held;
  const names = namesOf({ session, services: [service, name] });
  await environment.pauses?.passes(names, { signal });
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
