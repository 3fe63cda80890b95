import type { Transaction } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { NewPlatformEvent } from "../../kernel/platform-events.ts";
import { buildGraph } from "../graph.ts";
import {
  blockReasons,
  decide,
  isRunOver,
  openRun,
  portState,
  type Refusal,
  type SchedulerAction,
  type SchedulerDecision,
  type SchedulerEvent,
  type SchedulerState,
} from "../scheduler.ts";
import { ORCHESTRATOR } from "./merge.ts";
import {
  emit,
  type OpenOrder,
  type PortChange,
  type RunChange,
  type RunRecords,
  type Settling,
} from "./records.ts";
import {
  LEFT_OUT,
  isRunEnded,
  RUN_TOKENS_EXHAUSTED,
  TRY_ENDING,
  type Because,
  type PathGrant,
  type PlanPort,
  type PlanRun,
  type PlanStep,
  type RunOrder,
  type RunReport,
} from "./run.ts";
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
  readonly inbox: {
    raise(
      tx: Parameters<Parameters<RunRecords["write"]>[1]>[0],
      escalations: readonly NewEscalation[],
    ): Promise<unknown>;
    settle(
      tx: Parameters<Parameters<RunRecords["write"]>[1]>[0],
      subject: string,
      how: { by: string },
    ): Promise<unknown>;
    announce(): void;
  };
  /** Tells readers of events. */
  readonly announce: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Before the first port: contracts, mode. Gives how many ports may work at once. */
  readonly prepare: (
    run: PlanRun,
    options: { signal: AbortSignal },
  ) => Promise<{ maxConcurrency: number } | { failed: Because }>;
  /**
   * Works on a port until it has an outcome. Never rejects but for the abort of the signal and for
   * faults of our own.
   */
  readonly build: (
    run: PlanRun,
    port: PlanPort,
    options: { attempt: number; signal: AbortSignal },
  ) => Promise<PortOutcome>;
  /**
   * Under `merge: as_ready`: what has succeeded so far becomes one tree that can be looked at.
   * Never rejects.
   */
  readonly mergeReady: (
    run: PlanRun,
    ports: readonly PlanPort[],
    options: { signal: AbortSignal },
  ) => Promise<void>;
  /** Removes what the run needs no more, after proof that nothing goes with it. Never rejects. */
  readonly tidy: (
    run: PlanRun,
    ports: readonly PlanPort[],
    options: { signal: AbortSignal },
  ) => Promise<void>;
  /**
   * Makes one tree of what was kept, and tries it; with `untried`, which says why, it is not tried.
   */
  readonly merge: (
    run: PlanRun,
    ports: readonly PlanPort[],
    options: { signal: AbortSignal; untried?: Because | undefined },
  ) => Promise<MergeVerdict>;
}

export type MergeVerdict =
  /**
   * `dropped`: succeeded, and left out all the same. `because`: the tree as a whole did not pass.
   */
  | {
      readonly report: RunReport;
      readonly dropped: readonly { readonly port: string; readonly because: Because }[];
      readonly because?: Because;
    }
  /**
   * The port is given back to its pair: one more try, which is told what the merged tree failed
   * with.
   */
  | { readonly recalled: { readonly port: string; readonly feedback: unknown } }
  /** The port had its try more and is still to blame: the merge begins anew without it. */
  | {
      readonly without: {
        readonly port: string;
        readonly because: Because;
        readonly feedback: unknown;
      };
    };

/**
 * Changes of ports that wait to be written together; more are written in several transactions.
 * Source: our choice.
 */
const BATCH = 1_000;
/** Wait after the first fault, doubled with each, in milliseconds. */
const FAULT_WAIT_MS = 250;
/** Orders are looked for this often, in milliseconds; a notification comes sooner. */
const ORDERS_EVERY_MS = 500;
/** Faults of our own in one port, or in the merge, before it is given up. Source: our choice. */
const MAX_FAULTS = 3;

type OrderRefusal =
  | Refusal
  | "run-cleaned"
  | "run-going"
  | "run-succeeded"
  | "run-unbounded"
  | "port-succeeded"
  | "port-waiting"
  | "PLAN_PORT_UNKNOWN";

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
  /** Questions that the order answers. */
  readonly settles?: readonly Settling[];
}

/** What work beside the scheduler came to: its own end, or somebody's wish that the run ends. */
type Heard<T> = { readonly value: T } | { readonly cancel: OpenOrder };

type Report = Extract<SchedulerEvent, { attempt: number }> & { readonly outcome?: PortOutcome };

