import { randomBytes } from "node:crypto";
import { link, open, unlink } from "node:fs/promises";
import { codeOf } from "../kernel/errors.ts";

/**
 * Makes a file with its whole text, on the disk before it has its name: no other process ever reads
 * a part of it, and a crash leaves none. One that is there stays; of several that make it at once
 * one does.
 *
 * @returns whether it was made here.
 */
export async function makeFile(
  file: string,
  text: string,
  { mode = 0o644 }: { mode?: number } = {},
): Promise<boolean> {
  const draft = await writeDraft(file, text, mode);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    return false;
  } finally {
    await unlink(draft);
  }
}

/** The text in a new file beside `file`, on the disk; gives its path. */
export async function writeDraft(file: string, text: string, mode: number): Promise<string> {
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  await using handle = await open(draft, "wx", mode);
  await handle.writeFile(text);
  await handle.sync();
  return draft;
}
