import type { Problem } from "../engine/files/load-service-document.ts";
import type { CodedMessage } from "../kernel/coded-message.ts";
import { foldPath, globMatches, globOf, indexPatterns } from "./glob.ts";
import { expandBraces } from "./glob-text.ts";
import type { Plan, Port } from "./plan.ts";
import { decideWrite, foldedGlob, makeScope } from "./scope.ts";

/**
 * Files at the root that the whole project is built with. Data. Source: the manuals of the tools.
 */
const ROOT_BUILD_FILES = [
  "{package.json,pnpm-workspace.yaml,deno.json,turbo.json,nx.json,lerna.json,.npmrc,.yarnrc*}",
  oneOf(
    "tsconfig*.json,jsconfig.json",
    "vite.config.*,vitest.config.*,jest.config.*",
    "webpack.config.*,rollup.config.*,babel.config.*",
  ),
  oneOf(
    "go.mod,go.work,Cargo.toml,rust-toolchain*,Gemfile,composer.json,mix.exs",
    "pyproject.toml,requirements*.txt,Pipfile,setup.py,setup.cfg",
    "pytest.ini,tox.ini,conftest.py",
  ),
  "{pom.xml,build.gradle*,settings.gradle*,gradle.properties,gradlew,build.sbt,Makefile,CMakeLists.txt}",
];
const LOCK_FILES = [
  `**/${oneOf(
    "package-lock.json,npm-shrinkwrap.json,yarn.lock,pnpm-lock.yaml",
    "bun.lock,bun.lockb,deno.lock",
    "go.sum,Cargo.lock,Gemfile.lock,composer.lock,mix.lock",
    "poetry.lock,uv.lock,Pipfile.lock,gradle.lockfile",
  )}`,
];
const MIGRATIONS = ["**/{migrations,migrate}/**"];

/** What everything is built and tested with; the processes of all workers see it. */
export const BUILD_FILES = [...ROOT_BUILD_FILES, ...LOCK_FILES];

/**
 * What two ports would both need to change, so that it should be no port's alone: it goes to the
 * orchestrator. Source: docs/spec/plans §5.
 */
const SHARED_FILES = [...BUILD_FILES, ...MIGRATIONS].map((pattern) => globOf(pattern));

/** Whether a path is a lock file, which a package manager writes beside what it reads. Pure. */
export function isLockFile(path: string): boolean {
  return LOCK_GLOBS.some((glob) => globMatches(glob, path));
}

const LOCK_GLOBS = LOCK_FILES.map((pattern) => globOf(pattern));

/** As patterns: see `SHARED_FILES`. */
export const SHARED_PATTERNS = [...BUILD_FILES, ...MIGRATIONS];

/**
 * Patterns of a port that speak of shared files by name (`package.json`, `src/db/migrations/**`): a
 * person gave them to it. What a wider pattern covers beside other files (`**`, `src/**`) is not
 * meant. Pure.
 */
export function sharedByName({ owns, tests }: Pick<Port, "owns" | "tests">): string[] {
  return [...owns, ...tests].filter((pattern) =>
    (expandBraces(pattern) ?? [pattern]).every((alternative) =>
      SHARED_FILES.some((glob) => globMatches(glob, alternative)),
    ),
  );
}

/**
 * Which files only the orchestrator changes, at the merge: build files of the root,
 * lock files and migrations, where there is an orchestrator and the plan gives them to no port by
 * name. Pure. Source: docs/spec/plans §5.
 */
export function orchestratorsFiles({
  workers,
  ports,
}: Pick<Plan, "workers" | "ports">): (path: string) => boolean {
  if (workers.orchestrator === undefined) return () => false;
  const byName = ports.flatMap(sharedByName).map((pattern) => globOf(pattern));

  return (path) =>
    SHARED_FILES.some((glob) => globMatches(glob, path)) &&
    !byName.some((glob) => globMatches(glob, path));
}

/**
 * What a plan means for the files of its base. Paths are posix, from the root of the repository.
 */
export interface PlanOwnership {
  /** Files without an owner: neither a port nor the orchestrator. */
  readonly unowned: readonly string[];
  /** Contracts that are not there, and that no port can write. */
  readonly missingContracts: readonly string[];
  /** Build files of the root, lock files and migrations, by the port that owns them. */
  readonly shared: readonly { readonly port: string; readonly paths: readonly string[] }[];
}

