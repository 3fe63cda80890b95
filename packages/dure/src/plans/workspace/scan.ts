import { createHash, type Hash } from "node:crypto";
import { constants, type BigIntStats, type Dirent } from "node:fs";
import { lstat, open, readdir, readlink, type FileHandle } from "node:fs/promises";
import { DureError, codeOf } from "../../kernel/errors.ts";
import { Mutex } from "../../kernel/mutex.ts";
import { pathProblem } from "../scope.ts";
import type { IgnoreRules } from "./ignore-rules.ts";
import type { Listing, TreeEntry } from "./listing.ts";
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
      readonly bytes?: number;
      readonly entry?: TreeEntry;
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
  readonly rules?: IgnoreRules;
  /** Of the repository: how ids are made. */
  readonly hash: "sha1" | "sha256";
  /** A changed file beyond it is not kept, bytes. */
  readonly fileBytes: number;
  /** Differences after which the scan stops. */
  readonly most: number;
  readonly cache?: StatCache;
  /**
   * Called with what a changed file or link holds, read once: the id is of these bytes. Not called
   * in parallel.
   */
  readonly onContent?: (key: PathKey, content: Buffer) => Promise<void>;
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

/** Files that are read at the same time. Source: our choice; the disk is asked by four threads. */
const AT_ONCE = 8;
const CHUNK_BYTES = 1024 * 1024;
/**
 * A larger file is always a change: reading a sparse one would take for ever. Source: our choice.
 */
const HASHED_BYTES = 4 * 1024 ** 3;
const MAX_LINKS = 40;

/**
 * Compares files with a commit, by walking and reading them: no index, no attributes and no rule of
 * the worker has a say. Symbolic links are never followed, nothing but regular files is opened, a
 * file's id is made of the bytes that were handed to `onContent`.
 */
export async function scanTree(options: ScanOptions): Promise<Scan> {
  const { root, listing, rules, most, signal } = options;
  const device = await deviceOf(root);
  const tracked = foldersOf(listing);
  const found: Found[] = [];
  const newFolders: PathKey[] = [];
  const waiting: (PathKey | "")[] = [""];
  const lock = new Mutex();
  while (waiting.length > 0) {
    signal?.throwIfAborted();
    const folder = waiting.pop()!;
    const known = tracked.get(folder);
    const names = await namesIn(root, folder);
    if (typeof names === "string") {
      found.push({ key: folder as PathKey, kind: "odd", because: names });
      continue;
    }
    const inner: PathKey[] = [];
    const jobs: (() => Promise<Found | undefined>)[] = [];
    const strangers: { key: PathKey; isFolder: boolean; dirent: Dirent<Buffer> }[] = [];
    const seen = new Set<string>();
    for (const dirent of names) {
      const name = dirent.name.toString("latin1");
      const key = joinKey(folder, name);
      if (key === ".git") continue;
      const entry = listing.get(key);
      const isFolder = dirent.isDirectory();
      if (isFolder && entry?.mode === "160000") {
        seen.add(name);
        const content = await namesIn(root, key);
        if (typeof content === "string" || content.length > 0) {
          found.push({ key, kind: "odd", because: "in-submodule" });
        }
      } else if (isFolder && tracked.has(key)) {
        seen.add(name);
        inner.push(key);
      } else if (!isFolder && entry && (dirent.isFile() || dirent.isSymbolicLink())) {
        seen.add(name);
        jobs.push(() => look(options, key, dirent, entry, lock));
      } else strangers.push({ key, isFolder, dirent });
    }
    const ignored = (await rules?.ignored(strangers)) ?? new Set();
    for (const { key, isFolder, dirent } of strangers) {
      if (ignored.has(key)) continue;
      if (isGitName(dirent.name)) found.push({ key, kind: "odd", because: "git-internals" });
      else if (isFolder) {
        newFolders.push(key);
        inner.push(key);
      } else jobs.push(() => look(options, key, dirent, undefined, lock));
    }
    for (const name of known ?? []) {
      if (!seen.has(name)) found.push(...missingAt(joinKey(folder, name), listing, tracked));
    }
    for (let index = 0; index < jobs.length && found.length <= most; index += 64) {
      found.push(
        ...(await atOnce(jobs.slice(index, index + 64))).filter((one) => one !== undefined),
      );
    }
    if (found.length > most) return { found: found.slice(0, most), newFolders, isComplete: false };
    for (const key of inner.toReversed()) {
      const stats = await statOf(root, key);
      if (typeof stats !== "string" && stats.dev !== device) {
        found.push({ key, kind: "odd", because: "other-device" });
      } else waiting.push(key);
    }
  }
  return { found: found.sort((a, b) => (a.key < b.key ? -1 : 1)), newFolders, isComplete: true };
}

