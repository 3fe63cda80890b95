import { globOf, literalPrefix } from "./glob.ts";
import { isPattern, ownersIn } from "./plan-ownership.ts";
import type { Plan, Port } from "./plan.ts";

/** Modules that ports work in, by the port. */
export type PortModules = ReadonlyMap<string, ReadonlySet<string>>;

export interface PlanModules {
  /** Of the ports of the run. */
  readonly own: PortModules;
  /** Of those of the whole plan. */
  readonly whole: PortModules;
}

/** @param files of the base. Pure. */
export function modulesOfPlan(
  { ports, whole, roles }: Pick<Plan, "ports" | "whole" | "roles">,
  files: readonly string[],
): PlanModules {
  const own = modulesOfPorts({ ports, roles }, files);
  return { own, whole: whole === undefined ? own : modulesOfPorts({ ports: whole, roles }, files) };
}

function modulesOfPorts(
  plan: Pick<Plan, "ports" | "roles">,
  files: readonly string[],
): PortModules {
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
export function manifestsIn(files: readonly string[]): ReadonlySet<string> {
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
  /** Patterns that match nothing yet, of files that are to be made. */
  readonly fresh: readonly string[];
  /**
   * Those, and a stand-in in the folder of each pattern that matches nothing yet: what is to be
   * made there.
   */
  readonly all: readonly string[];
}

export function pathsOfPorts(
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
      const isNew = (folder: string): boolean =>
        folder !== "" && !known.some((path) => path.startsWith(`${folder}/`));
      const fresh = patterns.filter(isPattern).filter((pattern) => foldersOf(pattern).some(isNew));
      const standIns = fresh.flatMap((pattern) =>
        foldersOf(pattern)
          .filter(isNew)
          .map((folder) => `${folder}/…`),
      );
      return [port.id, { there: known, listed, fresh, all: [...known, ...listed, ...standIns] }];
    }),
  );
}

/** The folders before the first wildcard of a pattern. */
function foldersOf(pattern: string): readonly string[] {
  return globOf(pattern).alternatives.map((alternative) => literalPrefix(alternative).join("/"));
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
export function moduleOf(
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

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
