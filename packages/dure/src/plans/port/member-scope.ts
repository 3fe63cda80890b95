/** The paths that a member of a pair may read and write. */

import { openContractsOf } from "../mode.ts";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Member } from "../../kernel/plans.ts";
import type { PathGrant } from "../../wire/runs.ts";
import { grantable, grantGlobs } from "../ask/grants.ts";
import type { ScopeInput } from "../scope.ts";
import type { PortWork } from "./pair-parts.ts";
import { ancestors, buildGraph } from "../graph.ts";
import { TEST_ROLE, type Plan, type Port, type RoleDefinition } from "../plan.ts";
import { BUILD_FILES, SHARED_PATTERNS, sharedByName } from "../plan-ownership.ts";
import { contextScopeOf, type ContextScope } from "../context/context-scopes.ts";
import { PERSONS_TOOLS, toolsByName } from "../persons-tools.ts";

/** The member's scope, with the paths that the operator has given. */
export async function scopeOfMember(work: PortWork, member: Member): Promise<ScopeInput> {
  const base = plannedScope(work, member);
  const { tree } = work.files;
  const { grants } = work.account.port;
  const reads = await globsOf(tree, grants, "read");
  const owned = grants.filter(({ wants }) => wants === "own");
  const own = member === "tester" ? [] : await globsOf(tree, owned, "own");
  const scope = {
    ...base,
    writes: [...base.writes, ...own],
    reads: [...base.reads, ...reads],
  };
  const given = (some: ScopeInput["tools"]): ScopeInput["tools"] =>
    some && { ...some, but: [...some.but, ...own] };
  return { ...scope, orchestrators: given(base.orchestrators), tools: given(base.tools) };
}

/** The member's scope by the plan alone. */
function plannedScope({ run, port, parts }: PortWork, member: Member): ScopeInput {
  const neighbours = parts.modules.neighboursOf(port.id);
  const openContracts = openContractsOf(run.mode);
  const how = { oneContext: run.mode?.oneContext, neighbours, openContracts };
  if (member !== "orchestrator") return scopeOf(run.plan, port, member, how);
  return {
    ...scopeOf(run.plan, port, "implementer", how),
    exceptions: [],
    writes: [...port.owns, ...port.tests],
  };
}

async function globsOf(
  tree: string,
  grants: readonly PathGrant[],
  wants: "read" | "own",
): Promise<string[]> {
  const globs = await Promise.all(
    grants.map(async ({ path }) => grantGlobs({ path, wants }, await isFolder(tree, path))),
  );
  return globs.flat();
}

