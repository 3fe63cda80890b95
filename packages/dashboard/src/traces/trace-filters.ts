import { LISTED_KINDS, TRACE_STATES, type TracesFilter } from "dure/client";

export const TRACE_SPANS = {
  hour: 60 * 60_000,
  day: 24 * 60 * 60_000,
  week: 7 * 24 * 60 * 60_000,
} as const;
type TraceSpan = keyof typeof TRACE_SPANS;

/** What of the traces is shown. It stands in the address. */
export interface TraceFilters extends Pick<
  TracesFilter,
  "kind" | "state" | "agent" | "service" | "model" | "error"
> {
  readonly span?: TraceSpan | undefined;
  /** US dollars at least. */
  readonly usd?: string | undefined;
  readonly q?: string | undefined;
}

/** Reads an address; what is not understood is left out. Pure. */
export function readTraceFilters(search: Record<string, unknown>): TraceFilters {
  const { kind, state, span, usd, ...rest } = search;
  const states = Object.keys(TRACE_STATES) as (keyof typeof TRACE_STATES)[];
  return {
    kind: LISTED_KINDS.find((one) => one === kind),
    state: states.find((one) => one === state),
    span: (Object.keys(TRACE_SPANS) as TraceSpan[]).find((one) => one === span),
    usd: Number(usd) > 0 ? String(usd) : undefined,
    agent: textOf(rest["agent"]),
    service: textOf(rest["service"]),
    model: textOf(rest["model"]),
    error: textOf(rest["error"]),
    q: textOf(rest["q"]),
  };
}

/** What the server is asked for; `now` in whole minutes, so that the same page has the same name. */
export function filterOf({ span, usd, q, ...same }: TraceFilters, now: number): TracesFilter {
  const minute = Math.floor(now / 60_000) * 60_000;
  return {
    ...same,
    search: q,
    since: span && minute - TRACE_SPANS[span],
    minMicroUsd: usd === undefined ? undefined : Math.round(Number(usd) * 1_000_000),
  };
}

/** An address may hold a number or a boolean where text was meant. */
function textOf(value: unknown): string | undefined {
  const isScalar = ["string", "number", "boolean"].includes(typeof value);
  return isScalar && value !== "" ? String(value).slice(0, 200) : undefined;
}

// --- saved views, in this browser

const STORED = "dure-trace-views";
const MOST_VIEWS = 20;

export interface SavedView {
  readonly name: string;
  readonly filters: TraceFilters;
}

export function readViews(): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    if (!Array.isArray(stored)) return [];
    return (stored as SavedView[])
      .filter((one) => typeof one?.name === "string" && typeof one.filters === "object")
      .map(({ name, filters }) => ({ name, filters: readTraceFilters({ ...filters }) }));
  } catch {
    return []; // written by another release
  }
}

/** The newest of a name counts; the oldest are forgotten first. */
export function keepViews(views: readonly SavedView[]): readonly SavedView[] {
  const byName = new Map(views.map((view) => [view.name, view]));
  const kept = [...byName.values()].slice(-MOST_VIEWS);
  localStorage.setItem(STORED, JSON.stringify(kept));
  return kept;
}
