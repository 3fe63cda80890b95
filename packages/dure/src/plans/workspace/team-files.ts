import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isWithin } from "../sandbox/mount-plan.ts";
import type { Git } from "./git.ts";

/** Folders of a team that hold its files also where one of them is a repository of its own. */
const TEAM_FOLDERS = ["agents", "plans", "prompts", "services", "skills", "tools"] as const;

/** Where a repository's working trees are. Real paths. */
export interface RepositoryTrees {
  readonly root: string;
  readonly isBare: boolean;
}

/** What a team runs that may lie outside of its folder. Absolute paths; what is not there counts not. */
export interface TeamRuns {
  /** Of services. */
  readonly folders: readonly string[];
  /** Programs; a folder among them is none. */
  readonly files: readonly string[];
}

interface TeamFilesParts {
  readonly folder: string;
  readonly git: Git;
  readonly runs?: TeamRuns | undefined;
}

/**
 * The files of a team: what the server runs as its own code, and what its agents are told. A
 * repository holds them where one of its working trees contains the team's folder, or is it, or
 * lies in a part of it. Source: docs/spec/platform §6.
 */
export class TeamFiles {
  readonly #folder: string;
  readonly #git: Git;
  readonly #runs: TeamRuns;

  constructor({ folder, git, runs = NOTHING }: TeamFilesParts) {
    this.#folder = folder;
    this.#git = git;
    this.#runs = runs;
  }

  /**
   * Paths within a repository at and below which the team's files are; `""`: all of it. Real paths
   * are compared, of each working tree.
   */
  async within(repository: RepositoryTrees, signal?: AbortSignal): Promise<readonly string[]> {
    const [places, trees] = await Promise.all([this.#places(), this.#trees(repository, signal)]);
    const found = trees.flatMap((tree) => places.flatMap((place) => this.#part(tree, place)));

    return [...new Set(found)];
  }

  /** Pure but for the folder's own name. */
  #part(tree: string, { path, isLinked }: TeamFilePlace): readonly string[] {
    if (isWithin(path, tree)) return [relative(tree, path)];
    if (!isWithin(tree, path)) return [];
    const [first] = relative(path, tree).split("/");

    return isLinked || isTeamFolder(first ?? "") ? [""] : [];
  }

  /** The folder, what its links lead to, and what the team runs from elsewhere, also packages. */
  async #places(): Promise<readonly TeamFilePlace[]> {
    const folder = await realpath(this.#folder).catch(() => undefined);
    if (folder === undefined) return [];
    const [folders, files] = [await realOf(this.#runs.folders), await realOf(this.#runs.files)];
    const areFiles = await Promise.all(files.map(async (path) => (await stat(path)).isFile()));
    const runs = [...folders, ...files.filter((_, index) => areFiles[index])];
    const links = await Promise.all([
      linksIn(folder, isTeamLink),
      ...TEAM_FOLDERS.map((name) => linksIn(join(folder, name))),
    ]);

    return [
      { path: folder, isLinked: false },
      ...[
        ...links.flat().filter((path) => !isWithin(path, folder)),
        ...runs,
        ...packagesAbove(folder),
      ].map((path) => ({ path, isLinked: true })),
    ];
  }

  async #trees(
    { root, isBare }: RepositoryTrees,
    signal: AbortSignal | undefined,
  ): Promise<readonly string[]> {
    const { stdout } = await this.#git.run(["worktree", "list", "--porcelain", "-z"], {
      at: { cwd: root },
      signal,
    });
    const listed = stdout
      .toString()
      .split("\0\0")
      .map((block) => block.split("\0"))
      .filter((lines) => lines[0] !== "" && !lines.includes("bare"))
      .map(([first]) => first!.replace(/^worktree /, ""));
    const real = await Promise.all(
      [...(isBare ? [] : [root]), ...listed].map((path) => realpath(path).catch(() => path)),
    );

    return [...new Set(real)];
  }
}

const NOTHING: TeamRuns = { folders: [], files: [] };

interface TeamFilePlace {
  readonly path: string;
  /** A link of the team leads there, or the team runs it. */
  readonly isLinked: boolean;
}

function isTeamFolder(name: string): boolean {
  return TEAM_FOLDERS.some((folder) => folder === name.toLowerCase());
}

/**
 * Where Node looks for packages of code in the folder. One that is not there yet would be found: a
 * package may import others where they are there. Pure.
 */
function packagesAbove(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [join(parent, "node_modules"), ...packagesAbove(parent)];
}

async function realOf(paths: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
  return real.filter((path) => path !== undefined);
}

/** A link of the team's folder that holds its files: to a file, or one of its folders. */
async function isTeamLink(name: string, target: string): Promise<boolean> {
  return isTeamFolder(name) || (await stat(target)).isFile();
}

/** Real paths of what the links of a folder lead to. */
async function linksIn(
  folder: string,
  counts: (name: string, target: string) => Promise<boolean> = async () => true,
): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink());
  const real = await Promise.all(
    links.map(async ({ name }) => {
      const target = await realpath(join(folder, name)).catch(() => undefined);
      return target !== undefined && (await counts(name, target)) ? target : undefined;
    }),
  );

  return real.filter((path) => path !== undefined);
}

/**
 * Those of the paths that are the team's, or that the team's lie below: a folder above them may
 * become a link. Case and form of letters are not compared: some file systems do not. Pure.
 */
export function teamPathsIn(paths: readonly string[], within: readonly string[]): string[] {
  const parts = within.map(folded);
  return paths.filter((path) => {
    const name = folded(path);
    return parts.some((part) => part === "" || isWithin(name, part) || isWithin(part, name));
  });
}

function folded(path: string): string {
  return path.normalize("NFC").toLowerCase();
}
