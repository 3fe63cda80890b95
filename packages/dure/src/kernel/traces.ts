import type { EscalationStatus } from "./escalation.ts";
import type { JobStatus } from "./jobs.ts";
import type { PlanRunStatus, PortStatus } from "./plans.ts";
import type { Delivery, RequestState } from "./rooms.ts";
import type { TurnStatus } from "./turn-events.ts";

/** Things that begin each other. */
export const TRACE_KINDS = [
  "message",
  "turn",
  "request",
  "job",
  "run",
  "port",
  "escalation",
] as const;

export type TraceKind = (typeof TRACE_KINDS)[number];

/** Things that a list of traces has: what people, clocks and agents set off. */
export const LISTED_KINDS = ["turn", "job", "run"] as const;
export type ListedKind = (typeof LISTED_KINDS)[number];

/** What a turn consists of. */
export const TRACE_STEP_KINDS = ["agent", "model", "tool", "step", "wait", "remote"] as const;
export type TraceStepKind = (typeof TRACE_STEP_KINDS)[number];

/** How a thing of any kind stands. `failed` also of a turn, by its `DONE`. */
export type TraceStatus = {
  readonly message: Delivery;
  readonly turn: TurnStatus | "failed";
  readonly request: RequestState;
  readonly job: JobStatus;
  readonly run: PlanRunStatus;
  readonly port: PortStatus;
  readonly escalation: EscalationStatus;
}[TraceKind];

/** Statuses by what they come to, over all kinds. */
export const TRACE_STATES = {
  done: ["done", "COMPLETED", "success"],
  failed: ["failed", "FAILED", "ABANDONED", "partial"],
  running: ["running", "RUNNING", "cancelling"],
  waiting: ["queued", "PENDING", "paused", "waiting_host"],
  cancelled: ["CANCELLED", "cancelled"],
} as const satisfies Record<string, readonly TraceStatus[]>;
export type TraceState = keyof typeof TRACE_STATES;
