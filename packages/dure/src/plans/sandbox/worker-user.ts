import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, realpathSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { isWithin } from "./mount-plan.ts";
import { FIRST_USER, FOLDER_USERS } from "./processes.ts";
import { findTool } from "./tools.ts";
import type { Confinement } from "./sandbox.ts";

/**
 * The user as which workers run where dure is root. It has a name inside alone, owns only what workers
 * made, and is the same for a data folder after every start. Undefined where dure is not root: then it
 * cannot become another user.
 */
export function workerUserOf(folder: string): number | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return undefined;
  const digest = createHash("sha256").update(realpathSync(folder)).digest();
  return FIRST_USER + (digest.readUInt32BE(0) % FOLDER_USERS);
}

/** Of these nothing is given away: programs of the system would belong to a worker. */
const SYSTEM = [
  "/bin",
  "/boot",
  "/dev",
  "/etc",
  "/lib",
  "/lib64",
  "/opt",
  "/proc",
  "/run",
  "/sbin",
  "/sys",
  "/usr",
];

/**
 * Makes the user the owner of what a confinement lets it write, where that is root's: by
 * descriptors, so that no link that an earlier worker left leads it elsewhere. The working folder
 * itself becomes its own too: git works in no other.
 */
export async function giveTo(user: number, confinement: Confinement): Promise<void> {
  const whole = [...confinement.writable, ...confinement.disposable];
  for (const at of whole) {
    if (at !== "/" && path.dirname(at) !== "/" && !SYSTEM.some((system) => isWithin(at, system))) {
      continue;
    }
    throw new DureError(
      "SANDBOX_PLACE_OF_SYSTEM",
      `${at} is the system's: no worker may write it while dure runs as root.`,
      {
        class: "forbidden",
        hint: "Name a deeper folder, or run dure as an ordinary user.",
      },
    );
  }
  const repository = path.join(confinement.cwd, ".git");
  const isTree =
    whole.some((at) => isWithin(at, confinement.cwd)) &&
    lstatSync(repository, { throwIfNoEntry: false })?.isDirectory() === true;
  await chown(user, ["-R", "-P"], whole);
  if (isTree) await chown(user, [], [confinement.cwd, repository]);
}

/** What is left to a worker to read as a copy: the original stays as it is. */
export async function copyFor(user: number, original: string, copy: string): Promise<void> {
  await promisify(execFile)(findTool("cp"), ["-R", "-P", "--", original, copy], {
    env: { LC_ALL: "C" },
  });
  await chown(user, ["-R", "-P"], [copy]);
}

async function chown(
  user: number,
  how: readonly string[],
  paths: readonly string[],
): Promise<void> {
  if (paths.length === 0) return;
  try {
    await promisify(execFile)(
      findTool("chown"),
      [...how, "-h", "--from=0:0", `${user}:${user}`, "--", ...paths],
      { env: { LC_ALL: "C" } },
    );
  } catch (cause) {
    throw new DureError(
      "SANDBOX_FAILED",
      `What the process may write could not be given to user ${user}: ${messageOf(cause)}`,
      { class: "unavailable", cause, hint: "chown of GNU coreutils is needed." },
    );
  }
}
