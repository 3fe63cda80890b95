import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import type { Inbox } from "../escalations/inbox.ts";
import { shownEscalation } from "../escalations/shown-escalation.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { hasScope } from "./access.ts";
import { NO_TENANT, type Members } from "./members.ts";
import { keyOfSession, viewerOf, viewOf } from "./tenants.ts";
import { onWire } from "../kernel/wire.ts";
import {
  type Escalation,
  AnsweredJson,
  DismissBody,
  EscalationAnswerBody,
  EscalationJson,
  EscalationParams,
  EscalationsAnswer,
  EscalationsQuery,
} from "../wire/escalations.ts";

/** What the routes need of the inbox. */
export type EscalationInbox = Pick<Inbox, "list" | "get" | "answer" | "dismiss">;

function decided({ body, params }: FastifyRequest): { what: string; subject: string } {
  return {
    what: `escalation.${(body as z.infer<typeof EscalationAnswerBody>).value}`,
    subject: (params as z.infer<typeof EscalationParams>).id,
  };
}

/** The one inbox: what waits for a decision, and the decisions. */
export const escalationRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { inbox, members } = parts;
  if (!inbox) return;

  listEscalations(app, { inbox, members });
  readEscalation(app, { inbox, members });
  answerEscalation(app, inbox);
  dismissEscalation(app, inbox);
};

interface Looking {
  readonly inbox: EscalationInbox;
  readonly members: Members;
}

function listEscalations(app: RouteApp, { inbox, members }: Looking): void {
  app.get(
    "/v1/escalations",
    {
      config: { scope: "chat" },
      schema: {
        tags: ["escalations"],
        summary: "What waits for a decision and what was decided, newest first",
        querystring: EscalationsQuery,
        response: {
          200: EscalationsAnswer,
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { session, ...filter } = request.query;
      const { items, nextCursor } = await inbox.list({
        ...filter,
        tenant: viewOf(request),
        knownTo: members.listedFor(request.principal!),
        session: keyOfSession(request, session),
      });
      return { items: items.map((item) => jsonOf(item, request)), next_cursor: nextCursor };
    },
  );
}

function readEscalation(app: RouteApp, { inbox, members }: Looking): void {
  app.get(
    "/v1/escalations/:id",
    {
      config: { scope: "chat" },
      schema: {
        tags: ["escalations"],
        summary: "One escalation",
        params: EscalationParams,
        response: { 200: EscalationJson, ...problems(401, 403, 404) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const viewer = viewerOf(request);
      const found = await inbox.get(id, viewer);
      const isKnown = await members.mayKnow(request.principal!, found.source);

      return jsonOf(
        isKnown ? found : await inbox.get(id, { ...viewer, tenant: NO_TENANT }),
        request,
      );
    },
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
        params: EscalationParams,
        body: EscalationAnswerBody,
        response: {
          200: AnsweredJson,
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
      return { turn_id: turn, escalation: jsonOf(escalation, request) };
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
        params: EscalationParams,
        body: DismissBody,
        response: { 200: EscalationJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) =>
      jsonOf(
        await inbox.dismiss(request.params.id, viewerOf(request), request.body?.note),
        request,
      ),
  );
}

function jsonOf(escalation: Escalation, request: FastifyRequest): EscalationJson {
  const mayDecide = hasScope(request.principal!, "admin");
  return onWire<EscalationJson>(shownEscalation(escalation, { view: viewOf(request), mayDecide }));
}
