import { codeOf, DureError } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { TURN_EVENT_TYPES, type TurnEvent } from "../../kernel/turn-events.ts";
import { FencedError, type ClaimedTurn, type FinishedFlow } from "../../durable/turns.ts";
import { inTurnSpan } from "../../models/telemetry.ts";
import type { AnyService, LeafService } from "../service/combine.ts";
import { EffectUnknownError } from "../effects/effects.ts";
import { DivergedError, TurnJournal } from "./journal.ts";
import { openMemory, type Memory } from "../agent/memory.ts";
import type { RemoteService } from "../remote/remote-service.ts";
import type { DonePayload, Service } from "../service/service.ts";
import type { AnyTool } from "../agent/tool.ts";
import { TurnAgents } from "./turn-agents.ts";
import {
  TurnContext,
  type AgentCallOptions,
  type AgentOutcome,
  type EffectCallOptions,
  type EffectOutcome,
  type TurnFacts,
  type TurnMachinery,
} from "./turn-context.ts";
import { TurnEffects } from "./turn-effects.ts";
import { TurnsElsewhere } from "./turn-elsewhere.ts";
import { TurnEnding, type RunEnd } from "./turn-ending.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import { factsOf } from "./turn-facts.ts";
import { TurnOutput } from "./turn-output.ts";
import { TurnRoute } from "./turn-route.ts";
import { TurnSteps } from "./turn-steps.ts";
import { namesOf } from "./paused.ts";
import { StoppedError, TurnStop } from "./turn-stop.ts";

/**
 * One life of one turn: choose service and flow, run the handler against the journal, end with one
 * `DONE`.
 *
 * A life ends in one of four ways: finished (the statement that stores `DONE` was committed),
 * fenced (another process holds the turn, nothing more is written), failed (its end could not be
 * written), or cut off by the death of its process. After the last two another life begins with the
 * same journal.
 */
export class TurnRun implements TurnMachinery {
  readonly held: ClaimedTurn;
  readonly journal: TurnJournal;
  /**
   * Settles when this life is over; never rejects. `next` is the session's next turn, which this
   * process now holds.
   */
  readonly finished: Promise<RunEnd>;

  readonly #environment: TurnEnvironment;
  /** Absent: no living process has it, and the turn ends by saying so. */
  readonly #service: AnyService | undefined;
  readonly #facts: TurnFacts;
  readonly #memory: Memory;
  readonly #output = new TurnOutput();
  readonly #stop: TurnStop;
  readonly #signal: AbortSignal;
  readonly #steps: TurnSteps;
  readonly #route: TurnRoute;
  readonly #effects: TurnEffects;
  readonly #agents: TurnAgents;
  readonly #elsewhere: TurnsElsewhere;
  readonly #ending: TurnEnding;

