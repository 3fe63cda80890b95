import { contextScopeOf } from "../context/context-scopes.ts";
import { fullContextTokens, gatherFiles, type CommitFiles } from "../context/gather.ts";
import { buildPrompt, type ContextManifest } from "../context/prompt.ts";
import { workerOf } from "../plan.ts";
import type { ImplResult, TestFeedback } from "../workers/feedback.ts";
import type { Port } from "../plan.ts";
import type { ScopeInput } from "../scope.ts";
import type { Member } from "../workers/worker.ts";
import type { PlanRun } from "./run.ts";

/** What a prompt is made for. */
export interface BriefingRequest {
  readonly run: PlanRun;
  readonly port: Port;
  readonly member: Member;
  readonly scope: ScopeInput;
  /** 1-based over all tries of the port. */
  readonly try: number;
  readonly triesMost: number;
  /** What the last try failed with. */
  readonly feedback?: TestFeedback | undefined;
  /** What the implementer has done, for the tester. */
  readonly toTest?: ImplResult | undefined;
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
  options: { signal?: AbortSignal } = {},
): Promise<Briefing> {
  const { run, port, member, scope, feedback, toTest, hint } = request;
  const { plan } = run;
  const isOrchestrator = member === "orchestrator";
  const oneContext = run.mode?.oneContext === true && plan.ports.some(({ id }) => id === port.id);
  const context = contextScopeOf(plan, port, isOrchestrator ? "implementer" : member, {
    oneContext,
  });
  const gathered = await gatherFiles(
    { scope, context, writesContracts: isOrchestrator },
    commit,
    options,
  );
  return buildPrompt({
    kind: workerOf(plan.workers, isOrchestrator ? "orchestrator" : port.role)?.kind ?? "command",
    member,
    task: {
      port: port.id,
      title: port.title,
      goal: port.goal,
      role: port.role,
      attempt: 1,
      try: request.try,
      tries: request.triesMost,
      acceptance: port.acceptance,
      ...(port.check !== undefined && { check: port.check }),
    },
    scope,
    context,
    ...gathered,
    ...(feedback && { feedback }),
    ...(toTest && { toTest }),
    ...(hint !== undefined && { hint }),
    ...(oneContext && {
      others: plan.ports
        .filter(({ id }) => id !== port.id)
        .map(({ id, goal }) => ({ port: id, goal })),
    }),
    fullContext: fullContextTokens(JSON.stringify(plan), commit.files),
  });
}
