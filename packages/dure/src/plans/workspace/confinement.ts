import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DureError } from "../../kernel/errors.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import { literalPrefix } from "../glob.ts";
import { decideRead, decideWrite, isHiddenFrom, type WorkerScope } from "../scope.ts";
import type { Listing } from "./listing.ts";
import { foldersAbove, isText, textOf } from "./paths.ts";
import {
  existingFolders,
  isBelow,
  isInside,
  isPlainFile,
  isReadClosed,
  isWriteClosed,
  makeFolder,
  meets,
  personsFiles,
  wholeFolder,
} from "./confined-paths.ts";

/** Paths of a scope that a sandbox can be told of; each is a mount, and Linux takes 100,000. */
const MAX_CONFINED_PATHS = 2_000;
/**
 * Paths that are hidden because they belong to other ports. 4,000 mounts of files take about a
 * second (measured: 2,000 in 0.3 s, 5,000 in 1.5 s).
 */
const MAX_WITHHELD_PATHS = 4_000;
/**
 * Entries of a folder that is opened for one file of it, so that programs can replace that file by
 * another that they made beside it. Each is a mount.
 */
const MAX_BESIDE = 300;

/** A scope as places in a tree. From its root; "" is the root itself. */
export interface ScopePlaces {
  /** Folders that are made when they are missing. */
  readonly folders: readonly string[];
  /**
   * Files that are written one by one when they are there; else their folder is opened for them.
   */
  readonly files: readonly string[];
}

/**
 * Where a scope may write: for a pattern the folder before its first wildcard, for a plain path the
 * file. Pure.
 */
export function placesOf(scope: WorkerScope): ScopePlaces {
  const folders = new Set<string>();
  const files = new Set<string>();
  for (const { exact } of scope.writes) {
    for (const alternative of exact.alternatives) {
      const prefix = literalPrefix(alternative);
      if (prefix.length === alternative.length) files.add(prefix.join("/"));
      else folders.add(prefix.join("/"));
    }
  }
  const outer = [...folders].filter((folder) => !isInside(folder, folders));

  return {
    folders: outer.sort(),
    files: [...files].filter((file) => !isInside(file, folders)).sort(),
  };
}

/**
 * The smallest set of paths that covers all refused ones and no other: a folder stands for all that
 * is in it, now and later. Pure.
 *
 * @param mayCover whether nothing in a folder could ever be allowed.
 */
export function coverOf(
  paths: Iterable<string>,
  isRefused: (path: string) => boolean,
  mayCover: (folder: string) => boolean,
): string[] {
  const cover = new Set<string>();
  const asked = new Map<string, boolean>();
  const coverable = (folder: string): boolean => {
    const known = asked.get(folder);
    if (known !== undefined) return known;
    asked.set(folder, mayCover(folder));

    return asked.get(folder)!;
  };
  for (const path of paths) {
    const folder = foldersAbove(path).find(coverable);
    if (folder !== undefined) cover.add(folder);
    else if (isRefused(path)) cover.add(path);
  }

  return [...cover].sort();
}

/**
 * What a process may touch that works under a scope in a tree. Folders that it may write are made;
 * a commit does not see them. `hidden`: what is forbidden or withheld here, the person's own files,
 * git's stores, and what `neighbours` hold, in which everything could be read.
 *
 * Throws `SCOPE_THROUGH_LINK`, `SCOPE_TOO_SCATTERED`.
 */
export async function confine(
  options: TreeSurroundings & {
    readonly scope: WorkerScope;
    readonly listing: Listing;
    readonly scratch: string;
  },
): Promise<Confinement> {
  const { scope, listing, tree, scratch } = options;
  const paths = pathsOf(listing);
  const names = paths.map(({ path }) => path);
  const { writable, beside } = await openWritable(asSpelled(placesOf(scope), names), tree);
  const readOnly = await closedIn(writable, { scope, tree, paths, beside });
  const forbidden = await forbiddenIn(scope, tree, names);
  refuseScattered(scope, writable.length + readOnly.length + forbidden.length);
  const closed = new Set(forbidden);
  const withheld = withheldOf(scope, names).filter(
    (path) => !closed.has(path) && !isInside(path, closed),
  );
  refuseManyWithheld(withheld);

  const at = (path: string): string => (path === "" ? tree : join(tree, path));
  const persons = await personsFiles(options, forbidden, names);

  return {
    cwd: tree,
    writable: [...writable.map(at), scratch],
    readOnly: [...readOnly.sort().map(at), ...persons.readOnly],
    hidden: [
      ...forbidden.map(at),
      ...withheld.map(at),
      ...persons.hidden,
      ...options.stores,
      ...options.neighbours,
    ],
    disposable: [],
  };
}

