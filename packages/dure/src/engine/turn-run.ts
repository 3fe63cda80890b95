import { createHash } from "node:crypto";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { isObject, jsonCopy, type JsonObject } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import {
  TURN_EVENT_TYPES,
  type Done,
  type HookRecord,
  type TraceAgent,
  type TurnError,
  type TurnEvent,
} from "../kernel/turn-events.ts";
import { sessionIdOfKey } from "../kernel/tenant.ts";
import type { Llm } from "../models/card.ts";
import type { ModelCall, ModelRequest } from "../models/model.ts";
import { inToolSpan, inTurnSpan, noteFailure } from "../models/telemetry.ts";
import {
  FencedError,
  type FinishedTurn,
  type TurnStore,
  type ClaimedTurn,
} from "../durable/turns.ts";
import type { Agent } from "./agent.ts";
import { Approvals, REFUSED, type FindApproval } from "./approvals.ts";
import { AgentRun, type AttemptRules } from "./agent-run.ts";
import type { AnyService, LeafService } from "./combine.ts";
import type { Budgets } from "./budgets.ts";
import { EffectUnknownError, OnceRunner, type OnceCall } from "./effects.ts";
import { DivergedError, TurnJournal } from "./journal.ts";
import { logFailure } from "./log-failure.ts";
import { openMemory, remember, turnsOf, type Memory } from "./memory.ts";
import {
  begunElsewhere,
  passThrough,
  remoteStep,
  stopOf,
  stopRows,
  tryStopElsewhere,
  turnElsewhere,
  type StopElsewhere,
  type TurnElsewhere,
} from "./pass-through.ts";
import { Places } from "./places.ts";
import { isAsking, type RemoteService } from "./remote-service.ts";
import type { DonePayload, ErrorFacts, Service } from "./service.ts";
import { enter, isMidFlow, openState, sessionAfter, type SessionState } from "./session-state.ts";
import type { StateManager } from "./state.ts";
import { ShownText } from "./shown-text.ts";
import { troubleText } from "./texts.ts";
import type { AnyTool } from "./tool.ts";
import {
  doneEvent,
  doneOf,
  hookRows,
  rememberInterrupted,
  terminalFlow,
  turnErrorOf,
  type CompletedFlow,
} from "./turn-end.ts";
import {
  ApprovalPendingError,
  divergedEscalation,
  effectEscalation,
  unusedEscalation,
  unwrittenEscalation,
  type AskingPlace,
  type TurnEscalation,
} from "./turn-escalations.ts";
import { storedCall } from "./stored-call.ts";
import { StoppedError, TurnStop } from "./turn-stop.ts";
import {
  TurnContext,
  type AgentCallOptions,
  type AgentOutcome,
  type EffectCallOptions,
  type EffectOutcome,
  type TurnFacts,
  type TurnMachinery,
} from "./turn-context.ts";

/** What a run needs from its engine. */
export interface TurnRunEnvironment {
  readonly store: TurnStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly devMode: boolean;
  readonly locale: string;
  readonly timeZone: string;
  readonly defaultLlm: Llm;
  readonly everyLlm: Llm | undefined;
  readonly attemptRules: (session: string) => AttemptRules | undefined;
  readonly limits: { readonly maxFillTurns: number };
  /** Aborts when this process may write no more. */
  readonly lease: AbortSignal;
  resolve(llm: Llm | Llm["fallbacks"][number]): ModelCall;
  /** Absent: nothing is limited. */
  readonly budgets: Budgets | undefined;
  readonly findApproval: FindApproval;
}

/** `fenced`: it belongs to another life. `failed`: its end could not be written. */
export interface RunEnd {
  readonly end: "done" | "fenced" | "failed";
  /** The session's next turn. */
  readonly next: string | null;
}

/**
 * One life of one turn: choose service and flow, run the handler against the journal, end with one
 * `DONE`.
 *
 * A life ends in one of four ways: finished (the statement that stores `DONE` was committed),
 * fenced (another process holds the turn, nothing more is written), failed (its end could not be
 * written), or cut off by death. After the last two another life begins with the same journal.
 */
export class TurnRun implements TurnMachinery {
  readonly held: ClaimedTurn;
  readonly journal: TurnJournal;
  /**
   * Settles when this life is over; never rejects. `next` is the session's next turn, which this
   * process now holds.
   */
  readonly finished: Promise<RunEnd>;
  /**
   * Exchanges in the memory that this run stored, and the service that answered; the folder looks
   * at them.
   */
  memoryTurns = 0;
  get answeredBy(): LeafService | undefined {
    return this.#leaf;
  }

