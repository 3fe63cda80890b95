import { DureError } from "../../kernel/errors.ts";
import { someOf } from "./paths.ts";
import type { Repository } from "./repository.ts";
import { folderName } from "./repository-facts.ts";

/** For a fetch: the named refs, and nothing else there or here. */
const ONLY_REFS = [
  "--quiet",
  "--atomic",
  "--no-tags",
  "--no-prune",
  "--no-prune-tags",
  "--no-write-fetch-head",
  "--no-write-commit-graph",
  "--no-auto-maintenance",
  "--no-recurse-submodules",
  "--no-show-forced-updates",
  "--refmap=",
];

/** The store of a run, as far as its commits are fetched from it. */
export interface FetchedStore {
  readonly folder: string;
  list(
    prefix: string,
    options: { signal?: AbortSignal | undefined },
  ): Promise<ReadonlyMap<string, string>>;
}

interface Fetch {
  readonly store: FetchedStore;
  readonly run: string;
  /** Of the refs that the run has in the repository. */
  readonly prefix: string;
  readonly signal?: AbortSignal | undefined;
}

/** See {@link Repository.publish}. */
export async function fetchStore(repository: Repository, fetch: Fetch): Promise<void> {
  const { store, run, prefix, signal } = fetch;
  const wanted = await store.list("", { signal });
  if (wanted.size === 0) return;
  if ((await missingOf(repository, wanted, fetch)).length > 0) {
    const refs = `+refs/work/*:${prefix}*`;
    await repository.git.run(["fetch", ...ONLY_REFS, "--", store.folder, refs], {
      at: repository.at,
      signal,
    });
  }
  const missing = await missingOf(repository, wanted, fetch);
  if (missing.length === 0) return;
  const count = `${missing.length} of ${wanted.size} refs of run ${run}`;
  throw new DureError(
    "PUBLISH_INCOMPLETE",
    `${count} did not arrive in ${folderName(repository.root)}: ${someOf(missing)}.`,
    {
      hint: "Something else writes to refs/dure there; the work itself is safe in the run's store.",
    },
  );
}

/** Refs that do not stand in the repository at their commit. */
async function missingOf(
  repository: Repository,
  wanted: ReadonlyMap<string, string>,
  { run, signal }: Fetch,
): Promise<string[]> {
  const there = await repository.refsOf(run, { signal });
  return [...wanted].filter(([name, commit]) => there.get(name) !== commit).map(([name]) => name);
}
