import { randomBytes } from "node:crypto";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { makeFolder } from "../make-folder.ts";
import type { ByteStore, ByteStoreOptions } from "./byte-store.ts";

/**
 * Bytes in files of a folder that all processes share. A file has its name when it is on the disk
 * whole; its owner alone reads it.
 */
export function folderStore(folder: string): ByteStore {
  const root = path.resolve(folder);
  return {
    name: `the folder ${root}`,
    put: (key, bytes, { signal }) => putFile(placeOf(root, key), bytes, signal),
    get: (key, options) => getFile(placeOf(root, key), options),
    delete: (key) => rm(placeOf(root, key), { force: true }),
  };
}

const OWNER_ALONE = 0o600;

async function putFile(file: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const folder = path.dirname(file);
  await makeFolder(folder);
  const draft = `${file}.${randomBytes(8).toString("hex")}.part`;
  try {
    {
      await using handle = await open(draft, "wx", OWNER_ALONE);
      await handle.writeFile(bytes, { signal });
      await handle.sync();
    }
    await rename(draft, file);
    await syncFolder(folder);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The name itself is on the disk, where the system can say so. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync();
}

async function getFile(
  file: string,
  { signal, maxBytes }: ByteStoreOptions,
): Promise<Uint8Array | undefined> {
  try {
    const { size } = await stat(file);
    if (size > maxBytes) throw tooLarge(file, size);
    return await readFile(file, { signal });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** A key is never a way out of the folder. */
function placeOf(root: string, key: string): string {
  const file = path.join(root, key);
  if (file.startsWith(root + path.sep) && /^[A-Za-z0-9/-]+$/.test(key)) return file;
  throw new DureError("FILE_STORE_FAILED", `"${key}" cannot be a key of ${root}.`);
}

function tooLarge(file: string, size: number): DureError {
  return new DureError("FILE_STORE_FAILED", `${file} has ${size} bytes, more than were stored.`, {
    class: "unavailable",
    hint: "Look what else writes into this folder.",
  });
}

/** What went wrong in a store, with its name. */
export function storeFailed(store: ByteStore, what: string, cause: unknown): DureError {
  return new DureError(
    "FILE_STORE_FAILED",
    `The store of files (${store.name}) could not ${what}: ${messageOf(cause)}.`,
    {
      class: "unavailable",
      hint: "Look whether the store of files answers and has room; then send it again.",
      cause,
    },
  );
}
