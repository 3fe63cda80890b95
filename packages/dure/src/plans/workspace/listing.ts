import type { Git, GitPlace } from "./git.ts";
import type { PathKey } from "./paths.ts";

/** What stands at a path in a commit. `160000` is a submodule: the id of a commit elsewhere. */
export interface TreeEntry {
  readonly mode: "100644" | "100755" | "120000" | "160000";
  readonly id: string;
}

/** All paths of a commit but folders, in git's order. */
export type Listing = ReadonlyMap<PathKey, TreeEntry>;

/** How a path differs between two commits; undefined where it is not there. */
export interface EntryChange {
  readonly key: PathKey;
  readonly old: TreeEntry | undefined;
  readonly new: TreeEntry | undefined;
}

/** What a commit holds: files, and the ids of its folders but the root. */
export interface Listed {
  readonly files: Map<PathKey, TreeEntry>;
  readonly folders: Map<PathKey, string>;
}

export async function listTree(
  git: Git,
  at: GitPlace,
  commit: string,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Listed> {
  const { stdout } = await git.run(["ls-tree", "-r", "-t", "-z", "--full-tree", commit], {
    at,
    ...options,
  });
  const listed: Listed = { files: new Map(), folders: new Map() };
  for (const line of fieldsOf(stdout)) {
    const tab = line.indexOf("\t");
    const key = line.slice(tab + 1) as PathKey;
    const [mode, type, id] = line.slice(0, tab).split(" ");
    if (type === "tree") listed.folders.set(key, id!);
    else listed.files.set(key, entryOf(mode!, id!)!);
  }
  return listed;
}

/** Renames are a path that disappears and one that appears. */
export async function diffTrees(
  git: Git,
  at: GitPlace,
  { from, to, signal }: { from: string; to: string; signal?: AbortSignal | undefined },
): Promise<EntryChange[]> {
  const { stdout } = await git.run(
    ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", from, to],
    { at, signal },
  );
  return changesIn(fieldsOf(stdout));
}

/** Fields of git's raw form, two for each path. Pure. */
export function changesIn(fields: readonly string[]): EntryChange[] {
  const changes: EntryChange[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [oldMode, newMode, oldId, newId] = fields[index]!.slice(1).split(" ");
    changes.push({
      key: fields[index + 1] as PathKey,
      old: entryOf(oldMode!, oldId!),
      new: entryOf(newMode!, newId!),
    });
  }

  return changes;
}

/** Fields that end with NUL, one byte per character. */
export function fieldsOf(output: Buffer): string[] {
  const fields = output.toString("latin1").split("\0");
  fields.pop();
  return fields;
}

export function sameEntry(a: TreeEntry | undefined, b: TreeEntry | undefined): boolean {
  return a?.id === b?.id && a?.mode === b?.mode;
}

/** Old repositories have 100664, which is 100644. */
function entryOf(mode: string, id: string): TreeEntry | undefined {
  if (mode === "000000") return undefined;
  return { mode: mode === "100664" ? "100644" : (mode as TreeEntry["mode"]), id };
}
