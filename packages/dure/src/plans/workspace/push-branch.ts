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
  const { remote, branch, commit, ref, env, signal } = push;
  const { git, at } = repository;
  const name = `refs/heads/${branch}`;
  const call = { at, network: env, timeMs: NETWORK_MS, signal };
  try {
    const listed = await git.text(["ls-remote", "--refs", "--", remote, name], call);
    const there = listed.split("\t")[0]!;
    if (there !== commit) {
      const known = (await repository.refAt(ref, { signal })) ?? "";
      // From exactly there; a branch that is not there must still not be.
      const lease = there === "" || there === known ? [`--force-with-lease=${name}:${there}`] : [];
      const quiet = ["push", "--quiet", "--no-verify", ...lease];
      await git.text([...quiet, "--", remote, `${commit}:${name}`], call);
    }
    await git.run(["update-ref", ref, commit], { at, signal });

    return there !== commit;
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
