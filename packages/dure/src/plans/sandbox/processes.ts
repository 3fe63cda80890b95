import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf } from "../../kernel/errors.ts";
import type { WorkerIdentity } from "./sandbox.ts";

/**
 * Processes as the system shows them: who one is, who belongs to its tree, and how a whole tree is
 * ended. On Linux from /proc; elsewhere only process groups are known.
 */

/** Between two looks at processes that were killed, milliseconds. */
const LOOK_AGAIN_MS = 5;

/**
 * Users 60578–61183, which no system gives out. The first are those of folders of data
 * (worker-user.ts), one for each; the others are those of the kind `other-user`. Source: systemd,
 * docs/UIDS-GIDS.md.
 */
export const FIRST_USER = 60_578;
export const FOLDER_USERS = 128;
const FIRST_OF_PROCESSES = FIRST_USER + FOLDER_USERS;
const USERS = 606 - FOLDER_USERS;

interface SandboxProcessState {
  readonly pid: number;
  /** `Z`: dead, not yet collected by its parent. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startedTicks: string;
}

/** Who the process is now; undefined when there is none of that number. */
export function identify(pid: number): WorkerIdentity | undefined {
  const state = stateOf(pid);
  if (!state) return undefined;
  const { startedTicks } = state;
  return { host: hostname(), bootId: bootId(), pid, groupId: pid, startedTicks };
}

/** The value of DURE_SANDBOX in the whole tree of the process. Pure. */
export function markerOf(identity: WorkerIdentity): string {
  return `${identity.pid}-${identity.startedTicks}`;
}

/** Whether the very process runs; a zombie does not. */
export function isRunning(identity: Pick<WorkerIdentity, "pid" | "startedTicks">): boolean {
  const state = stateOf(identity.pid);
  return state !== undefined && state.state !== "Z" && state.startedTicks === identity.startedTicks;
}

/**
 * The user as which the process with that number works in `other-user`. Pure: it is found again
 * after a crash.
 */
export function userOf(pid: number): number {
  return FIRST_OF_PROCESSES + (pid % USERS);
}

/** Whether any process belongs to the user. */
export function hasProcesses(user: number): boolean {
  return allProcesses().some((process) => process.state !== "Z" && ownerOf(process.pid) === user);
}

/**
 * Children of the process's first thread, oldest first. Source: proc_tid_children(5), which kernels
 * may lack.
 */
export function childrenOf(pid: number): readonly number[] {
  return startedBy(pid, String(pid));
}

/** The process and all that it and its descendants have started, whichever thread did. */
export function descendantsOf(pid: number): readonly number[] {
  return [
    pid,
    ...threadsOf(pid).flatMap((thread) => startedBy(pid, thread).flatMap(descendantsOf)),
  ];
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has ended
  }
}

function startedBy(pid: number, thread: string): readonly number[] {
  try {
    const list = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
    return list.trim().split(" ").filter(Boolean).map(Number);
  } catch {
    if (thread !== String(pid)) return [];
    return allProcesses().flatMap((process) => (process.parent === pid ? [process.pid] : []));
  }
}

/** Bytes that these processes hold and share with no file. */
export function memoryOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + memoryOfOne(pid), 0);
}

function memoryOfOne(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kilobytes = [...status.matchAll(/^(?:RssAnon|RssShmem):\s+(\d+) kB/gm)];
    return kilobytes.reduce((sum, [, count]) => sum + Number(count) * 1_024, 0);
  } catch {
    return 0; // it has ended
  }
}

/**
 * Every running process of the tree: descendants, members of group and session, those that carry
 * the marker, and those of the user that only this tree has. The root is among them only while it
 * is that very process.
 */
function treeOf(root: WorkerIdentity): readonly number[] {
  if (process.platform !== "linux") return groupAnswers(root.groupId) ? [root.pid] : [];

  const all = allProcesses();
  const found = membersOf(root, all);
  const user = userOf(root.pid);
  if ([...found].some((pid) => ownerOf(pid) === user)) {
    for (const { pid } of all) if (ownerOf(pid) === user) found.add(pid);
  }
  addDescendants(found, all);
  const running = new Set(all.filter(({ state }) => state !== "Z").map(({ pid }) => pid));
  return [...found].filter((pid) => running.has(pid) && pid !== process.pid);
}

