import { ancestors, buildGraph } from "./graph.ts";
import { TEST_ROLE, type Plan, type Port } from "./plan.ts";
import { BUILD_FILES, SHARED_PATTERNS, sharedByName } from "./plan-ownership.ts";
import { contextScopeOf } from "./context/context-scopes.ts";
import type { ScopeInput } from "./scope.ts";

/**
 * What a member of a port's pair may touch, from the plan. `owns` is the implementer's without
 * `tests`, which are the tester's; the tester reads what it tests, the implementer does not read
 * the tests. `reads` of the port stand instead of its role's; the preset's roles read what their
 * context includes, and the role Test reads all. What other ports own, and what its role does not
 * get, is withheld from its processes; what it depends on is not, since it builds and tests with
 * that. In one context it reads what all ports own, and nothing is withheld. Source:
 * docs/spec/plans §5.
 */
export function scopeOf(
  plan: Pick<Plan, "roles" | "contracts" | "ports"> & Partial<Pick<Plan, "violations" | "workers">>,
  port: Port,
  member: "implementer" | "tester",
  { oneContext = false }: { oneContext?: boolean | undefined } = {},
): ScopeInput {
  const role = plan.roles.preset === "own" ? plan.roles.definitions[port.role] : undefined;
  const context = contextScopeOf(plan, port, member, { oneContext });
  const named = port.reads ?? role?.reads ?? readsOfPreset(plan, port);
  const reads = [...(named ?? [])];
  const { others, needed } = neighboursOf(plan.ports, port);
  if (oneContext) reads.push(...others, ...needed);

  const includes = named === undefined && context.include.length > 0;
  const shared = {
    contracts: plan.contracts.map(({ path }) => path),
    byRole: includes ? { patterns: context.include, but: context.exclude } : undefined,
    onViolation: plan.violations === "stop" ? undefined : plan.violations,
    withheld: oneContext ? [] : [...others, ...context.exclude],
    needed: [...needed, ...port.owns, ...port.tests, ...BUILD_FILES],
    forbidden: role?.forbidden,
    orchestrators: orchestratorsOf(plan, port),
  };
  if (member === "tester") {
    return { ...shared, writes: port.tests, reads: [...reads, ...port.owns] };
  }
  return { ...shared, writes: port.owns, exceptions: port.tests, reads };
}

function orchestratorsOf(
  { workers }: Partial<Pick<Plan, "workers">>,
  port: Port,
): ScopeInput["orchestrators"] {
  if (!workers?.orchestrator) return undefined;
  return { patterns: SHARED_PATTERNS, but: sharedByName(port) };
}

/** The role Test of the preset reads all. */
function readsOfPreset({ roles }: Pick<Plan, "roles">, { role }: Port): string[] | undefined {
  return roles.preset === "hexagonal" && role === TEST_ROLE ? ["**"] : undefined;
}

/**
 * Patterns of the ports that it does not need, and of those that it does, directly or through
 * others.
 */
function neighboursOf(
  ports: readonly Port[],
  port: Port,
): { readonly others: readonly string[]; readonly needed: readonly string[] } {
  const before = new Set(ancestors(buildGraph(ports), port.id));
  const patternsOf = (some: readonly Port[]): string[] => [
    ...new Set(some.flatMap(({ owns, tests }) => [...owns, ...tests])),
  ];
  return {
    others: patternsOf(ports.filter(({ id }) => id !== port.id && !before.has(id))),
    needed: patternsOf(ports.filter(({ id }) => before.has(id))),
  };
}
