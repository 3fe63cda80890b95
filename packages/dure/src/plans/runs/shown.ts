import { isRunOver, shownTry, STALLED_AFTER_MS } from "../../kernel/plans.ts";
import type { PlanDefinition, PlanView as ShownPlan } from "../../wire/plans.ts";
import type {
  FeedbackLoop,
  PlanPort as ShownPort,
  PlanRun as ShownRun,
  PlanStep as ShownStep,
  PortDetail as ShownPortDetail,
  RunDetail as ShownDetail,
  StepOutput,
  TestFeedback,
} from "../../wire/runs.ts";
import { rolesOf } from "../network-needs.ts";
import type { Plan, Port } from "../plan.ts";
import { withoutPassword } from "../workspace/remote.ts";
import { compareClaim } from "../workers/claims.ts";
import type { PlanView } from "./plan-library.ts";
import type { PortDetail, RunDetail } from "./run-queries.ts";
import { LEFT_OUT, type PlanPort, type PlanRun, type PlanStep } from "../rows/run.ts";

/**
 * Plans and runs as people look at them: without the machine's own paths and secrets. Pure. `now`
 * is of the database's clock, as near as it is known: milliseconds since the epoch.
 */

export function shownPlan({ plan, ...view }: PlanView): ShownPlan {
  const ports = plan.ports.map((port) => only(port, [...DEFINITION_KEYS, "timeoutMs"]));
  return { ...definitionOf(plan), ...view, ports };
}

/** The repository of a run as its reader may see it. */
export type ShowRepository = (run: Pick<PlanRun, "repository">) => string;

export function shownRun(run: PlanRun, repository: ShowRepository): ShownRun {
  const shown = { plan: run.plan.name, repository: repository(run), delivery: deliveryOf(run) };

  return { ...only(run, RUN_KEYS), ...shown };
}

/** What became of the result last. */
function deliveryOf({ report, supersededBy }: PlanRun): ShownRun["delivery"] {
  if (report?.commit === undefined) return null;
  if (report.undone) return "undone";
  if (report.merged) return "merged";
  if (report.published) return "published";

  return supersededBy === null ? "kept" : "superseded";
}

export function shownDetail(run: RunDetail, repository: ShowRepository, now: number): ShownDetail {
  return {
    ...shownRun(run, repository),
    definition: definitionOf(run.plan),
    ports: shownPorts(run),
    orchestrator: run.orchestrator.map((step) => stepOf(step, now)),
  };
}

export function shownPorts({
  plan,
  ports,
}: Pick<RunDetail, "plan" | "ports">): ShownDetail["ports"] {
  return ports.map((port) => portOf(port, plan.ports[port.position]!, port));
}

export function shownPort(
  port: PortDetail,
  run: Pick<PlanRun, "id" | "plan" | "status">,
  now: number,
): ShownPortDetail {
  const tries = port.steps.flatMap((step) => (step.kind === "implement" ? [step.try] : []));
  const triesMade = Math.max(0, ...tries);
  const waiting = port.steps.findLast(isWaiting)?.waiting ?? null;
  const unproven = isUnproven(port.steps);

  return {
    ...portOf(port, run.plan.ports[port.position]!, { triesMade, waiting, unproven }),
    channel: {
      id: `${run.id}/${port.id}/channel`,
      a: "implementer",
      b: "tester",
      status: isChannelClosed(port, run) ? "closed" : "active",
    },
    loop: {
      id: `${run.id}/${port.id}/loop`,
      tries: triesMade,
      maxTries: port.triesPair + port.triesOrchestrator,
      status: loopStatus(port),
      rounds: triesOf(port.steps),
    },
    steps: port.steps.map((step) => stepOf(step, now)),
    messages: port.messages,
    violations: port.violations,
  };
}

const RUN_KEYS = [
  "id",
  "status",
  "phase",
  "because",
  "baseCommit",
  "startCommit",
  "isolation",
  "promises",
  "mode",
  "report",
  "supersededBy",
  "tokensIn",
  "tokensCached",
  "tokensOut",
  "tokensMost",
  "calls",
  "callsMost",
  "startedBy",
  "createdAt",
  "updatedAt",
  "finishedAt",
  "cleanedAt",
] as const satisfies readonly (keyof PlanRun)[];
const DEFINITION_KEYS = [
  "id",
  "title",
  "goal",
  "role",
  "owns",
  "tests",
  "reads",
  "dependsOn",
  "acceptance",
  "check",
  "noChange",
  "weakerTests",
  "gate",
  "budget",
] as const satisfies readonly (keyof Port)[];
const PORT_KEYS = [
  "id",
  "status",
  "because",
  "attempt",
  "triesPair",
  "triesOrchestrator",
  "spentMs",
  "timeMs",
  "tokensIn",
  "tokensCached",
  "tokensOut",
  "tokensMost",
  "hint",
  "grants",
  "startCommit",
  "resultCommit",
  "startedAt",
  "finishedAt",
] as const satisfies readonly (keyof PlanPort)[];
const STEP_KEYS = [
  "id",
  "node",
  "port",
  "try",
  "kind",
  "member",
  "worker",
  "status",
  "starts",
  "progress",
  "task",
  "tokensIn",
  "tokensCached",
  "tokensOut",
  "log",
  "startedAt",
  "seenAt",
  "waiting",
  "finishedAt",
] as const satisfies readonly (keyof PlanStep)[];

