import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { codeOf } from "../kernel/errors.ts";

/** Who a process is, for others on the same machine that want to know whether it is still there. */
export interface MachineProcess {
  readonly pid: number;
  /**
   * When it started, in the kernel's words; a pid that is used again has another. Empty where the
   * system does not tell.
   */
  readonly started: string;
}

/** Names the place in which a pid means one process: this boot, this pid namespace. */
export function machineName(): string {
  return [
    hostname(),
    tryRead(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    tryRead(() => readlinkSync("/proc/self/ns/pid")),
  ]
    .filter((part) => part !== undefined)
    .join("/");
}

export function currentProcess(): MachineProcess {
  return { pid: process.pid, started: readStat(process.pid)?.started ?? "" };
}

/**
 * Whether a process of this machine is gone for certain: no such pid, another start, or dead and
 * not yet collected.
 */
export function isGone({ pid, started }: MachineProcess): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === "ESRCH") return true; // EPERM: it exists and belongs to another user
  }

  const stat = readStat(pid);
  if (!stat) return false;

  return stat.state === "Z" || stat.state === "X" || (started !== "" && stat.started !== started);
}

function readStat(pid: number): { state: string; started: string } | undefined {
  const text = tryRead(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (text === undefined) return undefined;

  // The second field is the command in parentheses and may hold anything; fields 3 and 22 are state
  // and start. proc(5).
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");

  return { state: fields[0]!, started: fields[19]! };
}

function tryRead(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
