import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { RealRunsOptions } from "./real-runs.ts";

const PROGRAM = fileURLToPath(new URL("run-process.ts", import.meta.url));

/** A process that leads runs and can be killed. */
export class LeaderProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  /** Its process, in the words of the database, once it is there. */
  readonly ready: Promise<string>;
  readonly log: string[] = [];

  constructor(
    options: Omit<RealRunsOptions, "script" | "sandbox" | "worker" | "logger" | "hookUrl"> & {
      readonly script: string;
    },
  ) {
    this.#child = spawn(
      process.execPath,
      ["--conditions=dure-source", PROGRAM, JSON.stringify(options)],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, DURE_TEST_LOG: "1" } },
    );
    createInterface(this.#child.stderr!).on("line", (line) => void this.log.push(line));
    this.ready = once(createInterface(this.#child.stdout!), "line").then(
      ([line]) => (JSON.parse(String(line)) as { ready: string }).ready,
    );
  }

  kill(): Promise<void> {
    return killAtOnce(this.#child);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

/** SIGKILL, and its end; nothing when it has ended. */
export async function killAtOnce(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
