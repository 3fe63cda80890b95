import { editPlan, portsIn } from "../drafts/edit-plan.ts";
import { buildGraph, criticalPath, levels, widthOf } from "../graph.ts";
import { concurrencyOf, type Plan } from "../plan.ts";
import { readPlan, type PlanReading } from "../plan-file.ts";
import { ownershipOf, ownershipWarnings, type PlanWarning } from "../plan-ownership.ts";
import { modulesOfPlan } from "../plan-modules.ts";
import { modeOfPlan, modeOfRun } from "../mode.ts";
import type { RunMode } from "../../wire/plans.ts";

/** What a plan means for the files of its base. */
export interface PlanShape {
  /** Ports by the number of steps that must have been taken before them. */
  readonly levels: readonly (readonly string[])[];
  readonly criticalPath: readonly string[];
  /**
   * Ports that can work at the same time: as many as do not wait for each other, within
   * `max_concurrency`; 1 in order.
   */
  readonly maxParallel: number;
  readonly mode: RunMode;
  /** Files of the base without an owner, at most 200; `unownedCount` counts all. */
  readonly unowned: readonly string[];
  readonly unownedCount: number;
  readonly warnings: readonly PlanWarning[];
}

const UNOWNED_SHOWN = 200;

/**
 * Work on plans whose time grows with what a stranger sent. Pure; arguments and results are plain
 * data.
 */
export const PLAN_TASKS = {
  read: (file: string, text: string): PlanReading => readPlan(file, text),
  shape: shapeOf,
  mode: modeOfRun,
  modules: modulesOfPlan,
  edit: editPlan,
  ports: portsIn,
} as const;

export type PlanTasks = typeof PLAN_TASKS;

function shapeOf(plan: Plan, files: readonly string[]): PlanShape {
  const ownership = ownershipOf(plan, files);
  const { unowned } = ownership;
  const graph = buildGraph(plan.ports);
  const mode = modeOfPlan(plan, files);
  return {
    levels: levels(graph),
    criticalPath: criticalPath(graph),
    maxParallel: mode.mode === "parallel" ? widthOf(graph, concurrencyOf(plan.limits)) : 1,
    mode,
    unowned: unowned.slice(0, UNOWNED_SHOWN),
    unownedCount: unowned.length,
    warnings: ownershipWarnings(plan, ownership),
  };
}
