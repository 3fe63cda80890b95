import { isRunOver } from "../../kernel/plans.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import { blockReasons } from "../scheduler.ts";
import { portState, type SchedulerAction, type SchedulerState } from "../schedule-state.ts";
import { present } from "../rows/records.ts";
import type { PortChange, RunChange } from "../rows/run-changes.ts";
import type { RunBook, RunEntry } from "./run-book.ts";
import type { ClosedOrder } from "./run-orders.ts";
import type { PlanPort } from "../rows/run.ts";
import { aboutRun, escalationFor } from "../ask/triggers.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";

/** What the scheduler and the orders have decided together, before it is written. */
export interface Decided {
  readonly state: SchedulerState;
  readonly actions: readonly SchedulerAction[];
  readonly entry: RunEntry;
  /** The run has ended before its ports did, and stays so. */
  readonly isDormant: boolean;
}

/** Orders to the whole run whose carrying out is an event. */
export const RUN_EVENTS = {
  pause: "run.pause",
  resume: "run.resume",
  cancel: "run.cancel",
} as const;

type Blocking = Extract<SchedulerAction, { type: "block" }>;

/** What is written of a decision: changes, questions and events. Reads the book, changes nothing. */
export function entryOf(book: RunBook, decided: Decided): RunEntry {
  const { actions, entry } = decided;
  const { changes = [], closed = [], raised = [] } = entry;
  // After a crash the scheduler decides once more what was blocked before: that is known.
  const blocked = actions.filter(
    (action): action is Blocking =>
      action.type === "block" && book.port(action.port).status !== "blocked",
  );
  const isNew = (action: SchedulerAction): boolean =>
    action.type !== "block" || blocked.includes(action);
  return {
    ...entry,
    change: runChangeOf(book, decided),
    changes: portChanges(book, decided),
    raised: [...raised, ...dependencyQuestions(book, blocked)],
    events: [
      ...changes.flatMap((change) => outcomeEvents(book, change, decided.state)),
      ...actions.filter(isNew).flatMap((action) => actionEvents(book, action)),
      ...closed.flatMap((order) => orderEvents(book, order)),
    ],
  };
}

/** One change for each port, with its status. */
function portChanges(book: RunBook, { state, actions, entry }: Decided): PortChange[] {
  const merged = new Map<number, PortChange>();
  const put = (change: PortChange): void => {
    merged.set(change.position, { ...merged.get(change.position), ...present(change) });
  };
  const given = entry.changes ?? [];
  for (const change of given) put(change);

  const touched = new Set([
    ...actions.flatMap((action) => ("port" in action ? [action.port] : [])),
    ...given.map(({ position }) => book.portAt(position)),
  ]);
  const reasons = actions.some(({ type }) => type === "block") ? blockReasons(state) : undefined;
  for (const id of touched) {
    const change = statusChange(state, book.port(id), reasons?.get(id));
    if (change) put(change);
  }

  return [...merged.values()];
}

/** Undefined: the port stands as it stood. Pure. */
function statusChange(
  state: SchedulerState,
  port: PlanPort,
  blockers: readonly string[] | undefined,
): PortChange | undefined {
  const { status, attempt } = portState(state, port.id);
  const { position } = port;
  if (status === port.status && attempt === port.attempt) return undefined;
  if (status === "blocked" && blockers) {
    const because = {
      code: "DEPENDENCY_FAILED",
      message: `It needs ${blockers.slice(0, 5).join(", ")}, which failed.`,
      hint: "Retry what failed; this port goes on by itself.",
    };

    return { position, status, attempt, because };
  }
  const isUnblocked = status === "ready" && port.status === "blocked";

  return { position, status, attempt, because: isUnblocked ? null : undefined };
}

function runChangeOf(book: RunBook, { state, actions, entry, isDormant }: Decided): RunChange {
  const asked = entry.change ?? {};
  const { run } = book;
  const isOver = isRunOver(state.status);
  const isEnd = actions.some(({ type }) => type === "end");
  // A run that had ended and of which nothing came to be wanted stays as it was.
  const rests = isDormant || (isRunOver(run.status) && isOver && asked.status === undefined);
  const status = rests || isRunOver(state.status) ? undefined : state.status;

  return {
    ...asked,
    status: status !== undefined && status !== run.status ? status : asked.status,
    phase: run.phase !== "building" && !isEnd && !rests ? "building" : asked.phase,
  };
}

/** One per port that failed: it is open until that one succeeds. */
function dependencyQuestions({ run }: RunBook, blocked: readonly Blocking[]): NewEscalation[] {
  return [...Map.groupBy(blocked, ({ by }) => by)].map(([by, dependents]) => {
    const names = dependents.map(({ port }) => port);
    const more = names.length > 3 ? ` (+${names.length - 3})` : "";

    return escalationFor("dependency-failed", {
      ...aboutRun(run),
      port: by,
      title: `${run.plan.name}: ${names.slice(0, 3).join(", ")}${more} ← ${by}`,
      context: { blocked: names.slice(0, 50), failed: [by] },
    });
  });
}

function outcomeEvents(
  book: RunBook,
  { position, because, resultCommit }: PortChange,
  state: SchedulerState,
): NewPlatformEvent[] {
  const port = book.portAt(position);
  const hasResult = resultCommit !== undefined && resultCommit !== null;
  const isHeld = hasResult && portState(state, port).status === "held";
  if (isHeld) return [book.event("port.held", { port, commit: resultCommit })];
  if (because) {
    const { message, code } = because;
    return [book.event("port.failed", { port, because: message, code })];
  }
  if (!hasResult) return [];

  return [book.event("port.success", { port, commit: resultCommit })];
}

function actionEvents(book: RunBook, action: SchedulerAction): NewPlatformEvent[] {
  switch (action.type) {
    case "ready":
      return [book.event("port.ready", { port: action.port })];
    case "start":
      return [book.event("port.start", { port: action.port, attempt: action.attempt })];
    case "block":
      return [book.event("port.blocked", { port: action.port, by: action.by })];
    default:
      return [];
  }
}

function orderEvents(book: RunBook, { order, refused }: ClosedOrder): NewPlatformEvent[] {
  const { type } = order.order;
  if (refused || !(type in RUN_EVENTS)) return [];

  return [book.event(RUN_EVENTS[type as keyof typeof RUN_EVENTS], { by: order.by })];
}
