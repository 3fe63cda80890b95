/** A tree of processes: its output, its end, and that nothing of it is left. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { GATE_ENV, launchScript } from "./launch-script.ts";
import {
  askGroup,
  childrenOf,
  endTree,
  identify,
  isRunning,
  markerOf,
  signalTo,
} from "./processes.ts";
import type { Enclosure } from "./confiner.ts";
import { absentIn } from "./absent.ts";
import type { ControlGroup, ControlGroups } from "./control-groups.ts";
import { type DiskUse, diskUseOf, watchDisk } from "./disk-watch.ts";
import type { RefusedHosts } from "./refused-hosts.ts";
import { mostOfOneProcess, watchMemory } from "./memory-watch.ts";
import type {
  Confinement,
  WorkerIdentity,
  SandboxCommand,
  SandboxEnd,
  SandboxProcess,
  SandboxSetting,
  SpawnOptions,
} from "./sandbox.ts";
import { Gate, GateClosed } from "./gate-process.ts";
import { findTool } from "./tools.ts";
import { explain, startFailed } from "./start-failure.ts";
import { type Readable, Transform, type TransformCallback } from "node:stream";

export type Tree = SandboxProcess;

export interface TreeOrder {
  readonly enclosure: Enclosure;
  readonly confinement: Confinement;
  readonly command: SandboxCommand;
  readonly bridge: readonly string[] | undefined;
  readonly merged: boolean;
  readonly refused: RefusedHosts;
  readonly groups: ControlGroups;
  /** Folders that it may fill. */
  readonly writes: readonly string[];
  readonly setting: SandboxSetting;
  readonly options: SpawnOptions;
  /** Removes the folder of the enclosure. */
  readonly remove: () => void;
}

/**
 * Between SIGTERM and SIGKILL, milliseconds. Source: docs/spec/plans §3, everything is gone within
 * 2 s.
 */
const GRACE_MS = 1_000;
/** Between two looks whether the last process is gone, milliseconds. */
const LOOK_AGAIN_MS = 2;

/** How the first process of a tree ended. */
interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A tree that was launched. */
interface Launched {
  readonly child: ChildProcess;
  readonly root: WorkerIdentity;
  /** The first process of its PID namespace, where it has one. */
  readonly init: WorkerIdentity | undefined;
  /** Before the command began. */
  readonly disk: DiskUse;
  readonly exited: Promise<Exit>;
  readonly group: ControlGroup;
}

/**
 * Starts a process tree: start the enclosure → it is ready, and its identity has been stored → hand
 * over the command → it has started. Whatever fails on the way, nothing of the tree is left.
 */
export async function startTree(order: TreeOrder): Promise<Tree> {
  const { enclosure, command, setting } = order;
  const group = order.groups.open({
    processes: command.limits.processes + roomFor(order.bridge),
    memoryBytes: setting.memoryBytes,
    cpus: setting.cpus,
  });
  const child = launch([...group.enter, ...yielding(order.groups), ...enclosure.argv]);
  const exited = exitOf(child);
  const gate = new Gate(child, exited, setting.clock);
  const root = child.pid === undefined ? undefined : identify(child.pid);
  if (root === undefined) {
    group.remove();
    throw await startFailed(child, gate, exited);
  }
  const entered = await enter(order, root, gate, group);
  gate.close();
  return watchTree(order, { child, root, ...entered, exited, group });
}

/** Goes through the gate. */
async function enter(
  order: TreeOrder,
  root: WorkerIdentity,
  gate: Gate,
  group: ControlGroup,
): Promise<Pick<Launched, "init" | "disk">> {
  const { enclosure, options, setting } = order;
  let isReady = false;
  const getReady = async (): Promise<void> => {
    if (enclosure.admit) gate.send(await enclosure.admit(root.pid));
    await gate.hears("ready", options.signal);
    isReady = true;
  };
  try {
    await Promise.all([options.onStart?.(root), getReady()]);
    options.signal?.throwIfAborted();
    const init = enclosure.hasInit ? identify(childrenOf(root.pid)[0] ?? 0) : undefined;
    const disk = await diskUseOf(order.writes);
    gate.send(launchScript(orderOfGate(order, root)), { last: true });
    await gate.hears("started", options.signal);
    return { init, disk };
  } catch (error) {
    await endTree(root, setting.clock);
    const message = await gate.failure();
    group.remove();
    if (options.signal?.aborted || !(error instanceof GateClosed)) throw error;
    throw explain(error, message, { ...order, isReady });
  }
}

function exitOf(child: ChildProcess): Promise<Exit> {
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once("error", reject).once("exit", (code, signal) => resolve({ code, signal }));
  });
  exited.catch(() => {}); // told to the one that starts the tree
  return exited;
}

