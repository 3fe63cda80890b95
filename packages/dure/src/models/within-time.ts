import { createContext, runInContext } from "node:vm";

/** For the checks of one step together, milliseconds: nothing else happens in the process then. */
export const MAX_CHECK_MS = 250;

const sandbox = createContext({ work: (): void => {} });

/**
 * Work by a schema of others. Ends also an expression that backtracks, and a loop; both leave by an
 * error, for which `isOverTime` is true.
 */
export function withinTime<Value>(work: () => Value): Value {
  sandbox["work"] = work;
  return runInContext("work()", sandbox, { timeout: MAX_CHECK_MS }) as Value;
}

export function isOverTime(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
