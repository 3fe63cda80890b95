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
  /**
   * Tries a merge commit, before the branch moves. What it throws stops the merge. A branch that is
   * only moved forward gets what was tried before: it is not asked for.
   */
  readonly tryOut?: ((commit: string) => Promise<void>) | undefined;
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
  const { target, signal } = options;
  const ref = `refs/heads/${target}`;
  const old = await tipOf(repository, target, signal);
  const result = await repository.resolve(options.result, { signal });
  if (await repository.hasReachable([result], [old], { signal })) {
    return { kind: "already", commit: old, updated: undefined };
  }

  const isBehind = await repository.hasReachable([old], [result], { signal });
  const commit = isBehind ? result : await mergeCommits(repository, old, result, options);
  const look = (): Promise<Checkout | undefined> => openCheckout(repository, { target, signal });
  const changes = await diffTrees(git, at, { from: old, to: commit, signal });
  const before = await look();
  if (before) await doneIn(before, changes);
  if (!isBehind) await options.tryOut?.(commit);

  const kind = isBehind ? "fast-forward" : "merged";
  const move = `update ${ref} ${commit} ${old}`;
  // A person may have gone on there while the merge was tried.
  const checkout = await look();
  if (checkout === undefined) {
    await moveBranch({ git, at }, options, move);
    return { kind, commit, updated: undefined };
  }

  const done = await doneIn(checkout, changes);
  await moveBranch(checkout, options, move, () => updateFiles(checkout, { old, commit, done }));
  return { kind, commit, updated: checkout.at.cwd };
}

/** The working tree in which the branch is checked out. */
interface Checkout {
  readonly git: Git;
  readonly at: GitPlace;
  /** The branch. */
  readonly target: string;
  /** For git there: no filters. */
  readonly settings: readonly string[];
  readonly signal: AbortSignal | undefined;
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
    ["rev-parse", "--verify", "--quiet", "--end-of-options", `refs/heads/${target}^{commit}`],
    { at, accept: [0, 1, 128], signal },
  );
  if (exitCode === 0) return stdout.toString().trim();
  throw new DureError("BRANCH_UNKNOWN", `${root} has no branch ${target}.`, {
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
): Promise<string> {
  const { git } = repository;
  const { signal } = options;
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
  const merged = await mergeTree(git, at, { ours, theirs, signal });
  if (merged.conflicts.length > 0) throw mergeConflict(options.target, merged.conflicts);
  return await git.text(["commit-tree", merged.tree, "-p", ours, "-p", theirs, "-F", "-"], {
    at,
    identity: options.identity,
    input: options.message,
    signal,
  });
}

function mergeConflict(target: string, files: readonly string[]): DureError {
  const some = files.slice(0, 20).join(", ");
  const byHand = `Merge the result branch by hand (git merge) on ${target}`;
  return new DureError(
    "MERGE_CONFLICT",
    `The result and ${target} changed the same lines of ${files.length} files: ${some}.`,
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
    { at, accept: [0, 1], signal },
  );
  const [tree, ...conflicts] = fieldsOf(stdout);
  const paths = conflicts.filter(Boolean).map((key) => textOf(key as PathKey));
  return { tree: tree!, conflicts: paths };
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
    const isHere = lines.includes(`branch ${ref}`);
    const said = await git.text(["rev-parse", "--absolute-git-dir"], {
      at: { cwd: folder },
      signal,
    });
    const gitDir = resolve(folder, said);
    const halfDone = isHere ? await halfDoneIn(gitDir) : undefined;
    if (halfDone !== undefined || (await isInHand(gitDir, ref))) {
      throw targetBusy(ref, { folder, gitDir, halfDone });
    }
    if (isHere) found = folder;
  }
  return found;
}

