import { createContext, runInContext } from "node:vm";

/** For the checks of one step together, milliseconds: nothing else happens in the process then. */
export const MAX_CHECK_MS = 250;
/** Each is at most {@link MAX_CHECK_MS}: a process that was not running is given another. */
const MAX_TRIES = 4;

const sandbox = createContext({ work: (): void => {} });

/**
 * Work by a schema of others. Ends also an expression that backtracks, and a loop; both leave by an
 * error, for which `isOverTime` is true. The bound is on the clock. Where most of that time went to
 * other processes, the work is done again: a busy machine makes no fault of good arguments.
 */
export function withinTime<Value>(work: () => Value): Value {
  for (let tries = 1; ; tries += 1) {
    const before = cpuMs();
    try {
      return runOnce(work);
    } catch (error) {
      const spent = cpuMs() - before;
      if (!isOverTime(error) || tries === MAX_TRIES || spent > MAX_CHECK_MS / 2) throw error;
    }
  }
}

function runOnce<Value>(work: () => Value): Value {
  sandbox["work"] = work;
  return runInContext("work()", sandbox, { timeout: MAX_CHECK_MS }) as Value;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export function isOverTime(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
