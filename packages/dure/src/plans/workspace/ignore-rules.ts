import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Git, GitPlace, GitSession } from "./git.ts";
import type { Listing } from "./listing.ts";
import { absolute, type PathKey } from "./paths.ts";

/** Bytes; Linux takes 4,096. */
const LONGEST_PATH = 4_000;

/** The line of a `.gitignore` that leaves a path out. */
export interface IgnoreRule {
  /** From the root of the repository. */
  readonly file: string;
  readonly line: number;
  readonly pattern: string;
}

/**
 * What the `.gitignore` files of a commit leave out: those of the commit, so that no worker hides
 * files by a rule of its own. git itself decides, in an empty copy of the tree that has the rules
 * and nothing else.
 */
export class IgnoreRules {
  readonly #git: Git;
  readonly #at: GitPlace;
  readonly #view: string | undefined;
  readonly #signal: AbortSignal | undefined;
  #session: GitSession | undefined;

  /** @param options.scratch where the copy may stand while it is used. */
  static async open(
    git: Git,
    at: GitPlace,
    options: { listing: Listing; scratch: string; signal?: AbortSignal | undefined },
  ): Promise<IgnoreRules> {
    const { listing, scratch, signal } = options;
    const files = [...listing].filter(
      ([key, { mode }]) => /(?:^|\/)\.gitignore$/.test(key) && mode.startsWith("100"),
    );
    if (files.length === 0) return new IgnoreRules(git, at, undefined, signal);
    const view = await mkdtemp(join(scratch, "ignore-"));
    try {
      for (const [key, { id }] of files) {
        const { stdout } = await git.run(["cat-file", "blob", id], { at, signal });
        const folder = key.slice(0, Math.max(0, key.lastIndexOf("/"))) as PathKey;
        await mkdir(absolute(view, folder), { recursive: true });
        await writeFile(absolute(view, key), stdout);
      }
    } catch (error) {
      await rm(view, { recursive: true, force: true });
      throw error;
    }
    return new IgnoreRules(git, { ...at, cwd: view, workTree: view }, view, signal);
  }

  private constructor(
    git: Git,
    at: GitPlace,
    view: string | undefined,
    signal: AbortSignal | undefined,
  ) {
    this.#git = git;
    this.#at = at;
    this.#view = view;
    this.#signal = signal;
  }

  /**
   * Those of the paths that are left out, with the rule that decides. A rule such as `build/` speaks
   * of folders alone, so they are told apart.
   */
  async ignored(
    paths: readonly { readonly key: PathKey; readonly isFolder: boolean }[],
  ): Promise<Map<PathKey, IgnoreRule>> {
    const view = this.#view;
    if (view === undefined) return new Map();
    // A path that is too long for the copy is too long for a repository; it is not ignored, and so
    // refused.
    const asked = paths.filter(({ key }) => absolute(view, key).length < LONGEST_PATH);
    if (asked.length === 0) return new Map();
    for (const { key, isFolder } of asked) {
      if (isFolder) await mkdir(absolute(view, key), { recursive: true });
    }
    this.#session ??= this.#git.start(["check-ignore", "-z", "-v", "-n", "--stdin", "--no-index"], {
      at: this.#at,
      signal: this.#signal,
    });
    const session = this.#session;
    // "./", so that a name such as ":(top)x" is a name.
    const [, found] = await Promise.all([
      session.write(asked.map(({ key }) => `./${key}\0`).join("")),
      readAnswers(session, asked.length),
    ]);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session?.kill();
    if (this.#view !== undefined) await rm(this.#view, { recursive: true, force: true });
  }
}

/**
 * One answer: the file of the rule that decides, its line, the rule, the path that was asked for;
 * empty where no rule speaks.
 */
async function readAnswers(session: GitSession, count: number): Promise<Map<PathKey, IgnoreRule>> {
  const ignored = new Map<PathKey, IgnoreRule>();
  for (let index = 0; index < count; index++) {
    const file = await session.read("\0");
    const line = Number(await session.read("\0"));
    const pattern = await session.read("\0");
    const path = await session.read("\0");
    if (pattern === "" || pattern.startsWith("!")) continue;
    ignored.set(path.slice("./".length) as PathKey, { file, line, pattern });
  }
  return ignored;
}
