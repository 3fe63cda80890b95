import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { AcceptOptions, TurnRequest } from "../engine/api.ts";
import { turnOfCall } from "../engine/caller/caller-tools.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { Done, TurnError } from "../kernel/turn-events.ts";
import { boundsOf } from "../server/bounds.ts";
import {
  acceptOptionsOf,
  closedSignal,
  turnRequestOf,
  unlessClosing,
  withUploads,
} from "../server/conversation-routes.ts";
import type { Database } from "../durable/database.ts";
import { newSession } from "../server/new-session.ts";
import { PARTS_BYTES } from "../server/part-files.ts";
import { fieldError } from "../server/problem.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import { answerWithStream } from "../server/stream-answer.ts";
import { viewerOf } from "../server/tenants.ts";
import { OpenAiChatBody, OpenAiModelParams, OpenAiResponseBody } from "../wire/openai.ts";
import { IdempotencyHeaders } from "../wire/turns.ts";
import { turnOf } from "./answer-ids.ts";
import { chatAsked, responseAsked, type AskedTurn } from "./asked.ts";
import { completionOf, CompletionSpeaker } from "./completion.ts";
import { asOpenAiError, turnFailure } from "./refusal.ts";
import { responseOf, ResponseSpeaker, type Responding } from "./response.ts";
import { lastOf } from "./last-of.ts";
import { sessionOfTurn } from "./own-turn.ts";
import { responseRoutes } from "./response-routes.ts";
import { StoredResponses } from "./stored-responses.ts";
import { speak, type Speaker } from "./speaker.ts";
import { backgroundOf, type ChatTranscriptEntry } from "./transcript.ts";

const config = { scope: "chat", refusal: asOpenAiError } as const;
const asking = { ...config, audit: false, stream: true, uploads: "parts" } as const;

/** Services and agents as models of OpenAI's API. Source: docs/spec/interop §3. */
export function openAiRoutes(database: Database): FastifyPluginAsyncZod<ServerParts> {
  const stored = new StoredResponses(database);
  return async (app, parts) => {
    app.addHook("onRequest", async (_, reply) => void reply.header("cache-control", "no-store"));
    listModels(app, parts);
    readModel(app, parts);
    completeChat(app, { ...parts, stored });
    respond(app, { ...parts, stored });
    responseRoutes(app, parts, stored);
  };
}

interface OpenAiParts extends ServerParts {
  readonly stored: StoredResponses;
}

function listModels(app: RouteApp, { conversations }: ServerParts): void {
  app.get("/openai/v1/models", { config, schema: { hide: true } }, async () => ({
    object: "list",
    data: conversations.describe().map(({ name }) => modelOf(name)),
  }));
}

function readModel(app: RouteApp, { conversations }: ServerParts): void {
  app.get(
    "/openai/v1/models/:model",
    { config, schema: { hide: true, params: OpenAiModelParams } },
    async ({ params: { model } }) => {
      if (conversations.describe().some(({ name }) => name === model)) return modelOf(model);
      throw new DureError("SERVICE_UNKNOWN", `There is no service "${model}".`, {
        class: "not-found",
        hint: "GET /openai/v1/models lists them.",
      });
    },
  );
}

function completeChat(app: RouteApp, parts: OpenAiParts): void {
  app.post(
    "/openai/v1/chat/completions",
    {
      config: asking,
      bodyLimit: PARTS_BYTES, // clients send all messages each time
      schema: { hide: true, headers: IdempotencyHeaders, body: OpenAiChatBody },
    },
    (request, reply) =>
      answer({ parts, request, reply }, chatAsked(request.body), {
        speaker: (answering, asked) => new CompletionSpeaker(answering, asked),
        whole: completionOf,
      }),
  );
}

function respond(app: RouteApp, parts: OpenAiParts): void {
  app.post(
    "/openai/v1/responses",
    {
      config: asking,
      bodyLimit: PARTS_BYTES, // clients send all messages each time
      schema: { hide: true, headers: IdempotencyHeaders, body: OpenAiResponseBody },
    },
    (request, reply) =>
      answer({ parts, request, reply }, responseAsked(request.body), {
        speaker: (responding) => new ResponseSpeaker(responding),
        whole: responseOf,
      }),
  );
}

function modelOf(name: string): object {
  return { id: name, object: "model", created: 0, owned_by: "dure" };
}

