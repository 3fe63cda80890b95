import { readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { DureError, codeOf } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { foldPath, literalPrefix } from "../glob.ts";
import { foldedGlob } from "../scope.ts";
import { filtersOff } from "./filters.ts";
import type { Git, GitPlace } from "./git.ts";
import { fieldsOf } from "./listing.ts";
import { mergeIntoBranch, type MergeOptions, type MergeOutcome } from "./merge-into-branch.ts";
import { textOf, type PathKey } from "./paths.ts";
import { listRefs, refProblem, verifyReachable } from "./refs.ts";

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

/** A thing that a person should know before a run, and that does not stop it. */
export interface RepositoryWarning {
  readonly code: "FILTERS_OFF" | "SUBMODULES_EMPTY" | "UNCOMMITTED";
  readonly facts: JsonObject;
  readonly message: string;
}

export interface ListedFile {
  readonly path: string;
  /** Bytes; 0 for a submodule. */
  readonly bytes: number;
  readonly kind: "file" | "link" | "submodule";
}

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
    const promisor = await git.run(
      ["config", "--get-regexp", String.raw`^(extensions\.partialclone|remote\..*\.promisor)$`],
      { at, accept: [0, 1], signal },
    );
    if (promisor.exitCode === 0) {
      throw new DureError(
        "REPOSITORY_PARTIAL",
        `${folder} is a partial clone: git would fetch files while workers run.`,
        {
          class: "conflict",
          hint: "Make it whole: git fetch --refetch --no-filter, then remove remote.<name>.promisor and extensions.partialClone from its settings.",
        },
      );
    }
    const bare = isBare === "true";
    const root = bare ? gitDir! : await topLevel(git, at, folder, signal);
    const facts = await readFacts(
      git,
      { cwd: root },
      { isBare: bare, isShallow: isShallow === "true" },
      signal,
    );
    if (
      facts.head === undefined &&
      (await git.text(["rev-list", "--all", "--max-count=1"], { at, signal })) === ""
    ) {
      throw new DureError("REPOSITORY_EMPTY", `${root} has no commit yet.`, {
        class: "conflict",
        hint: "Commit something: a run starts from a commit.",
      });
    }
    return new Repository(
      git,
      await realpath(root),
      await realpath(commonDir),
      hash === "sha256" ? "sha256" : "sha1",
      facts,
    );
  }

  private constructor(
    git: Git,
    root: string,
    commonDir: string,
    hash: "sha1" | "sha256",
    facts: RepositoryFacts,
  ) {
    this.git = git;
    this.root = root;
    this.commonDir = commonDir;
    this.hash = hash;
    this.facts = facts;
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
    const branches = (
      await this.git.text(
        [
          "for-each-ref",
          "--count=6",
          "--sort=-committerdate",
          "--format=%(refname:short)",
          "refs/heads/",
        ],
        { at: this.at, signal },
      )
    )
      .split("\n")
      .filter(Boolean);
    throw new DureError("BASE_UNKNOWN", `"${name}" is no branch, tag or commit of ${this.root}.`, {
      class: "input",
      hint:
        branches.length > 0
          ? `Its newest branches: ${branches.join(", ")}.`
          : "It has no branches.",
    });
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
    return fieldsOf(stdout).map((line) => {
      const tab = line.indexOf("\t");
      const [mode, , , bytes] = line.slice(0, tab).split(/ +/);
      return {
        path: textOf(line.slice(tab + 1) as PathKey),
        bytes: Number(bytes) || 0,
        kind: mode === "160000" ? "submodule" : mode === "120000" ? "link" : "file",
      };
    });
  }

  /** What a person should know about a commit as the base of a run. */
  async warnings(
    commit: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<RepositoryWarning[]> {
    const files = await this.listFiles(commit, { signal });
    const warnings: RepositoryWarning[] = [];
    if (this.facts.isDirty) {
      warnings.push({
        code: "UNCOMMITTED",
        facts: { root: this.root, commit: commit.slice(0, 12) },
        message: `Files in ${this.root} are changed and not committed; the run starts from ${commit.slice(0, 12)} without them.`,
      });
    }
    const submodules = files.filter(({ kind }) => kind === "submodule").map(({ path }) => path);
    if (submodules.length > 0) {
      warnings.push({
        code: "SUBMODULES_EMPTY",
        facts: { paths: submodules },
        message: `Submodules are empty folders for the workers: ${listed(submodules)}.`,
      });
    }
    const drivers = new Set<string>();
    for (const { path } of files
      .filter(({ path, kind }) => kind === "file" && /(?:^|\/)\.gitattributes$/.test(path))
      .slice(0, 1_000)) {
      const { stdout } = await this.git.run(["cat-file", "blob", `${commit}:${path}`], {
        at: this.at,
        signal,
        outputBytes: 1_000_000,
        cut: true,
      });
      for (const [, driver] of stdout.toString().matchAll(/[ \t]filter=([^\s]+)/g)) {
        drivers.add(driver!);
      }
    }
    if (drivers.size > 0) {
      warnings.push({
        code: "FILTERS_OFF",
        facts: { filters: [...drivers] },
        message: `Filters do not run for the workers (${listed([...drivers])}); they see what git stores, which for Git LFS is a pointer.`,
      });
    }
    return warnings;
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
    throw new DureError(
      "SUBMODULE_OWNED",
      `"${found.pattern}" lies in the submodule ${found.submodule}, whose files belong to another repository.`,
      { class: "input", hint: "Run a plan in that repository, or take the pattern out." },
    );
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
        `${ref} of ${this.root} is ${known} already, not ${commit}.`,
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
    store: {
      readonly folder: string;
      list(
        prefix: string,
        options: { signal?: AbortSignal | undefined },
      ): Promise<ReadonlyMap<string, string>>;
    },
    run: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const wanted = await store.list("", { signal });
    if (wanted.size === 0) return;
    const there = await this.refsOf(run, { signal });
    if ([...wanted].some(([name, commit]) => there.get(name) !== commit)) {
      const quiet = [
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
      await this.git.run(
        ["fetch", ...quiet, "--", store.folder, `+refs/work/*:${this.#runRef(run, "")}*`],
        { at: this.at, signal },
      );
    }
    const arrived = await this.refsOf(run, { signal });
    const missing = [...wanted]
      .filter(([name, commit]) => arrived.get(name) !== commit)
      .map(([name]) => name);
    if (missing.length > 0) {
      throw new DureError(
        "PUBLISH_INCOMPLETE",
        `${missing.length} of ${wanted.size} refs of run ${run} did not arrive in ${this.root}: ${listed(missing)}.`,
        {
          hint: "Something else writes to refs/dure there; the work itself is safe in the run's store.",
        },
      );
    }
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
    const names = await Promise.all(
      ["refs/heads/", "refs/tags/", "refs/remotes/"].map(async (prefix) =>
        [...(await listRefs(this.git, this.at, prefix, signal)).keys()].map(
          (name) => `${prefix}${name}`,
        ),
      ),
    );
    return names.flat();
  }

  /** Whether all commits are here and reachable from the refs. */
  async hasReachable(
    commits: readonly string[],
    refs: readonly string[],
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<boolean> {
    return verifyReachable(this.git, this.at, commits, refs, signal);
  }

  /**
   * Makes the branch of a run's result: the wanted name, or with -2, -3 … behind it where the name
   * is taken, in another spelling too. No branch is ever moved. Asked again for the same run it
   * gives back the branch, as long as that holds the commit.
   */
  async createResultBranch(
    wanted: string,
    commit: string,
    run: string,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<string> {
    const call = { at: this.at, signal };
    const prefix = this.#runRef(run, "branch/");
    for (const name of (await listRefs(this.git, this.at, prefix, signal)).keys()) {
      const tip = await this.#read(`refs/heads/${name}`, signal);
      if (
        tip !== undefined &&
        (await verifyReachable(this.git, this.at, [commit], [tip], signal))
      ) {
        return name;
      }
    }
    for (;;) {
      const taken = [...(await listRefs(this.git, this.at, "refs/heads/", signal)).keys()];
      const name = freeBranchName(wanted, taken);
      // Both or neither, and only where neither is: another one who was faster makes us look again.
      const { exitCode } = await this.git.run(["update-ref", "--stdin"], {
        ...call,
        accept: [0, 128],
        input: `create refs/heads/${name} ${commit}\nupdate ${prefix}${name} ${commit}\n`,
      });
      if (exitCode === 0) return name;
      if ((await listRefs(this.git, this.at, "refs/heads/", signal)).size === taken.length) {
        throw new DureError(
          "BRANCH_NOT_MADE",
          `The branch ${name} could not be made in ${this.root}.`,
          {
            class: "conflict",
            hint: "Look for a file ending in .lock below refs there; it is in the way when git was killed.",
          },
        );
      }
    }
  }

  /** Merges a result into a branch of the person, because a person asked for it. */
  async mergeInto(options: MergeOptions): Promise<MergeOutcome> {
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

/**
 * The first pattern that begins at or below a submodule. Pure. `src/**` around a submodule lies not
 * in it; the submodule stays as it is.
 */
export function findOwnedSubmodule(
  patterns: readonly string[],
  submodules: readonly string[],
): { pattern: string; submodule: string } | undefined {
  for (const pattern of patterns) {
    for (const alternative of foldedGlob(pattern).alternatives) {
      const prefix = `${literalPrefix(alternative).join("/")}/`;
      const submodule = submodules.find((path) => prefix.startsWith(`${foldPath(path)}/`));
      if (submodule !== undefined) return { pattern, submodule };
    }
  }
  return undefined;
}

async function readFacts(
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
  const isDirty =
    !known.isBare &&
    head.exitCode === 0 &&
    (await git.text(["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"], {
      at,
      settings: await filtersOff(git, at, signal),
      signal,
    })) !== "";
  return {
    ...known,
    branch: branch.stdout.toString().trim() || undefined,
    head: head.exitCode === 0 ? head.stdout.toString().trim() : undefined,
    isDirty,
  };
}

async function topLevel(
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
    throw new DureError("NOT_A_REPOSITORY", `${folder} is git's own folder, not a working tree.`, {
      class: "input",
      hint: "Name the folder that holds the files.",
    });
  }
  return stdout.toString().replace(/\n$/, "");
}

async function existing(folder: string): Promise<string> {
  try {
    if ((await stat(folder)).isDirectory()) return await realpath(folder);
  } catch (error) {
    if (!["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? "")) throw error;
  }
  throw notARepository(folder);
}

function notARepository(folder: string): DureError {
  return new DureError("NOT_A_REPOSITORY", `${folder} is not in a git repository.`, {
    class: "input",
    hint: "Name a folder of the repository that the plan is for, or run git init there.",
  });
}

async function withAlternates(folder: string, seen: Set<string> = new Set()): Promise<string[]> {
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

function listed(names: readonly string[]): string {
  return names.length > 5
    ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more`
    : names.join(", ");
}
