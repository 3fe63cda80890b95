import { useNavigate, useSearch } from "@tanstack/react-router";
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

/**
 * The filters in force; `set` changes some of them, and empty text takes one away. Going back
 * leaves the page: a filter is no step of its own.
 */
export function useJobFilters(): {
  filters: JobFilters;
  set: (change: { readonly [Name in keyof JobFilters]?: string }) => void;
} {
  const filters = readJobFilters(useSearch({ strict: false }));
  const navigate = useNavigate();

  return {
    filters,
    set: (change) =>
      void navigate({
        to: ".",
        search: (before: Record<string, unknown>) => readJobFilters({ ...before, ...change }),
        replace: true,
      }),
  };
}

/** An address may hold a number or a boolean where text was meant: `?q=7`. */
function textOf(value: unknown): string | undefined {
  const isScalar = ["string", "number", "boolean"].includes(typeof value);
  if (!isScalar || value === "") return undefined;
  return String(value);
}
