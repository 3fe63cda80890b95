/** The turns on other servers that a turn passes its message to. */

import { canonicalJson } from "../../kernel/json.ts";
import type { Done, DoneApproval, TurnEvent } from "../../kernel/turn-events.ts";
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
import { lastQuestionFor } from "./question.ts";
import type { OpenTask } from "./session-state.ts";
import { askingTaskOf } from "../remote/a2a.ts";
import { approvalsThere } from "../remote/approvals-there.ts";
import { isAsking, type RemoteRequest, type RemoteService } from "../remote/remote-service.ts";
import type { Step } from "./step.ts";
import { fileResult, type GivenFile } from "../agent/file-result.ts";
import { logFailure } from "../log-failure.ts";
import { fileThere, filesThere } from "../remote/files-there.ts";
import type { TurnParts } from "./turn-parts.ts";

/** The turns on other servers that one turn here has begun, in this life or in earlier ones. */
export class RemoteTurns {
  readonly #turn: TurnParts;
  /** The task of an agent that asked the session last. */
  readonly #asked: OpenTask | undefined;
  /** By path; what has ended there is not among them. */
  readonly #open: Map<string, TurnElsewhere>;
  #stops: readonly StopElsewhere[] = [];
  #isAsking: boolean | undefined;
  #task: OpenTask | undefined;
  #approvals: readonly DoneApproval[] = [];

  constructor(turn: TurnParts) {
    this.#turn = turn;
    this.#asked = turn.route.session.task;
    this.#task = this.#asked;
    this.#open = new Map(begunElsewhere(turn.journal, turn.facts));
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
    const step = this.#turn.steps.next(remoteStep(remote));
    return step.once(() => this.#passThrough(remote, step));
  }

  async #passThrough(remote: RemoteService, step: Step): Promise<Done> {
    const { facts, environment, stop, steps } = this.#turn;
    const { clock } = environment;
    const isRestart = step.events.length > 0;

    stop.assertMayBegin();
    await this.#turn.untilUnpaused(remote.name);
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
    const { service, environment, stop } = this.#turn;
    this.#approvals = approvalsThere(done.approvals, remote.name);
    this.#task = askingTask(remote, done);
    if (service?.kind !== "combined") return;
    this.#isAsking = await isAsking(remote, done, {
      clock: environment.clock,
      signal: stop.signal,
    });
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
    const { clock } = this.#turn.environment;
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
    const { facts, route } = this.#turn;
    const { message, slots, confirmId, locale, timeZone, sessionElsewhere: session } = facts;
    const lastQuestion = lastQuestionFor(route.question, { ...facts, service });
    const task = this.#asked?.service === service ? this.#asked.id : undefined;
    return { session, message, slots, confirmId, lastQuestion, task, locale, timeZone };
  }

  #remoteOf({ name }: TurnElsewhere): RemoteService | undefined {
    const { service } = this.#turn;
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

/**
 * Brings what a service on another server has made into the session here: its references mean
 * nothing here. A file that does not come is told in the log; the answer does not wait for it.
 */
export async function bringFiles(
  remote: RemoteService,
  done: Done,
  { files, held, environment, stop }: TurnParts,
): Promise<void> {
  const { clock, logger } = environment;
  const { signal } = stop;
  const maxBytes = environment.files.bounds.fileBytes;
  for (const there of remote.protocol === "dure" ? filesThere(done.files) : []) {
    const given: GivenFile[] = [];
    try {
      given.push(await fileThere(remote, there, { clock, signal, maxBytes }));
    } catch (error) {
      signal.throwIfAborted();
      const facts = { turn: held.turn, session: held.session, service: remote.name };
      logFailure(logger, "a file of a service on another server did not come", { error, facts });
    }
    const made = await files.keep(remote.name, fileResult(null, given), { signal });
    files.note({ status: "done", result: null, files: made });
  }
}
