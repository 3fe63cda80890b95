import type { FastifyRequest } from "fastify";
import type { RouteApp, ServerParts } from "../server/server.ts";
import { assertNotOwn } from "../server/own-sessions.ts";
import { fieldError } from "../server/problem.ts";
import { viewerOf } from "../server/tenants.ts";
import { OpenAiItemsQuery, OpenAiReadQuery, OpenAiResponseParams } from "../wire/openai.ts";
import { turnOf, idFor } from "./answer-ids.ts";
import { lastOf } from "./last-of.ts";
import { notSpoken } from "./not-spoken.ts";
import { sessionOfTurn } from "./own-turn.ts";
import { asOpenAiError } from "./refusal.ts";
import { pendingOf, responseOf } from "./response.ts";
import type { StoredResponse, StoredResponses, StoredResponseMessage } from "./stored-responses.ts";

const config = { scope: "chat", refusal: asOpenAiError } as const;

/** Responses that were given: read, deleted, and what they were asked for. */
export function responseRoutes(app: RouteApp, parts: ServerParts, stored: StoredResponses): void {
  readResponse(app, parts, stored);
  deleteResponse(app, parts, stored);
  listInputItems(app, parts, stored);
}

interface FoundResponse extends StoredResponse {
  readonly turnId: string;
  readonly session: string;
}

/** Throws `TURN_UNKNOWN` for one of others, one that was deleted, and one that was not stored. */
async function found(
  parts: ServerParts,
  request: FastifyRequest,
  stored: StoredResponses,
): Promise<FoundResponse> {
  const { response_id: id } = request.params as OpenAiResponseParams;
  if (!id.startsWith("resp_")) throw fieldError("REQUEST_INVALID", "response_id", "is no response");
  const turnId = turnOf(id);
  const session = await sessionOfTurn(parts, request, turnId, viewerOf(request));
  request.sessionId = session;
  request.turnId = turnId;

  return { ...(await stored.read(turnId)), turnId, session };
}

function readResponse(app: RouteApp, parts: ServerParts, stored: StoredResponses): void {
  app.get(
    "/openai/v1/responses/:response_id",
    {
      config,
      schema: { hide: true, params: OpenAiResponseParams, querystring: OpenAiReadQuery },
    },
    async (request) => {
      if (request.query.stream === "true") throw notSpoken("stream", "is for new responses");
      const { turnId, session, service: model, status } = await found(parts, request, stored);
      const responding = { turnId, session, model };
      if (status !== "done") return pendingOf(responding, status);

      const caller = viewerOf(request);
      return responseOf(responding, await lastOf(parts.conversations.read(turnId, { caller })));
    },
  );
}

/** The session remembers what was said until it is forgotten. */
function deleteResponse(app: RouteApp, parts: ServerParts, stored: StoredResponses): void {
  app.delete(
    "/openai/v1/responses/:response_id",
    {
      config: { ...config, audit: "response.delete" },
      schema: { hide: true, params: OpenAiResponseParams },
    },
    async (request) => {
      const { turnId, session } = await found(parts, request, stored);
      assertNotOwn(session);
      await stored.mark(turnId, "deleted");

      return { id: request.params.response_id, object: "response", deleted: true };
    },
  );
}

function listInputItems(app: RouteApp, parts: ServerParts, stored: StoredResponses): void {
  app.get(
    "/openai/v1/responses/:response_id/input_items",
    {
      config,
      schema: { hide: true, params: OpenAiResponseParams, querystring: OpenAiItemsQuery },
    },
    async (request) => {
      const { turnId, messages } = await found(parts, request, stored);
      return inputItemsOf(turnId, messages, request.query);
    },
  );
}

// --- input items

interface InputItem {
  readonly id: string;
  readonly type: "message" | "function_call_output";
}

type ItemBody = Pick<InputItem, "type"> & Readonly<Record<string, unknown>>;

/** What a response was asked for, as OpenAI lists it: the newest first, unless asked otherwise. Pure. */
function inputItemsOf(
  turnId: string,
  messages: readonly StoredResponseMessage[],
  { limit, order, after }: OpenAiItemsQuery,
): object {
  const told = messages.flatMap(itemsOf).map((item, index) => ({
    id: `${idFor("in", turnId)}_${index}`,
    status: "completed",
    ...item,
  }));
  const listed = order === "asc" ? told : told.toReversed();
  const from = after === undefined ? 0 : listed.findIndex(({ id }) => id === after) + 1;
  const data: readonly InputItem[] = listed.slice(from, from + limit);

  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < listed.length,
  };
}

function itemsOf({ text, results }: StoredResponseMessage): readonly ItemBody[] {
  if (!results) {
    const content = [{ type: "input_text", text }];
    return [{ type: "message", role: "user", content }];
  }
  return results.map(({ callId, output }) => ({
    type: "function_call_output",
    call_id: callId,
    output,
  }));
}
