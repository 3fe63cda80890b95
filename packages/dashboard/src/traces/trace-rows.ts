import type { WorkTraceNode } from "dure/client";

/** One row of the waterfall: where it stands, and its bar. */
export interface TraceRow {
  readonly node: WorkTraceNode;
  /** Steps from the first cause. */
  readonly depth: number;
  readonly afterMs: number;
  /** How long it took, or takes so far. */
  readonly spanMs: number;
  readonly fromPercent: number;
  readonly sharePercent: number;
}

/** A bar that is shorter could not be seen. */
const LEAST_PERCENT = 0.6;

/**
 * Rows in the order of causes: each thing, then what it began, the oldest first. What takes place
 * now reaches to `now`. Pure.
 */
export function traceRows(
  items: readonly WorkTraceNode[],
  now: number,
): { readonly rows: readonly TraceRow[]; readonly wholeMs: number } {
  const begin = Math.min(...items.map(({ at }) => at));
  const end = Math.max(...items.map((node) => endOf(node, now)));
  const wholeMs = Math.max(end - begin, 1);

  const rowOf = (node: WorkTraceNode, depth: number): TraceRow => {
    const spanMs = Math.max(endOf(node, now) - node.at, 0);
    const share = Math.max((spanMs / wholeMs) * 100, LEAST_PERCENT);
    const from = Math.min(((node.at - begin) / wholeMs) * 100, 100 - LEAST_PERCENT);
    const sharePercent = Math.min(share, 100 - from);
    return { node, depth, afterMs: node.at - begin, spanMs, fromPercent: from, sharePercent };
  };

  const rows: TraceRow[] = [];
  const open: TraceRow[] = childrenOf(null, items).map((node) => rowOf(node, 0));
  while (open.length > 0) {
    const row = open.shift()!;
    rows.push(row);
    open.unshift(...childrenOf(row.node.id, items).map((node) => rowOf(node, row.depth + 1)));
  }

  return { rows, wholeMs };
}

export function isUnderWay({ endedAt }: WorkTraceNode): boolean {
  return endedAt === null;
}

function endOf({ at, endedAt }: WorkTraceNode, now: number): number {
  return Math.max(endedAt ?? now, at);
}

function childrenOf(id: string | null, items: readonly WorkTraceNode[]): readonly WorkTraceNode[] {
  return items.filter(({ beganBy }) => beganBy === id).toSorted((one, other) => one.at - other.at);
}
