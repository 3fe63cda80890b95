/** That a tree is set up, and what its setup left there, which no commit has. */

import type { BigIntStats } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import { onDisk, readJson, removeAll, writeWhole } from "./files.ts";
import type { TreeEntry } from "./listing.ts";
import { statOf } from "./look-at.ts";
import type { Residue } from "./owned-changes.ts";
import { absolute, foldersAbove, joinKey, type PathKey } from "./paths.ts";

/** That the setup of a tree is done, and what it left. */
export interface SetupRecord {
  readonly commit: string;
  /** What is neither ignored nor in the commit. */
  readonly residue: Residue;
  /** What git does not look at, a folder for all that is in it. */
  readonly ignored: ReadonlySet<PathKey>;
}

/** As it is written: paths as base64, since they may be no text. */
interface StoredSetup {
  readonly commit: string;
  readonly residue: readonly (readonly [string, TreeEntry | "missing" | "repository"])[];
  /** Absent: written by a release that did not know it; the setup is done again. */
  readonly ignored?: readonly string[];
}

/** What workers may write of what the setup left, as it was before the first of them. */
interface StoredWatch {
  readonly paths: readonly string[];
  readonly prints: readonly (readonly [string, string])[];
}

/** Files of a setup that are compared; further ones are not looked at. */
const MAX_WATCHED = 200_000;
/** Files that are looked at at the same time. */
const AT_ONCE = 64;

/** The files beside a tree that say what its setup has done. */
export class TreeSetup {
  readonly #folder: string;
  readonly #tree: string;

  constructor(folder: string, tree: string) {
    this.#folder = folder;
    this.#tree = tree;
  }

  async read(): Promise<SetupRecord | undefined> {
    const stored = await readJson<StoredSetup>(this.#record);
    if (stored?.ignored === undefined) return undefined;
    const residue = stored.residue.map(([path, entry]) => [fromBase64(path), entry] as const);
    const ignored = new Set(stored.ignored.map(fromBase64));
    return { commit: stored.commit, residue: new Map(residue), ignored };
  }

  async write({ commit, residue, ignored }: SetupRecord): Promise<void> {
    const stored: StoredSetup = {
      commit,
      residue: [...residue].map(([key, entry]) => [toBase64(key), entry] as const),
      ignored: [...ignored].map(toBase64),
    };
    await onDisk(this.#folder, async () => {
      await rm(this.#watch, { force: true });
      await writeWhole(this.#record, JSON.stringify(stored));
    });
  }

  async remove(): Promise<void> {
    await rm(this.#record, { force: true });
    await rm(this.#watch, { force: true });
  }

  /**
   * Notes how ignored files of the setup are, before a worker can write them. Usually there are
   * none: `node_modules` lies outside of what a port owns.
   *
   * @param writable of the worker, from the root of the tree; "" is the root.
   */
  async watch(writable: readonly string[]): Promise<void> {
    const setup = await this.read();
    if (!setup) return;
    const known = await readJson<StoredWatch>(this.#watch);
    const watched = new Set(known?.paths.map(fromBase64));
    const fresh = [...setup.ignored].filter(
      (key) => !watched.has(key) && writable.some((path) => isNested(key, keyOf(path))),
    );
    if (fresh.length === 0) return;
    const prints = await printsBelow(this.#tree, fresh);
    const all: StoredWatch = {
      paths: [...watched, ...fresh].map(toBase64),
      prints: [
        ...(known?.prints ?? []),
        ...[...prints].map(([key, print]) => [toBase64(key), print] as const),
      ],
    };
    await onDisk(this.#folder, () => writeWhole(this.#watch, JSON.stringify(all)));
  }

  /**
   * Takes away what was added to the setup's files. Where one was changed or removed the setup is
   * forgotten, so that it is done again.
   */
  async mend(): Promise<void> {
    const known = await readJson<StoredWatch>(this.#watch);
    if (!known) return;
    const before = new Map(known.prints.map(([path, print]) => [fromBase64(path), print]));
    const now = await printsBelow(this.#tree, known.paths.map(fromBase64));
    const isWhole = [...before].every(([key, print]) => now.get(key) === print);
    if (!isWhole) return this.remove();
    if (before.size >= MAX_WATCHED) return;
    const added = [...now.keys()].filter((key) => !before.has(key));
    for (const key of added) await removeAll(absolute(this.#tree, key));
  }

  get #record(): string {
    return join(this.#folder, "setup.json");
  }

  get #watch(): string {
    return join(this.#folder, "setup-watch.json");
  }
}

/**
 * Tells whether the setup left something at, in or around an ignored path. The rules of a later
 * commit may cut the same files otherwise: `gen/` is one path, `gen/*` as many as are in it. Pure.
 */
export function ofSetup({ ignored }: Pick<SetupRecord, "ignored">): (key: PathKey) => boolean {
  const around = new Set([...ignored].flatMap(foldersAbove));
  const isMade = (path: string): boolean => ignored.has(path as PathKey);
  return (key) => isMade(key) || around.has(key) || foldersAbove(key).some(isMade);
}

/** Whether one of two paths is the other or lies in it. */
function isNested(one: PathKey, other: PathKey | ""): boolean {
  if (other === "" || one === other) return true;
  return one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}

/** What tells the files at and below paths apart, without reading them. */
async function printsBelow(root: string, keys: readonly PathKey[]): Promise<Map<PathKey, string>> {
  const prints = new Map<PathKey, string>();
  const waiting = [...keys];
  while (waiting.length > 0 && prints.size < MAX_WATCHED) {
    const some = waiting.splice(-AT_ONCE);
    const looks = await Promise.all(
      some.map(async (key) => [key, await statOf(root, key)] as const),
    );
    for (const [key, stats] of looks) {
      if (typeof stats === "string") continue;
      if (stats.isDirectory()) waiting.push(...(await namesIn(root, key)));
      else prints.set(key, printOf(stats));
    }
  }

  return prints;
}

async function namesIn(root: string, folder: PathKey): Promise<PathKey[]> {
  try {
    const names = await readdir(absolute(root, folder), { encoding: "buffer" });
    return names.map((name) => joinKey(folder, name.toString("latin1")));
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES"].includes(codeOf(error) ?? "")) return [];
    throw error;
  }
}

/** A file with several names changes its ctime when another name of it is made. */
function printOf({ ino, mode, size, mtimeNs, ctimeNs, nlink }: BigIntStats): string {
  return [ino, mode, size, mtimeNs, nlink > 1n ? "" : ctimeNs].join(" ");
}

/** The first files at or below an ignored path. */
export async function filesBelow(root: string, key: PathKey, most: number): Promise<PathKey[]> {
  const files: PathKey[] = [];
  const waiting: PathKey[] = [key];
  for (let looks = 0; looks < MAX_LOOKS && files.length < most; looks++) {
    const next = waiting.pop();
    if (next === undefined) break;
    const stats = await statOf(root, next);
    if (typeof stats === "string") continue;
    if (stats.isDirectory()) waiting.push(...(await namesIn(root, next)).toSorted().toReversed());
    else files.push(next);
  }

  return files;
}

/** Of {@link filesBelow}: folders may be empty. */
const MAX_LOOKS = 1_000;

function keyOf(path: string): PathKey | "" {
  return Buffer.from(path).toString("latin1") as PathKey;
}

function toBase64(key: PathKey): string {
  return Buffer.from(key, "latin1").toString("base64");
}

function fromBase64(path: string): PathKey {
  return Buffer.from(path, "base64").toString("latin1") as PathKey;
}
