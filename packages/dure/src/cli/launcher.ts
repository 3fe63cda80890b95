import { readFileSync } from "node:fs";
import type { Cancel, Clock } from "../kernel/clock.ts";

/** How often the way up to the launcher is looked at, milliseconds. */
const LOOK_EVERY_MS = 500;
/**
 * Processes between this one and its launcher at most: shells, wrappers, the bootstrap of a
 * checkout.
 */
const LONGEST_CHAIN = 8;
/** How npm and its like call themselves. */
const LAUNCHER = /^(npm|npx|pnpm|yarn|bun)\b|\b(npm|npx)-cli\.js\b|\b(pnpm|yarn)\.c?js\b/;

/**
 * Calls `onGone`, once, when the npm that has started this process is gone, or the shell between
 * them. npm runs a script in a shell, which does not pass SIGTERM and SIGINT on: it dies, and what
 * it has started would run on unseen. For processes that npm has started alone. On Linux the whole
 * way up to npm is watched, elsewhere the parent. A leader of a session of its own (`setsid`) was
 * meant to outlive the one that started it.
 */
export function watchLauncher(clock: Clock, onGone: () => void): Cancel {
  if (isSessionLeader()) return () => {};

  const chain = chainToLauncher();

  const cancel = clock.every(LOOK_EVERY_MS, () => {
    if (isWhole(chain)) return;
    cancel();
    onGone();
  });

  return cancel;
}

/** This process, its parent, and so on up to the launcher; where none is seen, the parent alone. */
function chainToLauncher(): readonly number[] {
  const chain = [process.pid, process.ppid];
  while (chain.length <= LONGEST_CHAIN) {
    const last = chain.at(-1)!;
    if (LAUNCHER.test(commandOf(last))) return chain;
    const parent = parentOf(last);
    if (parent === undefined || parent <= 1) break;
    chain.push(parent);
  }

  return chain.slice(0, 2);
}

/** Whether each is still the child of the next: an orphan gets another parent at once. */
function isWhole(chain: readonly number[]): boolean {
  return chain.slice(1).every((parent, index) => parentOf(chain[index]!) === parent);
}

function parentOf(pid: number): number | undefined {
  return pid === process.pid ? process.ppid : statOf(pid)?.parent;
}

function isSessionLeader(): boolean {
  return statOf(process.pid)?.session === process.pid;
}

/** Source: proc_pid_stat(5), fields 4 and 6. Undefined where there is no /proc. */
function statOf(pid: number): { parent: number; session: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // the name before it may hold anything
    return { parent: Number(fields[1]), session: Number(fields[3]) };
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}
