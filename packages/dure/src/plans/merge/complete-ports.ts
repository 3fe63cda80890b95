import type { PortResult } from "../rows/outcomes.ts";
import { buildGraph } from "../graph.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
import type { Because } from "../../wire/plans.ts";

/** A port that succeeded and is left out all the same. */
export interface DroppedPort {
  readonly port: string;
  readonly because: Because;
}

/** What of a run can be put together. */
export interface CompletePorts {
  /** What is needed comes first. */
  readonly whole: readonly PortResult[];
  readonly dropped: readonly DroppedPort[];
}

/**
 * Ports whose own work and all that it needs has succeeded. Pure. `left`: those that are left out,
 * and why.
 */
export function completePorts(
  run: PlanRun,
  ports: readonly PlanPort[],
  left: ReadonlyMap<string, Because> = new Map(),
): CompletePorts {
  const byId = new Map(ports.map((port) => [port.id, port]));
  const graph = buildGraph(run.plan.ports);
  const complete = new Set<string>();
  const whole: PortResult[] = [];
  const dropped: DroppedPort[] = [];
  for (const index of graph.order) {
    const id = graph.ids[index]!;
    const port = byId.get(id)!;
    if (port.status !== "succeeded") continue;
    const needed = graph.dependencies[index]!.map((other) => graph.ids[other]!);
    const lacking = needed.filter((other) => !complete.has(other));
    const because = left.get(id) ?? (lacking.length > 0 ? lacks(lacking) : undefined);
    if (because) {
      dropped.push({ port: id, because });
      continue;
    }
    complete.add(id);
    const { resultCommit, startCommit } = port;
    if (resultCommit === null || startCommit === null) continue;
    whole.push({ port: id, commit: resultCommit, base: startCommit });
  }
  return { whole, dropped };
}

function lacks(lacking: readonly string[]): Because {
  return {
    code: "DEPENDENCY_FAILED",
    message: `It succeeded, but needs ${lacking.join(", ")}, which did not.`,
    hint: "Retry what failed; its own work is kept.",
  };
}
