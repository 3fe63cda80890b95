import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import { shownPlan } from "../plans/runs/shown.ts";
import {
  PlanCheckAnswer,
  PlanCheckBody,
  PlanDraftAnswer,
  PlanDraftBody,
  PlanParams,
  PlansAnswer,
  PlanViewJson,
} from "../wire/plans.ts";
import { boundsOf } from "./bounds.ts";
import { draftRoutes } from "./draft-routes.ts";
import { hookRoutes } from "./hook-routes.ts";
import {
  act,
  read,
  tags,
  workAsked,
  type PlannedDeed,
  type PlanRouteParts,
} from "./plan-route-parts.ts";
import { portRoutes } from "./port-routes.ts";
import { reviewRoutes } from "./review-routes.ts";
import { cleanRuns, runOrderRoutes } from "./run-order-routes.ts";
import { runRoutes } from "./run-routes.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { viewOf } from "./tenants.ts";

/**
 * Plans, and the runs of plans: looked at with `plans:read`; begun and steered with
 * `plans:run`, for a plan runs shell commands; approved, merged and published with `plans:merge`. Source: docs/spec/plans §2.
 */
export const planRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { plans } = parts;
  if (!plans) return;

  const planParts: PlanRouteParts = { ...parts, plans };
  listPlans(app, planParts);
  showPlan(app, planParts);
  checkPlan(app, planParts);
  draftPlan(app, planParts);
  draftRoutes(app, planParts);
  runRoutes(app, planParts);
  runOrderRoutes(app, planParts);
  cleanRuns(app, planParts);
  portRoutes(app, planParts);
  reviewRoutes(app, planParts);
  hookRoutes(app, planParts);
};

function listPlans(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.get(
    "/v1/plans",
    {
      config: read,
      schema: {
        tags,
        summary: "Plans of the team's folder, those with problems too",
        response: { 200: PlansAnswer, ...problems(401, 403) },
      },
    },
    async (request, reply) => {
      const items = await library.list(workAsked(request, reply, parts));
      return onWire<z.output<typeof PlansAnswer>>({ items });
    },
  );
}

function showPlan(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.get(
    "/v1/plans/:name",
    {
      config: read,
      schema: {
        tags,
        summary:
          "A plan against its repository: levels, critical path, mode with each condition, files " +
          "without an owner",
        params: PlanParams,
        response: { 200: PlanViewJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const asked = { tenant: viewOf(request), ...workAsked(request, reply, parts) };
      const view = await library.show(request.params.name, asked);
      return onWire<PlanViewJson>(shownPlan(view));
    },
  );
}

function checkPlan(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.post(
    "/v1/plans/check",
    {
      config: { ...read, audit: false },
      bodyLimit: boundsOf(parts.limits).planBytes,
      schema: {
        tags,
        summary: "Finds problems in the text of a plan that is no file yet",
        body: PlanCheckBody,
        response: {
          200: PlanCheckAnswer,
          ...problems(400, 401, 403, 413, 503),
        },
      },
    },
    async (request, reply) => {
      const { file, text } = request.body;
      const work = workAsked(request, reply, parts);
      const { problems: found, problemCount } = await library.check(file, text, work);

      return onWire<z.output<typeof PlanCheckAnswer>>({
        ok: problemCount === 0,
        problems: found,
        problemCount,
      });
    },
  );
}

function draftPlan(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.post(
    "/v1/plans/draft",
    {
      config: { ...act, audit: drafted },
      schema: {
        tags,
        summary: "Lets a model propose a plan, for a person to edit and approve; nothing is stored",
        body: PlanDraftBody,
        response: {
          200: PlanDraftAnswer,
          ...problems(400, 401, 403, 404, 409, 503),
        },
      },
    },
    async (request, reply) => {
      const { goal, answers, repository } = request.body;
      const draft = await library.proposals.propose(
        { goal, answers },
        { repository, tenant: viewOf(request), ...workAsked(request, reply, parts) },
      );

      return onWire<z.output<typeof PlanDraftAnswer>>(draft);
    },
  );
}

/** A draft has no id. */
function drafted({ body }: FastifyRequest): PlannedDeed {
  return { what: "plan.draft", subject: (body as z.infer<typeof PlanDraftBody>).repository ?? "" };
}
