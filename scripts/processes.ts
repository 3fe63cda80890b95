/** Child processes of the scripts: run one and wait, quietly or with its lines shown. */

import { spawn } from "node:child_process";
import { constants } from "node:os";
import path from "node:path";

export const root = path.resolve(import.meta.dirname, "..");

export interface Finished {
  /** 0 is success; a signal counts as 128 + its number, as in a shell. */
  readonly exitCode: number;
  /** Standard output alone, for what a program reads; empty when it was shown. */
  readonly stdout: string;
  /** Both outputs in the order in which they came, for people; empty when they were shown. */
  readonly output: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Lines go to our own outputs as they come, instead of being kept. */
  readonly show?: boolean;
  /** An abort ends the program; what it printed until then is the result. */
  readonly signal?: AbortSignal;
}

/**
 * Runs `program` to its end. Signals that reach us are passed on; a program that cannot be started
 * is exit code 127.
 */
export function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: options.cwd ?? root,
      env: options.env ?? process.env,
      stdio: options.show ? "inherit" : ["ignore", "pipe", "pipe"],
      signal: options.signal,
    });
    const stdout: Buffer[] = [];
    const both: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => {
      stdout.push(chunk);
      both.push(chunk);
    });
    child.stderr?.on("data", (chunk: Buffer) => both.push(chunk));

    const settle = (exitCode: number, more = ""): void => {
      for (const [signal, pass] of passes) process.off(signal, pass);
      resolve({
        exitCode,
        stdout: Buffer.concat(stdout).toString("utf8"),
        output: Buffer.concat(both).toString("utf8") + more,
      });
    };
    // A terminal sends ctrl-C to the whole group, the child has it already; twice would mean "now!"
    // to it.
    const passOn = (signal: NodeJS.Signals): void => {
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      child.kill(signal);
    };
    const passes = FORWARDED.map((signal) => [signal, (): void => passOn(signal)] as const);
    for (const [signal, pass] of passes) process.on(signal, pass);

    child.on("error", (error) => settle(127, `${program}: ${error.message}\n`));
    child.on("close", (code, signal) =>
      settle(code ?? 128 + constants.signals[signal ?? "SIGKILL"]),
    );
  });
}

/** Runs a JavaScript program of an installed package, on the Node that runs us. */
export function runTool(
  name: keyof typeof TOOLS,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  return run(process.execPath, [path.join(root, "node_modules", TOOLS[name]), ...args], options);
}

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"] as const satisfies readonly NodeJS.Signals[];

/**
 * Named by file rather than through node_modules/.bin, whose entries are shell scripts on Windows.
 */
const TOOLS = {
  depcruise: "dependency-cruiser/bin/dependency-cruiser.mjs",
  knip: "knip/bin/knip.js",
  oxfmt: "oxfmt/bin/oxfmt",
  oxlint: "oxlint/bin/oxlint",
  publint: "publint/src/cli.js",
  // Version 7, which is no library any more; those that read sources with one take version 6.
  tsc: "typescript-native/bin/tsc",
  vite: "vite/bin/vite.js",
  vitest: "vitest/vitest.mjs",
} as const;
