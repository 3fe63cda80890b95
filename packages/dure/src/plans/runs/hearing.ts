import type { Member, PortStatus } from "../../kernel/plans.ts";
import type { WorkerSpec } from "../plan.ts";
import type { PlanStep } from "../rows/run.ts";

/** Kinds of workers that read what is said while they work; the others read their prompt alone. */
const LISTENING: ReadonlySet<WorkerSpec["kind"]> = new Set(["acp", "model", "own"]);

/** What is known of a port to whose member something is said. */
interface PortView {
  readonly status: PortStatus;
  readonly triesPair: number;
  readonly triesOrchestrator: number;
  readonly steps: readonly Pick<PlanStep, "kind" | "member" | "status" | "try">[];
}

/**
 * Whether a member of a port that is not over reads what is said to it now: while it works, or in a
 * prompt that it has still to get. Tries that may be given later are not counted. Pure.
 */
export function willHear(port: PortView, to: Member, kind: WorkerSpec["kind"]): boolean {
  const { status, steps } = port;
  const given = to === "orchestrator" ? port.triesOrchestrator : port.triesPair;
  if (status !== "running") return given > 0;

  const last = steps.findLast(({ member }) => member === to);
  // One that was stopped is begun again.
  if (last?.status === "stopped") return true;
  if (last?.status === "running" && LISTENING.has(kind)) return true;

  return promptsLeft(port, to, given) > 0;
}

/** Prompts that a member has still to get. Pure. */
function promptsLeft({ steps }: PortView, to: Member, given: number): number {
  const isOwn = (member: Member | null): boolean =>
    (member === "orchestrator") === (to === "orchestrator");
  const begun = steps.filter(({ kind, member }) => kind === "implement" && isOwn(member));
  const left = given - begun.length;

  return to === "tester" && isTesterDue(steps, begun.at(-1)?.try) ? left + 1 : left;
}

/** Whether the tester's part of the try that goes on is still to come. Pure. */
function isTesterDue(steps: PortView["steps"], number: number | undefined): boolean {
  if (number === undefined) return false;
  const ofTry = steps.filter((step) => step.try === number);

  return !ofTry.some(({ kind }) => kind === "test" || kind === "accept");
}
