import { mkdir } from "node:fs/promises";
import path from "node:path";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";

/** Folders above the wanted one that may be missing; deeper paths are a mistake. */
const MAX_LEVELS = 64;

/**
 * Makes a folder and those above it. Node's own recursive `mkdir` never returns where the system
 * answers ENOENT for a folder whose parent exists, as in `/proc`; this one makes level by level.
 * Throws `FOLDER_UNUSABLE`.
 */
export async function makeFolder(folder: string): Promise<void> {
  const missing: string[] = [];
  for (
    let level = path.resolve(folder);
    !(await made(level, folder));
    level = path.dirname(level)
  ) {
    missing.push(level);
    const isTop = level === path.dirname(level);
    if (isTop || missing.length > MAX_LEVELS) throw unusable(folder, "no folder above it exists");
  }
  for (const level of missing.toReversed()) {
    if (!(await made(level, folder))) {
      throw unusable(folder, `${path.dirname(level)} takes no new folder`);
    }
  }
}

/** Whether `level` is there now; false when the folder above it is missing. */
async function made(level: string, wanted: string): Promise<boolean> {
  try {
    await mkdir(level);
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return true;
    if (code === "ENOENT") return false;
    throw unusable(wanted, code ?? messageOf(error), error);
  }
}

function unusable(folder: string, why: string, cause?: unknown): DureError {
  return new DureError("FOLDER_UNUSABLE", `The folder ${folder} cannot be made: ${why}.`, {
    class: "input",
    hint: "Name a folder that this user may write to (DURE_HOME for the data of a team).",
    cause,
  });
}
