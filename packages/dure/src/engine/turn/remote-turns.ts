import type { Clock } from "../../kernel/clock.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { Done, DoneApproval, TurnEvent } from "../../kernel/turn-events.ts";
import type { AnyService } from "../service/combine.ts";
import type { TurnJournal } from "./journal.ts";
import {
  begunElsewhere,
  passThrough,
  remoteStep,
  stopOf,
  tryStopElsewhere,
  turnElsewhere,
  type StopElsewhere,
  type TurnElsewhere,
} from "./pass-through.ts";
import { lastQuestionFor, type Question } from "./question.ts";
import type { OpenTask } from "./session-state.ts";
import { askingTaskOf } from "../remote/a2a.ts";
import { approvalsThere } from "../remote/approvals-there.ts";
import { isAsking, type RemoteRequest, type RemoteService } from "../remote/remote-service.ts";
import type { TurnFacts } from "./turn-context.ts";
import type { Step } from "./step.ts";
import type { TurnSteps } from "./turn-steps.ts";
import type { TurnStop } from "./turn-stop.ts";

interface TurnsElsewhereOptions {
  readonly facts: TurnFacts;
  /** What the session was asked last, and by which task of an agent. */
  readonly question: Question | undefined;
  readonly task: OpenTask | undefined;
  readonly clock: Clock;
  readonly journal: TurnJournal;
  readonly stop: TurnStop;
  readonly steps: TurnSteps;
  /** The service of the session; absent: no living process has it. */
  readonly service: AnyService | undefined;
  /** Resolves when the agent that answers through a service elsewhere is not paused. */
  readonly untilUnpaused: (service: string) => Promise<void>;
}

/** The turns on other servers that one turn here has begun, in this life or in earlier ones. */
export class RemoteTurns {
  readonly #options: TurnsElsewhereOptions;
  /** By path; what has ended there is not among them. */
  readonly #open: Map<string, TurnElsewhere>;
  #stops: readonly StopElsewhere[] = [];
  #isAsking: boolean | undefined;
  #task: OpenTask | undefined;
  #approvals: readonly DoneApproval[] = [];

  constructor(options: TurnsElsewhereOptions) {
    this.#options = options;
    this.#task = options.task;
    this.#open = new Map(begunElsewhere(options.journal, options.facts));
  }

  /** What is to be ended there with this turn. */
  get stops(): readonly StopElsewhere[] {
    return this.#stops;
  }

  /** See `LeafEnd`. */
  get isAsking(): boolean | undefined {
    return this.#isAsking;
  }

  /** The task that asks for the person's next words, as of now. */
  get task(): OpenTask | undefined {
    return this.#task;
  }

  /** Calls that wait there for a yes. */
  get approvals(): readonly DoneApproval[] {
    return this.#approvals;
  }

  /** Passes the turn on as one step, with its events. Returns the `DONE` of the other server. */
  async passThrough(remote: RemoteService): Promise<Done> {
    const step = this.#options.steps.next(remoteStep(remote));
    return step.once(() => this.#passThrough(remote, step));
  }

  async #passThrough(remote: RemoteService, step: Step): Promise<Done> {
    const { facts, clock, stop, steps, untilUnpaused } = this.#options;
    const isRestart = step.events.length > 0;

    stop.assertMayBegin();
    await untilUnpaused(remote.name);
    const there = turnElsewhere(remote.name, facts, step.path);
    this.#open.set(step.path, there);
    await step.begins();
    await steps.goesOutside();

    const events = passThrough(remote, this.#requestTo(remote.name), {
      there,
      clock,
      signal: stop.signal,
    });
    for (;;) {
      const next = await events.next();
      if (next.done) {
        this.#open.delete(step.path);
        return next.value;
      }
      const event = isRestart ? asRestart(next.value) : next.value;
      if (!isToldBefore(event, step.events)) steps.store(step, event);
    }
  }

  /**
   * What it asks, and whether it waits in the middle of a flow; of a service that is alone this does
   * not matter.
   */
  async lookWhetherAsking(remote: RemoteService, done: Done): Promise<void> {
    const { service, clock, stop } = this.#options;
    this.#approvals = approvalsThere(done.approvals, remote.name);
    this.#task = askingTask(remote, done);
    if (service?.kind !== "combined") return;
    this.#isAsking = await isAsking(remote, done, { clock, signal: stop.signal });
  }

  /** Ends them with the turn: by rows that are stored with `DONE`, and by `tellStops` behind it. */
  stopAll(): void {
    const open = [...this.#open.values()];
    this.#stops = open.map((there) => stopOf(there, this.#requestTo(there.name)));
  }

  /**
   * Tells the other servers at once. Only where `DONE` is stored: until then another process may
   * have taken the turn over, and follow them.
   */
  tellStops(): void {
    const { clock } = this.#options;
    if (this.#stops.length === 0) return;
    for (const there of this.#open.values()) {
      const remote = this.#remoteOf(there);
      const stop = stopOf(there, this.#requestTo(there.name));
      if (remote) void tryStopElsewhere(remote, stop, clock);
    }
    this.#open.clear();
  }

  /** What the person said, and whether the other service's question was the last thing shown. */
  #requestTo(service: string): RemoteRequest {
    const { facts, question, task } = this.#options;
    const { message, slots, confirmId, locale, timeZone, sessionElsewhere: session } = facts;
    const lastQuestion = lastQuestionFor(question, { ...facts, service });
    const own = task?.service === service ? task.id : undefined;
    return { session, message, slots, confirmId, lastQuestion, task: own, locale, timeZone };
  }

  #remoteOf({ name }: TurnElsewhere): RemoteService | undefined {
    const { service } = this.#options;
    const leaf = service?.kind === "combined" ? service.services.get(name) : service;
    return leaf?.kind === "remote" && leaf.name === name ? leaf : undefined;
  }
}

function askingTask(remote: RemoteService, done: Done): OpenTask | undefined {
  const id = remote.protocol === "a2a" ? askingTaskOf(done) : undefined;
  return id === undefined ? undefined : { service: remote.name, id };
}

/** A restart reads the turn there from its beginning; its calls of tools were made once. */
function isToldBefore(event: TurnEvent, before: readonly TurnEvent[]): boolean {
  if (event.type !== "TOOL_START" && event.type !== "TOOL_DONE") return false;
  const told = canonicalJson(event);
  return before.some((earlier) => canonicalJson(earlier) === told);
}

/** Text of an earlier life is void where an agent starts again. */
function asRestart(event: TurnEvent): TurnEvent {
  if (event.type !== "AGENT_START") return event;
  return { type: "AGENT_START", data: { ...event.data, restart: true } };
}