/**
 * Remembers ids of files that cannot have changed since. Trusted is what has the same inode, size,
 * mode and times, and whose last change lay more than a second before the scan that read it: file
 * systems keep times in steps. Nobody can set the time of change (ctime).
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
  key: PathKey,
  dirent: Dirent<Buffer>,
  entry: TreeEntry | undefined,
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
  if (entry?.id === next.id && entry.mode === next.mode) return undefined;
  if (target.length > fileBytes) {
    return { key, kind: "odd", because: "too-large", bytes: target.length };
  }
  const leadsTo = await followLink(root, key, target);
  if (onContent) await lock.run(() => onContent(key, target));
  return { key, kind: "link", entry: next, bytes: target.length, leadsTo };
}

async function lookAtFile(
  { root, hash, fileBytes, cache, onContent }: ScanOptions,
  key: PathKey,
  entry: TreeEntry | undefined,
  lock: Mutex,
): Promise<Found | undefined> {
  if (cache && entry) {
    const stats = await statOf(root, key);
    if (
      typeof stats !== "string" &&
      stats.isFile() &&
      entry.mode === modeOf(stats) &&
      cache.find(key, stats) === entry.id
    ) {
      return undefined;
    }
  }
  let file: FileHandle;
  try {
    // A FIFO that took the file's place would make a plain open wait for ever.
    file = await open(
      absolute(root, key),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
  } catch (error) {
    if (codeOf(error) === "ENOENT") return entry && { key, kind: "missing" };
    return { key, kind: "odd", because: reasonOf(error) };
  }
  try {
    const stats = await file.stat({ bigint: true });
    if (!stats.isFile()) return { key, kind: "odd", because: "not-regular" };
    const mode = modeOf(stats);
    const size = Number(stats.size);
    const content = size <= fileBytes ? await readAtMost(file, size, fileBytes) : undefined;
    if (!content) {
      const id = size <= HASHED_BYTES ? await hashLarge(file, hash, size) : undefined;
      // A large file of the base is none of a worker's doing.
      if (entry && entry.id === id && entry.mode === mode) return undefined;
      return {
        key,
        kind: "odd",
        because: "too-large",
        bytes: size,
        ...(id !== undefined && { entry: { mode, id } }),
      };
    }
    const id = blobId(hash, content);
    if (cache && printOf(await file.stat({ bigint: true })) === printOf(stats)) {
      cache.keep(key, stats, id);
    }
    if (entry?.id === id && entry.mode === mode) return undefined;
    if (onContent) await lock.run(() => onContent(key, content));
    return {
      key,
      kind: "file",
      entry: { mode, id },
      bytes: content.length,
      isHardLink: stats.nlink > 1n,
    };
  } finally {
    await file.close();
  }
}

/** Undefined when the file is longer than `most`, whatever it said before. */
async function readAtMost(
  file: FileHandle,
  size: number,
  most: number,
): Promise<Buffer | undefined> {
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
    const { bytesRead } = await file.read(
      chunk,
      0,
      Math.min(chunk.length, size - position),
      position,
    );
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
  // The folder of a submodule is nobody's file; git makes it when it is wanted.
  if (entry) return entry.mode === "160000" ? [] : [{ key, kind: "missing" }];
  return [...(tracked.get(key) ?? [])].flatMap((name) =>
    missingAt(joinKey(key, name), listing, tracked),
  );
}

async function namesIn(root: string, folder: PathKey | ""): Promise<Dirent<Buffer>[] | OddReason> {
  try {
    return (
      await readdir(absolute(root, folder), { withFileTypes: true, encoding: "buffer" })
    ).sort((a, b) => Buffer.compare(a.name, b.name));
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
