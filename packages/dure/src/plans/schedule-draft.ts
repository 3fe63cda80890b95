import type { PortStatus } from "../kernel/plans.ts";
import { type PlanGraph, precedes } from "./graph.ts";
import { type Numbered, putIn, type ReadyQueue, setAt } from "./scheduler-parts.ts";
import type { PortState, RunStatus, SchedulerAction, SchedulerState } from "./schedule-state.ts";

/** The next state while it is made. Never seen outside of one decision. */
export class Draft {
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
