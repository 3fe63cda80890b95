import { createHash, type Hash } from "node:crypto";
import { constants, type BigIntStats, type Dirent } from "node:fs";
import { lstat, open, readdir, readlink, type FileHandle } from "node:fs/promises";
import { DureError, codeOf } from "../../kernel/errors.ts";
import { Mutex } from "../../kernel/mutex.ts";
import { pathProblem } from "../scope.ts";
import type { IgnoreRules } from "./ignore-rules.ts";
import { sameEntry, type Listing, type TreeEntry } from "./listing.ts";
import { absolute, bytesOf, foldersAbove, isText, joinKey, textOf, type PathKey } from "./paths.ts";

/** One path at which the files differ from the commit. */
export type Found =
  | {
      readonly key: PathKey;
      readonly kind: "file";
      readonly entry: TreeEntry;
      readonly bytes: number;
      readonly isHardLink: boolean;
    }
  | {
      readonly key: PathKey;
      readonly kind: "link";
      readonly entry: TreeEntry;
      readonly bytes: number;
      readonly leadsTo: LinkEnd;
    }
  | { readonly key: PathKey; readonly kind: "missing" }
  /** Nothing that a commit could hold. */
  | {
      readonly key: PathKey;
      readonly kind: "odd";
      readonly because: OddReason;
      readonly bytes?: number | undefined;
      readonly entry?: TreeEntry | undefined;
    };

export type OddReason =
  | "not-regular"
  | "git-internals"
  | "in-submodule"
  | "other-device"
  | "unreadable"
  | "too-long"
  | "too-large";

/** Where a symbolic link ends, through further links. */
export type LinkEnd =
  | { readonly within: true; readonly key: PathKey; readonly isFolder: boolean }
  | { readonly within: false };

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
  readonly found: readonly Found[];
  /** Folders that the commit does not have and that are not ignored, outer before inner. */
  readonly newFolders: readonly PathKey[];
  /** `false`: it stopped at `most`. */
  readonly isComplete: boolean;
}

/** Files that are read at the same time; Node asks the disk by four threads. */
const AT_ONCE = 8;
const CHUNK_BYTES = 1024 * 1024;
/** A larger file is always a change: reading a sparse one would take for ever. */
const HASHED_BYTES = 4 * 1024 ** 3;
/** Files of one folder that are looked at before the number of differences is checked. */
const JOBS_AT_ONCE = 64;
const MAX_LINKS = 40;

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
  const { newFolders } = walk;
  if (walk.isFull) {
    return { found: walk.found.slice(0, options.most), newFolders, isComplete: false };
  }
  const found = walk.found.sort((a, b) => (a.key < b.key ? -1 : 1));
  return { found, newFolders, isComplete: true };
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
  readonly files: Look[];
  readonly strangers: Stranger[];
}

/** A file or link that is to be compared with the commit. */
interface Look {
  readonly key: PathKey;
  readonly dirent: Dirent<Buffer>;
  readonly entry: TreeEntry | undefined;
}

