import { subjectOf, type EscalationSeverity, type EscalationType, type NewEscalation, type SuggestedAction } from "../../kernel/escalation.ts";
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
}

type ActionName = keyof typeof ACTIONS;

/** What can be answered. A note goes to the next try as a hint. */
const ACTIONS = {
  retry: { value: "retry", label: "다시 시도 / Retry", style: "primary", asks: "text" },
  more_tokens: { value: "more_tokens", label: "토큰을 더 주고 다시 / Retry with more tokens", style: "primary" },
  more_time: { value: "more_time", label: "시간을 더 주고 다시 / Retry with more time", style: "primary" },
  own: { value: "own", label: "경로를 소유하게 하고 다시 / Let it own the path", asks: "text" },
  read: { value: "read", label: "읽게 하고 다시 / Let it read the path", asks: "text" },
  skip: { value: "skip", label: "빼고 계속 / Go on without it" },
  cancel: { value: "cancel", label: "실행 취소 / Cancel the run", style: "danger" },
  known: { value: "known", label: "확인 / Noted" },
} as const satisfies Record<string, SuggestedAction>;

/** Data, not code in the runner. Source: docs/spec/plans §7. */
export const TRIGGERS: Readonly<Record<TriggerName, Trigger>> = {
  "tries-exhausted": { type: "test_failure", severity: "high", actions: ["retry", "skip", "cancel"] },
  "tokens-80": { type: "token_exhausted", severity: "low", actions: ["more_tokens", "known"] },
  "tokens-95": { type: "token_exhausted", severity: "medium", actions: ["more_tokens", "skip", "cancel"] },
  "time-over": { type: "timeout", severity: "high", actions: ["more_time", "skip", "cancel"] },
  "build-failed": { type: "quality", severity: "high", actions: ["retry", "skip", "cancel"] },
  "same-file": { type: "conflict", severity: "high", actions: ["retry", "skip", "cancel"] },
  "dependency-failed": { type: "dependency", severity: "medium", actions: ["known", "cancel"] },
  "ownership-violated": { type: "ownership", severity: "high", actions: ["retry", "own", "skip", "cancel"] },
  "access-asked": { type: "ownership", severity: "medium", actions: ["own", "read", "skip"] },
  "worker-lost": { type: "general", severity: "high", actions: ["retry", "skip", "cancel"] },
  "host-gone": { type: "blocked", severity: "critical", actions: ["known", "cancel"] },
};

/** Tokens that an answer `more_tokens` gives, as a share of the bound; the same for time. Source: our choice. */
const MORE = 0.5;

/** The question that a trigger asks. One is open per run, port and type. */
export function escalationFor(name: TriggerName, about: { tenant: string; run: string; plan: string; port?: string; title: string; description?: string; context?: Readonly<Record<string, unknown>> }): NewEscalation {
  const { type, severity, actions } = TRIGGERS[name];
  const source = { run: about.run, ...(about.port !== undefined && { port: about.port }) };
  return {
    tenant: about.tenant,
    subject: subjectOf(type, source),
    type,
    severity,
    source,
    title: about.title,
    ...(about.description !== undefined && { description: about.description }),
    context: { plan: about.plan, trigger: name, ...about.context },
    suggestedActions: actions.map((action) => ACTIONS[action]),
  };
}

/** What an answer orders the run to do; undefined: nothing. Pure. */
export function orderOf(answer: { value: string; note?: string }, about: { port?: string; path?: string; timeMs?: number; tokensMost?: number | null; runTokensMost?: number | null }): RunOrder | undefined {
  const { port } = about;
  if (answer.value === "cancel") return { type: "cancel" };
  if (port === undefined) return answer.value === "more_tokens" ? { type: "extend", tokens: more(about.runTokensMost) } : undefined;
  const hint = answer.note === undefined || answer.note === "" ? {} : { hint: answer.note };
  switch (answer.value) {
    case "retry":
      return { type: "retry", port, tries: 1, ...hint };
    case "more_tokens":
      return { type: "retry", port, tokens: more(about.tokensMost ?? about.runTokensMost) };
    case "more_time":
      return { type: "retry", port, timeMs: Math.max(60_000, Math.ceil((about.timeMs ?? 0) * MORE)) };
    case "own":
    case "read":
      return { type: "retry", port, tries: 1, grant: { path: answer.note ?? about.path ?? "", wants: answer.value } };
    case "skip":
      return { type: "skip", port };
    default:
      return undefined;
  }
}

function more(bound: number | null | undefined): number {
  return Math.max(1, Math.ceil((bound ?? 0) * MORE));
}

/** Which of the two thresholds of a bound is passed. Pure. Source: docs/spec/plans §7. */
export function tokensTrigger(used: number, most: number | null): "tokens-80" | "tokens-95" | undefined {
  if (most === null || most <= 0) return undefined;
  if (used >= most * 0.95) return "tokens-95";
  return used >= most * 0.8 ? "tokens-80" : undefined;
}
