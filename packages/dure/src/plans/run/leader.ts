import type { Lease } from "../../durable/leases.ts";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, isAbort, messageOf } from "../../kernel/errors.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { NewPlatformEvent } from "../../kernel/platform-events.ts";
import { buildGraph } from "../graph.ts";
import { blockReasons, decide, isRunOver, openRun, portState, type Refusal, type SchedulerAction, type SchedulerDecision, type SchedulerEvent, type SchedulerState } from "../scheduler.ts";
import { emit, type OpenOrder, type PortChange, type RunChange, type RunRecords } from "./records.ts";
import { isRunEnded, RUN_TOKENS_EXHAUSTED, type Because, type PlanPort, type PlanRun, type PlanStep, type RunOrder, type RunReport } from "./run.ts";
import { BISECT_TRIES } from "./tries.ts";
import { escalationFor } from "./triggers.ts";

/** What the work on a port came to. `stopped`: the run was cancelled. */
export type PortOutcome =
  | { readonly status: "succeeded"; readonly commit: string | undefined }
  | { readonly status: "failed"; readonly because: Because; readonly escalation?: NewEscalation }
  | { readonly status: "stopped" };

/** What a leader leads with. */
export interface LeaderParts {
  readonly records: RunRecords;
  readonly inbox: { raise(tx: Parameters<Parameters<RunRecords["write"]>[1]>[0], escalations: readonly NewEscalation[]): Promise<unknown>; settle(tx: Parameters<Parameters<RunRecords["write"]>[1]>[0], subject: string, how: { by: string }): Promise<unknown>; announce(): void };
  /** Tells readers of events. */
  readonly announce: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Before the first port: contracts, mode. Gives how many ports may work at once. */
  readonly prepare: (run: PlanRun, options: { signal: AbortSignal }) => Promise<{ maxConcurrency: number } | { failed: Because }>;
  /** Works on a port until it has an outcome. Never rejects but for the abort of the signal and for faults of our own. */
  readonly build: (run: PlanRun, port: PlanPort, options: { attempt: number; signal: AbortSignal }) => Promise<PortOutcome>;
  /** Under `merge: as_ready`: what has succeeded so far becomes one tree that can be looked at. Never rejects. */
  readonly mergeReady: (run: PlanRun, ports: readonly PlanPort[], options: { signal: AbortSignal }) => Promise<void>;
  /** Removes what the run needs no more, after proof that nothing goes with it. Never rejects. */
  readonly tidy: (run: PlanRun, ports: readonly PlanPort[], options: { signal: AbortSignal }) => Promise<void>;
  /** Makes one tree of what was kept, and tries it. */
  readonly merge: (run: PlanRun, ports: readonly PlanPort[], options: { signal: AbortSignal }) => Promise<MergeOutcome>;
}

export type MergeOutcome =
  /** `dropped`: succeeded, and left out all the same. `because`: the tree as a whole did not pass. */
  | { readonly report: RunReport; readonly dropped: readonly { readonly port: string; readonly because: Because }[]; readonly because?: Because }
  /** The port is given back to its pair: one more try, which is told what the merged tree failed with. */
  | { readonly recalled: { readonly port: string; readonly feedback: unknown } }
  /** The port had its try more and is still to blame: the merge begins anew without it. */
  | { readonly without: { readonly port: string; readonly because: Because; readonly feedback: unknown } };

/** Changes of ports that wait to be written together; more are written in several transactions. Source: our choice. */
const BATCH = 1_000;
/** Orders are looked for this often, in milliseconds; a notification comes sooner. */
const ORDERS_EVERY_MS = 500;
/** Faults of our own in one port before it is given up. Source: our choice. */
const FAULTS_MOST = 3;

type OrderRefusal = Refusal | "run-unbounded" | "port-succeeded" | "port-waiting" | "PLAN_PORT_UNKNOWN";

interface ClosedOrder {
  readonly order: OpenOrder;
  readonly refused?: OrderRefusal;
}

interface Obeyed {
  readonly decisions?: readonly SchedulerDecision[];
  readonly changes?: readonly PortChange[];
  readonly runChange?: RunChange;
  readonly refused?: OrderRefusal;
  readonly later?: true;
}

