import {
  type Problem,
  problemAt,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { type GlobPath, literalPrefix, pathsMeet } from "./glob.ts";
import { orderOracle, type PlanGraph } from "./graph.ts";
import { TEST_ROLE } from "./plan.ts";
import type { EffortMeter } from "./plan-effort.ts";
import type { PlanDraft } from "./plan-schema.ts";
import { foldedGlob } from "./scope.ts";

/**
 * Overlaps that are reported at most: one slip of the hand can make thousands.
 */
const MAX_OVERLAPS = 50;
/** What looking at a claim costs that is not compared, in comparisons. */
const PASSED_OVER = 0.01;

/** One pattern of one port, by one combination of its braces. */
interface Claim {
  readonly port: number;
  readonly key: "owns" | "tests";
  readonly position: number;
  readonly path: GlobPath;
  /**
   * The last port before this one, in an order of work, that claims the very same; if all such
   * neighbours are ordered, all of them are.
   */
  readonly before: Claim | undefined;
}

interface PlacedClaim {
  readonly claim: Claim;
  /** Segments before its first wildcard. */
  readonly prefix: readonly string[];
}

interface ClaimTree {
  readonly claims: Claim[];
  readonly below: Map<string, ClaimTree>;
}

/**
 * Two ports that may run side by side must not own one path, and what a pair owns is no port's of
 * the test role, in whatever order. Patterns are compared without case. Only patterns can meet
 * where the segments before the wildcards of one begin the other's, so they are kept in a tree of
 * these segments.
 */
export function checkOverlaps(
  { ports }: PlanDraft,
  document: SettingsDocument,
  { graph, meter }: { graph: PlanGraph; meter: EffortMeter },
): Problem[] {
  const root: ClaimTree = { claims: [], below: new Map() };
  const problems: Problem[] = [];
  const told = new Set<string>();
  const meetings = pairsIn(root, claimsInOrder(ports, graph, meter), meter);
  let isOrdered: ((a: number, b: number) => boolean) | undefined;
  for (const [claim, other] of meetings) {
    if (problems.length >= MAX_OVERLAPS) break;
    isOrdered ??= orderOracle(graph);
    const ordered = isOrdered(claim.port, other.port);
    const isOfTests = [claim, other].some(({ port }) => ports[port]!.role === TEST_ROLE);
    if (ordered && !isOfTests) continue;
    meter.spend();
    if (!pathsMeet(claim.path, other.path)) continue;
    const name = [
      claim.port,
      claim.key,
      claim.position,
      other.port,
      other.key,
      other.position,
    ].join(":");
    if (told.has(name)) continue; // by another combination of their braces
    told.add(name);
    const port = ports[other.port]!;
    const why = ordered
      ? `and a port of the role ${TEST_ROLE} owns only tests that no pair owns`
      : "which may run at the same time";
    problems.push(
      problemAt(
        document,
        ["ports", claim.port, claim.key, claim.position],
        `meets ${other.key} "${port[other.key]![other.position]!}" of port ${port.id}, ${why}`,
        {
          hint: ordered
            ? "Give it a folder of tests of its own, such as test/e2e/**."
            : "Give each path one owner, make it a contract, or let one port depend on the other.",
        },
      ),
    );
  }

  return problems;
}

/**
 * Claims of two ports whose first segments allow a meeting; the first one stands later in the plan,
 * so the later one is told.
 */
function* pairsIn(
  root: ClaimTree,
  claims: readonly PlacedClaim[],
  meter: EffortMeter,
): Generator<readonly [Claim, Claim]> {
  for (const { claim, prefix } of claims) nodesAlong(root, prefix, true).at(-1)!.claims.push(claim);
  for (const { claim, prefix } of claims) {
    const { before } = claim;
    if (before && before.port !== claim.port) {
      yield claim.port > before.port ? [claim, before] : [before, claim];
    }
    const nodes = nodesAlong(root, prefix, false);
    for (const node of nodes) {
      meter.spend(node.claims.length * PASSED_OVER);
      for (const other of node.claims) {
        if (other.port === claim.port || other.path === claim.path) continue;
        if (node === nodes.at(-1) && other.port > claim.port) continue; // comes from the other side
        yield claim.port > other.port ? [claim, other] : [other, claim];
      }
    }
  }
}

/** Every pattern of every port, what is needed first; equal patterns share one `path`. */
function claimsInOrder(
  ports: PlanDraft["ports"],
  graph: PlanGraph,
  meter: EffortMeter,
): PlacedClaim[] {
  const compiled = new Map<string, readonly GlobPath[]>();
  const last = new Map<GlobPath, Claim>();
  const claims: PlacedClaim[] = [];
  for (const port of graph.order) {
    const { owns = [], tests = [] } = ports[port]!;
    for (const [key, patterns] of [["owns", owns] as const, ["tests", tests] as const]) {
      for (const [position, pattern] of patterns.entries()) {
        const alternatives = compiled.get(pattern) ?? foldedGlob(pattern).alternatives;
        compiled.set(pattern, alternatives);
        meter.spend(alternatives.length);
        for (const path of alternatives) {
          const claim = { port, key, position, path, before: last.get(path) };
          last.set(path, claim);
          claims.push({ claim, prefix: literalPrefix(path) });
        }
      }
    }
  }

  return claims;
}

function nodesAlong(root: ClaimTree, segments: readonly string[], make: boolean): ClaimTree[] {
  const nodes = [root];
  for (const segment of segments) {
    const parent = nodes.at(-1)!;
    let node = parent.below.get(segment);
    if (!node) {
      if (!make) break;
      node = { claims: [], below: new Map() };
      parent.below.set(segment, node);
    }
    nodes.push(node);
  }

  return nodes;
}
