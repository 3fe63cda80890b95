import { readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { removeAll } from "../workspace/files.ts";
import { PortTree } from "../workspace/port-tree.ts";
import type { RunRemote } from "../workspace/remote.ts";
import { Repository } from "../workspace/repository.ts";
import { folderName } from "../workspace/repository-facts.ts";
import type { Git } from "../workspace/git.ts";
import { RunStore } from "../workspace/store.ts";
import { ORCHESTRATOR, type PlanPort, type PlanRun, type PlanStep } from "../rows/run.ts";
import { namesOf } from "../rows/words.ts";
import type { Because } from "../../wire/plans.ts";

export interface CleanParts {
  readonly git: Git;
  readonly author: { readonly name: string; readonly email: string };
  readonly remote: ((repository: Repository) => RunRemote) | undefined;
  readonly signal: AbortSignal;
}

/**
 * Why the files of an ended run are not removed without force; undefined: nothing that is worth
 * keeping would go. A result that is on no branch could still be merged; a tree may
 * hold what no commit has.
 */
export async function whyKept(
  run: PlanRun,
  ports: readonly PlanPort[],
  steps: readonly PlanStep[],
  { git, author, signal }: CleanParts,
): Promise<Because | undefined> {
  const repository = await opened(run, git, signal);
  const worth = resultsOf(run, ports);
  if (!repository) {
    if (worth.length === 0) return undefined;
    const why = "it is unknown whether its result was merged";
    return {
      code: "REPOSITORY_GONE",
      message: `Its repository ${folderName(run.repository)} is not there, so ${why}.`,
      hint: "Put the repository back, or clean it with --force.",
    };
  }
  const names = await repository.branchesAndTags({ signal });
  const isMerged = await repository.hasReachable(worth, names, { signal });
  if (!isMerged) {
    return {
      code: "RUN_UNMERGED",
      message: `What succeeded in it is on no branch of ${folderName(repository.root)}.`,
      hint: `Take it over with dure plan merge ${run.id}, or clean it with --force.`,
    };
  }
  const folder = join(run.folder, "ports");
  const trees = await readdir(folder).catch(() => []);
  if (trees.length === 0) return undefined;
  const store = await RunStore.open({
    repository,
    folder: join(run.folder, "store.git"),
    run: run.id,
    base: run.baseCommit,
    author,
    signal,
  });
  for (const name of trees.filter((one) => !one.endsWith(".removed"))) {
    const tree = await PortTree.open({ folder: join(folder, name), port: name, store });
    const lost = await tree.uncommitted(lastCommitOf(name, run, ports, steps), { signal });
    if (lost.length > 0) {
      return {
        code: "TREE_NOT_SAFE",
        message: `The tree of ${name} holds what no commit has: ${namesOf(lost)}.`,
        hint: `Look at plans/${run.id}/ports/${name} in dure's data, then clean it with --force.`,
      };
    }
  }
  return undefined;
}

/**
 * Removes the refs of a run, here and at the remote, then its folder. What is gone already is no
 * fault: it is done again where it died in the middle.
 */
export async function removeRun(
  run: PlanRun,
  { git, remote, signal }: CleanParts,
): Promise<{ readonly warning?: string }> {
  const repository = await opened(run, git, signal);
  let warning: string | undefined;
  if (repository) {
    try {
      await remote?.(repository).forget(run.id, { signal });
    } catch (error) {
      signal.throwIfAborted();
      warning = `its refs at the remote are still there: ${messageOf(error)}`;
    }
    await repository.forget(run.id, { signal });
  }
  const leaving = `${run.folder}.removed`;
  await removeAll(Buffer.from(leaving));
  if (await stat(run.folder).catch(() => undefined)) await rename(run.folder, leaving);
  await removeAll(Buffer.from(leaving));
  return warning === undefined ? {} : { warning };
}

/** Commits that must be on a branch or a tag before their files may go. Pure. */
function resultsOf(run: PlanRun, ports: readonly PlanPort[]): readonly string[] {
  const succeeded = ports.filter(({ status }) => status === "succeeded");
  const commits = [run.report?.commit, ...succeeded.map(({ resultCommit }) => resultCommit)];
  return [...new Set(commits.filter((commit) => typeof commit === "string"))];
}

/** What a tree was checked out at last. */
function lastCommitOf(
  name: string,
  run: PlanRun,
  ports: readonly PlanPort[],
  steps: readonly PlanStep[],
): string {
  const made = steps.filter(({ port }) => port === name).toReversed();
  const commits = made.flatMap(({ output }) =>
    isObject(output) && typeof output["commit"] === "string" ? [output["commit"]] : [],
  );
  const start = name === ORCHESTRATOR ? null : ports.find(({ id }) => id === name)?.startCommit;
  return commits[0] ?? start ?? run.startCommit ?? run.baseCommit;
}

async function opened(
  run: PlanRun,
  git: Git,
  signal: AbortSignal,
): Promise<Repository | undefined> {
  try {
    return await Repository.open(run.repository, { git, signal });
  } catch (error) {
    if (codeOf(error) === "NOT_A_REPOSITORY" || codeOf(error) === "REPOSITORY_EMPTY") {
      return undefined;
    }
    throw error;
  }
}
