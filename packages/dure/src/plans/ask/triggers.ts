import type { PortComment } from "../../wire/runs.ts";
import { createHash } from "node:crypto";
import {
  subjectOf,
  type EscalationSeverity,
  type EscalationType,
  type NewEscalation,
  type SuggestedAction,
} from "../../kernel/escalation.ts";
import { MAX_GRANTS, grantable, pathIn } from "./grants.ts";
import type { PlanRun, RunOrder } from "../rows/run.ts";
import { reviewOf } from "./review.ts";

/** What makes a run ask for a decision. */
export type TriggerName =
  | "tries-exhausted"
  | "acceptance-broken"
  | "tokens-80"
  | "tokens-95"
  | "time-over"
  | "build-failed"
  | "same-file"
  | "merge-conflict"
  | "approved-conflict"
  | "dependency-failed"
  | "ownership-violated"
  | "tests-weakened"
  | "gate"
  | "access-asked"
  | "worker-lost"
  | "host-gone";

interface Trigger {
  readonly type: EscalationType;
  readonly severity: EscalationSeverity;
  readonly actions: readonly ActionName[];
  /**
   * Where it is about the run, and not about one of its ports: what acts there. Default: as above.
   */
  readonly ofRun?: readonly ActionName[];
}

type ActionName = keyof typeof ACTIONS;

/**
 * What can be answered. A note goes to the next try as a hint; one that is a path stands instead of
 * those that were asked for.
 */
const ACTIONS = {
  retry: {
    value: "retry",
    code: "retry",
    label: "Retry",
    style: "primary",
    asks: "text",
  },
  more_tokens: {
    value: "more_tokens",
    code: "more-tokens",
    label: "Retry with more",
    style: "primary",
  },
  more_time: {
    value: "more_time",
    code: "more-time",
    label: "Retry with more time",
    style: "primary",
  },
  read: {
    value: "read",
    code: "read-path",
    label: "Let it read the path",
    asks: "text",
  },
  own: {
    value: "own",
    code: "own-path",
    label: "Let it own the path",
    asks: "text",
  },
  reassign: {
    value: "reassign",
    code: "to-orchestrator",
    label: "Give it to the orchestrator",
    asks: "text",
  },
  accept: { value: "accept", code: "accept-weaker-tests", label: "Accept the weaker tests" },
  approve: { value: "approve", code: "approve", label: "Approve", style: "primary" },
  send_back: { value: "send_back", code: "send-back", label: "Send it back", asks: "text" },
  solve: {
    value: "solve",
    code: "solve-again",
    label: "Let the orchestrator write it again",
    style: "primary",
    asks: "text",
  },
  take_result: { value: "take_result", code: "take-result", label: "Take the files of the result" },
  take_branch: { value: "take_branch", code: "take-branch", label: "Take the files of the branch" },
  by_hand: { value: "by_hand", code: "by-hand", label: "I merge it by hand" },
  skip: { value: "skip", code: "skip", label: "Go on without it" },
  cancel: {
    value: "cancel",
    code: "cancel-run",
    label: "Cancel the run",
    style: "danger",
  },
  known: { value: "known", code: "seen", label: "Seen" },
} as const satisfies Record<string, SuggestedAction>;

/** Data, not code in the runner. Source: docs/spec/plans §7. */
export const TRIGGERS: Readonly<Record<TriggerName, Trigger>> = {
  "tries-exhausted": {
    type: "test_failure",
    severity: "high",
    actions: ["retry", "reassign", "skip", "cancel"],
  },
  "acceptance-broken": {
    type: "quality",
    severity: "high",
    actions: ["retry", "reassign", "skip", "cancel"],
  },
  "tokens-80": { type: "token_exhausted", severity: "low", actions: ["more_tokens", "known"] },
  "tokens-95": {
    type: "token_exhausted",
    severity: "medium",
    actions: ["more_tokens", "skip", "cancel"],
    ofRun: ["more_tokens", "cancel"],
  },
  "time-over": { type: "timeout", severity: "high", actions: ["more_time", "skip", "cancel"] },
  "build-failed": {
    type: "quality",
    severity: "high",
    actions: ["retry", "reassign", "skip", "cancel"],
    ofRun: ["retry", "known"],
  },
  "same-file": { type: "conflict", severity: "high", actions: ["retry", "skip", "cancel"] },
  // Of a run that has ended, and a branch that has moved since.
  "merge-conflict": {
    type: "conflict",
    severity: "high",
    actions: ["solve", "take_result", "take_branch", "by_hand"],
  },
  // No other files leave than those that were approved.
  "approved-conflict": { type: "conflict", severity: "high", actions: ["by_hand"] },
  "dependency-failed": { type: "dependency", severity: "medium", actions: ["known", "cancel"] },
  "ownership-violated": {
    type: "ownership",
    severity: "high",
    actions: ["retry", "read", "own", "reassign", "skip", "cancel"],
    ofRun: ["known", "cancel"],
  },
  "tests-weakened": {
    type: "quality",
    severity: "high",
    actions: ["retry", "accept", "reassign", "skip", "cancel"],
  },
  gate: {
    type: "decision",
    severity: "high",
    actions: ["approve", "send_back", "skip", "cancel"],
  },
  "access-asked": { type: "ownership", severity: "medium", actions: ["read", "own", "skip"] },
  "worker-lost": {
    type: "general",
    severity: "high",
    actions: ["retry", "reassign", "skip", "cancel"],
    ofRun: ["retry", "known"],
  },
  "host-gone": { type: "blocked", severity: "critical", actions: ["known", "cancel"] },
};

