import { lstatSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { codeOf, DureError } from "../../kernel/errors.ts";
import type { Confinement, SandboxCommand } from "./sandbox.ts";

/**
 * Refuses a confinement that would not mean what it says. A link on the way to a writable path is
 * the dangerous one: an earlier worker may have put it there, and a mount would follow it.
 */
export function checkConfinement(confinement: Confinement, command: SandboxCommand): void {
  for (const at of [...confinement.writable, ...confinement.disposable]) checkReal(at);
  for (const at of [...confinement.readOnly, ...confinement.hidden]) checkParentReal(at);
  for (const at of confinement.shown ?? []) checkReal(at);
  for (const at of confinement.disposable) {
    if (!statSync(at).isDirectory()) {
      throw new DureError("SANDBOX_PATH_NOT_FOLDER", `${at} is disposable and not a folder.`, {
        class: "input",
      });
    }
  }
  checkAbsolute(confinement.cwd);
  if (!statSync(confinement.cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw cwdMissing(confinement.cwd);
  }
  checkReal(confinement.cwd);
  if (command.command.length === 0 || command.command[0] === "") {
    throw new DureError("SANDBOX_COMMAND_EMPTY", "There is no command to run.", { class: "input" });
  }
  for (const text of [...[command.command].flat(), ...Object.entries(command.env).flat()]) {
    if (text.includes("\0")) {
      throw new DureError("SANDBOX_TEXT_INVALID", "A word or variable holds a NUL byte.", {
        class: "input",
      });
    }
  }
}

export function cwdMissing(cwd: string): DureError {
  return new DureError(
    "SANDBOX_CWD_MISSING",
    `${cwd} is no folder that the process could work in.`,
    { class: "not-found" },
  );
}

/** Trees that are made anew for each process; nothing in them can be a place of a confinement. */
export const MADE_ANEW = ["/proc", "/sys", "/dev"];

function checkAbsolute(at: string): void {
  if (
    !path.isAbsolute(at) ||
    path.normalize(at) !== at ||
    at.includes("\0") ||
    (at.endsWith("/") && at !== "/")
  ) {
    throw new DureError(
      "SANDBOX_PATH_NOT_REAL",
      `${JSON.stringify(at)} is not a plain absolute path.`,
      { class: "input" },
    );
  }
  if (MADE_ANEW.some((tree) => at === tree || at.startsWith(`${tree}/`))) {
    throw new DureError(
      "SANDBOX_PATH_NOT_REAL",
      `${at} lies in ${at.slice(0, 5)}, which each process gets anew.`,
      { class: "input" },
    );
  }
}

function checkReal(at: string): void {
  checkAbsolute(at);
  if (!lstatSync(at, { throwIfNoEntry: false })) {
    throw new DureError("SANDBOX_PATH_MISSING", `${at} does not exist.`, {
      class: "not-found",
      hint: "Make it before the process starts.",
    });
  }
  const real = realpathSync(at);
  if (real === at) return;
  throw new DureError("SANDBOX_PATH_NOT_REAL", `${at} leads to ${real} through a symbolic link.`, {
    class: "forbidden",
    hint: "Name the real path, if the link was not put there by a worker.",
  });
}

/** As `checkReal`, but what stands at the path itself may be missing or a link. */
function checkParentReal(at: string): void {
  checkAbsolute(at);
  const parent = path.dirname(at);
  try {
    const real = realpathSync(parent);
    if (real !== parent) {
      throw new DureError(
        "SANDBOX_PATH_NOT_REAL",
        `${parent} leads to ${real} through a symbolic link.`,
        { class: "forbidden" },
      );
    }
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") throw error;
  }
}
