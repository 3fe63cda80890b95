import { isRunOver, type PortStatus } from "../kernel/plans.ts";
import {
  type PortState,
  portState,
  type Refusal,
  type RunStatus,
  type SchedulerEvent,
  type SchedulerState,
} from "./schedule-state.ts";

/** Why an event changes nothing; undefined: it does. */
export function refusal(state: SchedulerState, event: SchedulerEvent): Refusal | undefined {
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
): Refusal | undefined {
  const port = portState(state, event.port);
  if (port.status !== "running" || port.attempt !== event.attempt) return "stale-report";

  return event.type === "stopped" && state.status !== "cancelling" ? "not-cancelling" : undefined;
}

function retryRefusal(run: RunStatus, { status, needs }: PortState): Refusal | undefined {
  if (run === "cancelling" || run === "cancelled") return "run-cancelled";
  if (status === "blocked") return "port-blocked";
  if (status !== "failed") return "port-not-failed";

  return needs > 0 ? "need-reopened" : undefined;
}

function reopenRefusal(run: RunStatus, { status, needs }: PortState): Refusal | undefined {
  if (run === "cancelling" || run === "cancelled") return "run-cancelled";
  if (status !== "held" && status !== "succeeded") return "port-not-done";

  return needs > 0 ? "need-reopened" : undefined;
}

function skipRefusal(port: PortStatus): Refusal | undefined {
  return port === "ready" || port === "held" ? undefined : "port-not-ready";
}

function isHeld(state: SchedulerState, port: string): boolean {
  return portState(state, port).status === "held";
}

function orderRefusal(
  status: RunStatus,
  order: "pause" | "resume" | "cancel",
): Refusal | undefined {
  if (order === "resume") return status === "paused" ? undefined : "not-paused";
  if (status === "cancelling") return "already-cancelling";

  return order === "pause" && status === "paused" ? "already-paused" : undefined;
}
