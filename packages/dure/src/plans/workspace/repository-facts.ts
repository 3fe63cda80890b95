import { readFile, realpath, stat } from "node:fs/promises";
import { basename, isAbsolute, join, resolve } from "node:path";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { filtersOff } from "./filters.ts";
import type { Git, GitPlace } from "./git.ts";

/** A folder as callers are told of it: where it lies on this machine is not theirs to know. */
export function folderName(folder: string): string {
  return basename(folder) || folder;
}

/** What was found when a repository was opened; shown, and checked before a run. */
export interface RepositoryFacts {
  /** Undefined: HEAD stands at no branch. */
  readonly branch: string | undefined;
  /** HEAD's commit; undefined: the branch has none yet. */
  readonly head: string | undefined;
  /** Tracked files differ from HEAD. What is not committed is not part of a run. */
  readonly isDirty: boolean;
  readonly isBare: boolean;
  /** History ends somewhere. */
  readonly isShallow: boolean;
}

export async function refusePartial(
  git: Git,
  at: GitPlace,
  { folder, signal }: { folder: string; signal: AbortSignal | undefined },
): Promise<void> {
  const promisor = await git.run(
    ["config", "--get-regexp", String.raw`^(extensions\.partialclone|remote\..*\.promisor)$`],
    { at, accept: [0, 1], signal },
  );
  if (promisor.exitCode !== 0) return;
  const settings = "remote.<name>.promisor and extensions.partialClone";
  throw new DureError(
    "REPOSITORY_PARTIAL",
    `${folderName(folder)} is a partial clone: git would fetch files while workers run.`,
    {
      class: "conflict",
      hint: `Make it whole: git fetch --refetch --no-filter, then remove ${settings} from its settings.`,
    },
  );
}

export async function refuseEmpty(
  git: Git,
  at: GitPlace,
  { root, signal }: { root: string; signal: AbortSignal | undefined },
): Promise<void> {
  const first = await git.text(["rev-list", "--all", "--max-count=1"], { at, signal });
  if (first !== "") return;
  throw new DureError("REPOSITORY_EMPTY", `${folderName(root)} has no commit yet.`, {
    class: "conflict",
    hint: "Commit something: a run starts from a commit.",
  });
}

export async function readFacts(
  git: Git,
  at: GitPlace,
  known: Pick<RepositoryFacts, "isBare" | "isShallow">,
  signal: AbortSignal | undefined,
): Promise<RepositoryFacts> {
  const branch = await git.run(["symbolic-ref", "--quiet", "--short", "HEAD"], {
    at,
    accept: [0, 1],
    signal,
  });
  const head = await git.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], {
    at,
    accept: [0, 1, 128],
    signal,
  });
  const hasCommit = head.exitCode === 0;

  return {
    ...known,
    branch: branch.stdout.toString().trim() || undefined,
    head: hasCommit ? head.stdout.toString().trim() : undefined,
    isDirty: !known.isBare && hasCommit && (await isDirty(git, at, signal)),
  };
}

async function isDirty(git: Git, at: GitPlace, signal: AbortSignal | undefined): Promise<boolean> {
  const settings = await filtersOff(git, at, signal);
  const files = ["--untracked-files=no", "--ignore-submodules=all"];

  return (await git.text(["status", "--porcelain", ...files], { at, settings, signal })) !== "";
}

export async function topLevel(
  git: Git,
  at: GitPlace,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { exitCode, stdout } = await git.run(["rev-parse", "--show-toplevel"], {
    at,
    accept: [0, 128],
    signal,
  });
  if (exitCode !== 0) {
    throw new DureError(
      "NOT_A_REPOSITORY",
      `${folderName(folder)} is git's own folder, not a working tree.`,
      {
        class: "input",
        hint: "Name the folder that holds the files.",
      },
    );
  }

  return stdout.toString().replace(/\n$/, "");
}

export async function existing(folder: string): Promise<string> {
  try {
    if ((await stat(folder)).isDirectory()) return await realpath(folder);
  } catch (error) {
    if (!["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) throw error;
  }
  throw notARepository(folder);
}

export function notARepository(folder: string): DureError {
  return new DureError("NOT_A_REPOSITORY", `${folderName(folder)} is not in a git repository.`, {
    class: "input",
    hint: "Name a folder of the repository that the plan is for, or run git init there.",
  });
}

export async function withAlternates(
  folder: string,
  seen: Set<string> = new Set(),
): Promise<string[]> {
  if (seen.has(folder)) return [];
  seen.add(folder);
  const lines = await readFile(join(folder, "info", "alternates"), "utf8").then(
    (text) => text.split("\n").filter((line) => line !== "" && !line.startsWith("#")),
    () => [],
  );
  const borrowed: string[] = [];
  for (const line of lines) {
    const path = line.startsWith('"') ? (JSON.parse(line) as string) : line;
    const real = await realpath(isAbsolute(path) ? path : resolve(folder, path)).catch(
      () => undefined,
    );
    if (real !== undefined) borrowed.push(...(await withAlternates(real, seen)));
  }

  return [folder, ...borrowed];
}
