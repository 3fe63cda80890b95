import type { WorkerSpec } from "../plan.ts";

/** Variables that every process gets when dure has them. */
const PASSED = ["PATH", "LANG", "LC_ALL", "TZ"] as const;

/** Of dure's own environment what a worker gets, and what the plan gives it. Pure. */
export function variablesOf(
  spec: Pick<WorkerSpec, "env" | "set"> | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const name of [...PASSED, ...(spec?.env ?? [])]) {
    const value = env[name];
    if (value !== undefined) variables[name] = value;
  }

  return { ...variables, ...spec?.set };
}
