/** The agents that a handler runs in a turn. */

import type { TurnParts } from "./turn-parts.ts";
import { DureError } from "../../kernel/errors.ts";
import type { TraceAgent, TurnEvent } from "../../kernel/turn-events.ts";
import type { ModelCall, ModelRequest } from "../../models/model.ts";
import { promptLanguage, promptText } from "../../models/prompt-files.ts";
import type { Agent } from "../agent/agent.ts";
import type { AgentRunEnvironment } from "../agent/agent-environment.ts";
import { AgentRun, type AgentRunOptions } from "../agent/agent-run.ts";
import { HistoryRoom } from "../agent/history-room.ts";
import type { AgentWork } from "../agent/work.ts";
import type { Budgets } from "../money/budgets.ts";
import type { ServiceRouter } from "../service/combine.ts";
import type { Service } from "../service/service.ts";
import { storedCall } from "../agent/stored-call.ts";
import type { AgentCallOptions, AgentOutcome, EffectOutcome } from "./turn-context.ts";
import { namesOf } from "./paused.ts";
import type { Step } from "./step.ts";
import { StoppedError } from "./turn-stop.ts";

/** A call of one of the service's agents, as a handler makes it. */
export interface AgentCall {
  readonly key: string;
  readonly label: string;
  readonly options: AgentCallOptions;
  /** What `AGENT_DONE` tells of an agent that is not shown. Default: nothing. */
  readonly tells?: ((outcome: AgentOutcome) => unknown) | undefined;
}

type AgentRouter = Extract<ServiceRouter, { kind: "agent" }>;

/** The agents that one life of a turn runs, and their part of its trace. */
export class TurnAgents {
  readonly #turn: TurnParts;
  /** What their requests leave to the session's history. */
  readonly room: HistoryRoom;
  readonly #ended: TraceAgent[] = [];
  /** Those that have begun, in their order. */
  readonly #begun: AgentRun[] = [];
  readonly #running = new Set<AgentRun>();

  constructor(turn: TurnParts) {
    this.#turn = turn;
    this.room = new HistoryRoom(turn.memory.refused, turn.facts.acceptedAt);
  }

  /** Runs an agent of `service` as the next step; its events belong to that step. */
  async run(
    service: Service,
    { key, label, options: call, tells }: AgentCall,
    emit: (event: TurnEvent) => void,
  ): Promise<AgentOutcome> {
    const { stop, steps } = this.#turn;
    stop.signal.throwIfAborted();
    const agent = service.agents[key];
    if (!agent) {
      throw new DureError("AGENT_UNKNOWN", `The service ${service.name} has no agent "${key}".`, {
        hint: `Agents are: ${Object.keys(service.agents).join(", ")}.`,
      });
    }
    const step = steps.next(`agent:${key}`);
    const noted = (event: TurnEvent): void => {
      steps.noteOrigin(event, step);
      emit(event);
    };
    const view = service.toolCalls;
    const options = { agent, key, label, call, tells, step, view, emit: noted };
    return this.#toEnd(options, service.name);
  }

  /**
   * Runs the agent that chooses a service, inside of the step `route`; it shows nothing. A team's
   * `prompts/router.<language>.md` goes before dure's.
   */
  runRouter({ agent, fill }: AgentRouter, route: Step): Promise<AgentOutcome> {
    const { environment, facts, steps } = this.#turn;
    let waits = false;
    const emit = (event: TurnEvent): void => {
      waits ||= event.type === "AGENT_START" && event.data.waits !== undefined;
      if (waits) steps.store(route, event); // a person reads why nothing comes
    };
    const template = promptText(environment.prompts, "router", promptLanguage(facts.locale));
    return this.#toEnd({
      agent,
      key: "router",
      label: "router",
      call: { show: false, prompt: fill?.(template) },
      step: route.inside().next("agent:router"),
      emit,
    });
  }

  /** What agents have done, also those that still run. */
  work(): readonly AgentWork[] {
    return this.#begun.flatMap(({ work }) => (work ? [work] : []));
  }

  /** Takes over the trace of agents that have run on another server. */
  addTraces(traces: readonly TraceAgent[]): void {
    this.#ended.push(...traces);
  }

  /** Of all agents; those that still run were ended with `error`. */
  traces(error: string): readonly TraceAgent[] {
    return [...this.#ended, ...[...this.#running].map((run) => run.trace(error))];
  }

  /** `service`: of which it is an agent; a router is of none. */
  async #toEnd(
    options: Omit<AgentRunOptions, "environment" | "id">,
    service?: string,
  ): Promise<AgentOutcome> {
    const environment = this.#environmentOf(options.agent, service);
    const id = service === undefined ? options.key : `${service}/${options.key}`;
    const run = new AgentRun({ ...options, id, environment });
    this.#running.add(run);
    this.#begun.push(run);
    try {
      return await run.run();
    } finally {
      this.#running.delete(run); // it has noted its trace
    }
  }

  #environmentOf(agent: Agent, service: string | undefined): AgentRunEnvironment {
    const { held, facts, environment, journal, memory, stop, steps, effects } = this.#turn;
    const { files } = this.#turn;
    const { budgets, pauses } = environment;
    const services = service === undefined ? [held.service] : [held.service, service];
    const speaking = { session: held.session, services, agent: agent.name };
    const names = pauses ? namesOf(speaking) : [];
    return {
      facts,
      journal,
      clock: environment.clock,
      memory,
      room: this.room,
      state: () => this.#turn.state(),
      signal: stop.signal,
      readFile: ({ id }, { signal }) =>
        environment.files.read(id, { session: held.session, signal }),
      keepFiles: (...call) => files.keep(...call),
      notesFiles: (outcome) => files.note(outcome),
      defaultLlm: environment.defaultLlm,
      everyLlm: environment.everyLlm,
      attemptRules: environment.attemptRules(held.session),
      resolve: (llm) => environment.resolve(llm),
      outages: environment.outages,
      patienceMs: environment.patienceMs(held.session),
      untilUnpaused: pauses && (() => pauses.passes(names, { signal: stop.signal })),
      isPaused: () => pauses?.first(names) !== undefined,
      reserve:
        budgets &&
        ((request, model, place) => this.#reserve(budgets, { agent, request, model, place })),
      callBegins: () => effects.callBegins(),
      noteCall: (name, record, place) => journal.call(storedCall(name, record, place)),
      noteAgent: (trace) => this.#ended.push(trace),
      beginsWork: () => stop.assertMayBegin(),
      goesOutside: () => steps.goesOutside(),
      doWork: (step, work) => steps.doWork(step, work),
      once: (call) => effects.once(call),
      keyBegunBefore: (call) => effects.keyBegunBefore(call),
      resultAt: (at) => environment.store.callResult<EffectOutcome<unknown>>(held.turn, at),
      approvalFor: (call) => effects.approvalFor(call),
    };
  }

  async #reserve(
    budgets: Budgets,
    call: { agent: Agent; request: ModelRequest; model: ModelCall; place: string },
  ): Promise<void> {
    const { held, journal, stop } = this.#turn;
    const { agent, request, model, place } = call;
    const { session, turn, epoch } = held;
    const answer = await budgets.reserve(
      { session, turn, epoch, agent, place },
      request,
      model,
      journal,
    );
    if (answer !== "stop") return;
    stop.ask();
    throw new StoppedError();
  }
}
