import { realpath } from "node:fs/promises";
import { isWithin } from "../sandbox/mount-plan.ts";
import type { Git } from "../workspace/git.ts";

/** Where a repository is. Real paths. */
interface RepositoryLocation {
  /** The top of the working tree; of a bare repository its git directory. */
  readonly root: string;
  /** Where branches and objects are. */
  readonly commonDir: string;
}

/**
 * The repository of `folder` where it is one of those that the team has named, else undefined.
 * Nothing is looked into that lies elsewhere: whether there is anything is not for everybody to
 * learn. A repository of its own within a named one (a dependency, a tree of a run) is another one.
 *
 * @param named folders in repositories; those that are none are passed over
 * @returns its root, a real path: what a link leads to later is not asked again
 */
export async function namedRepository(
  folder: string,
  named: Iterable<string>,
  { git, signal }: { git: Git; signal: AbortSignal },
): Promise<string | undefined> {
  const wanted = await real(folder);
  if (wanted === undefined) return undefined;
  for (const one of new Set(named)) {
    const repository = await locationOf(one, git, signal);
    if (!repository || !isWithin(wanted, repository.root)) continue;
    const found = await locationOf(wanted, git, signal);
    if (found?.commonDir === repository.commonDir) return found.root;
  }
  return undefined;
}

async function locationOf(
  folder: string,
  git: Git,
  signal: AbortSignal,
): Promise<RepositoryLocation | undefined> {
  const cwd = await real(folder);
  if (cwd === undefined) return undefined;
  const { stdout } = await git.run(
    ["rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel"],
    { at: { cwd }, accept: [0, 128], signal },
  );
  const [commonDir = "", top = ""] = stdout.toString().split("\n");
  const [common, root] = [await real(commonDir), await real(top || commonDir)];
  return common === undefined || root === undefined ? undefined : { root, commonDir: common };
}

function real(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}
