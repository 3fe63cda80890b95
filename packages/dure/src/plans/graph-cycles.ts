import type { PortNode } from "./graph.ts";

/**
 * One way round per group of ports that wait for each other, each as `[a, b, a]`, beginning at the
 * first port of the group in the plan and as short as possible. Names that are no ports are passed
 * over.
 */
export function findCycles(ports: readonly PortNode[]): string[][] {
  const byId = new Map(ports.map((port) => [port.id, port]));
  const needs = (id: string): readonly string[] =>
    byId.get(id)!.dependsOn.filter((name) => byId.has(name));
  const group = stronglyConnected([...byId.keys()], needs);
  const found = new Set<number>();
  const cycles: string[][] = [];
  for (const id of byId.keys()) {
    const own = group.get(id)!;
    if (found.has(own)) continue;
    const way = shortestWayBack(id, (from) =>
      needs(from).filter((name) => group.get(name) === own),
    );
    if (!way) continue;
    found.add(own);
    cycles.push(way);
  }
  return cycles;
}

function shortestWayBack(
  start: string,
  next: (id: string) => readonly string[],
): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (let at = 0; at < queue.length; at++) {
    const id = queue[at]!;
    for (const other of next(id)) {
      if (other === start) {
        const way = [start];
        for (let back = id; back !== start; back = cameFrom.get(back)!) way.unshift(back);
        return [start, ...way];
      }
      if (cameFrom.has(other)) continue;
      cameFrom.set(other, id);
      queue.push(other);
    }
  }
  return undefined;
}

/**
 * A number for each node; nodes that reach each other have the same. Tarjan's algorithm, without
 * recursion: chains may be long.
 */
function stronglyConnected(
  ids: readonly string[],
  next: (id: string) => readonly string[],
): Map<string, number> {
  const group = new Map<string, number>();
  const entered = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  for (const root of ids) {
    if (entered.has(root)) continue;
    const visits = [visit(root)];
    while (visits.length > 0) {
      const { id, rest } = visits.at(-1)!;
      const step = rest.next();
      if (!step.done) {
        const other = step.value;
        if (!entered.has(other)) visits.push(visit(other));
        else if (!group.has(other)) low.set(id, Math.min(low.get(id)!, entered.get(other)!));
        continue;
      }
      visits.pop();
      const parent = visits.at(-1)?.id;
      if (parent !== undefined) low.set(parent, Math.min(low.get(parent)!, low.get(id)!));
      if (low.get(id) !== entered.get(id)) continue;
      for (let member = open.pop()!; ; member = open.pop()!) {
        group.set(member, entered.get(id)!);
        if (member === id) break;
      }
    }
  }
  return group;

  function visit(id: string): { id: string; rest: Iterator<string> } {
    entered.set(id, entered.size);
    low.set(id, entered.get(id)!);
    open.push(id);
    return { id, rest: next(id)[Symbol.iterator]() };
  }
}
