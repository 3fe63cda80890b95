import { lstat, mkdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DureError, codeOf } from "../../kernel/errors.ts";
import { onDisk, temporaryFolder } from "./files.ts";
import { filtersOff } from "./filters.ts";
import type { CommitIdentity, Git, GitPlace } from "./git.ts";
import { diffTrees, fieldsOf, sameEntry, type EntryChange, type TreeEntry } from "./listing.ts";
import { absolute, textOf, type PathKey } from "./paths.ts";
import type { Repository } from "./repository.ts";

export interface MergeOptions {
  /** A branch by its short name, such as `main`. */
  readonly target: string;
  /** The commit to merge. */
  readonly result: string;
  readonly message: string;
  readonly identity: CommitIdentity;
  /** A folder of dure's own, for what is needed during the merge. */
  readonly scratch: string;
  readonly signal?: AbortSignal | undefined;
}

export interface BranchMerge {
  readonly kind: "merged" | "fast-forward" | "already";
  /** Where the branch stands now. */
  readonly commit: string;
  /** The working tree whose files were updated; undefined: the branch is checked out nowhere. */
  readonly updated: string | undefined;
}

/**
 * Files and folders of git that tell of something half done. Source: git's own `wt-status.c` and
 * `branch.c`.
 */
const IN_PROGRESS = [
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "BISECT_LOG",
  "rebase-merge",
  "rebase-apply",
  "sequencer",
  "index.lock",
];

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
  const { signal } = options;
  const ref = `refs/heads/${options.target}`;
  const tip = await git.run(
    ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`],
    { at, accept: [0, 1, 128], signal },
  );
  if (tip.exitCode !== 0) {
    throw new DureError("BRANCH_UNKNOWN", `${repository.root} has no branch ${options.target}.`, {
      class: "not-found",
      hint: "Name a branch that exists.",
    });
  }
  const old = tip.stdout.toString().trim();
  const result = await repository.resolve(options.result, { signal });
  if (await repository.hasReachable([result], [old], { signal })) {
    return { kind: "already", commit: old, updated: undefined };
  }

  const isBehind = await repository.hasReachable([old], [result], { signal });
  const commit = isBehind ? result : await mergeCommits(repository, old, result, options);
  const kind = isBehind ? "fast-forward" : "merged";
  const folder = await findCheckout(repository, ref, signal);
  const move = `update ${ref} ${commit} ${old}`;
  if (folder === undefined) {
    await moveBranch(git, at, options, move);
    return { kind, commit, updated: undefined };
  }
  const place = { cwd: folder };
  const changes = await diffTrees(git, at, old, commit, { signal });
  await refuseFiltered(git, place, changes, options.target, signal);
  const settings = await filtersOff(git, place, signal);
  const done = await refuseDirty(git, place, changes, options.target, settings, signal);
  await moveBranch(git, place, options, move, () =>
    updateFiles(git, place, old, commit, done, settings, options.target),
  );
  return { kind, commit, updated: folder };
}

/** The commit of a merge, made where no attribute or driver of the repository has a say. */
async function mergeCommits(
  repository: Repository,
  ours: string,
  theirs: string,
  options: MergeOptions,
): Promise<string> {
  const { git } = repository;
  const { signal } = options;
  const [objectDir] = await repository.objectFolders({ signal });
  await mkdir(options.scratch, { recursive: true });
  await using neutral = await temporaryFolder(options.scratch, "merge-");
  await git.run(
    [
      "init",
      "--quiet",
      "--bare",
      "--template=",
      `--object-format=${repository.hash}`,
      neutral.path,
    ],
    { at: { cwd: neutral.path }, signal },
  );
  await onDisk(neutral.path, async () =>
    writeFile(join(neutral.path, "shallow"), await repository.shallowCommits()),
  );
  const at = { cwd: neutral.path, gitDir: neutral.path, objectDir: objectDir! };
  const merged = await mergeTree(git, at, ours, theirs, signal);
  if (merged.conflicts.length > 0) {
    const files = merged.conflicts.slice(0, 20).join(", ");
    throw new DureError(
      "MERGE_CONFLICT",
      `The result and ${options.target} changed the same lines of ${merged.conflicts.length} files: ${files}.`,
      {
        class: "conflict",
        hint: `Merge the result branch by hand (git merge) on ${options.target}, where you can choose. Nothing was changed.`,
        details: { files: merged.conflicts },
      },
    );
  }
  return await git.text(["commit-tree", merged.tree, "-p", ours, "-p", theirs, "-F", "-"], {
    at,
    identity: options.identity,
    input: options.message,
    signal,
  });
}

/**
 * Three-way merge of two commits from where they parted. Needs a bare git directory without
 * attributes and drivers.
 */
export async function mergeTree(
  git: Git,
  at: GitPlace,
  ours: string,
  theirs: string,
  signal?: AbortSignal,
): Promise<{ tree: string; conflicts: string[] }> {
  const { stdout } = await git.run(
    [
      "merge-tree",
      "--write-tree",
      "-z",
      "--name-only",
      "--no-messages",
      "--allow-unrelated-histories",
      ours,
      theirs,
    ],
    { at, accept: [0, 1], signal },
  );
  const [tree, ...conflicts] = fieldsOf(stdout);
  return { tree: tree!, conflicts: conflicts.filter(Boolean).map((key) => textOf(key as PathKey)) };
}

/**
 * The working tree in which a branch is checked out. Throws `TARGET_BUSY` when something there, or
 * with the branch, is half done.
 */
async function findCheckout(
  { git, at }: Repository,
  ref: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { stdout } = await git.run(["worktree", "list", "--porcelain", "-z"], { at, signal });
  let found: string | undefined;
  for (const block of stdout.toString().split("\0\0").filter(Boolean)) {
    const lines = block.split("\0");
    const folder = lines[0]!.replace(/^worktree /, "");
    if (lines.includes("bare") || lines.some((line) => line.startsWith("prunable"))) continue;
    const gitDir = resolve(
      folder,
      await git.text(["rev-parse", "--absolute-git-dir"], { at: { cwd: folder }, signal }),
    );
    const isHere = lines.includes(`branch ${ref}`);
    const rebased = await Promise.all(
      ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"].map((name) =>
        readFile(join(gitDir, name), "utf8").catch(() => ""),
      ),
    );
    const isInHand = rebased.some(
      (name) => name.trim() === ref || `refs/heads/${name.trim()}` === ref,
    );
    const halfDone = isHere
      ? (
          await Promise.all(
            IN_PROGRESS.map(async (name) =>
              (await exists(join(gitDir, name))) ? name : undefined,
            ),
          )
        ).find(Boolean)
      : undefined;
    if (isInHand || halfDone !== undefined) {
      throw new DureError(
        "TARGET_BUSY",
        `Something is half done with ${ref.slice("refs/heads/".length)} in ${folder}${halfDone ? ` (${halfDone})` : ""}.`,
        {
          class: "conflict",
          hint:
            halfDone === "index.lock"
              ? `If no git runs there, remove ${join(gitDir, "index.lock")}.`
              : "Finish or abort that merge, rebase or bisection first. Nothing was changed.",
        },
      );
    }
    if (isHere) found = folder;
  }
  return found;
}

/** A file with a filter would be written unfiltered. */
async function refuseFiltered(
  git: Git,
  at: GitPlace,
  changes: readonly EntryChange[],
  target: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const input = Buffer.from(changes.map(({ key }) => `${key}\0`).join(""), "latin1");
  const fields = fieldsOf(
    (await git.run(["check-attr", "-z", "--stdin", "filter"], { at, input, signal })).stdout,
  );
  const filtered = fields.filter(
    (_, index) =>
      index % 3 === 0 && !["unspecified", "unset"].includes(fields[index + 2] ?? "unset"),
  );
  if (filtered.length === 0) return;
  throw new DureError(
    "TARGET_FILTERED",
    `The merge changes files with a filter such as Git LFS in ${at.cwd}: ${filtered
      .slice(0, 5)
      .map((key) => textOf(key as PathKey))
      .join(", ")}.`,
    {
      class: "conflict",
      hint: `dure runs no filters. Run git merge by hand on ${target}. Nothing was changed.`,
    },
  );
}

/**
 * Throws `TARGET_DIRTY` unless every tracked file is as the branch has it, or as the merge will
 * have it. Gives the changes that are in the files already. A changed path that the person's files
 * hold otherwise, tracked or not, is dirty.
 */
async function refuseDirty(
  git: Git,
  at: GitPlace,
  changes: readonly EntryChange[],
  target: string,
  settings: readonly string[],
  signal: AbortSignal | undefined,
): Promise<EntryChange[]> {
  const byKey = new Map(changes.map((change) => [change.key, change]));
  const { stdout } = await git.run(
    [
      "status",
      "--porcelain=v2",
      "-z",
      "--untracked-files=no",
      "--ignore-submodules=all",
      "--no-renames",
    ],
    { at, settings, signal },
  );
  const touched = new Set(fieldsOf(stdout).map(keyOfStatus));
  const dirty = new Set([...touched].filter((key) => !byKey.has(key)));
  const done: EntryChange[] = [];
  const candidates = changes.filter(({ key, old }) => touched.has(key) || old === undefined);
  const index = await readIndex(
    git,
    at,
    candidates.map(({ key }) => key),
    signal,
  );
  for (const change of candidates) {
    const held = await entryAt(git, at, change.key, settings, signal);
    const staged = index.get(change.key);
    const isStagedWell = sameEntry(staged, change.old) || sameEntry(staged, change.new);
    // What is not there yet is only made; a folder in its place is for git to judge.
    const isHeldWell =
      held !== "other" && (sameEntry(held, change.old) || sameEntry(held, change.new));
    if (!isStagedWell || !isHeldWell) dirty.add(change.key);
    else if (sameEntry(held, change.new)) done.push(change);
  }
  if (dirty.size === 0) return done;
  throw targetDirty(target, at.cwd, [...dirty].map(textOf));
}

/** Moves a branch by compare-and-swap; the files are updated while it is locked. */
async function moveBranch(
  git: Git,
  at: GitPlace,
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

async function updateFiles(
  git: Git,
  at: GitPlace,
  old: string,
  next: string,
  done: readonly EntryChange[],
  settings: readonly string[],
  target: string,
): Promise<void> {
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
  const { exitCode } = await git.run(["read-tree", "-m", "-u", "-n", old, next], {
    at,
    accept: [0, 1, 128],
    settings,
  });
  if (exitCode !== 0) {
    throw targetDirty(target, at.cwd, ["files that git does not know, or that changed just now"]);
  }
  await git.run(["read-tree", "-m", "-u", old, next], { at, settings });
}

function targetDirty(target: string, folder: string, paths: readonly string[]): DureError {
  return new DureError(
    "TARGET_DIRTY",
    `${target} is checked out in ${folder}, with changes of its own: ${paths.slice(0, 10).join(", ")}.`,
    {
      class: "conflict",
      hint: "Commit or stash them (git stash -u), then merge again. Nothing was changed.",
      details: { paths: paths.slice(0, 100) },
    },
  );
}

/** What the working tree holds at a path, as git would store it; `other`: neither file nor link. */
async function entryAt(
  git: Git,
  at: GitPlace,
  key: PathKey,
  settings: readonly string[],
  signal: AbortSignal | undefined,
): Promise<TreeEntry | undefined | "other"> {
  const path = absolute(at.cwd, key);
  let mode: TreeEntry["mode"];
  try {
    const stats = await lstat(path);
    mode = (stats.mode & 0o100) === 0 ? "100644" : "100755";
    if (stats.isSymbolicLink()) {
      const input = await readlink(path, { encoding: "buffer" });
      return {
        mode: "120000",
        id: await git.text(["hash-object", "--no-filters", "--stdin"], { at, input, signal }),
      };
    }
    if (!stats.isFile()) return "other";
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
  const id = await git.text(["hash-object", "--stdin", `--path=${textOf(key)}`], {
    at,
    input: await readFile(path),
    settings,
    signal,
  });
  return { mode, id };
}

async function readIndex(
  git: Git,
  at: GitPlace,
  keys: readonly PathKey[],
  signal: AbortSignal | undefined,
): Promise<Map<PathKey, TreeEntry>> {
  if (keys.length === 0) return new Map();
  const wanted = new Set(keys);
  const lines = fieldsOf(
    (await git.run(["ls-files", "-z", "--stage", "--full-name"], { at, signal })).stdout,
  );
  return new Map(
    lines.flatMap((line): [PathKey, TreeEntry][] => {
      const key = line.slice(line.indexOf("\t") + 1) as PathKey;
      const [mode, id] = line.split(" ");
      return wanted.has(key) ? [[key, { mode: mode as TreeEntry["mode"], id: id! }]] : [];
    }),
  );
}

/**
 * Of a line of `git status --porcelain=v2 -z`: `1 XY sub mH mI mW hH hI path`,
 * `u XY sub m1 m2 m3 mW h1 h2 h3 path`.
 */
function keyOfStatus(line: string): PathKey {
  return line
    .split(" ")
    .slice(line.startsWith("u ") ? 10 : 8)
    .join(" ") as PathKey;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
