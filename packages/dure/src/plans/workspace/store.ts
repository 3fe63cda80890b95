/** The store of a run: its objects, its commits, and what was changed between them. */

import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DureError, codeOf } from "../../kernel/errors.ts";
import type { TreeDiff } from "../../wire/runs.ts";
import { onDisk, temporaryFolder } from "./files.ts";
import { CommitLists } from "./commit-lists.ts";
import { type CommitAbout, CommitWriter } from "./commit-writer.ts";
import type { CommitIdentity, Git, GitPlace } from "./git.ts";
import { IgnoreRules } from "./ignore-rules.ts";
import { diffTrees, type EntryChange, type Listing, type TreeEntry } from "./listing.ts";
import { mergeTree } from "./merge-into-branch.ts";
import { ObjectReader } from "./object-reader.ts";
import { overlay } from "./overlay.ts";
import type { ChangeKind } from "./owned-changes.ts";
import { OwnedCommits } from "./owned-commits.ts";
import { textOf, type PathKey } from "./paths.ts";
import { ensureStore } from "./make-store.ts";
import { listRefs, verifyReachable, workRef } from "./refs.ts";
import type { Repository } from "./repository.ts";
import { scanTree, type Scan } from "./scan.ts";
import type { EntryWrite } from "./tree-builder.ts";
import { StatCache } from "./look-at.ts";

export interface StoredPortResult {
  readonly port: string;
  readonly commit: string;
  /** What the port started from; its changes are those between the two. */
  readonly base: string;
}

export interface Composition {
  readonly commit: string;
  /** Paths that ports left differently: the base's stays. */
  readonly conflicts: readonly { readonly path: string; readonly ports: readonly string[] }[];
}

type Author = Omit<CommitIdentity, "at">;
type Waiting = { readonly signal?: AbortSignal | undefined };

/** Files of all folders whose looks are kept; some 50 MB. What is beyond is read again. */
const MAX_CACHED = 100_000;

/** Of a patch that is shown. */
const PATCH_BYTES = 512 * 1024;

/**
 * The store of one run: a bare repository that borrows the person's objects. All commits of the run
 * are made here by dure alone. A step's ref is written last, so a step that died is done again and
 * comes to the same commit. Every object that a commit adds is written here even where the person's
 * repository has it by chance: what is unreachable there may be cleaned up at any time.
 */
export class RunStore {
  readonly git: Git;
  /** Real path of `store.git`. */
  readonly folder: string;
  readonly hash: "sha1" | "sha256";
  /** What workers left. */
  readonly owned: OwnedCommits;
  readonly #commits: CommitWriter;
  readonly #caches = new Map<string, StatCache>();
  readonly #lists: CommitLists;
  readonly #objects: ObjectReader;

  /**
   * Opens the store, or makes it: first the base is pinned in the person's repository, so that
   * nothing borrowed can go away.
   */
  static async open(options: {
    repository: Repository;
    folder: string;
    run: string;
    base: string;
    author: Author;
    signal?: AbortSignal | undefined;
  }): Promise<RunStore> {
    const { repository, folder, run, base, signal } = options;
    await repository.pin(run, "base", base, { signal });
    await onDisk(folder, () => ensureStore(repository, folder, signal));
    return new RunStore(repository, folder, options.author);
  }

