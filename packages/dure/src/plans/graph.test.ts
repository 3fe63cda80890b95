import { FULL } from "../kernel/test-tiers.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { codeOf, messageOf } from "../kernel/errors.ts";
import { boundMs } from "../kernel/test-bounds.ts";
import {
  ancestors,
  blockedBy,
  buildGraph,
  criticalPath,
  descendants,
  levels,
  orderOracle,
  widthOf,
  type PortNode,
} from "./graph.ts";
import { findCycles } from "./graph-cycles.ts";

/** `{ b: "a" }`: b needs a. */
function ports(needs: Readonly<Record<string, string>>): PortNode[] {
  return Object.entries(needs).map(([id, names]) => ({
    id,
    dependsOn: names.split(" ").filter(Boolean),
  }));
}

const DIAMOND = ports({
  top: "left right",
  left: "base",
  right: "mid",
  mid: "base",
  base: "",
  alone: "",
});

describe("a graph of ports", () => {
  test("is shown in levels: what is needed stands before what needs it", () => {
    expect(levels(buildGraph(DIAMOND))).toEqual([
      ["base", "alone"],
      ["left", "mid"],
      ["right"],
      ["top"],
    ]);
  });

  test("is as wide as the most ports that need not wait for each other, on any levels", () => {
    const comb = ports({
      s1: "",
      s2: "s1",
      s3: "s2",
      s4: "s3",
      l1: "s1",
      l2: "s2",
      l3: "s3",
      l4: "s4",
    });
    const graphs = fc.array(fc.array(fc.nat(6), { maxLength: 3 }), { maxLength: 7 }).map((all) =>
      all.map((needs, index) => ({
        id: `p${index}`,
        dependsOn: [...new Set(needs.filter((other) => other < index))].map((other) => `p${other}`),
      })),
    );

    expect(Math.max(...levels(buildGraph(comb)).map((level) => level.length))).toBe(2);
    expect([
      widthOf(buildGraph(comb), 100),
      widthOf(buildGraph(comb), 3),
      widthOf(buildGraph(DIAMOND), 100),
      widthOf(buildGraph([]), 3),
    ]).toEqual([4, 3, 3, 0]);
    fc.assert(
      fc.property(graphs, (nodes) => {
        const graph = buildGraph(nodes);
        const isOrdered = orderOracle(graph);
        const sets = Array.from({ length: 2 ** nodes.length }, (_, bits) =>
          nodes.flatMap((_node, index) => ((bits >> index) & 1 ? [index] : [])),
        );
        const free = sets.filter((set) => set.every((a) => set.every((b) => !isOrdered(a, b))));
        expect(widthOf(graph, 100)).toBe(Math.max(...free.map((set) => set.length)));
      }),
    );
  });

  test("of five hundred ports in almost one order is measured without a long pause", () => {
    const nodes = Array.from({ length: 500 }, (_, index) => ({
      id: `p${index}`,
      dependsOn: [...new Set([index - 37, Math.floor(index / 2), index - 1 - (index % 7)])]
        .filter((other) => other >= 0 && other < index)
        .map((other) => `p${other}`),
    }));
    const began = performance.now();

    expect(widthOf(buildGraph(nodes), 100)).toBeGreaterThan(1);
    expect(performance.now() - began).toBeLessThan(boundMs(2_000));
  });

  test("has the longest chain as its critical path, of two equal ones the first", () => {
    expect(criticalPath(buildGraph(DIAMOND))).toEqual(["base", "mid", "right", "top"]);
    expect(criticalPath(buildGraph(ports({ a: "", b: "", c: "b", d: "a" })))).toEqual(["a", "d"]);
  });

  test("finds what needs a port and what a port needs, through others too", () => {
    const graph = buildGraph(DIAMOND);

    expect(descendants(graph, "mid")).toEqual(["top", "right"]);
    expect(ancestors(graph, "right")).toEqual(["mid", "base"]);
    expect(descendants(graph, "alone")).toEqual([]);
    expect(() => descendants(graph, "nowhere")).toThrow("The plan has no port nowhere.");
  });

  test("tells for each blocked port which failed ones it waits for", () => {
    const graph = buildGraph(DIAMOND);

    expect(blockedBy(graph, ["left", "mid"])).toEqual(
      new Map([
        ["top", ["left", "mid"]],
        ["right", ["mid"]],
      ]),
    );
    expect(blockedBy(graph, ["mid", "base"])).toEqual(
      new Map([
        ["top", ["mid", "base"]],
        ["left", ["base"]],
        ["right", ["mid", "base"]],
      ]),
    );
    expect(blockedBy(graph, [])).toEqual(new Map());
  });

  test.each([
    ["PLAN_CYCLIC", { a: "c", b: "a", c: "b" }, "Ports wait for each other: a → c → b → a."],
    ["PLAN_CYCLIC", { a: "a" }, "Ports wait for each other: a → a."],
    ["PLAN_DEPENDENCY_UNKNOWN", { a: "b" }, "Port a depends on b, which is no port."],
  ])("is refused with %s for %j", (code, needs, message) => {
    const error = (() => {
      try {
        return buildGraph(ports(needs));
      } catch (thrown) {
        return thrown;
      }
    })();

    expect([codeOf(error), messageOf(error)]).toEqual([code, message]);
  });

  test("tells each group of ports that wait for each other once, by a shortest way", () => {
    expect(findCycles(ports({ x: "a", a: "b c", b: "c", c: "a", d: "e", e: "d b" }))).toEqual([
      ["a", "c", "a"],
      ["d", "e", "d"],
    ]);
    expect(findCycles(DIAMOND)).toEqual([]);
  });

  test("of a chain of 100,000 is walked without a stack", FULL, () => {
    const chain = Array.from({ length: 100_000 }, (_, index) => ({
      id: `p${index}`,
      dependsOn: index === 0 ? [] : [`p${index - 1}`],
    }));

    expect(criticalPath(buildGraph(chain))).toHaveLength(100_000);
    expect(findCycles([...chain, { id: "last", dependsOn: ["p99999", "last"] }])).toEqual([
      ["last", "last"],
    ]);
  });
});