interface CompletionExchange {
  readonly parts: OpenAiParts;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** How an answer is told. */
interface AnswerManner {
  readonly speaker: (responding: Responding, asked: AskedTurn) => Speaker;
  readonly whole: (responding: Responding, done: Done) => object;
}

/** One turn; what ends its reader leaves it alone. */
async function answer(
  exchange: CompletionExchange,
  asked: AskedTurn,
  manner: AnswerManner,
): Promise<unknown> {
  const { parts, request, reply } = exchange;
  const { turn, repeats } = await turnFor(exchange, asked);
  const options = acceptOptionsOf(request, repeats);
  const { turnId, sessionId: session } = await parts.conversations.accept(turn, options);
  request.sessionId = session;
  request.turnId = turnId;
  // Before its id is told.
  if (!asked.isStored) await parts.stored.mark(turnId, "unstored");
  reply.header("turn-id", turnId);

  const responding = { turnId, model: asked.service, session };
  if (asked.stream) return stream(exchange, turnId, manner.speaker(responding, asked));

  const done = await doneOf(exchange, turnId);
  if (done === undefined) return reply.hijack();
  if (done.error) return refuse(exchange, turnId, done.error);

  return manner.whole(responding, done);
}

/** With a status that the client's family does not repeat where that would not help. */
async function refuse(
  { parts, reply }: CompletionExchange,
  turnId: string,
  failed: TurnError,
): Promise<unknown> {
  const hasActed = await parts.conversations.hasActed(turnId);
  const { status, error, mayRetry } = turnFailure(failed, { hasActed });
  if (!mayRetry) reply.header("x-should-retry", "false");

  return reply.code(status).send({ error });
}

async function stream(
  { parts, request, reply }: CompletionExchange,
  turnId: string,
  speaker: Speaker,
): Promise<void> {
  const { conversations, clock } = parts;
  await answerWithStream(parts, request, reply, {
    what: `turn ${turnId}`,
    firstFrame: speaker.begin(),
    farewell: speaker.farewell(),
    fields: { turn: turnId },
    send: (reader) => {
      const options = { caller: viewerOf(request), signal: reader.signal };
      return speak(conversations.read(turnId, options), speaker, reader, clock);
    },
  });
}

/** Undefined: the caller has left. */
async function doneOf(
  { parts, request, reply }: CompletionExchange,
  turnId: string,
): Promise<Done | undefined> {
  const gone = closedSignal(reply.raw);
  const options = { caller: viewerOf(request), signal: gone };
  const frames = parts.conversations.read(turnId, options);
  try {
    return await unlessClosing(lastOf(frames), parts.closing, turnId);
  } catch (error) {
    if (gone.aborted) return undefined;
    throw error;
  }
}

/** The turn that is asked for, and where a request like it may have come before. */
async function turnFor(
  exchange: CompletionExchange,
  asked: AskedTurn,
): Promise<{ turn: TurnRequest; repeats: AcceptOptions["repeats"] }> {
  const { parts } = exchange;
  const named = await sessionFor(exchange, asked);
  const session = named ?? newSession(exchange.request, parts, "openai");
  const { service, message, callerTools, files } = asked;
  const body = { session_id: session, service, message };
  const before = await resolved(exchange, asked.before);

  const mayBeEmpty = callerTools?.results !== undefined || files.length > 0;
  const said = turnRequestOf(body, boundsOf(parts.limits), { mayBeEmpty });
  exchange.request.uploads = files;
  const turn = {
    ...(await withUploads(parts, exchange.request, said)),
    background: backgroundOf(before),
    callerTools,
  };
  return { turn, repeats: named === undefined ? "caller" : "session" };
}

/** The words of answers that are named alone; those that still come are passed over. */
async function resolved(
  exchange: CompletionExchange,
  before: readonly ChatTranscriptEntry[],
): Promise<readonly ChatTranscriptEntry[]> {
  const told: ChatTranscriptEntry[] = [];
  for (const one of before) {
    if (one.kind !== "reference") told.push(one);
    else if (one.id.startsWith("msg_")) told.push(await referredTo(exchange, one.id));
  }
  return told;
}

/** Throws `TURN_UNKNOWN`. */
async function referredTo(
  { parts, request }: CompletionExchange,
  id: string,
): Promise<ChatTranscriptEntry> {
  const turnId = turnOf(id);
  await storedSession({ parts, request }, turnId);
  const caller = viewerOf(request);
  const { status } = await parts.conversations.find(turnId, { caller });
  if (status !== "done") return { kind: "reference", id };

  const { message } = await lastOf(parts.conversations.read(turnId, { caller }));
  return { kind: "words", role: "assistant", text: message };
}

/** Undefined: the caller names none. */
async function sessionFor(
  { parts, request }: CompletionExchange,
  asked: AskedTurn,
): Promise<string | undefined> {
  const { session, previous, callerTools } = asked;
  const result = callerTools?.results?.[0];
  if (result) return sessionOfCall({ parts, request }, result.callId, session);
  if (session !== undefined || previous === undefined) return session;

  return storedSession({ parts, request }, turnOf(previous));
}

/** The session of a response. Throws `TURN_UNKNOWN` where it was deleted, or not stored. */
async function storedSession(
  { parts, request }: Pick<CompletionExchange, "parts" | "request">,
  turnId: string,
): Promise<string> {
  const session = await sessionOfTurn(parts, request, turnId);
  await parts.stored.read(turnId);
  return session;
}

/** A caller that names no session is known by the call. Throws `TOOL_CALL_UNKNOWN`. */
async function sessionOfCall(
  exchange: Pick<CompletionExchange, "parts" | "request">,
  callId: string,
  named: string | undefined,
): Promise<string> {
  const turn = turnOfCall(callId);
  const { parts, request } = exchange;
  const session = turn && (await sessionOfTurn(parts, request, turn).catch(unlessUnknown));
  const isOpen = session !== undefined && (named ?? session) === session;
  if (isOpen && !(await parts.stored.isDeleted(turn!))) return session;
  throw fieldError("TOOL_CALL_UNKNOWN", "tool_call_id", `"${callId}" was not handed out here`);
}

function unlessUnknown(error: unknown): undefined {
  if (codeOf(error) !== "TURN_UNKNOWN") throw error;
  return undefined;
}
