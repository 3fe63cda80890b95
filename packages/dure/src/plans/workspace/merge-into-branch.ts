import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { onDisk, temporaryFolder } from "./files.ts";
import { filtersOff } from "./filters.ts";
import type { CommitIdentity, Git, GitPlace } from "./git.ts";
import { diffTrees, type EntryChange, fieldsOf } from "./listing.ts";
import { type PathKey, textOf } from "./paths.ts";
import type { Repository } from "./repository.ts";
import { folderName } from "./repository-facts.ts";
import {
  type Checkout,
  findCheckout,
  refuseDirty,
  refuseFiltered,
  targetDirty,
} from "./checkout.ts";

export interface MergeOptions {
  /** A branch by its short name, such as `main`. */
  readonly target: string;
  /** The commit to merge. */
  readonly result: string;
  readonly message: string;
  readonly identity: CommitIdentity;
  /** A folder of dure's own, for what is needed during the merge. */
  readonly scratch: string;
  /** Is shown what would change, before anything does. What it throws stops the merge. */
  readonly look?: ((changes: readonly EntryChange[]) => Promise<void>) | undefined;
  /**
   * Looks at what of a commit the branch does not have, from its tip on: of the result, or of the
   * merge where its conflicts were solved. What it throws stops the merge.
   */
  readonly review?: ((tip: string, commit: string) => Promise<void>) | undefined;
  /** Is handed a merge with conflicts. Default: it is refused. What it throws stops the merge. */
  readonly solve?: ((conflict: MergeConflict) => Promise<SolvedConflict>) | undefined;
  /**
   * Tries a merge commit, before the branch moves. What it throws stops the merge. A branch that is
   * only moved forward gets what was tried before: it is not asked for.
   */
  readonly tryOut?: ((commit: string) => Promise<void>) | undefined;
  /**
   * What the commit takes back: only what it changes is laid upon the branch, as `git revert` does
   * it, and its history is not. A conflict is told with it.
   */
  readonly reverts?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A merge that git cannot end by itself. The same branch and result give the same one. */
export interface MergeConflict {
  /** Of both sides, with both in the files that conflict, between markers. On no branch. */
  readonly commit: string;
  /** The branch, and the result. */
  readonly ours: string;
  readonly theirs: string;
  /** The files that conflict. */
  readonly files: readonly string[];
}

/** What became of a {@link MergeConflict}. */
export interface SolvedConflict {
  /** Has the files of the merge. */
  readonly commit: string;
  /** Lines at the end of the message of the merge, each with its line break. */
  readonly trailers: string;
}

export interface BranchMerge {
  readonly kind: "merged" | "fast-forward" | "already";
  /** Where the branch stands now. */
  readonly commit: string;
  /** Where it stood; undefined: it did not move. */
  readonly before?: string | undefined;
  /** The working tree whose files were updated; undefined: the branch is checked out nowhere. */
  readonly updated: string | undefined;
}

/**
 * Merges a commit into a branch. git's merge decides, without merge drivers of the repository; the
 * branch moves only from the place that was looked at. Where the branch is checked out, its files
 * come along; they must be clean, or hold what this very merge would put there: so a second call
 * finishes what a first one began. Throws `BRANCH_UNKNOWN`, `MERGE_CONFLICT`, `TARGET_DIRTY`,
 * `TARGET_BUSY`, `TARGET_FILTERED`, `TARGET_MOVED`: then nothing has changed.
 */
export async function mergeIntoBranch(
  repository: Repository,
  options: MergeOptions,
): Promise<BranchMerge> {
  const { git, at } = repository;
  const { target, signal } = options;
  const ref = `refs/heads/${target}`;
  const old = await tipOf(repository, target, signal);
  const result = await repository.resolve(options.result, { signal });
  if (await repository.hasReachable([result], [old], { signal })) {
    return { kind: "already", commit: old, updated: undefined };
  }

  const isBehind = await repository.hasReachable([old], [result], { signal });
  const { commit, reviewed } = isBehind
    ? { commit: result, reviewed: result }
    : await mergeCommits(repository, old, result, options);
  const open = (): Promise<Checkout | undefined> => openCheckout(repository, { target, signal });
  const changes = await diffTrees(git, at, { from: old, to: commit, signal });
  await options.look?.(changes);
  await options.review?.(old, reviewed);
  const before = await open();
  if (before) await doneIn(before, changes);
  if (!isBehind) await options.tryOut?.(commit);

  const kind = isBehind ? "fast-forward" : "merged";
  const move = `update ${ref} ${commit} ${old}`;
  // A person may have gone on there while the merge was tried.
  const checkout = await open();
  if (checkout === undefined) {
    await moveBranch({ git, at }, options, move);
    return { kind, commit, before: old, updated: undefined };
  }

  const done = await doneIn(checkout, changes);
  await moveBranch(checkout, options, move, () => updateFiles(checkout, { old, commit, done }));
  return { kind, commit, before: old, updated: checkout.at.cwd };
}

/** Where the branch is checked out; undefined: nowhere. Throws `TARGET_BUSY`. */
async function openCheckout(
  repository: Repository,
  { target, signal }: Pick<MergeOptions, "target" | "signal">,
): Promise<Checkout | undefined> {
  const { git } = repository;
  const folder = await findCheckout(repository, `refs/heads/${target}`, signal);
  if (folder === undefined) return undefined;
  const at = { cwd: folder };
  const settings = await filtersOff(git, at, signal);

  return { git, at, target, settings, signal };
}

/** Changes that the files have already. Throws `TARGET_FILTERED`, `TARGET_DIRTY`. */
async function doneIn(checkout: Checkout, changes: readonly EntryChange[]): Promise<EntryChange[]> {
  await refuseFiltered(checkout, changes);

  return refuseDirty(checkout, changes);
}

async function tipOf(
  { git, at, root }: Repository,
  target: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { exitCode, stdout } = await git.run(
    // By its name alone: what leads to a commit in another way is none that can be moved.
    ["show-ref", "--verify", "--hash", `refs/heads/${target}`],
    { at, accept: [0, 1, 128], signal },
  );
  if (exitCode === 0) return stdout.toString().trim();
  throw new DureError("BRANCH_UNKNOWN", `${folderName(root)} has no branch ${target}.`, {
    class: "not-found",
    hint: "Name a branch that exists.",
  });
}

/** The commit of a merge, made where no attribute or driver of the repository has a say. */
async function mergeCommits(
  repository: Repository,
  ours: string,
  theirs: string,
  options: MergeOptions,
): Promise<{ commit: string; reviewed: string }> {
  const { git } = repository;
  const { message, identity, reverts, signal } = options;
  const [objectDir] = await repository.objectFolders({ signal });
  await mkdir(options.scratch, { recursive: true });
  await using neutral = await temporaryFolder(options.scratch, "merge-");
  const format = `--object-format=${repository.hash}`;
  await git.run(["init", "--quiet", "--bare", "--template=", format, neutral.path], {
    at: { cwd: neutral.path },
    signal,
  });
  await onDisk(neutral.path, async () =>
    writeFile(join(neutral.path, "shallow"), await repository.shallowCommits()),
  );
  const at = { cwd: neutral.path, gitDir: neutral.path, objectDir: objectDir! };
  const parents = reverts === undefined ? ["-p", ours, "-p", theirs] : ["-p", ours];
  const write = (tree: string, input: string): Promise<string> =>
    git.text(["commit-tree", tree, ...parents, "-F", "-"], { at, identity, input, signal });

  const merged = await mergeTree(git, at, { ours, theirs, signal });
  const { conflicts: files } = merged;
  if (files.length === 0) return { commit: await write(merged.tree, message), reviewed: theirs };
  if (options.solve === undefined) throw conflictOf(options, files);
  const open = await write(merged.tree, message);
  const solved = await options.solve({ commit: open, ours, theirs, files });
  const commit = await write(`${solved.commit}^{tree}`, `${message}${solved.trailers}`);

  return { commit, reviewed: commit };
}

function conflictOf({ target, reverts }: MergeOptions, files: readonly string[]): DureError {
  const some = files.slice(0, 20).join(", ");
  if (reverts !== undefined) {
    return new DureError(
      "UNDO_CONFLICT",
      `${target} has changed since what the merge brought: ${some}.`,
      {
        class: "conflict",
        hint: `Undo it by hand, where you can choose: ${reverts} Nothing was changed.`,
        details: { files },
      },
    );
  }
  const byHand = `Merge the result branch by hand (git merge) on ${target}`;
  return new DureError(
    "MERGE_CONFLICT",
    `The result and ${target} changed the same lines: ${some}.`,
    {
      class: "conflict",
      hint: `${byHand}, where you can choose. Nothing was changed.`,
      details: { files },
    },
  );
}

/**
 * Three-way merge of two commits from where they parted. Needs a bare git directory without
 * attributes and drivers.
 */
export async function mergeTree(
  git: Git,
  at: GitPlace,
  { ours, theirs, signal }: { ours: string; theirs: string; signal?: AbortSignal | undefined },
): Promise<{ tree: string; conflicts: string[] }> {
  const output = ["--write-tree", "-z", "--name-only", "--no-messages"];
  const { stdout } = await git.run(
    ["merge-tree", ...output, "--allow-unrelated-histories", ours, theirs],
    { at, accept: [0, 1], settings: MARKERS, signal },
  );
  const [tree, ...conflicts] = fieldsOf(stdout);
  const paths = conflicts.filter(Boolean).map((key) => textOf(key as PathKey));
  return { tree: tree!, conflicts: paths };
}

/** A conflict shows what both sides began from too. */
const MARKERS = ["merge.conflictStyle=diff3"] as const;

/** Moves a branch by compare-and-swap; the files are updated while it is locked. */
async function moveBranch(
  { git, at }: Pick<Checkout, "git" | "at">,
  { target, identity, signal }: MergeOptions,
  move: string,
  whileLocked?: () => Promise<void>,
): Promise<void> {
  signal?.throwIfAborted();
  // From here on nothing is aborted: files and branch go together.
  const session = git.start(["update-ref", "-m", "dure: merge", "--stdin"], { at, identity });
  try {
    await session.write(`start\n${move}\nprepare\n`);
    await session.read("\n");
    await session.read("\n");
  } catch (error) {
    if (codeOf(error) !== "GIT_FAILED") throw error;
    throw new DureError(
      "TARGET_MOVED",
      `The branch ${target} moved, or is locked, while it was merged.`,
      { class: "conflict", hint: "Run it again. Nothing was changed.", cause: error },
    );
  }
  try {
    await whileLocked?.();
  } catch (error) {
    await session.write("abort\n");
    await session.end();
    throw error;
  }
  await session.write("commit\n");
  await session.end();
}

/** Brings the index and the files to the new commit. `done`: changes that the files have already. */
async function updateFiles(
  checkout: Checkout,
  { old, commit, done }: { old: string; commit: string; done: readonly EntryChange[] },
): Promise<void> {
  const { git, at, settings } = checkout;
  const lines = done.map(({ key, old: before, new: after }) =>
    after ? `${after.mode} ${after.id}\t${key}\0` : `0 ${before!.id.replace(/./g, "0")}\t${key}\0`,
  );
  if (lines.length > 0) {
    await git.run(["update-index", "-z", "--index-info"], {
      at,
      input: Buffer.from(lines.join(""), "latin1"),
      settings,
    });
  }
  await git.run(["update-index", "-q", "--refresh"], { at, accept: [0, 1], settings });
  const { exitCode } = await git.run(["read-tree", "-m", "-u", "-n", old, commit], {
    at,
    accept: [0, 1, 128],
    settings,
  });
  if (exitCode !== 0) {
    throw targetDirty(checkout, ["files that git does not know, or that changed just now"]);
  }
  await git.run(["read-tree", "-m", "-u", old, commit], { at, settings });
}
