import { readdirSync, readFileSync } from "node:fs";
import { currentProcess, isGone, machineName } from "../durable/machine.ts";
import { codeOf } from "../kernel/errors.ts";

/**
 * Programs that MCP servers have started, and servers of a dure that was killed: each carries in its
 * environment which dure it belongs to, and which server. Known on Linux alone; elsewhere a program
 * ends by itself when its standard input is closed.
 */
const VARIABLE = "DURE_MCP_OF";

/** What a server of this process has in its environment, for itself and all that it starts. */
export function markerOf(server: string): Readonly<Record<string, string>> {
  const { pid, started } = currentProcess();
  return { [VARIABLE]: [machineName(), pid, started, server].join("|") };
}

/** Kills what is left of a server of this process. */
export function endLeftOf(server: string): void {
  const marker = `${VARIABLE}=${markerOf(server)[VARIABLE]}`;
  for (const { pid, text } of marked()) if (text === marker) kill(pid);
}

/** Kills servers of processes of dure on this machine that are gone. Gives their number. */
export function endStrays(): number {
  const strays = marked().filter(({ text }) => isStray(text));
  for (const { pid } of strays) kill(pid);
  return strays.length;
}

function isStray(text: string): boolean {
  const [machine, pid, started = ""] = text.slice(VARIABLE.length + 1).split("|");
  return machine === machineName() && isGone({ pid: Number(pid), started });
}

interface MarkedProcess {
  readonly pid: number;
  readonly text: string;
}

function marked(): readonly MarkedProcess[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): readonly MarkedProcess[] => {
      const text = environmentOf(name).find((entry) => entry.startsWith(`${VARIABLE}=`));
      return text === undefined ? [] : [{ pid: Number(name), text }];
    });
}

function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return []; // gone by now, or of another user
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (codeOf(error) !== "ESRCH" && codeOf(error) !== "EPERM") throw error;
  }
}
