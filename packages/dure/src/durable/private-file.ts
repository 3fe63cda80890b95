import { constants } from "node:fs";
import { open, rename } from "node:fs/promises";
import { writeDraft } from "./make-file.ts";

/** Of a file that holds a secret: its owner alone reads and writes. */
const PRIVATE = 0o600;

/**
 * The text of a file that no other user may read or could have written; undefined where there is
 * none. No link is followed.
 */
export async function readPrivateFile(
  file: string,
  { maxBytes }: { readonly maxBytes: number },
): Promise<string | undefined> {
  try {
    await using handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const facts = await handle.stat();
    if (!facts.isFile() || facts.size > maxBytes || !isOwnAlone(facts)) return undefined;
    return await handle.readFile("utf8");
  } catch {
    return undefined;
  }
}

/** What stood there is gone at once: a reader sees the one text or the other. */
export async function replacePrivateFile(file: string, text: string): Promise<void> {
  await rename(await writeDraft(file, text, PRIVATE), file);
}

/** Windows has no such modes; there the folder's own rights decide. */
function isOwnAlone(facts: { readonly uid: number; readonly mode: number }): boolean {
  const uid = process.geteuid?.();
  return uid === undefined || (facts.uid === uid && (facts.mode & 0o077) === 0);
}
