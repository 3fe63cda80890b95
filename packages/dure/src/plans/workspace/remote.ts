import { DureError, messageOf } from "../../kernel/errors.ts";
import type { Repository } from "./repository.ts";

/**
 * A remote that does not answer is not waited for longer, milliseconds. A push of a day's work
 * takes seconds.
 */
const NETWORK_MS = 120_000;

/**
 * Where the commits of runs are kept beside this machine: another repository, by the name of a
 * remote or its address. Only `refs/dure/<run>/` is written there; no branch, no tag, nothing of
 * another run.
 */
export class RunRemote {
  readonly #repository: Repository;
  readonly #remote: string;
  readonly #env: Readonly<Record<string, string | undefined>>;

  /** @param env of the person, whose credentials reach the remote. Throws `REMOTE_INVALID`. */
  constructor({
    repository,
    remote,
    env,
  }: {
    repository: Repository;
    remote: string;
    env: Readonly<Record<string, string | undefined>>;
  }) {
    if (!/^[^-\s][^\s]*$/.test(remote)) {
      throw new DureError("REMOTE_INVALID", `"${remote}" is no remote.`, {
        class: "input",
        hint: "Give plans.remote the name of a remote of the repository, or its address.",
      });
    }
    this.#repository = repository;
    this.#remote = remote;
    this.#env = env;
  }

  /**
   * What stands under the refs of the run here stands there when this resolves; all of it or
   * nothing. Throws `REMOTE_FAILED`.
   */
  async push(run: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    if ((await this.#repository.refsOf(run, { signal })).size === 0) return;
    await this.#git(
      [
        "push",
        "--quiet",
        "--no-verify",
        "--atomic",
        this.#remote,
        `+refs/dure/${run}/*:refs/dure/${run}/*`,
      ],
      run,
      signal,
    );
  }

  /**
   * Brings what was pushed of a run. Gives the refs by their name below `refs/dure/<run>/`; none:
   * nothing was ever pushed. Throws `REMOTE_FAILED`.
   */
  async fetch(
    run: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<ReadonlyMap<string, string>> {
    const quiet = [
      "--quiet",
      "--atomic",
      "--no-tags",
      "--no-prune",
      "--no-write-fetch-head",
      "--no-auto-maintenance",
      "--no-recurse-submodules",
      "--refmap=",
    ];
    await this.#git(
      ["fetch", ...quiet, this.#remote, `+refs/dure/${run}/*:refs/dure/${run}/*`],
      run,
      signal,
    );
    return this.#repository.refsOf(run, { signal });
  }

  /** Removes the refs of a run there. Throws `REMOTE_FAILED`. */
  async forget(run: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const listed = await this.#git(
      ["ls-remote", "--refs", this.#remote, `refs/dure/${run}/*`],
      run,
      signal,
    );
    const refs = listed.split("\n").flatMap((line) => line.split("\t")[1] ?? []);
    if (refs.length > 0) {
      await this.#git(
        [
          "push",
          "--quiet",
          "--no-verify",
          "--atomic",
          this.#remote,
          ...refs.map((ref) => `:${ref}`),
        ],
        run,
        signal,
      );
    }
  }

  async #git(
    args: readonly string[],
    run: string,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    try {
      return await this.#repository.git.text(args, {
        at: this.#repository.at,
        network: this.#env,
        timeMs: NETWORK_MS,
        signal,
      });
    } catch (error) {
      signal?.throwIfAborted();
      const exchange = `The commits of ${run} could not be exchanged`;
      throw new DureError(
        "REMOTE_FAILED",
        `${exchange} with ${withoutPassword(this.#remote)}: ${messageOf(error)}`,
        {
          class: "unavailable",
          hint: "Check plans.remote: by hand, git ls-remote with it must work for the user that runs dure.",
          cause: error,
        },
      );
    }
  }
}

/** An address as it may be shown. Pure. */
export function withoutPassword(remote: string): string {
  return remote.replace(/^([a-z+]+:\/\/)[^@/]*@/i, "$1");
}