  constructor(options: {
    held: ClaimedTurn;
    service: AnyService | undefined;
    environment: TurnEnvironment;
  }) {
    const { held, service, environment } = options;
    const { clock, lease, logger, store } = environment;
    this.held = held;
    this.#environment = environment;
    this.#service = service;

    const facts = factsOf(held, environment);
    const memory = openMemory(held.memory);
    const output = this.#output;
    const stop = new TurnStop({ held, store, clock, lease });
    const journal = openJournal(held, environment);
    journal.onStop(() => this.stop());

    const version = service?.version ?? held.version;
    const steps = new TurnSteps({ held, journal, stop, environment, version });
    const route = new TurnRoute({ held, facts, logger, journal, stop, steps, service });
    const asked = { question: route.question, task: route.session.task };
    const untilUnpaused = async (name: string): Promise<void> => {
      const services = [held.service, name];
      const names = namesOf({ session: held.session, services });
      await environment.pauses?.passes(names, { signal: stop.signal });
    };
    const elsewhere = new TurnsElsewhere({
      ...{ ...asked, facts, clock, journal, stop, steps, service },
      untilUnpaused,
    });
    const base = { held, facts, environment, journal, stop, steps };
    const effects = new TurnEffects({
      ...base,
      place: () => route.place,
      onKept: () => output.keep(route.state?.snapshot()),
    });
    const state = (): JsonObject => route.state?.snapshot() ?? {};
    const agents = new TurnAgents({ ...base, memory, effects, state });
    this.#ending = new TurnEnding({
      ...base,
      memory,
      output,
      route,
      effects,
      agents,
      elsewhere,
      service,
    });

    this.journal = journal;
    this.#facts = facts;
    this.#memory = memory;
    this.#stop = stop;
    this.#signal = stop.signal;
    this.#steps = steps;
    this.#route = route;
    this.#elsewhere = elsewhere;
    this.#effects = effects;
    this.#agents = agents;
    this.finished = this.#run();
  }

  /** Exchanges in the memory that this run stored; the fold looks at them. */
  get memoryTurns(): number {
    return this.#ending.memoryTurns;
  }

  /** The service that answered; the fold looks at it. */
  get answeredBy(): LeafService | undefined {
    return this.#route.leaf;
  }

  /** The end of the turn was asked for. */
  stop(): void {
    this.#stop.ask();
  }

  // --- life

  async #run(): Promise<RunEnd> {
    try {
      // A microtask later: the engine attaches readers before the first event.
      await Promise.resolve();
      const { turn, session, service, epoch: life, trace_parent: traceParent } = this.held;
      const next = await inTurnSpan({ turn, session, service, life, traceParent }, () =>
        this.#toTheEnd(),
      );
      this.#environment.budgets?.ended(this.held.turn);
      return { end: "done", next };
    } catch (error) {
      return await this.#ending.endWithout(error);
    } finally {
      this.journal.close();
      this.#stop.close();
    }
  }

  async #toTheEnd(): Promise<string | null> {
    if (this.held.stop) await this.#stop.asked();
    const obstacle = this.#obstacle();
    if (obstacle) return this.#ending.finishTrouble(obstacle);
    try {
      const payload = await this.#untilStopped(this.#handle());
      this.journal.checkComplete();
      const { question } = this.#effects;
      if (question) throw question;
      await this.#assertYesUsed();
      const result = await this.#ending.finish(payload);
      if (!result.stopped) return result.next;
      return await this.#ending.finishTrouble(new StoppedError());
    } catch (error) {
      this.#environment.lease.throwIfAborted();
      const isOver = error instanceof FencedError || codeOf(error) === "TURN_CLOSED";
      if (isOver || this.#ending.isEnding) throw error;
      return this.#ending.finishTrouble(this.#effects.question ?? error);
    }
  }

  /** Why the handler cannot be run at all. */
  #obstacle(): DureError | undefined {
    const { turn, epoch, service, stop } = this.held;
    if (epoch > MAX_EPOCHS) {
      return new DureError(
        "TURN_POISONED",
        `The turn ${turn} was begun ${MAX_LIVES} times and never reached its end.`,
        { hint: "Look into the log for what ended its processes." },
      );
    }
    if (this.#service) return undefined;
    if (stop) return new StoppedError();
    return new DureError("SERVICE_UNAVAILABLE", `No process has the service ${service}.`, {
      class: "unavailable",
      hint: "Start a process that has it, or give its sessions another one.",
    });
  }

  /** An approval whose call is not made must not look used. */
  async #assertYesUsed(): Promise<void> {
    const unused = await this.#effects.approvals.unused();
    if (!unused) return;
    const tool = unused.context["tool"] as string;
    const flow = `${this.#route.leaf!.name}/${this.#route.flow}`;
    throw new DureError("APPROVAL_UNUSED", `${tool} was approved, but ${flow} did not call it.`, {
      hint: APPROVAL_UNUSED_HINT,
    });
  }

  /**
   * The handler may ignore its signal; a stop does not wait for it, only for effects that are being
   * settled.
   */
  async #untilStopped<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {});
    const stopped = new Promise<never>((_, reject) => {
      const cut = (): void => reject(this.#signal.reason as Error);
      if (this.#signal.aborted) cut();
      else this.#signal.addEventListener("abort", cut, { once: true });
    });
    stopped.catch(() => {});
    try {
      return await Promise.race([work, stopped]);
    } catch (error) {
      // People are asked, stop or not.
      if (error instanceof EffectUnknownError || error instanceof DivergedError) throw error;
      // An effect whose outcome is unknown goes before the stop: its stage stays, a person is asked.
      await this.#effects.settleRunning();
      throw this.#stop.isAsked && !this.#environment.lease.aborted ? new StoppedError() : error;
    }
  }

  // --- what the turn does

  async #handle(): Promise<DonePayload> {
    if (this.#signal.aborted) throw this.#signal.reason;
    const leaf = await this.#route.choose(this.#agents);
    if (leaf.kind === "remote") return this.#passThrough(leaf);

    this.#route.open(leaf);
    const intent = this.#route.intentOf(leaf);
    if (intent !== undefined) await this.#route.classify(leaf, intent, this.#agents);
    this.#route.chooseFlow(leaf);
    return this.#runFlow(leaf);
  }

  async #passThrough(remote: RemoteService): Promise<DonePayload> {
    const done = await this.#elsewhere.passThrough(remote);
    this.#agents.addTraces(done.trace.agents);
    await this.#elsewhere.lookWhetherAsking(remote, done);
    return done;
  }

  async #runFlow(leaf: Service): Promise<DonePayload> {
    const where = `The flow ${this.#route.flow} of ${leaf.name}`;
    const iterator = leaf.flows[this.#route.flow]!(this.#context());
    for (;;) {
      const step = await iterator.next();
      if (step.done) {
        if (step.value) return step.value;
        throw new DureError("HANDLER_WITHOUT_DONE", `${where} ended without DONE.`, {
          hint: "Return turn.done({ message }) at the end of the handler.",
        });
      }
      if (step.value.type === "DONE") {
        await iterator.return(undefined);
        return step.value.data;
      }
      assertKnown(step.value, where);
      this.emit(step.value);
    }
  }

  #context(): TurnContext {
    return new TurnContext({
      facts: this.#facts,
      scenario: this.#route.scenario,
      state: this.#route.state!,
      memory: this.#memory,
      signal: this.#signal,
      answering: this.#route.answering,
      limits: this.#environment.limits,
      prompts: this.#environment.prompts,
      machinery: this,
    });
  }

  // --- TurnMachinery: what the handler's context asks for

  runAgent(
    key: string,
    label: string,
    options: AgentCallOptions,
    emit: (event: TurnEvent) => void,
  ): Promise<AgentOutcome> {
    return this.#agents.run(this.#route.leaf as Service, { key, label, options }, emit);
  }

  callOnce(
    tool: AnyTool,
    name: string,
    input: unknown,
    options: EffectCallOptions<unknown>,
  ): Promise<EffectOutcome<unknown>> {
    return this.#effects.call({ tool, name, input }, options);
  }

  step(name: string, work: (signal: AbortSignal) => unknown): Promise<unknown> {
    return this.#steps.run(name, work);
  }

  now(): number {
    return this.#steps.now();
  }

  random(): number {
    return this.#steps.random();
  }

  id(kind: string): string {
    return this.#steps.id(kind);
  }

  emit(event: TurnEvent): void {
    this.#steps.emit(event);
  }

  versionRead(): string {
    return this.#steps.versionRead();
  }

  hook(type: string, data: unknown): void {
    this.#output.hooks.push({ type, data });
  }

  complete(entry: { flow?: string; stage: string; data: unknown }): void {
    const { leaf, flow } = this.#route;
    this.#output.completed.push({ service: leaf!.name, flow, ...entry });
  }

  remember(text: string): void {
    this.#output.remembered = text;
  }

  async finishedFlows(): Promise<readonly FinishedFlow[]> {
    const { store, lease } = this.#environment;
    const flows = await this.#steps.run("finished flows", () =>
      store.finishedFlows(this.held.session, { signal: lease }),
    );
    const { service } = this.#route.place;
    return (flows as readonly FinishedFlow[]).filter((one) => one.service === service);
  }

  settleApproval(): void {
    this.#effects.approvals.settle();
  }
}

