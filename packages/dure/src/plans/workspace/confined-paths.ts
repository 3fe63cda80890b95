import { lstat, mkdir, readdir } from "node:fs/promises";
import { userInfo } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type WorkerScope } from "../scope.ts";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { isWithin } from "../sandbox/mount-plan.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import { foldPath, folderGlob, type GlobPath, literalPrefix, pathsMeet } from "../glob.ts";
import { foldersAbove } from "./paths.ts";
import type { TreeSurroundings } from "./confinement.ts";

/**
 * What programs are run with: it stays to be seen in a person's working tree whose files are
 * hidden. Source: npm, Yarn, Python, Bundler, Composer.
 */
const SOFTWARE_FOLDERS = ["node_modules", ".yarn", ".venv", "venv", ".bundle", "vendor"];
/** The folder of dure itself, whose own programs run inside. */
const OWN_SOFTWARE = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

/**
 * Whether all that could be in a folder is forbidden to read. Pure. A contract is read wherever it
 * lies.
 */
export function isReadClosed(scope: WorkerScope, folder: string): boolean {
  return covers(scope.forbidden, folder) && !meets(scope.contracts, folder);
}

/**
 * The person's working tree, and the main one of a linked worktree: hidden, but for the software
 * that lies in it. Where it is a home folder, or holds the programs of this very process, only what
 * the commit has is named: for another user on a copy the rest must stay open.
 */
export async function personsFiles(
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
    readOnly.push(...software);
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
export function meets(globs: WorkerScope["writes"], folder: string): boolean {
  const inFolder = folderGlob(foldPath(folder));
  return globs.some(({ folded }) =>
    folded.alternatives.some((alternative) => pathsMeet(alternative, inFolder)),
  );
}

/**
 * Whether a pattern matches all that could be in a folder: it ends in `**`, and its folder is this
 * one or above it.
 */
function covers(globs: WorkerScope["writes"], folder: string): boolean {
  return globs.some(({ folded }) =>
    folded.alternatives.some((alternative) => isAllOf(alternative, foldPath(folder))),
  );
}

function isAllOf(path: GlobPath, folder: string): boolean {
  const prefix = wholeFolder(path);
  return prefix !== undefined && isBelow(folder, prefix);
}

/** `src/api` of `src/api/**`; undefined for any other pattern. */
export function wholeFolder(path: GlobPath): string | undefined {
  const prefix = literalPrefix(path);
  const [first, second, ...more] = path.slice(prefix.length);
  const isStar = Array.isArray(second) && second.length === 1 && second[0] === "*";
  const isWhole = first === "**" && isStar && more.length === 0;

  return isWhole ? prefix.join("/") : undefined;
}

/** Forbidden folders that are there although no commit has them, such as what a setup made. */
export async function existingFolders(scope: WorkerScope, tree: string): Promise<string[]> {
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
export async function makeFolder(tree: string, folder: string): Promise<void> {
  for (const part of folder === "" ? [] : [...foldersAbove(folder), folder]) {
    const path = join(tree, part);
    const kind = await kindOf(path);
    if (kind === undefined) await mkdir(path);
    else if (kind !== "folder") throw throughLink(part, kind);
  }
}

export async function isPlainFile(tree: string, file: string): Promise<boolean> {
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
export function isBelow(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** Whether another path of the set holds this one. */
export function isInside(path: string, folders: ReadonlySet<string>): boolean {
  return (
    (path !== "" && folders.has("")) || foldersAbove(path).some((folder) => folders.has(folder))
  );
}

/** Whether nothing in a folder, there or not, can be written. Pure. */
export function isWriteClosed(scope: WorkerScope, folder: string): boolean {
  return (
    !meets(scope.writes, folder) ||
    [scope.contracts, scope.exceptions, scope.forbidden].some((globs) => covers(globs, folder))
  );
}
