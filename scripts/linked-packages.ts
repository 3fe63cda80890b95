import { lstat, mkdir, readdir, readlink, symlink } from "node:fs/promises";
import path from "node:path";

/**
 * Links every package that `from` has installed into `to`, both `node_modules` of a workspace. A
 * link of a workspace stays as it is written, so that it leads into the other tree.
 */
export async function linkPackages(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    if (name === ".cache" || name.startsWith(".vite")) continue;
    const [source, target] = [path.join(from, name), path.join(to, name)];
    if ((await lstat(source)).isSymbolicLink()) await symlink(await readlink(source), target);
    else if (name.startsWith("@")) await linkPackages(source, target);
    else await symlink(source, target);
  }
}
