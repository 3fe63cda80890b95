import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import type { Inbox } from "../escalations/inbox.ts";
import { shownEscalation } from "../escalations/shown-escalation.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { assertMay, hasScope } from "./access.ts";
import { doneAs } from "./audit.ts";
import { answererOf, asAnsweredBy, isAskedByRole } from "./known-person.ts";
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
export type EscalationInbox = Pick<Inbox, "list" | "count" | "get" | "answer" | "dismiss">;

/** Of a caller that may decide nothing no deed begins. */
function decided(request: FastifyRequest): { what: string; subject: string } | undefined {
  const { body, params, principal } = request;
  if (!hasScope(principal!, "admin") && !principal!.roles?.length) return undefined;
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
  answerEscalation(app, { inbox, members });
  dismissEscalation(app, inbox);
};

interface InboxLook {
  readonly inbox: EscalationInbox;
  readonly members: Members;
}

function listEscalations(app: RouteApp, { inbox, members }: InboxLook): void {
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
      const { session, count, ...asked } = request.query;
      const filter = {
        ...asked,
        tenant: viewOf(request),
        knownTo: members.listedFor(request.principal!),
        session: keyOfSession(request, session),
      };
      const { items, nextCursor } = await inbox.list(filter);
      const counts = count === "true" ? await inbox.count(filter) : undefined;
      return { items: items.map((item) => jsonOf(item, request)), next_cursor: nextCursor, counts };
    },
  );
}

function readEscalation(app: RouteApp, { inbox, members }: InboxLook): void {
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

function answerEscalation(app: RouteApp, { inbox, members }: InboxLook): void {
  app.post(
    "/v1/escalations/:id/answer",
    {
      // A token with the role that is asked for needs no other right.
      config: { scope: "chat", audit: decided },
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
      await assertMayAnswer(request, request.params.id, { inbox, members });
      const { turn, escalation } = await inbox.answer(
        request.params.id,
        request.body,
        answererOf(request),
      );
      const role = escalation.approval?.role;
      if (typeof role === "string" && isAskedByRole(escalation, request.principal!)) {
        doneAs(request, role);
      }
      return { turn_id: turn, escalation: jsonOf(escalation, request) };
    },
  );
}

/** Operators answer all; who has a role answers what asks for it. */
async function assertMayAnswer(
  request: FastifyRequest,
  id: string,
  { inbox, members }: InboxLook,
): Promise<void> {
  const principal = request.principal!;
  if (hasScope(principal, "admin")) return;
  if (!principal.roles?.length) return assertMay(principal, "admin");
  const found = await inbox.get(id, viewerOf(request));
  const isKnown = await members.mayKnow(principal, found.source);
  if (!isKnown) await inbox.get(id, { tenant: NO_TENANT });
  if (!isAskedByRole(found, principal)) assertMay(principal, "admin");
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
  const principal = request.principal!;
  const mayDecide = hasScope(principal, "admin") || isAskedByRole(escalation, principal);
  const shown = shownEscalation(escalation, { view: viewOf(request), mayDecide });
  return onWire<EscalationJson>(asAnsweredBy(shown, principal));
}
