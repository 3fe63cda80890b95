import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import type { Repository } from "./repository.ts";

/**
 * Settings that hold for all paths, above any `.gitattributes`: bytes are what git stores, nothing
 * is turned into another thing.
 */
export const ATTRIBUTES = "* -text -crlf -ident -filter !eol !working-tree-encoding !diff !merge\n";
/** Makes the store of a run, unless it is there. */
export async function ensureStore(
  repository: Repository,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (await isThere(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}.new-`);
  try {
    await makeStore(repository, draft, signal);
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process was faster; its store is like this one.
    if (!["ENOTEMPTY", "EEXIST"].includes(codeOf(error) ?? "")) throw error;
  }
}

/** Makes a bare repository in the folder that borrows the objects of the person's. */
async function makeStore(
  repository: Repository,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const format = `--object-format=${repository.hash}`;
  await repository.git.run(
    ["init", "--quiet", "--bare", "--template=", "--initial-branch=none", format, folder],
    { at: { cwd: folder }, signal },
  );
  for (const name of ["info", "objects/info", "temporary"]) {
    await mkdir(join(folder, name), { recursive: true });
  }
  const borrowed = await repository.objectFolders({ signal });
  const lines = borrowed.map((path) => (/^["#]|\n/.test(path) ? JSON.stringify(path) : path));
  await writeFile(
    join(folder, "objects", "info", "alternates"),
    lines.map((line) => `${line}\n`).join(""),
  );
  await writeFile(join(folder, "info", "attributes"), ATTRIBUTES);
  const shallow = await repository.shallowCommits();
  if (shallow !== "") await writeFile(join(folder, "shallow"), shallow);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
