import type { WorkTrace, WorkTraceNode, WorkTraceStep } from "dure/client";

export type RowMatter =
  | { readonly node: WorkTraceNode; readonly step?: undefined }
  | { readonly node?: undefined; readonly step: WorkTraceStep };

/** One row of the waterfall: where it stands, and its bar. */
export type TraceRow = RowMatter & {
  /** In the address. */
  readonly key: string;
  readonly at: number;
  readonly endedAt: number | null;
  /** Steps from the first cause. */
  readonly depth: number;
  readonly afterMs: number;
  /** How long it took, or takes so far. */
  readonly spanMs: number;
  readonly fromPercent: number;
  readonly sharePercent: number;
};

/** A bar that is shorter could not be seen. */
const LEAST_PERCENT = 0.6;

/**
 * Rows in the order of causes: each thing, then what it consists of and what it began, the oldest
 * first. What takes place now reaches to `now`. Pure.
 */
export function traceRows(
  { items, steps }: Pick<WorkTrace, "items" | "steps">,
  now: number,
): { readonly rows: readonly TraceRow[]; readonly wholeMs: number } {
  const begin = Math.min(...[...items, ...steps].map(({ at }) => at));
  const end = Math.max(...[...items, ...steps].map((one) => endOf(one, now)));
  const wholeMs = Math.max(end - begin, 1);
  const under = Map.groupBy(entriesOf(items, steps), ({ parent }) => parent);
  const childrenOf = (key: string | null) =>
    (under.get(key) ?? []).toSorted((one, other) => one.at - other.at);

  const rows: TraceRow[] = [];
  const open = childrenOf(null).map((entry) => ({ entry, depth: 0 }));
  while (open.length > 0) {
    const { entry, depth } = open.shift()!;
    const { parent: _parent, ...shown } = entry;
    const spanMs = Math.max(endOf(entry, now) - entry.at, 0);
    const fromPercent = Math.min(((entry.at - begin) / wholeMs) * 100, 100 - LEAST_PERCENT);
    const share = Math.max((spanMs / wholeMs) * 100, LEAST_PERCENT);
    const sharePercent = Math.min(share, 100 - fromPercent);
    rows.push({ ...shown, depth, afterMs: entry.at - begin, spanMs, fromPercent, sharePercent });
    open.unshift(...childrenOf(entry.key).map((next) => ({ entry: next, depth: depth + 1 })));
  }

  return { rows, wholeMs };
}

type RowDraft = RowMatter &
  Pick<TraceRow, "key" | "at" | "endedAt"> & { readonly parent: string | null };

function entriesOf(items: readonly WorkTraceNode[], steps: readonly WorkTraceStep[]): RowDraft[] {
  const places = new Set(steps.map(keyOfStep));
  return [
    ...items.map((node): RowDraft => ({
      ...{ node, key: node.id, parent: node.beganBy, at: node.at, endedAt: node.endedAt },
    })),
    ...steps.map((step): RowDraft => {
      const outer = keyOfStep({ turn: step.turn, place: step.under ?? "" });
      const parent = places.has(outer) ? outer : step.turn;
      return { step, key: keyOfStep(step), parent, at: step.at, endedAt: step.endedAt };
    }),
  ];
}

function keyOfStep({ turn, place }: Pick<WorkTraceStep, "turn" | "place">): string {
  return `${turn}@${place}`;
}

export function isUnderWay({ endedAt }: { readonly endedAt: number | null }): boolean {
  return endedAt === null;
}

function endOf({ at, endedAt }: Pick<TraceRow, "at" | "endedAt">, now: number): number {
  return Math.max(endedAt ?? now, at);
}

/** What the calls of models among some steps have cost and used. Pure. */
export function sumOf(steps: readonly WorkTraceStep[]): {
  readonly microUsd: number | null;
  readonly tokens: number;
} {
  const calls = steps.filter(({ kind }) => kind === "model");
  const hasNoPrice = calls.some(({ microUsd, error }) => microUsd === null && error === null);
  return {
    microUsd: hasNoPrice ? null : calls.reduce((sum, { microUsd }) => sum + (microUsd ?? 0), 0),
    tokens: calls.reduce((sum, call) => sum + (call.tokensIn ?? 0) + (call.tokensOut ?? 0), 0),
  };
}

/** The row that the arrow leads to; undefined: the key is none that moves. Pure. */
export function rowAfter(key: string, at: number, count: number): number | undefined {
  const last = count - 1;
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[key];
  return next === undefined ? undefined : Math.min(Math.max(next, 0), last);
}
