import { lstat, mkdir, readdir } from "node:fs/promises";
import { userInfo } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DureError, codeOf } from "../../kernel/errors.ts";
import { isWithin } from "../sandbox/mount-plan.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import { foldPath, literalPrefix, pathsMeet, type GlobPath } from "../glob.ts";
import { decideRead, decideWrite, foldedGlob, isHiddenFrom, type Scope } from "../scope.ts";
import type { Listing } from "./listing.ts";
import { foldersAbove, isText, textOf } from "./paths.ts";

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
/**
 * What programs are run with: it stays to be seen in a person's working tree whose files are
 * hidden. Source: npm, Yarn, Python, Bundler, Composer.
 */
const SOFTWARE_FOLDERS = ["node_modules", ".yarn", ".venv", "venv", ".bundle", "vendor"];
/** The folder of dure itself, whose own programs run inside. */
const OWN_SOFTWARE = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

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
export function placesOf(scope: Scope): ScopePlaces {
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

/** Whether nothing in a folder, there or not, can be written. Pure. */
export function isWriteClosed(scope: Scope, folder: string): boolean {
  return (
    !meets(scope.writes, folder) ||
    [scope.contracts, scope.exceptions, scope.forbidden].some((globs) => covers(globs, folder))
  );
}

/**
 * Whether all that could be in a folder is forbidden to read. Pure. A contract is read wherever it
 * lies.
 */
export function isReadClosed(scope: Scope, folder: string): boolean {
  return covers(scope.forbidden, folder) && !meets(scope.contracts, folder);
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
    readonly scope: Scope;
    readonly listing: Listing;
    readonly scratch: string;
  },
): Promise<Confinement> {
  const { scope, listing, tree, scratch } = options;
  const { writable, beside } = await openWritable(placesOf(scope), tree);
  const paths = pathsOf(listing);
  const names = paths.map(({ path }) => path);
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
  readonly scope: Scope;
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
  scope: Scope,
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

function refuseScattered(scope: Scope, paths: number): void {
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
export function withheldOf(scope: Scope, paths: readonly string[]): string[] {
  if (scope.withheld === undefined) return [];
  const refused = new Set(paths.filter((path) => isHiddenFrom(scope, path)));
  const seen = new Set(paths.flatMap((path) => (refused.has(path) ? [] : foldersAbove(path))));
  const isOnlyTheirs = (folder: string): boolean =>
    !seen.has(folder) && !meets(scope.writes, folder) && !meets(scope.contracts, folder);
  return coverOf(refused, () => true, isOnlyTheirs);
}

/**
 * The person's working tree, and the main one of a linked worktree: hidden, but for the software
 * that lies in it. Where it is a home folder, or holds the programs of this very process, only what
 * the commit has is hidden: a worker could not start without the rest.
 */
async function personsFiles(
  { original, stores, tree }: TreeSurroundings,
  forbidden: readonly string[],
  paths: readonly string[],
): Promise<Pick<Confinement, "hidden" | "readOnly">> {
  const mains = stores.filter((store) => basename(store) === ".git").map(dirname);
  const known = original === undefined ? mains : [original, ...mains];
  const roots = [...new Set(known)].filter((root) => !isWithin(root, tree));
  const hidden: string[] = [];
  const readOnly: string[] = [];
  for (const root of roots) {
    const software = await existingOf(root, SOFTWARE_FOLDERS);
    const isSoftware = (path: string): boolean => software.some((folder) => isWithin(path, folder));
    const holdsPrograms = isWithin(process.execPath, root) && !isSoftware(process.execPath);
    if (isHome(root) || holdsPrograms) {
      const tops = paths.map((path) => path.split("/")[0]!);
      const names = [
        ...(await environmentFiles(root)),
        ...forbidden,
        ...tops.filter((name) => !SOFTWARE_FOLDERS.includes(name)),
      ];
      hidden.push(...(await existingOf(root, [...new Set(names)])));
      continue;
    }
    hidden.push(root);
    readOnly.push(...software);
    if (isWithin(OWN_SOFTWARE, root) && !isSoftware(OWN_SOFTWARE)) readOnly.push(OWN_SOFTWARE);
  }

  return { hidden, readOnly };
}

/**
 * Files with settings of programs, keys among them: they lie at the root and in no commit.
 */
async function environmentFiles(root: string): Promise<readonly string[]> {
  const names = await readdir(root).catch(() => []);
  return names.filter((name) => /^\.env(?:\..*)?$/.test(name));
}

function isHome(root: string): boolean {
  try {
    return isWithin(userInfo().homedir, root);
  } catch {
    return false; // a user without an entry has no home
  }
}

/** Whether a pattern could match something in a folder. Asked without case. */
function meets(globs: Scope["writes"], folder: string): boolean {
  const inFolder = foldedGlob(`${escape(folder)}/**`).alternatives[0]!;
  return globs.some(({ folded }) =>
    folded.alternatives.some((alternative) => pathsMeet(alternative, inFolder)),
  );
}

/**
 * Whether a pattern matches all that could be in a folder: it ends in `**`, and its folder is this
 * one or above it.
 */
function covers(globs: Scope["writes"], folder: string): boolean {
  return globs.some(({ folded }) =>
    folded.alternatives.some((alternative) => isAllOf(alternative, foldPath(folder))),
  );
}

function isAllOf(path: GlobPath, folder: string): boolean {
  const prefix = wholeFolder(path);
  return prefix !== undefined && isBelow(folder, prefix);
}

/** `src/api` of `src/api/**`; undefined for any other pattern. */
function wholeFolder(path: GlobPath): string | undefined {
  const prefix = literalPrefix(path);
  const [first, second, ...more] = path.slice(prefix.length);
  const isStar = Array.isArray(second) && second.length === 1 && second[0] === "*";
  const isWhole = first === "**" && isStar && more.length === 0;

  return isWhole ? prefix.join("/") : undefined;
}

/**
 * Folders inside writable ones that are all another's: made, so that they can be closed before
 * another process makes them.
 */
async function madeClosed(
  scope: Scope,
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

/** Forbidden folders that are there although no commit has them, such as what a setup made. */
async function existingFolders(scope: Scope, tree: string): Promise<string[]> {
  const folders = scope.forbidden
    .flatMap(({ exact }) =>
      exact.alternatives.flatMap((alternative) => wholeFolder(alternative) ?? []),
    )
    .filter((folder) => folder !== "" && isReadClosed(scope, folder));
  return (await existingOf(tree, folders)).map((path) => path.slice(tree.length + 1));
}

async function existingOf(root: string, paths: readonly string[]): Promise<string[]> {
  const full = paths.map((path) => join(root, path));
  const kinds = await Promise.all(full.map(kindOf));

  return full.filter((_path, index) => kinds[index] !== undefined);
}

/** A link on the way would open another place than the pattern names. */
async function makeFolder(tree: string, folder: string): Promise<void> {
  for (const part of folder === "" ? [] : [...foldersAbove(folder), folder]) {
    const path = join(tree, part);
    const kind = await kindOf(path);
    if (kind === undefined) await mkdir(path);
    else if (kind !== "folder") throw throughLink(part, kind);
  }
}

async function isPlainFile(tree: string, file: string): Promise<boolean> {
  for (const part of foldersAbove(file)) {
    const kind = await kindOf(join(tree, part));
    if (kind === undefined) return false;
    if (kind !== "folder") throw throughLink(part, kind);
  }
  const kind = await kindOf(join(tree, file));
  if (kind === undefined || kind === "file") return kind === "file";
  throw throughLink(file, kind);
}

function throughLink(path: string, kind: string): DureError {
  const found = kind === "link" ? "a symbolic link" : `a ${kind}`;
  const needed = kind === "file" ? "a folder" : "a plain path";

  return new DureError(
    "SCOPE_THROUGH_LINK",
    `${path} is ${found} where this worker's patterns need ${needed}.`,
    {
      class: "conflict",
      hint: "Name the place that it leads to in the plan, or replace the link in the repository.",
    },
  );
}

async function kindOf(path: string): Promise<"file" | "folder" | "link" | "special" | undefined> {
  try {
    const stats = await lstat(path);
    if (stats.isFile()) return "file";
    if (stats.isDirectory()) return "folder";

    return stats.isSymbolicLink() ? "link" : "special";
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}

/** Whether a path is a folder or in it. */
function isBelow(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** Whether another path of the set holds this one. */
function isInside(path: string, folders: ReadonlySet<string>): boolean {
  return (
    (path !== "" && folders.has("")) || foldersAbove(path).some((folder) => folders.has(folder))
  );
}

function escape(path: string): string {
  return path.replace(/[*?[\]{}\\]/g, "\\$&");
}