/** Who owns what of the base. Pure. */
export function ownershipOf(
  plan: Pick<Plan, "ports" | "contracts" | "workers" | "mode">,
  files: readonly string[],
): PlanOwnership {
  const owners = ownersIn(plan.ports);
  const isOrchestrators = orchestratorsFiles(plan);
  const there = new Set(files);
  const contracts = new Set(plan.contracts.map(({ path }) => path));
  const listed = plan.ports.flatMap(({ owns, tests }) =>
    [...owns, ...tests].filter((pattern) => !isPattern(pattern) && !there.has(pattern)),
  );
  const shared = new Map<string, Set<string>>();
  const unowned: string[] = [];
  for (const path of [...files, ...listed]) {
    if (contracts.has(path) || isOrchestrators(path)) continue;
    const ports = owners(path);
    if (ports.length === 0) unowned.push(path);
    else if (SHARED_FILES.some((glob) => globMatches(glob, path))) {
      for (const { id } of ports) shared.set(id, (shared.get(id) ?? new Set()).add(path));
    }
  }

  return {
    unowned,
    missingContracts: unwritable(
      plan,
      [...contracts].filter((path) => !there.has(path)),
    ),
    shared: plan.ports.flatMap(({ id }) =>
      shared.has(id) ? [{ port: id, paths: [...shared.get(id)!] }] : [],
    ),
  };
}

/**
 * Of contracts that are not there, those that no port writes: one that owns it does, where the ports
 * work in order. Pure.
 */
export function unwritable(
  { ports, mode }: Pick<Plan, "ports" | "mode">,
  missing: readonly string[],
): readonly string[] {
  if (mode === "parallel") return missing;
  const owners = ownersIn(ports);

  return missing.filter((path) => owners(path).length === 0);
}

/** Something about a plan that a person should look at; it runs nevertheless. */
export type PlanWarning = CodedMessage;

/** What a person should look at before a run. Pure. */
export function ownershipWarnings(
  plan: Pick<Plan, "workers">,
  { shared, missingContracts }: PlanOwnership,
): PlanWarning[] {
  const owned = shared.map(({ port, paths }) => ({
    code: "SHARED_FILES_OWNED",
    facts: { port, paths },
    message: [
      `Port ${port} owns ${shown(paths)}:`,
      "build files of the root, lock files and migrations are needed by all.",
      "Two ports cannot both change them;",
      "give them to one port that the others depend on, or leave them out:",
      "with workers.orchestrator ports ask for changes, which are made once at the merge;",
      "without one change them before the run.",
    ].join(" "),
  }));
  const open =
    missingContracts.length > 0 && plan.workers.orchestrator === undefined
      ? [
          {
            code: "CONTRACTS_MISSING",
            facts: { paths: missingContracts },
            message: missingWords(missingContracts),
          },
        ]
      : [];
  return [...open, ...owned];
}

/** Of these warnings those for which a run would be refused, as problems of the plan's file. Pure. */
export function contractProblems(warnings: readonly PlanWarning[], file: string): Problem[] {
  const missing = warnings.filter(({ code }) => code === "CONTRACTS_MISSING");
  const hint = "Add workers.orchestrator, or write them and commit them.";

  return missing.map(({ message }) => ({ file, key: "contracts", message, hint }));
}

/**
 * Ports that own a path, by their patterns alone. Made once for many paths: only ports whose
 * patterns can begin like the path are asked.
 */
export function ownersIn(ports: readonly Port[]): (path: string) => readonly Port[] {
  const candidates = indexPatterns(
    ports.map((port) => {
      const patterns = [...port.owns, ...port.tests];
      return {
        port,
        scope: makeScope({ writes: patterns, reads: [], contracts: [] }),
        alternatives: patterns.flatMap((pattern) => foldedGlob(pattern).alternatives),
      };
    }),
  );

  return (path) =>
    candidates(foldPath(path)).flatMap(({ port, scope }) =>
      decideWrite(scope, path).allowed ? [port] : [],
    );
}

/** Whether a text of `owns` or `tests` has wildcards; else it names one file. */
export function isPattern(text: string): boolean {
  return /[*?[{\\]/.test(text);
}

function shown(paths: readonly string[]): string {
  return paths.length > 5
    ? `${paths.slice(0, 5).join(", ")} and ${paths.length - 5} more`
    : paths.join(", ");
}

function missingWords(contracts: readonly string[]): string {
  const [are, them] =
    contracts.length === 1 ? ["is a contract that is", "it"] : ["are contracts that are", "them"];
  return [
    `${shown(contracts)} ${are} not in the base,`,
    `and there is no workers.orchestrator to write ${them}: the run will refuse to begin.`,
  ].join(" ");
}

/** A glob of names, given in groups. */
function oneOf(...groups: readonly string[]): string {
  return `{${groups.join(",")}}`;
}
