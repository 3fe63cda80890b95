/** The tree in which a port is worked on: set up, held, and cleaned. */

import { mkdir, realpath, rename, rmdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { DureError, codeOf } from "../../kernel/errors.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import type { WorkerScope } from "../scope.ts";
import { confine, confineSurroundings, type TreeSurroundings } from "./confinement.ts";
import { onDisk, removeAll } from "./files.ts";
import { isNested, type Residue } from "./owned-changes.ts";
import { MAX_IGNORED, type IgnoredPath } from "./scan.ts";
import { ofSetup, TreeSetup, type SetupRecord } from "./tree-setup.ts";
import { absolute, type PathKey, textOf, foldersAbove } from "./paths.ts";
import type { Repository } from "./repository.ts";
import type { FoundPath } from "./look-at.ts";
import type { RunStore } from "./store.ts";
import { LeaseFile, type TreeLease } from "./tree-lease.ts";
import { makePrivateGit } from "./private-git.ts";
import { type TreeEntry, sameEntry } from "./listing.ts";

type TreeWaiting = { readonly signal?: AbortSignal | undefined };

/** Differences that are mended in one go; they are kept in memory. */
const AT_ONCE = 20_000;
/** Files that a setup may leave beside ignored ones. */
const MAX_RESIDUE = 10_000;
/** Beyond it a file is hashed in pieces. */
const WHOLE_BYTES = 16 * 1024 * 1024;

/**
 * The folder in which the workers of one port work: `tree` with the files, `scratch` for what is
 * temporary, and beside them, out of the workers' reach, which process holds it and whether its
 * setup is done. Nothing in `tree` is taken at its word.
 */
export class PortTree {
  /** Real paths. */
  readonly tree: string;
  readonly scratch: string;
  readonly #folder: string;
  readonly #port: string;
  readonly #store: RunStore;
  readonly #lease: LeaseFile;
  readonly #setup: TreeSetup;

  /** Makes the folders, or takes those that are there. */
  static async open({
    folder,
    port,
    store,
  }: {
    folder: string;
    port: string;
    store: RunStore;
  }): Promise<PortTree> {
    await onDisk(folder, async () => {
      await removeAll(Buffer.from(`${folder}.removed`));
      for (const name of ["tree", "scratch"]) await mkdir(join(folder, name), { recursive: true });
    });
    return new PortTree(await realpath(folder), port, store);
  }

  private constructor(folder: string, port: string, store: RunStore) {
    this.#folder = folder;
    this.tree = join(folder, "tree");
    this.scratch = join(folder, "scratch");
    this.#port = port;
    this.#store = store;
    this.#lease = new LeaseFile(folder, port);
    this.#setup = new TreeSetup(folder, this.tree);
  }

  /**
   * Takes the tree for a process; again for the same one is nothing. Throws `TREE_LEASED` when a
   * process of the same or a higher epoch holds it.
   */
  async lease(lease: TreeLease): Promise<void> {
    await this.#lease.take(lease);
  }

  async holder(): Promise<TreeLease | undefined> {
    return this.#lease.holder();
  }

  /** Gives the tree back, if this process holds it. */
  async release(lease: TreeLease): Promise<void> {
    await this.#lease.release(lease);
  }

  /**
   * Makes the files exactly those of a commit, byte for byte: no filter, no line ends, no worker's
   * leftovers. `keep: "setup"` leaves what the setup left, ignored or not; what a worker left in an
   * ignored path goes, since no commit will ever have it. Died in the middle it is simply done
   * again.
   */
  async checkout(
    commit: string,
    { keep = "nothing", signal }: TreeWaiting & { keep?: "nothing" | "setup" } = {},
  ): Promise<void> {
    await onDisk(this.tree, async () => {
      await this.#ensureFolder();
      await removeAll(Buffer.from(join(this.tree, ".git")));
      const listing = await this.#store.listing(commit, { signal });
      const setup = keep === "setup" ? await this.setup() : undefined;
      const residue: Residue = setup?.residue ?? new Map();
      for (;;) {
        const scan = await this.#store.scan(this.tree, listing, {
          fileBytes: WHOLE_BYTES,
          most: AT_ONCE,
          ignore: setup ? "ignored" : "nothing",
          signal,
        });
        const wrong = scan.found.filter((one) => !isLeftBySetup(one, residue, listing));
        refuseMounts(wrong);
        await this.#removeWrong(wrong, scan.newFolders);
        const keys = wrong.map(({ key }) => key).filter((key) => listing.has(key));
        await this.#write(commit, keys, signal);
        const isCut = setup !== undefined && (await this.#removeIgnored(scan.ignored, setup));
        if (scan.isComplete && !isCut) break;
      }
    });
  }

  /** Removes ignored paths that the setup did not make. Whether there may be more. */
  async #removeIgnored(ignored: readonly IgnoredPath[], setup: SetupRecord): Promise<boolean> {
    const isMade = ofSetup(setup);
    const strangers = ignored.filter(({ key }) => !isMade(key));
    for (const { key } of strangers) await removeAll(absolute(this.tree, key));
    return ignored.length >= MAX_IGNORED && strangers.length > 0;
  }

  /** What the setup left, once it is done. */
  async setup(): Promise<SetupRecord | undefined> {
    return this.#setup.read();
  }

  /**
   * Records that the setup is done, together with what it left. Throws `SETUP_SCATTERED` when that
   * is too much to remember.
   */
  async markSetup(commit: string, { signal }: TreeWaiting = {}): Promise<SetupRecord> {
    const listing = await this.#store.listing(commit, { signal });
    const scan = await this.#store.scan(this.tree, listing, {
      fileBytes: WHOLE_BYTES,
      most: MAX_RESIDUE,
      ignore: "ignored",
      signal,
    });
    if (!scan.isComplete) {
      const such = textOf(scan.found[0]!.key);
      const files = `more than ${MAX_RESIDUE} files that no .gitignore names, such as ${such}`;
      throw new DureError("SETUP_SCATTERED", `The setup of port ${this.#port} left ${files}.`, {
        class: "limit",
        hint: "Commit a .gitignore that names what the setup makes, such as node_modules/.",
      });
    }
    if (scan.ignored.length >= MAX_IGNORED) {
      const such = textOf(scan.ignored[0]!.key);
      const files = `${MAX_IGNORED} separate ignored paths or more, such as ${such}`;
      throw new DureError("SETUP_SCATTERED", `The setup of port ${this.#port} left ${files}.`, {
        class: "limit",
        hint: "Let the setup make them in one folder that a .gitignore names, such as build/.",
      });
    }
    const residue = new Map(scan.found.flatMap(residueOf));
    const ignored = new Set(scan.ignored.map(({ key }) => key));
    const record = { commit, residue, ignored };
    await this.#setup.write(record);
    return record;
  }

  /**
   * Once a worker has ended: takes away what it added to ignored files of the setup. Where it
   * changed or removed one, the setup is forgotten, and has to be done again.
   */
  async mendSetup(): Promise<void> {
    await onDisk(this.tree, () => this.#setup.mend());
  }

  /** Forgets the setup: it runs again. */
  async clearSetup(): Promise<void> {
    await this.#setup.remove();
  }

  /**
   * Puts a small repository of its own into the tree, with one commit of what the worker may see,
   * so that `git status` and `git diff` work there. Nothing of it is ever read back.
   */
  async makePrivateGit(
    commit: string,
    scope: WorkerScope,
    { signal }: TreeWaiting = {},
  ): Promise<void> {
    const folder = this.#folder;
    await makePrivateGit(this.#store, { tree: this.tree, folder, commit, scope, signal });
  }

  /**
   * What a process may touch here under a scope. Makes folders that it may write. The person's own
   * files, other ports' trees and all stores of git are hidden.
   */
  async confinement(
    commit: string,
    scope: WorkerScope,
    {
      repository,
      scratch = this.scratch,
      signal,
    }: TreeWaiting & { repository: Repository; scratch?: string },
  ): Promise<Confinement> {
    const listing = await this.#store.listing(commit, { signal });
    return onDisk(this.tree, async () => {
      const confined = await confine({ ...this.#around(repository), scope, listing, scratch });
      const writable = confined.writable.filter((path) => path !== scratch);
      await this.#setup.watch(writable.map((path) => relative(this.tree, path)));
      return confined;
    });
  }

  /**
   * What a command of the plan is kept from here, which may touch the whole tree: the same as a
   * worker, but for what is withheld in the tree.
   */
  async surroundings(
    commit: string,
    { repository, signal }: TreeWaiting & { repository: Repository },
  ): Promise<Pick<Confinement, "hidden" | "readOnly">> {
    return confineSurroundings(
      this.#around(repository),
      await this.#store.listing(commit, { signal }),
    );
  }

  #around(repository: Repository): TreeSurroundings {
    return {
      tree: this.tree,
      original: repository.facts.isBare ? undefined : repository.root,
      stores: [repository.commonDir, this.#store.folder],
      neighbours: [dirname(this.#store.folder), dirname(this.#folder)],
    };
  }

  /**
   * Removes the folder, after proof: no process holds it, its files are those of a commit, and that one
   * and all commits that were made here are reachable in the person's repository from the refs.
   * Throws `TREE_NOT_SAFE`.
   *
   * @param options.commit what the files must be; check out once more where a worker left something
   * that was not taken.
   */
  async remove({
    repository,
    commit,
    keptBy,
    signal,
  }: TreeWaiting & {
    repository: Repository;
    commit: string;
    keptBy: readonly string[];
  }): Promise<void> {
    const holder = await this.holder();
    if (holder) {
      throw notSafe(this.#port, `process ${holder.processId} holds it`, "Stop the run first.");
    }
    const made = [...(await this.#store.list(`ports/${this.#port}/`, { signal })).values()];
    const commits = [...new Set([...made, commit])];
    if (!(await repository.hasReachable(commits, keptBy, { signal }))) {
      const refs = keptBy.slice(0, 3).join(", ") || "any ref";
      throw notSafe(
        this.#port,
        `not all of its ${commits.length} commits are reachable from ${refs}`,
        "Publish the run's store first.",
      );
    }
    const own = await this.uncommitted(commit, { signal });
    if (own.length > 0) {
      throw notSafe(
        this.#port,
        `it holds what no commit has: ${own.slice(0, 5).join(", ")}`,
        "Commit it, or check the tree out anew.",
      );
    }
    this.#store.forget(this.tree);
    await rename(this.#folder, `${this.#folder}.removed`);
    await removeAll(Buffer.from(`${this.#folder}.removed`));
  }

  /**
   * Paths in which the files differ from those of a commit, but for what the setup left. A tree
   * without any file has nothing to lose.
   */
  async uncommitted(commit: string, { signal }: TreeWaiting = {}): Promise<readonly string[]> {
    const listing = await this.#store.listing(commit, { signal });
    const residue = (await this.setup())?.residue ?? new Map();
    const { found } = await this.#store.scan(this.tree, listing, {
      fileBytes: WHOLE_BYTES,
      most: MAX_RESIDUE + 10,
      ignore: "ignored",
      signal,
    });
    const own = found.filter((one) => !isLeftBySetup(one, residue, listing));
    // A removal that died in the middle leaves no file.
    const isEmpty = own.length === listing.size && own.every(({ kind }) => kind === "missing");
    return isEmpty ? [] : own.map(({ key }) => textOf(key));
  }

  async #removeWrong(wrong: readonly FoundPath[], newFolders: readonly PathKey[]): Promise<void> {
    for (const one of wrong) {
      if (one.kind === "missing") continue;
      await removeAll(absolute(this.tree, reachableKey(one, newFolders)));
    }
    for (const folder of newFolders.toReversed()) {
      await removeEmpty(absolute(this.tree, folder));
    }
  }

  /** Writes files of a commit that are not there. */
  async #write(
    commit: string,
    keys: readonly PathKey[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (keys.length === 0) return;
    const { git } = this.#store;
    await using temporary = await this.#store.temporary();
    const at = {
      ...this.#store.at,
      cwd: this.tree,
      workTree: this.tree,
      indexFile: join(temporary.path, "index"),
    };
    await git.run(["read-tree", commit], { at, signal });
    await git.run(["checkout-index", "-z", "--stdin", "--force", "--quiet"], {
      at,
      input: Buffer.from(keys.map((key) => `${key}\0`).join(""), "latin1"),
      signal,
    });
  }

  /** A link or file in the place of the tree is removed, never followed. */
  async #ensureFolder(): Promise<void> {
    if ((await realpath(this.tree).catch(() => undefined)) === this.tree) return;
    await removeAll(Buffer.from(this.tree));
    await mkdir(this.tree);
  }
}

/** What the setup made of a file that no commit has as it is now. */
function residueOf(one: FoundPath): [PathKey, TreeEntry | "missing" | "repository"][] {
  if (one.kind === "missing") return [[one.key, "missing"]];
  if (isNested(one)) return [[one.key, "repository"]];
  return one.entry ? [[one.key, one.entry]] : [];
}

/**
 * What the setup left beside the commit stays; what it changed of the commit's own files does not.
 */
function isLeftBySetup(
  one: FoundPath,
  residue: Residue,
  listing: ReadonlyMap<PathKey, TreeEntry>,
): boolean {
  const left = residue.get(one.key);
  if (one.kind === "missing" || left === undefined || left === "missing") return false;
  if (left === "repository") return isNested(one);
  return sameEntry(left, one.entry) && !listing.has(one.key);
}

/**
 * A path that is too long to be named is removed together with the outermost folder around it that
 * is new.
 */
function reachableKey(one: FoundPath, newFolders: readonly PathKey[]): PathKey {
  if (one.kind !== "odd" || one.because !== "too-long") return one.key;
  const fresh = new Set<string>(newFolders);
  return (foldersAbove(one.key).find((folder) => fresh.has(folder)) ?? one.key) as PathKey;
}

function refuseMounts(found: readonly FoundPath[]): void {
  const mount = found.find((one) => one.kind === "odd" && one.because === "other-device");
  if (mount) {
    throw new DureError("TREE_MOUNTED", `Another file system is mounted at ${textOf(mount.key)}.`, {
      class: "conflict",
      hint: "Unmount it; dure does not remove what lies on another file system.",
    });
  }
}

/** Codes of a folder that is not empty, not there, or no folder. */
const NOT_REMOVED = ["ENOTEMPTY", "ENOENT", "ENOTDIR", "EEXIST", "ENAMETOOLONG"];

async function removeEmpty(path: Buffer): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (!NOT_REMOVED.includes(codeOf(error) ?? "")) throw error;
  }
}

function notSafe(port: string, because: string, hint: string): DureError {
  return new DureError("TREE_NOT_SAFE", `The tree of port ${port} is not removed: ${because}.`, {
    class: "conflict",
    hint,
  });
}
