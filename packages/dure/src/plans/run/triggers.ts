import { createHash } from "node:crypto";
import {
  subjectOf,
  type EscalationSeverity,
  type EscalationType,
  type NewEscalation,
  type SuggestedAction,
} from "../../kernel/escalation.ts";
import { MAX_GRANTS, grantable, pathIn } from "./grants.ts";
import type { RunOrder } from "./run.ts";

/** What makes a run ask for a decision. */
export type TriggerName =
  | "tries-exhausted"
  | "tokens-80"
  | "tokens-95"
  | "time-over"
  | "build-failed"
  | "same-file"
  | "dependency-failed"
  | "ownership-violated"
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
    label: "다시 시도 / Retry",
    style: "primary",
    asks: "text",
  },
  more_tokens: {
    value: "more_tokens",
    code: "more-tokens",
    label: "토큰을 더 주고 다시 / Retry with more tokens",
    style: "primary",
  },
  more_time: {
    value: "more_time",
    code: "more-time",
    label: "시간을 더 주고 다시 / Retry with more time",
    style: "primary",
  },
  own: {
    value: "own",
    code: "own-path",
    label: "경로를 소유하게 하고 다시 / Let it own the path",
    asks: "text",
  },
  read: {
    value: "read",
    code: "read-path",
    label: "읽게 하고 다시 / Let it read the path",
    asks: "text",
  },
  reassign: {
    value: "reassign",
    code: "to-orchestrator",
    label: "오케스트레이터에게 맡기기 / Give it to the orchestrator",
    asks: "text",
  },
  skip: { value: "skip", code: "skip", label: "빼고 계속 / Go on without it" },
  cancel: {
    value: "cancel",
    code: "cancel-run",
    label: "실행 취소 / Cancel the run",
    style: "danger",
  },
  known: { value: "known", code: "seen", label: "확인 / Noted" },
} as const satisfies Record<string, SuggestedAction>;

/** Data, not code in the runner. Source: docs/spec/plans §7. */
export const TRIGGERS: Readonly<Record<TriggerName, Trigger>> = {
  "tries-exhausted": {
    type: "test_failure",
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
  "dependency-failed": { type: "dependency", severity: "medium", actions: ["known", "cancel"] },
  "ownership-violated": {
    type: "ownership",
    severity: "high",
    actions: ["retry", "own", "reassign", "skip", "cancel"],
    ofRun: ["known", "cancel"],
  },
  "access-asked": { type: "ownership", severity: "medium", actions: ["own", "read", "skip"] },
  "worker-lost": {
    type: "general",
    severity: "high",
    actions: ["retry", "reassign", "skip", "cancel"],
    ofRun: ["retry", "known"],
  },
  "host-gone": { type: "blocked", severity: "critical", actions: ["known", "cancel"] },
};

/**
 * Tokens that an answer `more_tokens` gives, as a share of the bound; the same for time. Source:
 * our choice.
 */
const MORE = 0.5;

/**
 * The question that a trigger asks. One is open per run, port and type; with `key` one per key. A
 * port is given to the orchestrator only where there is one.
 */
export function escalationFor(
  name: TriggerName,
  about: {
    tenant: string;
    run: string;
    plan: string;
    port?: string;
    hasOrchestrator?: boolean;
    key?: string;
    title: string;
    description?: string;
    context?: Readonly<Record<string, unknown>>;
  },
): NewEscalation {
  const { type, severity, actions, ofRun = actions } = TRIGGERS[name];
  const source = { run: about.run, ...(about.port !== undefined && { port: about.port }) };
  return {
    tenant: about.tenant,
    subject:
      about.key === undefined
        ? subjectOf(type, source)
        : `${subjectOf(type, source)}:${keyed(about.key)}`,
    type,
    severity,
    source,
    title: about.title,
    ...(about.description !== undefined && { description: about.description }),
    context: { plan: about.plan, trigger: name, ...about.context },
    suggestedActions: (about.port === undefined ? ofRun : actions)
      .filter((action) => action !== "reassign" || about.hasOrchestrator === true)
      .map((action) => ACTIONS[action]),
  };
}

/** A subject is the key of an index; what is long stands in it as its SHA-256. */
function keyed(key: string): string {
  return key.length <= 200 ? key : createHash("sha256").update(key).digest("hex");
}

/**
 * What an answer orders the run to do; undefined: nothing. Pure. `paths`: those that the question
 * was about.
 */
export function orderOf(
  answer: { value: string; note?: string },
  about: {
    port?: string;
    pairTries?: number;
    paths?: readonly string[];
    timeMs?: number;
    tokensMost?: number | null;
    runTokensMost?: number | null;
  },
): RunOrder | undefined {
  const { port } = about;
  if (answer.value === "cancel") return { type: "cancel" };
  if (port === undefined) {
    if (answer.value === "retry") return { type: "again" };
    return answer.value === "more_tokens"
      ? { type: "extend", tokens: more(about.runTokensMost) }
      : undefined;
  }
  const hint = answer.note === undefined || answer.note === "" ? {} : { hint: answer.note };
  switch (answer.value) {
    case "retry":
      return { type: "retry", port, tries: 1, ...hint };
    case "reassign":
      return {
        type: "retry",
        port,
        tries: 1,
        by: "orchestrator",
        ...(about.pairTries !== undefined && { pairTries: about.pairTries }),
        ...hint,
      };
    case "more_tokens":
      return { type: "retry", port, tokens: more(about.tokensMost ?? about.runTokensMost) };
    case "more_time":
      return {
        type: "retry",
        port,
        timeMs: Math.max(60_000, Math.ceil((about.timeMs ?? 0) * MORE)),
      };
    case "own":
    case "read": {
      const named = answer.note === undefined ? undefined : pathIn(answer.note);
      const paths =
        named === undefined
          ? (about.paths ?? []).flatMap((path) => grantable(path) ?? [])
          : [named];
      const grants = [...new Set(paths)]
        .slice(0, MAX_GRANTS)
        .map((path) => ({ path, wants: answer.value as "own" | "read" }));
      return {
        type: "retry",
        port,
        tries: 1,
        ...(grants.length > 0 && { grants }),
        ...(named === undefined && hint),
      };
    }
    case "skip":
      return { type: "skip", port };
    default:
      return undefined;
  }
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
