import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { release } from "node:os";
import path from "node:path";
import { exists } from "./processes.ts";

/**
 * Bounds how many processes a tree has, by the kernel's pids controller. Source: kernel docs,
 * cgroup-v1/pids, cgroup-v2.
 */
export interface ProcessCounter {
  /** A group for one tree. */
  open(max: number): ProcessGroup;
}

export interface ProcessGroup {
  /**
   * Comes before a command line, which then runs in the group. The command itself moves in: that
   * waits for the kernel, and we do not.
   */
  readonly enter: readonly string[];
  remove(): void;
}

/** What encloses the command counts too: unshare or bwrap, and the first process. */
const ENCLOSURE_PROCESSES = 2;
/** With fewer the enclosure cannot be made. */
const FEWEST = 4;

/** Undefined where we may not make groups. */
export function openProcessCounter(): ProcessCounter | undefined {
  const parent = ownGroups().find(canHoldGroups);
  if (parent === undefined) return undefined;
  removeAbandoned(parent);

  return {
    open(max) {
      const group = path.join(parent, nameOfGroup());
      mkdirSync(group);
      writeFileSync(
        path.join(group, "pids.max"),
        String(Math.max(max, FEWEST) + ENCLOSURE_PROCESSES),
      );
      return {
        enter: ["/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"', path.join(group, "cgroup.procs")],
        remove: () => removeGroup(group),
      };
    },
  };
}

function nameOfGroup(): string {
  return `dure-${process.pid}-${randomUUID()}`;
}

/**
 * Whether RLIMIT_NPROC is counted per user namespace: Linux ≥ 5.14, and never for root.
 * Source: kernel commit 21d1c5e386bc (Reimplement RLIMIT_NPROC on top of ucounts).
 */
export function countsPerNamespace(user: number | undefined): boolean {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  return user !== 0 && (major > 5 || (major === 5 && minor >= 14));
}

function ownGroups(): readonly string[] {
  let lines: string[];
  try {
    lines = readFileSync("/proc/self/cgroup", "utf8").trim().split("\n");
  } catch {
    return [];
  }
  return lines.flatMap((line) => {
    const [, controllers = "", ...rest] = line.split(":");
    const own = rest.join(":");
    if (controllers.split(",").includes("pids")) return [path.join("/sys/fs/cgroup/pids", own)];
    if (controllers === "") {
      return [path.join("/sys/fs/cgroup", own), path.join("/sys/fs/cgroup", path.dirname(own))];
    }
    return [];
  });
}

function canHoldGroups(parent: string): boolean {
  const trial = path.join(parent, nameOfGroup());
  try {
    mkdirSync(trial);
    const canCount = existsSync(path.join(trial, "pids.max"));
    rmdirSync(trial);
    return canCount;
  } catch {
    return false;
  }
}

/**
 * Groups of a dure that was killed. One with processes in it cannot be removed; one of a living
 * dure is left alone.
 */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const owner = /^dure-(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !exists(Number(owner))) removeGroup(path.join(parent, name));
  }
}

function removeGroup(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    // Still held by a process that is being collected: found by the next start.
  }
}
