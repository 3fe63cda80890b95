import { contextScopeOf } from "../context/context-scopes.ts";
import { gatherFiles, type CommitFiles, type GatherOptions } from "../context/gather.ts";
import { buildPrompt, type ContextManifest } from "../context/prompt.ts";
import { workerOf, type Plan, type Port } from "../plan.ts";
import type { ImplResult } from "../workers/feedback.ts";
import type { ScopeInput } from "../scope.ts";
import type { PlanRun } from "../rows/run.ts";
import type { Member } from "../../kernel/plans.ts";
import type { TestFeedback } from "../../wire/runs.ts";

/** What a prompt is made for. */
export interface BriefingRequest {
  readonly run: PlanRun;
  readonly port: Port;
  readonly member: Member;
  readonly scope: ScopeInput;
  /** 1-based over the tries of the worker that is told; the orchestrator's are not the pair's. */
  readonly try: number;
  readonly triesMost: number;
  /** What the last try failed with. */
  readonly feedback?: TestFeedback | undefined;
  /** What the implementer has done, for the tester. */
  readonly toTest?: ImplResult | undefined;
  /** The member's own last words in the try before. */
  readonly saidBefore?: string | undefined;
  /** Of the operator. */
  readonly hint?: string | undefined;
}

export interface Briefing {
  readonly prompt: string;
  readonly manifest: ContextManifest;
}

/**
 * The prompt of one worker in one try, from the files of a commit: the port's part of the plan and
 * what its scope lets it know.
 */
export async function brief(
  request: BriefingRequest,
  commit: CommitFiles,
  options: GatherOptions = {},
): Promise<Briefing> {
  const { run, port, member, scope, feedback, toTest, hint } = request;
  const { plan } = run;
  const isOrchestrator = member === "orchestrator";
  const oneContext = run.mode?.oneContext === true && plan.ports.some(({ id }) => id === port.id);
  const context = contextScopeOf(plan, port, isOrchestrator ? "implementer" : member, {
    oneContext,
  });
  const kind = workerOf(plan.workers, port.role, member)?.kind ?? "command";
  const ofPlan = plan.ports.flatMap(({ owns, tests, reads = [] }) => [...owns, ...tests, ...reads]);
  const wanted = { scope, context, kind, writesContracts: isOrchestrator, ofPlan };
  const gathered = await gatherFiles(wanted, commit, options);

  return buildPrompt({
    kind,
    member,
    task: {
      port: port.id,
      title: port.title,
      goal: port.goal,
      role: port.role,
      try: request.try,
      tries: request.triesMost,
      acceptance: port.acceptance,
      check: port.check,
    },
    scope,
    context,
    ...gathered,
    feedback,
    toTest,
    saidBefore: request.saidBefore,
    hint,
    others: oneContext ? otherPorts(plan, port) : undefined,
  });
}

/** What the other ports of the plan are for. */
function otherPorts(plan: Plan, port: Port): readonly { port: string; goal: string }[] {
  const others = plan.ports.filter(({ id }) => id !== port.id);
  return others.map(({ id, goal }) => ({ port: id, goal }));
}