function definitionOf(plan: Plan): PlanDefinition {
  return {
    ...only(plan, ["base", "setup", "integration", "limits", "violations", "contracts"]),
    plan: plan.name,
    history: plan.history,
    publish: plan.publish && { ...plan.publish, remote: withoutPassword(plan.publish.remote) },
    roles: plan.roles.preset,
    isolationWanted: plan.isolation,
    workers: rolesOf(plan).map(([role, spec]) => ({
      role,
      kind: spec.kind,
      command: "command" in spec ? spec.command : undefined,
      model: "model" in spec ? spec.model : undefined,
    })),
  };
}

function portOf(
  port: PlanPort,
  definition: Port,
  facts: Pick<ShownPort, "triesMade" | "waiting" | "unproven">,
): ShownPort {
  const weakerTests = port.weakerTestsAccepted ? "allowed" : definition.weakerTests;
  const defined = { ...only(definition, DEFINITION_KEYS), weakerTests };
  const { triesMade, waiting, unproven } = facts;

  return { ...defined, ...only(port, PORT_KEYS), triesMade, waiting, unproven };
}

function isUnproven(steps: readonly PlanStep[]): boolean {
  const tried = steps.findLast(({ kind, status }) => kind === "base" && status === "done");
  return (tried?.output as { readonly red?: boolean } | null | undefined)?.red === false;
}

function isWaiting({ status, waiting }: PlanStep): boolean {
  return status === "running" && waiting !== null;
}

function isChannelClosed({ status }: PlanPort, run: Pick<PlanRun, "status">): boolean {
  return isRunOver(run.status) || status === "succeeded" || status === "cancelled";
}

/** A port that failed has asked a person, unless a person left it out. */
function loopStatus({ status, because }: PlanPort): FeedbackLoop["status"] {
  if (status === "succeeded") return "success";
  if (status === "failed" && because?.code !== LEFT_OUT.code) return "escalated";

  return status === "failed" || status === "cancelled" ? "failed" : "running";
}

/** Steps as tries, oldest first. Source: docs/spec/plans §4. */
function triesOf(steps: readonly PlanStep[]): FeedbackLoop["rounds"] {
  const tried = steps.filter((step) => step.try > 0);
  return [...Map.groupBy(tried, (step) => step.try)].map(([number, made]) => {
    const worker = made.find(({ kind }) => kind === "implement");
    return {
      try: number,
      by: worker?.member ?? null,
      status: (worker?.output as ShownStepWork | null | undefined)?.result?.status ?? null,
      feedback: made.flatMap((step) => feedbackIn(step) ?? []).at(-1) ?? null,
    };
  });
}

const TELLS: readonly PlanStep["kind"][] = ["accept", "check", "module"];

/** What a test, a check or the merge said in a step. */
function feedbackIn({ kind, output }: PlanStep): TestFeedback | null | undefined {
  if (kind === "integrate" || kind === "review") return output as TestFeedback | null;
  if (!TELLS.includes(kind)) return undefined;

  return (output as { readonly feedback?: TestFeedback } | null)?.feedback;
}

/** Of a step of a worker that has ended; other kinds have no result. */
type ShownStepWork = Omit<StepOutput, "status"> & {
  readonly result?: Pick<StepOutput, "status" | "error"> & {
    readonly claimedFiles: readonly string[];
  };
};

/** The answer of a worker stands beside its commit, not below it. */
function stepOf(step: PlanStep, now: number): ShownStep {
  const output = step.output as ShownStepWork | null;
  const { result, ...rest } = output ?? {};
  const claim = result && rest.changes && compareClaim(step.worker, result, rest.changes);
  const isQuiet = now - step.seenAt > STALLED_AFTER_MS && step.waiting === null;

  return {
    ...only(step, STEP_KEYS),
    try: shownTry(step.try),
    stalled: step.status === "running" && step.member !== null && isQuiet,
    output: output && { ...result, ...rest, ...claim },
  };
}

function only<Value extends object, Key extends keyof Value>(
  value: Value,
  keys: readonly Key[],
): Pick<Value, Key> {
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<Value, Key>;
}
