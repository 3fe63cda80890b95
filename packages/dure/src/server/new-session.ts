import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { ulid } from "../kernel/ids.ts";
import { callerOf } from "./guard.ts";
import type { ServerParts } from "./server.ts";

/**
 * The session of a request that names none. The same key of the same caller is the same session, so
 * that it finds its turn again.
 */
export function newSession(
  request: FastifyRequest,
  { clock }: Pick<ServerParts, "clock">,
  prefix: string,
): string {
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string") return `${prefix}-${ulid(clock.now())}`;

  const of = `${callerOf(request).name} ${request.routeOptions.url} ${key}`;
  return `${prefix}-${createHash("sha256").update(of).digest("hex").slice(0, 32)}`;
}
