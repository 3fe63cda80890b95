/** The state by which the scheduler decides. */

import type { PlanRunStatus, PortStatus, RunOutcome } from "../kernel/plans.ts";
import { type PlanGraph, positionOf } from "./graph.ts";
import type { Numbered, ReadyQueue } from "./scheduler-parts.ts";

/**
 * waiting: something it needs has not succeeded yet. ready: it waits for a slot only. held: it was
 * accepted, and waits for a person without a slot. blocked: something that it needs has failed,
 * directly or through others. cancelled: the run was cancelled before it succeeded. Source: docs/spec/plans §3.
 */
/** paused: nothing starts, what runs goes on. cancelling: waits for running ports to be stopped. */
export type RunStatus = Exclude<PlanRunStatus, "waiting_host">;

export interface PortState {
  readonly status: PortStatus;
  /** Starts so far. A report of an earlier start is stale. */
  readonly attempt: number;
  /** Of those that it needs: how many have not succeeded. */
  readonly needs: number;
  /** Of those that it needs: how many have failed or are blocked. */
  readonly broken: number;
  /** Its dependents are blocked: from its first failure until it succeeds. */
  readonly blocksDependents: boolean;
}

/** A value; `decide` makes the next one and leaves this one as it is. */
export interface SchedulerState {
  readonly graph: PlanGraph;
  /** Ports that work at the same time, at least 1. */
  readonly maxConcurrency: number;
  readonly status: RunStatus;
  /** By position in the plan. */
  readonly ports: Numbered<PortState>;
  readonly ready: ReadyQueue;
  readonly counts: Readonly<Record<PortStatus, number>>;
}

/**
 * `succeeded`, `held`, `failed` and `stopped` are reports of one start; a port that timed out has
 * failed.
 */
export type SchedulerEvent =
  | {
      readonly type: "succeeded" | "held" | "failed" | "stopped";
      readonly port: string;
      readonly attempt: number;
    }
  | { readonly type: "retry"; readonly port: string }
  /** A person has approved what is held. */
  | { readonly type: "approve"; readonly port: string }
  /** A person wants more of a port that is held or has succeeded. */
  | { readonly type: "reopen"; readonly port: string }
  /**
   * The run goes on without a port that waits for a slot; one that runs is stopped first, and
   * reported as failed.
   */
  | { readonly type: "skip"; readonly port: string }
  | { readonly type: "pause" | "resume" | "cancel" };

/** What is to be done, in this order. Each start is reported back, else the run does not end. */
export type SchedulerAction =
  | { readonly type: "ready"; readonly port: string }
  | { readonly type: "start"; readonly port: string; readonly attempt: number }
  | { readonly type: "stop"; readonly port: string; readonly attempt: number }
  /** `by`: the failed port. There may be more (`blockReasons`). */
  | { readonly type: "block"; readonly port: string; readonly by: string }
  | { readonly type: "unblock"; readonly port: string }
  /** It was not started, and will not be. */
  | { readonly type: "drop"; readonly port: string }
  | {
      readonly type: "end";
      readonly outcome: RunOutcome;
      readonly kept: readonly string[];
      readonly missing: readonly string[];
    };

/** Why an event changed nothing. */
export type ScheduleRefusal =
  | "stale-report"
  | "not-cancelling"
  | "run-over"
  | "run-cancelled"
  | "already-paused"
  | "not-paused"
  | "already-cancelling"
  | "port-not-failed"
  | "port-not-ready"
  | "port-not-held"
  | "port-not-done"
  | "need-reopened"
  | "port-blocked";

export interface SchedulerDecision {
  readonly state: SchedulerState;
  readonly actions: readonly SchedulerAction[];
  readonly refused?: ScheduleRefusal;
}

/** What is stored of a port, for a run that goes on after its process died. */
export interface PortRecord {
  readonly id: string;
  readonly status: PortStatus;
  readonly attempt: number;
}

export interface RunOptions {
  readonly graph: PlanGraph;
  readonly maxConcurrency: number;
  /**
   * Of a run that goes on. Succeeded and failed ports stay so; running ones are started anew, with
   * the next attempt.
   */
  readonly records?: Iterable<PortRecord>;
  /** How the run stood. */
  readonly status?: "running" | "paused" | "cancelling";
}

export function portState(state: SchedulerState, id: string): PortState {
  return state.ports.at(positionOf(state.graph, id));
}
