import { PLAN_RUN_STATUSES, type PlanRunStatus, type RunChoice } from "dure/client";

/** What is shown, and how. It stands in the address, so that a reload and a link show the same. */
export interface RunFilters {
  readonly status?: PlanRunStatus | undefined;
  /** Words to look for among the runs. */
  readonly q?: string | undefined;
}

export interface RunLooks {
  /** Absent: what fits the screen and the number of ports. */
  readonly view?: "graph" | "list" | undefined;
  readonly tab?: PortTab | undefined;
}

export const PORT_TABS = ["tries", "channel", "transcript", "scope", "context", "diff"] as const;
export type PortTab = (typeof PORT_TABS)[number];

/** Reads an address; what is not understood is left out. Pure. */
export function readRunFilters(search: Record<string, unknown>): RunFilters {
  const status = PLAN_RUN_STATUSES.find((one) => one === search["status"]);
  const q = search["q"];
  const words = typeof q === "string" || typeof q === "number" ? String(q) : "";

  return { status, q: words === "" ? undefined : words };
}

export function readRunLooks(search: Record<string, unknown>): RunLooks {
  const view = (["graph", "list"] as const).find((one) => one === search["view"]);
  const tab = PORT_TABS.find((one) => one === search["tab"]);
  return { view, tab: tab === "tries" ? undefined : tab };
}

/** A choice as it stands in the address. */
export interface StartSearch {
  /** `a,b`; `only` goes before `from`. */
  readonly only?: string | undefined;
  readonly from?: string | undefined;
  readonly repository?: string | undefined;
  readonly base?: string | undefined;
  /** Key of a text that is no file of the team: the plan is that. */
  readonly text?: string | undefined;
}

/** Reads an address; what is not understood is left out. Pure. */
export function readStart({
  only,
  from,
  repository,
  base,
  text,
}: Record<string, unknown>): StartSearch {
  const chosen = wordOf(only);
  return {
    only: chosen,
    from: chosen === undefined ? wordOf(from) : undefined,
    repository: wordOf(repository),
    base: wordOf(base),
    text: wordOf(text),
  };
}

/** The choice of an address. Pure. */
export function readChoice({ only, from, repository, base }: StartSearch): RunChoice {
  return {
    only: only?.split(","),
    from: from?.split(","),
    repository,
    base,
  };
}

function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Going from port to port of a run keeps how it is looked at. */
export const keepLooks = (before: Record<string, unknown>): RunLooks => readRunLooks(before);
