import {
  isObject,
  STEP_KINDS,
  type PairMember,
  type PlanStep,
  type StepOutput,
  type TestFeedback,
} from "dure/client";

export type TryOutcome = "running" | "passed" | "failed" | "violated" | "stopped";

/** One try of a port: who made it, what each step came to, how it ended. */
export interface PortTry {
  /** 1-based over all tries of the port. */
  readonly number: number;
  readonly by: PairMember;
  readonly steps: readonly PlanStep[];
  readonly feedback: TestFeedback | undefined;
  /** The merged tree failed with it after it had passed. */
  readonly isRecalled: boolean;
  readonly outcome: TryOutcome;
}

/**
 * Steps of a port as tries, newest first; what was done before the first try stands apart. Pure.
 */
export function triesOf(
  steps: readonly PlanStep[],
  isPortRunning: boolean,
): { readonly before: readonly PlanStep[]; readonly tries: readonly PortTry[] } {
  const inOrder = steps.toSorted(
    (a, b) =>
      a.try - b.try || STEP_KINDS.indexOf(a.kind) - STEP_KINDS.indexOf(b.kind) || a.id - b.id,
  );

  const numbers = [
    ...new Set(inOrder.filter((step) => step.try > 0).map((step) => step.try)),
  ].toSorted((a, b) => b - a);

  const tries = numbers.map((number, index) =>
    tryOf(
      number,
      inOrder.filter((step) => step.try === number),
      isPortRunning && index === 0,
    ),
  );

  return { before: inOrder.filter((step) => step.try === 0), tries };
}

function tryOf(number: number, steps: readonly PlanStep[], isNow: boolean): PortTry {
  const recalled = feedbackOf(steps.find(({ kind }) => kind === "integrate"));
  // What passed alone may not compile with what others made in its module.
  const feedback =
    recalled ??
    feedbackOf(steps.find(({ kind }) => kind === "module")) ??
    feedbackOf(steps.find(({ kind }) => kind === "accept"));

  const by = steps.find(({ kind }) => kind === "implement")?.member ?? "implementer";

  return {
    number,
    by,
    steps,
    feedback,
    isRecalled: recalled !== undefined,
    outcome: outcomeOf(steps, feedback, isNow),
  };
}

function outcomeOf(
  steps: readonly PlanStep[],
  feedback: TestFeedback | undefined,
  isNow: boolean,
): TryOutcome {
  if (feedback !== undefined) return feedback.success ? "passed" : "failed";
  if (steps.some((step) => (step.output?.violations?.length ?? 0) > 0)) return "violated";
  if (steps.some((step) => workOf(step)?.status === "failed")) return "failed";

  return isNow ? "running" : "stopped";
}

/** What a worker made in a step; undefined for steps without a worker, and while it works. Pure. */
export function workOf({
  output,
}: PlanStep): (StepOutput & { readonly summary: string }) | undefined {
  return typeof output?.summary === "string" ? { ...output, summary: output.summary } : undefined;
}

/** The report of a test run: what accept and integrate steps came to. Pure. */
export function feedbackOf(step: PlanStep | undefined): TestFeedback | undefined {
  return readFeedback(step?.output?.feedback ?? step?.output);
}

/** Feedback from a step or a message, where it is one. Pure. */
export function readFeedback(value: unknown): TestFeedback | undefined {
  if (
    !isObject(value) ||
    typeof value["success"] !== "boolean" ||
    !Array.isArray(value["failedTests"])
  ) {
    return undefined;
  }

  const metrics = isObject(value["metrics"]) ? value["metrics"] : {};
  const count = (name: string): number => (typeof metrics[name] === "number" ? metrics[name] : 0);

  return {
    success: value["success"],
    failedTests: value["failedTests"].filter(isObject).map((test) => ({
      name: textOf(test["name"]),
      line: typeof test["line"] === "number" ? test["line"] : undefined,
      ...Object.fromEntries(
        ["expected", "actual", "stackTrace", "suggestedFix", "file"].flatMap((name) =>
          typeof test[name] === "string" ? [[name, test[name]]] : [],
        ),
      ),
    })),
    suggestions: Array.isArray(value["suggestions"]) ? value["suggestions"].map(textOf) : [],
    metrics: {
      total: count("total"),
      passed: count("passed"),
      failed: count("failed"),
      durationMs: count("durationMs"),
      coverage: typeof metrics["coverage"] === "number" ? metrics["coverage"] : undefined,
    },
  };
}

function textOf(value: unknown): string {
  return typeof value === "string"
    ? value
    : value === undefined || value === null
      ? ""
      : JSON.stringify(value);
}
