import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What would be left if the harness died now; the cleaner reads it. */
export interface Left {
  readonly processes: readonly { readonly pid: number; readonly started: string }[];
  readonly namespaces: readonly string[];
  /** The folder stays: there is a violation in it to look at. */
  readonly keep: boolean;
}

export function writeLeft(
  folder: string,
  pids: readonly number[],
  rest: Omit<Left, "processes">,
): void {
  const processes = pids.flatMap((pid) => {
    const started = startOf(pid);
    return started === undefined ? [] : [{ pid, started }];
  });
  const draft = join(folder, "left.json.new");
  writeFileSync(draft, JSON.stringify({ processes, ...rest } satisfies Left));
  renameSync(draft, join(folder, "left.json"));
}

/**
 * When a process started, in the kernel's words; undefined when there is none. proc(5), field 22.
 */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