async function isFolder(tree: string, path: string): Promise<boolean> {
  const plain = grantable(path);
  if (plain === undefined) return false;
  return lstat(join(tree, plain)).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/**
 * What a member of a port's pair may touch, from the plan. `owns` is the implementer's without
 * `tests`, which are the tester's. `reads` of the port stand instead of its role's; the preset's
 * roles read what their context includes, and the role Test reads all. What other ports own, and
 * what its role does not get, is withheld from its processes; what it depends on is not, since it
 * builds and tests with that. Under `isolation: normal` the ports of its modules are not withheld
 * either, and it may read all that its processes see; under `open` nothing is withheld. In one
 * context it reads what all ports own, and nothing is withheld. Source: docs/spec/plans §5.
 */
export function scopeOf(
  plan: ScopedPlan,
  port: Port,
  member: "implementer" | "tester",
  { oneContext = false, neighbours = [], openContracts = [] }: ScopeSurroundings = {},
): ScopeInput {
  const role = roleOf(plan, port);
  const context = contextScopeOf(plan, port, member, { oneContext });
  const named = port.reads ?? role?.reads;
  const visible = visibleTo(plan, port, { oneContext, neighbours });
  const { others, needed } = visible;
  const reads = [...(named ?? []), ...(oneContext ? [...others, ...needed] : [])];

  const shared = {
    contracts: plan.contracts
      .map(({ path }) => path)
      .filter((path) => !openContracts.includes(path)),
    byRole: named === undefined ? (allOfPreset(plan, port) ?? byRoleOf(context)) : undefined,
    onViolation: plan.violations === "stop" ? undefined : plan.violations,
    withheld: visible.isOpen ? [] : [...others, ...context.exclude],
    readsVisible: visible.readsVisible,
    dependencies: visible.dependencies,
    needed: [...needed, ...port.owns, ...port.tests, ...BUILD_FILES],
    forbidden: role?.forbidden,
    orchestrators: orchestratorsOf(plan, port),
    tools: { patterns: PERSONS_TOOLS, but: toolsByName(port) },
  };
  if (member === "tester") {
    return { ...shared, writes: port.tests, reads: [...reads, ...port.owns] };
  }
  return { ...shared, writes: port.owns, exceptions: port.tests, reads };
}

function roleOf({ roles }: ScopedPlan, { role }: Port): RoleDefinition | undefined {
  return roles.preset === "own" ? roles.definitions[role] : undefined;
}

/** What `isolation` makes of the ports around it. */
function visibleTo(
  { reading = "normal", ports, whole = ports }: ScopedPlan,
  port: Port,
  { oneContext = false, neighbours = [] }: ScopeSurroundings,
) {
  const isStrict = reading === "strict";
  const around = neighboursOf(whole, port, new Set(isStrict ? [] : neighbours));
  return {
    ...around,
    dependencies: isStrict ? [] : around.dependencies,
    readsVisible: !isStrict,
    isOpen: oneContext || reading === "open",
  };
}

/** What the role gets beyond what the plan names. */
function byRoleOf({ include, exclude }: ContextScope): ScopeInput["byRole"] {
  return include.length > 0 ? { patterns: include, but: exclude } : undefined;
}

type ScopedPlan = Pick<Plan, "roles" | "contracts" | "ports"> &
  Partial<Pick<Plan, "violations" | "workers" | "reading" | "whole">>;

/** What of a run a scope depends on. */
interface ScopeSurroundings {
  readonly oneContext?: boolean | undefined;
  /** Ids of the ports that work in its modules. */
  readonly neighbours?: readonly string[] | undefined;
  /** Contracts that a port of the run writes: its owner may. */
  readonly openContracts?: readonly string[] | undefined;
}

function orchestratorsOf(
  { workers }: Partial<Pick<Plan, "workers">>,
  port: Port,
): ScopeInput["orchestrators"] {
  if (!workers?.orchestrator) return undefined;
  return { patterns: SHARED_PATTERNS, but: sharedByName(port) };
}

/** The role Test of the preset reads all. */
function allOfPreset({ roles }: Pick<Plan, "roles">, { role }: Port): ScopeInput["byRole"] {
  const isTest = roles.preset === "hexagonal" && role === TEST_ROLE;
  return isTest ? { patterns: ["**"], but: [] } : undefined;
}

/**
 * Patterns of the ports that it does not need and that do not work beside it, and of those that it
 * needs, directly or through others.
 */
function neighboursOf(
  ports: readonly Port[],
  port: Port,
  beside: ReadonlySet<string>,
): {
  readonly others: readonly string[];
  readonly needed: readonly string[];
  /** Of those that it needs what their implementers own. */
  readonly dependencies: readonly string[];
} {
  const before = new Set(ancestors(buildGraph(ports), port.id));
  const patternsOf = (some: readonly Port[]): string[] => [
    ...new Set(some.flatMap(({ owns, tests }) => [...owns, ...tests])),
  ];
  return {
    others: patternsOf(
      ports.filter(({ id }) => id !== port.id && !before.has(id) && !beside.has(id)),
    ),
    needed: patternsOf(ports.filter(({ id }) => before.has(id))),
    dependencies: [
      ...new Set(ports.filter(({ id }) => before.has(id)).flatMap(({ owns }) => owns)),
    ],
  };
}
