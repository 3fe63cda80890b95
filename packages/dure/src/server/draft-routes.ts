import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import {
  DraftAnswersBody,
  DraftBody,
  type DraftChange,
  type DraftChangeJson,
  DraftJson,
  DraftParams,
  DraftQuery,
  DraftsAnswer,
  DraftSaveBody,
} from "../wire/drafts.ts";
import { boundsOf } from "./bounds.ts";
import {
  act,
  does,
  read,
  tags,
  workAsked,
  type PlannedDeed,
  type PlanRouteParts,
} from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";
import { viewerOf, viewOf } from "./tenants.ts";

type ShownDraft = z.output<typeof DraftJson>;

/** Plans that are made ready: made, looked at, changed, answered, removed. */
export function draftRoutes(app: RouteApp, parts: PlanRouteParts): void {
  makeDraft(app, parts);
  listDrafts(app, parts);
  readDraft(app, parts);
  saveDraft(app, parts);
  answerDraft(app, parts);
  dropDraft(app, parts);
}

function makeDraft(app: RouteApp, parts: PlanRouteParts): void {
  const { drafts } = parts.plans;
  app.post(
    "/v1/drafts",
    {
      config: { ...act, audit: made },
      bodyLimit: boundsOf(parts.limits).planBytes,
      schema: {
        tags,
        summary: "Lets a model draft a plan from words, or takes a text; it is kept to be edited",
        body: DraftBody,
        response: { 201: DraftJson, ...problems(400, 401, 403, 404, 409, 413, 503) },
      },
    },
    async (request, reply) => {
      const draft = await drafts.create(request.body, askedBy(request, reply, parts));
      return reply.code(201).send(onWire<ShownDraft>(draft));
    },
  );
}

function listDrafts(app: RouteApp, parts: PlanRouteParts): void {
  const { drafts } = parts.plans;
  app.get(
    "/v1/drafts",
    {
      config: read,
      schema: {
        tags,
        summary: "Drafts of plans, the newest first; at most 200",
        response: { 200: DraftsAnswer, ...problems(401, 403) },
      },
    },
    async (request) =>
      onWire<z.output<typeof DraftsAnswer>>({ items: await drafts.list(viewOf(request)) }),
  );
}

function readDraft(app: RouteApp, parts: PlanRouteParts): void {
  const { drafts } = parts.plans;
  app.get(
    "/v1/drafts/:id",
    {
      config: read,
      schema: {
        tags,
        summary: "A draft with its questions, its ports, and what is wrong with it",
        params: DraftParams,
        response: { 200: DraftJson, ...problems(400, 401, 403, 404, 409, 503) },
      },
    },
    async (request, reply) =>
      onWire<ShownDraft>(await drafts.get(request.params.id, askedBy(request, reply, parts))),
  );
}

function saveDraft(app: RouteApp, parts: PlanRouteParts): void {
  const { drafts } = parts.plans;
  app.put(
    "/v1/drafts/:id",
    {
      config: does("plan.edit"),
      bodyLimit: boundsOf(parts.limits).planBytes,
      schema: {
        tags,
        summary: "Changes a port of a draft, or its text; 409 where it was changed meanwhile",
        params: DraftParams,
        body: DraftSaveBody,
        response: { 200: DraftJson, ...problems(400, 401, 403, 404, 409, 413, 503) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { version, text, change } = request.body;
      const wanted = { text, change: change && changeOf(change) };
      const asked = askedBy(request, reply, parts);

      return onWire<ShownDraft>(await drafts.save({ id, version }, wanted, asked));
    },
  );
}

function answerDraft(app: RouteApp, parts: PlanRouteParts): void {
  const { drafts } = parts.plans;
  app.post(
    "/v1/drafts/:id/answers",
    {
      config: does("plan.draft"),
      schema: {
        tags,
        summary: "Answers questions of a draft; the model makes it anew with all answers",
        params: DraftParams,
        body: DraftAnswersBody,
        response: { 200: DraftJson, ...problems(400, 401, 403, 404, 409, 503) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { version, answers } = request.body;
      const asked = askedBy(request, reply, parts);

      return onWire<ShownDraft>(await drafts.answer({ id, version }, answers, asked));
    },
  );
}

function dropDraft(app: RouteApp, parts: PlanRouteParts): void {
  const { drafts } = parts.plans;
  app.delete(
    "/v1/drafts/:id",
    {
      config: does("plan.drop"),
      schema: {
        tags,
        summary: "Removes a draft and answers with the others; runs begun from it stay",
        params: DraftParams,
        querystring: DraftQuery,
        response: { 200: DraftsAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      const tenant = viewOf(request);
      const { id } = request.params;
      await drafts.drop({ id, version: request.query.version }, tenant);

      return onWire<z.output<typeof DraftsAnswer>>({ items: await drafts.list(tenant) });
    },
  );
}

function askedBy(request: FastifyRequest, reply: FastifyReply, parts: PlanRouteParts) {
  const { tenant, name: by } = viewerOf(request);
  return { tenant, by, ...workAsked(request, reply, parts) };
}

function changeOf(change: z.output<typeof DraftChangeJson>): DraftChange {
  if (change.kind === "delete") return change;
  const { depends_on: dependsOn, ...set } = change.set;
  return { ...change, set: { ...set, dependsOn } };
}

/** The draft has no id yet. */
function made({ body }: FastifyRequest): PlannedDeed {
  return { what: "plan.draft", subject: (body as z.infer<typeof DraftBody>).repository ?? "" };
}
