import { LAYERS } from "./context/context-scopes.ts";
import { globMatches, globOf } from "./glob.ts";
import { buildGraph, widthOf } from "./graph.ts";
import { findCycles } from "./graph-cycles.ts";
import { manifestsIn, moduleOf, pathsOfPorts } from "./plan-modules.ts";
import { decideWrite, makeScope } from "./scope.ts";
import { TEST_ROLE, type ModeBounds, type Plan, type PlanMode, type Port } from "./plan.ts";
import type { RunMode } from "../wire/plans.ts";

/** The numbers behind `mode: auto`. Source: docs/spec/plans §5, "When". */
const MODE_BOUNDS: ModeBounds = {
  fewFiles: 5,
  manyFiles: 10,
  manyLayers: 3,
  independent: 3,
  modules: 3,
  targets: 2,
  changes: 10,
};

/** The mode of a plan, as it says and as its files are. Pure. */
export function modeOfPlan(
  plan: Plan,
  files: readonly string[],
  owns?: (port: Port, path: string) => boolean,
): RunMode {
  const bounds = { ...MODE_BOUNDS, ...plan.modeBounds };
  return decideMode(modeFacts(plan, files, owns), plan.mode, bounds);
}

/** The mode of a run: a port works only where its scope lets it write. Pure. */
export function modeOfRun(plan: Plan, files: readonly string[]): RunMode {
  const scopes = new Map(
    plan.ports.map(({ id, owns, tests }) => [
      id,
      makeScope({ writes: [...owns, ...tests], reads: [], contracts: [] }),
    ]),
  );

  return modeOfPlan(plan, files, ({ id }, path) => decideWrite(scopes.get(id)!, path).allowed);
}

/**
 * Contracts that were open when the run began, which its ports write in order. Pure.
 */
export function openContractsOf(mode: RunMode | null): readonly string[] {
  const fixed = mode?.conditions.find(({ code }) => code === "contracts-fixed");
  const open = fixed?.facts?.["open"];

  return Array.isArray(open) ? open.filter((path) => typeof path === "string") : [];
}

/** What the decision is made from. */
export interface ModeFacts {
  /**
   * Files that the ports own at the base: those that are there and match, listed paths that are not
   * there yet, and one for each pattern that matches nothing yet, since it is new code.
   */
  readonly files: number;
  /** The most ports in which none waits for another. */
  readonly independent: number;
  /**
   * Layers (domain, infrastructure, API) that the ports touch, by their roles under `hexagonal` and
   * by the folders' names.
   */
  readonly layers: number;
  /**
   * Modules of the project: folders at the base with files of their own, and those that the ports
   * are to make. See `moduleOf`.
   */
  readonly modules: number;
  /** Of them, modules that some port's implementer works on. */
  readonly targets: number;
  /** A way round among modules whose ports need each other; empty without one. */
  readonly moduleCycle: readonly string[];
  /** Contracts that are not in the base, where no orchestrator writes them first. */
  readonly openContracts: readonly string[];
  readonly parallelEnabled: boolean;
}

/**
 * One port after the other, or side by side. Pure; the first rule that applies wins, and every
 * condition is told with its value. What the plan says (`mode`) goes before the numbers.
 */
export function decideMode(
  facts: ModeFacts,
  wanted: PlanMode = "auto",
  bounds: ModeBounds = MODE_BOUNDS,
): RunMode {
  const conditions = conditionsOf(facts, bounds);
  const decided = wanted === "auto" ? decideAuto(facts, conditions, bounds) : WANTED[wanted];
  return { ...decided, wanted, conditions };
}

type DecidedMode = Omit<RunMode, "conditions" | "wanted">;

const WANTED: Readonly<Record<Exclude<PlanMode, "auto">, DecidedMode>> = {
  parallel: { mode: "parallel", because: "the plan says mode: parallel" },
  sequential: { mode: "in-order", because: "the plan says mode: sequential" },
  single: { mode: "in-order", oneContext: true, because: "the plan says mode: single" },
};

function decideAuto(
  facts: ModeFacts,
  conditions: RunMode["conditions"],
  bounds: ModeBounds,
): DecidedMode {
  const holds = (code: ConditionCode): boolean =>
    conditions.some((condition) => condition.code === code && condition.holds);
  const isWide = holds("independent-ports") && holds("many-changes");
  if (holds("few-files")) {
    const { fewFiles } = bounds;
    const because =
      facts.files === 1
        ? `1 file is fewer than ${fewFiles}`
        : `${facts.files} files are fewer than ${fewFiles}`;
    return { mode: "in-order", oneContext: true, because };
  }
  const needed = isWide ? SAFE : [...LARGE, ...SAFE];
  const missing = conditions.find(
    ({ code, holds: isMet }) => !isMet && needed.includes(code as ConditionCode),
  );
  if (!missing) {
    const because = isWide
      ? `${facts.independent} ports wait for no other one`
      : "every condition for working side by side holds";
    return { mode: "parallel", because };
  }
  const isSeparate = holds("many-files") || holds("many-layers");
  const between = isSeparate || isWide ? "" : "between the bounds: ";
  return { mode: "in-order", because: `${between}not “${missing.name}” (${missing.value})` };
}

/** What makes work large enough to be done side by side, where ports are few. */
const LARGE: readonly ConditionCode[] = ["many-modules", "many-targets", "many-changes"];
/** What makes working side by side safe. */
const SAFE: readonly ConditionCode[] = ["no-module-cycle", "contracts-fixed", "parallel-enabled"];

