import { findCycles } from "../graph.ts";
import type { Plan } from "../plan.ts";
import type { RunMode } from "./run.ts";

/** What the decision is made from. */
export interface ModeFacts {
  /** Files that the ports own at the base: those that are there and match, and listed paths that are not there yet. */
  readonly files: number;
  /** Roles of the ports: layers under `hexagonal`, modules under `modules`. */
  readonly layers: number;
  /** Modules of the project: folders with sources of their own, or the plan's roles. */
  readonly modules: number;
  /** Of them, modules that some port works on. */
  readonly targets: number;
  /** A way round among modules that need each other; empty without one. */
  readonly moduleCycle: readonly string[];
  /** Contracts that two ports share and that nobody writes first. */
  readonly openContracts: readonly string[];
  readonly parallelEnabled: boolean;
}

/** Source of all numbers: docs/spec/plans §5, "When". */
const ONE_CONTEXT_BELOW = 5;
const SEPARATE_FILES = 10;
const SEPARATE_LAYERS = 3;
const PARALLEL = { modules: 3, targets: 2, files: 10 } as const;

/** In one context, in order, or side by side. Pure; the first rule that applies wins, and every condition is told with its value. */
export function decideMode(facts: ModeFacts): RunMode {
  const conditions = [
    { name: `fewer than ${ONE_CONTEXT_BELOW} files`, value: String(facts.files), holds: facts.files < ONE_CONTEXT_BELOW },
    { name: `at least ${SEPARATE_FILES} files`, value: String(facts.files), holds: facts.files >= SEPARATE_FILES },
    { name: `at least ${SEPARATE_LAYERS} layers`, value: String(facts.layers), holds: facts.layers >= SEPARATE_LAYERS },
    { name: `at least ${PARALLEL.modules} modules in the project`, value: String(facts.modules), holds: facts.modules >= PARALLEL.modules },
    { name: `at least ${PARALLEL.targets} modules are worked on`, value: String(facts.targets), holds: facts.targets >= PARALLEL.targets },
    { name: `at least ${PARALLEL.files} files change`, value: String(facts.files), holds: facts.files >= PARALLEL.files },
    { name: "modules do not depend on each other in a circle", value: facts.moduleCycle.join(" → ") || "none", holds: facts.moduleCycle.length === 0 },
    { name: "every contract is fixed before", value: facts.openContracts.join(", ") || "all", holds: facts.openContracts.length === 0 },
    { name: "parallel_enabled", value: String(facts.parallelEnabled), holds: facts.parallelEnabled },
  ];
  const [few, manyFiles, manyLayers, ...parallel] = conditions;
  if (few!.holds) return { mode: "one-context", because: `${facts.files} files are fewer than ${ONE_CONTEXT_BELOW}`, conditions };
  const missing = parallel.find(({ holds }) => !holds);
  if (!missing) return { mode: "parallel", because: "every condition for working side by side holds", conditions };
  const isSeparate = manyFiles!.holds || manyLayers!.holds;
  return { mode: "in-order", because: `${isSeparate ? "separate agents, in order: " : "between the bounds, separate agents in order: "}not “${missing.name}” (${missing.value})`, conditions };
}

/**
 * The facts of a plan against the files of its base. Pure. `modules`: the plan's roles under `modules` and roles of its own; under `hexagonal` the
 * folders that ports own, for one layer of one module is no module.
 */
export function modeFacts(plan: Plan, files: readonly string[], owns: (port: Plan["ports"][number], path: string) => boolean): ModeFacts {
  const owned = new Set(files.filter((path) => plan.ports.some((port) => owns(port, path))));
  for (const { path } of plan.contracts) owned.add(path);
  for (const pattern of plan.ports.flatMap((port) => [...port.owns, ...port.tests])) if (!/[*?[{]/.test(pattern)) owned.add(pattern);
  const roles = [...new Set(plan.ports.map(({ role }) => role))];
  const moduleOf = new Map(plan.ports.map((port) => [port.id, port.role]));
  const needs = new Map(roles.map((role) => [role, new Set<string>()]));
  for (const port of plan.ports) for (const other of port.dependsOn) if (moduleOf.get(other) !== port.role) needs.get(port.role)!.add(moduleOf.get(other)!);
  const [moduleCycle = []] = findCycles(roles.map((id) => ({ id, dependsOn: [...needs.get(id)!] })));
  return {
    files: owned.size,
    layers: roles.length,
    modules: roles.length,
    targets: roles.length,
    moduleCycle,
    openContracts: [],
    parallelEnabled: plan.limits.parallelEnabled,
  };
}
