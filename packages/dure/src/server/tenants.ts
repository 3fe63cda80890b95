import type { FastifyRequest } from "fastify";
import type { Viewer } from "../engine/api.ts";
import { sessionIdFor, sessionKeyFor, type TenantView } from "../kernel/tenant.ts";
import { toWire } from "../kernel/wire.ts";
import { hasScope } from "./access.ts";
import { given } from "./given.ts";
import type { PlatformEvent } from "../wire/events.ts";

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
  return { name: request.principal!.caller.name, tenant: viewOf(request) };
}

/** The stored key of a session that a request names; undefined where it names none. */
export function keyOfSession(
  request: FastifyRequest,
  session: string | undefined,
): string | undefined {
  return session === undefined ? undefined : sessionKeyFor(viewOf(request), session);
}

/**
 * An event as its reader may know it: sessions by their id; whose it is only where all are seen.
 */
export function eventToWire(
  { tenant, session, ...rest }: PlatformEvent,
  view: TenantView,
): unknown {
  const whose = view === null && tenant !== undefined && tenant !== "" ? { tenant } : {};
  return toWire({
    ...rest,
    ...whose,
    ...given({ session: session === undefined ? undefined : sessionIdFor(view, session) }),
  });
}
