import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import type { PlanLibrary } from "../plans/runs/plan-library.ts";
import type { PlanWork } from "../plans/threads/plan-threads.ts";
import type { RunOrder } from "../plans/rows/run.ts";
import { shownRun } from "../plans/runs/shown.ts";
import type { OrderAnswer, RunParams } from "../wire/runs.ts";
import { callerOf } from "./guard.ts";
import { closedSignal } from "./conversation-routes.ts";
import type { ServerParts } from "./server.ts";
import { viewerOf } from "./tenants.ts";

/** The parts of a server of a team with plans. */
export interface PlanRouteParts extends ServerParts {
  readonly plans: PlanLibrary;
}

export const read = { scope: "plans:read" as const };
export const act = { scope: "plans:run" as const };
export const tags = ["plans"];
/** What the audit log keeps of a deed. */
export interface PlannedDeed {
  readonly what: string;
  readonly subject: string;
}

/** The configuration of a route that does `what`. */
export function does(what: string): { scope: "plans:run"; audit: string } {
  return { ...act, audit: what };
}

/** As above, of a route by which a result leaves its run. */
export function delivers(what: string): { scope: "plans:merge"; audit: string } {
  return { scope: "plans:merge", audit: what };
}

/** Aborts when the caller has left, or the server waits no longer. */
export function whileAsked(reply: FastifyReply, { closing }: ServerParts): AbortSignal {
  return AbortSignal.any([closedSignal(reply.raw), closing]);
}

/** Work on plans that the caller waits for: a tenant has one share of it, else each caller. */
export function workAsked(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ServerParts,
): PlanWork & { readonly signal: AbortSignal } {
  return { share: shareOf(request), signal: whileAsked(reply, parts) };
}

export function shareOf(request: FastifyRequest): string {
  const { tenant, name } = callerOf(request);
  return tenant === "" ? `caller:${name}` : `tenant:${tenant}`;
}

/** Gives an order to the run that the path names: 200 when it is carried out, 202 when stored. */
export async function order(
  { plans, closing }: PlanRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  wish: RunOrder,
): Promise<OrderAnswer> {
  const { id } = request.params as z.output<typeof RunParams>;
  const { tenant, name: by } = viewerOf(request);
  const { carriedOut } = await plans.order(id, wish, { tenant, by, signal: closing });
  void reply.code(carriedOut ? 200 : 202);
  const run = await plans.runs.get(id, { tenant });

  const shown = shownRun(run, plans.repositoryFor(tenant));
  return onWire<OrderAnswer>({ carriedOut, run: shown });
}