/** Follows a started tree to its end, and ends it at its limits. */
function watchTree(order: TreeOrder, launched: Launched): Tree {
  const { command, options, setting } = order;
  const { child, root } = launched;
  const stopper = new TreeStopper(order, launched);
  const meter = new OutputMeter(command.limits.outputBytes, () => void stopper.stop("output"));

  const cancelTimer = setting.clock.after(command.limits.timeMs, () => void stopper.stop("time"));
  const cancelWatches = watchBounds(order, launched, { stopper, meter });
  const onAbort = (): void => void stopper.stop("aborted");
  options.signal?.addEventListener("abort", onAbort, { once: true });
  if (options.signal?.aborted) onAbort();

  const ended = waitForEnd(order, launched, {
    stopper,
    meter,
    onExit: () => {
      cancelTimer();
      cancelWatches();
      options.signal?.removeEventListener("abort", onAbort);
    },
  });
  ended.catch(() => {}); // a caller that waits for it gets the error

  const stdin = child.stdin!;
  stdin.on("error", () => {}); // a process that has stopped reading says so through its end
  if (command.input !== undefined) stdin.end(command.input);
  return {
    identity: root,
    stdin,
    stdout: meter.through(child.stdout!),
    stderr: meter.through(child.stderr!),
    ended,
    async kill() {
      await stopper.stop("aborted");
      await ended.catch(() => {});
    },
  };
}

/** What would go on until the machine has no more of it. */
function watchBounds(
  order: TreeOrder,
  { root, group, disk: before }: Launched,
  { stopper, meter }: { readonly stopper: TreeStopper; readonly meter: OutputMeter },
): () => void {
  const { groups, setting, writes, refused } = order;
  const { clock } = setting;
  const cancels = [
    watchMemory(
      root.pid,
      {
        bytes: setting.memoryBytes,
        hasRunOut: groups.boundsMemory ? () => group.hasRunOut() : undefined,
      },
      { clock, onOver: () => void stopper.stop("memory") },
    ),
    watchDisk(
      { bytes: setting.diskBytes, places: writes, before },
      { clock, onOver: () => void stopper.stop("disk") },
    ),
    refused.watch(
      { printed: () => meter.printed },
      { clock, onOver: () => void stopper.stop("refused") },
    ),
  ];
  return () => cancels.forEach((cancel) => cancel());
}

async function waitForEnd(
  order: TreeOrder,
  { exited, root, init, group }: Launched,
  { stopper, meter, onExit }: { stopper: TreeStopper; meter: OutputMeter; onExit: () => void },
): Promise<SandboxEnd> {
  try {
    const exit = await exited;
    stopper.hasExited = true;
    onExit();
    await lastOneGone(root, init, order.setting);
    await order.enclosure.settle?.();
    if (group.hasRunOut()) stopper.because = "memory";
    const { because } = stopper;
    const mostBytes = mostOf(because, order.setting);
    const end = endOf(exit, because);
    const { places } = order.enclosure;
    const hasFailed = because === "exited" && end.exitCode !== 0;
    const named = places && hasFailed ? absentIn(order.command, places) : [];
    const absent = named.length > 0 ? named : undefined;
    const refused = order.refused.list;
    return { ...end, because, mostBytes, absent, refused, outputTruncated: meter.isTruncated };
  } finally {
    group.remove();
    order.remove();
  }
}

/** Bytes that it was ended for. Pure. */
function mostOf(
  because: SandboxEnd["because"],
  { memoryBytes, diskBytes }: SandboxSetting,
): number | undefined {
  if (because === "memory") return memoryBytes;
  return because === "disk" ? diskBytes : undefined;
}

/** What would go on until a tree that is asked politely has ended. */
const AT_ONCE: readonly SandboxEnd["because"][] = ["output", "memory", "disk"];

/** Ends a tree once: politely first, unless it takes too much. */
class TreeStopper {
  /** Why the tree ended. */
  because: SandboxEnd["because"] = "exited";
  hasExited = false;
  readonly #order: TreeOrder;
  readonly #launched: Launched;
  #stopping: Promise<void> | undefined;

  constructor(order: TreeOrder, launched: Launched) {
    this.#order = order;
    this.#launched = launched;
  }

  stop(why: SandboxEnd["because"]): Promise<void> {
    if (this.hasExited) return Promise.resolve();
    return (this.#stopping ??= this.#stop(why));
  }

  async #stop(why: SandboxEnd["because"]): Promise<void> {
    this.because = why;
    if (!AT_ONCE.includes(why)) await this.#ask();
    if (!this.hasExited) await this.#force();
  }

  /** Asks it to end, and waits a while. */
  async #ask(): Promise<void> {
    const { root, init, exited } = this.#launched;
    const ours = init ? [root.pid, init.pid] : [root.pid];
    askGroup(root, this.#order.enclosure.hasInit ? ours : []);
    const grace = new AbortController();
    const { clock } = this.#order.setting;
    await Promise.race([exited, clock.sleep(GRACE_MS, { signal: grace.signal }).catch(() => {})]);
    grace.abort();
  }

  async #force(): Promise<void> {
    const { root, init, exited } = this.#launched;
    if (init) {
      // The outer process waits for it, so its end tells that all are gone.
      signalTo(init.pid, "SIGKILL");
      await exited;
    } else await endTree(root, this.#order.setting.clock);
  }
}

/**
 * Waits for the kernel to have ended a PID namespace; elsewhere ends whatever has left group and
 * session.
 */
