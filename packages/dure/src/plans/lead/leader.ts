/** The leader of a run: prepares it, hears what happens, and does what the scheduler says. */

import { isRunOver } from "../../kernel/plans.ts";
import type { Lease } from "../../durable/leases.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import { buildGraph, type PlanGraph } from "../graph.ts";
import { decide, openRun } from "../scheduler.ts";
import type { SchedulerAction, SchedulerDecision, SchedulerState } from "../schedule-state.ts";
import { LeaderMerge } from "./leader-merge.ts";
import { reportOf, type LeaderParts } from "./leader-parts.ts";
import { OrderListener, type ValueOrCancel } from "./order-listener.ts";
import { PortRunner, type PortReport } from "./port-runner.ts";
import type { CarriedReview } from "../rows/comment-rows.ts";
import type { OpenOrder, PortChange, RunChange, Settling } from "../rows/run-changes.ts";
import { portOf, RunBook, type RunEntry } from "./run-book.ts";
import {
  decideOrder,
  REFUSALS,
  type ClosedOrder,
  type OrderDecision,
  OF_RUN,
} from "./run-orders.ts";
import type { PlanRun, PlanPort } from "../rows/run.ts";
import { entryOf } from "./schedule-entry.ts";
import type { Because } from "../../wire/plans.ts";

/** Reports that are decided about together. */
const BATCH = 1_000;
/** Orders are looked for this often, in milliseconds; a notification comes sooner. */
const ORDERS_EVERY_MS = 2_000;

/** Orders after which earlier faults of a port count no more. */
const BEGINS_AGAIN: ReadonlySet<string> = new Set(["retry", "review"]);

/** What reports and orders have come to, before it is written. */
interface PortBatch {
  state: SchedulerState;
  readonly actions: SchedulerAction[];
  readonly changes: PortChange[];
  readonly raised: NewEscalation[];
  readonly closed: ClosedOrder[];
  readonly settles: Settling[];
  readonly reviews: CarriedReview[];
  runChange: RunChange;
}

/**
 * Leads one run to its end: `prepare → build → merge → end`. Each decision of the scheduler is
 * written in one transaction with its events, and only then carried out. So a leader that dies
 * leaves rows from which another one goes on.
 */
