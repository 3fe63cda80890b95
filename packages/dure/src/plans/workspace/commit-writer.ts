import { join } from "node:path";
import { onDisk, temporaryFolder } from "./files.ts";
import type { CommitIdentity, Git, GitPlace } from "./git.ts";
import type { TreeEntry } from "./listing.ts";
import type { PathKey } from "./paths.ts";

type CommitWaiting = { readonly signal?: AbortSignal | undefined };

/** What a commit says beside its files. */
export interface CommitAbout extends CommitWaiting {
  readonly parents: readonly string[];
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Author of commits. The address belongs to no person. */
export const AUTHOR = { name: "dure", email: "dure@localhost" };

/**
 * Parents of one commit. git takes thousands, but a program that draws the history does not, and
 * each commit repeats them.
 */
const MAX_PARENTS = 64;
/**
 * Stands in commits that only hold others. Without a number, so that the same parents give the same
 * commit.
 */
const HOLDING = [
  "Hold results together\n\nThe files are those of the base; ",
  "what the results changed is in the commit that this one is a parent of.\n",
].join("");

/** Makes the commits of a run's store. It writes no ref. */
export class CommitWriter {
  readonly #git: Git;
  readonly #folder: string;
  readonly #author: Omit<CommitIdentity, "at">;

  /** @param options.folder of the store. */
  constructor(options: { git: Git; folder: string; author: Omit<CommitIdentity, "at"> }) {
    this.#git = options.git;
    this.#folder = options.folder;
    this.#author = options.author;
  }

  /** A commit of the files of another one, with changes. */
  async write(
    from: string,
    changes: readonly { readonly key: PathKey; readonly entry: TreeEntry | undefined }[],
    about: CommitAbout,
  ): Promise<string> {
    const { signal } = about;
    await using temporary = await onDisk(this.#folder, () =>
      temporaryFolder(join(this.#folder, "temporary"), "t-"),
    );
    const at = { ...this.#at, indexFile: join(temporary.path, "index") };
    await this.#git.run(["read-tree", from], { at, signal });
    // What goes away goes first: a folder may come where a file was.
    const gone = changes
      .filter(({ entry }) => entry === undefined)
      .map(({ key }) => `0 ${"0".repeat(from.length)}\t${key}\0`);
    const there = changes.flatMap(({ key, entry }) =>
      entry ? [`${entry.mode} ${entry.id}\t${key}\0`] : [],
    );
    if (changes.length > 0) {
      await this.#git.run(["update-index", "-z", "--index-info"], {
        at,
        input: Buffer.from([...gone, ...there].join(""), "latin1"),
        signal,
      });
    }
    const tree = await this.#git.text(["write-tree"], { at, signal });
    return await this.writeTree(tree, about);
  }

  async writeTree(tree: string, { parents, message, at, signal }: CommitAbout): Promise<string> {
    const args = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-"];
    return this.#git.text(args, {
      at: this.#at,
      identity: { ...this.#author, at },
      input: message,
      signal,
    });
  }

  /**
   * Parents for one commit, from which all these are reachable: where there are many, commits in
   * between hold {@link MAX_PARENTS} of them each, and so on. They have the base's files and
   * depend on nothing else, so what ports start from that need the same ones shares them.
   */
  async gather(
    base: string,
    commits: readonly string[],
    { at, signal }: CommitWaiting & { at: number },
  ): Promise<readonly string[]> {
    if (commits.length <= MAX_PARENTS) return commits;
    const holding: string[] = [];
    for (let from = 0; from < commits.length; from += MAX_PARENTS) {
      const parents = commits.slice(from, from + MAX_PARENTS);
      const about = { parents, message: HOLDING, at, signal };
      holding.push(await this.writeTree(`${base}^{tree}`, about));
    }
    return this.gather(base, holding, { at, signal });
  }

  /** Packs what the objects add to others, from wherever it is, into the store, and on the disk. */
  async own(
    objects: readonly string[],
    without: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const lines = [...objects, ...without.map((one) => `^${one}`)];
    const pack = join(this.#folder, "objects", "pack", "pack");
    await this.#git.run(["pack-objects", "--quiet", "--revs", pack], {
      at: this.#at,
      input: lines.map((line) => `${line}\n`).join(""),
      signal,
    });
  }

  get #at(): GitPlace {
    return { cwd: this.#folder, gitDir: this.#folder };
  }
}
