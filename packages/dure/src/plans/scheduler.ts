/** The scheduler of a run: what starts next, what is blocked, and when it is over. Pure. */

import { DureError } from "../kernel/errors.ts";
import { isRunOver, type PortStatus, type RunOutcome } from "../kernel/plans.ts";
import { blockedBy, type PlanGraph, positionOf, precedes } from "./graph.ts";
import {
  emptyQueue,
  numbered,
  takeFirst,
  type Numbered,
  putIn,
  type ReadyQueue,
  setAt,
} from "./scheduler-parts.ts";
import {
  type PortState,
  type RunOptions,
  type RunStatus,
  type SchedulerDecision,
  type SchedulerEvent,
  type SchedulerState,
  type SchedulerAction,
  portState,
  type ScheduleRefusal,
} from "./schedule-state.ts";

/** Begins a run, or goes on with one. Pure. */
export function openRun({
  graph,
  maxConcurrency,
  records = [],
  status = "running",
}: RunOptions): SchedulerDecision {
  if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1) {
    throw new DureError(
      "PLAN_CONCURRENCY",
      `${maxConcurrency} ports cannot work at the same time.`,
      { class: "input", hint: "Set max_concurrency to 1 or more." },
    );
  }
  const run = new Draft(freshState(graph, maxConcurrency, status));
  const kept: { index: number; status: PortStatus }[] = [];
  for (const { id, status: stored, attempt } of records) {
    const index = positionOf(graph, id);
    run.change(index, { attempt });
    if (STAYS.has(stored)) kept.push({ index, status: stored });
  }
  for (const { index, status: stored } of kept) {
    run.turn(index, stored);
    if (stored === "succeeded") needOneLess(run, index);
  }
  for (const { index, status: stored } of kept) {
    if (stored === "failed") blockDependents(run, index);
  }
  for (const index of graph.ids.keys()) becomeReady(run, index);
  if (status === "cancelling") dropAll(run);

  return settle(run);
}

/** What a process that takes over finds and leaves as it is. */
const STAYS: ReadonlySet<PortStatus> = new Set(["succeeded", "held", "failed"]);

/** Every port waits. */
function freshState(graph: PlanGraph, maxConcurrency: number, status: RunStatus): SchedulerState {
  const ports = graph.ids.map((_id, index): PortState => ({
    status: "waiting",
    attempt: 0,
    needs: graph.dependencies[index]!.length,
    broken: 0,
    blocksDependents: false,
  }));
  const counts = {
    waiting: ports.length,
    ready: 0,
    running: 0,
    held: 0,
    succeeded: 0,
    failed: 0,
    blocked: 0,
    cancelled: 0,
  };

  return { graph, maxConcurrency, status, ports: numbered(ports), ready: emptyQueue, counts };
}

/** What needs the port, which has succeeded, needs one port less. */
function needOneLess(run: Draft, index: number): void {
  for (const dependent of run.graph.dependents[index]!) {
    run.change(dependent, { needs: run.port(dependent).needs - 1 });
  }
}

/**
 * What an event changes, and what is to be done. Pure. A free slot goes to the ready port behind
 * which most work waits, then to the earlier one in the plan; nothing waits for a level. Throws
 * `PLAN_PORT_UNKNOWN`. Source: docs/spec/plans §3.
 */
export function decide(state: SchedulerState, event: SchedulerEvent): SchedulerDecision {
  const refused = refusal(state, event);
  if (refused) return { state, actions: [], refused };
  const run = new Draft(state);
  apply(run, event);

  return settle(run);
}

/** What an event that is not refused changes. */
function apply(run: Draft, event: SchedulerEvent): void {
  const { graph } = run;
  switch (event.type) {
    case "succeeded":
      succeed(run, positionOf(graph, event.port));
      // A retry may have succeeded and unblocked its dependents.
      if (run.status === "cancelling") dropAll(run);
      break;
    case "held":
      hold(run, positionOf(graph, event.port));
      break;
    case "failed":
      fail(run, positionOf(graph, event.port));
      break;
    case "stopped":
      run.turn(positionOf(graph, event.port), "cancelled");
      break;
    case "retry":
      run.status = run.status === "paused" ? "paused" : "running";
      run.makeReady(positionOf(graph, event.port));
      break;
    case "approve":
      succeed(run, positionOf(graph, event.port));
      break;
    case "reopen":
      run.status = run.status === "paused" ? "paused" : "running";
      reopen(run, positionOf(graph, event.port));
      break;
    case "skip":
      fail(run, positionOf(graph, event.port));
      break;
    case "pause":
      run.status = "paused";
      break;
    case "resume":
      run.status = "running";
      break;
    case "cancel":
      run.status = "cancelling";
      dropAll(run);
      stopAll(run);
      break;
    default:
      event satisfies never;
  }
}

