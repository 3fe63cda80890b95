import type { JsonObject } from "../../kernel/json.ts";
import { someOf } from "./paths.ts";
import type { Repository } from "./repository.ts";
import { folderName } from "./repository-facts.ts";
import type { ListedFile } from "./listed-files.ts";

/** A thing that a person should know before a run, and that does not stop it. */
export interface RepositoryWarning {
  readonly code:
    | "FILTERS_OFF"
    | "NAMES_CLOSED"
    | "OWNED_IGNORED"
    | "SUBMODULES_EMPTY"
    | "UNCOMMITTED";
  readonly facts: JsonObject;
  readonly message: string;
}

/** Files `.gitattributes` that are read. */
const MAX_ATTRIBUTE_FILES = 1_000;
/** Of one of them. */
const ATTRIBUTES_BYTES = 1_000_000;

interface BaseCommit {
  readonly commit: string;
  readonly files: readonly ListedFile[];
  readonly signal: AbortSignal | undefined;
}

export async function warningsOf(
  repository: Repository,
  base: BaseCommit,
): Promise<RepositoryWarning[]> {
  const warnings: RepositoryWarning[] = [];
  if (repository.facts.isDirty) {
    const root = folderName(repository.root);
    const commit = base.commit.slice(0, 12);
    const files = `Files in ${root} are changed and not committed`;
    const start = `the run starts from ${commit} without them`;
    warnings.push({
      code: "UNCOMMITTED",
      facts: { root, commit },
      message: `${files}; ${start}.`,
    });
  }

  const submodules = base.files.filter(({ kind }) => kind === "submodule").map(({ path }) => path);
  if (submodules.length > 0) {
    warnings.push({
      code: "SUBMODULES_EMPTY",
      facts: { paths: submodules },
      message: `Submodules are empty folders for the workers: ${someOf(submodules)}.`,
    });
  }

  const drivers = await filterDrivers(repository, base);
  if (drivers.length > 0) {
    const off = `Filters do not run for the workers (${someOf(drivers)})`;
    const see = "they see what git stores, which for Git LFS is a pointer";
    warnings.push({
      code: "FILTERS_OFF",
      facts: { filters: drivers },
      message: `${off}; ${see}.`,
    });
  }
  return warnings;
}

/** Names of filters that files `.gitattributes` of the commit ask for. */
async function filterDrivers(
  { git, at }: Repository,
  { commit, files, signal }: BaseCommit,
): Promise<string[]> {
  const attributes = files
    .filter(({ path, kind }) => kind === "file" && /(?:^|\/)\.gitattributes$/.test(path))
    .slice(0, MAX_ATTRIBUTE_FILES);
  const drivers = new Set<string>();
  for (const { path } of attributes) {
    const { stdout } = await git.run(["cat-file", "blob", `${commit}:${path}`], {
      at,
      signal,
      outputBytes: ATTRIBUTES_BYTES,
      cut: true,
    });
    for (const [, driver] of stdout.toString().matchAll(/[ \t]filter=([^\s]+)/g)) {
      drivers.add(driver!);
    }
  }
  return [...drivers];
}
