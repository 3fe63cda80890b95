import type { Port } from "../plan.ts";
import { ORCHESTRATOR, type PlanRun } from "../rows/run.ts";
import { StepLog } from "../rows/step-log.ts";
import { Integration, type Check, type Tried } from "./integration.ts";
import type { MergeParts } from "./merge.ts";

/**
 * Tries a merge of a run's result and a branch that has moved: the integration command, then the
 * acceptance of every port that is in it. Done again after a crash, and not again once it has
 * passed. Source: docs/spec/plans §5, "Delivery".
 */
export async function tryMerged(
  run: PlanRun,
  commit: string,
  parts: MergeParts,
  { signal }: { signal: AbortSignal },
): Promise<Tried> {
  const stepLog = new StepLog(run, ORCHESTRATOR, parts, signal);
  const integration = new Integration(run, parts, stepLog, commit);
  await integration.load();

  return integration.tryAll(checksOf(run), commit);
}

/** Each command once, in the order of the plan. Pure. */
function checksOf({ plan, report }: Pick<PlanRun, "plan" | "report">): readonly Check[] {
  const { integration, ports } = plan;
  const kept = ports.filter(({ id }) => report?.kept.includes(id));
  const byCommand = new Map<string, Port>();
  for (const port of kept) {
    if (!byCommand.has(port.acceptance)) byCommand.set(port.acceptance, port);
  }
  const accepted = [...byCommand].map(([command, port]) => ({ command, port }));

  return integration === undefined ? accepted : [{ command: integration }, ...accepted];
}
