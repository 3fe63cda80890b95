import { Graph, layout } from "@dagrejs/dagre";
import { criticalPathOf, levelsOf, markedOf, type Needing } from "./port-order.ts";

/** Size of a port's box, pixels; the style sheet gives it the same. */
export const BOX = { width: 260, height: 104 } as const;

export interface RunGraph {
  readonly boxes: readonly { readonly id: string; readonly x: number; readonly y: number }[];
  /** From what is needed to what needs it. */
  readonly ways: readonly {
    readonly from: string;
    readonly to: string;
    readonly isCritical: boolean;
  }[];
  readonly critical: ReadonlySet<string>;
}

/** Stands before all ports while they are laid out; no port is called so. */
const START = " ";

/**
 * Places of the ports, from left to right, a column for each level. Pure; the same ports give the
 * same places.
 */
export function layoutRun(ports: readonly Needing[]): RunGraph {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 26, ranksep: 44, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  graph.setNode(START, { width: 0, height: 0 });
  for (const { id } of ports) graph.setNode(id, { ...BOX });
  const levels = levelsOf(ports);
  const level = new Map(levels.flatMap((ids, at) => ids.map((id) => [id, at] as const)));
  for (const id of levels[0] ?? []) graph.setEdge(START, id);
  for (const { id, dependsOn } of ports) {
    for (const needed of dependsOn) {
      // A draft may name a port that is not there, or go in a circle.
      const apart = (level.get(id) ?? 0) - (level.get(needed) ?? 0);
      graph.setEdge(needed, id, { minlen: Math.max(1, apart) });
    }
  }
  layout(graph);
  const left = Math.min(...ports.map(({ id }) => graph.node(id).x as number));
  const path = criticalPathOf(ports);
  const isCritical = (from: string, to: string): boolean =>
    path.some((id, index) => id === from && path[index + 1] === to);

  return {
    boxes: ports.map(({ id }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return { id, x: Math.round(x - left), y: Math.round(y - BOX.height / 2) };
    }),
    ways: ports.flatMap(({ id, dependsOn }) =>
      dependsOn.map((from) => ({ from, to: id, isCritical: isCritical(from, id) })),
    ),
    critical: markedOf(path),
  };
}
