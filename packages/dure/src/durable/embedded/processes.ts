import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { codeOf } from "../../kernel/errors.ts";

/** One process, told from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it was born, in the words of the system; empty where the system does not tell. */
  readonly born: string;
}

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, born: birthOf(process.pid) };
}

/** Whether that very process still runs; a zombie does not. */
export function isAlive({ pid, born }: ProcessIdentity): boolean {
  return exists(pid) && birthOf(pid) === born;
}

/**
 * Whether a process of that number runs; one that has died and was not yet collected by its parent
 * does not.
 */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === "ESRCH") return false;
  }
  return statOf(pid)?.state !== "Z";
}

/**
 * What runs under the number that `postmaster.pid` names: `ours`, a PostgreSQL on this folder;
 * `foreign`, something that got the same number later; `gone`.
 */
export function whoIs(pid: number, dataFolder: string): "ours" | "foreign" | "gone" {
  if (!exists(pid)) return "gone";
  if (process.platform === "linux") return worksIn(pid, dataFolder) ? "ours" : "foreign";
  if (process.platform === "win32") return "ours";

  return psColumn(pid, "command").includes("postgres") ? "ours" : "foreign";
}

/**
 * Whether any process still works in the folder, such as a backend whose postmaster was killed.
 * Linux only, else false.
 */
export function anyoneWorksIn(folder: string): boolean {
  if (process.platform !== "linux") return false;
  return readdirSync("/proc").some(
    (name) => /^\d+$/.test(name) && exists(Number(name)) && worksIn(Number(name), folder),
  );
}

function worksIn(pid: number, folder: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder;
  } catch {
    return false;
  }
}

function birthOf(pid: number): string {
  if (process.platform === "linux") return `${bootId()}:${statOf(pid)?.startedAt ?? ""}`;
  return process.platform === "win32" ? "" : psColumn(pid, "lstart");
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

/**
 * State letter and start time (ticks since boot) from /proc; source: proc_pid_stat(5), fields 3 and
 * 22.
 */
function statOf(pid: number): { state: string; startedAt: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before it may hold anything
    return { state: fields[0] ?? "", startedAt: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

function psColumn(pid: number, column: string): string {
  try {
    return execFileSync("ps", ["-p", String(pid), "-o", `${column}=`], { encoding: "utf8" }).trim();
  } catch {
    return "";
  }
}