  readonly #environment: TurnRunEnvironment;
  /** Absent: no living process has it, and the turn ends by saying so. */
  readonly #service: AnyService | undefined;
  readonly #facts: TurnFacts;
  readonly #stop: TurnStop;
  readonly #signal: AbortSignal;
  readonly #places = new Places();
  readonly #startedAt: number;
  readonly #once: OnceRunner;
  readonly #origins = new WeakMap<object, { path: string; name: string }>();
  readonly #agents: TraceAgent[] = [];
  /** Those that have not ended. */
  readonly #runningAgents = new Set<AgentRun>();
  readonly #hooks: HookRecord[] = [];
  readonly #completed: CompletedFlow[] = [];
  readonly #escalations: TurnEscalation[] = [];
  readonly #runningEffects = new Set<Promise<unknown>>();
  /**
   * What people have to be asked, whatever the handler makes of it; by key of the effect, or
   * subject of the yes.
   */
  readonly #questions = new Map<string, EffectUnknownError | ApprovalPendingError>();
  readonly #approvals: Approvals;
  /** By path; what has ended there is not among them. */
  readonly #elsewhere: Map<string, TurnElsewhere>;
  /** Of these, what is to be ended there with this turn. */
  readonly #stopsElsewhere: StopElsewhere[] = [];

  #leaf: LeafService | undefined;
  #session: SessionState;
  #memory: Memory;
  /**
   * An answer from the inbox goes to the service that asked, not to the one where the person is.
   */
  #isVisit = false;
  /** See `LeafEnd`. */
  #isAsking: boolean | undefined;
  // oxlint-disable-next-line typescript/no-explicit-any -- typed by the service's own state definition
  #state: StateManager<any> | undefined;
  /** The state that a settled effect has written: kept whatever becomes of the turn. */
  #kept: JsonObject | undefined;
  /** How many of `#completed` were named by then. */
  #keptCompleted = 0;
  #scenario = "";
  #flow = "";
  #versionRead = false;
  #remembered: string | undefined;
  readonly #shown: ShownText;
  /** The handler is done with; what fails now is left to another life. */
  #isEnding = false;