/** Somebody decided to go on without a port. */
const LEFT_OUT: Because = { code: "PORT_SKIPPED", message: "It was left out on request.", hint: "Retry it to have it after all." };

type Report = Extract<SchedulerEvent, { attempt: number }> & { readonly outcome?: PortOutcome };

/**
 * Leads one run to its end: `prepare → build → merge → end`. The scheduler decides, what it decides is written in one
 * transaction with its events, and only then done; so a leader that dies leaves rows from which another one goes on.
 */
export class RunLeader {
  readonly #parts: LeaderParts;
  readonly #lease: Lease;
  readonly #running = new Map<string, { controller: AbortController; finished: Promise<void> }>();
  readonly #reports: Report[] = [];
  /** Orders that are under way: a port that is to be left out still stops, or has not begun. */
  #underWay: ReadonlySet<number> = new Set();
  readonly #faults = new Map<string, number>();
  #run: PlanRun;
  #ports: Map<string, PlanPort> = new Map();
  #wake = Promise.withResolvers<void>();

  constructor(run: PlanRun, lease: Lease, parts: LeaderParts) {
    this.#run = run;
    this.#lease = lease;
    this.#parts = parts;
  }

  /** Ports at work here, for metrics. */
  get working(): number {
    return this.#running.size;
  }

  /** Somebody may want something of the run. */
  notice(): void {
    this.#wake.resolve();
  }

