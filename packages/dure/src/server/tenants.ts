import type { FastifyRequest } from "fastify";
import type { Viewer } from "../engine/api.ts";
import { sessionKeyFor, type TenantView } from "../kernel/tenant.ts";
import { hasScope } from "./access.ts";
import { actorOf } from "./actor.ts";

/**
 * Whose things a request sees: its tenant's; without one what has none, or all for an
 * administrator. Source: docs/spec/platform §6.
 */
export function viewOf({ principal }: FastifyRequest): TenantView {
  const { tenant } = principal!.caller;
  return tenant === "" && hasScope(principal!, "admin") ? null : tenant;
}

/** Who looks at conversations. */
export function viewerOf(request: FastifyRequest): Viewer {
  const seesTools = hasScope(request.principal!, "admin");
  return { name: actorOf(request), tenant: viewOf(request), seesTools };
}

/** The stored key of a session that a request names; undefined where it names none. */
export function keyOfSession(
  request: FastifyRequest,
  session: string | undefined,
): string | undefined {
  return session === undefined ? undefined : sessionKeyFor(viewOf(request), session);
}
