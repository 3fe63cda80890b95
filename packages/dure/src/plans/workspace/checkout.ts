import { lstat, readFile, readlink } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { codeOf, DureError } from "../../kernel/errors.ts";
import type { Git, GitPlace } from "./git.ts";
import { type EntryChange, fieldsOf, sameEntry, type TreeEntry } from "./listing.ts";
import { absolute, type PathKey, textOf } from "./paths.ts";
import type { Repository } from "./repository.ts";
import { folderName } from "./repository-facts.ts";

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

/** The working tree in which the branch is checked out. */
export interface Checkout {
  readonly git: Git;
  readonly at: GitPlace;
  /** The branch. */
  readonly target: string;
  /** For git there: no filters. */
  readonly settings: readonly string[];
  readonly signal: AbortSignal | undefined;
}

/**
 * The working tree in which a branch is checked out. Throws `TARGET_BUSY` when something there, or
 * with the branch, is half done.
 */
export async function findCheckout(
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
      throw targetBusy(ref, { folder, halfDone });
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
  { folder, halfDone }: { folder: string; halfDone: string | undefined },
): DureError {
  const branch = ref.slice("refs/heads/".length);
  const sign = halfDone === undefined ? "" : ` (${halfDone})`;
  return new DureError(
    "TARGET_BUSY",
    `Something is half done with ${branch} in ${basename(folder)}${sign}.`,
    {
      class: "conflict",
      hint:
        halfDone === "index.lock"
          ? "If no git runs there, remove index.lock in its git directory."
          : "Finish or abort that merge, rebase or bisection first. Nothing was changed.",
    },
  );
}

/** A file with a filter would be written unfiltered. */
export async function refuseFiltered(
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
export async function refuseDirty(
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

export function targetDirty({ target, at }: Checkout, paths: readonly string[]): DureError {
  const some = paths.slice(0, 10).join(", ");
  return new DureError(
    "TARGET_DIRTY",
    `${target} is checked out in ${folderName(at.cwd)}, with changes of its own: ${some}.`,
    {
      class: "conflict",
      hint: "Commit or stash them (git stash -u), then try again. Nothing was changed.",
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
