import { createHash, type Hash } from "node:crypto";
import { type BigIntStats, constants, type Dirent } from "node:fs";
import { type FileHandle, lstat, open, readlink } from "node:fs/promises";
import { codeOf } from "../../kernel/errors.ts";
import type { Mutex } from "../../kernel/mutex.ts";
import { isGitName as isGitSegment } from "../scope.ts";
import { sameEntry, type TreeEntry } from "./listing.ts";
import { absolute, bytesOf, isText, type PathKey, textOf } from "./paths.ts";
import type { ScanOptions } from "./scan.ts";

/** One path at which the files differ from the commit. */
export type FoundPath =
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
      readonly leadsTo: PathLinkEnd;
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
  | "nested-repository"
  | "in-submodule"
  | "other-device"
  | "unreadable"
  | "too-long"
  | "too-large";

/** Where a symbolic link ends, through further links. */
export type PathLinkEnd =
  | { readonly within: true; readonly key: PathKey; readonly isFolder: boolean }
  | { readonly within: false };
const CHUNK_BYTES = 1024 * 1024;
/** A larger file is always a change: reading a sparse one would take for ever. */
const HASHED_BYTES = 4 * 1024 ** 3;
const MAX_LINKS = 40;

/** A file or link that is to be compared with the commit. */
export interface PathLook {
  readonly key: PathKey;
  readonly dirent: Dirent<Buffer>;
  readonly entry: TreeEntry | undefined;
}

/**
 * Remembers ids of files that cannot have changed since. Trusted is what has the same inode, size,
 * mode and times, and whose last change lay more than a second before the scan that read it: file
 * systems keep times in steps. A worker cannot set the time of change (ctime).
 */
export class StatCache {
  readonly #files = new Map<PathKey, { readonly print: string; readonly id: string }>();
  #trustedBefore = 0n;

  /** Files that it knows. */
  get size(): number {
    return this.#files.size;
  }

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

export async function look(
  options: ScanOptions,
  { key, dirent, entry }: PathLook,
  lock: Mutex,
): Promise<FoundPath | undefined> {
  if (dirent.isSymbolicLink()) return lookAtLink(options, key, entry, lock);
  if (!dirent.isFile()) return { key, kind: "odd", because: "not-regular" };
  return lookAtFile(options, key, entry, lock);
}

async function lookAtLink(
  { root, hash, fileBytes, onContent }: ScanOptions,
  key: PathKey,
  entry: TreeEntry | undefined,
  lock: Mutex,
): Promise<FoundPath | undefined> {
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
): Promise<FoundPath | undefined> {
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
): Promise<FoundPath | undefined> {
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
async function followLink(root: string, key: PathKey, target: Buffer): Promise<PathLinkEnd> {
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

export async function statOf(root: string, key: PathKey): Promise<BigIntStats | OddReason> {
  try {
    return await lstat(absolute(root, key), { bigint: true });
  } catch (error) {
    return reasonOf(error);
  }
}

export function reasonOf(error: unknown): OddReason {
  const code = codeOf(error);
  if (code === "ENAMETOOLONG") return "too-long";
  return code === "ELOOP" || code === "ENXIO" ? "not-regular" : "unreadable";
}

export function isGitName(name: Buffer): boolean {
  const key = name.toString("latin1") as PathKey;
  return isText(key) && isGitSegment(textOf(key));
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
