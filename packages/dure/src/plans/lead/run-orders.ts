import { isRunOver } from "../../kernel/plans.ts";
import { decide } from "../scheduler.ts";
import {
  portState,
  type ScheduleRefusal,
  type SchedulerDecision,
  type SchedulerState,
} from "../schedule-state.ts";
import type { CarriedReview } from "../rows/comment-rows.ts";
import { present } from "../rows/records.ts";
import type { OpenOrder, PortChange, RunChange, Settling } from "../rows/run-changes.ts";
import {
  LEFT_OUT,
  RUN_CALLS_EXHAUSTED,
  RUN_TOKENS_EXHAUSTED,
  TRY_ENDING,
  type PlanPort,
  type PlanRun,
  type RunOrder,
} from "../rows/run.ts";
import type { PathGrant } from "../../wire/runs.ts";

export type OrderRefusal =
  | ScheduleRefusal
  | "run-cleaned"
  | "run-going"
  | "run-succeeded"
  | "run-unbounded"
  | "port-succeeded"
  | "port-waiting"
  | "PLAN_PORT_UNKNOWN";

/** In the words of the person whose order is refused. */
export const REFUSALS: Readonly<Record<OrderRefusal, string>> = {
  "stale-report": "The port has begun anew meanwhile.",
  "not-cancelling": "The run is not being cancelled.",
  "run-cleaned": "The files of the run were cleaned away.",
  "run-going": "The run still goes on.",
  "run-succeeded": "The run has succeeded.",
  "run-unbounded": "The run has no bound of tokens.",
  "port-succeeded": "The port has succeeded meanwhile.",
  "port-not-ready": "The port does not wait for a slot.",
  "port-not-held": "The port waits for no approval.",
  "need-reopened": "What the port needs is worked on again; wait for it.",
  "port-not-done": "The port is still worked on; say it to its worker.",
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

/** An order that was carried out, or refused. */
export interface ClosedOrder {
  readonly order: OpenOrder;
  readonly refused?: OrderRefusal | undefined;
}

/** Escalations of no port. */
export const OF_RUN = "";

/** How a run stands when an order comes. */
export interface OrderView {
  readonly run: PlanRun;
  readonly ports: ReadonlyMap<string, PlanPort>;
  readonly state: SchedulerState;
  /** Of a run that ended before its ports did: how it would go on if the operator asked. */
  readonly dormant: SchedulerDecision | undefined;
}

/** What an order changes. A refused one changes nothing. */
export interface OrderDecision {
  readonly decisions?: readonly SchedulerDecision[];
  readonly changes?: readonly PortChange[];
  readonly runChange?: RunChange;
  readonly refused?: OrderRefusal;
  /** The working port that is to be left out is stopped; the order stays open until it is. */
  readonly stops?: string;
  readonly review?: CarriedReview;
  /** Questions that the order answers. */
  readonly settles?: readonly Settling[];
}

type RetryOrder = Extract<RunOrder, { type: "retry" }>;
type Extend = Extract<RunOrder, { type: "extend" }>;
type Review = Extract<RunOrder, { type: "review" }>;

/** What an order changes. Pure. */
export function decideOrder(order: RunOrder, view: OrderView): OrderDecision {
  if (order.type === "again") return decideAgain(view);
  if (view.dormant) return { refused: "run-over" };
  switch (order.type) {
    case "pause":
    case "resume":
    case "cancel": {
      const decision = decide(view.state, { type: order.type });
      return decision.refused ? { refused: decision.refused } : { decisions: [decision] };
    }
    case "extend":
      return decideExtend(order, view);
    case "retry":
      return decideRetry(order, view);
    case "approve":
      return decideApprove(order.port, view);
    case "review":
      return decideReview(order, view);
    case "skip":
      return decideSkip(order.port, view);
    default:
      return order satisfies never;
  }
}

/** A run that ended without success is merged once more, or begun if it had ended before that. */
function decideAgain({ run, state, dormant }: OrderView): OrderDecision {
  if (!isRunOver(run.status)) return { refused: "run-going" };
  if (run.status === "success") return { refused: "run-succeeded" };

  return {
    decisions: [dormant ?? { state, actions: [] }],
    runChange: { status: "running", because: null },
    settles: [{ ports: [OF_RUN] }],
  };
}

/** More for the run; ports that had stopped for want of it go on. */
function decideExtend(given: Extend, { run, ports, state }: OrderView): OrderDecision {
  const more = moreOf(given, run);
  if (Object.keys(more).length === 0) return { refused: "run-unbounded" };
  const wanting = [
    ...(more.tokensMost === undefined ? [] : [RUN_TOKENS_EXHAUSTED]),
    ...(more.callsMost === undefined ? [] : [RUN_CALLS_EXHAUSTED]),
  ];
  const decisions: SchedulerDecision[] = [];
  const changes: PortChange[] = [];
  for (const port of ports.values()) {
    if (port.status !== "failed" || !wanting.includes(port.because?.code ?? "")) continue;
    const latest = decisions.at(-1)?.state ?? state;
    const decision = decide(latest, { type: "retry", port: port.id });
    if (decision.refused) continue;
    decisions.push(decision);
    const triesPair = port.triesPair + triesFor(port);
    changes.push({ position: port.position, because: null, triesPair });
  }
  const names = changes.map(({ position }) => run.plan.ports[position]!.id);

  return {
    decisions,
    changes,
    runChange: more,
    settles: [{ ports: [OF_RUN, ...names], types: ["token_exhausted"] }],
  };
}

/** What is added to the bounds that the run has. Pure. */
function moreOf({ tokens, calls }: Omit<Extend, "type">, run: PlanRun): RunChange {
  return present({
    tokensMost:
      tokens === undefined || run.tokensMost === null ? undefined : run.tokensMost + tokens,
    callsMost: calls === undefined || run.callsMost === null ? undefined : run.callsMost + calls,
  });
}

/**
 * Another try of a port that failed. To one that has not, what the order brings is given for its
 * next step.
 */
function decideRetry(order: RetryOrder, { run, ports, state }: OrderView): OrderDecision {
  const port = ports.get(order.port);
  if (!port) return { refused: "PLAN_PORT_UNKNOWN" };
  const given = givenBy(order, port);
  const runChange = moreOf(order, run);
  const decision = decide(state, { type: "retry", port: order.port });
  if (!decision.refused) {
    return {
      decisions: [decision],
      changes: [{ ...given, ...triesAfter(order, port), because: null }],
      runChange: { ...runChange, because: null },
      settles: [{ ports: [port.id], except: ["dependency"] }],
    };
  }
  const isRunGoing = !isRunOver(state.status) && state.status !== "cancelling";
  const takesMore = isRunGoing && port.status !== "succeeded";
  if (!takesMore || !bringsMore(order)) return { refused: decision.refused };
  const settles: Settling[] =
    order.tokens === undefined ? [] : [{ ports: [port.id], types: ["token_exhausted"] }];
  return { changes: [given], runChange, settles };
}

function decideApprove(name: string, { ports, state }: OrderView): OrderDecision {
  const port = ports.get(name);
  if (!port) return { refused: "PLAN_PORT_UNKNOWN" };
  const decision = decide(state, { type: "approve", port: name });
  if (decision.refused) return { refused: decision.refused };
  const { position, resultCommit } = port;

  return {
    decisions: [decision],
    changes: [{ position, because: null, resultCommit }],
    settles: [{ ports: [name] }],
  };
}

/** One try and the time of its port more, for what a person wants changed. */
function decideReview(order: Review, { run, ports, state }: OrderView): OrderDecision {
  const port = ports.get(order.port);
  if (!port) return { refused: "PLAN_PORT_UNKNOWN" };
  const type = port.status === "failed" ? "retry" : "reopen";
  const decision = decide(state, { type, port: port.id });
  if (decision.refused) return { refused: decision.refused };
  const { position, triesPair, timeMs } = port;
  const { timeoutMs } = run.plan.ports[position]!;
  const { feedback, comments } = order;
  const more = { triesPair: triesPair + 1, timeMs: timeMs + timeoutMs };

  return {
    decisions: [decision],
    changes: [{ position, ...more, because: null, resultCommit: null }],
    runChange: { because: null },
    review: { port: port.id, feedback, comments },
    settles: [{ ports: [port.id], except: ["dependency"] }],
  };
}

/** What an order adds to a port, beside a try for one that failed. Pure. */
function givenBy(order: RetryOrder, port: PlanPort): PortChange {
  const { hint, timeMs, tokens, tries = 0 } = order;
  const grants = grantsOf(order);
  const isBounded = tokens !== undefined && port.tokensMost !== null;

  return {
    position: port.position,
    triesPair: order.by === "orchestrator" ? undefined : port.triesPair + tries,
    hint,
    timeMs: timeMs === undefined ? undefined : port.timeMs + timeMs,
    tokensMost: isBounded ? port.tokensMost + tokens : undefined,
    grants: grants.length > 0 ? [...port.grants, ...grants] : undefined,
    weakerTestsAccepted: order.acceptsWeakerTests,
  };
}

function bringsMore(order: RetryOrder): boolean {
  const { hint, timeMs, tokens, calls } = order;
  const brings = [hint, timeMs, tokens, calls].some((given) => given !== undefined);

  return brings || grantsOf(order).length > 0;
}

function grantsOf({ grant, grants = [] }: RetryOrder): PathGrant[] {
  const all = grant ? [grant, ...grants] : grants;
  return all.map((one) => ({ ...one, by: "operator" }));
}

/** Tries of a port that is tried again. Pure. */
function triesAfter(
  order: RetryOrder,
  port: PlanPort,
): Pick<PortChange, "triesPair" | "triesOrchestrator"> {
  // What was asked about has passed then, and takes no other try.
  const least = order.acceptsWeakerTests ? 0 : triesFor(port);
  const more = Math.max(order.tries ?? 0, least);
  if (order.by !== "orchestrator") return { triesPair: port.triesPair + more };

  return {
    triesPair: Math.min(port.triesPair, order.pairTries ?? port.triesPair),
    triesOrchestrator: port.triesOrchestrator + more,
  };
}

/** Tries that going on takes: one, when the last failure has ended its try. Pure. */
function triesFor({ because }: PlanPort): 0 | 1 {
  return because && TRY_ENDING.has(because.code) ? 1 : 0;
}

/** The run goes on without the port: a working one is stopped first. */
function decideSkip(name: string, { ports, state }: OrderView): OrderDecision {
  const port = ports.get(name);
  if (!port) return { refused: "PLAN_PORT_UNKNOWN" };
  const changes = [{ position: port.position, because: LEFT_OUT }];
  const { status } = portState(state, name);
  switch (status) {
    case "failed":
      return { changes, settles: [{ ports: [name], except: ["dependency"] }] };
    case "ready":
    case "held":
      return {
        decisions: [decide(state, { type: "skip", port: name })],
        changes,
        settles: [{ ports: [name], except: ["dependency"] }],
      };
    case "running":
      return { stops: name };
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
