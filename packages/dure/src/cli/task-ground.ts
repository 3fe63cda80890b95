import { existsSync } from "node:fs";
import path from "node:path";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { Project } from "../plans/project/project.ts";
import { readProject } from "../plans/project/read-project.ts";
import { Git } from "../plans/workspace/git.ts";
import { Repository } from "../plans/workspace/repository.ts";
import { isTeamFolder } from "../team/config-files.ts";
import type { CliWords } from "./words/words.ts";
import { childEnvironment } from "../team/environment.ts";

/** Where a task works. */
export interface TaskGround {
  /** Undefined: as the server decides. */
  readonly repository: string | undefined;
  /** What its files say; undefined: they cannot be read from here. */
  readonly project: Project | undefined;
  /** Reads the paths of its files. */
  readonly paths?: (() => Promise<readonly string[]>) | undefined;
}

/**
 * The repository that a person names, else the checkout in which they stand, unless it holds the
 * team's own folder. Throws `PROJECT_INVALID`, `BASE_UNKNOWN`, `REPOSITORY_EMPTY`,
 * `REPOSITORY_PARTIAL`.
 *
 * @param at.here the person's own folder
 */
export async function groundOf(
  { repo, base }: { readonly repo: string | undefined; readonly base: string | undefined },
  at: { readonly here: string; readonly team: string },
): Promise<TaskGround> {
  if (repo !== undefined && !(path.isAbsolute(repo) && existsSync(repo))) {
    return { repository: repo, project: undefined }; // a name that the server knows
  }
  const opened = await checkoutAt(repo ?? at.here);
  if (opened === undefined) return { repository: repo, project: undefined };
  const holdsTeam = isTeamFolder(at.team) && isBelow(path.resolve(at.team), opened.root);
  if (repo === undefined && holdsTeam) return { repository: undefined, project: undefined };

  const commit = await opened.resolve(base ?? "HEAD");
  const paths = async (): Promise<readonly string[]> =>
    (await opened.listFiles(commit)).map((file) => file.path);
  const project = await readProject(opened, commit, {});

  return { repository: repo ?? opened.root, project, paths };
}

/** What is wrong with the checkout in which a person stands: no other one is taken instead. */
const THEIRS: ReadonlySet<string> = new Set([
  "PROJECT_INVALID",
  "REPOSITORY_EMPTY",
  "REPOSITORY_PARTIAL",
]);

/** Undefined: it is none; where one was named the server says what is wrong with it. */
async function checkoutAt(folder: string): Promise<Repository | undefined> {
  try {
    return await Repository.open(folder, { git: new Git({ env: childEnvironment({}) }) });
  } catch (error) {
    if (THEIRS.has(codeOf(error) ?? "") || !(error instanceof DureError)) throw error;
    return undefined;
  }
}

function isBelow(folder: string, root: string): boolean {
  const way = path.relative(root, folder);
  return way === "" || !(way.startsWith("..") || path.isAbsolute(way));
}

/**
 * What a task may change and what decides: as the person says, else as its repository does. Throws
 * `USAGE`.
 */
export function scopeOf(
  said: {
    readonly own: readonly string[] | undefined;
    readonly test: readonly string[] | undefined;
    readonly accept: string | undefined;
  },
  project: Project | undefined,
): {
  readonly owns: readonly string[];
  readonly tests: readonly string[];
  readonly acceptance: string;
} {
  const owns = said.own ?? project?.own;
  if (owns === undefined) throw missing("--own", "own: [src/**]");
  const acceptance = acceptanceOf(said.accept, project);

  return { owns, acceptance, tests: said.test ?? (said.own ? [] : (project?.tests ?? [])) };
}

/** Throws `USAGE`. */
export function acceptanceOf(said: string | undefined, project: Project | undefined): string {
  const acceptance = said ?? project?.acceptance;
  if (acceptance === undefined) throw missing("--accept", "acceptance: npm test");

  return acceptance;
}

function missing(option: string, key: string): DureError {
  return new DureError("USAGE", `A task needs ${option}: its repository does not say it.`, {
    class: "input",
    hint: `Give it here, or commit it to .dure/project.yaml of the repository: ${key}`,
  });
}

/** What will be set up, before anything is. Pure. */
export function projectLines(
  { setup, from, hosts, unused }: Project,
  { task: words }: CliWords["plans"],
): readonly string[] {
  const used = setup === undefined ? [] : [words.setup(setup, from.join(", "), hosts.join(", "))];
  return unused ? [...used, words.unused(unused.file, unused.command)] : used;
}