/**
 * Places by the names that the commit has for them: a name that is composed in a pattern may be
 * decomposed there, and then the mount has to say it so. Pure.
 */
function asSpelled(places: ScopePlaces, names: readonly string[]): ScopePlaces {
  const spellings = new Map<string, Set<string>>();
  for (const name of names) {
    const composed = name.normalize("NFC");
    if (composed === name) continue;
    for (const part of [...foldersAbove(name), name]) {
      const known = spellings.get(part.normalize("NFC"));
      spellings.set(part.normalize("NFC"), (known ?? new Set()).add(part));
    }
  }
  if (spellings.size === 0) return places;
  const spell = (place: string): string[] => {
    const above = [...foldersAbove(place), place].toReversed();
    const known = above.find((part) => spellings.has(part));
    if (known === undefined) return [place];
    const there = spellings.get(known)!;
    const isComposedToo = names.some((name) => isBelow(name, place));
    const spelled = [...there].map((part) => `${part}${place.slice(known.length)}`);
    return [...new Set([...spelled, ...(isComposedToo ? [place] : [])])];
  };

  return { folders: places.folders.flatMap(spell), files: places.files.flatMap(spell) };
}

/** A path of the commit, and whether a submodule stands there. */
interface CommitPath {
  readonly path: string;
  readonly isSubmodule: boolean;
}