/** What an answer begins a port, or the whole, again with. */
const RESUMING: ReadonlySet<ActionName> = new Set(["retry", "more_tokens", "more_time"]);

/** What only an orchestrator can do. */
const ORCHESTRATED: ReadonlySet<ActionName> = new Set(["reassign", "solve"]);

/**
 * Triggers whose question outlives a run that came short, of a port and of the run: its answer goes
 * on with the run. The loud warning before a bound is one, the quiet one is not.
 */
export const RESUMING_TRIGGERS = {
  ofPort: triggersWith(({ actions }) => actions),
  ofRun: triggersWith(({ actions, ofRun = actions }) => ofRun),
} as const;

function triggersWith(actionsOf: (trigger: Trigger) => readonly ActionName[]): readonly string[] {
  return Object.entries(TRIGGERS)
    .filter(([, trigger]) => trigger.severity !== "low")
    .filter(([, trigger]) => actionsOf(trigger).some((action) => RESUMING.has(action)))
    .map(([name]) => name);
}

/**
 * Tokens or calls that an answer `more_tokens` gives, as a share of the bound; the same for time.
 */
const MORE = 0.5;

/**
 * The question that a trigger asks. One is open per run, port and type; with `key` one per key. A
 * port is given to the orchestrator only where there is one.
 */
export function escalationFor(name: TriggerName, about: TriggerQuestion): NewEscalation {
  const { type, severity, actions, ofRun = actions } = TRIGGERS[name];
  const { tenant, run, plan, port, key, title, description } = about;
  const source = port === undefined ? { run } : { run, port };
  const subject = subjectOf(type, source);
  const possible = port === undefined ? ofRun : actions;
  const suggested = possible.filter(
    (action) => !ORCHESTRATED.has(action) || about.hasOrchestrator === true,
  );
  const escalation: NewEscalation = {
    tenant,
    subject: key === undefined ? subject : `${subject}:${keyed(key)}`,
    type,
    severity,
    source,
    title,
    context: { plan, trigger: name, ...about.context },
    suggestedActions: suggested.map((action) => ACTIONS[action]),
  };

  return description === undefined ? escalation : { ...escalation, description };
}

/** What a question is about. */
interface TriggerQuestion {
  readonly tenant: string;
  readonly run: string;
  readonly plan: string;
  readonly port?: string | undefined;
  /** The answer may give the port to the orchestrator. */
  readonly hasOrchestrator?: boolean | undefined;
  readonly key?: string | undefined;
  readonly title: string;
  readonly description?: string | undefined;
  readonly context?: Readonly<Record<string, unknown>> | undefined;
}

/** A question about a run. Pure. */
export function aboutRun({
  id,
  tenant,
  plan,
}: PlanRun): Pick<TriggerQuestion, "tenant" | "run" | "plan"> {
  return { tenant, run: id, plan: plan.name };
}

/** A question about one port of a run. Pure. */
export function aboutPort(run: PlanRun, port: string): Omit<TriggerQuestion, "title"> {
  const hasOrchestrator = run.plan.workers.orchestrator !== undefined;
  return { ...aboutRun(run), port, hasOrchestrator };
}

/** A subject is the key of an index; what is long stands in it as its SHA-256. */
function keyed(key: string): string {
  return key.length <= 200 ? key : createHash("sha256").update(key).digest("hex");
}

/**
 * What an answer orders the run to do; undefined: nothing. Pure. `paths`: those that the question
 * was about.
 */
