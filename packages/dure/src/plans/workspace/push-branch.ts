import { DureError, messageOf } from "../../kernel/errors.ts";
import { withoutPassword } from "./remote.ts";
import type { Repository } from "./repository.ts";

const NETWORK_MS = 120_000;

export interface BranchPush {
  readonly remote: string;
  readonly branch: string;
  readonly commit: string;
  /** Remembers what was pushed; below the refs of the run. */
  readonly ref: string;
  /**
   * Looks at what the remote does not have. `tips`: its branches, as far as they are known here.
   * What it throws stops the push.
   */
  readonly review?: ((tips: readonly string[]) => Promise<void>) | undefined;
  /** Of the person, whose credentials reach the remote. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * Brings a commit to a branch of a remote. It looks first: a branch that has it is left alone. One
 * that stands elsewhere is moved only if it goes forward, or if it stands where this run has put it.
 * Gives whether anything was pushed. Throws `PUSH_FAILED`.
 */
export async function pushBranch(repository: Repository, push: BranchPush): Promise<boolean> {
  const { branch, commit, ref, signal } = push;
  const { git, at } = repository;
  const there = await orFailed(push, () => branchesThere(repository, push));
  const old = there.get(`refs/heads/${branch}`) ?? "";
  if (old !== commit) {
    await push.review?.(await knownHere(repository, [...there.values()], signal));
    await orFailed(push, () => send(repository, old, push));
  }
  await orFailed(push, () => git.run(["update-ref", ref, commit], { at, signal }));

  return old !== commit;
}

/** Branches of the remote by their full names. */
async function branchesThere(
  { git, at }: Repository,
  { remote, env, signal }: BranchPush,
): Promise<ReadonlyMap<string, string>> {
  const call = { at, network: env, timeMs: NETWORK_MS, signal };
  const listed = await git.text(["ls-remote", "--refs", "--heads", "--", remote], call);
  const lines = listed.split("\n").filter(Boolean);

  return new Map(
    lines.map((line) => {
      const [commit = "", name = ""] = line.split("\t");
      return [name, commit];
    }),
  );
}

async function knownHere(
  { git, at }: Repository,
  commits: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (commits.length === 0) return [];
  const asked = ["cat-file", "--batch-check=%(objectname) %(objecttype)"];
  const input = `${[...new Set(commits)].join("\n")}\n`;
  const said = await git.text(asked, { at, input, signal });

  return said
    .split("\n")
    .filter((line) => line.endsWith(" commit"))
    .map((line) => line.split(" ")[0]!);
}

async function send(repository: Repository, old: string, push: BranchPush): Promise<void> {
  const { remote, branch, commit, ref, env, signal } = push;
  const name = `refs/heads/${branch}`;
  const mine = (await repository.refAt(ref, { signal })) ?? "";
  // From exactly there; a branch that is not there must still not be.
  const lease = old === "" || old === mine ? [`--force-with-lease=${name}:${old}`] : [];
  const quiet = ["push", "--quiet", "--no-verify", ...lease];
  const call = { at: repository.at, network: env, timeMs: NETWORK_MS, signal };
  await repository.git.text([...quiet, "--", remote, `${commit}:${name}`], call);
}

/** Throws `PUSH_FAILED`. */
async function orFailed<T>(
  { remote, branch, signal }: BranchPush,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    const where = `${branch} at ${withoutPassword(remote)}`;
    throw new DureError("PUSH_FAILED", `${where} could not be pushed: ${messageOf(error)}`, {
      class: "conflict",
      hint: "A branch there that others have moved is not overwritten. Else try git push by hand.",
      cause: error,
    });
  }
}
