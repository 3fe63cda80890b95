import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { codeOf } from "../kernel/errors.ts";
import { boundsOf } from "../server/bounds.ts";
import { acceptOptionsOf, turnRequestOf, withUploads } from "../server/conversation-routes.ts";
import { callerOf } from "../server/guard.ts";
import { assertNotOwn } from "../server/own-sessions.ts";
import { fileOfPart, PARTS_BYTES } from "../server/part-files.ts";
import type { Upload } from "../server/uploads.ts";
import { fieldError } from "../server/problem.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import { answerWithStream } from "../server/stream-answer.ts";
import { UiChatBody, UiChatParams, UiStreamParams } from "../wire/ai-sdk.ts";
import { IdempotencyHeaders } from "../wire/turns.ts";
import { FAREWELL, tellTurn, UiTurn } from "./ui-turn.ts";

const config = { scope: "chat", stream: true } as const;

/** Services and agents for the AI SDK's `useChat`. Source: docs/spec/interop §5. */
export const aiSdkRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  sendMessage(app, parts);
  resumeStream(app, parts);
};

function sendMessage(app: RouteApp, parts: ServerParts): void {
  app.post(
    "/ai-sdk/v1/chat/:service",
    {
      config: { ...config, audit: false, uploads: "parts" },
      bodyLimit: PARTS_BYTES, // `useChat` sends all messages each time
      schema: { hide: true, params: UiChatParams, headers: IdempotencyHeaders, body: UiChatBody },
    },
    async (request, reply) => {
      const { id: session, confirm_id } = request.body;
      const { text: message, key, files } = lastMessage(request.body);
      const { service } = request.params;
      const body = { session_id: session, service, message, confirm_id };
      const mayBeEmpty = files.length > 0;
      const said = turnRequestOf(body, boundsOf(parts.limits), { mayBeEmpty });
      request.sessionId = session;
      request.uploads = files;
      const turn = await withUploads(parts, request, said);

      const options = acceptOptionsOf(request);
      const accepted = { ...options, key: options.key ?? key };
      const { turnId } = await parts.conversations.accept(turn, accepted);

      await stream({ parts, request, reply }, turnId);
    },
  );
}

function resumeStream(app: RouteApp, parts: ServerParts): void {
  app.get(
    "/ai-sdk/v1/chat/:service/:id/stream",
    { config, schema: { hide: true, params: UiStreamParams } },
    async (request, reply) => {
      const { id: session } = request.params;
      assertNotOwn(session);
      request.sessionId = session;
      const turnId = await runningTurn(parts, request, session);
      if (turnId === undefined) return reply.code(204).send(null);

      await stream({ parts, request, reply }, turnId);
    },
  );
}

/** The turn that runs in a session of the caller's tenant; a session that is none has none. */
async function runningTurn(
  { conversations }: ServerParts,
  request: FastifyRequest,
  session: string,
): Promise<string | undefined> {
  try {
    const found = await conversations.session(session, { caller: callerOf(request) });
    return found.runningTurn?.turnId;
  } catch (error) {
    if (codeOf(error) === "SESSION_UNKNOWN") return undefined;
    throw error;
  }
}

interface ChatExchange {
  readonly parts: ServerParts;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

async function stream({ parts, request, reply }: ChatExchange, turnId: string): Promise<void> {
  const { conversations, clock } = parts;
  const turn = new UiTurn(turnId);
  request.turnId = turnId;

  await answerWithStream(parts, request, reply, {
    what: `turn ${turnId}`,
    firstFrame: turn.begin(),
    farewell: FAREWELL,
    headers: { "turn-id": turnId, "x-vercel-ai-ui-message-stream": "v1" },
    fields: { turn: turnId },
    send: (reader) => {
      const options = { caller: callerOf(request), signal: reader.signal };
      return tellTurn(conversations.read(turnId, options), turn, reader, clock);
    },
  });
}

/**
 * What is said: the last message. Its own id is its key, so that it is one turn however often it is
 * sent. Throws `NOT_SPOKEN`, `REQUEST_INVALID`. Pure.
 */
function lastMessage({ id, messages, trigger }: UiChatBody): {
  text: string;
  key: string;
  files: readonly Upload[];
} {
  if (trigger !== undefined && trigger !== "submit-message") {
    const hint = "A session keeps what was said; say something new.";
    throw fieldError("NOT_SPOKEN", "trigger", `"${trigger}" is not done here`, hint);
  }

  const last = messages.at(-1)!;
  if (last.role !== "user") {
    throw fieldError("REQUEST_INVALID", "messages", "does not end with a message of the user");
  }

  const pieces: string[] = [];
  const files: Upload[] = [];
  for (const { type, text, url, filename: name } of last.parts) {
    if (type === "text" && text !== undefined) pieces.push(text);
    else if (type === "file") files.push(fileOfPart({ url, name, field: "messages" }));
    else {
      const why = `a part of the type "${type}" is not taken; only text and files are`;
      throw fieldError("NOT_SPOKEN", "messages", why);
    }
  }
  const key = createHash("sha256").update(`${id} ${last.id}`).digest("hex");

  return { text: pieces.join("\n"), key: `ui-${key}`, files };
}
