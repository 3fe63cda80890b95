import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import type { Escalation } from "../escalations/inbox.ts";
import { toWire } from "../kernel/wire.ts";
import { callerOf } from "./guard.ts";
import { problems } from "./schemas.ts";
import type { ServerParts } from "./server.ts";

const EscalationAnswer = z
  .looseObject({ id: z.string(), type: z.string(), severity: z.enum(["info", "warning", "critical"]), status: z.enum(["open", "answered", "expired"]), question: z.string() })
  .meta({ description: "A recorded request for a decision." });

const ListQuery = z.object({
  status: z.enum(["open", "answered", "expired"]).optional(),
  session: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).optional(),
});

const AnswerBody = z.object({ value: z.string().min(1).max(100).meta({ description: "One of the escalation's option values." }) });

/** The one inbox: what waits for a person, and the answers. */
export const escalationRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { inbox, audit }) => {
  if (!inbox) return;

  app.get(
    "/v1/escalations",
    { config: { scope: "chat" }, schema: { tags: ["escalations"], summary: "What waits for a person, newest first", querystring: ListQuery, response: { 200: z.object({ items: z.array(EscalationAnswer) }), ...problems(400, 401, 403) } } },
    async (request) => {
      const { status, session, limit } = request.query;
      const items = await inbox.list({ tenant: callerOf(request).tenant, ...(status && { status }), ...(session !== undefined && { session }), ...(limit !== undefined && { limit }) });
      return { items: items.map(escalationToWire) };
    },
  );

  app.post(
    "/v1/escalations/:id/answer",
    {
      config: { scope: "admin" },
      schema: { tags: ["escalations"], summary: "Answers one question; what waited for it goes on", params: z.object({ id: z.string().min(1).max(100) }), body: AnswerBody, response: { 200: z.object({ turn_id: z.string().nullable() }), ...problems(400, 401, 403, 404, 409) } },
    },
    async (request) => {
      const who = callerOf(request);
      const { turn } = await inbox.answer(request.params.id, request.body.value, who);
      audit?.({ who, what: `escalation.${request.body.value}`, subject: request.params.id });
      return { turn_id: turn };
    },
  );
};

/** The context belongs to whoever raised it: its keys stay as they are. */
function escalationToWire({ context, ...rest }: Escalation): z.infer<typeof EscalationAnswer> {
  return { ...(toWire(rest) as z.infer<typeof EscalationAnswer>), context };
}
