import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import { assertOfAllTenants } from "../server/access.ts";
import { callerOf } from "../server/guard.ts";
import { problems } from "../server/schemas.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import {
  KnowledgeBasesAnswer,
  KnowledgeDocumentsAnswer,
  KnowledgeDocumentsQuery,
  KnowledgeParams,
  KnowledgePutAnswer,
  KnowledgeRemovedAnswer,
  KnowledgeSearchAnswer,
  KnowledgeSearchQuery,
  KnowledgeSourceQuery,
  KnowledgeTextBody,
  MAX_TEXT,
} from "../wire/knowledge.ts";
import type { Knowledge } from "./knowledge.ts";

/** The largest text, each of its bytes written as \u00XX. */
const MAX_BODY = 6 * MAX_TEXT + 8_192;

const config = { scope: "admin" as const };
const params = KnowledgeParams;
const tags = ["knowledge"];

/** Documents that agents search. Source: docs/spec/knowledge §5. */
export function knowledgeRoutes(knowledge: Knowledge): FastifyPluginAsyncZod<ServerParts> {
  return async (app) => {
    // Documents belong to no tenant.
    app.addHook("preHandler", async (request) =>
      assertOfAllTenants(callerOf(request), "KNOWLEDGE_NOT_ALLOWED", "work on the knowledge"),
    );
    listBases(app, knowledge);
    listDocuments(app, knowledge);
    putDocument(app, knowledge);
    removeDocument(app, knowledge);
    search(app, knowledge);
  };
}

function listBases(app: RouteApp, knowledge: Knowledge): void {
  app.get(
    "/v1/knowledge",
    {
      config,
      schema: {
        tags,
        summary: "Bases, with how much they hold",
        response: { 200: KnowledgeBasesAnswer, ...problems(401, 403) },
      },
    },
    async () => ({ items: [...(await knowledge.list())] }),
  );
}

function listDocuments(app: RouteApp, knowledge: Knowledge): void {
  app.get(
    "/v1/knowledge/:base/documents",
    {
      config,
      schema: {
        tags,
        summary: "Documents of a base, by source, page by page",
        params,
        querystring: KnowledgeDocumentsQuery,
        response: { 200: KnowledgeDocumentsAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async ({ params: { base }, query }) => {
      const { items, nextCursor } = await knowledge.documents(base, query);
      return {
        items: items.map((item) =>
          onWire<z.output<typeof KnowledgeDocumentsAnswer>["items"][number]>(item),
        ),
        next_cursor: nextCursor,
      };
    },
  );
}

function putDocument(app: RouteApp, knowledge: Knowledge): void {
  app.put(
    "/v1/knowledge/:base/documents",
    {
      config: { ...config, audit: added },
      bodyLimit: MAX_BODY,
      schema: {
        tags,
        summary: "Adds a document, or replaces the one of its source; the same again is nothing",
        params,
        body: KnowledgeTextBody,
        response: { 200: KnowledgePutAnswer, ...problems(400, 401, 403, 404, 409, 413) },
      },
    },
    async ({ params: { base }, body }) => ({
      source: body.source,
      changed: await knowledge.put(base, body),
    }),
  );
}

function removeDocument(app: RouteApp, knowledge: Knowledge): void {
  app.delete(
    "/v1/knowledge/:base/documents",
    {
      config: { ...config, audit: removed },
      schema: {
        tags,
        summary: "Removes a document",
        params,
        querystring: KnowledgeSourceQuery,
        response: { 200: KnowledgeRemovedAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async ({ params: { base }, query: { source } }) => ({
      source,
      removed: await knowledge.remove(base, source),
    }),
  );
}

function search(app: RouteApp, knowledge: Knowledge): void {
  app.get(
    "/v1/knowledge/:base/search",
    {
      config,
      schema: {
        tags,
        summary: "What an agent would get for a question",
        params,
        querystring: KnowledgeSearchQuery,
        response: { 200: KnowledgeSearchAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async ({ params: { base }, query: { question, limit } }) => {
      const passages = await knowledge.search([base], question, { limit });
      return { items: passages.map((one) => ({ ...one, headings: [...one.headings] })) };
    },
  );
}

function added({ params: at, body }: FastifyRequest): { what: string; subject: string } {
  const { base } = at as z.output<typeof KnowledgeParams>;
  const { source } = body as z.output<typeof KnowledgeTextBody>;
  return { what: "knowledge.add", subject: `${base}: ${source}` };
}

function removed({ params: at, query }: FastifyRequest): { what: string; subject: string } {
  const { base } = at as z.output<typeof KnowledgeParams>;
  const { source } = query as z.output<typeof KnowledgeSourceQuery>;
  return { what: "knowledge.remove", subject: `${base}: ${source}` };
}
