import { constants } from "node:fs";
import {
  chmod,
  lstat,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  unlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { DureError, codeOf } from "../../kernel/errors.ts";
import { sayDiskFull } from "./git-failure.ts";

/** Does work on a disk; when it is full, says so with the path. */
export async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw sayDiskFull(error, path);
  }
}

/** A folder that is gone when its user is done, whatever happens. */
export async function temporaryFolder(
  parent: string,
  prefix: string,
): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(parent, prefix));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Writes a whole file or none, and returns when it is on the disk. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${crypto.randomUUID()}`;
  try {
    const file = await open(
      draft,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
      0o644,
    );
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** So that names in a folder outlive a power cut. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Removes what is there, whatever a worker did to it: no rights to its folders, names deeper than a
 * path can say. Links are not followed. Throws `TREE_MOUNTED` where another file system begins,
 * before anything of that is touched.
 */
export async function removeAll(path: Buffer): Promise<void> {
  const top = await lstat(path, { bigint: true }).catch(ignoreMissing);
  if (!top) return;
  if (!top.isDirectory()) return unlink(path);
  // Folders that lie too deep to be named are moved up beside the others, until there are none.
  for (let moved = true; moved;) moved = await emptyFolder(path, path, top.dev);
  await rmdir(path);
}

async function emptyFolder(folder: Buffer, top: Buffer, device: bigint): Promise<boolean> {
  const stats = await lstat(folder, { bigint: true });
  if (stats.dev !== device) {
    throw new DureError("TREE_MOUNTED", `Another file system is mounted at ${folder.toString()}.`, {
      class: "conflict",
      hint: "Unmount it; dure does not remove what lies on another file system.",
    });
  }
  if ((stats.mode & 0o700n) !== 0o700n) await chmod(folder, 0o700);
  let moved = false;
  for (const entry of await readdir(folder, { withFileTypes: true, encoding: "buffer" })) {
    const path = Buffer.concat([folder, Buffer.from("/"), entry.name]);
    if (!entry.isDirectory()) await unlink(path);
    else if (path.length > LONGEST_PATH) {
      await rename(path, Buffer.concat([top, Buffer.from(`/deep-${crypto.randomUUID()}`)]));
      moved = true;
    } else {
      moved = (await emptyFolder(path, top, device)) || moved;
      await rmdir(path);
    }
  }
  return moved;
}

/** Bytes; Linux takes 4,096, with room for one more name of 255. */
const LONGEST_PATH = 3_500;

function ignoreMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
}

/** Undefined: the file is not there. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
