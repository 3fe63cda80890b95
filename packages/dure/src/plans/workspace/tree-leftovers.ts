import { rmdir } from "node:fs/promises";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { sameEntry, type TreeEntry } from "./listing.ts";
import type { Residue } from "./owned-changes.ts";
import { foldersAbove, type PathKey, textOf } from "./paths.ts";
import type { Found } from "./look-at.ts";

/** What the setup made of a file that no commit has as it is now. */
export function residueOf(one: Found): [PathKey, TreeEntry | "missing"][] {
  if (one.kind === "missing") return [[one.key, "missing"]];
  return one.entry ? [[one.key, one.entry]] : [];
}

/**
 * What the setup left beside the commit stays; what it changed of the commit's own files does not.
 */
export function isLeftBySetup(
  one: Found,
  residue: Residue,
  listing: ReadonlyMap<PathKey, TreeEntry>,
): boolean {
  const left = residue.get(one.key);
  if (one.kind === "missing" || left === undefined || left === "missing") return false;
  return sameEntry(left, one.entry) && !listing.has(one.key);
}

/**
 * A path that is too long to be named is removed together with the outermost folder around it that
 * is new.
 */
export function reachableKey(one: Found, newFolders: readonly PathKey[]): PathKey {
  if (one.kind !== "odd" || one.because !== "too-long") return one.key;
  const fresh = new Set<string>(newFolders);
  return (foldersAbove(one.key).find((folder) => fresh.has(folder)) ?? one.key) as PathKey;
}

export function refuseMounts(found: readonly Found[]): void {
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

export async function removeEmpty(path: Buffer): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (!NOT_REMOVED.includes(codeOf(error) ?? "")) throw error;
  }
}

export function notSafe(port: string, because: string, hint: string): DureError {
  return new DureError("TREE_NOT_SAFE", `The tree of port ${port} is not removed: ${because}.`, {
    class: "conflict",
    hint,
  });
}
