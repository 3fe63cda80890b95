import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import path from "node:path";
import { exists } from "./processes.ts";

/**
 * Bounds the processes, the memory and the CPU time of a tree by the kernel's control groups.
 * Source: kernel docs, cgroup-v1/pids, cgroup-v1/memory, scheduler/sched-bwc, cgroup-v2.
 */
export interface ControlGroups {
  readonly boundsProcesses: boolean;
  readonly boundsMemory: boolean;
  readonly boundsCpu: boolean;
  /** A group for one tree. */
  open(bounds: GroupBounds): ControlGroup;
}

export interface GroupBounds {
  readonly processes: number;
  readonly memoryBytes: number;
  /** CPUs whose time the tree may take, such as 1.5. */
  readonly cpus: number;
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

/** Where the kernel shows groups, and says which are ours. */
export interface GroupFiles {
  readonly root: string;
  /** As in /proc/self/cgroup. */
  readonly own: string;
}

/** What encloses the command counts too: unshare or bwrap, and the first process. */
const ENCLOSURE_PROCESSES = 2;
/** With fewer the enclosure cannot be made. */
const FEWEST = 4;
/** Microseconds in which a tree gets its share of CPU time, the kernel's own default. */
const PERIOD = 100_000;

/** What bounds the kind of thing, in both versions. */
const CONTROLLERS = ["pids", "memory", "cpu"] as const;
type Controller = (typeof CONTROLLERS)[number];

/** In which the kernel counts what it ended for its memory: `oom_kill 1`. */
const EVENTS = ["memory.events", "memory.oom_control"];

/** A group in which we may make groups. */
interface Parent {
  readonly at: string;
  readonly controllers: readonly Controller[];
}

const MACHINE: GroupFiles = { root: "/sys/fs/cgroup", own: "/proc/self/cgroup" };

/** Groups that we may make: none where the kernel or our rights do not let us. */
export function openControlGroups(files: GroupFiles = MACHINE): ControlGroups {
  const used = parentsOf(files);
  for (const { at } of used) removeAbandoned(at);
  const bounds = (one: Controller): boolean =>
    used.some(({ controllers }) => controllers.includes(one));

  return {
    boundsProcesses: bounds("pids"),
    boundsMemory: bounds("memory"),
    boundsCpu: bounds("cpu"),
    open(most) {
      const groups = used.map((parent) => makeGroup(parent, most));
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

/** CPUs whose time a worker may take: all of the machine's but half of one, which is dure's. */
export function cpusOfWorkers(): number {
  return availableParallelism() - 0.5;
}

function makeGroup({ at, controllers }: Parent, bounds: GroupBounds): string {
  const group = path.join(at, nameOfGroup());
  mkdirSync(group);
  for (const controller of controllers) {
    for (const [file, bound] of boundsOf(controller, bounds)) {
      setBound(path.join(group, file), bound);
    }
  }
  return group;
}

/** Files of both versions; a group has those of one. Pure. */
function boundsOf(
  controller: Controller,
  { processes, memoryBytes, cpus }: GroupBounds,
): readonly (readonly [string, string | number])[] {
  const time = Math.round(cpus * PERIOD);
  switch (controller) {
    case "pids":
      return [["pids.max", Math.max(processes, FEWEST) + ENCLOSURE_PROCESSES]];
    case "memory":
      return [
        ["memory.max", memoryBytes],
        ["memory.limit_in_bytes", memoryBytes],
        // Without it a group that is full goes on in the swap of the machine.
        ["memory.swap.max", 0],
        ["memory.memsw.limit_in_bytes", memoryBytes],
        ["memory.oom.group", 1],
      ];
    case "cpu":
      return [
        ["cpu.max", `${time} ${PERIOD}`],
        ["cpu.cfs_period_us", PERIOD],
        ["cpu.cfs_quota_us", time],
      ];
  }
}

function setBound(file: string, bound: string | number): void {
  try {
    writeFileSync(file, String(bound));
  } catch {
    // A file of the other version, or of swap accounting that the kernel does not do.
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

/** Where groups are made; a process is in one group of version 2, and in one of each tree of 1. */
function parentsOf({ root, own }: GroupFiles): readonly Parent[] {
  let lines: string[];
  try {
    lines = readFileSync(own, "utf8").trim().split("\n");
  } catch {
    return [];
  }
  const groups = lines.map((line) => {
    const [, names = "", ...rest] = line.split(":");
    return { names: names.split(","), group: rest.join(":") };
  });
  const firsts = CONTROLLERS.flatMap((name): Parent[] => {
    const found = groups.find(({ names }) => names.includes(name));
    const at = found && path.join(root, name, found.group);
    return at !== undefined && mayMakeIn(at) ? [{ at, controllers: [name] }] : [];
  });
  const second = groups.find(({ names }) => names[0] === "");
  const shared = second === undefined ? [] : parentOfSecond(root, second.group);
  return [...shared, ...firsts];
}

/**
 * The group around ours, else our own. There the kernel bounds new groups only while no process is
 * in the group itself ("no internal process constraint"), so ours move to a leaf of it first.
 */
function parentOfSecond(root: string, group: string): readonly Parent[] {
  const own = path.join(root, group);
  for (const at of new Set([path.join(root, path.dirname(group)), own])) {
    if (among(path.join(at, "cgroup.controllers")).length === 0 || !mayMakeIn(at)) continue;
    if (at === own && enabledIn(at).length === 0) moveToLeaf(at);
    const controllers = enabledIn(at);
    if (controllers.length > 0) return [{ at, controllers }];
  }
  return [];
}

/** Controllers of new groups there, after those that it has were passed on to them. */
function enabledIn(at: string): readonly Controller[] {
  const passedOn = path.join(at, "cgroup.subtree_control");
  const missing = among(path.join(at, "cgroup.controllers")).filter(
    (name) => !among(passedOn).includes(name),
  );
  if (missing.length > 0) setBound(passedOn, missing.map((name) => `+${name}`).join(" "));
  return among(passedOn);
}

/** Controllers that a file of version 2 names. */
function among(file: string): readonly Controller[] {
  try {
    const words = readFileSync(file, "utf8").split(/[\s+]+/);
    return CONTROLLERS.filter((name) => words.includes(name));
  } catch {
    return []; // version 1
  }
}

const LEAF = "dure";

/** Source: systemd, docs/CGROUP_DELEGATION. */
function moveToLeaf(at: string): void {
  const leaf = path.join(at, LEAF);
  try {
    mkdirSync(leaf, { recursive: true });
    const members = readFileSync(path.join(at, "cgroup.procs"), "utf8");
    for (const pid of members.split("\n").filter(Boolean)) {
      writeFileSync(path.join(leaf, "cgroup.procs"), pid);
    }
  } catch {
    // Another's group: nothing is bounded there.
  }
}

/** Whether we may make groups there. */
function mayMakeIn(parent: string): boolean {
  const trial = path.join(parent, nameOfGroup());
  try {
    mkdirSync(trial);
    rmdirSync(trial);
    return true;
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
