/** What a merge brought into a branch, and how it is taken back. What git has is the record. */

import type { CommitIdentity } from "./git.ts";
import { mergeIntoBranch, type BranchMerge, type MergeOptions } from "./merge-into-branch.ts";
import type { Repository } from "./repository.ts";

/** A merge that a branch has. */
export interface FoundMerge {
  /** Where the branch stood after it, and before. */
  readonly commit: string;
  readonly before: string;
  /** A merge commit; else the branch was moved forward. */
  readonly isCommit: boolean;
  /** The commit that took it back. */
  readonly undone: string | undefined;
}

/** Who wrote once what a result and a branch had both changed. */
export interface SolvedMerge {
  readonly by: string;
  readonly files: readonly string[];
}

/** Files that a merge names. */
const MAX_SOLVED = 200;
const SOLVED_BY = "Conflict-solved-by";
const SOLVED = "Conflict-solved";

/** How the message of a merge tells it. Pure. */
export function trailersOf({ by, files }: SolvedMerge): string {
  const name = by.replace(/[<>\p{Cc}]/gu, "").trim();
  const named = files.slice(0, MAX_SOLVED).map((path) => `${SOLVED}: ${JSON.stringify(path)}`);
  return [`${SOLVED_BY}: ${name}`, ...named].map((line) => `${line}\n`).join("");
}

/** Undefined: nothing of the merge was solved. */
export async function solvedIn(
  { git, at }: Repository,
  commit: string,
  { signal }: { signal?: AbortSignal | undefined },
): Promise<SolvedMerge | undefined> {
  const told = [SOLVED_BY, SOLVED].map((key) => `%(trailers:key=${key},valueonly)`);
  const said = await git.text(["log", "-1", `--format=${told.join("%x00")}`, commit], {
    at,
    signal,
  });
  const [by = "", named = ""] = said.split("\0").map((part) => part.trim());
  if (by === "") return undefined;

  return { by, files: named.split("\n").flatMap(pathIn) };
}

/** What stands there may be another program's. Pure. */
function pathIn(line: string): readonly string[] {
  try {
    const path: unknown = JSON.parse(line);
    return typeof path === "string" ? [path] : [];
  } catch {
    return [];
  }
}

export interface MergeSearch {
  /** A branch by its short name. */
  readonly target: string;
  /** The commit that was merged. */
  readonly result: string;
  /** Where the branch stood before, if it was moved forward. */
  readonly base: string;
  /** Marks what takes it back, among commits of the branch. */
  readonly mark: string;
  readonly signal?: AbortSignal | undefined;
}

/** Undefined: the branch has not got it, or is not there. */
export async function findMerge(
  repository: Repository,
  { target, result, base, mark, signal }: MergeSearch,
): Promise<FoundMerge | undefined> {
  const { git, at } = repository;
  const tip = await repository.refAt(`refs/heads/${target}`, { signal });
  if (tip === undefined) return undefined;
  if (!(await repository.hasReachable([result], [tip], { signal }))) return undefined;

  const list = ["rev-list", "--first-parent", "--ancestry-path", "--parents", "--reverse"];
  const way = await git.text([...list, `${result}..${tip}`], { at, signal });
  const [first = "", before = "", ...others] = (way.split("\n")[0] ?? "").split(" ");
  // Behind a first parent that has the result, the branch itself had been moved to it.
  const isCommit =
    others.length > 0 && !(await repository.hasReachable([result], [before], { signal }));
  const found = isCommit ? { commit: first, before } : { commit: result, before: base };
  const marked = ["log", "-1", "--format=%H", "--fixed-strings", `--grep=${mark}`];
  const undone = await git.text([...marked, `${found.commit}..${tip}`], { at, signal });

  return { ...found, isCommit, undone: undone === "" ? undefined : undone };
}

/**
 * Takes back what a merge brought: one commit upon the branch, as `git revert` makes it; what came
 * later stays. The branch and its files move as in a merge, and a second call finishes what a first
 * one began. Throws as `mergeIntoBranch`, and `UNDO_CONFLICT`: then nothing has changed.
 */
export async function undoMerge(
  repository: Repository,
  merge: FoundMerge,
  options: Pick<MergeOptions, "target" | "scratch" | "look" | "signal"> & {
    readonly message: string;
    readonly identity: CommitIdentity;
  },
): Promise<BranchMerge> {
  const { git, at } = repository;
  const { message, identity, signal } = options;
  const { commit, before, isCommit } = merge;
  // Upon the merge stands a commit with the files from before it: the merge backwards.
  const tree = await git.text(["rev-parse", `${before}^{tree}`], { at, signal });
  const backwards = await git.text(["commit-tree", tree, "-p", commit, "-F", "-"], {
    at,
    identity,
    input: message,
    signal,
  });
  const reverts = isCommit ? `git revert -m 1 ${commit}.` : `git revert ${before}..${commit}.`;

  return mergeIntoBranch(repository, { ...options, result: backwards, reverts });
}
