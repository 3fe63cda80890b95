import type { PortOutcome } from "../rows/outcomes.ts";
import type { PlanRun } from "../rows/run.ts";
import { RUN_CALLS_EXHAUSTED, RUN_TOKENS_EXHAUSTED } from "../rows/run.ts";
import type { Bound } from "../assign/token-meter.ts";
import { aboutPort, escalationFor, type TriggerName } from "../ask/triggers.ts";
import type { Because } from "../../wire/plans.ts";

/** A port cannot go on without the operator's decision. */
export class PortFailure extends Error {
  readonly trigger: TriggerName;
  readonly because: Because;
  readonly context: Readonly<Record<string, unknown>>;

  constructor(
    trigger: TriggerName,
    because: Because,
    context: Readonly<Record<string, unknown>> = {},
  ) {
    super(because.message);
    this.trigger = trigger;
    this.because = because;
    this.context = context;
  }
}

/** The outcome of a port that failed, with the question to the operator. Pure. */
export function failedOutcome(
  run: PlanRun,
  port: { readonly id: string; readonly title: string },
  { trigger, because, context }: PortFailure,
): PortOutcome {
  const title = `${run.plan.name} › ${port.title}: ${because.message}`;
  const escalation = escalationFor(trigger, {
    ...aboutPort(run, port.id),
    title: title.slice(0, 300),
    description: because.hint,
    context,
  });
  return { status: "failed", because, escalation };
}

/** Why a worker is not begun, or was ended, with nothing left to use. Pure. */
export function useExhausted(bound: Bound | undefined): PortFailure {
  if (!bound) {
    return new PortFailure("tokens-95", {
      code: "TOKENS_EXHAUSTED",
      message: "The budget of the team leaves nothing for it.",
      hint: "Raise the budget, or wait until tomorrow.",
    });
  }
  const { of, unit, used, most } = bound;
  const what = unit === "calls" ? "calls of models" : "tokens";
  return new PortFailure(
    "tokens-95",
    {
      code: exhaustedCode({ of, unit }),
      message: `${used} of ${most} ${what} of the ${of} are used; what is left is not enough.`,
      hint: "Give it more, or make it smaller.",
    },
    { of, unit, used, most },
  );
}

function exhaustedCode({ of, unit }: Pick<Bound, "of" | "unit">): string {
  if (of === "port") return "TOKENS_EXHAUSTED";
  return unit === "calls" ? RUN_CALLS_EXHAUSTED : RUN_TOKENS_EXHAUSTED;
}