/** Whether a rebase or a bisection that began at the branch is not finished there. */
async function isInHand(gitDir: string, ref: string): Promise<boolean> {
  const files = ["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];
  const names = await Promise.all(
    files.map((name) => readFile(join(gitDir, name), "utf8").catch(() => "")),
  );
  return names.some((name) => name.trim() === ref || `refs/heads/${name.trim()}` === ref);
}

/** The first sign of something half done there. */
async function halfDoneIn(gitDir: string): Promise<string | undefined> {
  const signs = await Promise.all(IN_PROGRESS.map((name) => exists(join(gitDir, name))));
  return IN_PROGRESS.find((_name, index) => signs[index]);
}

function targetBusy(
  ref: string,
  { folder, gitDir, halfDone }: { folder: string; gitDir: string; halfDone: string | undefined },
): DureError {
  const branch = ref.slice("refs/heads/".length);
  const sign = halfDone === undefined ? "" : ` (${halfDone})`;
  return new DureError(
    "TARGET_BUSY",
    `Something is half done with ${branch} in ${folder}${sign}.`,
    {
      class: "conflict",
      hint:
        halfDone === "index.lock"
          ? `If no git runs there, remove ${join(gitDir, "index.lock")}.`
          : "Finish or abort that merge, rebase or bisection first. Nothing was changed.",
    },
  );
}

/** A file with a filter would be written unfiltered. */
async function refuseFiltered(
  { git, at, target, signal }: Checkout,
  changes: readonly EntryChange[],
): Promise<void> {
  const input = Buffer.from(changes.map(({ key }) => `${key}\0`).join(""), "latin1");
  const answer = await git.run(["check-attr", "-z", "--stdin", "filter"], { at, input, signal });
  // Three fields of each: path, attribute, value.
  const fields = fieldsOf(answer.stdout);
  const filtered = fields.filter(
    (_, index) =>
      index % 3 === 0 && !["unspecified", "unset"].includes(fields[index + 2] ?? "unset"),
  );
  if (filtered.length === 0) return;
  const some = filtered.slice(0, 5).map((key) => textOf(key as PathKey));
  throw new DureError(
    "TARGET_FILTERED",
    `The merge changes files with a filter such as Git LFS in ${at.cwd}: ${some.join(", ")}.`,
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
  checkout: Checkout,
  changes: readonly EntryChange[],
): Promise<EntryChange[]> {
  const changed = new Set(changes.map(({ key }) => key));
  const touched = await touchedIn(checkout);
  const dirty = new Set([...touched].filter((key) => !changed.has(key)));
  const done: EntryChange[] = [];
  const candidates = changes.filter(({ key, old }) => touched.has(key) || old === undefined);
  const index = await readIndex(
    checkout,
    candidates.map(({ key }) => key),
  );
  for (const change of candidates) {
    const held = await entryAt(checkout, change.key);
    const staged = index.get(change.key);
    const isStagedWell = sameEntry(staged, change.old) || sameEntry(staged, change.new);
    // What is not there yet is only made; a folder in its place is for git to judge.
    const isHeldWell =
      held !== "other" && (sameEntry(held, change.old) || sameEntry(held, change.new));
    if (!isStagedWell || !isHeldWell) dirty.add(change.key);
    else if (sameEntry(held, change.new)) done.push(change);
  }
  if (dirty.size === 0) return done;
  throw targetDirty(checkout, [...dirty].map(textOf));
}

/** Tracked paths that differ from the branch. */
async function touchedIn({ git, at, settings, signal }: Checkout): Promise<Set<PathKey>> {
  const files = ["--untracked-files=no", "--ignore-submodules=all", "--no-renames"];
  const { stdout } = await git.run(["status", "--porcelain=v2", "-z", ...files], {
    at,
    settings,
    signal,
  });
  return new Set(fieldsOf(stdout).map(keyOfStatus));
}

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

function targetDirty({ target, at }: Checkout, paths: readonly string[]): DureError {
  const some = paths.slice(0, 10).join(", ");
  return new DureError(
    "TARGET_DIRTY",
    `${target} is checked out in ${at.cwd}, with changes of its own: ${some}.`,
    {
      class: "conflict",
      hint: "Commit or stash them (git stash -u), then merge again. Nothing was changed.",
      details: { paths: paths.slice(0, 100) },
    },
  );
}

/** What the working tree holds at a path, as git would store it; `other`: neither file nor link. */
async function entryAt(
  { git, at, settings, signal }: Checkout,
  key: PathKey,
): Promise<TreeEntry | undefined | "other"> {
  const path = absolute(at.cwd, key);
  let mode: TreeEntry["mode"];
  try {
    const stats = await lstat(path);
    mode = (stats.mode & 0o100) === 0 ? "100644" : "100755";
    if (stats.isSymbolicLink()) {
      const input = await readlink(path, { encoding: "buffer" });
      const call = { at, input, signal };
      return {
        mode: "120000",
        id: await git.text(["hash-object", "--no-filters", "--stdin"], call),
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
  { git, at, signal }: Checkout,
  keys: readonly PathKey[],
): Promise<Map<PathKey, TreeEntry>> {
  if (keys.length === 0) return new Map();
  const wanted = new Set(keys);
  const { stdout } = await git.run(["ls-files", "-z", "--stage", "--full-name"], { at, signal });
  return new Map(
    fieldsOf(stdout).flatMap((line): [PathKey, TreeEntry][] => {
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