export function orderOf(answer: TriggerAnswer, about: AnsweredTrigger): RunOrder | undefined {
  if (answer.value === "cancel") return { type: "cancel" };
  const { port } = about;

  return port === undefined ? runOrderOf(answer, about) : portOrderOf(answer, { ...about, port });
}

/** Comments that were not sent yet go with it. */
function sentBack(
  port: string,
  note = "",
  { by = "operator", comments = [] }: AnsweredTrigger,
): RunOrder {
  const feedback = reviewOf(by, comments, note === "" && comments.length === 0 ? AGAIN : note);
  return { type: "review", port, feedback, comments: comments.map(({ id }) => id) };
}

const AGAIN = "Do it again: it was not approved.";

interface TriggerAnswer {
  readonly value: string;
  readonly note?: string | undefined;
}

/** What the question was about, as it stands when the answer comes. */
interface AnsweredTrigger {
  readonly port?: string | undefined;
  readonly pairTries?: number | undefined;
  readonly paths?: readonly string[] | undefined;
  readonly timeMs?: number | undefined;
  readonly tokensMost?: number | null | undefined;
  readonly runTokensMost?: number | null | undefined;
  readonly runCallsMost?: number | null | undefined;
  /** What there was too little of. Default: tokens. */
  readonly unit?: "tokens" | "calls" | undefined;
  /** Who answers. */
  readonly by?: string | undefined;
  readonly comments?: readonly PortComment[] | undefined;
}

function runOrderOf({ value }: TriggerAnswer, about: AnsweredTrigger): RunOrder | undefined {
  if (value === "retry") return { type: "again" };
  if (value !== "more_tokens") return undefined;

  return about.unit === "calls"
    ? { type: "extend", calls: more(about.runCallsMost) }
    : { type: "extend", tokens: more(about.runTokensMost) };
}

function portOrderOf(
  { value, note }: TriggerAnswer,
  about: AnsweredTrigger & { readonly port: string },
): RunOrder | undefined {
  const { port, pairTries } = about;
  const hint = note === "" ? undefined : note;
  switch (value) {
    case "retry":
      return { type: "retry", port, tries: 1, hint };
    case "approve":
      return { type: "approve", port };
    case "send_back":
      return sentBack(port, hint, about);
    case "accept":
      return { type: "retry", port, acceptsWeakerTests: true };
    case "reassign":
      return { type: "retry", port, tries: 1, by: "orchestrator", pairTries, hint };
    case "more_tokens":
      return about.unit === "calls"
        ? { type: "retry", port, calls: more(about.runCallsMost) }
        : { type: "retry", port, tokens: more(about.tokensMost ?? about.runTokensMost) };
    case "more_time": {
      const timeMs = Math.max(60_000, Math.ceil((about.timeMs ?? 0) * MORE));
      return { type: "retry", port, timeMs };
    }
    case "own":
    case "read":
      return { type: "retry", port, tries: 1, ...grantsFor(value, hint, about.paths) };
    case "skip":
      return { type: "skip", port };
    default:
      return undefined;
  }
}

/** A note that is a path is given instead of the paths that were asked for; else it is a hint. */
function grantsFor(
  wants: "own" | "read",
  note: string | undefined,
  asked: readonly string[] = [],
): Pick<Extract<RunOrder, { type: "retry" }>, "grants" | "hint"> {
  const named = note === undefined ? undefined : pathIn(note);
  const paths = named === undefined ? asked.flatMap((path) => grantable(path) ?? []) : [named];
  const grants = [...new Set(paths)].slice(0, MAX_GRANTS).map((path) => ({ path, wants }));

  return {
    grants: grants.length > 0 ? grants : undefined,
    hint: named === undefined ? note : undefined,
  };
}

/** The paths that an escalation's context names. Pure. */
export function pathsIn({ paths, path }: Readonly<Record<string, unknown>>): readonly string[] {
  const named: readonly unknown[] = Array.isArray(paths) ? paths : [path];
  return named.filter((one): one is string => typeof one === "string");
}

function more(bound: number | null | undefined): number {
  return Math.max(1, Math.ceil((bound ?? 0) * MORE));
}

/** Which of the two thresholds of a bound is passed. Pure. Source: docs/spec/plans §7. */
export function tokensTrigger(
  used: number,
  most: number | null,
): "tokens-80" | "tokens-95" | undefined {
  if (most === null || most <= 0) return undefined;
  if (used >= most * 0.95) return "tokens-95";

  return used >= most * 0.8 ? "tokens-80" : undefined;
}
