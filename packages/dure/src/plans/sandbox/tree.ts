import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { Transform, type Duplex, type Readable, type TransformCallback } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import { cwdMissing } from "./check.ts";
import { GATE_ENV, gateScript } from "./gate.ts";
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
import type { ProcessCounter, ProcessGroup } from "./process-counter.ts";
import type {
  Confinement,
  ProcessIdentity,
  SandboxCommand,
  SandboxEnd,
  SandboxProcess,
  SandboxSetting,
  SpawnOptions,
} from "./sandbox.ts";

export type Tree = SandboxProcess;

export interface TreeOrder {
  readonly enclosure: Enclosure;
  readonly confinement: Confinement;
  readonly command: SandboxCommand;
  readonly bridge: readonly string[] | undefined;
  readonly merged: boolean;
  readonly counter: ProcessCounter | undefined;
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
/**
 * How long what an ended process has said may still be under way, milliseconds; it is in a pipe, so
 * only a busy loop delays it.
 */
const READ_MS = 5_000;
/** Of what a failed start has written, in characters. */
const ERROR_TAIL = 2_000;

/** How the first process of a tree ended. */
interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A tree that was launched. */
interface Launched {
  readonly child: ChildProcess;
  readonly root: ProcessIdentity;
  /** The first process of its PID namespace, where it has one. */
  readonly init: ProcessIdentity | undefined;
  readonly exited: Promise<Exit>;
  readonly group: ProcessGroup | undefined;
}

/**
 * Starts a process tree: start the enclosure → it is ready, and its identity has been stored → hand
 * over the command → it has started. Whatever fails on the way, nothing of the tree is left.
 */
export async function startTree(order: TreeOrder): Promise<Tree> {
  const { enclosure, command, setting } = order;
  const group = order.counter?.open(command.limits.processes + roomFor(order.bridge));
  const child = launch([...(group?.enter ?? []), ...enclosure.argv]);
  const exited = exitOf(child);
  const gate = new Gate(child, exited, setting.clock);
  const root = child.pid === undefined ? undefined : identify(child.pid);
  if (root === undefined) {
    group?.remove();
    throw await startFailed(child, gate, exited);
  }
  const init = await enter(order, root, gate, group);
  gate.close();
  return watchTree(order, { child, root, init, exited, group });
}

/** Goes through the gate; gives the first process of the PID namespace. */
async function enter(
  order: TreeOrder,
  root: ProcessIdentity,
  gate: Gate,
  group: ProcessGroup | undefined,
): Promise<ProcessIdentity | undefined> {
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
    gate.send(gateScript(orderOfGate(order, root)), { last: true });
    await gate.hears("started", options.signal);
    return init;
  } catch (error) {
    await endTree(root, setting.clock);
    const message = await gate.failure();
    group?.remove();
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
  const onAbort = (): void => void stopper.stop("aborted");
  options.signal?.addEventListener("abort", onAbort, { once: true });
  if (options.signal?.aborted) onAbort();

  const ended = waitForEnd(order, launched, {
    stopper,
    meter,
    onExit: () => {
      cancelTimer();
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
    const { because } = stopper;
    return { ...endOf(exit, because), because, outputTruncated: meter.isTruncated };
  } finally {
    group?.remove();
    order.remove();
  }
}

/** Ends a tree once: politely first, unless it writes too much. */
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
    if (why !== "output") await this.#ask();
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

/** Counts the bytes of all output, and cuts it off at the limit. */
class OutputMeter {
  isTruncated = false;
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
    if (part.length < chunk.length) {
      this.isTruncated = true;
      this.#onOver();
    }
    return part;
  }
}

/**
 * Waits for the kernel to have ended a PID namespace; elsewhere ends whatever has left group and
 * session.
 */
async function lastOneGone(
  root: ProcessIdentity,
  init: ProcessIdentity | undefined,
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

function orderOfGate(order: TreeOrder, root: ProcessIdentity): Parameters<typeof gateScript>[0] {
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

/** The gate has said something else than was waited for, or nothing more will come from it. */
class GateClosed extends Error {
  override readonly name = "GateClosed";
}

/** Our side of descriptor 3. */
class Gate {
  readonly #child: ChildProcess;
  readonly #channel: Duplex | undefined;
  readonly #exited: Promise<unknown>;
  readonly #clock: Clock;
  #heard = "";
  #wake = (): void => {};
  #isClosed = false;

  constructor(child: ChildProcess, exited: Promise<unknown>, clock: Clock) {
    this.#child = child;
    this.#exited = exited;
    this.#clock = clock;
    this.#channel = child.stdio[3] as Duplex | undefined;
    // Node throws away what is not read yet when a process exits, unless it is listened for.
    for (const stream of [child.stdout, child.stderr]) stream?.on("readable", keep);
    this.#channel?.on("error", () => {}); // told by its end
    this.#channel?.on("data", (chunk: Buffer) => {
      this.#heard += chunk.toString();
      this.#wake();
    });
    const over = (): void => {
      this.#isClosed = true;
      this.#wake();
    };
    this.#channel?.once("close", over).once("end", over);
    // That it has ended may be known before what it said is read: a short command starts and ends
    // within one turn of a busy loop.
    exited
      .then(() => within(clock, READ_MS, this.#channel && ended(this.#channel)))
      .then(over, over);
  }

  send(text: string, { last = false } = {}): void {
    if (last) this.#channel?.end(text);
    else this.#channel?.write(text);
  }

  /** Resolves once the gate has said the word. */
  async hears(word: string, signal: AbortSignal | undefined): Promise<void> {
    const onAbort = (): void => this.#wake();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (this.#heard.split("\n").slice(0, -1).includes(word)) return;
        if (this.#isClosed || this.#heard.includes("failed ")) {
          throw new GateClosed(this.#heard.trim());
        }
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** What the enclosure wrote to stderr. Lets it go: a gate that still waits comes to its end. */
  async failure(): Promise<string> {
    this.close();
    this.#child.stdin?.destroy();
    let text = "";
    this.#child.stderr?.on(
      "data",
      (chunk: Buffer) => void (text = (text + chunk.toString()).slice(-ERROR_TAIL)),
    );
    this.#child.stderr?.resume();
    this.#child.stdout?.resume();
    await this.#exited.catch(() => {});
    await within(this.#clock, READ_MS, this.#child.stderr && ended(this.#child.stderr));
    return text.trim();
  }

  /** From here on what the child writes is another's to read. */
  close(): void {
    this.#channel?.destroy();
    const { stdout, stderr } = this.#child;
    for (const stream of [stdout, stderr]) stream?.off("readable", keep);
  }
}

function keep(): void {}

/** Resolves when all of it is read, or its reader is gone. */
function ended(stream: Readable): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => stream.once("end", resolve).once("close", resolve));
}

/**
 * Waits for it, but no longer than that. A race against a timer alone would hold the process open.
 */
export async function within(
  clock: Clock,
  mostMs: number,
  wanted: Promise<void> | null | undefined,
): Promise<void> {
  const over = new AbortController();
  await Promise.race([wanted, clock.sleep(mostMs, { signal: over.signal }).catch(() => {})]);
  over.abort();
}

async function startFailed(
  child: ChildProcess,
  gate: Gate,
  exited: Promise<unknown>,
): Promise<DureError> {
  gate.close();
  const cause = await exited.then(
    () => undefined,
    (error: unknown) => error,
  );
  return new DureError("SANDBOX_FAILED", `${child.spawnfile} could not be started.`, {
    class: "unavailable",
    cause,
  });
}

/** @param order `isReady`: the confinement stood when it ended. */
function explain(
  error: GateClosed,
  message: string,
  order: TreeOrder & { readonly isReady: boolean },
): DureError {
  const { command } = order.command;
  if (error.message.endsWith("failed cwd")) return cwdMissing(order.confinement.cwd);
  if (error.message.endsWith("failed command")) {
    return new DureError(
      "SANDBOX_COMMAND_MISSING",
      `There is no program ${JSON.stringify(command[0])} on the PATH given.`,
      {
        class: "not-found",
        hint: "Install it, or name it with its whole path.",
        details: { command: command[0], path: order.command.env["PATH"] ?? null },
      },
    );
  }
  if (error.message.endsWith("failed network")) {
    return new DureError(
      "SANDBOX_NETWORK",
      "The way out of the process's network could not be opened.",
      { class: "unavailable", hint: `Can other users run ${process.execPath}?` },
    );
  }
  return new DureError(
    "SANDBOX_FAILED",
    `The confinement could not be made: ${message || "it ended without a word"}.`,
    { class: "unavailable", details: { isReady: order.isReady } },
  );
}
