import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isHiddenFrom, type WorkerScope } from "../scope.ts";
import { onDisk, removeAll } from "./files.ts";
import { ATTRIBUTES } from "./make-store.ts";
import { isText, textOf, type PathKey } from "./paths.ts";
import type { RunStore } from "./store.ts";

/** The private commit does not say when it was made, and is the same for the same files. */
const PRIVATE_GIT_TIME = 0;

export interface PrivateGit {
  readonly tree: string;
  /** Around the tree, out of the workers' reach. */
  readonly folder: string;
  readonly commit: string;
  readonly scope: WorkerScope;
  readonly signal: AbortSignal | undefined;
}

/** A repository in the tree with one commit: the files of `commit` that the scope does not hide. */
export async function makePrivateGit(store: RunStore, options: PrivateGit): Promise<void> {
  const { tree, folder, commit, scope, signal } = options;
  const { git } = store;
  const listing = await store.listing(commit, { signal });
  const hidden = [...listing.keys()].filter(
    (key) => !isText(key) || isHiddenFrom(scope, textOf(key)),
  );
  const excerpt = await store.excerpt(commit, hidden, { at: PRIVATE_GIT_TIME, signal });
  const draft = join(folder, "private.git");
  await onDisk(folder, async () => {
    await rm(draft, { recursive: true, force: true });
    await writeRepository(draft, { hash: store.hash, head: excerpt, hidden });
    await git.run(["pack-objects", "--quiet", "--revs", join(draft, "objects", "pack", "pack")], {
      at: store.at,
      input: `${excerpt}\n`,
      signal,
    });
    const at = { cwd: tree, gitDir: draft, workTree: tree };
    await git.run(["read-tree", excerpt], { at, signal });
    await git.run(["update-index", "-q", "--refresh"], { at, accept: [0, 1], signal });
    await removeAll(Buffer.from(join(tree, ".git")));
    await rename(draft, join(tree, ".git"));
  });
}

/** What `git init` makes, by hand: one process less for each turn of a worker. */
async function writeRepository(
  folder: string,
  options: { hash: "sha1" | "sha256"; head: string; hidden: readonly PathKey[] },
): Promise<void> {
  for (const name of ["info", "objects/info", "objects/pack", "refs/heads"]) {
    await mkdir(join(folder, name), { recursive: true });
  }
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
  await write("HEAD", "ref: refs/heads/port\n");
  await write("config", configOf(options.hash));
  await write("refs/heads/port", `${options.head}\n`);
  await write("info/attributes", ATTRIBUTES);
  const excluded = options.hidden.filter(isText).map(textOf);
  const lines = excluded.map(
    (path) => `/${path.replace(/[\\*?[ ]/g, "\\$&").replace(/\n/g, "?")}\n`,
  );
  await write("info/exclude", lines.join(""));
}

function configOf(hash: "sha1" | "sha256"): string {
  const isSha256 = hash === "sha256";
  const lines = [
    "[core]",
    `\trepositoryformatversion = ${isSha256 ? 1 : 0}`,
    "\tfilemode = true",
    "\tbare = false",
  ];
  if (isSha256) lines.push("[extensions]", "\tobjectformat = sha256");
  return `${lines.join("\n")}\n`;
}
