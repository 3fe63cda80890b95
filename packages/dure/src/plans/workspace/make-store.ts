import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Repository } from "./repository.ts";

/**
 * Settings that hold for all paths, above any `.gitattributes`: bytes are what git stores, nothing
 * is turned into another thing.
 */
export const ATTRIBUTES = "* -text -crlf -ident -filter !eol !working-tree-encoding !diff !merge\n";
/** Makes a bare repository in the folder that borrows the objects of the person's. */
export async function makeStore(
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
