import type { FastifyRequest } from "fastify";
import { DureError } from "../kernel/errors.ts";
import { parseTestFeedback } from "../plans/workers/feedback.ts";
import {
  HookAccessAnswer,
  HookAccessBody,
  HookAskAnswer,
  HookAskBody,
  HookFeedbackAnswer,
  HookFeedbackBody,
} from "../wire/hooks.ts";
import { boundsOf } from "./bounds.ts";
import { tags, whileAsked, type PlanRouteParts } from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";

/** What the tools of a running step call. */
export function hookRoutes(app: RouteApp, parts: PlanRouteParts): void {
  takeTestFeedback(app, parts);
  askPartner(app, parts);
  requestAccess(app, parts);
}

function takeTestFeedback(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.post(
    "/v1/hooks/test-feedback",
    {
      config: { scope: "public", audit: false },
      bodyLimit: boundsOf(parts.limits).planBytes,
      schema: {
        tags,
        summary:
          "Takes a report of tests from a tool of a running step; the bearer token is the step's own " +
          "(DURE_HOOK_TOKEN)",
        body: HookFeedbackBody,
        response: { 200: HookFeedbackAnswer, ...problems(400, 401, 413, 429) },
      },
    },
    async (request) => {
      const { decision, notifications } = await runs.takeTestReport(
        stepTokenOf(request),
        parseTestFeedback(request.body),
      );
      return { decision, notifications: [...notifications] };
    },
  );
}

function askPartner(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.post(
    "/v1/hooks/ask",
    {
      config: { scope: "public", audit: false },
      schema: {
        tags,
        summary:
          "Asks the other member of the pair for the worker of a running step, and waits for the " +
          "answer; the bearer token is the step's own (DURE_HOOK_TOKEN)",
        body: HookAskBody,
        response: { 200: HookAskAnswer, ...problems(400, 401, 429, 503) },
      },
    },
    async (request, reply) =>
      library.requests.ask(stepTokenOf(request), request.body.question, {
        signal: whileAsked(reply, parts),
      }),
  );
}

function requestAccess(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.post(
    "/v1/hooks/request-access",
    {
      config: { scope: "public", audit: false },
      schema: {
        tags,
        summary:
          "Asks the operator for a path that the worker of a running step may not use; what is allowed " +
          "counts from its next try on. The bearer token is the step's own (DURE_HOOK_TOKEN)",
        body: HookAccessBody,
        response: { 200: HookAccessAnswer, ...problems(400, 401, 429) },
      },
    },
    async (request) => library.requests.requestAccess(stepTokenOf(request), request.body),
  );
}

/** The token of a step, as its tools send it. */
function stepTokenOf(request: FastifyRequest): string {
  const token = /^Bearer +([\x21-\x7e]{1,200})$/i.exec(request.headers.authorization ?? "")?.[1];
  if (token === undefined) {
    throw new DureError("HOOK_TOKEN_INVALID", "The token of a step is missing.", {
      class: "unauthorized",
      hint: "Call `dure hook` from a worker; it has the token.",
    });
  }

  return token;
}
