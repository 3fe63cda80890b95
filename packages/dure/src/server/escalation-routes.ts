import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import type { Inbox } from "../escalations/inbox.ts";
import {
  ESCALATION_SEVERITIES,
  ESCALATION_STATUSES,
  ESCALATION_STEPS,
  ESCALATION_TYPES,
  MAX_NOTE,
  type Escalation,
} from "../kernel/escalation.ts";
import { sessionIdFor } from "../kernel/tenant.ts";
import { toWire } from "../kernel/wire.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { keyOfSession, viewerOf, viewOf } from "./tenants.ts";

/** What the routes need of the inbox. */
export type EscalationInbox = Pick<Inbox, "list" | "get" | "answer" | "dismiss">;

const id = z.string().max(200);
const time = z.number().meta({ description: "Milliseconds since the epoch." });

const EscalationJson = z
  .object({
    id: z.string(),
    source: z
      .object({
        run: id.optional(),
        port: id.optional(),
        job: id.optional(),
        room: id.optional(),
        session: z.string().optional(),
        turn: id.optional(),
        service: id.optional(),
      })
      .meta({ description: "Where it comes from." }),
    type: z.enum(ESCALATION_TYPES),
    severity: z.enum(ESCALATION_SEVERITIES),
    title: z.string(),
    description: z.string(),
    context: z
      .record(z.string(), z.unknown())
      .meta({ description: "What it is about; its keys are those of the part that raised it." }),
    suggested_actions: z.array(
      z.object({
        value: z.string(),
        label: z.string(),
        code: z.string().optional().meta({
          description: "The answer as dure names it, for clients with words of their own.",
        }),
        style: z.enum(["primary", "danger"]).optional(),
        asks: z.literal("text").optional(),
      }),
    ),
    status: z.enum(ESCALATION_STATUSES),
    resolution: z.object({ value: z.string(), note: z.string().optional() }).nullable(),
    resolved_by: z.string().nullable().meta({
      description:
        "Id of the token, an agent's name, or `system`; an address on a server without tokens.",
    }),
    resolved_by_person: z.string().nullable().meta({ description: "For whom the token was made." }),
    resolved_at: time.nullable(),
    created_at: time,
    expires_at: time.nullable(),
    step: z
      .enum(ESCALATION_STEPS)
      .meta({ description: "Who has it: where it was raised, the operator agent, or people." }),
    next_step_at: time.nullable(),
  })
  .meta({ id: "Escalation", description: "A recorded request for a decision." });

const ListQuery = z.object({
  status: z.enum(ESCALATION_STATUSES).optional(),
  severity: z.enum(ESCALATION_SEVERITIES).optional(),
  type: z.enum(ESCALATION_TYPES).optional(),
  run: id.optional(),
  port: id.optional(),
  job: id.optional(),
  room: id.optional(),
  session: id.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(200).optional(),
});

const note = z.string().max(MAX_NOTE).optional();
const Params = z.object({ id: z.string().min(1).max(100) });
const AnswerBody = z.object({
  value: z
    .string()
    .min(1)
    .max(100)
    .meta({ description: "The value of one of the suggested actions." }),
  note: note.meta({ description: "A hint, a reason." }),
});

function decided({ body, params }: FastifyRequest): { what: string; subject: string } {
  return {
    what: `escalation.${(body as z.infer<typeof AnswerBody>).value}`,
    subject: (params as z.infer<typeof Params>).id,
  };
}

/** The one inbox: what waits for a decision, and the decisions. */
export const escalationRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, { inbox }) => {
  if (!inbox) return;
  listEscalations(app, inbox);
  readEscalation(app, inbox);
  answerEscalation(app, inbox);
  dismissEscalation(app, inbox);
};

function listEscalations(app: RouteApp, inbox: EscalationInbox): void {
  app.get(
    "/v1/escalations",
    {
      config: { scope: "chat" },
      schema: {
        tags: ["escalations"],
        summary: "What waits for a decision and what was decided, newest first",
        querystring: ListQuery,
        response: {
          200: z.object({ items: z.array(EscalationJson), next_cursor: z.string().nullable() }),
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { session, ...filter } = request.query;
      const { items, nextCursor } = await inbox.list({
        ...filter,
        tenant: viewOf(request),
        session: keyOfSession(request, session),
      });
      return { items: items.map((item) => onWire(item, request)), next_cursor: nextCursor };
    },
  );
}

function readEscalation(app: RouteApp, inbox: EscalationInbox): void {
  app.get(
    "/v1/escalations/:id",
    {
      config: { scope: "chat" },
      schema: {
        tags: ["escalations"],
        summary: "One escalation",
        params: Params,
        response: { 200: EscalationJson, ...problems(401, 403, 404) },
      },
    },
    async (request) => onWire(await inbox.get(request.params.id, viewerOf(request)), request),
  );
}

function answerEscalation(app: RouteApp, inbox: EscalationInbox): void {
  app.post(
    "/v1/escalations/:id/answer",
    {
      config: { scope: "admin", audit: decided },
      schema: {
        tags: ["escalations"],
        summary: "Decides; what waited for it goes on",
        params: Params,
        body: AnswerBody,
        response: {
          200: z.object({ turn_id: z.string().nullable(), escalation: EscalationJson }),
          ...problems(400, 401, 403, 404, 409),
        },
      },
    },
    async (request) => {
      const { turn, escalation } = await inbox.answer(
        request.params.id,
        request.body,
        viewerOf(request),
      );
      return { turn_id: turn, escalation: onWire(escalation, request) };
    },
  );
}

function dismissEscalation(app: RouteApp, inbox: EscalationInbox): void {
  app.post(
    "/v1/escalations/:id/dismiss",
    {
      config: { scope: "admin", audit: "escalation.dismissed" },
      schema: {
        tags: ["escalations"],
        summary: "No decision comes; what waited for it ends as if it had not been asked",
        params: Params,
        body: z.object({ note }).nullish(),
        response: { 200: EscalationJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) =>
      onWire(
        await inbox.dismiss(request.params.id, viewerOf(request), request.body?.note),
        request,
      ),
  );
}

function onWire(escalation: Escalation, request: FastifyRequest): z.infer<typeof EscalationJson> {
  const { session } = escalation.source;
  const source =
    session === undefined
      ? escalation.source
      : { ...escalation.source, session: sessionIdFor(viewOf(request), session) };
  return toWire({ ...escalation, source }) as z.infer<typeof EscalationJson>;
}