/** Lives of one turn: bounds a turn that ends its process each time. */
const MAX_LIVES = 10;
/** Release and claim raise the epoch by one each. */
const MAX_EPOCHS = 2 * MAX_LIVES;

const APPROVAL_UNUSED_HINT = [
  "When turn.escalation is there, let the flow run the agent that has the tool,",
  "or make the call itself: turn.call(name, tool, turn.escalation.context.input, { key }).",
  "turn.settleApproval() says that it is not needed any more.",
].join(" ");

/** The journal of one life; its rows are written under the turn's epoch. */
function openJournal(held: ClaimedTurn, environment: TurnEnvironment): TurnJournal {
  const { store, clock, lease, budgets } = environment;
  const { turn, epoch } = held;
  return new TurnJournal({
    clock,
    rows: held.rows,
    store: {
      append: (rows, calls) => store.journal({ turn, epoch, rows, calls }, { signal: lease }),
    },
    onCallsStored: (calls) => budgets?.settled(turn, calls),
  });
}

/** Handlers in plain JavaScript may yield anything. */
function assertKnown(event: TurnEvent, where: string): void {
  if (TURN_EVENT_TYPES.includes(event.type)) return;
  throw new DureError(
    "EVENT_UNKNOWN",
    `${where} yielded an event of the type ${JSON.stringify(event.type)}.`,
    {
      hint: [
        `Types are: ${TURN_EVENT_TYPES.join(", ")}.`,
        "What clients are to know besides goes through turn.hook(type, data).",
      ].join(" "),
    },
  );
}
