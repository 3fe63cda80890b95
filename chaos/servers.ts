import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Forwarder } from "./forwarder.ts";
import type { Journal } from "./journal.ts";
import type { ServerHost } from "./network.ts";

/** The tree that this file belongs to. */
export const OWN_TREE = fileURLToPath(new URL("..", import.meta.url));
const MAIN = "packages/dure/src/cli/main.ts";
const TEAM = "chaos/team";
const SHIFT = fileURLToPath(new URL("shift-clock.mjs", import.meta.url));
/** What one start has compiled the next need not: a server is started some hundred times. */
const COMPILED = fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url));

/** A server that ended is started again after so long, as a supervisor does it, milliseconds. */
const RESTART_MS = 500;
/**
 * A drain that was asked for must be over by then, on a machine with other work: three times the
 * configured 10 s.
 */
const DRAIN_MS = 30_000;

/** One process of the server, from its start to its end. */
export interface Life {
  /**
   * `2.5`: the fifth life of the second server. The provider sees it in the address that it is
   * asked under.
   */
  readonly id: string;
  readonly startedAt: number;
  endedAt?: number | undefined;
  exitCode?: number | null | undefined;
  /** What we did to end it; absent when it ended by itself. */
  endedBy?: "SIGKILL" | "SIGTERM" | undefined;
  /**
   * When it began to work: more than once where its database went away in the middle of a start.
   */
  readonly begins?: number[] | undefined;
  /** When it said that others have taken it over. */
  fencedAt?: number | undefined;
  /** When we let it go on after a stop. */
  readonly woke?: number[] | undefined;
}

export interface ServerParts {
  readonly index: number;
  readonly host: Pick<ServerHost, "address" | "wrap">;
  readonly port: number;
  readonly journal: Pick<Journal, "note">;
  /** Its way to PostgreSQL, which faults cut. Those to the bank and the provider only carry. */
  readonly database: Pick<Forwarder, "cut" | "fallSilent" | "speakAgain">;
  readonly environment: (life: string) => Readonly<Record<string, string>>;
  /** Of the release that runs, with its sources, team and packages. */
  readonly tree: string;
}

/** A server under a supervisor: whenever it ends it is started again, until `stop`. */
export class Server {
  readonly lives: Life[] = [];
  readonly parts: ServerParts;
  #child: ChildProcess | undefined;
  #isStopping = false;
  readonly #stopped = Promise.withResolvers<void>();
  #mayStart = Promise.resolve();
  #readySince: number | undefined;
  #supervisor: Promise<void> | undefined;

  constructor(parts: ServerParts) {
    this.parts = parts;
  }

  get name(): string {
    return `server-${this.parts.index + 1}`;
  }

  get url(): string {
    return `http://${this.parts.host.address}:${this.parts.port}`;
  }

  get life(): Life | undefined {
    return this.lives.at(-1);
  }

  get isRunning(): boolean {
    return (
      this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
    );
  }

  get isReady(): boolean {
    return this.isRunning && this.#readySince !== undefined;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    this.#supervisor ??= this.#supervise();
  }

  /** True when there was a process to signal. */
  signal(name: NodeJS.Signals): boolean {
    if (!this.isRunning) return false;
    const { life } = this;
    if (life && (name === "SIGKILL" || name === "SIGTERM")) life.endedBy ??= name;
    if (name === "SIGCONT") this.life?.woke?.push(Date.now());
    return this.#child!.kill(name);
  }

  /** SIGTERM; one that does not end within `withinMs` is killed and reported by `onLate`. */
  drain(onLate: (life: Life) => void, withinMs = DRAIN_MS): boolean {
    const child = this.#child;
    const { life } = this;
    if (!child || !life || !this.signal("SIGTERM")) return false;
    const timer = setTimeout(() => {
      onLate(life);
      child.kill("SIGKILL");
    }, withinMs);
    child.once("exit", () => clearTimeout(timer));
    return true;
  }

  /** The next life waits until the function that this gives is called. */
  holdBack(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#mayStart = promise;
    return resolve;
  }

  /** Moves the wall clock of the running process. */
  shiftClock(byMs: number): boolean {
    if (!this.isRunning || !this.#child!.connected) return false;
    this.#child!.send({ shiftClock: byMs }, () => {});
    return true;
  }

  /** Ends it for good: asked first, then by force. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#stopped.resolve();
    if (this.isRunning) {
      this.#child!.kill("SIGCONT");
      this.signal("SIGTERM");
      const timer = setTimeout(() => this.#child?.kill("SIGKILL"), graceMs);
      await once(this.#child!, "exit").catch(() => {});
      clearTimeout(timer);
    }
    await this.#supervisor;
  }

  async #supervise(): Promise<void> {
    while (!this.#isStopping) {
      await this.#live();
      if (this.#isStopping) return;
      await new Promise((resolve) => void setTimeout(resolve, RESTART_MS));
      await Promise.race([this.#mayStart, this.#stopped.promise]);
    }
  }

  async #live(): Promise<void> {
    const { parts } = this;
    const begins: number[] = [];
    const id = `${parts.index + 1}.${this.lives.length + 1}`;
    const life: Life = { id, startedAt: Date.now(), begins, woke: [] };
    this.lives.push(life);
    const from = `server-${life.id}`;
    const node = [
      process.execPath,
      "--import",
      SHIFT,
      "--conditions=dure-source",
      join(parts.tree, MAIN),
      "start",
      "--dir",
      join(parts.tree, TEAM),
      "--json",
    ];
    const [program, ...args] = parts.host.wrap(node);
    const child = (this.#child = spawn(program!, args, {
      env: { ...cleanEnvironment(), ...parts.environment(life.id) },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    }));
    parts.journal.note("faults", `${from} starts with pid ${child.pid}`);
    createInterface({ input: child.stdout! }).on("line", (line) => {
      if (line.includes('"url"')) this.#readySince = Date.now();
      parts.journal.note(from, line);
    });
    createInterface({ input: child.stderr! }).on("line", (line) => {
      if (line.includes("works under epoch")) begins.push(Date.now());
      if (line.includes(" is fenced (")) life.fencedAt ??= Date.now();
      parts.journal.note(from, line);
    });
    const [code, signalName] = (await once(child, "exit")) as [
      number | null,
      NodeJS.Signals | null,
    ];
    this.#readySince = undefined;
    life.endedAt = Date.now();
    life.exitCode = code;
    parts.journal.note("faults", `${from} has ended: ${code ?? signalName}`);
  }
}

/** Nothing of the person's own set-up reaches the servers. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE: COMPILED };
}
