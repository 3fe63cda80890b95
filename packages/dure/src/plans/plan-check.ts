import {
  problemAt,
  MAX_PROBLEMS,
  type KeyPath,
  type Problem,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { closest } from "../models/spelling.ts";
import { expandBraces, foldPath, literalPrefix, pathsMeet, type GlobPath } from "./glob.ts";
import { ancestors, buildGraph, orderOracle, type PlanGraph } from "./graph.ts";
import { findCycles } from "./graph-cycles.ts";
import { belowHome, homeHint, refuseHomePlace } from "./agents/agent-homes.ts";
import { variablesIn } from "./agents/mcp-servers.ts";
import { isOwnSecret, OWN_SECRET_HINT } from "./own-secrets.ts";
import { HEXAGONAL_ROLES, TEST_ROLE } from "./plan.ts";
import type { PlanDraft } from "./plan-schema.ts";
import { forbiddenBy, foreignLayer } from "./role-paths.ts";
import { foldedGlob } from "./scope.ts";

/** Names that are listed in one problem. */
const NAMES_SHOWN = 20;
/**
 * Overlaps that are reported at most: one slip of the hand can make thousands.
 */
const MAX_OVERLAPS = 50;

/**
 * Whether the parts of a plan fit together. Pure; every problem at its place, in the order of the
 * checks. Source: docs/spec/plans §2, §5.
 */
export function checkTogether(plan: PlanDraft, document: SettingsDocument): Problem[] {
  const names = checkNames(plan, document);
  const references = checkReferences(plan, document);
  const cycles = names.length + references.length === 0 ? checkCycles(plan, document) : [];
  const graph =
    names.length + references.length + cycles.length === 0
      ? buildGraph(plan.ports.map(nodeOf))
      : undefined;
  return [
    ...names,
    ...references,
    ...cycles,
    ...checkRoles(plan, document),
    ...checkWorkers(plan, document),
    ...checkSecrets(plan, document),
    ...checkWritable(plan, document),
    ...checkContracts(plan, document),
    ...checkOwnership(plan, document),
    ...checkTestPaths(plan, document),
    ...checkRolePaths(plan, document),
    ...(graph
      ? [...checkTestPorts(plan, document, graph), ...checkOverlaps(plan, document, graph)]
      : []),
  ];
}

const nodeOf = (
  port: PlanDraft["ports"][number],
): { id: string; dependsOn: readonly string[] } => ({
  id: port.id,
  dependsOn: port.dependsOn ?? [],
});

/** Ids name folders and branches, so two that differ by case alone are one. */
function checkNames(plan: PlanDraft, document: SettingsDocument): Problem[] {
  const seen = new Map<string, string>();
  return plan.ports.flatMap(({ id }, index) => {
    const path = ["ports", index, "id"];
    const earlier = seen.get(id.toLowerCase());
    seen.set(id.toLowerCase(), earlier ?? id);
    if (id.toLowerCase() === "orchestrator") {
      return [
        problemAt(document, path, "is the name of the one who owns the contracts", {
          hint: "Give the port another id.",
        }),
      ];
    }
    if (earlier === undefined) return [];
    const message =
      earlier === id
        ? `stands on two ports`
        : `differs from "${earlier}" by case alone, and is the name of a folder and a branch`;
    return [problemAt(document, path, message, { hint: "Give one of them another id." })];
  });
}

function checkReferences(plan: PlanDraft, document: SettingsDocument): Problem[] {
  const known = new Set(plan.ports.map(({ id }) => id));
  const meant = new Suggestions([...known]);

  return plan.ports.flatMap((port, index) => {
    const seen = new Set<string>();
    return (port.dependsOn ?? []).flatMap((name, position) => {
      const path = ["ports", index, "dependsOn", position];
      const isRepeated = seen.has(name);
      seen.add(name);
      if (name === port.id) {
        return [
          problemAt(document, path, `port ${port.id} depends on itself`, {
            hint: "Remove this entry.",
          }),
        ];
      }
      if (!known.has(name)) {
        return [
          problemAt(document, path, `port ${port.id} depends on "${name}", which is no port`, {
            hint: meant.portFor(name),
          }),
        ];
      }

      return isRepeated
        ? [problemAt(document, path, "stands here twice", { hint: "Remove one of them." })]
        : [];
    });
  });
}

function checkCycles(plan: PlanDraft, document: SettingsDocument): Problem[] {
  return findCycles(plan.ports.map(nodeOf)).map((way) => {
    const index = plan.ports.findIndex(({ id }) => id === way[0]);
    const position = plan.ports[index]!.dependsOn!.indexOf(way[1]!);

    return problemAt(
      document,
      ["ports", index, "dependsOn", position],
      `ports wait for each other: ${way.join(" → ")}`,
      { hint: "Remove one dependsOn entry along this path." },
    );
  });
}

function checkRoles({ roles, ports }: PlanDraft, document: SettingsDocument): Problem[] {
  const reserved =
    typeof roles === "string"
      ? []
      : Object.keys(roles).filter((name) => name === "default" || name === "orchestrator");
  const problems = reserved.map((name) =>
    problemAt(document, ["roles", name], `is a word of workers, and no role's name`),
  );
  if (roles === "modules") return problems;
  const known = new Set<string>(roles === "hexagonal" ? HEXAGONAL_ROLES : Object.keys(roles));
  const allowed = namesIn([...known]);
  const meant = new Suggestions([...known]);
  const unknown = ports.flatMap(({ role }, index) =>
    known.has(role)
      ? []
      : [
          problemAt(document, ["ports", index, "role"], "is no role of this plan", {
            allowed,
            hint: meant.nameFor(role),
          }),
        ],
  );

  return [...problems, ...unknown];
}

function checkWorkers(
  { workers, roles, ports, contracts = [] }: PlanDraft,
  document: SettingsDocument,
): Problem[] {
  const used = [...new Set(ports.map(({ role }) => role))];
  const known = [
    "default",
    "orchestrator",
    "implementer",
    "tester",
    ...(roles === "hexagonal" ? HEXAGONAL_ROLES : roles === "modules" ? used : Object.keys(roles)),
  ];
  const isKnown = new Set(known);
  const meant = new Suggestions(known);
  const others = `Known are ${namesIn(known)}.`;
  const unknown = Object.keys(workers)
    .filter((name) => !isKnown.has(name))
    .map((name) =>
      problemAt(document, ["workers", name], `"${name}" is no role of this plan`, {
        hint: meant.nameFor(name) ?? others,
      }),
    );
  const forAll = ["default", "implementer"];
  if (forAll.some((name) => Object.hasOwn(workers, name))) return unknown;
  const missing = used
    .filter((role) => !Object.hasOwn(workers, role))
    .map((role) =>
      problemAt(document, ["workers"], `no worker for the role ${role}`, {
        hint: `Add workers.default or workers.${role}.`,
      }),
    );
  if (contracts.length > 0 && !Object.hasOwn(workers, "orchestrator")) {
    missing.push(
      problemAt(document, ["workers"], "no worker writes the contracts", {
        hint: "Add workers.orchestrator.",
      }),
    );
  }

  return [...unknown, ...missing];
}

function checkSecrets({ workers }: PlanDraft, document: SettingsDocument): Problem[] {
  return Object.entries(workers).flatMap(([role, { env = [], mcp = {} }]) => {
    const ofServers = Object.entries(mcp).flatMap(([name, { env: given, headers }]) =>
      variablesIn([...Object.values(given ?? {}), ...Object.values(headers ?? {})]).map(
        (variable) => ({ variable, path: ["workers", role, "mcp", name] }),
      ),
    );
    const own = env.map((entry, index) => ({
      variable: entry.split("=")[0]!,
      path: ["workers", role, "env", index],
    }));

    return [...own, ...ofServers]
      .filter(({ variable }) => isOwnSecret(variable))
      .map(({ variable, path }) =>
        problemAt(document, path, `${variable} is dure's own, and no worker gets it`, {
          hint: OWN_SECRET_HINT,
        }),
      );
  });
}

/** No worker writes what runs for the person afterwards, outside of the sandbox. */
function checkWritable({ workers }: PlanDraft, document: SettingsDocument): Problem[] {
  return Object.entries(workers).flatMap(([role, { writable = [] }]) =>
    writable.flatMap((place, index) => {
      const below = belowHome(place, undefined);
      const refused = below === undefined ? undefined : refuseHomePlace(below);
      if (!refused) return [];
      const path = ["workers", role, "writable", index];
      const holds = refused.isAgents ? "logins and settings of an agent" : "settings of programs";
      const message = `${place} holds ${holds} (~/${refused.meets}), which run for you afterwards`;

      return [problemAt(document, path, message, { hint: homeHint(refused) })];
    }),
  );
}

function checkContracts(
  { contracts = [], ports }: PlanDraft,
  document: SettingsDocument,
): Problem[] {
  const seen = new Map<string, number>();
  const problems: Problem[] = [];
  for (const [index, { path }] of contracts.entries()) {
    const folded = foldPath(path);
    if (seen.has(folded)) {
      problems.push(
        problemAt(document, ["contracts", index, "path"], "is a contract already", {
          hint: "Remove one of them.",
        }),
      );
    }
    seen.set(folded, index);
  }
  // A pattern may cover a contract, which is then taken out of it; naming the very file claims it.
  for (const [index, port] of ports.entries()) {
    for (const key of ["owns", "tests"] as const) {
      for (const [position, pattern] of (port[key] ?? []).entries()) {
        if (!seen.has(foldPath(pattern))) continue;
        problems.push(
          problemAt(
            document,
            ["ports", index, key, position],
            "is a contract, which the orchestrator owns",
            { hint: "Remove it here, or from contracts." },
          ),
        );
      }
    }
  }

  return problems;
}

function checkOwnership({ ports }: PlanDraft, document: SettingsDocument): Problem[] {
  return ports.flatMap((port, index) => {
    const { owns = [], tests = [] } = port;
    if (owns.length + tests.length === 0) {
      return [
        problemAt(document, ["ports", index, "owns"], `port ${port.id} owns nothing`, {
          hint: "Say in owns what it may write, or in tests.",
        }),
      ];
    }

    return [
      ...repeated(owns, ["ports", index, "owns"], document),
      ...repeated(tests, ["ports", index, "tests"], document),
      ...inBoth(owns, tests, ["ports", index, "tests"], document),
    ];
  });
}

function repeated(
  patterns: readonly string[],
  path: KeyPath,
  document: SettingsDocument,
): Problem[] {
  return patterns.flatMap((pattern, position) =>
    patterns.indexOf(pattern) < position
      ? [
          problemAt(document, [...path, position], "stands here twice", {
            hint: "Remove one of them.",
          }),
        ]
      : [],
  );
}

function inBoth(
  owns: readonly string[],
  tests: readonly string[],
  path: KeyPath,
  document: SettingsDocument,
): Problem[] {
  return tests.flatMap((pattern, position) =>
    owns.includes(pattern)
      ? [
          problemAt(document, [...path, position], "stands in owns too", {
            hint: "owns is the implementer's, tests the tester's.",
          }),
        ]
      : [],
  );
}

/**
 * Names of folders that hold tests, and endings and beginnings of files that are some. Source: the
 * defaults of vitest, jest, pytest, go test, JUnit, Cypress, Playwright.
 */
const TEST_FOLDERS =
  /^(?:tests?|__tests__|specs?|testing|e2e|integration|acceptance|cypress|playwright|features)$/i;
const TEST_FILES =
  /[._-](?:test|tests|spec|e2e|cy)\.|^test_|_test\.|^conftest\.py$|(?:Test|Tests|IT)\.[a-z]+$/;

/**
 * Whether all that a pattern can match is a test: a folder of tests stands in it, or its files are
 * named as some. Pure.
 */
export function isTestPattern(pattern: string): boolean {
  return (expandBraces(pattern) ?? []).every((alternative) => {
    const segments = alternative.split("/");
    return (
      segments.slice(0, -1).some((segment) => TEST_FOLDERS.test(segment)) ||
      TEST_FILES.test(segments.at(-1)!)
    );
  });
}

/** Under `hexagonal` the role Test changes no production code. */
function checkTestPaths({ roles, ports }: PlanDraft, document: SettingsDocument): Problem[] {
  if (roles !== "hexagonal") return [];
  return ports.flatMap((port, index) =>
    port.role !== TEST_ROLE
      ? []
      : (["owns", "tests"] as const).flatMap((key) =>
          (port[key] ?? []).flatMap((pattern, position) =>
            isTestPattern(pattern)
              ? []
              : [
                  problemAt(
                    document,
                    ["ports", index, key, position],
                    `is no path of tests, and the role ${TEST_ROLE} changes no production code`,
                    {
                      hint: "Name a folder of tests (test/e2e/**) or files of tests (src/**/*.test.ts).",
                    },
                  ),
                ],
          ),
        ),
  );
}

/** A role owns its own layer under `hexagonal`, and else nothing that its definition forbids. */
function checkRolePaths(plan: PlanDraft, document: SettingsDocument): Problem[] {
  const { roles, ports } = plan;
  if (typeof roles === "object") return checkForbidden(roles, plan, document);
  if (roles !== "hexagonal") return [];

  return ports.flatMap(({ role, owns = [] }, index) =>
    owns.flatMap((pattern, position) => {
      const layer = isTestPattern(pattern) ? undefined : foreignLayer(role, pattern);
      if (layer === undefined) return [];
      const message = `is of the layer ${layer}, which the role ${role} does not own`;
      const hint =
        `Give it to a port of the role ${layer}. ` +
        "Roles that the plan names itself (roles: { domain: {} }) bind no paths.";
      return [problemAt(document, ["ports", index, "owns", position], message, { hint })];
    }),
  );
}

function checkForbidden(
  roles: Exclude<PlanDraft["roles"], string>,
  { ports }: PlanDraft,
  document: SettingsDocument,
): Problem[] {
  return ports.flatMap(({ role, owns = [] }, index) => {
    const forbidden = roles[role]?.forbidden ?? [];
    return owns.flatMap((pattern, position) => {
      const by = forbiddenBy(forbidden, pattern);
      if (by === undefined) return [];
      const message = `is forbidden to the role ${role} (${by})`;
      const hint = "Give it to a port of another role, or take it from forbidden of this one.";

      return [problemAt(document, ["ports", index, "owns", position], message, { hint })];
    });
  });
}

/** A port of the test role sees the work of all others: it comes after them. */
function checkTestPorts(
  { ports }: PlanDraft,
  document: SettingsDocument,
  graph: PlanGraph,
): Problem[] {
  const others = ports.filter(({ role }) => role !== TEST_ROLE).map(({ id }) => id);
  return ports.flatMap((port, index) => {
    if (port.role !== TEST_ROLE) return [];
    const before = new Set(ancestors(graph, port.id));
    const missing = others.filter((id) => !before.has(id));
    if (missing.length === 0) return [];
    const shown =
      missing.length > 5
        ? `${missing.slice(0, 5).join(", ")} and ${missing.length - 5} more`
        : missing.join(", ");
    return [
      problemAt(
        document,
        ["ports", index, "dependsOn"],
        `port ${port.id} has the role ${TEST_ROLE}, so it comes after all others, but not after ${shown}`,
        { hint: "Add them to dependsOn." },
      ),
    ];
  });
}

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
function checkOverlaps(
  { ports }: PlanDraft,
  document: SettingsDocument,
  graph: PlanGraph,
): Problem[] {
  const root: ClaimTree = { claims: [], below: new Map() };
  const problems: Problem[] = [];
  const told = new Set<string>();
  const meetings = pairsIn(root, ports, graph);
  let isOrdered: ((a: number, b: number) => boolean) | undefined;
  for (const [claim, other] of meetings) {
    if (problems.length >= MAX_OVERLAPS) break;
    isOrdered ??= orderOracle(graph);
    const ordered = isOrdered(claim.port, other.port);
    const isOfTests = [claim, other].some(({ port }) => ports[port]!.role === TEST_ROLE);
    if ((ordered && !isOfTests) || !pathsMeet(claim.path, other.path)) continue;
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
  ports: PlanDraft["ports"],
  graph: PlanGraph,
): Generator<readonly [Claim, Claim]> {
  const claims = claimsInOrder(ports, graph);
  for (const { claim, prefix } of claims) nodesAlong(root, prefix, true).at(-1)!.claims.push(claim);
  for (const { claim, prefix } of claims) {
    const { before } = claim;
    if (before && before.port !== claim.port) {
      yield claim.port > before.port ? [claim, before] : [before, claim];
    }
    const nodes = nodesAlong(root, prefix, false);
    for (const node of nodes) {
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
): { claim: Claim; prefix: readonly string[] }[] {
  const compiled = new Map<string, readonly GlobPath[]>();
  const last = new Map<GlobPath, Claim>();
  const claims: { claim: Claim; prefix: readonly string[] }[] = [];
  for (const port of graph.order) {
    const { owns = [], tests = [] } = ports[port]!;
    for (const [key, patterns] of [["owns", owns] as const, ["tests", tests] as const]) {
      for (const [position, pattern] of patterns.entries()) {
        const alternatives = compiled.get(pattern) ?? foldedGlob(pattern).alternatives;
        compiled.set(pattern, alternatives);
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

function didYouMean(written: string, known: readonly string[]): string | undefined {
  const meant = closest(written, known);
  return meant === undefined ? undefined : `Did you mean "${meant}"?`;
}

/** Names in one line; of many the first ones. */
function namesIn(names: readonly string[]): string {
  if (names.length <= NAMES_SHOWN) return names.join(", ");
  return `${names.slice(0, NAMES_SHOWN).join(", ")} and ${names.length - NAMES_SHOWN} more`;
}

/**
 * What was probably meant. Compares with every known name, so only for as many problems as are
 * listed.
 */
class Suggestions {
  readonly #known: readonly string[];
  #left = MAX_PROBLEMS;

  constructor(known: readonly string[]) {
    this.#known = known;
  }

  nameFor(written: string): string | undefined {
    return this.#left-- > 0 ? didYouMean(written, this.#known) : undefined;
  }

  portFor(written: string): string {
    const others =
      this.#known.length > 10
        ? "Name a port of this plan."
        : `Ports are ${this.#known.join(", ")}.`;
    return this.nameFor(written) ?? others;
  }
}
