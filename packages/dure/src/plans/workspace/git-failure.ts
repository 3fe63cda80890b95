import { existsSync } from "node:fs";
import { basename } from "node:path";
import { DureError, messageOf } from "../../kernel/errors.ts";
import type { GitCall } from "./git.ts";

/**
 * The oldest git whose `merge-tree` writes trees as we need it. Source: Debian 12 has 2.39;
 * docs/spec/plans.
 */
export const OLDEST_GIT = [2, 39] as const;
/** Of the error output, as much as goes into a message. */
export const STDERR_TAIL = 2_000;

export interface Ended {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly timedOut: boolean;
  readonly isMaxBuffer: boolean;
  readonly code?: string | undefined;
}

export function failure(
  args: readonly string[],
  call: GitCall,
  result: Ended,
  stderr: string,
): DureError {
  const tail = stderr.trim().slice(-STDERR_TAIL);
  if (result.code === "ENOENT" && result.exitCode === undefined && existsSync(call.at.cwd)) {
    return new DureError("GIT_MISSING", "git was not found on PATH.", {
      class: "unavailable",
      hint: `Install git ${OLDEST_GIT.join(".")} or newer.`,
      cause: result,
    });
  }
  if (isFull(result, tail)) {
    return diskFull(call.at.workTree ?? call.at.gitDir ?? call.at.cwd, result);
  }
  const folder = call.at.gitDir ?? call.at.cwd;
  const where = `git ${args[0]} ${endOf(result)} in ${basename(folder)}`;
  return new DureError("GIT_FAILED", `${where}${tail ? `: ${tail}` : "."}`, {
    details: {
      folder,
      command: ["git", ...args.slice(0, 20)],
      exitCode: result.exitCode ?? null,
      stderr: tail,
    },
    cause: result,
  });
}

function isFull({ code }: Ended, stderr: string): boolean {
  if (code === "ENOSPC" || code === "EDQUOT") return true;
  return /No space left on device|Disk quota exceeded|Out of diskspace/i.test(stderr);
}

function endOf({ timedOut, isMaxBuffer, signal, exitCode }: Ended): string {
  if (timedOut) return "took too long";
  if (isMaxBuffer) return "said too much";
  return signal ? `was ended by ${signal}` : `ended with code ${exitCode}`;
}

/**
 * Whether an error says that a disk is full, and the error that says so in our words; any other
 * error is given back as it is.
 */
export function sayDiskFull(error: unknown, path: string): unknown {
  const code =
    typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT" ? diskFull(path, error) : error;
}

function diskFull(path: string, cause: unknown): DureError {
  return new DureError("DISK_FULL", `There is no space left for ${path}.`, {
    class: "unavailable",
    hint: "Make room on that disk, then resume: nothing was half done.",
    details: { path },
    cause: cause instanceof Error ? cause : messageOf(cause),
  });
}
