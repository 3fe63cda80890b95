import { join } from "node:path";
import type { CommitLists } from "./commit-lists.ts";
import { onDisk } from "./files.ts";
import type { CommitIdentity, GitPlace } from "./git.ts";
import { type PackStore, PackWriter } from "./pack-writer.ts";
import { buildTrees, type EntryWrite } from "./tree-builder.ts";

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
  readonly #store: PackStore;
  readonly #author: Omit<CommitIdentity, "at">;
  readonly #lists: CommitLists;

  constructor(store: PackStore, author: Omit<CommitIdentity, "at">, lists: CommitLists) {
    this.#store = store;
    this.#author = author;
    this.#lists = lists;
  }

  /**
   * A commit of the files of another one, with changes, whose contents are in the store.
   *
   * @param about.isLoose it is read once: its objects are files of their own
   */
  async write(
    from: string,
    changes: readonly EntryWrite[],
    about: CommitAbout & { readonly isLoose?: boolean | undefined },
  ): Promise<string> {
    return onDisk(this.#store.folder, async () => {
      await using pack = new PackWriter(this.#store);
      const commit = await this.add(pack, from, changes, about);
      await pack.end(about);
      return commit;
    });
  }

  /** The same, there when the pack is. */
  async add(
    pack: PackWriter,
    from: string,
    changes: readonly EntryWrite[],
    { parents, message, at, signal }: CommitAbout,
  ): Promise<string> {
    const listed = await this.#lists.listed(from, signal);
    const { root, after } = await buildTrees(listed, changes, (tree) => pack.add("tree", tree));
    const who = `${plainName(this.#author.name)} <${plainName(this.#author.email)}>`;
    const by = `${who} ${Math.floor(at / 1000)} +0000`;
    const lines = [
      `tree ${root}`,
      ...parents.map((parent) => `parent ${parent}`),
      `author ${by}`,
      `committer ${by}`,
      "",
      message.endsWith("\n") ? message : `${message}\n`,
    ];
    const commit = await pack.add("commit", Buffer.from(lines.join("\n")));
    this.#lists.keep(commit, after);

    return commit;
  }

  async writeTree(tree: string, { parents, message, at, signal }: CommitAbout): Promise<string> {
    const args = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-"];
    return this.#store.git.text(args, {
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
    const pack = join(this.#store.folder, "objects", "pack", "pack");
    await this.#store.git.run(["pack-objects", "--quiet", "--revs", pack], {
      at: this.#at,
      input: lines.map((line) => `${line}\n`).join(""),
      signal,
    });
  }

  get #at(): GitPlace {
    return { cwd: this.#store.folder, gitDir: this.#store.folder };
  }
}

/** A name as git writes it in a commit: no line ends, no angle brackets. */
function plainName(name: string): string {
  return name.replaceAll(/[\n<>\0]/g, "").trim();
}
