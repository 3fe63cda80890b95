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
 * Bounds the processes and the memory of a tree by the kernel's control groups. Source: kernel docs,
 * cgroup-v1/pids, cgroup-v1/memory, cgroup-v2.
 */
export interface ControlGroups {
  readonly boundsProcesses: boolean;
  readonly boundsMemory: boolean;
  /** A group for one tree. */
  open(bounds: { readonly processes: number; readonly memoryBytes: number }): ControlGroup;
}

export interface ControlGroup {
  /**
   * Comes before a command line, which then runs in the group. The command itself moves in: that
   * waits for the kernel, and we do not.
   */
  readonly enter: readonly string[];
  /** Whether the kernel ended a process of it for its memory. */
  hasRunOut(): boolean;
  remove(): void;
}

/** What encloses the command counts too: unshare or bwrap, and the first process. */
const ENCLOSURE_PROCESSES = 2;
/** With fewer the enclosure cannot be made. */
const FEWEST = 4;

/** Where a new group takes its bounds: their first file that is there. */
const FILES = {
  processes: ["pids.max"],
  memory: ["memory.max", "memory.limit_in_bytes"],
} as const;
/** In which the kernel counts what it ended for its memory: `oom_kill 1`. */
const EVENTS = ["memory.events", "memory.oom_control"];

/** Groups that we may make: none where the kernel or our rights do not let us. */
export function openControlGroups(): ControlGroups {
  const parents = ownGroups().map((at) => ({ at, files: filesOfNewGroup(at) }));
  const holds = ({ files }: { files: readonly string[] }, bound: keyof typeof FILES): boolean =>
    FILES[bound].some((file) => files.includes(file));
  // A process is in one group of a hierarchy, so one with both goes first.
  const both = parents.find((one) => holds(one, "processes") && holds(one, "memory"));
  const memory = both ?? parents.find((one) => holds(one, "memory"));
  const processes =
    both ?? parents.find((one) => holds(one, "processes") && !isSameHierarchy(one.at, memory?.at));
  const used = [...new Set([memory, processes].flatMap((one) => one?.at ?? []))];
  for (const at of used) removeAbandoned(at);

  return {
    boundsProcesses: processes !== undefined,
    boundsMemory: memory !== undefined,
    open(bounds) {
      const groups = used.map((at) => makeGroup(at, bounds));
      return {
        enter: groups.flatMap((group) => [
          ...["/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"'],
          path.join(group, "cgroup.procs"),
        ]),
        hasRunOut: () => groups.some(hasRunOut),
        remove: () => groups.forEach(removeGroup),
      };
    },
  };
}

function makeGroup(
  parent: string,
  { processes, memoryBytes }: Parameters<ControlGroups["open"]>[0],
): string {
  const group = path.join(parent, nameOfGroup());
  mkdirSync(group);
  const most = Math.max(processes, FEWEST) + ENCLOSURE_PROCESSES;
  const bounds = {
    "pids.max": most,
    "memory.max": memoryBytes,
    "memory.limit_in_bytes": memoryBytes,
    // Without it a group that is full goes on in the swap of the machine.
    "memory.swap.max": 0,
    "memory.memsw.limit_in_bytes": memoryBytes,
    "memory.oom.group": 1,
  };
  for (const [file, bound] of Object.entries(bounds)) setBound(path.join(group, file), bound);
  return group;
}

function setBound(file: string, bound: number): void {
  if (!existsSync(file)) return;
  try {
    writeFileSync(file, String(bound));
  } catch {
    // A kernel without swap accounting shows some of the files and takes nothing.
  }
}

function hasRunOut(group: string): boolean {
  return EVENTS.some((name) => {
    try {
      const count = /^oom_kill (\d+)/m.exec(readFileSync(path.join(group, name), "utf8"))?.[1];
      return Number(count ?? 0) > 0;
    } catch {
      return false; // the other version's name
    }
  });
}

/** Version 2 has one hierarchy, in which a process is in one group. */
function isSameHierarchy(one: string, other: string | undefined): boolean {
  const isOfFirst = (at: string): boolean => /^\/sys\/fs\/cgroup\/(?:pids|memory)\//.test(`${at}/`);
  return other !== undefined && !isOfFirst(one) && !isOfFirst(other);
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
    if (controllers === "") {
      return [path.join("/sys/fs/cgroup", own), path.join("/sys/fs/cgroup", path.dirname(own))];
    }
    return ["pids", "memory"]
      .filter((name) => controllers.split(",").includes(name))
      .map((name) => path.join("/sys/fs/cgroup", name, own));
  });
}

/** What a group made there has; nothing where none can be made. */
function filesOfNewGroup(parent: string): readonly string[] {
  const trial = path.join(parent, nameOfGroup());
  try {
    mkdirSync(trial);
    const files = readdirSync(trial);
    rmdirSync(trial);
    return files;
  } catch {
    return [];
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