export class RunLeader {
  readonly #parts: LeaderParts;
  readonly #book: RunBook;
  readonly #preparing: LeaderPrepare;
  readonly #merging: LeaderMerge;
  readonly #runner: PortRunner;
  readonly #listener: OrderListener;
  /** Orders that are under way: a port that is to be left out still stops, or has not begun. */
  #underWay: ReadonlySet<number> = new Set();
  /** Of a run that ended before its ports did: how it would go on if the operator asked. */
  #dormant: SchedulerDecision | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(run: PlanRun, lease: Lease, parts: LeaderParts) {
    this.#parts = parts;
    this.#book = new RunBook(run, lease, parts);
    this.#merging = new LeaderMerge(this.#book, lease, parts);
    this.#runner = new PortRunner({
      run: () => this.#book.run,
      build: (port, options) => parts.build(this.#book.run, this.#book.port(port), options),
      clock: parts.clock,
      logger: parts.logger,
      onReport: () => this.notice(),
    });
    this.#listener = new OrderListener({
      book: this.#book,
      records: parts.records,
      logger: parts.logger,
      wait: () => this.#wait(),
      notice: () => this.notice(),
    });
    const book = this.#book;
    this.#preparing = new LeaderPrepare({ book, listener: this.#listener, parts });
  }

  /** Ports at work here, for metrics. */
  get working(): number {
    return this.#runner.size;
  }

  /** An order to the run may be there. */
  notice(): void {
    this.#wake.resolve();
  }

  /**
   * Resolves when the run rests: it has ended, and no order is open. Rejects with the abort of
   * `signal`; what was begun is then stopped here, and stands in its rows.
   */
  async lead({ signal }: { signal: AbortSignal }): Promise<void> {
    const stopLooking = this.#parts.clock.every(ORDERS_EVERY_MS, () => this.notice());
    const onAbort = (): void => this.notice();
    signal.addEventListener("abort", onAbort);
    try {
      const { cleanedAt, status } = this.#book.run;
      if (cleanedAt !== null) {
        return await this.#book.refuseOrders("run-cleaned", REFUSALS["run-cleaned"]);
      }
      if (status === "cancelled") {
        return await this.#book.refuseOrders("run-over", REFUSALS["run-over"]);
      }
      const prepared = await this.#preparing.prepare(signal);
      if (prepared) await this.#schedule(prepared.maxConcurrency, signal);
    } finally {
      stopLooking();
      signal.removeEventListener("abort", onAbort);
      await this.#runner.stop(signal.reason);
    }
  }

  // --- build

  async #schedule(maxConcurrency: number, signal: AbortSignal): Promise<void> {
    const { records, tidy } = this.#parts;
    const before = this.#book.run.status;
    const graph = buildGraph(this.#book.run.plan.ports);
    const keepsStatus = before === "paused" || before === "cancelling";
    const opened = await this.#open(graph, maxConcurrency, keepsStatus ? before : "running");
    // A run that had ended is only asked for something: what it decides by itself was announced
    // already.
    let rests = isRunOver(before);
    let { state } = opened;
    if (!rests) await this.#carryOut(state, opened.actions);
    else if (!isRunOver(state.status)) this.#dormant = opened;
    for (;;) {
      signal.throwIfAborted();
      const reports = this.#runner.takeReports(BATCH);
      const orders = this.#actionable(await records.orders.open(this.#book.run.id), reports);
      if (orders.length > 0 || reports.length > 0) {
        const batch = this.#decideBatch(state, reports, orders);
        if (batch.isAsked) rests = false;
        ({ state } = batch);
        await this.#carryOut(state, batch.actions, batch.entry);
        await this.#mergeReady(reports, signal);
        continue;
      }
      if (rests && this.#runner.size === 0) return;
      if (!isRunOver(state.status) || this.#runner.size > 0) {
        await this.#wait();
        continue;
      }
      if (await this.#merge(state, signal)) {
        // An order that comes from now on reopens the run.
        const ports = await records.ports(this.#book.run.id);

        return await tidy(this.#book.run, ports, { signal });
      }
      const isPaused = this.#book.run.status === "paused";
      const again = await this.#open(graph, maxConcurrency, isPaused ? "paused" : "running");
      await this.#carryOut(again.state, again.actions);
      ({ state } = again);
    }
  }

  /** Opens the scheduler on the ports as they stand. */
  async #open(
    graph: PlanGraph,
    maxConcurrency: number,
    status: "running" | "paused" | "cancelling",
  ): Promise<SchedulerDecision> {
    const records = await this.#book.reloadPorts();
    return openRun({ graph, maxConcurrency, records, status });
  }

  /** The rest of the loop waits here: for a report, an order, a stop. */
  async #wait(): Promise<void> {
    await this.#wake.promise;
    this.#wake = Promise.withResolvers<void>();
  }

  /** Without those that wait for the end of a port's work, unless something has ended. */
  #actionable(orders: readonly OpenOrder[], reports: readonly PortReport[]): readonly OpenOrder[] {
    if (reports.length > 0) this.#underWay = new Set();
    return orders.filter(({ id }) => !this.#underWay.has(id));
  }

  /** What reports and orders change. `isAsked`: the scheduler goes on because of an order. */
  #decideBatch(
    before: SchedulerState,
    reports: readonly PortReport[],
    orders: readonly OpenOrder[],
  ): {
    readonly state: SchedulerState;
    readonly actions: readonly SchedulerAction[];
    readonly entry: RunEntry;
    readonly isAsked: boolean;
  } {
    const batch: PortBatch = {
      state: before,
      actions: [],
      changes: [],
      raised: [],
      closed: [],
      settles: [],
      reviews: [],
      runChange: {},
    };
    for (const report of reports) this.#addReport(batch, report);
    const succeeded = batch.changes.filter(({ resultCommit }) => resultCommit !== undefined);
    if (succeeded.length > 0) {
      batch.settles.push({ ports: succeeded.map(({ position }) => this.#book.portAt(position)) });
    }
    let isAsked = false;
    for (const order of orders) {
      const decided = this.#addOrder(batch, order);
      if (decided.decisions?.length) isAsked = true;
    }
    const { state, actions, runChange, ...lists } = batch;
    const entry = { ...lists, change: runChange };

    return { state, actions, entry, isAsked };
  }

  #addReport(batch: PortBatch, report: PortReport): void {
    const decision = decide(batch.state, report);
    batch.state = decision.state;
    batch.actions.push(...decision.actions);
    if (decision.refused) return;
    const { position } = this.#book.port(report.port);
    const { outcome } = report;
    const addSpentMs = outcome.spentMs;
    if (outcome.status === "failed") {
      if (outcome.escalation) batch.raised.push(outcome.escalation);
      batch.changes.push({ position, because: outcome.because, addSpentMs });

      return;
    }
    if (outcome.status === "held") batch.raised.push(outcome.escalation);
    const hasResult = outcome.status === "succeeded" || outcome.status === "held";
    const resultCommit = hasResult ? (outcome.commit ?? null) : undefined;
    const because = (outcome.status === "held" ? outcome.because : undefined) ?? null;
    batch.changes.push({ position, because, resultCommit, addSpentMs });
  }

  #addOrder(batch: PortBatch, open: OpenOrder): OrderDecision {
    const { order } = open;
    const { run, ports } = this.#book;
    const view = { run, ports, state: batch.state, dormant: this.#dormant };
    const decided = decideOrder(order, view);
    for (const decision of decided.decisions ?? []) {
      batch.state = decision.state;
      batch.actions.push(...decision.actions);
    }
    batch.changes.push(...(decided.changes ?? []));
    batch.settles.push(...(decided.settles ?? []));
    if (decided.review) batch.reviews.push(decided.review);
    batch.runChange = { ...batch.runChange, ...decided.runChange };
    if (decided.stops !== undefined) {
      this.#runner.leaveOut(decided.stops);
      this.#underWay = new Set([...this.#underWay, open.id]);

      return decided;
    }
    batch.closed.push({ order: open, refused: decided.refused });
    if (decided.refused) return decided;

    if (order.type === "again") this.#dormant = undefined;
    if (BEGINS_AGAIN.has(order.type) && decided.decisions) {
      this.#runner.forgetFaults(portOf(order)!);
    }
    // The next order adds to what this one gave.
    const { tokensMost, callsMost } = decided.runChange ?? {};
    this.#book.note({ changes: decided.changes ?? [], run: { tokensMost, callsMost } });

    return decided;
  }

  /** Writes what was decided, with its events, and then does it. */
  async #carryOut(
    state: SchedulerState,
    actions: readonly SchedulerAction[],
    entry: RunEntry = {},
  ): Promise<void> {
    const isDormant = this.#dormant !== undefined;
    await this.#book.writeDecided(entryOf(this.#book, { state, actions, entry, isDormant }));
    for (const action of actions) {
      if (action.type === "start") this.#start(action.port, action.attempt);
      if (action.type === "stop") this.#runner.cancel(action.port);
    }
    const over = actions.find((action) => action.type === "end");
    if (over?.outcome !== "cancelled") return;
    const report = reportOf([...this.#book.ports.values()]);
    await this.#book.end({ status: "cancelled", phase: "over", report });
  }

  #start(port: string, attempt: number): void {
    this.#runner.start(port, attempt);
    if (this.#underWay.size === 0) return;
    this.#underWay = new Set(); // an order may wait for just this
    this.notice();
  }

  // --- merge

  /** Under `merge: as_ready`: what has succeeded so far, to be looked at. */
  async #mergeReady(reports: readonly PortReport[], signal: AbortSignal): Promise<void> {
    const { run } = this.#book;
    if (run.plan.limits.merge !== "as_ready") return;
    if (!reports.some(({ type }) => type === "succeeded")) return;
    await this.#parts.mergeReady(run, await this.#parts.records.ports(run.id), { signal });
  }

  /** True when the run rests afterwards; false when a port was given back or taken out. */
  async #merge(state: SchedulerState, signal: AbortSignal): Promise<boolean> {
    if (state.status === "cancelled") return true;
    const ports = await this.#book.reloadPorts();
    if (!ports.some(({ status }) => status === "succeeded")) {
      await this.#book.end({ status: "failed", phase: "over", report: reportOf(ports) });
      return true;
    }
    await this.#book.write({ change: { phase: "merging" } });
    const merging = (stop: AbortSignal): ReturnType<LeaderMerge["merge"]> =>
      this.#merging.merge(ports, stop);
    const heard = await this.#listener.listen(merging, signal);
    signal.throwIfAborted();
    if ("cancel" in heard) {
      await this.#listener.cancelRun(heard.cancel, ports);
      return true;
    }

    return this.#merging.settle(ports, heard.value);
  }
}

