import type { Git, GitPlace } from "./git.ts";
import { diffTrees, type EntryChange, type Listed, listTree } from "./listing.ts";

/** Lists of commits that are kept; a list of 100,000 files is some 20 MB. */
const MAX_LISTINGS = 16;
/** Paths of changes that are kept; some 20 MB. */
const MAX_CHANGES = 100_000;

/** What commits hold and change. Commits never change, so the answers are kept. */
export class CommitLists {
  readonly #git: Git;
  readonly #at: GitPlace;
  readonly #listings = new Map<string, Listed>();
  readonly #changes = new Map<string, readonly EntryChange[]>();
  #changesKept = 0;

  constructor(git: Git, at: GitPlace) {
    this.#git = git;
    this.#at = at;
  }

  async listed(commit: string, signal: AbortSignal | undefined): Promise<Listed> {
    const known = this.#listings.get(commit);
    if (known) return known;
    const listed = await listTree(this.#git, this.#at, commit, { signal });
    this.keep(commit, listed);
    return listed;
  }

  /** What a commit holds that was made just now. */
  keep(commit: string, listed: Listed): void {
    this.#listings.set(commit, listed);
    if (this.#listings.size > MAX_LISTINGS) {
      this.#listings.delete(this.#listings.keys().next().value!);
    }
  }

  /** Many ports are laid over the same results, so their changes are asked for again and again. */
  async changesOf(
    { base, commit }: { readonly base: string; readonly commit: string },
    signal: AbortSignal | undefined,
  ): Promise<readonly EntryChange[]> {
    const key = `${base} ${commit}`;
    const known = this.#changes.get(key);
    if (known) return known;
    const changes = await diffTrees(this.#git, this.#at, { from: base, to: commit, signal });
    if (this.#changesKept + changes.length > MAX_CHANGES) {
      this.#changes.clear();
      this.#changesKept = 0;
    }
    this.#changes.set(key, changes);
    this.#changesKept += changes.length;
    return changes;
  }
}
