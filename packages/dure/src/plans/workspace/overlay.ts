import { sameEntry, type EntryChange, type Listing, type TreeEntry } from "./listing.ts";
import { foldersAbove, type PathKey } from "./paths.ts";

/** What one port changed, against the commit that it started from. */
export interface PortChanges {
  readonly port: string;
  readonly changes: readonly EntryChange[];
}

export interface Overlay {
  /** `entry` undefined: deleted. In the order of paths. */
  readonly changes: readonly { readonly key: PathKey; readonly entry: TreeEntry | undefined }[];
  /** Paths that several ports left differently; the base's stays there. In the order of paths. */
  readonly conflicts: readonly { readonly key: PathKey; readonly ports: readonly string[] }[];
}

/**
 * Lays the changes of several ports over a base, path by path. Pure; the order of the ports does
 * not matter. A change that was made on top of another one (its old content is the other's new one)
 * follows it; all others of the same path must agree. A file where another port needs a folder is a
 * conflict of both.
 */
export function overlay(base: Listing, results: readonly PortChanges[]): Overlay {
  const byPath = new Map<PathKey, { port: string; change: EntryChange }[]>();
  for (const { port, changes } of results) {
    for (const change of changes) {
      byPath.set(change.key, [...(byPath.get(change.key) ?? []), { port, change }]);
    }
  }
  const taken = new Map<PathKey, { entry: TreeEntry | undefined; ports: string[] }>();
  const conflicts = new Map<PathKey, Set<string>>();
  const refuse = (key: PathKey, ports: readonly string[]): void => {
    taken.delete(key);
    conflicts.set(key, new Set([...(conflicts.get(key) ?? []), ...ports]));
  };
  for (const [key, found] of byPath) {
    const ports = found.map(({ port }) => port);
    const last = lastOf(
      base.get(key),
      found.map(({ change }) => change),
    );
    if (last) taken.set(key, { entry: last.entry, ports });
    else refuse(key, ports);
  }
  // A path that is refused may leave a file of the base where another one needs a folder, and so
  // on.
  for (
    let clashes = findClashes(base, taken);
    clashes.length > 0;
    clashes = findClashes(base, taken)
  ) {
    for (const { file, inside } of clashes) {
      const ports = [
        ...(taken.get(file)?.ports ?? conflicts.get(file) ?? []),
        ...(taken.get(inside)?.ports ?? conflicts.get(inside) ?? []),
      ];
      if (taken.has(file)) refuse(file, ports);
      if (taken.has(inside)) refuse(inside, ports);
    }
  }
  return {
    changes: [...taken]
      .map(([key, { entry }]) => ({ key, entry }))
      .filter(({ key, entry }) => !sameEntry(base.get(key), entry))
      .sort(byKey),
    conflicts: [...conflicts]
      .map(([key, ports]) => ({ key, ports: [...ports].sort() }))
      .sort(byKey),
  };
}

/** What stands at a path after all changes of it; undefined when they do not make one chain. */
function lastOf(
  base: TreeEntry | undefined,
  changes: readonly EntryChange[],
): { entry: TreeEntry | undefined } | undefined {
  const isOne = changes.every((change) => sameEntry(change.new, changes[0]!.new));
  if (isOne) return { entry: changes[0]!.new };
  let current = base;
  const left = [...changes];
  while (left.length > 0) {
    const next = left.filter((change) => sameEntry(change.old, current));
    if (next.length === 0 || !next.every((change) => sameEntry(change.new, next[0]!.new))) {
      return undefined;
    }
    current = next[0]!.new;
    for (const change of next) left.splice(left.indexOf(change), 1);
  }
  return { entry: current };
}

/** Pairs of a file and a path inside it, in what the overlay would make. */
function findClashes(
  base: Listing,
  taken: ReadonlyMap<PathKey, { entry: TreeEntry | undefined }>,
): { file: PathKey; inside: PathKey }[] {
  const stays = (key: PathKey): boolean =>
    taken.has(key) ? taken.get(key)!.entry !== undefined : base.has(key);
  const added = [...taken]
    .filter(([key, { entry }]) => entry !== undefined && !base.has(key))
    .map(([key]) => key);
  if (added.length === 0) return [];
  const addedSet = new Set<string>(added);
  const clashes = added.flatMap((key) =>
    foldersAbove(key)
      .filter((folder) => stays(folder as PathKey))
      .map((folder) => ({ file: folder as PathKey, inside: key })),
  );
  for (const key of base.keys()) {
    if (!stays(key)) continue;
    for (const folder of foldersAbove(key)) {
      if (addedSet.has(folder)) clashes.push({ file: folder as PathKey, inside: key });
    }
  }
  return clashes;
}

function byKey(a: { readonly key: PathKey }, b: { readonly key: PathKey }): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