/** Any graph, with cycles or without: who needs whom by number. */
const anyGraph = fc.integer({ min: 1, max: 9 }).chain((size) =>
  fc.array(fc.uniqueArray(fc.integer({ min: 0, max: size - 1 }), { maxLength: 4 }), {
    minLength: size,
    maxLength: size,
  }),
);

test("order, cycles and reachability agree with a walk over all ways", () => {
  fc.assert(
    fc.property(anyGraph, (needs) => {
      const nodes = needs.map((numbers, index) => ({
        id: `p${index}`,
        dependsOn: numbers.map((number) => `p${number}`),
      }));
      const reaches = (from: number, to: number, seen = new Set<number>()): boolean =>
        needs[from]!.some(
          (next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))),
        );
      const cyclic = needs.map((_numbers, index) => reaches(index, index));
      const together = (a: number, b: number): boolean =>
        a === b || (reaches(a, b) && reaches(b, a));
      const groups = needs.flatMap((_numbers, index) =>
        cyclic[index] &&
        !needs.some((_other, earlier) => earlier < index && together(earlier, index))
          ? [index]
          : [],
      );

      const cycles = findCycles(nodes);
      expect(cycles.map((way) => way[0])).toEqual(groups.map((index) => `p${index}`));
      for (const way of cycles) {
        for (let step = 1; step < way.length; step++) {
          expect(nodes.find(({ id }) => id === way[step - 1])!.dependsOn).toContain(way[step]);
        }
      }
      if (groups.length > 0) return;

      const graph = buildGraph(nodes);
      const isOrdered = orderOracle(graph);
      for (const [a] of needs.entries()) {
        expect(descendants(graph, `p${a}`)).toEqual(
          needs.flatMap((_numbers, b) => (reaches(b, a) ? [`p${b}`] : [])),
        );
        expect(
          graph.dependencies[a]!.every(
            (needed) => graph.order.indexOf(needed) < graph.order.indexOf(a),
          ),
        ).toBe(true);
        for (const [b] of needs.entries()) {
          expect(isOrdered(a, b)).toBe(reaches(a, b) || reaches(b, a));
        }
      }
      expect(criticalPath(graph)).toHaveLength(levels(graph).length);
    }),
    { numRuns: process.env["DURE_TEST_LONG"] === "1" ? 10_000 : 300 },
  );
});