  private constructor({ git, hash }: Repository, folder: string, author: Author) {
    this.git = git;
    this.folder = folder;
    this.hash = hash;
    this.#lists = new CommitLists(git, this.at);
    this.#objects = new ObjectReader(git, this.at);
    this.#commits = new CommitWriter(this, author, this.#lists);
    this.owned = new OwnedCommits(this, this.#commits);
  }

  get at(): GitPlace {
    return { cwd: this.folder, gitDir: this.folder };
  }

  async has(ref: string, options: Waiting = {}): Promise<boolean> {
    return (await this.read(ref, options)) !== undefined;
  }

  /** The commit of a ref. */
  async read(ref: string, options: Waiting = {}): Promise<string | undefined> {
    return this.readName(workRef(ref), options);
  }

  /** Commits by ref, those below a prefix such as `ports/login/`. */
  async list(prefix: string, { signal }: Waiting = {}): Promise<Map<string, string>> {
    const refs = await listRefs(this.git, this.at, `refs/work/${prefix}`, signal);
    return new Map([...refs].map(([name, commit]) => [`${prefix}${name}`, commit]));
  }

  /**
   * Makes a ref, or moves it from `expected`; again with the same commit is nothing. What it
   * pointed to stays reachable, as `kept/<id>`. Throws `REF_MOVED`.
   */
  async write(
    ref: string,
    commit: string,
    { expected, signal }: Waiting & { expected?: string | undefined } = {},
  ): Promise<void> {
    const name = workRef(ref);
    const known = await this.read(ref, { signal });
    if (known === commit) return;
    const wanted = { ref, expected, known };
    if (known !== expected) throw moved(wanted);
    const lines =
      known === undefined
        ? [`create ${name} ${commit}`]
        : [`update ${name} ${commit} ${known}`, `update refs/work/kept/${known} ${known}`];
    try {
      await this.git.run(["update-ref", "--stdin"], {
        at: this.at,
        input: `${lines.join("\n")}\n`,
        signal,
      });
    } catch (error) {
      if (codeOf(error) !== "GIT_FAILED" || (await this.read(ref, { signal })) === known) {
        throw error;
      }
      throw moved(wanted, error);
    }
  }

  /**
   * Lays the changes of ports over a base and commits that; all results are reachable from it, its
   * parents where they are few. The same input gives the same commit. Nothing to lay over gives the
   * base; one result on that very base is itself. No ref is written.
   *
   * @param options.isTrial nothing will be built on it, so it has the base alone as parent
   */
  async compose(
    base: string,
    results: readonly StoredPortResult[],
    options: Waiting & { message: string; at: number; isTrial?: boolean | undefined },
  ): Promise<Composition> {
    const { message, at, isTrial = false, signal } = options;
    const [only] = results;
    if (only === undefined) return { commit: base, conflicts: [] };
    if (results.length === 1 && only.base === base) return { commit: only.commit, conflicts: [] };
    const listing = await this.listing(base, { signal });
    const changes = [];
    for (const result of results) {
      changes.push({ port: result.port, changes: await this.#lists.changesOf(result, signal) });
    }
    const composed = overlay(listing, changes);
    const commits = [...new Set(results.map((result) => result.commit))];
    const parents = isTrial ? [base] : await this.#commits.gather(base, commits, { at, signal });
    const about = { parents, message, at, signal };
    const commit = await this.#commits.write(base, composed.changes, about);
    return {
      commit,
      conflicts: composed.conflicts.map(({ key, ports }) => ({ path: textOf(key), ports })),
    };
  }

  /**
   * Merges two commits line by line, and commits that. The paths in conflict when that cannot be.
   * No ref is written.
   */
  async mergeCommits(
    ours: string,
    theirs: string,
    { message, at, signal }: Waiting & { message: string; at: number },
  ): Promise<{ ok: true; commit: string } | { ok: false; conflicts: readonly string[] }> {
    const merged = await mergeTree(this.git, this.at, { ours, theirs, signal });
    if (merged.conflicts.length > 0) return { ok: false, conflicts: merged.conflicts };
    const parents = [ours, theirs];
    const commit = await this.#commits.writeTree(merged.tree, { parents, message, at, signal });
    await this.#commits.own([commit], [ours, theirs], signal);
    return { ok: true, commit };
  }

  /**
   * How a folder differs from a commit. `ignore`: what the commit's own `.gitignore` leaves out is
   * left out, or not.
   */
  async scan(
    tree: string,
    listing: Listing,
    options: Waiting & {
      fileBytes: number;
      most: number;
      ignore: "ignored" | "nothing";
      onContent?: ((key: PathKey, content: Buffer) => Promise<void>) | undefined;
    },
  ): Promise<Scan> {
    await using temporary = await this.temporary();
    await using rules = await IgnoreRules.open(this.git, this.at, {
      listing: options.ignore === "ignored" ? listing : new Map(),
      scratch: temporary.path,
      signal: options.signal,
    });
    const cache = this.#cacheOf(tree);
    const stamp = join(temporary.path, "now");
    await writeFile(stamp, "");
    cache.begin((await stat(stamp, { bigint: true })).mtimeNs);
    return await scanTree({ root: tree, listing, rules, hash: this.hash, cache, ...options });
  }

  /** What is known of the files of a folder; of those that were not looked at for long nothing is. */
  #cacheOf(tree: string): StatCache {
    const cache = this.#caches.get(tree) ?? new StatCache();
    this.#caches.delete(tree);
    let files = [...this.#caches.values()].reduce((sum, { size }) => sum + size, 0);
    for (const [oldest, { size }] of this.#caches) {
      if (files <= MAX_CACHED) break;
      this.#caches.delete(oldest);
      files -= size;
    }
    this.#caches.set(tree, cache);

    return cache;
  }

  /** Forgets what it knows of a folder that is gone. */
  forget(tree: string): void {
    this.#caches.delete(tree);
  }

  async listing(commit: string, { signal }: Waiting = {}): Promise<Map<PathKey, TreeEntry>> {
    return (await this.#lists.listed(commit, signal)).files;
  }

  /** A commit of the files of another one, with changes to what the store has. No ref is written. */
  async lay(base: string, changes: readonly EntryWrite[], about: CommitAbout): Promise<string> {
    return this.#commits.write(base, changes, about);
  }

  /** A file of a commit; undefined when it is not there, is no file, or is larger than `bytes`. */
  async readFile(
    commit: string,
    path: string,
    { bytes, signal }: Waiting & { bytes: number },
  ): Promise<Buffer | undefined> {
    const key = Buffer.from(path).toString("latin1") as PathKey;
    const entry = (await this.listing(commit, { signal })).get(key);
    if (!entry?.mode.startsWith("100")) return undefined;
    const found = await this.#objects.find(entry.id, signal);
    if (found === undefined) {
      throw new DureError(
        "GIT_FAILED",
        `The content of ${path} in ${commit} is not in the store.`,
        {
          details: { folder: this.folder, object: entry.id },
        },
      );
    }
    return found.bytes > bytes ? undefined : this.#objects.read(entry.id, signal);
  }

  /** What changed from one commit to another, for people. */
  async diff(
    from: string,
    to: string,
    { patchBytes = PATCH_BYTES, signal }: Waiting & { patchBytes?: number } = {},
  ): Promise<TreeDiff> {
    const changes = await diffTrees(this.git, this.at, { from, to, signal });
    const plain = ["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"];
    const { stdout, cut } = await this.git.run(["diff-tree", "-r", "-p", ...plain, from, to], {
      at: this.at,
      outputBytes: patchBytes,
      cut: true,
      signal,
    });
    return {
      changes: changes.map((change) => ({ path: textOf(change.key), kind: kindOf(change) })),
      patch: stdout.toString(),
      isCut: cut,
    };
  }

  /**
   * Whether commits are in the store and reachable from refs (`refs/work/…` in full) or commits.
   */
  async hasReachable(
    commits: readonly string[],
    from: readonly string[],
    { signal }: Waiting = {},
  ): Promise<boolean> {
    return verifyReachable(this.git, this.at, { commits, from, signal });
  }

  /** A commit without history that holds a part of another one's files. No ref is written. */
  async excerpt(
    commit: string,
    leaveOut: readonly PathKey[],
    { at, signal }: Waiting & { at: number },
  ): Promise<string> {
    const changes = leaveOut.map((key) => ({ key, entry: undefined }));
    const message = "What this port starts from\n";
    const about = { parents: [], message, at, signal, isLoose: true };
    return this.#commits.write(commit, changes, about);
  }

  /** A folder for indexes and the like. */
  temporary(): ReturnType<typeof temporaryFolder> {
    return onDisk(this.folder, () => temporaryFolder(join(this.folder, "temporary"), "t-"));
  }

  /** The commit or note of a ref in full. */
  async readName(name: string, { signal }: Waiting): Promise<string | undefined> {
    return (await this.#objects.find(name, signal))?.id;
  }

  /** The note of a ref in full. */
  async readNote(name: string, { signal }: Waiting): Promise<string | undefined> {
    return (await this.#objects.read(name, signal))?.toString();
  }
}

function moved(
  { ref, expected, known }: Record<"ref" | "expected" | "known", string | undefined>,
  cause?: unknown,
): DureError {
  const found = `${ref} is at ${known ?? "no commit"}, not at ${expected ?? "none"}.`;
  return new DureError("REF_MOVED", found, {
    class: "conflict",
    hint: "Another process works on this run.",
    cause,
  });
}

function kindOf(change: EntryChange): ChangeKind {
  if (change.new === undefined) return "deleted";
  return change.old === undefined ? "new" : "modified";
}
