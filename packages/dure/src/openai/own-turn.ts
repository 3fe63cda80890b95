import type { FastifyRequest } from "fastify";
import type { Viewer } from "../engine/api.ts";
import { callerOf } from "../server/guard.ts";
import { NO_TENANT } from "../server/members.ts";
import { assertMayFollow } from "../server/own-sessions.ts";
import type { ServerParts } from "../server/server.ts";
import { assertTurnId } from "../server/turn-position.ts";

/**
 * The session of a turn: of the caller's tenant, unless the caller looks as one who sees more. Throws `TURN_UNKNOWN` also for a turn of others' direct rooms.
 */
export async function sessionOfTurn(
  { conversations, members }: Pick<ServerParts, "conversations" | "members">,
  request: FastifyRequest,
  turnId: string,
  caller: Viewer = callerOf(request),
): Promise<string> {
  assertTurnId(turnId);
  const { sessionId: session } = await conversations.find(turnId, { caller });
  const tenant = await members.view(request.principal!, { session }, caller.tenant);
  if (tenant === NO_TENANT) await conversations.find(turnId, { caller: { ...caller, tenant } });
  assertMayFollow(request.principal!, session);

  return session;
}
