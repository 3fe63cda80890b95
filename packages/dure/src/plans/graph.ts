import { findCycles } from "./graph-cycles.ts";
import { DureError } from "../kernel/errors.ts";

/** A port as far as order is concerned. */
export interface PortNode {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/**
 * Which port needs which, by position in the plan. An edge points from a port to what it needs
 * (`dependencies`), and what is needed runs first; `dependents` is the same edge read from its
 * other end.
 */
export interface PlanGraph {
  readonly ids: readonly string[];
  readonly indexOf: ReadonlyMap<string, number>;
  readonly dependencies: readonly (readonly number[])[];
  readonly dependents: readonly (readonly number[])[];
  /** Every port after all that it needs. */
  readonly order: readonly number[];
  /**
   * Ports on the longest way from the port to one that no port needs, itself included: the work that
   * waits behind it.
   */
  readonly rank: readonly number[];
}

/**
 * Throws `PLAN_CYCLIC`, `PLAN_DEPENDENCY_UNKNOWN`, `PLAN_PORT_TWICE`: the check of a plan says them
 * earlier and with their lines.
 */
export function buildGraph(ports: readonly PortNode[]): PlanGraph {
  const indexOf = indexById(ports);
  const dependencies = ports.map((port) => dependenciesOf(port, indexOf));
  const dependents: number[][] = ports.map(() => []);
  for (const [index, needed] of dependencies.entries()) {
    for (const other of needed) dependents[other]!.push(index);
  }
  const order = neededFirst(dependencies, dependents);
  if (order.length < ports.length) {
    const [cycle = []] = findCycles(ports);
    throw new DureError("PLAN_CYCLIC", `Ports wait for each other: ${cycle.join(" → ")}.`, {
      class: "input",
      hint: "Remove one dependsOn entry along this path.",
    });
  }
  const rank = ranksOf(order, dependencies);
  return { ids: ports.map(({ id }) => id), indexOf, dependencies, dependents, order, rank };
}

function indexById(ports: readonly PortNode[]): ReadonlyMap<string, number> {
  const indexOf = new Map<string, number>();
  for (const [index, { id }] of ports.entries()) {
    if (indexOf.has(id)) {
      throw new DureError("PLAN_PORT_TWICE", `Two ports are called ${id}.`, {
        class: "input",
        hint: "Give one of them another id.",
      });
    }
    indexOf.set(id, index);
  }
  return indexOf;
}

function dependenciesOf(
  { id, dependsOn }: PortNode,
  indexOf: ReadonlyMap<string, number>,
): readonly number[] {
  return [...new Set(dependsOn)].map((name) => {
    const index = indexOf.get(name);
    if (index !== undefined) return index;
    throw new DureError(
      "PLAN_DEPENDENCY_UNKNOWN",
      `Port ${id} depends on ${name}, which is no port.`,
      { class: "input", hint: "Name a port of the plan." },
    );
  });
}

/** Every port after all that it needs. Ports that wait for each other are missing. */
function neededFirst(
  dependencies: readonly (readonly number[])[],
  dependents: readonly (readonly number[])[],
): number[] {
  const open = dependencies.map((needed) => needed.length);
  const order = open.flatMap((count, index) => (count === 0 ? [index] : []));
  for (let next = 0; next < order.length; next++) {
    for (const dependent of dependents[order[next]!]!) {
      if (--open[dependent]! === 0) order.push(dependent);
    }
  }
  return order;
}

/** The length of the longest way behind each port, itself included. */
function ranksOf(
  order: readonly number[],
  dependencies: readonly (readonly number[])[],
): readonly number[] {
  const rank = order.map(() => 1);
  for (const index of order.toReversed()) {
    for (const needed of dependencies[index]!) {
      rank[needed] = Math.max(rank[needed]!, rank[index]! + 1);
    }
  }
  return rank;
}

/**
 * Ports by the number of steps that must have been taken before them. Each in the order of the
 * plan. Shown to people; nothing waits for a level.
 */
export function levels(graph: PlanGraph): string[][] {
  const level = graph.ids.map(() => 0);
  for (const index of graph.order) {
    for (const needed of graph.dependencies[index]!) {
      level[index] = Math.max(level[index]!, level[needed]! + 1);
    }
  }
  const rows: string[][] = [];
  for (const [index, id] of graph.ids.entries()) (rows[level[index]!] ??= []).push(id);
  return rows;
}

/** The longest chain of ports, each needed by the next; of several the first in the plan. */
export function criticalPath(graph: PlanGraph): string[] {
  const path: string[] = [];
  let candidates: readonly number[] = graph.ids.map((_id, index) => index);
  while (candidates.length > 0) {
    const next = candidates.reduce((best, index) => (precedes(graph, index, best) ? index : best));
    path.push(graph.ids[next]!);
    candidates = graph.dependents[next]!;
  }
  return path;
}

/**
 * Whether a free slot goes to `a` before `b`: more work waits behind it, else it stands earlier in
 * the plan.
 */
export function precedes(graph: PlanGraph, a: number, b: number): boolean {
  return graph.rank[a]! > graph.rank[b]! || (graph.rank[a] === graph.rank[b] && a < b);
}

/** All ports that need this one, directly or through others, in the order of the plan. */
export function descendants(graph: PlanGraph, id: string): string[] {
  return reach(graph, id, graph.dependents);
}

/** All ports that this one needs, directly or through others, in the order of the plan. */
export function ancestors(graph: PlanGraph, id: string): string[] {
  return reach(graph, id, graph.dependencies);
}

/**
 * Ports that cannot run because of failed ones, each with the failed ports that it waits for, all
 * in the order of the plan.
 */
export function blockedBy(
  graph: PlanGraph,
  failed: Iterable<string>,
): Map<string, readonly string[]> {
  const reasons = new Map<number, number[]>();
  const roots = [...new Set(failed)].map((id) => positionOf(graph, id)).sort((a, b) => a - b);
  for (const root of roots) {
    for (const index of reachIndexes(root, graph.dependents)) {
      const known = reasons.get(index);
      if (known) known.push(root);
      else reasons.set(index, [root]);
    }
  }
  const names = (indexes: readonly number[]): string[] => indexes.map((index) => graph.ids[index]!);
  return new Map(
    [...reasons]
      .filter(([index]) => !roots.includes(index))
      .sort(([a], [b]) => a - b)
      .map(([index, by]) => [graph.ids[index]!, names(by)]),
  );
}

/**
 * Ports up to which the width is counted exactly; beyond, the widest level stands for it. Measured:
 * 500 take less than a third of a second, 1,000 take one.
 */
const WIDTH_COUNTED = 500;

/**
 * How many ports can work at the same time at most, as far as `most`: the largest set in which none
 * waits for another, which need not be one level. By Dilworth's theorem it is the least number of
 * chains that hold all ports, so the ports less the largest matching of ports with later ones
 * (Hopcroft and Karp). Pure.
 */
export function widthOf(graph: PlanGraph, most: number): number {
  const widest = Math.max(0, ...levels(graph).map((level) => level.length));
  const count = graph.ids.length;
  if (widest >= most || count > WIDTH_COUNTED) return Math.min(widest, most);
  const isBefore = closureOf(graph);
  const after = graph.ids.map((_id, index) =>
    graph.ids.flatMap((_other, other) => (isBefore(other, index) ? [other] : [])),
  );
  return Math.min(count - matchingSize(after, count), most);
}

/** The largest number of pairs (left, right) along `edges` in which no node stands twice. */
function matchingSize(edges: readonly (readonly number[])[], count: number): number {
  const [rightOf, leftOf] = [new Int32Array(count).fill(-1), new Int32Array(count).fill(-1)];
  let size = 0;
  for (;;) {
    const distance = new Int32Array(count).fill(-1);
    const queue = edges.flatMap((_next, left) => (rightOf[left] === -1 ? [left] : []));
    for (const left of queue) distance[left] = 0;
    let isThereAWay = false;
    for (const left of queue) {
      for (const right of edges[left]!) {
        const next = leftOf[right]!;
        if (next === -1) isThereAWay = true;
        else if (distance[next] === -1) {
          distance[next] = distance[left]! + 1;
          queue.push(next);
        }
      }
    }
    if (!isThereAWay) return size;
    const tried = new Int32Array(count);
    // No deeper than there are ports; `tried` lets each edge be followed once.
    const extend = (left: number): boolean => {
      while (tried[left]! < edges[left]!.length) {
        const right = edges[left]![tried[left]!++]!;
        const next = leftOf[right]!;
        if (next !== -1 && (distance[next] !== distance[left]! + 1 || !extend(next))) continue;
        rightOf[left] = right;
        leftOf[right] = left;
        return true;
      }
      return false;
    };
    for (let left = 0; left < count; left++) if (rightOf[left] === -1 && extend(left)) size++;
  }
}

/**
 * Tells whether one of two ports always runs before the other. One bit per pair of ports: 12 MiB
 * for 10,000.
 */
export function orderOracle(graph: PlanGraph): (a: number, b: number) => boolean {
  const needs = closureOf(graph);
  return (a, b) => needs(a, b) || needs(b, a);
}

/** Tells whether the first port needs the second one, directly or through others. */
function closureOf(graph: PlanGraph): (a: number, b: number) => boolean {
  const words = Math.ceil(graph.ids.length / 32);
  const needed = new Uint32Array(words * graph.ids.length);
  for (const index of graph.order) {
    const row = index * words;
    for (const other of graph.dependencies[index]!) {
      for (let word = 0; word < words; word++) needed[row + word]! |= needed[other * words + word]!;
      needed[row + (other >>> 5)]! |= 1 << (other & 31);
    }
  }
  return (a, b) => ((needed[a * words + (b >>> 5)]! >>> (b & 31)) & 1) === 1;
}

function reach(graph: PlanGraph, id: string, edges: readonly (readonly number[])[]): string[] {
  return [...reachIndexes(positionOf(graph, id), edges)]
    .sort((a, b) => a - b)
    .map((index) => graph.ids[index]!);
}

function reachIndexes(from: number, edges: readonly (readonly number[])[]): Set<number> {
  const seen = new Set<number>();
  const queue = [from];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const other of edges[next]!) {
      if (seen.has(other)) continue;
      seen.add(other);
      queue.push(other);
    }
  }
  return seen;
}

/** Throws `PLAN_PORT_UNKNOWN`. */
export function positionOf(graph: PlanGraph, id: string): number {
  const index = graph.indexOf.get(id);
  if (index !== undefined) return index;
  throw new DureError("PLAN_PORT_UNKNOWN", `The plan has no port ${id}.`, {
    class: "not-found",
    hint: "See its ports with: dure plan show",
  });
}
