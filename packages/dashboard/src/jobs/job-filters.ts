import { JOB_STATUSES, type JobStatus } from "dure/client";

/**
 * What of the jobs is shown. It stands in the address, so that a reload and a link show the same.
 */
export interface JobFilters {
  readonly status?: JobStatus | undefined;
  readonly agent?: string | undefined;
  /** The job with which a whole work began. */
  readonly root?: string | undefined;
  /** Words to look for in what is loaded. */
  readonly q?: string | undefined;
}

/** Reads an address; what is not understood is left out. Pure. */
export function readJobFilters(search: Record<string, unknown>): JobFilters {
  const { status, agent, root, q } = search;
  return {
    status: JOB_STATUSES.find((one) => one === status),
    agent: textOf(agent),
    root: textOf(root),
    q: textOf(q),
  };
}

/** An address may hold a number or a boolean where text was meant: `?q=7`. */
function textOf(value: unknown): string | undefined {
  const isScalar = ["string", "number", "boolean"].includes(typeof value);
  if (!isScalar || value === "") return undefined;
  return String(value);
}