type ConditionCode =
  | "few-files"
  | "many-files"
  | "many-layers"
  | "independent-ports"
  | "many-modules"
  | "many-targets"
  | "many-changes"
  | "no-module-cycle"
  | "contracts-fixed"
  | "parallel-enabled";

/** Each condition with its value, in the order of the specification. */
function conditionsOf(facts: ModeFacts, bounds: ModeBounds): RunMode["conditions"] {
  const { files, layers, modules, targets, moduleCycle, openContracts, independent } = facts;
  const { fewFiles } = bounds;
  return [
    {
      code: "few-files",
      facts: { below: fewFiles, found: files },
      name: `fewer than ${fewFiles} files`,
      value: String(files),
      holds: files < fewFiles,
    },
    atLeast("many-files", bounds.manyFiles, { of: "files", found: files }),
    atLeast("many-layers", bounds.manyLayers, { of: "layers", found: layers }),
    atLeast("independent-ports", bounds.independent, {
      of: "ports wait for no other one",
      found: independent,
    }),
    atLeast("many-modules", bounds.modules, { of: "modules in the project", found: modules }),
    atLeast("many-targets", bounds.targets, { of: "modules are worked on", found: targets }),
    atLeast("many-changes", bounds.changes, { of: "files change", found: files }),
    {
      code: "no-module-cycle",
      facts: { cycle: moduleCycle },
      name: "modules do not depend on each other in a circle",
      value: moduleCycle.join(" → ") || "none",
      holds: moduleCycle.length === 0,
    },
    {
      code: "contracts-fixed",
      facts: { open: openContracts },
      name: "every contract is fixed before",
      value: openContracts.join(", ") || "all",
      holds: openContracts.length === 0,
    },
    {
      code: "parallel-enabled",
      facts: { enabled: facts.parallelEnabled },
      name: "parallel_enabled",
      value: String(facts.parallelEnabled),
      holds: facts.parallelEnabled,
    },
  ];
}

function atLeast(
  code: ConditionCode,
  least: number,
  { of, found }: { of: string; found: number },
): RunMode["conditions"][number] {
  return {
    code,
    facts: { least, found },
    name: `at least ${least} ${of}`,
    value: String(found),
    holds: found >= least,
  };
}

/**
 * The facts of a plan against the files of its base. Pure.
 *
 * @param owns asked beside the patterns of a port whether it owns a path. Default: the patterns decide.
 */
export function modeFacts(
  plan: Plan,
  files: readonly string[],
  owns: (port: Port, path: string) => boolean = () => true,
): ModeFacts {
  const worked = pathsOfPorts(plan.ports, files, owns);
  const owned = new Set(
    [...worked.values()].flatMap(({ there, listed, fresh }) => [...there, ...listed, ...fresh]),
  );
  for (const { path } of plan.contracts) owned.add(path);

  const manifests = manifestsIn(files);
  const isLayered = plan.roles.preset === "hexagonal";
  const moduleIn = (path: string): string | undefined => moduleOf(path, manifests, isLayered);
  const modulesIn = (paths: Iterable<string>): Set<string> =>
    new Set([...paths].flatMap((path) => moduleIn(path) ?? []));
  const targetsOf = new Map(plan.ports.map(({ id }) => [id, modulesIn(worked.get(id)!.all)]));
  const targets = new Set([...targetsOf.values()].flatMap((modules) => [...modules]));
  const roles = isLayered
    ? plan.ports.flatMap(({ role }) => (role === TEST_ROLE ? [] : [role]))
    : [];

  return {
    files: owned.size,
    independent: widthOf(buildGraph(plan.ports), plan.ports.length),
    layers: new Set([...roles, ...[...owned].flatMap(layersOf)]).size,
    modules: new Set([...modulesIn(files), ...targets]).size,
    targets: targets.size,
    moduleCycle: moduleCycle(plan.ports, targetsOf),
    openContracts:
      plan.workers.orchestrator === undefined
        ? plan.contracts.map(({ path }) => path).filter((path) => !files.includes(path))
        : [],
    parallelEnabled: plan.limits.parallelEnabled,
  };
}

const LAYER_GLOBS = Object.entries(LAYERS).map(
  ([name, patterns]) => [name, patterns.map((pattern) => globOf(pattern))] as const,
);

function layersOf(path: string): string[] {
  return LAYER_GLOBS.flatMap(([name, globs]) =>
    globs.some((glob) => globMatches(glob, path)) ? [name] : [],
  );
}

/**
 * A way round among modules, by what their ports need. Ports that a module shares with another one
 * make neither need the other.
 */
function moduleCycle(
  ports: readonly Port[],
  modulesOf: ReadonlyMap<string, ReadonlySet<string>>,
): readonly string[] {
  const needs = new Map<string, Set<string>>();
  for (const port of ports) {
    const own = modulesOf.get(port.id)!;
    for (const module of own) {
      const needed = needs.get(module) ?? new Set();
      needs.set(module, needed);
      for (const other of port.dependsOn) {
        for (const theirs of modulesOf.get(other) ?? []) {
          if (!own.has(theirs) && !modulesOf.get(other)!.has(module)) needed.add(theirs);
        }
      }
    }
  }
  return (
    findCycles([...needs].map(([id, dependsOn]) => ({ id, dependsOn: [...dependsOn] })))[0] ?? []
  );
}