interface PreparingParts {
  readonly book: RunBook;
  readonly listener: OrderListener;
  readonly parts: LeaderParts;
}

/** The beginning of a run: its machine is looked at, and what its ports need is made ready. */
class LeaderPrepare {
  readonly #book: RunBook;
  readonly #listener: OrderListener;
  readonly #parts: LeaderParts;

  constructor({ book, listener, parts }: PreparingParts) {
    this.#book = book;
    this.#listener = listener;
    this.#parts = parts;
  }

  /** Undefined: nothing is to be done. */
  async prepare(signal: AbortSignal): Promise<{ maxConcurrency: number } | undefined> {
    const isOver = isRunOver(this.#book.run.status);
    await this.#announceStart();
    // Nothing begins any more.
    if (this.#book.run.status === "cancelling") return { maxConcurrency: 1 };

    const prepare = (stop: AbortSignal): ReturnType<LeaderParts["prepare"]> =>
      this.#parts.prepare(this.#book.run, { signal: stop });
    const heard: ValueOrCancel<Awaited<ReturnType<typeof prepare>>> = isOver
      ? { value: await prepare(signal) }
      : await this.#listener.listen(prepare, signal);
    signal.throwIfAborted();
    const ports = await this.#parts.records.ports(this.#book.run.id);
    if ("cancel" in heard) {
      await this.#listener.cancelRun(heard.cancel, ports);
      return undefined;
    }
    if ("failed" in heard.value) {
      await this.#notPrepared(heard.value.failed, ports, isOver);
      return undefined;
    }
    await this.#book.reloadRun();

    return heard.value;
  }

  /** The run begins, or goes on on a machine that is back. */
  async #announceStart(): Promise<void> {
    const { status, statusBefore } = this.#book.run;
    if (status === "waiting_host") {
      await this.#book.write({
        change: { status: statusBefore ?? "running" },
        events: [this.#book.event("run.resume", { because: "its machine is back" })],
        settles: [{ ports: [OF_RUN], types: ["blocked"] }],
      });
    }
    const { run } = this.#book;
    if (run.status === "cancelling") return;
    if (run.phase !== "preparing" || run.startCommit !== null) return;
    const { name, ports } = run.plan;
    await this.#book.write({
      change: { status: run.status },
      events: [this.#book.event("run.start", { name, ports: ports.length })],
    });
  }

  /** What a run has come to is not undone by an order that cannot be carried out. */
  async #notPrepared(because: Because, ports: readonly PlanPort[], isOver: boolean): Promise<void> {
    await this.#book.refuseOrders(because.code, because.message);
    if (isOver) return;
    const report = reportOf(ports, because);
    await this.#book.end({ status: "failed", phase: "over", because, report });
  }
}
