import { LAYERS } from "./context/context-scopes.ts";
import { globMatches, globOf, literalPrefix } from "./glob.ts";
import { findCycles } from "./graph.ts";
import { isPattern, ownersIn } from "./plan-ownership.ts";
import { TEST_ROLE, type Plan, type Port } from "./plan.ts";
import type { RunMode } from "../wire/plans.ts";

/** What the decision is made from. */
export interface ModeFacts {
  /**
   * Files that the ports own at the base: those that are there and match, and listed paths that are
   * not there yet.
   */
  readonly files: number;
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

/** Source of all numbers: docs/spec/plans §5, "When". */
const FEW_FILES_BELOW = 5;
const SEPARATE_FILES = 10;
const SEPARATE_LAYERS = 3;
const PARALLEL = { modules: 3, targets: 2, files: 10 } as const;

/**
 * One port after the other, or side by side. Pure; the first rule that applies wins, and every
 * condition is told with its value.
 */
export function decideMode(facts: ModeFacts): RunMode {
  const conditions = conditionsOf(facts);
  const [few, manyFiles, manyLayers, ...parallel] = conditions;
  if (few!.holds) {
    return {
      mode: "in-order",
      oneContext: true,
      because: `${facts.files} files are fewer than ${FEW_FILES_BELOW}`,
      conditions,
    };
  }
  const missing = parallel.find(({ holds }) => !holds);
  if (!missing) {
    return {
      mode: "parallel",
      because: "every condition for working side by side holds",
      conditions,
    };
  }
  const isSeparate = manyFiles!.holds || manyLayers!.holds;
  return {
    mode: "in-order",
    because: `${isSeparate ? "" : "between the bounds: "}not “${missing.name}” (${missing.value})`,
    conditions,
  };
}

/** Each condition with its value, in the order of the specification. */
function conditionsOf(facts: ModeFacts): RunMode["conditions"] {
  const { files, layers, modules, targets, moduleCycle, openContracts } = facts;
  return [
    {
      code: "few-files",
      facts: { below: FEW_FILES_BELOW, found: files },
      name: `fewer than ${FEW_FILES_BELOW} files`,
      value: String(files),
      holds: files < FEW_FILES_BELOW,
    },
    atLeast("many-files", SEPARATE_FILES, { of: "files", found: files }),
    atLeast("many-layers", SEPARATE_LAYERS, { of: "layers", found: layers }),
    atLeast("many-modules", PARALLEL.modules, { of: "modules in the project", found: modules }),
    atLeast("many-targets", PARALLEL.targets, { of: "modules are worked on", found: targets }),
    atLeast("many-changes", PARALLEL.files, { of: "files change", found: files }),
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
  code: string,
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
  const owned = new Set([...worked.values()].flatMap(({ there, listed }) => [...there, ...listed]));
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

/** Modules that ports work in, by the port. Pure. */
export function modulesOfPorts(
  plan: Pick<Plan, "ports" | "roles">,
  files: readonly string[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const worked = pathsOfPorts(plan.ports, files, () => true);
  const manifests = manifestsIn(files);
  return new Map(
    plan.ports.map(({ id }) => [
      id,
      new Set(
        worked
          .get(id)!
          .all.flatMap(
            (path) => moduleOf(path, manifests, plan.roles.preset === "hexagonal") ?? [],
          ),
      ),
    ]),
  );
}

/** Folders below the root that have a manifest of their own. */
function manifestsIn(files: readonly string[]): ReadonlySet<string> {
  return new Set(
    files.flatMap((path) =>
      MANIFESTS.has(nameOf(path)) && path.includes("/")
        ? [path.slice(0, path.lastIndexOf("/"))]
        : [],
    ),
  );
}

interface WorkedPaths {
  /** At the base. */
  readonly there: readonly string[];
  /** Named without a wildcard, there or not. */
  readonly listed: readonly string[];
  /**
   * Those, and a stand-in in the folder of each pattern that matches nothing yet: what is to be
   * made there.
   */
  readonly all: readonly string[];
}

function pathsOfPorts(
  ports: readonly Port[],
  files: readonly string[],
  owns: (port: Port, path: string) => boolean,
): Map<string, WorkedPaths> {
  const owners = ownersIn(ports);
  const there = new Map<string, string[]>(ports.map(({ id }) => [id, []]));
  for (const path of files) {
    for (const port of owners(path)) if (owns(port, path)) there.get(port.id)!.push(path);
  }
  return new Map(
    ports.map((port) => {
      const patterns = [...port.owns, ...port.tests];
      const listed = patterns.filter((pattern) => !isPattern(pattern));
      const known = there.get(port.id)!;
      const standIns = patterns.filter(isPattern).flatMap((pattern) =>
        globOf(pattern).alternatives.flatMap((alternative) => {
          const folder = literalPrefix(alternative).join("/");
          return folder === "" || known.some((path) => path.startsWith(`${folder}/`))
            ? []
            : [`${folder}/…`];
        }),
      );
      return [port.id, { there: known, listed, all: [...known, ...listed, ...standIns] }];
    }),
  );
}

/**
 * A file that makes its folder a module. Source: npm, Go, Cargo, Python, Maven, Gradle, Composer,
 * Bundler, Dart, Mix.
 */
const MANIFESTS = new Set([
  "package.json",
  "go.mod",
  "Cargo.toml",
  "pyproject.toml",
  "setup.py",
  "pom.xml",
  "build.gradle",
  "build.gradle.kts",
  "composer.json",
  "Gemfile",
  "pubspec.yaml",
  "mix.exs",
]);
/** Folders that only hold modules. */
const HOLDERS = new Set([
  "src",
  "lib",
  "app",
  "apps",
  "packages",
  "modules",
  "services",
  "crates",
  "components",
  "internal",
  "pkg",
  "cmd",
  "main",
  "java",
  "kotlin",
]);
/** What lies in such a folder is about modules, and none itself. */
const NO_MODULES = new Set([
  "test",
  "tests",
  "__tests__",
  "spec",
  "specs",
  "e2e",
  "fixtures",
  "docs",
  "doc",
  "node_modules",
  "vendor",
  "dist",
  "build",
  "target",
  "migrations",
  "scripts",
  "tools",
]);
/** A layer of a module under `hexagonal` is no module of its own. */
const LAYER_FOLDERS = new Set([
  "domain",
  "core",
  "application",
  "usecases",
  "use-cases",
  "shared",
  "kernel",
  "infrastructure",
  "infra",
  "persistence",
  "adapters",
  "repositories",
  "api",
  "http",
  "routes",
  "controllers",
  "ports",
]);

/**
 * The module that a file is part of: the nearest folder with a manifest of its own below the root,
 * else the first folder that does more than hold others, such as `src/price`. Undefined for tests,
 * documents, and files of the root. Pure.
 */
function moduleOf(
  path: string,
  manifests: ReadonlySet<string>,
  isLayered = false,
): string | undefined {
  const folders = path.split("/").slice(0, -1);
  if (
    folders.length === 0 ||
    folders.some((folder) => NO_MODULES.has(folder) || folder.startsWith("."))
  ) {
    return undefined;
  }
  for (let length = folders.length; length > 0; length--) {
    const folder = folders.slice(0, length).join("/");
    if (manifests.has(folder)) return folder;
  }
  const first = folders.findIndex((folder) => !HOLDERS.has(folder));
  const length =
    first < 0
      ? folders.length
      : isLayered && LAYER_FOLDERS.has(folders[first]!)
        ? Math.max(first, 1)
        : first + 1;
  return folders.slice(0, length).join("/");
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

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
