import { Graph, layout } from "@dagrejs/dagre";
import { criticalPathOf, markedOf, type Needing } from "./port-order.ts";

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

/** Places of the ports, from left to right. Pure; the same ports give the same places. */
export function layoutRun(ports: readonly Needing[]): RunGraph {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 26, ranksep: 64, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of ports) graph.setNode(id, { ...BOX });
  for (const { id, dependsOn } of ports) for (const needed of dependsOn) graph.setEdge(needed, id);
  layout(graph);
  const path = criticalPathOf(ports);
  const isCritical = (from: string, to: string): boolean =>
    path.some((id, index) => id === from && path[index + 1] === to);

  return {
    boxes: ports.map(({ id }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return { id, x: Math.round(x - BOX.width / 2), y: Math.round(y - BOX.height / 2) };
    }),
    ways: ports.flatMap(({ id, dependsOn }) =>
      dependsOn.map((from) => ({ from, to: id, isCritical: isCritical(from, id) })),
    ),
    critical: markedOf(path),
  };
}
