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
  const sorted = sortPaths(base, results);
  refuseClashes(base, sorted);
  const changes = [...sorted.taken].map(([key, { entry }]) => ({ key, entry }));
  const conflicts = [...sorted.refused].map(([key, ports]) => ({ key, ports: [...ports].sort() }));
  return {
    changes: changes.filter(({ key, entry }) => !sameEntry(base.get(key), entry)).sort(byKey),
    conflicts: conflicts.sort(byKey),
  };
}

/** Paths that the overlay takes, and those on which ports do not agree. */
interface SortedPaths {
  readonly taken: Map<PathKey, { entry: TreeEntry | undefined; ports: readonly string[] }>;
  readonly refused: Map<PathKey, Set<string>>;
}

function sortPaths(base: Listing, results: readonly PortChanges[]): SortedPaths {
  const sorted: SortedPaths = { taken: new Map(), refused: new Map() };
  for (const [key, found] of changesByPath(results)) {
    const ports = found.map(({ port }) => port);
    const changes = found.map(({ change }) => change);
    const last = lastOf(base.get(key), changes);
    if (last) sorted.taken.set(key, { entry: last.entry, ports });
    else refuse(sorted, key, ports);
  }
  return sorted;
}

function changesByPath(
  results: readonly PortChanges[],
): Map<PathKey, { port: string; change: EntryChange }[]> {
  const byPath = new Map<PathKey, { port: string; change: EntryChange }[]>();
  for (const { port, changes } of results) {
    for (const change of changes) {
      const known = byPath.get(change.key);
      if (known) known.push({ port, change });
      else byPath.set(change.key, [{ port, change }]);
    }
  }
  return byPath;
}

function refuse({ taken, refused }: SortedPaths, key: PathKey, ports: readonly string[]): void {
  taken.delete(key);
  refused.set(key, new Set([...(refused.get(key) ?? []), ...ports]));
}

/**
 * A path that is refused may leave a file of the base where another one needs a folder, and so on,
 * until nothing clashes.
 */
function refuseClashes(base: Listing, sorted: SortedPaths): void {
  const { taken, refused } = sorted;
  const portsAt = (key: PathKey): Iterable<string> =>
    taken.get(key)?.ports ?? refused.get(key) ?? [];
  for (;;) {
    const clashes = findClashes(base, taken);
    if (clashes.length === 0) return;
    for (const { file, inside } of clashes) {
      const ports = [...portsAt(file), ...portsAt(inside)];
      if (taken.has(file)) refuse(sorted, file, ports);
      if (taken.has(inside)) refuse(sorted, inside, ports);
    }
  }
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
    const agree = next.every((change) => sameEntry(change.new, next[0]!.new));
    if (next.length === 0 || !agree) return undefined;
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
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}
