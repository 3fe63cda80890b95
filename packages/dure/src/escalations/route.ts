import type {
  EscalationSeverity,
  EscalationStep,
  EscalationType,
  RouteReason,
  RouteTarget,
} from "../kernel/escalation.ts";
import type { Escalation } from "../wire/escalations.ts";

/**
 * Who is told, as the configuration says; the dashboard shows every escalation from the beginning.
 */
export interface EscalationRoutes {
  /** Whether an operator agent is asked before people are. */
  readonly operator: boolean;
  /** Whether there is a room that is told. */
  readonly room: boolean;
  /** Whether there is an address that is told. */
  readonly webhook: boolean;
  /** Whether those who decide are told one by one, where they want it. */
  readonly people?: boolean | undefined;
  /**
   * How long the operator agent has before people are told, milliseconds. What is `low` never goes
   * on by itself.
   */
  readonly afterMs: Readonly<Record<Exclude<EscalationSeverity, "low">, number>>;
}

/** Source: docs/spec/plans §7. */
export const ROUTE_AFTER_MS = {
  critical: 300_000,
  high: 1_800_000,
  medium: 14_400_000,
} as const satisfies EscalationRoutes["afterMs"];

export interface RouteDecision {
  readonly step: EscalationStep;
  readonly tell: readonly RouteTarget[];
  /** Until it goes on from there; null: it stays. */
  readonly nextMs: number | null;
  readonly because: RouteReason;
}

/**
 * What no agent decides: an approval is a person's yes, and an unknown outcome is found by looking
 * at the other side.
 */
const PEOPLE_ONLY: ReadonlySet<EscalationType> = new Set([
  "decision",
  "effect_unknown",
  "turn_diverged",
  "account",
]);

/**
 * Where an escalation goes next. Pure; the first rule that applies wins. Source: docs/spec/plans
 * §7: worker → operator agent → person.
 */
export function decideRoute(
  { type, severity, step }: Pick<Escalation, "type" | "severity" | "step">,
  routes: EscalationRoutes,
): RouteDecision {
  if (severity === "low" || step === "person") {
    return { step, tell: [], nextMs: null, because: "stays" };
  }

  const people = {
    step: "person",
    tell: [
      ...(routes.room ? (["room"] as const) : []),
      ...(routes.webhook ? (["webhook"] as const) : []),
      ...(routes.people ? (["people"] as const) : []),
    ],
    nextMs: null,
  } as const;

  if (step === "operator") return { ...people, because: "operator-done" };
  if (PEOPLE_ONLY.has(type)) return { ...people, because: "people-only" };
  if (!routes.operator) return { ...people, because: "no-operator" };

  return {
    step: "operator",
    tell: ["operator"],
    nextMs: routes.afterMs[severity],
    because: "operator-first",
  };
}
