/** A person's repository: what is read from it, and what is written into it. */

import { readFile, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DureError } from "../../kernel/errors.ts";
import type { Git, GitPlace } from "./git.ts";
import { fieldsOf } from "./listing.ts";
import { type BranchMerge, mergeIntoBranch, type MergeOptions } from "./merge-into-branch.ts";
import { listRefs, refProblem, verifyReachable } from "./refs.ts";
import { type RepositoryWarning, warningsOf } from "./repository-warnings.ts";
import { makeResultBranch } from "./result-branch.ts";
import {
  existing,
  folderName,
  notARepository,
  readFacts,
  refuseEmpty,
  refusePartial,
  type RepositoryFacts,
  topLevel,
  withAlternates,
} from "./repository-facts.ts";
import { findOwnedSubmodule, type ListedFile, listedFile } from "./listed-files.ts";
import { someOf } from "./paths.ts";

/**
 * The person's repository. dure writes objects, refs under `refs/dure/<run>/` and a result branch
 * that is new; never the working tree, the index, HEAD or another branch, but by `mergeInto`, which
 * a person asks for. Source: docs/spec/plans §5.
 */
export class Repository {
  readonly git: Git;
  /** The top of the working tree; of a bare repository its git directory. Real path. */
  readonly root: string;
  /** Where branches and objects are, also for a linked worktree. Real path. */
  readonly commonDir: string;
  readonly hash: "sha1" | "sha256";
  readonly facts: RepositoryFacts;

  /**
   * Throws `GIT_MISSING`, `GIT_TOO_OLD`, `NOT_A_REPOSITORY`, `REPOSITORY_PARTIAL` or
   * `REPOSITORY_EMPTY`.
   */
  static async open(
    folder: string,
    { git, signal }: { git: Git; signal?: AbortSignal | undefined },
  ): Promise<Repository> {
    await git.check({ signal });
    const at = { cwd: await existing(folder) };
    const found = await git.run(
      [
        "rev-parse",
        "--is-bare-repository",
        "--is-shallow-repository",
        "--show-object-format",
        "--path-format=absolute",
        "--git-dir",
        "--git-common-dir",
      ],
      { at, accept: [0, 128], signal },
    );
    const [isBare, isShallow, hash, gitDir, commonDir] = found.stdout.toString().split("\n");
    if (found.exitCode !== 0 || !commonDir) throw notARepository(folder);
    await refusePartial(git, at, { folder, signal });
    const bare = isBare === "true";
    const root = bare ? gitDir! : await topLevel(git, at, folder, signal);
    const known = { isBare: bare, isShallow: isShallow === "true" };
    const facts = await readFacts(git, { cwd: root }, known, signal);
    if (facts.head === undefined) await refuseEmpty(git, at, { root, signal });

    return new Repository({
      git,
      root: await realpath(root),
      commonDir: await realpath(commonDir),
      hash: hash === "sha256" ? "sha256" : "sha1",
      facts,
    });
  }

  private constructor(found: {
    git: Git;
    root: string;
    commonDir: string;
    hash: "sha1" | "sha256";
    facts: RepositoryFacts;
  }) {
    this.git = found.git;
    this.root = found.root;
    this.commonDir = found.commonDir;
    this.hash = found.hash;
    this.facts = found.facts;
  }

  get at(): GitPlace {
    return { cwd: this.root };
  }

