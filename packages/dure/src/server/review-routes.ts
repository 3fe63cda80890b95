import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import type { TenantView } from "../kernel/tenant.ts";
import {
  CommentParams,
  CommentsAnswer,
  ORDERED,
  PortCommentBody,
  PortParams,
  PortReviewBody,
  type TreeDiff,
} from "../wire/runs.ts";
import { does, order, read, tags, whileAsked, type PlanRouteParts } from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";
import { viewerOf, viewOf } from "./tenants.ts";

type Comments = z.output<typeof CommentsAnswer>;

/** A person looks at the work of a port: comments, a review that is sent, an approval. */
export function reviewRoutes(app: RouteApp, parts: PlanRouteParts): void {
  readComments(app, parts);
  addComment(app, parts);
  dropComment(app, parts);
  sendReview(app, parts);
  approvePort(app, parts);
}

function readComments(app: RouteApp, parts: PlanRouteParts): void {
  const { reviews } = parts.plans.runs;
  app.get(
    "/v1/runs/:id/ports/:port/comments",
    {
      config: read,
      schema: {
        tags,
        summary: "What people said about the work of a port",
        params: PortParams,
        response: { 200: CommentsAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const items = await reviews.comments(aboutOf(request, viewOf(request)));
      return onWire<Comments>({ items });
    },
  );
}

function addComment(app: RouteApp, parts: PlanRouteParts): void {
  const { reviews } = parts.plans.runs;
  app.post(
    "/v1/runs/:id/ports/:port/comments",
    {
      config: does("run.comment"),
      schema: {
        tags,
        summary: "Comments on a line, or a file, that a port has changed; it waits to be sent",
        params: PortParams,
        body: PortCommentBody,
        response: { 200: CommentsAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { path, line = null, side = "new", quote = "", text } = request.body;
      const { tenant, name: by } = viewerOf(request);
      const comment = { path, line, side, quote, text, by };
      const { id, port } = request.params;
      const signal = whileAsked(reply, parts);
      const change = (): Promise<TreeDiff> => parts.plans.diff(id, port, { tenant, signal });
      const items = await reviews.add(aboutOf(request, tenant), comment, change);

      return onWire<Comments>({ items });
    },
  );
}

function dropComment(app: RouteApp, parts: PlanRouteParts): void {
  const { reviews } = parts.plans.runs;
  app.delete(
    "/v1/runs/:id/ports/:port/comments/:comment",
    {
      config: does("run.uncomment"),
      schema: {
        tags,
        summary: "Takes back a comment that was not sent yet",
        params: CommentParams,
        response: { 200: CommentsAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const about = aboutOf(request, viewOf(request));
      const items = await reviews.drop(about, request.params.comment);

      return onWire<Comments>({ items });
    },
  );
}

function sendReview(app: RouteApp, parts: PlanRouteParts): void {
  const { reviews } = parts.plans.runs;
  app.post(
    "/v1/runs/:id/ports/:port/review",
    {
      config: does("run.review"),
      schema: {
        tags,
        summary:
          "Sends the comments that wait: the port has another try, which is told them. An ended run " +
          "goes on with it; a port that waits for approval is sent back",
        params: PortParams,
        body: PortReviewBody,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { tenant, name: by } = viewerOf(request);
      const text = request.body?.text;
      const wish = await reviews.order(aboutOf(request, tenant), by, text);

      return order(parts, request, reply, wish);
    },
  );
}

function approvePort(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/ports/:port/approve",
    {
      config: does("run.approve"),
      schema: {
        tags,
        summary: "Approves the work of a port that waits for a person",
        params: PortParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) =>
      order(parts, request, reply, { type: "approve", port: request.params.port }),
  );
}

function aboutOf(
  { params }: FastifyRequest,
  tenant: TenantView,
): { run: string; port: string; tenant: TenantView } {
  const { id, port } = params as z.output<typeof PortParams>;
  return { run: id, port, tenant };
}
