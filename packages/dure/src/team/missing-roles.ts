import { ownLeavesOf, type AnyService } from "../engine/service/combine.ts";
import type { Logger } from "../kernel/logger.ts";
import type { TokenStore } from "../server/token-store.ts";

/** A role that tools ask for and no living token has: what they ask is approved by no person. */
export interface MissingRole {
  readonly role: string;
  readonly detail: string;
  readonly hint: string;
}

/** Of the tools of agents; one that a handler alone calls is not seen. */
export async function missingRoles(
  services: readonly AnyService[],
  tokens: Pick<TokenStore, "list">,
): Promise<readonly MissingRole[]> {
  const asking = askingTools(services);
  if (asking.size === 0) return [];
  const living = (await tokens.list()).filter(({ revokedAt }) => revokedAt === null);
  const given = new Set(living.flatMap(({ roles = [] }) => roles));
  return [...asking]
    .filter(([role]) => !given.has(role))
    .map(([role, tools]) => ({
      role,
      detail: `no token has the role ${role}, which approves ${[...tools].join(", ")}`,
      hint: `Make one for who approves: dure token create <name> --roles ${role}`,
    }));
}

/** The tools that ask for each role. Pure. */
function askingTools(services: readonly AnyService[]): ReadonlyMap<string, ReadonlySet<string>> {
  const asking = new Map<string, Set<string>>();
  const agents = ownLeavesOf(services).flatMap((service) => Object.values(service.agents));
  for (const [name, { approval }] of agents.flatMap(({ tools }) => Object.entries(tools))) {
    const role = approval?.needs?.role;
    if (role === undefined) continue;
    asking.set(role, (asking.get(role) ?? new Set<string>()).add(name));
  }
  return asking;
}

/** At a start: it is not refused, for the token may come later. */
export async function warnOfMissingRoles(
  services: readonly AnyService[],
  tokens: Pick<TokenStore, "list">,
  logger: Logger,
): Promise<void> {
  for (const { role, detail, hint } of await missingRoles(services, tokens)) {
    logger.warn({ role }, `${detail}. ${hint}`);
  }
}
