import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { codeOf } from "../../kernel/errors.ts";
import { refusal, type FileAnswer, type FileRefusal } from "./file-answer.ts";

/** Bytes of one file that is read or written: what is longer is no text for a model. */
export const MAX_FILE_BYTES = 1_000_000;
/** The text of an opened file. */
export async function textOf(
  file: FileHandle,
  stats: Stats,
  path: string,
): Promise<FileAnswer<{ readonly text: string }>> {
  if (stats.size > MAX_FILE_BYTES) {
    const most = `at most ${MAX_FILE_BYTES} can be read`;
    return refusal("too-large", path, "read", `${path} has ${stats.size} bytes, and ${most}.`);
  }
  const bytes = Buffer.alloc(stats.size + 1);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return { ok: true, text: decoder.decode(bytes.subarray(0, bytesRead)) };
  } catch {
    return refusal("not-text", path, "read", `${path} is no text in UTF-8.`);
  }
}

/** The text with `next` in the place of `old`, which must stand in it exactly once. Pure. */
export function replaced(
  path: string,
  before: string,
  { old, next }: { old: string; next: string },
): FileAnswer<{ readonly text: string }> {
  const refuse = (message: string): FileRefusal => refusal("failed", path, "write", message);
  if (old === "") return refuse("The text to replace is empty.");
  const at = before.indexOf(old);
  if (at < 0) return refuse(`The text to replace does not stand in ${path}. Read the file again.`);
  if (before.indexOf(old, at + 1) >= 0) {
    const twice = `The text to replace stands in ${path} more than once.`;
    return refuse(`${twice} Take more of the lines around it.`);
  }
  const text = `${before.slice(0, at)}${next}${before.slice(at + old.length)}`;
  return Buffer.byteLength(text) > MAX_FILE_BYTES ? tooLong(path) : { ok: true, text };
}

/** Pure. */
export function tooLong(path: string): FileRefusal {
  const message = `${path} would be longer than ${MAX_FILE_BYTES} bytes.`;
  return refusal("too-large", path, "write", message);
}

/** Why a path leads nowhere. Pure. */
export function notFollowed(error: unknown, path: string, wanted: "read" | "write"): FileRefusal {
  const code = codeOf(error);
  if (code === "ENOTDIR" || code === "ELOOP") {
    const through = `${path} leads through something that is no folder.`;
    return refusal("not-a-file", path, wanted, through);
  }
  return refusal("failed", path, wanted, `${path} cannot be looked at (${code ?? "unknown"}).`);
}

/** SHA-256, base64. Pure. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
