import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { Mutex } from "../../kernel/mutex.ts";
import type { IgnoreRule, IgnoreRules } from "./ignore-rules.ts";
import type { Listing } from "./listing.ts";
import { absolute, foldersAbove, joinKey, type PathKey } from "./paths.ts";
import {
  type FoundPath,
  isGitName,
  type PathLook,
  look,
  type OddReason,
  reasonOf,
  type StatCache,
  statOf,
} from "./look-at.ts";

export interface ScanOptions {
  /** Absolute and real. Its own `.git` is not looked at. */
  readonly root: string;
  readonly listing: Listing;
  /** Absent: nothing is ignored. */
  readonly rules?: IgnoreRules | undefined;
  /** Of the repository: how ids are made. */
  readonly hash: "sha1" | "sha256";
  /** A changed file beyond it is not kept, bytes. */
  readonly fileBytes: number;
  /** Differences after which the scan stops. */
  readonly most: number;
  readonly cache?: StatCache | undefined;
  /**
   * Called with what a changed file or link holds, read once: the id is of these bytes. Not called
   * in parallel.
   */
  readonly onContent?: ((key: PathKey, content: Buffer) => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Scan {
  /** In the order of names. */
  readonly found: readonly FoundPath[];
  /** Folders that the commit does not have and that are not ignored, outer before inner. */
  readonly newFolders: readonly PathKey[];
  /** What the rules leave out, a folder for all that is in it. At most {@link MAX_IGNORED}. */
  readonly ignored: readonly IgnoredPath[];
  /** `false`: it stopped at `most`. */
  readonly isComplete: boolean;
}

/** A path that git does not look at, outermost. */
export interface IgnoredPath {
  readonly key: PathKey;
  readonly isFolder: boolean;
  readonly rule: IgnoreRule;
}

/** Ignored paths of one scan that are kept. */
export const MAX_IGNORED = 50_000;

/** Files that are read at the same time; Node asks the disk by four threads. */
const AT_ONCE = 8;
/** Files of one folder that are looked at before the number of differences is checked. */
const JOBS_AT_ONCE = 64;

/**
 * Compares files with a commit, by walking and reading them: no index, no attributes and no rule of
 * the worker has a say. Symbolic links are never followed, nothing but regular files is opened, a
 * file's id is made of the bytes that were handed to `onContent`.
 */
export async function scanTree(options: ScanOptions): Promise<Scan> {
  const walk = new Walk(options, await deviceOf(options.root));
  while (walk.waiting.length > 0 && !walk.isFull) {
    options.signal?.throwIfAborted();
    await walk.visit(walk.waiting.pop()!);
  }
  const { newFolders, ignored } = walk;
  if (walk.isFull) {
    return { found: walk.found.slice(0, options.most), newFolders, ignored, isComplete: false };
  }
  const found = walk.found.sort((a, b) => (a.key < b.key ? -1 : 1));
  return { found, newFolders, ignored, isComplete: true };
}

/** A name of a folder that the commit does not have. */
interface Stranger {
  readonly key: PathKey;
  readonly isFolder: boolean;
  readonly dirent: Dirent<Buffer>;
}

/** What the names of one folder are to the commit. */
interface SortedNames {
  /** Names that are in the commit too. */
  readonly seen: Set<string>;
  readonly submodules: PathKey[];
  readonly folders: PathKey[];
  readonly files: PathLook[];
  readonly strangers: Stranger[];
}

/** One walk over a tree, folder by folder. */
class Walk {
  readonly found: FoundPath[] = [];
  readonly newFolders: PathKey[] = [];
  readonly ignored: IgnoredPath[] = [];
  /** Folders that are not visited yet. */
  readonly waiting: (PathKey | "")[] = [""];
  /** There are more differences than were asked for. */
  isFull = false;
  readonly #options: ScanOptions;
  readonly #device: bigint;
  /** Names in each folder of the commit. */
  readonly #tracked: ReadonlyMap<PathKey | "", ReadonlySet<string>>;
  readonly #lock = new Mutex();

  constructor(options: ScanOptions, device: bigint) {
    this.#options = options;
    this.#device = device;
    this.#tracked = foldersOf(options.listing);
  }

  async visit(folder: PathKey | ""): Promise<void> {
    const names = await namesIn(this.#options.root, folder);
    if (typeof names === "string") {
      this.found.push({ key: folder as PathKey, kind: "odd", because: names });
      return;
    }
    const isBare = folder !== "" && isBareRepository(names);
    if (isBare && !this.#tracked.has(folder)) {
      this.found.push({ key: folder, kind: "odd", because: "nested-repository" });
      return;
    }
    const { seen, submodules, folders, files, strangers } = this.#sort(folder, names);
    for (const key of submodules) await this.#visitSubmodule(key);
    // A folder of the commit that this makes a repository of stays a folder.
    const parts = isBare ? strangers.filter(({ dirent }) => isRepositoryPart(dirent)) : [];
    for (const { key } of parts) {
      this.found.push({ key, kind: "odd", because: "nested-repository" });
    }
    const others = strangers.filter((stranger) => !parts.includes(stranger));
    await this.#sortStrangers(others, { folders, files });
    this.#addMissing(folder, seen);
    await this.#lookAt(files);
    this.isFull = this.found.length > this.#options.most;
    if (!this.isFull) await this.#queue(folders);
  }

  #sort(folder: PathKey | "", names: readonly Dirent<Buffer>[]): SortedNames {
    const { listing } = this.#options;
    const sorted: SortedNames = {
      seen: new Set(),
      submodules: [],
      folders: [],
      files: [],
      strangers: [],
    };
    for (const dirent of names) {
      const name = dirent.name.toString("latin1");
      const key = joinKey(folder, name);
      if (key === ".git") continue;
      const entry = listing.get(key);
      const isFolder = dirent.isDirectory();
      const isFile = dirent.isFile() || dirent.isSymbolicLink();
      if (isFolder && entry?.mode === "160000") sorted.submodules.push(key);
      else if (isFolder && this.#tracked.has(key)) sorted.folders.push(key);
      else if (!isFolder && entry && isFile) sorted.files.push({ key, dirent, entry });
      else {
        sorted.strangers.push({ key, isFolder, dirent });
        continue;
      }
      sorted.seen.add(name);
    }
    return sorted;
  }

  async #visitSubmodule(key: PathKey): Promise<void> {
    const content = await namesIn(this.#options.root, key);
    const isEmpty = typeof content !== "string" && content.length === 0;
    if (!isEmpty) this.found.push({ key, kind: "odd", because: "in-submodule" });
  }

  async #sortStrangers(
    strangers: readonly Stranger[],
    { folders, files }: Pick<SortedNames, "folders" | "files">,
  ): Promise<void> {
    const ignored = await this.#options.rules?.ignored(strangers);
    for (const { key, isFolder, dirent } of strangers) {
      const rule = ignored?.get(key);
      if (rule) {
        if (this.ignored.length < MAX_IGNORED) this.ignored.push({ key, isFolder, rule });
        continue;
      }
      if (isGitName(dirent.name)) {
        this.found.push({ key, kind: "odd", because: "git-internals" });
      } else if (isFolder) {
        this.newFolders.push(key);
        folders.push(key);
      } else files.push({ key, dirent, entry: undefined });
    }
  }

  #addMissing(folder: PathKey | "", seen: ReadonlySet<string>): void {
    for (const name of this.#tracked.get(folder) ?? []) {
      if (seen.has(name)) continue;
      this.found.push(...missingAt(joinKey(folder, name), this.#options.listing, this.#tracked));
    }
  }

  async #lookAt(files: readonly PathLook[]): Promise<void> {
    const { most } = this.#options;
    for (let from = 0; from < files.length && this.found.length <= most; from += JOBS_AT_ONCE) {
      const jobs = files
        .slice(from, from + JOBS_AT_ONCE)
        .map((file) => () => look(this.#options, file, this.#lock));
      const looked = await atOnce(jobs);
      this.found.push(...looked.filter((one) => one !== undefined));
    }
  }

  /** Folders on another file system are not entered. */
  async #queue(folders: readonly PathKey[]): Promise<void> {
    for (const key of folders.toReversed()) {
      const stats = await statOf(this.#options.root, key);
      if (typeof stats !== "string" && stats.dev !== this.#device) {
        this.found.push({ key, kind: "odd", because: "other-device" });
      } else this.waiting.push(key);
    }
  }
}

/** What git takes a folder for a repository by, whatever its name. Source: git's `setup.c`. */
const REPOSITORY_PARTS = ["head", "objects", "refs"];

function isRepositoryPart({ name }: Dirent<Buffer>): boolean {
  return REPOSITORY_PARTS.includes(name.toString("latin1").toLowerCase());
}

function isBareRepository(names: readonly Dirent<Buffer>[]): boolean {
  const parts = names.filter(isRepositoryPart).map(({ name }) => name.toString("latin1"));
  return new Set(parts.map((name) => name.toLowerCase())).size === REPOSITORY_PARTS.length;
}

/** Names in each folder of the commit, folders among them. */
function foldersOf(listing: Listing): Map<PathKey | "", Set<string>> {
  const folders = new Map<PathKey | "", Set<string>>([["", new Set()]]);
  for (const key of listing.keys()) {
    const above = ["", ...foldersAbove(key), key];
    for (let index = above.length - 1; index > 0; index--) {
      const folder = above[index - 1]! as PathKey;
      const names = folders.get(folder);
      const name = above[index]!.slice(folder === "" ? 0 : folder.length + 1);
      if (names) {
        names.add(name);
        break;
      }
      folders.set(folder, new Set([name]));
    }
  }
  return folders;
}

function missingAt(
  key: PathKey,
  listing: Listing,
  tracked: ReadonlyMap<PathKey | "", ReadonlySet<string>>,
): FoundPath[] {
  const entry = listing.get(key);
  // The folder of a submodule is no file; git makes it when it is wanted.
  if (entry) return entry.mode === "160000" ? [] : [{ key, kind: "missing" }];
  return [...(tracked.get(key) ?? [])].flatMap((name) =>
    missingAt(joinKey(key, name), listing, tracked),
  );
}

async function namesIn(root: string, folder: PathKey | ""): Promise<Dirent<Buffer>[] | OddReason> {
  try {
    const options = { withFileTypes: true, encoding: "buffer" } as const;
    const names = await readdir(absolute(root, folder), options);
    return names.sort((a, b) => Buffer.compare(a.name, b.name));
  } catch (error) {
    if (codeOf(error) === "ENOENT" && folder !== "") return [];
    if (folder === "") throw error;
    return reasonOf(error);
  }
}

async function deviceOf(root: string): Promise<bigint> {
  const stats = await lstat(root, { bigint: true });
  if (!stats.isDirectory()) {
    throw new DureError("TREE_NOT_A_FOLDER", `${root} is no folder.`, {
      hint: "Something has put another thing in the place of the port's tree; check it out anew.",
    });
  }
  return stats.dev;
}

/** In order of the jobs. After a failure no further job begins; those that run are waited for. */
async function atOnce<T>(jobs: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  let failed = false;
  const runner = async (): Promise<void> => {
    while (next < jobs.length && !failed) {
      const index = next++;
      try {
        results[index] = await jobs[index]!();
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, runner));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return results;
}