/** One walk over a tree, folder by folder. */
class Walk {
  readonly found: Found[] = [];
  readonly newFolders: PathKey[] = [];
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
    const { seen, submodules, folders, files, strangers } = this.#sort(folder, names);
    for (const key of submodules) await this.#visitSubmodule(key);
    await this.#sortStrangers(strangers, { folders, files });
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
    const ignored = (await this.#options.rules?.ignored(strangers)) ?? new Set();
    for (const { key, isFolder, dirent } of strangers) {
      if (ignored.has(key)) continue;
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

  async #lookAt(files: readonly Look[]): Promise<void> {
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

/**
 * Remembers ids of files that cannot have changed since. Trusted is what has the same inode, size,
 * mode and times, and whose last change lay more than a second before the scan that read it: file
 * systems keep times in steps. A worker cannot set the time of change (ctime).
 */
export class StatCache {
  readonly #files = new Map<PathKey, { readonly print: string; readonly id: string }>();
  #trustedBefore = 0n;

  /** @param now of the file system, nanoseconds: the time of a file that was just written. */
  begin(now: bigint): void {
    this.#trustedBefore = now - 1_000_000_000n;
  }

  find(key: PathKey, stats: BigIntStats): string | undefined {
    const cached = this.#files.get(key);
    return cached?.print === printOf(stats) ? cached.id : undefined;
  }

  keep(key: PathKey, stats: BigIntStats, id: string): void {
    if (stats.ctimeNs < this.#trustedBefore) this.#files.set(key, { print: printOf(stats), id });
    else this.#files.delete(key);
  }
}

/** The id that git gives content. */
function blobId(hash: ScanOptions["hash"], content: Buffer): string {
  return blobHash(hash, content.length).update(content).digest("hex");
}

async function look(
  options: ScanOptions,
  { key, dirent, entry }: Look,
  lock: Mutex,
): Promise<Found | undefined> {
  if (dirent.isSymbolicLink()) return lookAtLink(options, key, entry, lock);
  if (!dirent.isFile()) return { key, kind: "odd", because: "not-regular" };
  return lookAtFile(options, key, entry, lock);
}

async function lookAtLink(
  { root, hash, fileBytes, onContent }: ScanOptions,
  key: PathKey,
  entry: TreeEntry | undefined,
  lock: Mutex,
): Promise<Found | undefined> {
  const target = await readlink(absolute(root, key), { encoding: "buffer" });
  const next: TreeEntry = { mode: "120000", id: blobId(hash, target) };
  if (sameEntry(entry, next)) return undefined;
  if (target.length > fileBytes) {
    return { key, kind: "odd", because: "too-large", bytes: target.length };
  }
  const leadsTo = await followLink(root, key, target);
  if (onContent) await lock.run(() => onContent(key, target));
  return { key, kind: "link", entry: next, bytes: target.length, leadsTo };
}

async function lookAtFile(
  options: ScanOptions,
  key: PathKey,
  entry: TreeEntry | undefined,
  lock: Mutex,
): Promise<Found | undefined> {
  if (await isKnownSame(options, key, entry)) return undefined;

  const file = await openFile(options.root, key);
  if (file === undefined) return entry && { key, kind: "missing" };
  if (typeof file === "string") return { key, kind: "odd", because: file };
  try {
    const stats = await file.stat({ bigint: true });
    if (!stats.isFile()) return { key, kind: "odd", because: "not-regular" };
    const content = await readAtMost(file, Number(stats.size), options.fileBytes);
    if (!content) return await lookAtLarge(file, { key, stats, hash: options.hash, before: entry });

    const next: TreeEntry = { mode: modeOf(stats), id: blobId(options.hash, content) };
    await keepId(options.cache, key, { file, stats, id: next.id });
    if (sameEntry(entry, next)) return undefined;
    const { onContent } = options;
    if (onContent) await lock.run(() => onContent(key, content));
    const isHardLink = stats.nlink > 1n;
    return { key, kind: "file", entry: next, bytes: content.length, isHardLink };
  } finally {
    await file.close();
  }
}

/** Whether the cache knows the file's id, and it is the commit's. */
async function isKnownSame(
  { root, cache }: ScanOptions,
  key: PathKey,
  entry: TreeEntry | undefined,
): Promise<boolean> {
  if (!cache || !entry) return false;
  const stats = await statOf(root, key);
  if (typeof stats === "string" || !stats.isFile()) return false;
  return entry.mode === modeOf(stats) && cache.find(key, stats) === entry.id;
}

/** Undefined: it is not there. A reason: it cannot be read. */
async function openFile(root: string, key: PathKey): Promise<FileHandle | OddReason | undefined> {
  // A FIFO that took the file's place would make a plain open wait for ever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return await open(absolute(root, key), flags);
  } catch (error) {
    return codeOf(error) === "ENOENT" ? undefined : reasonOf(error);
  }
}

/** A file of more bytes than are kept: only its id is made, where that can be. */
async function lookAtLarge(
  file: FileHandle,
  options: {
    key: PathKey;
    stats: BigIntStats;
    hash: ScanOptions["hash"];
    before: TreeEntry | undefined;
  },
): Promise<Found | undefined> {
  const { key, stats, hash, before } = options;
  const bytes = Number(stats.size);
  const mode = modeOf(stats);
  const id = bytes <= HASHED_BYTES ? await hashLarge(file, hash, bytes) : undefined;
  const entry = id === undefined ? undefined : { mode, id };
  // A large file of the base is none of a worker's doing.
  if (before && entry && sameEntry(before, entry)) return undefined;
  return { key, kind: "odd", because: "too-large", bytes, entry };
}

/** Remembers the id, unless the file changed while it was read. */
async function keepId(
  cache: StatCache | undefined,
  key: PathKey,
  { file, stats, id }: { file: FileHandle; stats: BigIntStats; id: string },
): Promise<void> {
  if (!cache) return;
  const now = await file.stat({ bigint: true });
  if (printOf(now) === printOf(stats)) cache.keep(key, stats, id);
}

/** Undefined when the file is longer than `most`, whatever it said before. */
async function readAtMost(
  file: FileHandle,
  size: number,
  most: number,
): Promise<Buffer | undefined> {
  if (size > most) return undefined;
  const content = Buffer.allocUnsafe(size + 1);
  const { bytesRead } = await file.read(content, 0, content.length, 0);
  if (bytesRead <= size) return content.subarray(0, bytesRead);
  const grown = (await file.stat()).size; // while we read it
  return grown > most || grown <= size ? undefined : readAtMost(file, grown, most);
}

async function hashLarge(
  file: FileHandle,
  hash: ScanOptions["hash"],
  size: number,
): Promise<string> {
  const sum = blobHash(hash, size);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let position = 0; position < size;) {
    const wanted = Math.min(chunk.length, size - position);
    const { bytesRead } = await file.read(chunk, 0, wanted, position);
    if (bytesRead === 0) break;
    sum.update(chunk.subarray(0, bytesRead));
    position += bytesRead;
  }
  return sum.digest("hex");
}

/**
 * Follows a link as the kernel would, but only within the tree: whatever leaves it, even to come
 * back, leads outside.
 */
async function followLink(root: string, key: PathKey, target: Buffer): Promise<LinkEnd> {
  let links = 0;
  const at = key.split("/").slice(0, -1);
  const steps = target.toString("latin1").split("/");
  if (target.length === 0 || steps[0] === "") return { within: false };
  let isFolder = true;
  while (steps.length > 0) {
    const step = steps.shift()!;
    if (step === "" || step === ".") continue;
    if (step === "..") {
      if (at.pop() === undefined) return { within: false };
      isFolder = true;
      continue;
    }
    at.push(step);
    const here = at.join("/") as PathKey;
    if (isGitName(bytesOf(step as PathKey))) return { within: false };
    const stats = await statOf(root, here);
    isFolder = typeof stats !== "string" && stats.isDirectory();
    if (typeof stats === "string" || !stats.isSymbolicLink()) continue;
    if (++links > MAX_LINKS) return { within: false };
    const next = (await readlink(absolute(root, here), { encoding: "latin1" })).split("/");
    if (next[0] === "") return { within: false };
    at.pop();
    steps.unshift(...next);
  }
  return { within: true, key: at.join("/") as PathKey, isFolder };
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
): Found[] {
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

async function statOf(root: string, key: PathKey): Promise<BigIntStats | OddReason> {
  try {
    return await lstat(absolute(root, key), { bigint: true });
  } catch (error) {
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

function reasonOf(error: unknown): OddReason {
  const code = codeOf(error);
  if (code === "ENAMETOOLONG") return "too-long";
  return code === "ELOOP" || code === "ENXIO" ? "not-regular" : "unreadable";
}

function isGitName(name: Buffer): boolean {
  const key = name.toString("latin1") as PathKey;
  return isText(key) && pathProblem(textOf(key)) === "git-internals";
}

function modeOf(stats: BigIntStats): "100644" | "100755" {
  return (stats.mode & 0o100n) === 0n ? "100644" : "100755";
}

function printOf(stats: BigIntStats): string {
  return `${stats.dev} ${stats.ino} ${stats.size} ${stats.mode} ${stats.mtimeNs} ${stats.ctimeNs}`;
}

function blobHash(hash: ScanOptions["hash"], size: number): Hash {
  return createHash(hash).update(`blob ${size}\0`);
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
