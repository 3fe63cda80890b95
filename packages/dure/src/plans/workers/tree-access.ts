import { constants, type Stats } from "node:fs";
import { mkdir, open, readlink, realpath, stat, type FileHandle } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import { fileError, refusal, type FileAnswer } from "./file-answer.ts";

/** A file of a tree that was decided about, and what for. */
export interface Target {
  /** As it was asked for. */
  readonly path: string;
  /** From the root of the tree, without links. */
  readonly real: string;
  readonly wanted: "read" | "write";
}

/** A name in an opened folder. */
export interface OpenedName {
  /** A name of the folder that cannot be exchanged. */
  readonly folder: string;
  readonly name: string;
}

type Use<Value> = (file: FileHandle, stats: Stats) => Promise<FileAnswer<Value>>;

/** Opens folders and files of a tree, each from the folder above it, without following a link. */
export class TreeAccess {
  readonly #tree: string;

  /** @param tree absolute real path. */
  constructor(tree: string) {
    this.#tree = tree;
  }

  /** Opens a file that exists. */
  open<Value>(target: Target, flags: number, use: Use<Value>): Promise<FileAnswer<Value>> {
    return this.inFolder(target, { make: false }, (at) => this.openIn(at, target, flags, use));
  }

  async openIn<Value>(
    { folder, name }: OpenedName,
    { path, wanted }: Omit<Target, "real">,
    flags: number,
    use: Use<Value>,
  ): Promise<FileAnswer<Value>> {
    let file: FileHandle | undefined;
    try {
      // Not blocking: a FIFO may have no process at its other end.
      const safe = flags | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      file = await open(join(folder, name), safe, 0o644);
      const stats = await file.stat();
      if (!stats.isFile()) return refusal("not-a-file", path, wanted, `${path} is no file.`);
      return await use(file, stats);
    } catch (error) {
      return fileError(error, path, wanted);
    } finally {
      await file?.close();
    }
  }

  /** Opens the folder of a real path and hands it on with the last name. */
  async inFolder<Value>(
    { path, real, wanted }: Target,
    options: { make: boolean },
    use: (at: OpenedName) => Promise<FileAnswer<Value>>,
  ): Promise<FileAnswer<Value>> {
    const segments = real.split(sep);
    const name = segments.pop()!;
    let folder: FileHandle | undefined;
    try {
      folder = await open(this.#tree, FOLDER);
      let at = placeOf(folder, this.#tree);
      for (const segment of segments) {
        const below = join(at, segment);
        const isMade = options.make && (await makeFolder(below));
        const next = await open(below, FOLDER);
        if (isMade) await likeFolder(next, at);
        await folder.close();
        folder = next;
        at = placeOf(folder, below);
      }
      return await use({ folder: at, name });
    } catch (error) {
      return fileError(error, path, wanted);
    } finally {
      await folder?.close();
    }
  }
}

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * On Linux a name for the opened folder itself; elsewhere its path, which was opened without
 * following its last link.
 */
function placeOf(folder: FileHandle, path: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : path;
}

/** As `realpath`, for a path whose end need not be there. */
export async function realPathOf(path: string): Promise<string> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(await realpath(at), ...missing);
    } catch (error) {
      if (codeOf(error) !== "ENOENT" || dirname(at) === at) throw error;
      // A link whose target is missing: writing "through" it would make the target.
      const target = await linkTarget(at);
      if (target !== undefined) return join(await realPathOf(target), ...missing);
      missing.unshift(relative(dirname(at), at));
    }
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return resolve(await realpath(dirname(path)), await readlink(path));
  } catch {
    return undefined;
  }
}

/** What root makes for a worker with another user belongs to the folder's owner. */
export async function likeFolder(made: FileHandle, folder: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(folder);
  if (uid !== 0) await made.chown(uid, gid);
}

/** Whether the folder was not there. */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    return false;
  }
}
