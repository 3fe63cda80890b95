import type { PortDefinition } from "dure/client";

/**
 * A graph of more ports is shown as a list. More boxes cannot be read at once.
 */
export const MAX_GRAPH = 200;

export type Needing = Pick<PortDefinition, "id" | "dependsOn">;

/**
 * Ids by the number of steps that must have been taken before them, each in the order of the plan.
 * Pure.
 */
export function levelsOf(ports: readonly Needing[]): readonly (readonly string[])[] {
  const levels: string[][] = [];
  const level = longest(ports, ({ dependsOn }) => dependsOn);
  for (const { id } of ports) (levels[level.get(id)!] ??= []).push(id);

  return levels;
}

/**
 * The longest chain of ports, each needed by the next; of several the first in the plan, as the
 * server chooses. Pure.
 */
export function criticalPathOf(ports: readonly Needing[]): readonly string[] {
  const dependents = dependentsOf(ports);
  const rank = longest(ports, ({ id }) => dependents.get(id)!);
  const path: string[] = [];

  for (
    let candidates = ports.map(({ id }) => id);
    candidates.length > 0;
    candidates = dependents.get(path.at(-1)!)!
  ) {
    path.push(candidates.reduce((best, id) => (rank.get(id)! > rank.get(best)! ? id : best)));
  }

  return path;
}

/** What is marked of a critical path: ports that need nothing of each other have none. Pure. */
export function markedOf(path: readonly string[]): ReadonlySet<string> {
  return new Set(path.length > 1 ? path : []);
}

/** Who needs each port, in the order of the plan. Pure. */
export function dependentsOf(ports: readonly Needing[]): ReadonlyMap<string, string[]> {
  const dependents = new Map<string, string[]>(ports.map(({ id }) => [id, []]));
  for (const { id, dependsOn } of ports) {
    for (const needed of dependsOn) dependents.get(needed)?.push(id);
  }
  return dependents;
}

/**
 * Steps on the longest way along `next`; a circle, which no checked plan has, counts as its end.
 */
function longest(
  ports: readonly Needing[],
  next: (port: Needing) => readonly string[],
): ReadonlyMap<string, number> {
  const byId = new Map(ports.map((port) => [port.id, port]));
  const length = new Map<string, number>();

  for (const { id } of ports) {
    const stack = [id];
    const open = new Set<string>();
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const ways = next(byId.get(top)!).filter((one) => byId.has(one));
      const unknown = length.has(top)
        ? []
        : ways.filter((one) => !length.has(one) && !open.has(one));
      open.add(top);
      if (unknown.length > 0) stack.push(...unknown);
      else {
        length.set(top, Math.max(0, ...ways.map((one) => (length.get(one) ?? -1) + 1)));
        stack.pop();
      }
    }
  }

  return length;
}
