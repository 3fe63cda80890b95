import { DureError } from "../../kernel/errors.ts";
import { foldPath } from "../glob.ts";
import { listRefs, verifyReachable } from "./refs.ts";
import type { Repository } from "./repository.ts";
import { folderName } from "./repository-facts.ts";

export interface ResultBranch {
  readonly wanted: string;
  readonly commit: string;
  /** Of the refs that remember which branches the run made. */
  readonly prefix: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * The branch that the run made already, now at this commit, or a new one. A branch that a person has
 * moved, or has checked out, stays where it is.
 */
export async function makeResultBranch(
  repository: Repository,
  options: ResultBranch,
): Promise<string> {
  const known = await findBranch(repository, options);
  if (known !== undefined) return known;
  const moved = await moveOwnBranch(repository, options);
  if (moved !== undefined) return moved;

  const { git, at } = repository;
  const { wanted, commit, prefix, signal } = options;
  for (;;) {
    const taken = [...(await listRefs(git, at, "refs/heads/", signal)).keys()];
    const name = freeBranchName(wanted, taken);
    // Both or neither, and only where neither is. When another process was faster, the names are
    // read again.
    const { exitCode } = await git.run(["update-ref", "--stdin"], {
      at,
      signal,
      accept: [0, 128],
      input: `create refs/heads/${name} ${commit}\nupdate ${prefix}${name} ${commit}\n`,
    });
    if (exitCode === 0) return name;
    const now = await listRefs(git, at, "refs/heads/", signal);
    if (now.size === taken.length) throw notMade(name, repository);
  }
}

async function findBranch(
  { git, at }: Repository,
  { commit, prefix, signal }: ResultBranch,
): Promise<string | undefined> {
  const made = await listRefs(git, at, prefix, signal);
  if (made.size === 0) return undefined;
  const branches = await listRefs(git, at, "refs/heads/", signal);
  for (const name of made.keys()) {
    const tip = branches.get(name);
    if (tip === undefined) continue;
    if (await verifyReachable(git, at, { commits: [commit], from: [tip], signal })) return name;
  }

  return undefined;
}

/**
 * Moves the branch that still stands where the run has put it. What stood there before stays under a
 * ref. Undefined: there is none.
 */
async function moveOwnBranch(
  { git, at }: Repository,
  { commit, prefix, signal }: ResultBranch,
): Promise<string | undefined> {
  const made = await listRefs(git, at, prefix, signal);
  if (made.size === 0) return undefined;
  const branches = await listRefs(git, at, "refs/heads/", signal);
  const { stdout } = await git.run(["worktree", "list", "--porcelain", "-z"], { at, signal });
  const inUse = new Set(stdout.toString().split("\0"));
  for (const [name, old] of made) {
    const ref = `refs/heads/${name}`;
    if (branches.get(name) !== old || inUse.has(`branch ${ref}`)) continue;
    const kept = `${prefix.replace(/branch\/$/, "before/")}${old}`;
    const moves = [
      `update ${ref} ${commit} ${old}`,
      `update ${prefix}${name} ${commit} ${old}`,
      `update ${kept} ${old}`,
    ];
    const input = `${moves.join("\n")}\n`;
    // All or none, and only from there: a person may commit to it just now.
    const done = await git.run(["update-ref", "--stdin"], { at, signal, accept: [0, 128], input });
    if (done.exitCode === 0) return name;
  }

  return undefined;
}

function notMade(name: string, { root }: Repository): DureError {
  const folder = folderName(root);
  return new DureError("BRANCH_NOT_MADE", `The branch ${name} could not be made in ${folder}.`, {
    class: "conflict",
    hint: "Look for a file ending in .lock below refs there; it is in the way when git was killed.",
  });
}

/**
 * The first name that is free, however a file system reads it. Pure. A branch `dure` leaves no room
 * for `dure/login`, which becomes `dure-login`.
 */
export function freeBranchName(wanted: string, taken: readonly string[]): string {
  const folded = new Set(taken.map(foldPath));
  const isFolderTaken = wanted
    .split("/")
    .some((_, index, parts) => index > 0 && folded.has(foldPath(parts.slice(0, index).join("/"))));
  const flat = isFolderTaken ? wanted.replaceAll("/", "-") : wanted;
  for (let number = 1; ; number++) {
    const name = number === 1 ? flat : `${flat}-${number}`;
    const own = foldPath(name);
    if (!folded.has(own) && ![...folded].some((other) => other.startsWith(`${own}/`))) return name;
  }
}