  constructor(options: {
    held: ClaimedTurn;
    service: AnyService | undefined;
    environment: TurnRunEnvironment;
  }) {
    const { held, environment } = options;
    this.held = held;
    this.#environment = environment;
    this.#service = options.service;
    this.#facts = factsOf(held, environment);
    this.#session = { services: {}, ...(held.state as Partial<SessionState>) };
    this.#memory = openMemory(held.memory);
    this.#shown = new ShownText(held.rows);
    this.#startedAt = environment.clock.monotonic();
    const { store } = environment;
    this.#stop = new TurnStop({ held, store, clock: environment.clock, lease: environment.lease });
    this.#signal = this.#stop.signal;
    this.journal = new TurnJournal({
      clock: environment.clock,
      rows: held.rows,
      store: {
        append: (rows, calls) =>
          store.journal(held.turn, held.epoch, rows, calls, { signal: environment.lease }),
      },
      onCallsStored: (calls) => environment.budgets?.settled(held.turn, calls),
    });
    this.journal.onStop(() => this.stop());
    this.#elsewhere = new Map(begunElsewhere(this.journal, this.#facts));
    this.#approvals = new Approvals({
      held,
      facts: this.#facts,
      store,
      find: environment.findApproval,
      signal: environment.lease,
      place: () => this.#askingPlace(),
    });
    this.#once = new OnceRunner({
      clock: environment.clock,
      isStopped: () => this.#stop.isAsked,
      ledger: {
        intent: async (effect) => {
          const taken = await this.journal.take();
          try {
            const answer = await store.effectIntent(
              {
                ...effect,
                turn: held.turn,
                epoch: held.epoch,
                rows: taken.rows,
                calls: taken.calls,
              },
              { signal: environment.lease },
            );
            taken.committed();
            return answer;
          } catch (error) {
            taken.refused();
            throw error;
          }
        },
        settle: (key, status, outcome) =>
          store.effectSettle(held.turn, held.epoch, key, status, outcome, {
            signal: environment.lease,
          }),
      },
    });
    this.finished = this.#run();
  }

  get #root(): AnyService {
    return this.#service!;
  }

  /** Somebody asked for the end. */
  stop(): void {
    this.#stop.ask();
  }

  #knows(key: string): void {
    this.#questions.delete(key);
    this.#stop.knows(key);
  }

  // --- life

  async #run(): Promise<RunEnd> {
    try {
      // A microtask later, so that whoever made this run can attach readers before the first event.
      await Promise.resolve();
      const { turn, session, service, epoch: life, trace_parent: traceParent } = this.held;
      const next = await inTurnSpan({ turn, session, service, life, traceParent }, () =>
        this.#toTheEnd(),
      );
      this.#environment.budgets?.ended(this.held.turn);
      return { end: "done", next };
    } catch (error) {
      return await this.#endWithout(error);
    } finally {
      this.journal.close();
      this.#stop.close();
    }
  }

  async #toTheEnd(): Promise<string | null> {
    if (this.held.stop) await this.#stop.asked();
    if (this.held.epoch > MAX_EPOCHS) {
      const error = new DureError(
        "TURN_POISONED",
        `The turn ${this.held.turn} was begun ${MAX_LIVES} times and never reached its end.`,
        { hint: "Look into the log for what ended its processes." },
      );
      return this.#finishTrouble(error);
    }
    if (!this.#service) {
      const error = new DureError(
        "SERVICE_UNAVAILABLE",
        `No process has the service ${this.held.service}.`,
        {
          class: "unavailable",
          hint: "Start a process that has it, or give its sessions another one.",
        },
      );
      return this.#finishTrouble(this.held.stop ? new StoppedError() : error);
    }
    try {
      const payload = await this.#untilStopped(this.#handle());
      this.journal.checkComplete();
      for (const question of this.#questions.values()) throw question;
      await this.#assertYesUsed();
      const result = await this.#finish(payload, { stopped: false });
      return result.stopped ? await this.#finishTrouble(new StoppedError()) : result.next;
    } catch (error) {
      this.#environment.lease.throwIfAborted();
      if (error instanceof FencedError || codeOf(error) === "TURN_CLOSED" || this.#isEnding) {
        throw error;
      }
      const [question] = this.#questions.values();
      return this.#finishTrouble(question ?? error);
    }
  }

  /** A yes that allows a call and whose call is not made must not look as if it were. */
  async #assertYesUsed(): Promise<void> {
    const unused = await this.#approvals.unused();
    if (!unused) return;
    throw new DureError(
      "APPROVAL_UNUSED",
      `${unused.context["tool"] as string} was approved, but ${this.#leaf!.name}/${this.#flow} did not call it.`,
      {
        hint: "When turn.escalation is there, let the flow run the agent that has the tool, or make the call itself: turn.call(name, tool, turn.escalation.context.input, { key }). turn.settleApproval() says that it is not needed any more.",
      },
    );
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
      if (error instanceof EffectUnknownError || error instanceof DivergedError) throw error; // people are asked, stop or not
      const effects = await Promise.allSettled(this.#runningEffects);
      // The stop has come too late for an effect of which nobody knows: its stage stays, and a
      // person is asked.
      for (const effect of effects) {
        if (effect.status === "rejected" && effect.reason instanceof EffectUnknownError) {
          throw effect.reason;
        }
      }
      throw this.#stop.isAsked && !this.#environment.lease.aborted ? new StoppedError() : error;
    }
  }

  // --- what the turn does

  async #handle(): Promise<DonePayload> {
    if (this.#signal.aborted) throw this.#signal.reason;
    this.#checkVersion();
    const leaf = await this.#route();
    this.#leaf = leaf;
    if (leaf.kind === "remote") return this.#passThrough(leaf);

    this.#state = openState(this.#session, leaf);
    this.#scenario = this.#session.services[leaf.name]?.scenario ?? "";
    if (
      !isMidFlow(this.#session, leaf, this.#state) &&
      leaf.intent !== undefined &&
      this.#facts.author === "person"
    ) {
      await this.#classify(leaf.intent);
    }

    const asked = this.#facts.escalation?.context["flow"];
    const key =
      typeof asked === "string" && asked in leaf.flows
        ? asked
        : leaf.router
          ? leaf.router(this.#scenario, { message: this.#facts.message })
          : this.#scenario;
    this.#flow = key in leaf.flows ? key : leaf.defaultFlow;
    const context = new TurnContext({
      facts: this.#facts,
      scenario: this.#scenario,
      state: this.#state,
      memory: this.#memory,
      signal: this.#signal,
      limits: this.#environment.limits,
      machinery: this,
    });
    const iterator = leaf.flows[this.#flow]!(context);
    for (;;) {
      const step = await iterator.next();
      if (step.done) {
        if (step.value) return step.value;
        throw new DureError(
          "HANDLER_WITHOUT_DONE",
          `The flow ${this.#flow} of ${leaf.name} ended without DONE.`,
          { hint: "Return turn.done({ message }) at the end of the handler." },
        );
      }
      if (step.value.type === "DONE") {
        await iterator.return(undefined);
        return step.value.data;
      }
      if (!TURN_EVENT_TYPES.includes(step.value.type)) {
        throw new DureError(
          "EVENT_UNKNOWN",
          `The flow ${this.#flow} of ${leaf.name} yielded an event of the type ${JSON.stringify(step.value.type)}.`,
          {
            hint: `Types are: ${TURN_EVENT_TYPES.join(", ")}. What clients are to know besides goes through turn.hook(type, data).`,
          },
        );
      }
      this.emit(step.value);
    }
  }

  /**
   * A release that changes the order of steps raises the version; turns of the old one end, unless
   * the handler looks at it.
   */
  #checkVersion(): void {
    if (!this.journal.isReplay || this.held.version === this.#root.version) return;
    this.#versionMismatch = true;
  }
  #versionMismatch = false;

  #past(path: string, name: string): ReturnType<TurnJournal["past"]> {
    const past = this.journal.past(path, name);
    if (past && this.#versionMismatch && !this.#versionRead && !name.startsWith("route")) {
      throw this.journal.diverge(
        path,
        `version ${this.held.version}`,
        `version ${this.#root.version}`,
      );
    }
    return past;
  }

  async #route(): Promise<LeafService> {
    const root = this.#root;
    if (root.kind !== "combined") return root;
    const asked = this.#facts.escalation?.context["service"];
    const asking = typeof asked === "string" ? root.services.get(asked) : undefined;
    if (asking) {
      this.#isVisit = true;
      return asking;
    }
    const active =
      this.#session.active === undefined ? undefined : root.services.get(this.#session.active);
    if (
      active &&
      (this.#facts.author === "system" ||
        (isMidFlow(this.#session, active) && !root.asksToLeave(this.#facts.message)))
    ) {
      return active;
    }
    const path = this.#places.next();
    const past = this.#past(path, "route");
    let name = past?.record?.value as string | undefined;
    if (name === undefined) {
      name = await this.#chooseService(root, path);
      this.journal.record(path, "route", name, { cheap: root.router.kind === "function" });
    }
    const chosen = root.services.get(name);
    if (!chosen) {
      throw new DureError(
        "SERVICE_UNKNOWN",
        `The router of ${root.name} chose "${name}", which is none of its services.`,
        { hint: `Services are: ${[...root.services.keys()].join(", ")}.` },
      );
    }
    this.#session = enter(this.#session, chosen, active);
    return chosen;
  }

  async #chooseService(
    root: Extract<AnyService, { kind: "combined" }>,
    path: string,
  ): Promise<string> {
    const { router } = root;
    const services = [...root.services.keys()];
    if (router.kind === "function") {
      return router.route(this.#facts.message, {
        services,
        current: this.#session.active,
        locale: this.#facts.locale,
        signal: this.#signal,
      });
    }
    try {
      const outcome = await this.#runToEnd(
        this.#agentRun(router.agent, "router", "router", { show: false }, `${path}.1`, () => {}),
      );
      const chosen = isObject(outcome.data) ? outcome.data["service"] : undefined;
      return typeof chosen === "string" && services.includes(chosen) ? chosen : router.default;
    } catch (error) {
      if (this.#isControl(error)) throw error;
      return router.default;
    }
  }

  /** The scenario by the intent agent. Its failure keeps what there is and never ends the turn. */
  async #classify(key: string): Promise<void> {
    try {
      const { data } = await this.runAgent(
        key,
        this.#facts.locale.startsWith("en") ? "Understanding" : "의도 파악 중",
        { show: false },
        (event) => this.emit(event),
      );
      const scenario = isObject(data)
        ? (data["scenario"] ?? data["intent"] ?? data["action"])
        : undefined;
      if (typeof scenario === "string") this.#scenario = scenario;
    } catch (error) {
      if (this.#isControl(error)) throw error;
      this.#environment.logger.warn(
        { turn: this.held.turn, code: codeOf(error) },
        "the intent agent failed; the scenario stays as it was",
      );
    }
  }

  #isControl(error: unknown): boolean {
    return (
      this.#signal.aborted ||
      error instanceof FencedError ||
      error instanceof DivergedError ||
      codeOf(error) === "TURN_CLOSED"
    );
  }

  async #passThrough(remote: RemoteService): Promise<DonePayload> {
    const path = this.#places.next();
    const name = remoteStep(remote);
    const past = this.#past(path, name);
    const recorded = past?.record?.value as Done | undefined;
    if (recorded) return this.#passed(remote, recorded);
    const restart = (past?.events.length ?? 0) > 0;
    this.#stop.assertMayBegin();
    const there = turnElsewhere(remote.name, this.#facts, path);
    this.#elsewhere.set(path, there);
    await this.journal.begins(path, name);
    await this.#goesOutside();
    const events = passThrough(remote, this.#facts, {
      there,
      clock: this.#environment.clock,
      signal: this.#signal,
    });
    for (;;) {
      const step = await events.next();
      if (step.done) {
        this.journal.record(path, name, step.value);
        this.#elsewhere.delete(path);
        return this.#passed(remote, step.value);
      }
      const event: TurnEvent =
        restart && step.value.type === "AGENT_START"
          ? { type: "AGENT_START", data: { ...step.value.data, restart: true } }
          : step.value;
      this.#store(path, name, event);
    }
  }

  async #passed(remote: RemoteService, done: Done): Promise<Done> {
    this.#agents.push(...done.trace.agents);
    if (this.#root.kind === "combined") {
      this.#isAsking = await isAsking(remote, done, {
        clock: this.#environment.clock,
        signal: this.#signal,
      });
    }
    return done;
  }

  // --- TurnMachinery: what the handler's context asks for

  async runAgent(
    key: string,
    label: string,
    options: AgentCallOptions,
    emit: (event: TurnEvent) => void,
  ): Promise<AgentOutcome> {
    this.#signal.throwIfAborted();
    const agents = (this.#leaf as Service).agents;
    const agent = agents[key];
    if (!agent) {
      throw new DureError(
        "AGENT_UNKNOWN",
        `The service ${this.#leaf!.name} has no agent "${key}".`,
        { hint: `Agents are: ${Object.keys(agents).join(", ")}.` },
      );
    }
    const path = this.#places.next();
    const name = `agent:${key}`;
    this.#past(path, name);
    const run = this.#agentRun(agent, key, label, options, path, (event) => {
      this.#origins.set(event, { path, name });
      emit(event);
    });
    return this.#runToEnd(run);
  }

  async #runToEnd(run: AgentRun): Promise<AgentOutcome> {
    this.#runningAgents.add(run);
    try {
      return await run.run();
    } finally {
      this.#runningAgents.delete(run); // it has noted its trace
    }
  }

  #agentRun(
    agent: Agent,
    key: string,
    label: string,
    call: AgentCallOptions,
    path: string,
    emit: (event: TurnEvent) => void,
  ): AgentRun {
    const environment = this.#environment;
    return new AgentRun({
      agent,
      key,
      label,
      call,
      path,
      emit,
      environment: {
        facts: this.#facts,
        journal: this.journal,
        clock: environment.clock,
        memory: this.#memory,
        state: () => this.#state?.snapshot() ?? {},
        signal: this.#signal,
        defaultLlm: environment.defaultLlm,
        everyLlm: environment.everyLlm,
        attemptRules: environment.attemptRules(this.held.session),
        resolve: (llm) => environment.resolve(llm),
        reserve: (reserving, request, model, place) =>
          this.#reserve(reserving, request, model, place),
        callBegins: () => this.#callBegins(),
        noteCall: (name, record, place) => this.journal.call(storedCall(name, record, place)),
        noteAgent: (trace) => this.#agents.push(trace),
        beginsWork: () => this.#stop.assertMayBegin(),
        goesOutside: () => this.#goesOutside(),
        once: (once) => this.#runOnce(once),
        approvalFor: (name, tool, input) => this.#permitted(this.#approvals.of(name, tool, input)),
      },
    });
  }

  async #reserve(
    agent: Agent,
    request: ModelRequest,
    model: ModelCall,
    place: string,
  ): Promise<void> {
    const { session, turn, epoch } = this.held;
    const answer = await this.#environment.budgets?.reserve(
      { session, turn, epoch, agent, place },
      request,
      model,
      this.journal,
    );
    if (answer !== "stop") return;
    this.stop();
    throw new StoppedError();
  }

  /**
   * What stands before it is stored, and the turn is still held: another process may have asked the
   * same already.
   */
  async #goesOutside(): Promise<void> {
    const { turn, epoch } = this.held;
    await this.journal.flushResults();
    await this.#environment.store.confirm(turn, epoch, { signal: this.#environment.lease });
  }

  #callBegins(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#runningEffects.add(promise);
    return () => {
      this.#runningEffects.delete(promise);
      resolve();
    };
  }

  async callOnce(
    tool: AnyTool,
    name: string,
    input: unknown,
    options: EffectCallOptions<unknown>,
  ): Promise<EffectOutcome<unknown>> {
    this.#signal.throwIfAborted();
    const path = this.#places.next();
    const stepName = `call:${name}`;
    const past = this.#past(path, stepName);
    let outcome = past?.record?.value as EffectOutcome<unknown> | undefined;
    const key = [this.#facts.effects, name, ...options.key].join("/");
    if (!outcome) {
      const { session, turn } = this.held;
      const call = {
        tool,
        name,
        input: tool.inputSchema.parse(input) as unknown,
        key,
        context: { session, turn, agent: name },
      };
      const permit = await this.#permitted(this.#approvals.permitFor(call));
      if (permit.is === "allowed") {
        outcome = await this.#runOnce({ ...call, approval: permit.approval }, options.onSettled);
      } else this.#settled((outcome = REFUSED), options.onSettled);
      this.journal.record(path, stepName, outcome);
    } else {
      this.#settled(outcome, options.onSettled);
      this.#knows(key);
    }
    this.#signal.throwIfAborted();
    return outcome;
  }

  async #runOnce(
    call: OnceCall,
    onSettled?: (outcome: EffectOutcome<unknown>) => void,
  ): Promise<EffectOutcome<unknown>> {
    const work = (async () => {
      const outcome = await inToolSpan(
        call.name,
        () => this.#once.run(call, { signal: this.#environment.lease }),
        (ended) => (ended.status === "failed" ? ended.error.code : undefined),
      );
      if (outcome.status === "stopped") throw new StoppedError();
      if (outcome.status === "approval_used") {
        throw new DureError("APPROVAL_USED", `The approval for ${call.name} was used before.`, {
          class: "conflict",
          hint: "Ask again; each approval holds for one call.",
        });
      }
      this.#settled(outcome, onSettled);
      this.#knows(call.key);
      return outcome;
    })();
    this.#runningEffects.add(work);
    try {
      return await work;
    } catch (error) {
      if (error instanceof EffectUnknownError) this.#questions.set(call.key, error);
      throw error;
    } finally {
      this.#runningEffects.delete(work);
    }
  }

  async #permitted<T>(permit: Promise<T>): Promise<T> {
    try {
      return await permit;
    } catch (error) {
      if (error instanceof ApprovalPendingError) {
        this.#stop.assertMayBegin(); // nobody is asked for what a stopped turn will not do
        this.#questions.set(error.escalation.subject, error);
      }
      throw error;
    }
  }

  /** What the handler writes for a settled effect outlives a stop. */
  #settled(
    outcome: EffectOutcome<unknown>,
    onSettled: EffectCallOptions<unknown>["onSettled"],
  ): void {
    if (!onSettled) return;
    onSettled(outcome);
    this.#kept = this.#state?.snapshot();
    this.#keptCompleted = this.#completed.length;
  }

  #askingPlace(): AskingPlace {
    return { service: this.#leaf?.name ?? this.held.service, flow: this.#flow };
  }

  async step(name: string, work: (signal: AbortSignal) => unknown): Promise<unknown> {
    this.#signal.throwIfAborted();
    const path = this.#places.next();
    const past = this.#past(path, `step:${name}`);
    if (past?.record) return past.record.value;
    this.#stop.assertMayBegin();
    await this.#goesOutside();
    const value = await work(this.#signal);
    this.#signal.throwIfAborted();
    this.journal.record(path, `step:${name}`, value);
    return jsonCopy(value, name); // what a replay will give
  }

  now(): number {
    const path = this.#places.next();
    const past = this.#past(path, "now");
    if (past?.record) return past.record.value as number;
    const now = this.#environment.clock.now();
    this.journal.record(path, "now", now, { cheap: true });
    return now;
  }

  random(): number {
    return this.#derive("random").readUIntBE(0, 6) / 2 ** 48;
  }

  id(kind: string): string {
    return `${kind}_${this.#derive("id").toString("hex").slice(0, 26)}`;
  }

  /** Not recorded: it follows from the turn and the place. */
  #derive(name: string): Buffer {
    return createHash("sha256")
      .update(`${this.held.turn}/${name}/${++this.#derived}`)
      .digest();
  }
  #derived = 0;

  emit(event: TurnEvent): void {
    const origin = this.#origins.get(event);
    if (origin) return this.#store(origin.path, origin.name, event);
    const path = this.#places.next();
    const name = `event:${event.type}`;
    if (!this.#past(path, name)) this.#store(path, name, event);
  }

  versionRead(): string {
    this.#versionRead = true;
    return this.held.version;
  }

  hook(type: string, data: unknown): void {
    this.#hooks.push({ type, data });
  }

  complete(entry: { flow?: string; stage: string; data: unknown }): void {
    this.#completed.push({ service: this.#leaf!.name, flow: this.#flow, ...entry });
  }

  remember(text: string): void {
    this.#remembered = text;
  }

  settleApproval(): void {
    this.#approvals.settle();
  }

  #store(path: string, name: string, event: TurnEvent): void {
    if (this.#stop.isAsked) return; // what goes on to be settled shows nothing any more
    this.#shown.take(`${path} ${name}`, event);
    this.journal.event(path, name, event);
  }

  // --- the end

  async #finish(
    payload: DonePayload,
    {
      stopped,
      state = this.#state?.snapshot(),
      memory,
    }: { stopped: boolean; state?: JsonObject | undefined; memory?: Memory },
  ): Promise<{ stopped: boolean; next: string | null }> {
    const { held } = this;
    const leaf = this.#leaf;
    const terminal = terminalFlow(leaf, this.#flow, state);
    const hooks = [...this.#hooks, ...(payload.hooks ?? [])];
    const named = [
      ...this.#completed,
      ...(payload.completed ? [{ service: leaf?.name ?? held.service, ...payload.completed }] : []),
    ];
    const completed = named.length === 0 && terminal ? [terminal] : named;
    const elapsedMs = this.#environment.clock.monotonic() - this.#startedAt;
    const cutOff = [...this.#runningAgents].map((run) =>
      run.trace(payload.error?.code ?? "TURN_CLOSED"),
    );
    const done = doneOf(payload, {
      id: held.turn,
      locale: this.#facts.locale,
      state: state ?? {},
      hooks,
      agents: [...this.#agents, ...cutOff],
      elapsedMs,
    });
    // First what is gathered, also the open chunk of a stopped answer: DONE stands behind it.
    const taken = await this.journal.take();
    const doneSeq = this.journal.nextSeq();
    const finished: FinishedTurn = {
      turn: held.turn,
      session: held.session,
      epoch: held.epoch,
      stopped,
      done,
      done_seq: doneSeq,
      rows: taken.rows,
      calls: taken.calls,
      state:
        leaf &&
        sessionAfter(this.#session, this.#root, {
          leaf,
          manager: this.#state !== undefined,
          state,
          scenario: this.#scenario,
          isTerminal: terminal !== undefined,
          isAsking: this.#isAsking,
          isVisit: this.#isVisit,
        }),
      memory:
        memory ?? remember(this.#memory, this.#facts.message, this.#remembered ?? payload.message),
      completed,
      outbox: [
        ...hookRows(held, leaf, hooks, payload.message),
        ...stopRows(held, this.#stopsElsewhere),
      ],
      escalations: this.#escalations,
      ...(this.#approvals.settled !== undefined && { approval: this.#approvals.settled }),
      events: [doneEvent(held, leaf?.name ?? held.service, done)],
    };
    let result: Awaited<ReturnType<TurnStore["finish"]>>;
    try {
      result = await this.#environment.store.finish(finished, { signal: this.#environment.lease });
    } catch (error) {
      taken.refused();
      throw error;
    }
    if (result.outcome === "stop") {
      taken.refused();
      return { stopped: true, next: null };
    }
    taken.committed();
    this.memoryTurns = turnsOf(finished.memory as Memory);
    this.journal.tellDone(doneSeq, { type: "DONE", data: done });
    return { stopped: false, next: result.next };
  }

  /**
   * The end of a turn that did not do what it was asked: state as before, except what settled
   * effects have written.
   */
  async #finishTrouble(error: unknown): Promise<string | null> {
    this.#isEnding = true;
    this.#approvals.unsettle();
    const { logger, devMode } = this.#environment;
    const code = codeOf(error) ?? "INTERNAL";
    const stopped = code === "TURN_STOPPED" && this.#stop.isAsked;
    const waits = code === "EFFECT_UNKNOWN" || code === "APPROVAL_PENDING";
    if (error instanceof ApprovalPendingError) this.#escalations.push(error.escalation);
    if (error instanceof EffectUnknownError) {
      this.#escalations.push(
        effectEscalation(this.held, this.#facts.locale, this.#askingPlace(), error),
      );
    }
    if (error instanceof DivergedError) {
      this.#escalations.push(
        divergedEscalation(
          this.held,
          this.#facts.locale,
          error,
          await this.#environment.store.effectsOf(this.held.turn, {
            signal: this.#environment.lease,
          }),
        ),
      );
    }
    for (const { key, tool, input } of await this.#stop.lostEffects()) {
      if (error instanceof EffectUnknownError && error.key === key) continue;
      this.#escalations.push(
        effectEscalation(
          this.held,
          this.#facts.locale,
          this.#askingPlace(),
          new EffectUnknownError(tool, key, input, "its turn ended before it could be asked for"),
        ),
      );
    }
    const unused = waits ? undefined : await this.#approvals.unused();
    if (unused) this.#escalations.push(unusedEscalation(this.held, this.#facts.locale, unused));
    if (stopped || code === "REMOTE_TIMEOUT") this.#stopElsewhere();
    if (!stopped && !waits) noteFailure(code);
    if (!stopped && !waits) {
      logFailure(
        logger,
        error,
        {
          turn: this.held.turn,
          session: this.held.session,
          code,
          ...(error instanceof DureError && error.hint && { hint: error.hint }),
        },
        "the turn ended with an error",
      );
    }

    const turnError = turnErrorOf(error, { devMode });
    // A turn that waits for a person keeps its stage; every other one drops what no settled effect
    // has written.
    const state = waits ? this.#state?.snapshot() : (this.#kept ?? this.#stateBefore());
    const facts = { state: state ?? {}, settled: this.#kept !== undefined };
    const message = this.#ownWords(turnError, facts) ?? troubleText(error, this.#facts.locale);
    if (!waits) this.#completed.length = this.#keptCompleted;
    this.#hooks.length = 0;
    const memory = stopped
      ? rememberInterrupted(this.#memory, this.#facts.message, this.#shown.text)
      : undefined;
    // What people are asked about ends in its own way even when a stop was asked for meanwhile.
    const isAsked = waits || error instanceof DivergedError;
    const options = {
      stopped: stopped || (isAsked && this.#stop.isAsked),
      state,
      ...(memory && { memory }),
    };
    const result = await this.#finish({ message, nextAction: "ASK", error: turnError }, options);
    if (!result.stopped) return result.next;
    this.stop();
    this.#escalations.length = 0;
    return this.#finishTrouble(isAsked ? error : new StoppedError());
  }

  /**
   * Now, and by rows that are stored with `DONE`: this process may be gone before the other servers
   * have heard of it.
   */
  #stopElsewhere(): void {
    for (const there of this.#elsewhere.values()) {
      const stop = stopOf(there, this.#facts);
      const remote =
        this.#service?.kind === "combined" ? this.#service.services.get(there.name) : this.#service;
      if (remote?.kind === "remote" && remote.name === there.name) {
        void tryStopElsewhere(remote, stop, this.#environment.clock);
      }
      this.#stopsElsewhere.push(stop);
    }
    this.#elsewhere.clear();
  }

  /**
   * The last ways to an end: what the turn has gathered cannot be written, so it ends without it;
   * and if that cannot be written either, with nothing but its error. A person is told what it had
   * done to the outside. Else the turn rests, and is led again later.
   */
  async #endWithout(error: unknown): Promise<RunEnd> {
    const { held } = this;
    const { logger, store, lease } = this.#environment;
    const facts = { turn: held.turn, session: held.session };
    for (const end of [() => this.#finishTrouble(error), () => this.#finishBare(error)]) {
      if (error instanceof FencedError || codeOf(error) === "TURN_CLOSED" || lease.aborted) {
        return { end: "fenced", next: null };
      }
      try {
        this.journal.abandon();
        const effects = await store.effectsOf(held.turn, { signal: lease });
        this.#escalations.splice(
          0,
          Infinity,
          unwrittenEscalation(held, this.#facts.locale, messageOf(error), effects),
        );
        const next = await end();
        logFailure(
          logger,
          error,
          facts,
          "what a turn had done could not be stored; it ended without",
          { as: "error" },
        );
        return { end: "done", next };
      } catch (failure) {
        if (failure instanceof FencedError || lease.aborted) return { end: "fenced", next: null };
        logFailure(
          logger,
          failure,
          { ...facts, ended: codeOf(error) },
          "a turn could not be ended",
          { as: "error" },
        );
      }
    }
    return { end: "failed", next: null };
  }

  async #finishBare(error: unknown): Promise<string | null> {
    const { held } = this;
    const { store, devMode, lease, clock } = this.#environment;
    const payload: DonePayload = {
      message: troubleText(error, this.#facts.locale),
      nextAction: "ASK",
      error: turnErrorOf(error, { devMode }),
    };
    const done = doneOf(payload, {
      id: held.turn,
      locale: this.#facts.locale,
      state: {},
      hooks: [],
      agents: [],
      elapsedMs: clock.monotonic() - this.#startedAt,
    });
    const doneSeq = this.journal.nextSeq();
    const bare = {
      turn: held.turn,
      session: held.session,
      epoch: held.epoch,
      stopped: true,
      done,
      done_seq: doneSeq,
      rows: [],
      calls: [],
      completed: [],
      outbox: stopRows(held, this.#stopsElsewhere),
    };
    const { next } = await store.finish(
      { ...bare, escalations: this.#escalations, events: [doneEvent(held, held.service, done)] },
      { signal: lease },
    );
    this.journal.tellDone(doneSeq, { type: "DONE", data: done });
    return next;
  }

  /** What the service says of its error. One that cannot say it leaves it to the engine. */
  #ownWords(error: TurnError, facts: ErrorFacts): string | undefined {
    if (this.#leaf?.kind !== "service") return undefined;
    try {
      return this.#leaf.onError?.(error, this.#facts.locale, facts);
    } catch (failure) {
      logFailure(
        this.#environment.logger,
        failure,
        { turn: this.held.turn, service: this.#leaf.name },
        "onError threw; the engine's text is used",
      );
      return undefined;
    }
  }

  /** Absent where it cannot be read: it stays stored as it is. */
  #stateBefore(): JsonObject | undefined {
    const leaf = this.#leaf ?? this.#leafBefore();
    if (leaf?.kind !== "service") return undefined;
    try {
      return openState(this.#session, leaf).snapshot();
    } catch {
      return undefined;
    }
  }

  /** Where the person is, of a turn that ends before it is led anywhere. */
  #leafBefore(): LeafService | undefined {
    const root = this.#service;
    if (root?.kind !== "combined") return root;
    return this.#session.active === undefined ? undefined : root.services.get(this.#session.active);
  }
}

/**
 * Lives of one turn. A turn that takes its process with it each time must not do so for ever.
 * Source: our choice.
 */
const MAX_LIVES = 10;
/** Release and claim raise the epoch by one each. */
const MAX_EPOCHS = 2 * MAX_LIVES;

/** Characters of a session id. Source: docs/spec/conversation §6. */
const MAX_SESSION_ID = 200;

/**
 * Another server knows nothing of our tenants. Two of them that say `ceo` must not meet there, so
 * the incarnation, which no person knows, stands before it.
 */
function sessionElsewhere({ session, incarnation }: ClaimedTurn): string {
  const id = sessionIdOfKey(session);
  return id === session ? id : `${incarnation}.${id}`.slice(0, MAX_SESSION_ID);
}

function factsOf(held: ClaimedTurn, environment: { locale: string; timeZone: string }): TurnFacts {
  const last = held.messages.at(-1);
  const input = (last?.input ?? {}) as {
    slots?: JsonObject;
    confirm_id?: string;
    escalation?: TurnFacts["escalation"];
    background?: string;
  };
  return {
    turnId: held.turn,
    session: held.session,
    sessionElsewhere: sessionElsewhere(held),
    effects: `${sessionIdOfKey(held.session)}/${held.incarnation}`, // without the tenant, as it was before sessions were stored under it
    message: held.messages.map((message) => message.text).join("\n"),
    slots: input.slots,
    confirmId: input.confirm_id,
    locale: held.locale ?? environment.locale,
    timeZone: held.time_zone ?? environment.timeZone,
    author: held.author,
    sawPrevious: held.messages.every((message) => !message.queued),
    acceptedAt: Math.floor(held.messages[0]?.at ?? held.accepted_at),
    escalation: input.escalation,
    background: input.background,
  };
}