  /** The commit that a branch, tag or id means. Throws `BASE_UNKNOWN`. */
  async resolve(
    name: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const { exitCode, stdout } = await this.git.run(
      ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`],
      { at: this.at, accept: [0, 1, 128], signal },
    );
    if (exitCode === 0) return stdout.toString().trim();
    const branches = await this.#newestBranches(signal);
    throw new DureError(
      "BASE_UNKNOWN",
      `"${name}" is no branch, tag or commit of ${folderName(this.root)}.`,
      {
        class: "input",
        hint:
          branches.length > 0
            ? `Its newest branches: ${branches.join(", ")}.`
            : "It has no branches.",
      },
    );
  }

  /** In git's order. Names that are no text are written `\xNN`. */
  async listFiles(
    commit: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<ListedFile[]> {
    const { stdout } = await this.git.run(["ls-tree", "-r", "-l", "-z", "--full-tree", commit], {
      at: this.at,
      signal,
    });

    return fieldsOf(stdout).map(listedFile);
  }

  /** What a person should know about a commit as the base of a run. */
  async warnings(
    commit: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<RepositoryWarning[]> {
    const files = await this.listFiles(commit, { signal });
    return warningsOf(this, { commit, files, signal });
  }

  /**
   * Throws `SUBMODULE_OWNED` when a pattern of a plan lies in a submodule, whose files are not of
   * this repository.
   */
  async refuseOwnedSubmodules(
    commit: string,
    patterns: readonly string[],
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const submodules = (await this.listFiles(commit, options))
      .filter(({ kind }) => kind === "submodule")
      .map(({ path }) => path);
    const found = findOwnedSubmodule(patterns, submodules);
    if (!found) return;
    const lies = `"${found.pattern}" lies in the submodule ${found.submodule}`;
    throw new DureError("SUBMODULE_OWNED", `${lies}, whose files belong to another repository.`, {
      class: "input",
      hint: "Run a plan in that repository, or take the pattern out.",
    });
  }

  /**
   * Keeps a commit from being cleaned up, as `refs/dure/<run>/<name>`. Again with the same commit
   * is nothing. Throws `REF_EXISTS` for another one.
   */
  async pin(
    run: string,
    name: string,
    commit: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const ref = this.#runRef(run, name);
    const known = await this.#read(ref, signal);
    if (known === commit) return;
    if (known !== undefined) {
      throw new DureError(
        "REF_EXISTS",
        `${ref} of ${folderName(this.root)} is ${known} already, not ${commit}.`,
        { class: "conflict", hint: "Give the run another id." },
      );
    }
    await this.git.run(["update-ref", ref, commit, ""], { at: this.at, signal });
  }

  /** Refs of a run by their name below `refs/dure/<run>/`. */
  async refsOf(
    run: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<Map<string, string>> {
    return listRefs(this.git, this.at, this.#runRef(run, ""), signal);
  }

  /**
   * Fetches all commits of a store to `refs/dure/<run>/`, all or none, and checks each. Throws
   * `PUBLISH_INCOMPLETE`.
   */
  async publish(
    store: FetchedStore,
    run: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    await fetchStore(this, { store, run, prefix: this.#runRef(run, ""), signal });
  }

  /** Removes all refs of a run; what only they held git may clean up. Branches stay. */
  async forget(run: string, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const prefix = this.#runRef(run, "");
    const refs = await this.refsOf(run, { signal });
    if (refs.size === 0) return;
    await this.git.run(["update-ref", "--stdin"], {
      at: this.at,
      input: [...refs].map(([name, commit]) => `delete ${prefix}${name} ${commit}\n`).join(""),
      signal,
    });
  }

  /** Names in full of what a person keeps commits by: branches, tags, and branches of remotes. */
  async branchesAndTags({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<string[]> {
    const namesOf = async (prefix: string): Promise<string[]> => {
      const refs = await listRefs(this.git, this.at, prefix, signal);
      return [...refs.keys()].map((name) => `${prefix}${name}`);
    };
    const prefixes = ["refs/heads/", "refs/tags/", "refs/remotes/"];

    return (await Promise.all(prefixes.map(namesOf))).flat();
  }

  /** Whether all commits are here and reachable from the refs. */
  async hasReachable(
    commits: readonly string[],
    refs: readonly string[],
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<boolean> {
    return verifyReachable(this.git, this.at, { commits, from: refs, signal });
  }

  /**
   * Makes the branch of a run's result: the wanted name, or with -2, -3 … behind it where the name
   * is taken, in another spelling too. Asked again for the same run it gives back the branch, now at
   * this commit. A branch that a person has moved, or has checked out, is never moved.
   */
  async createResultBranch(
    wanted: string,
    commit: string,
    run: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const prefix = this.#runRef(run, "branch/");
    return makeResultBranch(this, { wanted, commit, prefix, signal });
  }

  /** The commit at a full ref name; undefined: there is none. */
  async refAt(
    ref: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<string | undefined> {
    const asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", ref];
    const { exitCode, stdout } = await this.git.run(asked, {
      at: this.at,
      accept: [0, 1, 128],
      signal,
    });

    return exitCode === 0 ? stdout.toString().trim() : undefined;
  }

  /** Merges a result into a branch of the person, because a person asked for it. */
  async mergeInto(options: MergeOptions): Promise<BranchMerge> {
    return mergeIntoBranch(this, options);
  }

  /** Folders that hold its objects: its own first, then those that it borrows from. Real paths. */
  async objectFolders({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<string[]> {
    const own = resolve(
      this.root,
      await this.git.text(["rev-parse", "--git-path", "objects"], { at: this.at, signal }),
    );

    return withAlternates(await realpath(own));
  }

  /** Commits at which history ends. */
  async shallowCommits(): Promise<string> {
    return this.facts.isShallow ? readFile(join(this.commonDir, "shallow"), "utf8") : "";
  }

  async #read(ref: string, signal: AbortSignal | undefined): Promise<string | undefined> {
    const { stdout } = await this.git.run(
      ["for-each-ref", "--format=%(objectname) %(refname)", ref],
      { at: this.at, signal },
    );

    return stdout
      .toString()
      .split("\n")
      .find((line) => line.endsWith(` ${ref}`))
      ?.split(" ")[0];
  }

  async #newestBranches(signal: AbortSignal | undefined): Promise<string[]> {
    const listing = ["--count=6", "--sort=-committerdate", "--format=%(refname:short)"];
    const said = await this.git.text(["for-each-ref", ...listing, "refs/heads/"], {
      at: this.at,
      signal,
    });

    return said.split("\n").filter(Boolean);
  }

  #runRef(run: string, name: string): string {
    const ref = `refs/dure/${run}/${name}`;
    const problem = refProblem(name === "" || name.endsWith("/") ? `${ref}x` : ref);
    if (problem) {
      throw new DureError("REF_INVALID", `"${ref}" cannot be a ref: ${problem}.`, {
        class: "input",
      });
    }

    return ref;
  }
}

/** For a fetch: the named refs, and nothing else there or here. */
const ONLY_REFS = [
  "--quiet",
  "--atomic",
  "--no-tags",
  "--no-prune",
  "--no-prune-tags",
  "--no-write-fetch-head",
  "--no-write-commit-graph",
  "--no-auto-maintenance",
  "--no-recurse-submodules",
  "--no-show-forced-updates",
  "--refmap=",
];

/** The store of a run, as far as its commits are fetched from it. */
interface FetchedStore {
  readonly folder: string;
  list(
    prefix: string,
    options: { signal?: AbortSignal | undefined },
  ): Promise<ReadonlyMap<string, string>>;
}

interface Fetch {
  readonly store: FetchedStore;
  readonly run: string;
  /** Of the refs that the run has in the repository. */
  readonly prefix: string;
  readonly signal?: AbortSignal | undefined;
}

/** See {@link Repository.publish}. */
async function fetchStore(repository: Repository, fetch: Fetch): Promise<void> {
  const { store, run, prefix, signal } = fetch;
  const wanted = await store.list("", { signal });
  if (wanted.size === 0) return;
  if ((await missingOf(repository, wanted, fetch)).length > 0) {
    const refs = `+refs/work/*:${prefix}*`;
    await repository.git.run(["fetch", ...ONLY_REFS, "--", store.folder, refs], {
      at: repository.at,
      signal,
    });
  }
  const missing = await missingOf(repository, wanted, fetch);
  if (missing.length === 0) return;
  const count = `${missing.length} of ${wanted.size} refs of run ${run}`;
  throw new DureError(
    "PUBLISH_INCOMPLETE",
    `${count} did not arrive in ${folderName(repository.root)}: ${someOf(missing)}.`,
    {
      hint: "Something else writes to refs/dure there; the work itself is safe in the run's store.",
    },
  );
}

/** Refs that do not stand in the repository at their commit. */
async function missingOf(
  repository: Repository,
  wanted: ReadonlyMap<string, string>,
  { run, signal }: Fetch,
): Promise<string[]> {
  const there = await repository.refsOf(run, { signal });
  return [...wanted].filter(([name, commit]) => there.get(name) !== commit).map(([name]) => name);
}
