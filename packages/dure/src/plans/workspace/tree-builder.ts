import type { Listed, TreeEntry } from "./listing.ts";
import { foldersAbove, type PathKey } from "./paths.ts";

/** `entry` undefined: deleted. */
export interface EntryWrite {
  readonly key: PathKey;
  readonly entry: TreeEntry | undefined;
}

interface Child {
  readonly name: string;
  readonly mode: string;
  readonly id: string;
}

/**
 * The trees of a commit after changes: `write` gets each that is not as it was, those below first,
 * and answers with its id; the last is the root. A file that comes where a folder was takes its
 * place, and a folder that of a file, as git's index has it.
 */
export async function buildTrees(
  before: Listed,
  changes: readonly EntryWrite[],
  write: (tree: Buffer) => Promise<string>,
): Promise<{ readonly root: string; readonly after: Listed }> {
  const { files, changed } = applied(before, changes);
  const folders = new Map([...before.folders].filter(([folder]) => !changed.has(folder)));
  const children = new Map<string, Child[]>([...changed].map((folder) => [folder, []]));
  for (const [key, { mode, id }] of files) {
    children.get(folderOf(key))?.push({ name: nameOf(key), mode, id });
  }
  for (const [folder, id] of folders) {
    children.get(folderOf(folder))?.push({ name: nameOf(folder), mode: FOLDER, id });
  }
  // Those below come first: each is a child of the next.
  const deepestFirst = [...changed].sort((a, b) => depthOf(b) - depthOf(a));
  for (const folder of deepestFirst.slice(0, -1)) {
    const own = children.get(folder)!;
    if (own.length === 0) continue;
    const id = await write(treeOf(own));
    folders.set(folder as PathKey, id);
    children.get(folderOf(folder))!.push({ name: nameOf(folder), mode: FOLDER, id });
  }

  return { root: await write(treeOf(children.get("")!)), after: { files, folders } };
}

const FOLDER = "40000";

/** All files, and the folders in whose list something is other than it was, with the root. */
function applied(
  before: Listed,
  changes: readonly EntryWrite[],
): { files: Map<PathKey, TreeEntry>; changed: Set<string> } {
  const files = new Map(before.files);
  const changed = new Set([""]);
  const remove = (key: PathKey): void => {
    if (files.delete(key)) for (const folder of foldersAbove(key)) changed.add(folder);
  };
  for (const { key, entry } of changes) if (entry === undefined) remove(key);
  for (const { key, entry } of changes) {
    if (entry === undefined) continue;
    const above = foldersAbove(key);
    for (const folder of above) {
      remove(folder as PathKey);
      changed.add(folder);
    }
    if (before.folders.has(key)) {
      for (const other of [...files.keys()]) if (other.startsWith(`${key}/`)) remove(other);
    }
    files.set(key, entry);
  }

  const isLonger = changes.some(({ key, entry }) => entry && !before.files.has(key));
  return { files: isLonger ? inOrder(files) : files, changed };
}

/** git's order, which is that of the bytes. */
function inOrder(files: ReadonlyMap<PathKey, TreeEntry>): Map<PathKey, TreeEntry> {
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function treeOf(children: readonly Child[]): Buffer {
  const sorted = children
    .map((child) => ({ child, key: child.mode === FOLDER ? `${child.name}/` : child.name }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  return Buffer.concat(
    sorted.flatMap(({ child: { name, mode, id } }) => [
      Buffer.from(`${mode} ${name}\0`, "latin1"),
      Buffer.from(id, "hex"),
    ]),
  );
}

/** The root is "", and its own parent is none. */
function folderOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/")));
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

function depthOf(folder: string): number {
  return folder === "" ? -1 : folder.split("/").length;
}