async function lastOneGone(
  root: WorkerIdentity,
  init: WorkerIdentity | undefined,
  setting: SandboxSetting,
): Promise<void> {
  if (init === undefined) {
    await endTree(root, setting.clock);
    return;
  }
  while (isRunning(init)) {
    signalTo(init.pid, "SIGKILL");
    await setting.clock.sleep(LOOK_AGAIN_MS);
  }
}

/**
 * Pure. The shells of an enclosure tell a signal as 128 + number; a process that we see ourselves
 * is told alike.
 */
function endOf(
  exit: Exit,
  because: SandboxEnd["because"],
): Pick<SandboxEnd, "exitCode" | "signal"> {
  if (because !== "exited") {
    return { exitCode: null, signal: exit.signal ?? nameOfSignal((exit.code ?? 0) - 128) ?? null };
  }
  if (exit.code === null) {
    return {
      exitCode: 128 + (constants.signals[exit.signal as NodeJS.Signals] ?? 0),
      signal: exit.signal,
    };
  }
  return { exitCode: exit.code, signal: nameOfSignal(exit.code - 128) ?? null };
}

function nameOfSignal(number: number): string | undefined {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
}

// --- start

/** A priority that no process can raise again, where no group bounds its CPU time. */
function yielding({ boundsCpu }: ControlGroups): readonly string[] {
  return boundsCpu ? [] : [findTool("nice"), "-n", "10"];
}

/**
 * A session and group of its own, nothing of our environment, and no descriptor of ours but the
 * four pipes.
 */
function launch(argv: readonly string[]): ChildProcess {
  const [program, ...args] = argv;
  const nothing = openSync("/dev/null", "r");
  try {
    const stdio: ("pipe" | "ignore" | number)[] = ["pipe", "pipe", "pipe", "pipe"];
    for (const descriptor of inheritable()) {
      while (stdio.length <= descriptor) stdio.push("ignore");
      // Takes the place of ours; "ignore" would leave it open.
      if (descriptor > 3) stdio[descriptor] = nothing;
    }
    return spawn(program!, args, { cwd: "/", env: GATE_ENV, detached: true, stdio });
  } finally {
    closeSync(nothing);
  }
}

/**
 * Descriptors of ours that a child would get: those without close-on-exec, which Node itself never
 * makes, but the program that started us may have. Source: proc_pid_fdinfo(5).
 */
function inheritable(): readonly number[] {
  try {
    return readdirSync("/proc/self/fd").flatMap((name) => {
      try {
        const info = readFileSync(`/proc/self/fdinfo/${name}`, "utf8");
        const flags = /^flags:\s+(\d+)/m.exec(info)?.[1] ?? "0";
        const isClosed = (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
        return isClosed || Number(name) <= 2 ? [] : [Number(name)];
      } catch {
        return []; // the one by which we read the folder
      }
    });
  } catch {
    return []; // no Linux
  }
}

const CLOSE_ON_EXEC = 0o2000000;

function orderOfGate(order: TreeOrder, root: WorkerIdentity): Parameters<typeof launchScript>[0] {
  const { enclosure, command, confinement } = order;
  const inside = enclosure.inside ?? ((text: string) => text);
  return {
    command: {
      ...command,
      command:
        typeof command.command === "string" ? inside(command.command) : command.command.map(inside),
      env: Object.fromEntries(
        Object.entries(command.env).map(([name, value]) => [name, inside(value)]),
      ),
    },
    cwd: inside(confinement.cwd),
    marker: markerOf(root),
    merged: order.merged,
    bridge: order.bridge?.map(inside),
    processes: enclosure.countsOwnProcesses
      ? command.limits.processes + roomFor(order.bridge)
      : undefined,
    dataBytes: order.groups.boundsMemory ? undefined : mostOfOneProcess(order.setting.memoryBytes),
  };
}

/**
 * Threads of Node.js that carries the network of a process, beside the process's own. Source:
 * measured with Node 24: 11 with 4 workers of its pool.
 */
const BRIDGE_THREADS = 16;

function roomFor(bridge: readonly string[] | undefined): number {
  return bridge === undefined ? 0 : BRIDGE_THREADS;
}

/** Counts the bytes of all output, and cuts it off at the limit. */
class OutputMeter {
  isTruncated = false;
  /** Bytes so far, those that were cut off too. */
  printed = 0;
  readonly #onOver: () => void;
  #room: number;

  constructor(room: number, onOver: () => void) {
    this.#room = room;
    this.#onOver = onOver;
  }

  through(source: Readable): Readable {
    const gauge = new Transform({
      transform: (chunk: Buffer, _encoding, done: TransformCallback) => {
        const part = this.#take(chunk);
        done(null, part.length > 0 ? part : undefined);
      },
    });
    source.on("error", () => gauge.end());
    return source.pipe(gauge);
  }

  #take(chunk: Buffer): Buffer {
    const part = chunk.subarray(0, Math.max(0, this.#room));
    this.#room -= chunk.length;
    this.printed += chunk.length;
    if (part.length < chunk.length) {
      this.isTruncated = true;
      this.#onOver();
    }
    return part;
  }
}