/** Paths that are text, in order. */
function pathsOf(listing: Listing): CommitPath[] {
  const paths = [...listing].filter(([key]) => isText(key));
  return paths
    .map(([key, { mode }]) => ({ path: textOf(key), isSubmodule: mode === "160000" }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What is opened for writing. */
interface Opened {
  /** The outermost paths. */
  readonly writable: readonly string[];
  /** What lies in folders that were opened for one of their files. */
  readonly beside: readonly Beside[];
}

interface Beside {
  readonly path: string;
  readonly isFolder: boolean;
}

/**
 * Makes the folders of the places. For a file that is there its folder is opened, where all else in
 * it can be closed: many programs write a file beside it and then give it the name.
 */
async function openWritable(places: ScopePlaces, tree: string): Promise<Opened> {
  const writable = new Set<string>();
  const beside: Beside[] = [];
  for (const folder of places.folders) {
    await makeFolder(tree, folder);
    writable.add(folder);
  }
  for (const file of places.files) {
    const parent = file.split("/").slice(0, -1).join("/");
    if (!(await isPlainFile(tree, file))) {
      await makeFolder(tree, parent);
      writable.add(parent);
      continue;
    }
    const others = await closableIn(tree, parent);
    writable.add(others === undefined ? file : parent);
    beside.push(...(others ?? []));
  }
  const outer = [...writable].filter((path) => !isInside(path, writable)).sort();

  return { writable: outer, beside };
}

/**
 * What lies in a folder, where each entry can be closed by a mount. Undefined: too many, one that is
 * neither a file nor a folder, or the root, where a new file may change what programs do.
 */
async function closableIn(tree: string, folder: string): Promise<readonly Beside[] | undefined> {
  if (folder === "") return undefined;
  const entries = await readdir(join(tree, folder), { withFileTypes: true });
  if (entries.length > MAX_BESIDE) return undefined;
  if (entries.some((entry) => !entry.isFile() && !entry.isDirectory())) return undefined;

  return entries.map((entry) => ({
    path: `${folder}/${entry.name}`,
    isFolder: entry.isDirectory(),
  }));
}

interface ClosingParts extends Pick<Opened, "beside"> {
  readonly scope: WorkerScope;
  readonly tree: string;
  readonly paths: readonly CommitPath[];
}

/** What inside the writable paths may not be written. */
async function closedIn(
  writable: readonly string[],
  { scope, tree, paths, beside }: ClosingParts,
): Promise<string[]> {
  const submodules = new Set(
    paths.filter(({ isSubmodule }) => isSubmodule).map(({ path }) => path),
  );
  const inside = [...paths, ...beside.filter(({ isFolder }) => !isFolder)]
    .map(({ path }) => path)
    .filter((path) => writable.some((folder) => folder === "" || path.startsWith(`${folder}/`)));
  const others = beside.filter(({ isFolder, path }) => isFolder && isWriteClosed(scope, path));
  const made = await madeClosed(scope, tree, writable);
  const closed = [...made, ...others.map(({ path }) => path)];
  const isInner = (folder: string): boolean =>
    !writable.includes(folder) && writable.some((top) => isBelow(folder, top));
  const cover = coverOf(
    [...inside, ...closed.map((folder) => `${folder}/x`)],
    (path) => submodules.has(path) || !decideWrite(scope, path).allowed,
    (folder) => isInner(folder) && isWriteClosed(scope, folder),
  );

  return writable.includes("") ? [...cover, ".git"] : cover;
}

/** The outermost paths that must not be read, there in the commit or made by a setup. */
async function forbiddenIn(
  scope: WorkerScope,
  tree: string,
  paths: readonly string[],
): Promise<string[]> {
  const cover = coverOf(
    paths,
    (path) => decideRead(scope, path).because === "forbidden",
    (folder) => isReadClosed(scope, folder),
  );
  const all = new Set([...cover, ...(await existingFolders(scope, tree))]);

  return [...all].filter((path) => !isInside(path, all)).sort();
}

function refuseScattered(scope: WorkerScope, paths: number): void {
  if (paths <= MAX_CONFINED_PATHS) return;
  const patterns = scope.writes.map(({ exact }) => exact.text).slice(0, 5);
  const count = `${paths} separate paths, beyond ${MAX_CONFINED_PATHS}`;
  throw new DureError(
    "SCOPE_TOO_SCATTERED",
    `The patterns of this worker make ${count}: ${patterns.join(", ")}.`,
    {
      class: "limit",
      hint: "Own whole folders (src/api/**) rather than kinds of files (**/*.ts).",
    },
  );
}

function refuseManyWithheld(withheld: readonly string[]): void {
  if (withheld.length <= MAX_WITHHELD_PATHS) return;
  const count = `${withheld.length} separate paths, beyond ${MAX_WITHHELD_PATHS}`;
  throw new DureError(
    "SCOPE_TOO_SCATTERED",
    `What this worker must not see makes ${count}: ${withheld.slice(0, 5).join(", ")}.`,
    {
      class: "limit",
      hint: "Let ports own whole folders, or let this one read them (reads).",
    },
  );
}

/** Where a tree lies. Absolute and real paths. */
export interface TreeSurroundings {
  readonly tree: string;
  /** The person's working tree; undefined for a bare repository. */
  readonly original: string | undefined;
  /** Folders with objects and settings of git. */
  readonly stores: readonly string[];
  /** Folders in which other ports' trees are; the tree and its scratch folder may lie in one. */
  readonly neighbours: readonly string[];
}

/**
 * What processes in a tree are kept from that have no scope, such as the plan's own commands:
 * everything around it but software.
 */
export async function confineSurroundings(
  around: TreeSurroundings,
  listing: Listing,
): Promise<Pick<Confinement, "hidden" | "readOnly">> {
  const persons = await personsFiles(around, [], [...listing.keys()].filter(isText).map(textOf));
  return {
    hidden: [...persons.hidden, ...around.stores, ...around.neighbours],
    readOnly: persons.readOnly,
  };
}

/**
 * The fewest folders and files that stand for what is withheld. A folder does when all that the
 * commit has in it is, and nothing in it could be written or is a contract. Pure.
 */
export function withheldOf(scope: WorkerScope, paths: readonly string[]): string[] {
  if (scope.withheld === undefined) return [];
  const refused = new Set(paths.filter((path) => isHiddenFrom(scope, path)));
  const seen = new Set(paths.flatMap((path) => (refused.has(path) ? [] : foldersAbove(path))));
  const isOnlyTheirs = (folder: string): boolean =>
    !seen.has(folder) && !meets(scope.writes, folder) && !meets(scope.contracts, folder);
  return coverOf(refused, () => true, isOnlyTheirs);
}

/**
 * Folders inside writable ones that are all another's: made, so that they can be closed before
 * another process makes them.
 */
async function madeClosed(
  scope: WorkerScope,
  tree: string,
  writable: readonly string[],
): Promise<string[]> {
  const made: string[] = [];
  for (const { exact } of [...scope.exceptions, ...scope.forbidden]) {
    for (const alternative of exact.alternatives) {
      const folder = wholeFolder(alternative);
      if (folder === undefined || folder === "") continue;
      if (!writable.some((top) => top !== folder && isBelow(folder, top))) continue;
      await makeFolder(tree, folder);
      made.push(folder);
    }
  }

  return made;
}
