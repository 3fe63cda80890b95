import { execFile } from "node:child_process";
import { cp, mkdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";

const SHOP = fileURLToPath(new URL("shop", import.meta.url));
const run = promisify(execFile);

/**
 * Makes the repository of the shop in a folder, with one commit on `main`; one that is there
 * already is left alone.
 */
export async function makeShop(folder: string): Promise<void> {
  if (await stat(path.join(folder, ".git")).catch(() => undefined)) return;
  const draft = `${folder}.new-${process.pid}`;
  await mkdir(path.dirname(folder), { recursive: true });
  await cp(SHOP, draft, { recursive: true });
  // under its own name it would hide files of this folder
  await rename(path.join(draft, "gitignore"), path.join(draft, ".gitignore"));
  const git = (...args: string[]): Promise<unknown> =>
    run(
      "git",
      [
        "-c",
        "user.name=Shop",
        "-c",
        "user.email=shop@example.com",
        "-c",
        "commit.gpgSign=false",
        ...args,
      ],
      { cwd: draft },
    );
  await git("init", "--quiet", "--initial-branch=main");
  await git("add", "--all");
  await git("commit", "--quiet", "-m", "Count money, stock and carts");
  await rename(draft, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(draft, { recursive: true, force: true });
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
  });
}