/**
 * Leads one run to its end: `prepare → build → merge → end`. The scheduler decides, what it decides is written in one
 * transaction with its events, and only then done; so a leader that dies leaves rows from which
 * another one goes on.
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
  /** Of a run that ended before its ports did: how it would go on if somebody asked. */
  #dormant: SchedulerDecision | undefined;
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

  /**
   * Resolves when the run rests: it has ended, and nobody wants anything of it. Rejects with the
   * abort of `signal`; what was begun is then stopped here, and stands in its rows.
   */
  async lead({ signal }: { signal: AbortSignal }): Promise<void> {
    const looking = this.#parts.clock.every(ORDERS_EVERY_MS, () => this.notice());
    const onAbort = (): void => this.notice();
    signal.addEventListener("abort", onAbort);
    try {
      if (this.#run.cleanedAt !== null) {
        return await this.#refuseOrders("run-cleaned", REFUSALS["run-cleaned"]);
      }
      if (this.#run.status === "cancelled") {
        return await this.#refuseOrders("run-over", REFUSALS["run-over"]);
      }
      const prepared = await this.#prepare(signal);
      if (prepared) await this.#schedule(prepared.maxConcurrency, signal);
    } finally {
      looking();
      signal.removeEventListener("abort", onAbort);
      for (const { controller } of this.#running.values()) controller.abort(signal.reason);
      await Promise.allSettled([...this.#running.values()].map(({ finished }) => finished));
    }
  }

  /** Undefined: nothing is to be done. */
  async #prepare(signal: AbortSignal): Promise<{ maxConcurrency: number } | undefined> {
    const { records, prepare } = this.#parts;
    const isOver = isRunEnded(this.#run.status);
    if (this.#run.status === "waiting_host") {
      const status = this.#run.statusBefore ?? "running";
      await this.#write({
        change: { status },
        events: [this.#event("run.resume", { because: "its machine is back" })],
        settles: [{ ports: [OF_RUN], types: ["blocked"] }],
      });
    }
    if (this.#run.status === "cancelling") return { maxConcurrency: 1 }; // nothing begins any more
    if (this.#run.phase === "preparing" && this.#run.startCommit === null) {
      await this.#write({
        change: { status: this.#run.status },
        events: [
          this.#event("run.start", {
            name: this.#run.plan.name,
            ports: this.#run.plan.ports.length,
          }),
        ],
      });
    }
    const work = (stop: AbortSignal): ReturnType<typeof prepare> =>
      prepare(this.#run, { signal: stop });
    const heard: Heard<Awaited<ReturnType<typeof prepare>>> = isOver
      ? { value: await work(signal) }
      : await this.#hearing(work, signal);
    signal.throwIfAborted();
    const ports = await records.ports(this.#run.id);
    if ("cancel" in heard) {
      await this.#cancelled(heard.cancel, ports);
      return undefined;
    }
    if ("failed" in heard.value) {
      const { failed } = heard.value;
      await this.#refuseOrders(failed.code, failed.message);
      // What a run has come to is not undone by an order that cannot be carried out.
      if (!isOver) {
        await this.#end({
          status: "failed",
          phase: "over",
          because: failed,
          report: reportOf(ports, failed),
        });
      }
      return undefined;
    }
    this.#run = (await records.run(this.#run.id))!;
    return heard.value;
  }

  /**
   * Lets something work that the scheduler knows nothing of; pause, resume and cancel are heard
   * meanwhile, other orders wait.
   */
  async #hearing<T>(
    work: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<Heard<T>> {
    const stop = new AbortController();
    let isOver = false;
    const working = work(AbortSignal.any([signal, stop.signal])).finally(() => {
      isOver = true;
      this.notice();
    });
    working.catch(() => {}); // it is waited for below
    try {
      while (!isOver) {
        const orders = signal.aborted
          ? []
          : await this.#parts.records.openOrders(this.#run.id).catch((error: unknown) => {
              this.#parts.logger.warn(
                { run: this.#run.id, error: messageOf(error) },
                `orders to ${this.#run.id} could not be read; trying again`,
              );
              return [];
            });
        const cancel = orders.find(({ order }) => order.type === "cancel");
        if (cancel) {
          stop.abort(new DOMException("The run was cancelled.", "AbortError"));
          await working.catch(() => {});
          return { cancel };
        }
        for (const order of orders) await this.#heard(order);
        if (!isOver) await this.#wait();
      }
    } finally {
      stop.abort(new DOMException("It is over.", "AbortError"));
      await Promise.allSettled([working]);
    }
    return { value: await working };
  }

  /** A pause counts for what is to begin; what works goes on. */
  async #heard(open: OpenOrder): Promise<void> {
    const { type } = open.order;
    if (type !== "pause" && type !== "resume") return;
    const isPaused = this.#run.status === "paused";
    if (isPaused === (type === "pause")) {
      return this.#write({
        closed: [{ order: open, refused: isPaused ? "already-paused" : "not-paused" }],
      });
    }
    await this.#write({
      change: { status: type === "pause" ? "paused" : "running" },
      events: [this.#event(RUN_EVENTS[type], { by: open.by })],
      closed: [{ order: open }],
    });
  }

  /** The run ends here and now; what its ports have made stays theirs. */
  async #cancelled(order: OpenOrder, ports: readonly PlanPort[]): Promise<void> {
    const dropped = ports.filter(
      ({ status }) => status === "waiting" || status === "ready" || status === "running",
    );
    const names = new Set(dropped.map(({ id }) => id));
    const left = ports.map((port) =>
      names.has(port.id) ? { ...port, status: "cancelled" as const } : port,
    );
    await this.#end(
      { status: "cancelled", phase: "over", report: reportOf(left) },
      {
        changes: dropped.map(({ position }) => ({ position, status: "cancelled" })),
        events: [this.#event("run.cancel", { by: order.by })],
        closed: [{ order }],
      },
    );
  }

  async #schedule(maxConcurrency: number, signal: AbortSignal): Promise<void> {
    const { records } = this.#parts;
    const before = this.#run.status;
    const graph = buildGraph(this.#run.plan.ports);
    const ports = await records.ports(this.#run.id);
    this.#ports = new Map(ports.map((port) => [port.id, port]));
    const status = before === "paused" || before === "cancelling" ? before : "running";
    const opened = openRun({ graph, maxConcurrency, records: ports, status });
    // A run that had ended is only asked for something: what it decides by itself was told already.
    let rests = isRunEnded(before);
    let state = opened.state;
    if (!rests) await this.#carryOut(state, opened.actions, []);
    else if (!isRunOver(state.status)) this.#dormant = opened;
    for (;;) {
      signal.throwIfAborted();
      const reports = this.#reports.splice(0, BATCH);
      const orders = this.#actionable(await records.openOrders(this.#run.id), reports);
      if (orders.length === 0 && reports.length === 0) {
        if (rests && this.#running.size === 0) return;
        if (isRunOver(state.status) && this.#running.size === 0) {
          if (await this.#merge(state, signal)) {
            // Whoever wants something of it from now on begins anew.
            return await this.#parts.tidy(this.#run, await records.ports(this.#run.id), { signal });
          }
          state = await this.#reopen(graph, maxConcurrency);
          continue;
        }
        await this.#wait();
        continue;
      }
      const actions: SchedulerAction[] = [];
      const changes: PortChange[] = [];
      const closed: ClosedOrder[] = [];
      const settles: Settling[] = [];
      let runChange: RunChange = {};
      const escalations: NewEscalation[] = [];
      for (const report of reports) {
        const decision = decide(state, report);
        state = decision.state;
        actions.push(...decision.actions);
        if (decision.refused) continue;
        changes.push(this.#reported(report, escalations));
      }
      const succeeded = changes.flatMap(({ position, resultCommit }) =>
        resultCommit === undefined ? [] : [this.#run.plan.ports[position]!.id],
      );
      if (succeeded.length > 0) settles.push({ ports: succeeded });
      for (const order of orders) {
        const obeyed = this.#obey(state, order);
        for (const decision of obeyed.decisions ?? []) {
          state = decision.state;
          actions.push(...decision.actions);
          rests = false;
        }
        changes.push(...(obeyed.changes ?? []));
        settles.push(...(obeyed.settles ?? []));
        runChange = { ...runChange, ...obeyed.runChange };
        this.#given(obeyed); // the next order adds to what this one gave
        if (!obeyed.later) {
          closed.push({ order, ...(obeyed.refused && { refused: obeyed.refused }) });
        }
      }
      await this.#carryOut(state, actions, changes, { closed, escalations, runChange, settles });
      if (
        this.#run.plan.limits.merge === "as_ready" &&
        reports.some(({ type }) => type === "succeeded")
      ) {
        await this.#parts.mergeReady(this.#run, await records.ports(this.#run.id), { signal });
      }
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
    return {
      position: port.position,
      because: null,
      ...(outcome?.status === "succeeded" && { resultCommit: outcome.commit ?? null }),
    };
  }

  /** Without those that wait for the end of a port's work, unless something has ended. */
  #actionable(orders: readonly OpenOrder[], reports: readonly Report[]): readonly OpenOrder[] {
    if (reports.length > 0) this.#underWay = new Set();
    return orders.filter(({ id }) => !this.#underWay.has(id));
  }

  /**
   * What an order changes; a refused one changes nothing. `later`: it stays open, and is looked at
   * again.
   */
  #obey(state: SchedulerState, open: OpenOrder): Obeyed {
    const { order } = open;
    if (order.type === "again") return this.#again(state);
    if (this.#dormant) return { refused: "run-over" };
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

  #given({ changes = [], runChange }: Obeyed): void {
    for (const change of changes) this.#changed(change);
    if (runChange?.tokensMost !== undefined) {
      this.#run = { ...this.#run, tokensMost: runChange.tokensMost };
    }
  }

  #changed(change: PortChange): void {
    const port = this.#ports.get(this.#run.plan.ports[change.position]!.id)!;
    this.#ports.set(port.id, { ...port, ...withoutAdds(change) });
  }

  /** What has ended without success is merged once more, or begun if it had ended before that. */
  #again(state: SchedulerState): Obeyed {
    const { status } = this.#run;
    if (!isRunEnded(status)) return { refused: "run-going" };
    if (status === "success") return { refused: "run-succeeded" };
    const decision = this.#dormant ?? { state, actions: [] };
    this.#dormant = undefined;
    return {
      decisions: [decision],
      runChange: { status: "running", because: null },
      settles: [{ ports: [OF_RUN] }],
    };
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
      changes.push({
        position: port.position,
        because: null,
        triesPair: port.triesPair + triesFor(port),
      });
    }
    const ports = changes.map(({ position }) => this.#run.plan.ports[position]!.id);
    return {
      decisions,
      changes,
      runChange: { tokensMost: this.#run.tokensMost + tokens },
      settles: [{ ports: [OF_RUN, ...ports], types: ["token_exhausted"] }],
    };
  }

  /**
   * Another try of what failed. To a port that has not, what the order brings is given for its next
   * step.
   */
  #retry(state: SchedulerState, order: Extract<RunOrder, { type: "retry" }>): Obeyed {
    const port = this.#ports.get(order.port);
    if (!port) return { refused: "PLAN_PORT_UNKNOWN" };
    const grants: readonly PathGrant[] = [
      ...(order.grant ? [order.grant] : []),
      ...(order.grants ?? []),
    ].map((grant) => ({ ...grant, by: "operator" }));
    const isReassigned = order.by === "orchestrator";
    const given: PortChange = {
      position: port.position,
      ...(!isReassigned && { triesPair: port.triesPair + (order.tries ?? 0) }),
      ...(order.hint !== undefined && { hint: order.hint }),
      ...(order.timeMs !== undefined && { timeMs: port.timeMs + order.timeMs }),
      ...(order.tokens !== undefined &&
        port.tokensMost !== null && { tokensMost: port.tokensMost + order.tokens }),
      ...(grants.length > 0 && { grants: [...port.grants, ...grants] }),
    };
    const runChange =
      order.tokens !== undefined && this.#run.tokensMost !== null
        ? { tokensMost: this.#run.tokensMost + order.tokens }
        : {};
    const decision = decide(state, { type: "retry", port: order.port });
    if (!decision.refused) {
      this.#faults.delete(order.port);
      const more = Math.max(order.tries ?? 0, triesFor(port));
      const tries = isReassigned
        ? {
            triesPair: Math.min(port.triesPair, order.pairTries ?? port.triesPair),
            triesOrchestrator: port.triesOrchestrator + more,
          }
        : { triesPair: port.triesPair + more };
      return {
        decisions: [decision],
        changes: [{ ...given, ...tries, because: null }],
        runChange: { ...runChange, because: null },
        settles: [{ ports: [port.id], except: ["dependency"] }],
      };
    }
    const brings =
      order.hint !== undefined ||
      order.timeMs !== undefined ||
      order.tokens !== undefined ||
      grants.length > 0;
    const goesOn =
      !isRunOver(state.status) && state.status !== "cancelling" && port.status !== "succeeded";
    if (!brings || !goesOn) return { refused: decision.refused };
    return {
      changes: [given],
      runChange,
      ...(order.tokens !== undefined && {
        settles: [{ ports: [port.id], types: ["token_exhausted"] }],
      }),
    };
  }

  /** The run goes on without the port: a working one is stopped first. */
  #skip(state: SchedulerState, { id }: OpenOrder, name: string): Obeyed {
    const port = this.#ports.get(name);
    if (!port) return { refused: "PLAN_PORT_UNKNOWN" };
    const { status } = portState(state, name);
    switch (status) {
      case "failed":
        return {
          changes: [{ position: port.position, because: LEFT_OUT }],
          settles: [{ ports: [name], except: ["dependency"] }],
        };
      case "ready":
        return {
          decisions: [decide(state, { type: "skip", port: name })],
          changes: [{ position: port.position, because: LEFT_OUT }],
        };
      case "running":
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
  async #carryOut(
    state: SchedulerState,
    actions: readonly SchedulerAction[],
    changes: readonly PortChange[],
    {
      closed = [],
      escalations = [],
      runChange: asked = {},
      settles = [],
    }: {
      closed?: readonly ClosedOrder[];
      escalations?: readonly NewEscalation[];
      runChange?: RunChange;
      settles?: readonly Settling[];
    } = {},
  ): Promise<void> {
    const { records, inbox, announce } = this.#parts;
    const merged = new Map<number, PortChange>();
    const put = (change: PortChange): void =>
      void merged.set(change.position, { ...merged.get(change.position), ...change });
    for (const change of changes) put(change);
    const touched = new Set([
      ...actions.flatMap((action) => ("port" in action ? [action.port] : [])),
      ...changes.map(({ position }) => this.#run.plan.ports[position]!.id),
    ]);
    const reasons = actions.some(({ type }) => type === "block") ? blockReasons(state) : undefined;
    for (const id of touched) {
      const { status, attempt } = portState(state, id);
      const port = this.#ports.get(id)!;
      const blockers = status === "blocked" ? reasons?.get(id) : undefined;
      if (status === port.status && attempt === port.attempt) continue;
      put({
        position: port.position,
        status,
        ...(attempt !== port.attempt && { attempt }),
        ...(blockers && {
          because: {
            code: "DEPENDENCY_FAILED",
            message: `It needs ${blockers.slice(0, 5).join(", ")}, which failed.`,
            hint: "Retry what failed; this port goes on by itself.",
          },
        }),
        ...(status === "ready" && port.status === "blocked" && { because: null }),
      });
    }
    const over = actions.find((action) => action.type === "end");
    const cancelled = over?.type === "end" && over.outcome === "cancelled";
    // A run that had ended and of which nothing came to be wanted stays as it was.
    const rests =
      this.#dormant !== undefined ||
      (isRunEnded(this.#run.status) && isRunOver(state.status) && asked.status === undefined);
    const runStatus = rests || isRunOver(state.status) ? undefined : state.status;
    const runChange: RunChange = {
      ...asked,
      ...(runStatus && runStatus !== this.#run.status && { status: runStatus }),
      ...(this.#run.phase !== "building" && !over && !rests && { phase: "building" as const }),
    };
    // After a crash the scheduler decides once more what was blocked before: that is known.
    const blocked = actions.flatMap((action) =>
      action.type === "block" && this.#ports.get(action.port)!.status !== "blocked" ? [action] : [],
    );
    const told = actions.filter((action) => action.type !== "block" || blocked.includes(action));
    const events = [
      ...this.#eventsOf(told, changes),
      ...closed.flatMap(({ order, refused }) =>
        refused || !isRunOrder(order.order.type)
          ? []
          : [this.#event(RUN_EVENTS[order.order.type], { by: order.by })],
      ),
    ];
    const raised = [...escalations, ...this.#dependencyEscalations(blocked)];
    const all = [...merged.values()];
    for (let from = 0; from === 0 || from < all.length; from += BATCH) {
      const isFirst = from === 0;
      await records.write(this.#lease, async (tx) => {
        const some = all.slice(from, from + BATCH);
        await records.changePorts(tx, this.#run.id, some);
        await records.stopSteps(
          tx,
          this.#run.id,
          some
            .filter(({ status }) => status === "failed" || status === "cancelled")
            .map(({ position }) => this.#run.plan.ports[position]!.id),
        );
        if (!isFirst) return;
        if (Object.keys(runChange).length > 0) await records.changeRun(tx, this.#run.id, runChange);
        for (const settling of settles) await records.settle(tx, this.#run.id, settling);
        if (raised.length > 0) await inbox.raise(tx, raised);
        await this.#close(tx, closed);
        if (closed.some(({ order, refused }) => order.order.type === "again" && !refused)) {
          await records.forgetFailedIntegrations(tx, this.#run.id, ORCHESTRATOR);
        }
        await emit(tx, events);
      });
    }
    if (raised.length > 0) inbox.announce();
    announce();
    this.#run = { ...this.#run, ...runChange };
    for (const change of all) this.#changed(change);
    for (const action of actions) {
      if (action.type === "start") this.#start(action.port, action.attempt);
      if (action.type === "stop") {
        this.#running
          .get(action.port)
          ?.controller.abort(new DOMException("The run was cancelled.", "AbortError"));
      }
    }
    if (cancelled) {
      await this.#end({
        status: "cancelled",
        phase: "over",
        report: reportOf([...this.#ports.values()]),
      });
    }
  }

  /**
   * An answer to an escalation has nobody who waits for its outcome: what is refused is an event.
   */
  async #close(tx: Transaction, closed: readonly ClosedOrder[]): Promise<void> {
    const { records } = this.#parts;
    for (const { order, refused } of closed) {
      await records.closeOrder(
        tx,
        order.id,
        refused ? { ok: false, code: refused, message: REFUSALS[refused] } : { ok: true },
      );
    }
    await emit(
      tx,
      closed.flatMap(({ order: { order, by }, refused }) =>
        refused
          ? [
              this.#event("run.refused", {
                order: order.type,
                ...("port" in order && { port: order.port }),
                by,
                code: refused,
                because: REFUSALS[refused],
              }),
            ]
          : [],
      ),
    );
  }

  #start(id: string, attempt: number): void {
    const controller = new AbortController();
    const finished = this.#built(id, attempt, controller.signal).then((outcome) => {
      this.#running.delete(id);
      this.#report(id, attempt, outcome);
    });
    this.#running.set(id, { controller, finished });
    if (this.#underWay.size === 0) return;
    this.#underWay = new Set(); // an order may wait for just this
    this.notice();
  }

  /**
   * Never rejects. A fault of our own is met by beginning again, behind the last step that ended, a
   * few times.
   */
  async #built(id: string, attempt: number, signal: AbortSignal): Promise<PortOutcome> {
    const { build, clock, logger } = this.#parts;
    for (;;) {
      try {
        return await build(this.#run, this.#ports.get(id)!, { attempt, signal });
      } catch (error) {
        if (!signal.aborted) {
          const faults = (this.#faults.get(id) ?? 0) + 1;
          this.#faults.set(id, faults);
          logger.error(
            { run: this.#run.id, port: id, code: codeOf(error), error: messageOf(error) },
            `port ${id} of ${this.#run.id} met a fault of dure (${faults} of ${MAX_FAULTS})`,
          );
          if (faults >= MAX_FAULTS) return this.#faulty(id, error);
          await clock.sleep(FAULT_WAIT_MS * 2 ** faults, { signal }).catch(() => {});
        }
        if (!signal.aborted) continue;
        return codeOf(signal.reason) === LEFT_OUT.code
          ? { status: "failed", because: LEFT_OUT }
          : { status: "stopped" };
      }
    }
  }

  #faulty(id: string, error: unknown): PortOutcome {
    const because = becauseOf(error);
    return {
      status: "failed",
      because,
      escalation: escalationFor("worker-lost", {
        tenant: this.#run.tenant,
        run: this.#run.id,
        plan: this.#run.plan.name,
        port: id,
        hasOrchestrator: this.#run.plan.workers.orchestrator !== undefined,
        title: `${id}: ${because.message}`.slice(0, 300),
        context: { code: because.code },
      }),
    };
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
      await this.#end({ status: "failed", phase: "over", report: reportOf(ports) });
      return true;
    }
    await this.#write({ change: { phase: "merging" } });
    const heard = await this.#hearing((stop) => this.#merged(ports, merge, stop), signal);
    signal.throwIfAborted();
    if ("cancel" in heard) {
      await this.#cancelled(heard.cancel, ports);
      return true;
    }
    const outcome = heard.value;
    if ("recalled" in outcome) return this.#recall(outcome.recalled);
    if ("without" in outcome) return this.#leaveOut(outcome.without);
    const { report, dropped, because } = outcome;
    const missing = [...reportOf(ports).missing, ...dropped];
    const status = because
      ? report.commit === undefined
        ? "failed"
        : "partial"
      : missing.length === 0
        ? "success"
        : report.commit === undefined
          ? "failed"
          : "partial";
    const trigger =
      because &&
      ["INTEGRATION_FAILED", "SETUP_FAILED", "SHARED_CHANGES_FAILED"].includes(because.code)
        ? "build-failed"
        : "worker-lost";
    const raised = because
      ? [
          escalationFor(trigger, {
            tenant: this.#run.tenant,
            run: this.#run.id,
            plan: this.#run.plan.name,
            title: `${this.#run.plan.name}: ${because.message}`.slice(0, 300),
            context: { code: because.code, output: report.integration?.output.slice(-2_000) ?? "" },
          }),
        ]
      : [];
    await this.#end(
      { status, phase: "over", report: { ...report, missing }, because: because ?? null },
      {
        events: [
          this.#event("merge.done", {
            branch: report.branch ?? null,
            commit: report.commit ?? null,
            conflicts: report.conflicts.length,
          }),
        ],
        raised,
      },
    );
    return true;
  }

  /**
   * A fault of our own is met by merging again, a few times; then what succeeded is kept as it is,
   * tried or not.
   */
  async #merged(
    ports: readonly PlanPort[],
    merge: LeaderParts["merge"],
    signal: AbortSignal,
  ): Promise<MergeVerdict> {
    const { clock, logger } = this.#parts;
    for (let faults = 1; ; faults++) {
      try {
        return await merge(this.#run, ports, { signal });
      } catch (error) {
        if (signal.aborted || codeOf(error) === "FENCED") throw error;
        logger.error(
          { run: this.#run.id, code: codeOf(error), error: messageOf(error) },
          `run ${this.#run.id} could not be merged (${faults} of ${MAX_FAULTS})`,
        );
        if (faults < MAX_FAULTS) {
          await clock.sleep(FAULT_WAIT_MS * 2 ** faults, { signal });
          continue;
        }
        const untried = becauseOf(error);
        return await merge(this.#run, ports, { signal, untried }).catch((reason: unknown) => {
          signal.throwIfAborted();
          logger.error(
            { run: this.#run.id, code: codeOf(reason), error: messageOf(reason) },
            `what succeeded of run ${this.#run.id} could not be put together; each port keeps its own commit`,
          );
          return { report: reportOf(ports), dropped: [], because: untried };
        });
      }
    }
  }

  async #recall({ port: id, feedback }: { port: string; feedback: unknown }): Promise<false> {
    const { records, announce } = this.#parts;
    const port = this.#ports.get(id)!;
    const step = await this.#integrateStep(id);
    await records.write(this.#lease, async (tx) => {
      await records.endStep(tx, step.id, { output: feedback });
      await records.changePorts(tx, this.#run.id, [
        {
          position: port.position,
          status: "waiting",
          triesPair: port.triesPair + BISECT_TRIES,
          because: null,
          resultCommit: null,
        },
      ]);
      await records.changeRun(tx, this.#run.id, { phase: "building" });
      await emit(tx, [
        this.#event("port.recalled", { port: id, because: "the merged tree failed with it" }),
      ]);
    });
    announce();
    this.#run = { ...this.#run, phase: "building" };
    return false;
  }

  /**
   * Beside the last try of the port, which had passed alone: what it came to together with the
   * others.
   */
  async #integrateStep(port: string): Promise<PlanStep> {
    const { records } = this.#parts;
    const steps = await records.steps(this.#run.id, port);
    return records.beginStep(this.#lease, {
      run: this.#run.id,
      port,
      try: Math.max(0, ...steps.map((step) => step.try)),
      kind: "integrate",
    });
  }

  async #leaveOut({
    port: id,
    because,
    feedback,
  }: {
    port: string;
    because: Because;
    feedback: unknown;
  }): Promise<false> {
    const { records, inbox, announce } = this.#parts;
    const port = this.#ports.get(id)!;
    const step = await this.#integrateStep(id);
    await records.write(this.#lease, async (tx) => {
      await records.endStep(tx, step.id, { output: feedback });
      await records.changePorts(tx, this.#run.id, [
        { position: port.position, status: "failed", because },
      ]);
      await inbox.raise(tx, [
        escalationFor(because.code === "CONFLICT" ? "same-file" : "build-failed", {
          tenant: this.#run.tenant,
          run: this.#run.id,
          plan: this.#run.plan.name,
          port: id,
          title: `${this.#run.plan.name} › ${id}: ${because.message}`.slice(0, 300),
        }),
      ]);
      await emit(tx, [
        this.#event("port.failed", { port: id, because: because.message, code: because.code }),
      ]);
    });
    inbox.announce();
    announce();
    return false;
  }

  async #reopen(graph: SchedulerState["graph"], maxConcurrency: number): Promise<SchedulerState> {
    const ports = await this.#parts.records.ports(this.#run.id);
    this.#ports = new Map(ports.map((port) => [port.id, port]));
    const opened = openRun({
      graph,
      maxConcurrency,
      records: ports,
      status: this.#run.status === "paused" ? "paused" : "running",
    });
    await this.#carryOut(opened.state, opened.actions, []);
    return opened.state;
  }

  async #end(
    change: RunChange,
    { events = [], ...beside }: Omit<Written, "change" | "settles"> = {},
  ): Promise<void> {
    const isDone = change.status === "success" || change.status === "cancelled";
    await this.#write({
      ...beside,
      change: { because: null, ...change },
      events: [
        ...events,
        this.#event("session.end", { outcome: change.status }),
        this.#event("run.end", {
          outcome: change.status,
          ...(change.because && { because: change.because.message }),
          kept: change.report?.kept.length ?? 0,
          missing: change.report?.missing.length ?? 0,
          branch: change.report?.branch ?? null,
        }),
      ],
      settles: [isDone ? {} : { severity: "low" }],
    });
    this.#parts.logger.info(
      { run: this.#run.id, outcome: change.status },
      `run ${this.#run.id} of ${this.#run.plan.name} ended: ${change.status}`,
    );
  }

  async #write({
    change = {},
    changes = [],
    events = [],
    raised = [],
    closed = [],
    settles = [],
  }: Written): Promise<void> {
    const { records, inbox, announce } = this.#parts;
    await records.write(this.#lease, async (tx) => {
      await records.changePorts(tx, this.#run.id, changes);
      await records.changeRun(tx, this.#run.id, change);
      if (change.status !== undefined && isRunEnded(change.status)) {
        await records.stopSteps(tx, this.#run.id, [
          ORCHESTRATOR,
          ...changes.map(({ position }) => this.#run.plan.ports[position]!.id),
        ]);
      }
      for (const settling of settles) await records.settle(tx, this.#run.id, settling);
      if (raised.length > 0) await inbox.raise(tx, raised);
      await this.#close(tx, closed);
      await emit(tx, events);
    });
    if (raised.length > 0) inbox.announce();
    announce();
    this.#run = { ...this.#run, ...change };
  }

  async #refuseOrders(code: string, message: string): Promise<void> {
    const { records, announce } = this.#parts;
    const orders = await records.openOrders(this.#run.id);
    if (orders.length === 0) return;
    await records.write(this.#lease, async (tx) => {
      for (const { id } of orders) await records.closeOrder(tx, id, { ok: false, code, message });
      await emit(
        tx,
        orders.map(({ order, by }) =>
          this.#event("run.refused", {
            order: order.type,
            ...("port" in order && { port: order.port }),
            by,
            code,
            because: message,
          }),
        ),
      );
    });
    announce();
  }

  /** One per port that failed: it is open until that one succeeds. */
  #dependencyEscalations(blocked: readonly { port: string; by: string }[]): NewEscalation[] {
    const { id, tenant, plan } = this.#run;
    return [...Map.groupBy(blocked, ({ by }) => by)].map(([by, dependents]) => {
      const names = dependents.map(({ port }) => port);
      return escalationFor("dependency-failed", {
        tenant,
        run: id,
        plan: plan.name,
        port: by,
        title: `${plan.name}: ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` (+${names.length - 3})` : ""} ← ${by}`,
        context: { blocked: names.slice(0, 50), failed: [by] },
      });
    });
  }

  #eventsOf(
    actions: readonly SchedulerAction[],
    changes: readonly PortChange[],
  ): NewPlatformEvent[] {
    const events: NewPlatformEvent[] = [];
    for (const change of changes) {
      const { id } = this.#run.plan.ports[change.position]!;
      if (change.because) {
        events.push(
          this.#event("port.failed", {
            port: id,
            because: change.because.message,
            code: change.because.code,
          }),
        );
      } else if (change.resultCommit !== undefined) {
        events.push(this.#event("port.success", { port: id, commit: change.resultCommit }));
      }
    }
    for (const action of actions) {
      if (action.type === "ready") events.push(this.#event("port.ready", { port: action.port }));
      if (action.type === "start") {
        events.push(this.#event("port.start", { port: action.port, attempt: action.attempt }));
      }
      if (action.type === "block") {
        events.push(this.#event("port.blocked", { port: action.port, by: action.by }));
      }
    }
    return events;
  }

  #event(type: string, data: Readonly<Record<string, unknown>>): NewPlatformEvent {
    return {
      type,
      role: "orchestration",
      run: this.#run.id,
      data: { plan: this.#run.plan.name, ...data },
    };
  }
}

/** Escalations of no port. */
const OF_RUN = "";

/** What is written in one transaction. */
interface Written {
  readonly change?: RunChange;
  readonly changes?: readonly PortChange[];
  readonly events?: readonly NewPlatformEvent[];
  readonly raised?: readonly NewEscalation[];
  readonly closed?: readonly ClosedOrder[];
  readonly settles?: readonly Settling[];
}

/**
 * What was kept and what is missing, as the ports stand. Pure. `because`: why those that could not
 * begin did not.
 */
export function reportOf(ports: readonly PlanPort[], because?: Because): RunReport {
  return {
    kept: ports.filter(({ status }) => status === "succeeded").map(({ id }) => id),
    missing: ports
      .filter(({ status }) => status !== "succeeded")
      .map((port) => ({
        port: port.id,
        because: port.because ??
          because ??
          MISSING[port.status] ?? {
            code: port.status.toUpperCase(),
            message: `It is ${port.status}.`,
          },
      })),
    conflicts: [],
  };
}

/** Tries that going on takes: one, when the last failure has ended its try. Pure. */
function triesFor({ because }: PlanPort): 0 | 1 {
  return because && TRY_ENDING.has(because.code) ? 1 : 0;
}

export function becauseOf(error: unknown): Because {
  return {
    code: codeOf(error) ?? "INTERNAL",
    message: messageOf(error),
    hint: (error instanceof DureError ? error.hint : undefined) ?? "See the log of the server.",
  };
}

const RUN_EVENTS = { pause: "run.pause", resume: "run.resume", cancel: "run.cancel" } as const;

function isRunOrder(type: string): type is keyof typeof RUN_EVENTS {
  return type in RUN_EVENTS;
}

const REFUSALS: Readonly<Record<OrderRefusal, string>> = {
  "stale-report": "The port has begun anew meanwhile.",
  "not-cancelling": "The run is not being cancelled.",
  "run-cleaned": "The files of the run were cleaned away.",
  "run-going": "The run still goes on.",
  "run-succeeded": "The run has succeeded.",
  "run-unbounded": "The run has no bound of tokens.",
  "port-succeeded": "The port has succeeded meanwhile.",
  "port-not-ready": "The port does not wait for a slot.",
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
