import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { TurnRequest } from "../engine/api.ts";
import { DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import type { Done } from "../kernel/turn-events.ts";
import { boundsOf } from "../server/bounds.ts";
import {
  acceptOptionsOf,
  closedSignal,
  turnRequestOf,
  unlessClosing,
} from "../server/conversation-routes.ts";
import { callerOf } from "../server/guard.ts";
import { NO_TENANT } from "../server/members.ts";
import { assertMayFollow } from "../server/own-sessions.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import { answerWithStream } from "../server/stream-answer.ts";
import { viewerOf } from "../server/tenants.ts";
import { assertTurnId } from "../server/turn-position.ts";
import { OpenAiChatBody, OpenAiModelParams, OpenAiResponseBody } from "../wire/openai.ts";
import { IdempotencyHeaders } from "../wire/turns.ts";
import { turnOf } from "./answer-ids.ts";
import { chatAsked, responseAsked, type AskedTurn } from "./asked.ts";
import { completionOf, CompletionSpeaker } from "./completion.ts";
import { asOpenAiError, turnFailure } from "./refusal.ts";
import { responseOf, ResponseSpeaker, type Responding } from "./response.ts";
import { speak, type Speaker } from "./speaker.ts";

const config = { scope: "chat", refusal: asOpenAiError } as const;
const asking = { ...config, audit: false, stream: true } as const;

/** Services and agents as models of OpenAI's API. Source: docs/spec/interop §3. */
export const openAiRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  app.addHook("onRequest", async (_, reply) => void reply.header("cache-control", "no-store"));
  listModels(app, parts);
  readModel(app, parts);
  completeChat(app, parts);
  respond(app, parts);
};

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

function completeChat(app: RouteApp, parts: ServerParts): void {
  app.post(
    "/openai/v1/chat/completions",
    {
      config: asking,
      schema: { hide: true, headers: IdempotencyHeaders, body: OpenAiChatBody },
    },
    (request, reply) =>
      answer({ parts, request, reply }, chatAsked(request.body), {
        speaker: (answering, asked) => new CompletionSpeaker(answering, asked),
        whole: completionOf,
      }),
  );
}

function respond(app: RouteApp, parts: ServerParts): void {
  app.post(
    "/openai/v1/responses",
    {
      config: asking,
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

interface Exchange {
  readonly parts: ServerParts;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** How an answer is told. */
interface Manner {
  readonly speaker: (responding: Responding, asked: AskedTurn) => Speaker;
  readonly whole: (responding: Responding, done: Done) => object;
}

/** One turn; what ends its reader leaves it alone. */
async function answer(exchange: Exchange, asked: AskedTurn, manner: Manner): Promise<unknown> {
  const { parts, request, reply } = exchange;
  const turn = await turnFor(exchange, asked);
  request.sessionId = turn.session;
  const { turnId } = await parts.conversations.accept(turn, acceptOptionsOf(request));
  request.turnId = turnId;
  reply.header("turn-id", turnId);
  // The client of OpenAI sends again what failed: without a key that would be another turn.
  if (keyOf(request) === undefined) reply.header("x-should-retry", "false");

  const responding = { turnId, model: asked.service, session: turn.session };
  if (asked.stream) return stream(exchange, turnId, manner.speaker(responding, asked));

  const done = await doneOf(exchange, turnId);
  if (done === undefined) return reply.hijack();
  if (done.error) {
    const { status, error } = turnFailure(done.error);
    return reply.code(status).send({ error });
  }

  return manner.whole(responding, done);
}

async function stream(
  { parts, request, reply }: Exchange,
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
  { parts, request, reply }: Exchange,
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

type Frames = ReturnType<ServerParts["conversations"]["read"]>;

async function lastOf(frames: Frames): Promise<Done> {
  for await (const { event } of frames) if (event.type === "DONE") return event.data;
  throw new DureError("TURN_UNFINISHED", "The turn could not be read to its end.", {
    class: "unavailable",
  });
}

async function turnFor(exchange: Exchange, asked: AskedTurn): Promise<TurnRequest> {
  const { parts } = exchange;
  const session = await sessionFor(exchange, asked);
  const { service, message, background } = asked;
  const body = { session_id: session, service, message };

  return { ...turnRequestOf(body, boundsOf(parts.limits)), background };
}

async function sessionFor({ parts, request }: Exchange, asked: AskedTurn): Promise<string> {
  const { session, previous } = asked;
  if (session !== undefined) return session;
  if (previous === undefined) return newSession(request, parts);

  return sessionOfTurn({ parts, request }, turnOf(previous));
}

/** Throws `TURN_UNKNOWN` also for a turn of others' direct rooms. */
async function sessionOfTurn(
  { parts, request }: Pick<Exchange, "parts" | "request">,
  turnId: string,
): Promise<string> {
  assertTurnId(turnId);
  const { conversations, members } = parts;
  const caller = callerOf(request);
  const { sessionId: session } = await conversations.find(turnId, { caller });
  const tenant = await members.view(request.principal!, { session }, caller.tenant);
  if (tenant === NO_TENANT) await conversations.find(turnId, { caller: { ...caller, tenant } });
  assertMayFollow(request.principal!, session);

  return session;
}

/** The same key of the same caller is the same session, so that it finds its turn again. */
function newSession(request: FastifyRequest, { clock }: ServerParts): string {
  const key = keyOf(request);
  if (key === undefined) return `openai-${ulid(clock.now())}`;

  const of = `${callerOf(request).name} ${request.routeOptions.url} ${key}`;
  return `openai-${createHash("sha256").update(of).digest("hex").slice(0, 32)}`;
}

function keyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  return typeof key === "string" ? key : undefined;
}