  /** Resolves when the run rests: it has ended, and nobody wants anything of it. Rejects with the abort of `signal`; what was begun is then stopped here, and stands in its rows. */
  async lead({ signal }: { signal: AbortSignal }): Promise<void> {
    const looking = this.#parts.clock.every(ORDERS_EVERY_MS, () => this.notice());
    const onAbort = (): void => this.notice();
    signal.addEventListener("abort", onAbort);
    try {
      const prepared = await this.#prepare(signal);
      if (prepared) await this.#schedule(prepared.maxConcurrency, signal);
    } finally {
      looking();
      signal.removeEventListener("abort", onAbort);
      for (const { controller } of this.#running.values()) controller.abort(signal.reason);
      await Promise.allSettled([...this.#running.values()].map(({ finished }) => finished));
    }
  }

  async #prepare(signal: AbortSignal): Promise<{ maxConcurrency: number } | undefined> {
    const { records, prepare } = this.#parts;
    const run = this.#run;
    const starts = run.phase === "preparing" && run.startCommit === null;
    if (starts) await this.#write([], { status: run.status === "waiting_host" ? "running" : run.status }, [this.#event("run.start", { name: run.plan.name, ports: run.plan.ports.length })]);
    else if (run.status === "waiting_host") await this.#write([], { status: "running" }, [this.#event("run.resume", { because: "its machine is back" })]);
    const result = await prepare(run, { signal });
    signal.throwIfAborted();
    if ("failed" in result) {
      await this.#refuseOrders("RUN_OVER", result.failed.message);
      await this.#end({ status: "failed", phase: "over", because: result.failed, report: { kept: [], missing: run.plan.ports.map(({ id }) => ({ port: id, because: result.failed })), conflicts: [] } });
      return undefined;
    }
    this.#run = (await records.run(run.id))!;
    return result;
  }

  async #schedule(maxConcurrency: number, signal: AbortSignal): Promise<void> {
    const { records } = this.#parts;
    const before = this.#run.status;
    if (before === "cancelled") return this.#refuseOrders("run-over", REFUSALS["run-over"]);
    const graph = buildGraph(this.#run.plan.ports);
    const ports = await records.ports(this.#run.id);
    this.#ports = new Map(ports.map((port) => [port.id, port]));
    const status = before === "paused" || before === "cancelling" ? before : "running";
    const opened = openRun({ graph, maxConcurrency, records: ports, status });
    // A run that had ended is only asked for something: what it decides by itself was told already.
    const isOver = isRunEnded(before);
    let state = opened.state;
    if (!isOver) await this.#carryOut(state, opened.actions, []);
    let rests = isOver;
    for (;;) {
      signal.throwIfAborted();
      const reports = this.#reports.splice(0, BATCH);
      const orders = this.#actionable(await records.openOrders(this.#run.id), reports);
      if (orders.length === 0 && reports.length === 0) {
        if (rests && this.#running.size === 0) {
          if (!isOver) await this.#parts.tidy(this.#run, await records.ports(this.#run.id), { signal });
          return;
        }
        if (isRunOver(state.status) && this.#running.size === 0 && !rests) {
          rests = await this.#merge(state, signal);
          if (!rests) state = await this.#reopen(graph, maxConcurrency);
          continue;
        }
        await this.#wait();
        continue;
      }
      const actions: SchedulerAction[] = [];
      const changes: PortChange[] = [];
      const closed: ClosedOrder[] = [];
      let runChange: RunChange = {};
      const escalations: NewEscalation[] = [];
      for (const report of reports) {
        const decision = decide(state, report);
        state = decision.state;
        actions.push(...decision.actions);
        if (decision.refused) continue;
        changes.push(this.#reported(report, escalations));
      }
      for (const order of orders) {
        const obeyed = this.#obey(state, order);
        for (const decision of obeyed.decisions ?? []) {
          state = decision.state;
          actions.push(...decision.actions);
          rests = false;
        }
        changes.push(...(obeyed.changes ?? []));
        runChange = { ...runChange, ...obeyed.runChange };
        if (!obeyed.later) closed.push({ order, ...(obeyed.refused && { refused: obeyed.refused }) });
      }
      await this.#carryOut(state, actions, changes, { closed, escalations, runChange });
      if (this.#run.plan.limits.merge === "as_ready" && reports.some(({ type }) => type === "succeeded")) await this.#parts.mergeReady(this.#run, await records.ports(this.#run.id), { signal });
    }
  }

  /** The rest of the loop waits here: for a report, an order, a stop. */
  async #wait(): Promise<void> {
    await this.#wake.promise;
    this.#wake = Promise.withResolvers<void>();
  }

  #reported(report: Report, escalations: NewEscalation[]): PortChange {
    const port = this.#ports.get(report.port)!;
    const { outcome } = report;
    if (outcome?.status === "failed") {
      if (outcome.escalation) escalations.push(outcome.escalation);
      return { position: port.position, because: outcome.because };
    }
    return { position: port.position, because: null, ...(outcome?.status === "succeeded" && { resultCommit: outcome.commit ?? null }) };
  }

  /** Without those that wait for the end of a port's work, unless something has ended. */
  #actionable(orders: readonly OpenOrder[], reports: readonly Report[]): readonly OpenOrder[] {
    if (reports.length > 0) this.#underWay = new Set();
    return orders.filter(({ id }) => !this.#underWay.has(id));
  }

  /** What an order changes; a refused one changes nothing. `later`: it stays open, and is looked at again. */
  #obey(state: SchedulerState, open: OpenOrder): Obeyed {
    const { order } = open;
    switch (order.type) {
      case "pause":
      case "resume":
      case "cancel": {
        const decision = decide(state, { type: order.type });
        return decision.refused ? { refused: decision.refused } : { decisions: [decision] };
      }
      case "extend":
        return this.#extend(state, order.tokens);
      case "retry":
        return this.#retry(state, order);
      case "skip":
        return this.#skip(state, open, order.port);
      default:
        return order satisfies never;
    }
  }

  /** More for the run; what had stopped for want of it goes on. */
  #extend(state: SchedulerState, tokens: number): Obeyed {
    if (this.#run.tokensMost === null) return { refused: "run-unbounded" };
    const decisions: SchedulerDecision[] = [];
    const changes: PortChange[] = [];
    for (const port of this.#ports.values()) {
      if (port.status !== "failed" || port.because?.code !== RUN_TOKENS_EXHAUSTED) continue;
      const decision = decide(decisions.at(-1)?.state ?? state, { type: "retry", port: port.id });
      if (decision.refused) continue;
      decisions.push(decision);
      changes.push({ position: port.position, because: null });
    }
    return { decisions, changes, runChange: { tokensMost: this.#run.tokensMost + tokens } };
  }

  /** Another try of what failed. To a port that has not, what the order brings is given for its next step. */
  #retry(state: SchedulerState, order: Extract<RunOrder, { type: "retry" }>): Obeyed {
    const port = this.#ports.get(order.port);
    if (!port) return { refused: "PLAN_PORT_UNKNOWN" };
    const given: PortChange = {
      position: port.position,
      triesPair: port.triesPair + (order.tries ?? 0),
      ...(order.hint !== undefined && { hint: order.hint }),
      ...(order.timeMs !== undefined && { timeMs: port.timeMs + order.timeMs }),
      ...(order.tokens !== undefined && port.tokensMost !== null && { tokensMost: port.tokensMost + order.tokens }),
      ...(order.grant && { grants: [...port.grants, { ...order.grant, by: "operator" }] }),
    };
    const runChange = order.tokens !== undefined && this.#run.tokensMost !== null ? { tokensMost: this.#run.tokensMost + order.tokens } : {};
    const decision = decide(state, { type: "retry", port: order.port });
    if (!decision.refused) return { decisions: [decision], changes: [{ ...given, because: null }], runChange };
    const brings = order.hint !== undefined || order.timeMs !== undefined || order.tokens !== undefined || order.grant !== undefined;
    const goesOn = !isRunOver(state.status) && state.status !== "cancelling" && port.status !== "succeeded";
    return brings && goesOn ? { changes: [given], runChange } : { refused: decision.refused };
  }

  /** The run goes on without the port: a working one is stopped first, one that waits for a slot is stopped when it begins. */
  #skip(state: SchedulerState, { id }: OpenOrder, name: string): Obeyed {
    const port = this.#ports.get(name);
    if (!port) return { refused: "PLAN_PORT_UNKNOWN" };
    const { status } = portState(state, name);
    switch (status) {
      case "failed":
        return { changes: [{ position: port.position, because: LEFT_OUT }] };
      case "running":
      case "ready":
        this.#running.get(name)?.controller.abort(new DureError(LEFT_OUT.code, LEFT_OUT.message));
        this.#underWay = new Set([...this.#underWay, id]);
        return { later: true };
      case "succeeded":
        return { refused: "port-succeeded" };
      case "blocked":
        return { refused: "port-blocked" };
      case "waiting":
        return { refused: "port-waiting" };
      case "cancelled":
        return { refused: "run-cancelled" };
      default:
        return status satisfies never;
    }
  }

  /** Writes what was decided, with its events, and then does it. */
  async #carryOut(state: SchedulerState, actions: readonly SchedulerAction[], changes: readonly PortChange[], { closed = [], escalations = [], runChange: asked = {} }: { closed?: readonly ClosedOrder[]; escalations?: readonly NewEscalation[]; runChange?: RunChange } = {}): Promise<void> {
    const { records, inbox, announce } = this.#parts;
    const merged = new Map<number, PortChange>();
    const put = (change: PortChange): void => void merged.set(change.position, { ...merged.get(change.position), ...change });
    for (const change of changes) put(change);
    const touched = new Set([...actions.flatMap((action) => ("port" in action ? [action.port] : [])), ...changes.map(({ position }) => this.#run.plan.ports[position]!.id)]);
    const reasons = actions.some(({ type }) => type === "block") ? blockReasons(state) : undefined;
    for (const id of touched) {
      const { status, attempt } = portState(state, id);
      const port = this.#ports.get(id)!;
      const blockers = status === "blocked" ? reasons?.get(id) : undefined;
      if (status === port.status && attempt === port.attempt) continue;
      put({ position: port.position, status, ...(attempt !== port.attempt && { attempt }), ...(blockers && { because: { code: "DEPENDENCY_FAILED", message: `It needs ${blockers.slice(0, 5).join(", ")}, which failed.`, hint: "Retry what failed; this port goes on by itself." } }), ...(status === "ready" && port.status === "blocked" && { because: null }) });
    }
    const over = actions.find((action) => action.type === "end");
    const cancelled = over?.type === "end" && over.outcome === "cancelled";
    const runStatus = isRunOver(state.status) ? undefined : state.status;
    const runChange: RunChange = { ...asked, ...(runStatus && runStatus !== this.#run.status && { status: runStatus }), ...(this.#run.phase !== "building" && !over && { phase: "building" as const }) };
    const events = [...this.#eventsOf(actions, changes), ...closed.flatMap(({ order, refused }) => (refused || !isRunOrder(order.order.type) ? [] : [this.#event(RUN_EVENTS[order.order.type], { by: order.by })]))];
    const dependents = actions.flatMap((action) => (action.type === "block" ? [action] : []));
    const raised = [...escalations, ...(dependents.length > 0 ? [this.#dependencyEscalation(dependents)] : [])];
    const all = [...merged.values()];
    for (let from = 0; from === 0 || from < all.length; from += BATCH) {
      const isFirst = from === 0;
      await records.write(this.#lease, async (tx) => {
        const some = all.slice(from, from + BATCH);
        await records.changePorts(tx, this.#run.id, some);
        await records.stopSteps(tx, this.#run.id, some.filter(({ status }) => status === "failed" || status === "cancelled").map(({ position }) => this.#run.plan.ports[position]!.id));
        if (!isFirst) return;
        if (Object.keys(runChange).length > 0) await records.changeRun(tx, this.#run.id, runChange);
        if (raised.length > 0) await inbox.raise(tx, raised);
        for (const { order, refused } of closed) await records.closeOrder(tx, order.id, refused ? { ok: false, code: refused, message: REFUSALS[refused] } : { ok: true });
        await emit(tx, events);
      });
    }
    if (raised.length > 0) inbox.announce();
    announce();
    this.#run = { ...this.#run, ...runChange };
    for (const change of all) {
      const port = this.#ports.get(this.#run.plan.ports[change.position]!.id)!;
      this.#ports.set(port.id, { ...port, ...withoutAdds(change) });
    }
    for (const action of actions) {
      if (action.type === "start") this.#start(action.port, action.attempt);
      if (action.type === "stop") this.#running.get(action.port)?.controller.abort(new DOMException("The run was cancelled.", "AbortError"));
    }
    if (cancelled) await this.#end({ status: "cancelled", phase: "over", report: this.#reportWithout([...this.#ports.values()]) });
  }

  #start(id: string, attempt: number): void {
    const { build, logger } = this.#parts;
    const controller = new AbortController();
    const finished = (async () => {
      try {
        const outcome = await build(this.#run, this.#ports.get(id)!, { attempt, signal: controller.signal });
        this.#report(id, attempt, outcome);
      } catch (error) {
        if (codeOf(controller.signal.reason) === LEFT_OUT.code) return this.#report(id, attempt, { status: "failed", because: LEFT_OUT });
        if (controller.signal.aborted || isAbort(error)) return this.#report(id, attempt, { status: "stopped" });
        const faults = (this.#faults.get(id) ?? 0) + 1;
        this.#faults.set(id, faults);
        logger.error({ run: this.#run.id, port: id, code: codeOf(error), error: messageOf(error) }, `port ${id} of ${this.#run.id} met a fault of dure (${faults} of ${FAULTS_MOST})`);
        const because = { code: codeOf(error) ?? "INTERNAL", message: messageOf(error), hint: "See the log of the server." };
        this.#report(id, attempt, { status: "failed", because, escalation: escalationFor("worker-lost", { tenant: this.#run.tenant, run: this.#run.id, plan: this.#run.plan.name, port: id, title: `${id}: ${because.message}`.slice(0, 300), context: { code: because.code } }) });
      } finally {
        this.#running.delete(id);
        this.notice();
      }
    })();
    this.#running.set(id, { controller, finished });
    if (this.#underWay.size === 0) return;
    this.#underWay = new Set(); // an order may wait for just this
    this.notice();
  }

  #report(port: string, attempt: number, outcome: PortOutcome): void {
    this.#reports.push({ type: outcome.status, port, attempt, outcome });
    this.notice();
  }

  /** True when the run rests afterwards; false when a port was given back or taken out. */
  async #merge(state: SchedulerState, signal: AbortSignal): Promise<boolean> {
    const { merge, records } = this.#parts;
    if (state.status === "cancelled") return true;
    const ports = await records.ports(this.#run.id); // what the work on them has written too
    this.#ports = new Map(ports.map((port) => [port.id, port]));
    if (!ports.some(({ status }) => status === "succeeded")) {
      await this.#end({ status: "failed", phase: "over", report: this.#reportWithout(ports) });
      return true;
    }
    await this.#write([], { phase: "merging" }, []);
    const outcome = await merge(this.#run, ports, { signal });
    signal.throwIfAborted();
    if ("recalled" in outcome) return this.#recall(outcome.recalled);
    if ("without" in outcome) return this.#leaveOut(outcome.without);
    const { report, dropped, because } = outcome;
    const missing = [...this.#reportWithout(ports).missing, ...dropped];
    const status = because ? (report.commit === undefined ? "failed" : "partial") : missing.length === 0 ? "success" : report.commit === undefined ? "failed" : "partial";
    const asked = because ? [escalationFor("build-failed", { tenant: this.#run.tenant, run: this.#run.id, plan: this.#run.plan.name, title: `${this.#run.plan.name}: ${because.message}`.slice(0, 300), context: { output: report.integration?.output.slice(-2_000) ?? "" } })] : [];
    await this.#end({ status, phase: "over", report: { ...report, missing }, ...(because && { because }) }, [this.#event("merge.done", { branch: report.branch ?? null, commit: report.commit ?? null, conflicts: report.conflicts.length })], asked);
    return true;
  }

  async #recall({ port: id, feedback }: { port: string; feedback: unknown }): Promise<false> {
    const { records, announce } = this.#parts;
    const port = this.#ports.get(id)!;
    const step = await this.#integrateStep(id);
    await records.write(this.#lease, async (tx) => {
      await records.endStep(tx, step.id, { output: feedback });
      await records.changePorts(tx, this.#run.id, [{ position: port.position, status: "waiting", triesPair: Math.max(port.triesPair, step.try) + BISECT_TRIES, because: null, resultCommit: null }]);
      await records.changeRun(tx, this.#run.id, { phase: "building" });
      await emit(tx, [this.#event("port.recalled", { port: id, because: "the merged tree failed with it" })]);
    });
    announce();
    this.#run = { ...this.#run, phase: "building" };
    return false;
  }

  /** Beside the last try of the port, which had passed alone: what it came to together with the others. */
  async #integrateStep(port: string): Promise<PlanStep> {
    const { records } = this.#parts;
    const steps = await records.steps(this.#run.id, port);
    return records.beginStep(this.#lease, { run: this.#run.id, port, try: Math.max(0, ...steps.map((step) => step.try)), kind: "integrate" });
  }

  async #leaveOut({ port: id, because, feedback }: { port: string; because: Because; feedback: unknown }): Promise<false> {
    const { records, inbox, announce } = this.#parts;
    const port = this.#ports.get(id)!;
    const step = await this.#integrateStep(id);
    await records.write(this.#lease, async (tx) => {
      await records.endStep(tx, step.id, { output: feedback });
      await records.changePorts(tx, this.#run.id, [{ position: port.position, status: "failed", because }]);
      await inbox.raise(tx, [escalationFor(because.code === "CONFLICT" ? "same-file" : "build-failed", { tenant: this.#run.tenant, run: this.#run.id, plan: this.#run.plan.name, port: id, title: `${this.#run.plan.name} › ${id}: ${because.message}`.slice(0, 300) })]);
      await emit(tx, [this.#event("port.failed", { port: id, because: because.message, code: because.code })]);
    });
    inbox.announce();
    announce();
    return false;
  }

  async #reopen(graph: SchedulerState["graph"], maxConcurrency: number): Promise<SchedulerState> {
    const ports = await this.#parts.records.ports(this.#run.id);
    this.#ports = new Map(ports.map((port) => [port.id, port]));
    const opened = openRun({ graph, maxConcurrency, records: ports });
    await this.#carryOut(opened.state, opened.actions, []);
    return opened.state;
  }

  async #end(change: RunChange, events: readonly NewPlatformEvent[] = [], asked: readonly NewEscalation[] = []): Promise<void> {
    await this.#write([], change, [...events, this.#event("session.end", { outcome: change.status }), this.#event("run.end", { outcome: change.status, ...(change.because && { because: change.because.message }), kept: change.report?.kept.length ?? 0, missing: change.report?.missing.length ?? 0, branch: change.report?.branch ?? null })], asked);
    this.#parts.logger.info({ run: this.#run.id, outcome: change.status }, `run ${this.#run.id} of ${this.#run.plan.name} ended: ${change.status}`);
  }

  async #write(changes: readonly PortChange[], change: RunChange, events: readonly NewPlatformEvent[], asked: readonly NewEscalation[] = []): Promise<void> {
    const { records, inbox, announce } = this.#parts;
    await records.write(this.#lease, async (tx) => {
      await records.changePorts(tx, this.#run.id, changes);
      await records.changeRun(tx, this.#run.id, change);
      if (asked.length > 0) await inbox.raise(tx, asked);
      await emit(tx, events);
    });
    if (asked.length > 0) inbox.announce();
    announce();
    this.#run = { ...this.#run, ...change };
  }

  async #refuseOrders(code: string, message: string): Promise<void> {
    const { records } = this.#parts;
    const orders = await records.openOrders(this.#run.id);
    await records.write(this.#lease, async (tx) => {
      for (const { id } of orders) await records.closeOrder(tx, id, { ok: false, code, message });
    });
  }

  #reportWithout(ports: readonly PlanPort[]): RunReport {
    return {
      kept: ports.filter(({ status }) => status === "succeeded").map(({ id }) => id),
      missing: ports.filter(({ status }) => status !== "succeeded").map(({ id, status, because }) => ({ port: id, because: because ?? MISSING[status] ?? { code: status.toUpperCase(), message: `It is ${status}.` } })),
      conflicts: [],
    };
  }

  #dependencyEscalation(blocked: readonly { port: string; by: string }[]): NewEscalation {
    const { id, tenant, plan } = this.#run;
    const names = blocked.map(({ port }) => port);
    return escalationFor("dependency-failed", { tenant, run: id, plan: plan.name, title: `${plan.name}: ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` (+${names.length - 3})` : ""} ← ${blocked[0]!.by}`, context: { blocked: names.slice(0, 50), failed: [...new Set(blocked.map(({ by }) => by))] } });
  }

  #eventsOf(actions: readonly SchedulerAction[], changes: readonly PortChange[]): NewPlatformEvent[] {
    const events: NewPlatformEvent[] = [];
    for (const change of changes) {
      const { id } = this.#run.plan.ports[change.position]!;
      if (change.because) events.push(this.#event("port.failed", { port: id, because: change.because.message, code: change.because.code }));
      else if (change.resultCommit !== undefined) events.push(this.#event("port.success", { port: id, commit: change.resultCommit }));
    }
    for (const action of actions) {
      if (action.type === "ready") events.push(this.#event("port.ready", { port: action.port }));
      if (action.type === "start") events.push(this.#event("port.start", { port: action.port, attempt: action.attempt }));
      if (action.type === "block") events.push(this.#event("port.blocked", { port: action.port, by: action.by }));
    }
    return events;
  }

  #event(type: string, data: Readonly<Record<string, unknown>>): NewPlatformEvent {
    return { type, role: "orchestration", run: this.#run.id, data: { plan: this.#run.plan.name, ...data } };
  }
}

const RUN_EVENTS = { pause: "run.pause", resume: "run.resume", cancel: "run.cancel" } as const;

function isRunOrder(type: string): type is keyof typeof RUN_EVENTS {
  return type in RUN_EVENTS;
}

const REFUSALS: Readonly<Record<OrderRefusal, string>> = {
  "stale-report": "The port has begun anew meanwhile.",
  "not-cancelling": "The run is not being cancelled.",
  "run-unbounded": "The run has no bound of tokens.",
  "port-succeeded": "The port has succeeded meanwhile.",
  "port-waiting": "The port has not begun; what it needs is still worked on.",
  "run-over": "The run has ended.",
  "run-cancelled": "The run was cancelled.",
  "already-paused": "The run is paused already.",
  "not-paused": "The run is not paused.",
  "already-cancelling": "The run is being cancelled already.",
  "port-not-failed": "The port has not failed.",
  "port-blocked": "The port waits for another one that failed; retry that one.",
  PLAN_PORT_UNKNOWN: "The plan has no such port.",
};

const MISSING: Readonly<Record<string, Because>> = {
  cancelled: { code: "RUN_CANCELLED", message: "The run was cancelled." },
  waiting: { code: "NOT_STARTED", message: "It was not started." },
  ready: { code: "NOT_STARTED", message: "It was not started." },
};

function withoutAdds(change: PortChange): Partial<PlanPort> {
  const { addSpentMs: _spent, addTokensIn: _in, addTokensOut: _out, ...rest } = change;
  return rest;
}