/** The root itself, members of its group and session, and what carries its marker. */
function membersOf(root: WorkerIdentity, all: readonly SandboxProcessState[]): Set<number> {
  const rootState = all.find(({ pid }) => pid === root.pid);
  // Its number may have been given to another process.
  const isOther = rootState !== undefined && rootState.startedTicks !== root.startedTicks;
  const marker = `DURE_SANDBOX=${markerOf(root)}`;
  const found = new Set<number>();
  if (rootState && !isOther) found.add(root.pid);
  for (const { pid, group, session } of all) {
    const isOfGroup = !isOther && (group === root.groupId || session === root.groupId);
    if (isOfGroup || markersOf(pid).includes(marker)) found.add(pid);
  }
  return found;
}

function addDescendants(found: Set<number>, all: readonly SandboxProcessState[]): void {
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
}

/**
 * Kills the tree and waits until nothing of it runs, however fast it forks. Whether anything ran.
 */
export async function endTree(root: WorkerIdentity, clock: Clock): Promise<boolean> {
  for (let ran = false; ; ran = true) {
    const members = treeOf(root);
    if (members.length === 0) return ran;
    for (const pid of members) signalTo(pid, "SIGKILL");
    if (isRunning(root)) signalTo(-root.groupId, "SIGKILL"); // at once for the whole group
    await clock.sleep(LOOK_AGAIN_MS);
  }
}

/** Asks everything in the group but `except` to end. */
export function askGroup(root: WorkerIdentity, except: readonly number[]): void {
  if (process.platform !== "linux") return signalTo(-root.groupId, "SIGTERM");
  for (const { pid, group, state } of allProcesses()) {
    if (group === root.groupId && state !== "Z" && !except.includes(pid)) signalTo(pid, "SIGTERM");
  }
}

/** Sends a signal; that no process is left is no error. */
export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== "ESRCH" && codeOf(error) !== "EPERM") throw error;
  }
}

export function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

function allProcesses(): readonly SandboxProcessState[] {
  return readdirSync("/proc").flatMap((name) => {
    const state = /^\d+$/.test(name) ? stateOf(Number(name)) : undefined;
    return state ? [state] : [];
  });
}

/** Source: proc_pid_stat(5), fields 3, 4, 5, 6 and 22. */
function stateOf(pid: number): SandboxProcessState | undefined {
  if (process.platform !== "linux") return stateByPs(pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      pid,
      state: fields[0] ?? "",
      parent: Number(fields[1]),
      group: Number(fields[2]),
      session: Number(fields[3]),
      startedTicks: fields[19] ?? "",
    };
  } catch {
    return undefined;
  }
}

function stateByPs(pid: number): SandboxProcessState | undefined {
  try {
    const line = execFileSync("ps", ["-p", String(pid), "-o", "state=,ppid=,pgid=,lstart="], {
      encoding: "utf8",
    }).trim();
    const [state = "", parent, group, ...started] = line.split(/\s+/);
    return {
      pid,
      state: state.slice(0, 1),
      parent: Number(parent),
      group: Number(group),
      session: 0,
      startedTicks: started.join(" "),
    };
  } catch {
    return undefined;
  }
}

/**
 * Values that the process was started with for DURE_SANDBOX; none for a process that we may not
 * look into.
 */
function markersOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8")
      .split("\0")
      .filter((variable) => variable.startsWith("DURE_SANDBOX="));
  } catch {
    return [];
  }
}

/** Real user of the process. Source: proc_pid_status(5). */
function ownerOf(pid: number): number | undefined {
  try {
    return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

function groupAnswers(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

/** Whether a process of that number runs. */
export function exists(pid: number): boolean {
  const state = stateOf(pid);
  return state !== undefined && state.state !== "Z";
}
