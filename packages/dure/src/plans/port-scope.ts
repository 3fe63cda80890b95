import type { Plan, Port } from "./plan.ts";
import { contextScopeOf } from "./context/context-scopes.ts";
import type { ScopeInput } from "./scope.ts";

/**
 * What a member of a port's pair may touch, from the plan. `owns` is the implementer's without `tests`, which are the
 * tester's; the tester reads what it tests, the implementer does not read the tests. `reads` of the port stand instead of its role's; the preset's roles read what their context includes.
 * Source: docs/spec/plans §5.
 */
export function scopeOf(plan: Pick<Plan, "roles" | "contracts">, port: Port, member: "implementer" | "tester"): ScopeInput {
  const role = plan.roles.preset === "own" ? plan.roles.definitions[port.role] : undefined;
  const contracts = plan.contracts.map(({ path }) => path);
  const known = plan.roles.preset === "hexagonal" ? contextScopeOf(plan, port, member).include : [];
  const reads = port.reads ?? role?.reads ?? known;
  const shared = { contracts, ...(role?.forbidden && { forbidden: role.forbidden }) };
  if (member === "tester") return { ...shared, writes: port.tests, reads: [...reads, ...port.owns] };
  return { ...shared, writes: port.owns, exceptions: port.tests, reads };
}
