import type { CommitFiles } from "../context/gather.ts";
import { fieldsOf } from "../workspace/listing.ts";
import { textOf as pathText, type PathKey } from "../workspace/paths.ts";
import type { RunStore } from "../workspace/store.ts";

/** Bytes of a file that is read for a prompt. */
export const READ_BYTES = 1_000_000;
/** Of a reader. A run of fifty ports fits. */
const MAX_LISTINGS = 64;
const MAX_TEXTS = 32_000_000;

/**
 * Reads commits of a run for prompts. What is read is kept, by commit and by content: many prompts
 * are made from few files. Bounded: 64 commits, 32 MB of text; beyond it the oldest is read again
 * when it is needed.
 */
export class CommitReader {
  readonly #store: RunStore;
  readonly #listings = new Map<string, Promise<readonly ListedBlob[]>>();
  readonly #texts = new Map<string, Promise<string | undefined>>();
  #kept = 0;

  constructor(store: RunStore) {
    this.#store = store;
  }

  async files(commit: string, signal: AbortSignal): Promise<CommitFiles> {
    const listing = await this.#listing(commit, signal);
    const byPath = new Map(listing.map((file) => [file.path, file]));
    return {
      files: listing,
      readFile: async (path) => {
        const file = byPath.get(path);
        return file && file.bytes <= READ_BYTES ? this.#text(file, signal) : undefined;
      },
    };
  }

  #listing(commit: string, signal: AbortSignal): Promise<readonly ListedBlob[]> {
    const known = this.#listings.get(commit);
    if (known) return known;
    const listing = listBlobs(this.#store, commit, signal);
    listing.catch(() => this.#listings.delete(commit));
    this.#listings.set(commit, listing);
    if (this.#listings.size > MAX_LISTINGS) {
      this.#listings.delete(this.#listings.keys().next().value!);
    }
    return listing;
  }

  #text({ id, bytes }: ListedBlob, signal: AbortSignal): Promise<string | undefined> {
    const known = this.#texts.get(id);
    if (known) return known;
    const text = this.#store.git
      .run(["cat-file", "blob", id], { at: this.#store.at, signal })
      .then(({ stdout }) => textOf(stdout));
    text.catch(() => this.#texts.delete(id));
    if (this.#kept + bytes > MAX_TEXTS) {
      this.#texts.clear();
      this.#kept = 0;
    }
    this.#kept += bytes;
    this.#texts.set(id, text);
    return text;
  }
}

interface ListedBlob {
  readonly path: string;
  /** 0 for what is no file. */
  readonly bytes: number;
  readonly id: string;
}

async function listBlobs(
  store: RunStore,
  commit: string,
  signal: AbortSignal,
): Promise<readonly ListedBlob[]> {
  const { stdout } = await store.git.run(["ls-tree", "-r", "-l", "-z", "--full-tree", commit], {
    at: store.at,
    signal,
  });
  return fieldsOf(stdout).map((line) => {
    const tab = line.indexOf("\t");
    const [, , id, bytes] = line.slice(0, tab).split(/ +/);
    return { path: pathText(line.slice(tab + 1) as PathKey), bytes: Number(bytes) || 0, id: id! };
  });
}

/** A file's content where it is text. */
export function textOf(content: Buffer | undefined): string | undefined {
  return content === undefined || content.includes(0) ? undefined : content.toString("utf8");
}
