import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { PlanLibrary } from "../plans/run/plan-library.ts";
import type { RunOrder } from "../plans/run/run.ts";
import { hasScope } from "./access.ts";
import { closedSignal } from "./conversation-routes.ts";
import { PlanProblemJson, RunJson, runToWire } from "./plan-json.ts";
import type { ServerParts } from "./server.ts";
import { viewerOf } from "./tenants.ts";

/** The parts of a server of a team with plans. */
export interface PlanRouteParts extends ServerParts {
  readonly plans: PlanLibrary;
}

export const read = { scope: "plans:read" as const };
export const act = { scope: "plans:run" as const };
export const tags = ["plans"];
export const name = z.string().min(1).max(200);
export const runId = z.string().min(1).max(100);
const portId = z.string().min(1).max(64);
export const portIds = z.array(portId).max(10_000);
export const runParams = z.object({ id: runId });
export const portParams = z.object({ id: runId, port: portId });
export const repository = z
  .string()
  .min(1)
  .max(1_000)
  .optional()
  .meta({
    description:
      "Folder of the repository, from the team's folder. Default: as the plan says, else the team's. " +
      "One that is neither the team's own nor named by a plan of its folder needs the scope admin.",
  });
export const planFile = z.string().min(1).max(300).meta({
  description: "As it would be called; its ending chooses the reader: .yaml, .json or .md.",
});
export const foundProblems = z
  .array(PlanProblemJson)
  .meta({ description: "At most 50; `problem_count` counts all." });

const OrderAnswer = z.object({ carried_out: z.boolean(), run: RunJson });
export const ORDERED = {
  200: OrderAnswer.meta({ description: "It is done." }),
  202: OrderAnswer.meta({
    description: "It is stored; the run's leader does it as soon as it can.",
  }),
};

/** What the audit log keeps of a deed. */
export interface PlannedDeed {
  readonly what: string;
  readonly subject: string;
}

/** The configuration of a route that does `what`. */
export function does(what: string): { scope: "plans:run"; audit: string } {
  return { ...act, audit: what };
}

export function mayReachOut(request: FastifyRequest): boolean {
  return hasScope(request.principal!, "admin");
}

/** Aborts when the caller has left, or the server waits no longer. */
export function whileAsked(reply: FastifyReply, { closing }: ServerParts): AbortSignal {
  return AbortSignal.any([closedSignal(reply.raw), closing]);
}

/** Gives an order to the run that the path names: 200 when it is carried out, 202 when stored. */
export async function order(
  { plans, closing }: PlanRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  wish: RunOrder,
): Promise<z.infer<typeof OrderAnswer>> {
  const { id } = request.params as z.output<typeof runParams>;
  const { tenant, name: by } = viewerOf(request);
  const options = { tenant, by, mayReachOut: mayReachOut(request), signal: closing };
  const { carriedOut } = await plans.order(id, wish, options);
  void reply.code(carriedOut ? 200 : 202);
  return { carried_out: carriedOut, run: runToWire(await plans.runs.get(id, { tenant })) };
}