function stopAll(run: Draft): void {
  for (const [index, id] of run.graph.ids.entries()) {
    const { status, attempt } = run.port(index);
    if (status === "running") run.actions.push({ type: "stop", port: id, attempt });
  }
}

/**
 * For each blocked port the failed ones that it waits for. Failed ports that are being retried
 * count until they succeed.
 */
export function blockReasons(state: SchedulerState): Map<string, readonly string[]> {
  return blockedBy(
    state.graph,
    state.graph.ids.filter((_id, index) => state.ports.at(index).blocksDependents),
  );
}

function succeed(run: Draft, index: number): void {
  const { blocksDependents: wasBlocking } = run.port(index);
  run.turn(index, "succeeded");
  needOneLess(run, index);
  if (wasBlocking) unblockDependents(run, index);
  for (const dependent of run.graph.dependents[index]!) becomeReady(run, dependent);
}

/** It gives its slot back. In a run that is cancelled no person is asked any more. */
function hold(run: Draft, index: number): void {
  run.turn(index, run.status === "cancelling" ? "cancelled" : "held");
}

/** What needs it and has not begun waits for it again. */
function reopen(run: Draft, index: number): void {
  const { status } = run.port(index);
  run.makeReady(index);
  if (status !== "succeeded") return;
  for (const dependent of run.graph.dependents[index]!) {
    const port = run.port(dependent);
    run.change(dependent, { needs: port.needs + 1 });
    if (port.status === "ready") run.turn(dependent, "waiting");
  }
}

function fail(run: Draft, index: number): void {
  const { blocksDependents: wasBlocking } = run.port(index);
  run.turn(index, "failed");
  if (!wasBlocking) blockDependents(run, index);
}

/** Blocks all that need a port that failed, through others too. Each edge is walked once. */
function blockDependents(run: Draft, index: number): void {
  run.change(index, { blocksDependents: true });
  const broken = [index];
  for (let at = broken.pop(); at !== undefined; at = broken.pop()) {
    for (const dependent of run.graph.dependents[at]!) {
      const port = run.port(dependent);
      run.change(dependent, { broken: port.broken + 1 });
      if (port.status !== "waiting") continue;
      run.turn(dependent, "blocked");
      run.actions.push({ type: "block", port: run.name(dependent), by: run.name(index) });
      broken.push(dependent);
    }
  }
}

/** Takes back what `blockDependents` did, where nothing else that is needed has failed. */
function unblockDependents(run: Draft, index: number): void {
  run.change(index, { blocksDependents: false });
  const unblocked = [index];
  for (let at = unblocked.pop(); at !== undefined; at = unblocked.pop()) {
    for (const dependent of run.graph.dependents[at]!) {
      const port = run.port(dependent);
      run.change(dependent, { broken: port.broken - 1 });
      if (port.status !== "blocked" || port.broken > 1) continue;
      run.turn(dependent, "waiting");
      run.actions.push({ type: "unblock", port: run.name(dependent) });
      unblocked.push(dependent);
    }
  }
}

function becomeReady(run: Draft, index: number): void {
  const { status, needs } = run.port(index);
  if (status === "waiting" && needs === 0 && run.status !== "cancelling") run.makeReady(index);
}

const DROPPED: ReadonlySet<PortStatus> = new Set(["waiting", "ready", "held"]);

/** Blocked ports stay blocked: that is the truer reason why they are missing. */
function dropAll(run: Draft): void {
  run.ready = emptyQueue;
  for (const [index, id] of run.graph.ids.entries()) {
    const { status } = run.port(index);
    if (!DROPPED.has(status)) continue;
    run.turn(index, "cancelled");
    run.actions.push({ type: "drop", port: id });
  }
}

/** Gives free slots away, and ends the run when nothing runs or can. */
function settle(run: Draft): SchedulerDecision {
  while (
    run.status === "running" &&
    run.counts.running < run.maxConcurrency &&
    run.counts.ready > 0
  ) {
    const { first, rest } = takeFirst(run.ready, run.isBefore)!;
    run.ready = rest;
    // A port that was left out is not ready any more; one that was made ready twice stands here twice.
    if (run.port(first).status !== "ready") continue;
    const attempt = run.port(first).attempt + 1;
    run.change(first, { attempt });
    run.turn(first, "running");
    run.actions.push({ type: "start", port: run.name(first), attempt });
  }
  const { running, ready, held } = run.counts;
  if (!isRunOver(run.status) && running + ready + held === 0) {
    const outcome = outcomeOf(run);
    run.status = outcome;
    const kept = run.graph.ids.filter((_id, index) => run.port(index).status === "succeeded");
    const missing = run.graph.ids.filter((_id, index) => run.port(index).status !== "succeeded");
    run.actions.push({ type: "end", outcome, kept, missing });
  }

  return { state: run.done(), actions: run.actions };
}

