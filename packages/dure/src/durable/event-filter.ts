import type { EventFilter } from "../kernel/platform-events.ts";
import type { PlatformEvent } from "../wire/events.ts";

/** Which events a reader wants: as a decision here, and as a condition in SQL. Pure. */

/** Whether an event passes. Pure; says the same as `filterCondition`. */
export function matchesFilter(filter: EventFilter, event: PlatformEvent): boolean {
  const { types, tenant, session, run, room, job, role } = filter;
  if (tenant !== undefined && event.tenant !== tenant) return false;

  if (
    types &&
    !types.some((type) =>
      type.endsWith(".*") ? event.type.startsWith(type.slice(0, -1)) : event.type === type,
    )
  ) {
    return false;
  }

  if (session !== undefined && event.session !== session) return false;
  if (run !== undefined && event.run !== run) return false;
  if (room !== undefined && event.room !== room) return false;
  if (job !== undefined && event.job !== job) return false;

  return role === undefined || event.role === role;
}

/** Eight parameters for a statement's WHERE, in the order of `filterCondition`. */
export function filterParameters(filter: EventFilter): unknown[] {
  const { exact, prefixes } = typePatterns(filter);
  return [
    exact,
    prefixes,
    filter.session ?? null,
    filter.run ?? null,
    filter.room ?? null,
    filter.role ?? null,
    filter.job ?? null,
    filter.tenant ?? null,
  ];
}

function typePatterns({ types }: EventFilter): { exact: string[] | null; prefixes: string[] } {
  if (!types) return { exact: null, prefixes: [] };
  return {
    exact: types.filter((type) => !type.endsWith(".*")),
    prefixes: types.filter((type) => type.endsWith(".*")).map((type) => type.slice(0, -1)),
  };
}

/** Whether row `e` passes; its eight parameters begin at `$first`. */
export function filterCondition(first: number): string {
  const parameter = (offset: number): string => `$${first + offset}::text`;
  return `(${parameter(0)}[] is null or e.type = any(${parameter(0)}[]) or exists (select from unnest(${parameter(1)}[]) p where starts_with(e.type, p)))
           and (${parameter(2)} is null or e.session = ${parameter(2)})
           and (${parameter(3)} is null or e.run = ${parameter(3)})
           and (${parameter(4)} is null or e.room = ${parameter(4)})
           and (${parameter(5)} is null or e.role = ${parameter(5)})
           and (${parameter(6)} is null or e.job = ${parameter(6)})
           and (${parameter(7)} is null or e.tenant = ${parameter(7)})`;
}
