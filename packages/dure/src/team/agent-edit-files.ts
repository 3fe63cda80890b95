import type { EditableFile } from "../kernel/agent-files.ts";
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { chmod, chown, lstat, open, readdir, realpath, rename, rm } from "node:fs/promises";
import path from "node:path";
import { makeFolder } from "../durable/make-folder.ts";
import { writeDraft } from "../durable/make-file.ts";
import { codeOf, DureError } from "../kernel/errors.ts";

/** Bytes of a file that is read to be changed; what may be saved is shorter. */
const MOST_BYTES = 256 * 1024;

/** A file as it is on the disk; both null where there is none. */
export interface FileState {
  readonly text: string | null;
  /** Names this very text: a change says upon which one it was made. */
  readonly version: string | null;
}

/** Where a file of an agent is. `agent` is a key of the configuration: it has no dots and slashes. */
export interface FilePlace {
  readonly teamFolder: string;
  readonly agent: string;
  readonly file: EditableFile;
}

export function versionOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** The path that people are shown. */
export function shownPath({ agent, file }: Pick<FilePlace, "agent" | "file">): string {
  return `agents/${agent}/${file}`;
}

/** Throws `AGENT_FILE_IS_LINK`, `AGENT_FILE_UNREADABLE`. */
export async function readFileState(place: FilePlace): Promise<FileState> {
  if (!(await isFolderThere(place))) return NONE;
  const bytes = await readBytes(place);
  if (bytes === undefined) return NONE;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text, version: versionOf(text) };
  } catch (cause) {
    throw unreadable(place, "it is not UTF-8", cause);
  }
}

/**
 * Puts the text in the file's place: as a whole, on the disk before it has the file's name, with the
 * owner and the mode of the file before. A crash leaves the old or the new file. Throws
 * `AGENT_FILE_UNWRITABLE`.
 */
export async function replaceFile(place: FilePlace, text: string): Promise<void> {
  try {
    if (!(await isFolderThere(place))) await makeFolder(folderOf(place));
    await removeDrafts(place);
    const file = fileOf(place);
    const before = await ifThere(() => lstat(file));
    const mode = before === undefined ? 0o644 : before.mode & 0o777;
    const draft = await writeDraft(file, text, mode);
    if (before !== undefined) await keepOwner(draft, { uid: before.uid, gid: before.gid, mode });
    await rename(draft, file);
    await syncFolder(folderOf(place));
  } catch (cause) {
    if (cause instanceof DureError) throw cause;
    throw unwritable(place, cause);
  }
}

const NONE: FileState = { text: null, version: null };

function folderOf({ teamFolder, agent }: FilePlace): string {
  return path.join(teamFolder, "agents", agent);
}

function fileOf(place: FilePlace): string {
  return path.join(folderOf(place), place.file);
}

/** False: there is none. Throws where it, or one above it in the team's folder, is a link. */
async function isFolderThere(place: FilePlace): Promise<boolean> {
  const real = await ifThere(() => realpath(folderOf(place)));
  if (real === undefined) return false;
  const expected = path.join(await realpath(place.teamFolder), "agents", place.agent);
  if (real !== expected) throw isLink(place);
  return true;
}

async function readBytes(place: FilePlace): Promise<Uint8Array | undefined> {
  try {
    await using handle = await open(
      fileOf(place),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    const { size } = await handle.stat();
    if (size > MOST_BYTES) throw unreadable(place, `it has more than ${MOST_BYTES} bytes`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (error instanceof DureError) throw error;
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "ELOOP") throw isLink(place);
    throw unreadable(place, codeOf(error) ?? "it cannot be opened", error);
  }
}

/** Of a process that died before it gave a draft its name. The caller holds the file's lock. */
async function removeDrafts({ file, ...place }: FilePlace): Promise<void> {
  const folder = folderOf({ file, ...place });
  for (const name of await readdir(folder)) {
    const isDraft =
      name.startsWith(`${file}.`) && /^[0-9a-f]{16}$/.test(name.slice(file.length + 1));
    if (isDraft) await rm(path.join(folder, name), { force: true });
  }
}

async function keepOwner(
  draft: string,
  { uid, gid, mode }: { readonly uid: number; readonly gid: number; readonly mode: number },
): Promise<void> {
  await chmod(draft, mode);
  // Only root may give a file away; without that it belongs to who runs the server.
  await chown(draft, uid, gid).catch(() => {});
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, constants.O_RDONLY);
  await handle.sync().catch(() => {}); // not every file system can
}

async function ifThere<Found>(look: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await look();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function isLink(place: FilePlace): DureError {
  return new DureError(
    "AGENT_FILE_IS_LINK",
    `${shownPath(place)} is a link, or stands behind one.`,
    {
      class: "conflict",
      hint: "Change the file that the link leads to, and run dure reload.",
    },
  );
}

function unreadable(place: FilePlace, why: string, cause?: unknown): DureError {
  return new DureError("AGENT_FILE_UNREADABLE", `${shownPath(place)} cannot be read: ${why}.`, {
    class: "conflict",
    hint: "Look at the file at the machine.",
    cause,
  });
}

function unwritable(place: FilePlace, cause: unknown): DureError {
  const why = codeOf(cause) ?? "unknown";
  return new DureError("AGENT_FILE_UNWRITABLE", `${shownPath(place)} was not changed: ${why}.`, {
    class: "conflict",
    hint: "May the user who runs dure write to the team's folder, and has the disk room?",
    cause,
  });
}