/**
 * Source: docs/spec/plans §3. A run that was cancelled when its last port succeeded has succeeded.
 */
function outcomeOf({ status, counts, graph }: Draft): RunOutcome {
  if (counts.succeeded === graph.ids.length) return "success";
  if (status === "cancelling") return "cancelled";

  return counts.succeeded > 0 ? "partial" : "failed";
}

/** The next state while it is made. Never seen outside of one decision. */
class Draft {
  readonly graph: PlanGraph;
  readonly maxConcurrency: number;
  readonly counts: Record<PortStatus, number>;
  readonly actions: SchedulerAction[] = [];
  status: RunStatus;
  ready: ReadyQueue;
  #ports: Numbered<PortState>;

  constructor(state: SchedulerState) {
    this.graph = state.graph;
    this.maxConcurrency = state.maxConcurrency;
    this.counts = { ...state.counts };
    this.status = state.status;
    this.ready = state.ready;
    this.#ports = state.ports;
  }

  readonly isBefore = (a: number, b: number): boolean => precedes(this.graph, a, b);

  name(index: number): string {
    return this.graph.ids[index]!;
  }

  port(index: number): PortState {
    return this.#ports.at(index);
  }

  change(index: number, change: Partial<PortState>): void {
    this.#ports = setAt(this.#ports, index, { ...this.#ports.at(index), ...change });
  }

  turn(index: number, status: PortStatus): void {
    this.counts[this.port(index).status]--;
    this.counts[status]++;
    this.change(index, { status });
  }

  makeReady(index: number): void {
    this.turn(index, "ready");
    this.ready = putIn(this.ready, index, this.isBefore);
    this.actions.push({ type: "ready", port: this.name(index) });
  }

  done(): SchedulerState {
    const { graph, maxConcurrency, status, ready, counts } = this;
    return { graph, maxConcurrency, status, ports: this.#ports, ready, counts };
  }
}

/** Why an event changes nothing; undefined: it does. */
function refusal(state: SchedulerState, event: SchedulerEvent): ScheduleRefusal | undefined {
  const { status } = state;
  switch (event.type) {
    case "succeeded":
    case "held":
    case "failed":
    case "stopped":
      return reportRefusal(state, event);
    case "retry":
      return retryRefusal(status, portState(state, event.port));
    case "approve":
      return isHeld(state, event.port) ? undefined : "port-not-held";
    case "reopen":
      return reopenRefusal(status, portState(state, event.port));
    case "skip":
      return skipRefusal(portState(state, event.port).status);
    case "pause":
    case "resume":
    case "cancel":
      return isRunOver(status) ? "run-over" : orderRefusal(status, event.type);
    default:
      return event satisfies never;
  }
}

function reportRefusal(
  state: SchedulerState,
  event: Extract<SchedulerEvent, { attempt: number }>,
): ScheduleRefusal | undefined {
  const port = portState(state, event.port);
  if (port.status !== "running" || port.attempt !== event.attempt) return "stale-report";

  return event.type === "stopped" && state.status !== "cancelling" ? "not-cancelling" : undefined;
}

function retryRefusal(run: RunStatus, { status, needs }: PortState): ScheduleRefusal | undefined {
  if (run === "cancelling" || run === "cancelled") return "run-cancelled";
  if (status === "blocked") return "port-blocked";
  if (status !== "failed") return "port-not-failed";

  return needs > 0 ? "need-reopened" : undefined;
}

function reopenRefusal(run: RunStatus, { status, needs }: PortState): ScheduleRefusal | undefined {
  if (run === "cancelling" || run === "cancelled") return "run-cancelled";
  if (status !== "held" && status !== "succeeded") return "port-not-done";

  return needs > 0 ? "need-reopened" : undefined;
}

function skipRefusal(port: PortStatus): ScheduleRefusal | undefined {
  return port === "ready" || port === "held" ? undefined : "port-not-ready";
}

function isHeld(state: SchedulerState, port: string): boolean {
  return portState(state, port).status === "held";
}

function orderRefusal(
  status: RunStatus,
  order: "pause" | "resume" | "cancel",
): ScheduleRefusal | undefined {
  if (order === "resume") return status === "paused" ? undefined : "not-paused";
  if (status === "cancelling") return "already-cancelling";

  return order === "pause" && status === "paused" ? "already-paused" : undefined;
}
