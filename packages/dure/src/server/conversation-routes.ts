/** Routes of conversations: a message, its turn, and the events of both. */

import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import type { AcceptOptions, SessionDetail, TurnRequest, Viewer } from "../engine/api.ts";
import { DureError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Done } from "../kernel/turn-events.ts";
import { fromWire, onWire } from "../kernel/wire.ts";
import { onlyDefined } from "../kernel/json.ts";
import { boundsOf, type ServerBounds } from "./bounds.ts";
import { callerOf } from "./guard.ts";
import { NO_TENANT } from "./members.ts";
import { newSession } from "./new-session.ts";
import { assertMayFollow, assertNotOwn } from "./own-sessions.ts";
import { fieldError } from "./problem.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { answerWithStream } from "./stream-answer.ts";
import { viewerOf } from "./tenants.ts";
import {
  assertTurnId,
  decideStanding,
  parseTurnPosition,
  positionInvalid,
} from "./turn-position.ts";
import { tooManyFiles } from "../engine/turn/turn-request.ts";
import { MAX_MESSAGE_FILES } from "../kernel/files.ts";
import { storeUploads } from "./uploads.ts";
import { sendTurn } from "./turn-stream.ts";
import {
  ChatAnswer,
  ChatBody,
  ChatQuery,
  CompletedAnswer,
  DebugAnswer,
  EventStream,
  IdempotencyHeaders,
  LeaveAnswer,
  LeaveBody,
  ResumeHeaders,
  ResumeQuery,
  RetryAnswer,
  ServicesAnswer,
  SessionAnswer,
  SessionParams,
  SessionQuery,
  SessionsAnswer,
  SessionsQuery,
  StopAnswer,
  StreamHeaders,
  TurnParams,
} from "../wire/turns.ts";
import { NOTHING } from "../wire/shared.ts";

const config = { scope: "chat" } as const;

/** Turns, their streams, and the sessions they belong to. Source: docs/spec/conversation §6. */
export const conversationRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  chat(app, parts);
  chatStream(app, parts);
  chatEventSource(app, parts);
  readTurn(app, parts);
  stopTurn(app, parts);
  retryTurn(app, parts);
  listCompleted(app, parts);
  debugSession(app, parts);
  listSessions(app, parts);
  readSession(app, parts);
  leaveQuestion(app, parts);
  forgetSession(app, parts);
  listServices(app, parts);
};

function chat(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;

  app.post(
    "/v1/agent/chat",
    {
      config: { ...config, audit: false, uploads: true },
      schema: {
        tags: ["turns"],
        summary: "Send a message, get the end of its turn",
        headers: IdempotencyHeaders,
        body: ChatBody,
        response: { 200: ChatAnswer, ...problems(400, 404, 409, 413, 415, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      const gone = closedSignal(reply.raw);
      const { turn, options } = await askedOf(parts, request);
      const handle = conversations.turn(turn, { ...options, signal: gone });
      handle.done.catch(() => undefined); // a turn that was not accepted is told by `turnId`
      const turnId = await handle.turnId;
      request.turnId = turnId;
      const sessionId = await handle.sessionId;
      request.sessionId = sessionId;
      reply.header("turn-id", turnId).header("session-id", sessionId);

      try {
        const done = await unlessClosing(handle.done, parts.closing, turnId);
        return await reply.send(chatAnswerOf(done, turnId));
      } catch (error) {
        if (gone.aborted) return reply.hijack(); // the caller has left; the turn goes on
        throw error;
      }
    },
  );
}

function chatStream(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;

  app.post(
    "/v1/agent/chat/stream",
    {
      config: { ...config, audit: false, stream: true, uploads: true },
      schema: {
        tags: ["turns"],
        summary: "Send a message, read its turn as it happens",
        headers: IdempotencyHeaders,
        body: ChatBody,
        response: { 200: EventStream, ...problems(400, 404, 409, 413, 415, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      const { turn, options } = await askedOf(parts, request);
      const { turnId, sessionId } = await conversations.accept(turn, options);
      request.sessionId = sessionId;

      await streamTurn(parts, request, reply, {
        turnId,
        sessionId,
        after: 0,
        firstFrame: `: turn ${turnId}\n\n`,
      });
    },
  );
}

function chatEventSource(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;
  const bounds = boundsOf(parts.limits);

  app.get(
    "/v1/agent/chat/stream",
    {
      config: { ...config, stream: true },
      schema: {
        tags: ["turns"],
        summary: "The same for EventSource: with Last-Event-ID it goes on and starts nothing",
        headers: StreamHeaders,
        querystring: ChatQuery,
        response: {
          200: EventStream,
          204: NOTHING,
          ...problems(400, 404, 409, 413, 422, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const session = request.query.session_id;
      request.sessionId = session;
      const position = parseTurnPosition(request.headers["last-event-id"]);

      if (position) {
        const turn = await findTurn(parts, request, position.turnId);
        if (turn.sessionId !== session) {
          throw positionInvalid(
            `Last-Event-ID belongs to turn ${position.turnId} of another session.`,
          );
        }

        return resumeTurn(parts, request, reply, {
          turnId: position.turnId,
          seq: position.seq,
          turn,
        });
      }

      const { turnId, sessionId } = await conversations.accept(
        turnRequestOf(request.query, bounds),
        acceptOptionsOf(request),
      );

      // `<turn>.0` is the stored message itself. Without it an EventSource that is cut off before the
      // first event would ask again.
      await streamTurn(parts, request, reply, {
        turnId,
        sessionId,
        after: 0,
        firstFrame: `: turn ${turnId}\nid: ${turnId}.0\n\n`,
      });
    },
  );
}

function readTurn(app: RouteApp, parts: ServerParts): void {
  app.get(
    "/v1/agent/turns/:turn_id/stream",
    {
      config: { ...config, stream: true },
      schema: {
        tags: ["turns"],
        summary: "A turn's stream again, live or finished",
        params: TurnParams,
        headers: ResumeHeaders,
        querystring: ResumeQuery,
        response: { 200: EventStream, 204: NOTHING, ...problems(400, 404, 503) },
      },
    },
    async (request, reply) => {
      const turnId = request.params.turn_id;
      assertTurnId(turnId);
      const position = parseTurnPosition(
        request.headers["last-event-id"] || request.query.last_event_id,
      );
      const turn = await findTurn(parts, request, turnId);
      request.sessionId = turn.sessionId;

      if (position && position.turnId !== turnId) {
        throw positionInvalid(
          `Last-Event-ID belongs to turn ${position.turnId}, not to ${turnId}.`,
        );
      }

      await resumeTurn(parts, request, reply, { turnId, seq: position?.seq, turn });
    },
  );
}

function stopTurn(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;
  app.post(
    "/v1/agent/turns/:turn_id/stop",
    {
      config: { ...config, audit: "turn.stop" },
      schema: {
        tags: ["turns"],
        summary: "Stop a turn; it then ends in DONE with TURN_STOPPED",
        params: TurnParams,
        response: { 202: StopAnswer, ...problems(404, 409, 503) },
      },
    },
    async (request, reply) => {
      const turnId = request.params.turn_id;
      assertTurnId(turnId);
      request.turnId = turnId;
      await findTurn(parts, request, turnId);
      await conversations.stopTurn(turnId, { caller: viewerOf(request) });

      return reply.code(202).send({ turn_id: turnId, status: "stopping" });
    },
  );
}

function retryTurn(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;
  app.post(
    "/v1/agent/turns/:turn_id/retry",
    {
      config: { ...config, audit: "turn.retry" },
      schema: {
        tags: ["turns"],
        summary: "Go on with a turn that ended because its model was away",
        params: TurnParams,
        response: { 202: RetryAnswer, ...problems(403, 404, 409, 503) },
      },
    },
    async (request, reply) => {
      const turnId = request.params.turn_id;
      assertTurnId(turnId);
      request.turnId = turnId;
      const { sessionId } = await findTurn(parts, request, turnId);
      request.sessionId = sessionId;
      assertNotOwn(sessionId);
      await conversations.retryTurn(turnId, { caller: viewerOf(request) });

      return reply.code(202).send({ turn_id: turnId, status: "retrying" });
    },
  );
}

function listCompleted(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;
  app.get(
    "/v1/agent/completed",
    {
      config,
      schema: {
        tags: ["sessions"],
        summary: "Finished flows, newest first",
        querystring: SessionQuery,
        response: { 200: CompletedAnswer, ...problems(400, 404) },
      },
    },
    async (request) => {
      const session = request.query.session_id;
      const caller = await memberOf(parts, request, session);
      const items = await conversations.completed(session, { caller });

      return onWire<z.output<typeof CompletedAnswer>>({ items });
    },
  );
}

function debugSession(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;
  app.get(
    "/v1/agent/debug/:session_id",
    {
      config,
      schema: {
        tags: ["sessions"],
        summary: "State, memory and completed flows; only in dev mode",
        params: SessionParams,
        response: { 200: DebugAnswer, ...problems(400, 404) },
      },
    },
    async (request) => {
      if (!parts.devMode) {
        throw new DureError("DEV_MODE_OFF", "There is no debug view outside dev mode.", {
          class: "not-found",
          hint: "Start with DEV_MODE=true, or with `dure dev`.",
        });
      }

      const { session_id } = request.params;
      const caller = await memberOf(parts, request, session_id);
      const debug = await conversations.debug(session_id, { caller });

      return onWire<z.output<typeof DebugAnswer>>(debug);
    },
  );
}

function listSessions(app: RouteApp, { conversations }: ServerParts): void {
  app.get(
    "/v1/agent/sessions",
    {
      config,
      schema: {
        tags: ["sessions"],
        summary: "Sessions, last used first",
        querystring: SessionsQuery,
        response: { 200: SessionsAnswer, ...problems(400) },
      },
    },
    async (request) => {
      const { limit, cursor, search } = request.query;
      const caller = viewerOf(request);
      const page = await conversations.sessions({
        caller,
        limit,
        ...onlyDefined({ cursor, search }),
      });

      return onWire<z.output<typeof SessionsAnswer>>(page);
    },
  );
}

function readSession(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;
  app.get(
    "/v1/agent/sessions/:session_id",
    {
      config,
      schema: {
        tags: ["sessions"],
        summary: "One session with its history",
        params: SessionParams,
        response: { 200: SessionAnswer, ...problems(400, 404) },
      },
    },
    async (request) => {
      request.sessionId = request.params.session_id;
      const session = request.params.session_id;
      const caller = await memberOf(parts, request, session);
      const detail = await conversations.session(session, { caller });
      const services = conversations.describe().map(({ name }) => name);

      return sessionToWire(detail, services);
    },
  );
}

function leaveQuestion(app: RouteApp, parts: ServerParts): void {
  const { conversations } = parts;
  app.post(
    "/v1/agent/sessions/:session_id/leave",
    {
      config: { ...config, audit: false },
      schema: {
        tags: ["sessions"],
        summary: "The person has left the session's question: a yes no longer answers it",
        params: SessionParams,
        body: LeaveBody,
        response: { 200: LeaveAnswer, ...problems(400, 404, 413, 415, 422, 503) },
      },
    },
    async (request) => {
      const session = request.params.session_id;
      request.sessionId = session;
      assertNotOwn(session);
      const caller = await memberOf(parts, request, session);
      const isTakenBack = await conversations.takeBack(session, request.body.question, { caller });

      return { taken_back: isTakenBack };
    },
  );
}

function forgetSession(app: RouteApp, { conversations }: ServerParts): void {
  app.delete(
    "/v1/agent/sessions/:session_id",
    {
      config: { ...config, audit: "session.delete" },
      schema: {
        tags: ["sessions"],
        summary:
          "Forget a session: its words are gone from memory, turns, flows, events and escalations",
        params: SessionParams,
        response: { 204: NOTHING, ...problems(400, 404) },
      },
    },
    async (request, reply) => {
      const session = request.params.session_id;
      request.sessionId = session;
      assertNotOwn(session);
      await conversations.forget(session, { caller: viewerOf(request) });

      return reply.code(204).send(null);
    },
  );
}

function listServices(app: RouteApp, { conversations }: ServerParts): void {
  app.get(
    "/v1/services",
    {
      config,
      schema: {
        tags: ["services"],
        summary: "What can be talked to",
        response: { 200: ServicesAnswer },
      },
    },
    async () => onWire<z.output<typeof ServicesAnswer>>({ items: conversations.describe() }),
  );
}

/**
 * Who looks at a session: for one of others' direct rooms, a viewer that has none. Throws
 * `SCOPE_MISSING`.
 */
async function memberOf(
  { members }: ServerParts,
  request: FastifyRequest,
  session: string,
): Promise<Viewer> {
  assertMayFollow(request.principal!, session);
  const { name, tenant } = viewerOf(request);

  return { name, tenant: await members.view(request.principal!, { session }, tenant) };
}

/** Throws `TURN_UNKNOWN` also for a turn of others' direct rooms. */
async function findTurn(
  parts: ServerParts,
  request: FastifyRequest,
  turnId: string,
): ReturnType<ServerParts["conversations"]["find"]> {
  const { conversations, members } = parts;
  const viewer = viewerOf(request);
  const turn = await conversations.find(turnId, { caller: viewer });
  const of = { session: turn.sessionId };
  const tenant = await members.view(request.principal!, of, viewer.tenant);
  if (tenant === NO_TENANT) return conversations.find(turnId, { caller: { ...viewer, tenant } });

  assertMayFollow(request.principal!, turn.sessionId);
  return turn;
}

/** What is asked, in its session or in a new one. */
async function askedOf(
  parts: ServerParts,
  request: FastifyRequest,
): Promise<{ turn: TurnRequest; options: AcceptOptions }> {
  const body = request.body as ChatBody;
  const session_id = body.session_id ?? newSession(request, parts, "chat");
  const isMore = body.slots !== undefined || Boolean(body.files?.length || request.uploads?.length);
  const asked = turnRequestOf({ ...body, session_id }, boundsOf(parts.limits), {
    mayBeEmpty: isMore,
  });
  const turn = await withUploads(parts, request, asked);
  request.sessionId = turn.session;
  const repeats = body.session_id === undefined ? "caller" : "session";

  return { turn, options: acceptOptionsOf(request, repeats) };
}

/** Files of the request are stored first, then the message that carries them. Throws `FILES_TOO_MANY`. */
export async function withUploads(
  { files }: Pick<ServerParts, "files">,
  request: FastifyRequest,
  asked: TurnRequest,
): Promise<TurnRequest> {
  const count = request.uploads?.length ?? 0;
  if (!files || count === 0) return asked;
  if (count > MAX_MESSAGE_FILES) throw tooManyFiles(count);
  const stored = await storeUploads(files, request, asked.session);
  return { ...asked, files: [...(asked.files ?? []), ...stored.map(({ id }) => id)] };
}

type ChatAnswerJson = z.output<typeof ChatAnswer>;

/**
 * A checked request in the engine's words. Throws `SESSION_RESERVED`, `MESSAGE_TOO_LARGE`,
 * `MESSAGE_INVALID`.
 */
export function turnRequestOf(
  body: ChatBody & { readonly session_id: string },
  { messageBytes, slots: slotsMost }: ServerBounds,
  { mayBeEmpty = body.slots !== undefined }: { readonly mayBeEmpty?: boolean | undefined } = {},
): TurnRequest {
  const { session_id: session, slots, ...rest } = body;
  assertNotOwn(session);
  const bytes = Buffer.byteLength(body.message);

  if (bytes > messageBytes) {
    throw fieldError(
      "MESSAGE_TOO_LARGE",
      "message",
      `has ${bytes} bytes of UTF-8; ${messageBytes} are allowed`,
      "Send it in parts.",
    );
  }

  const slotCount = Object.keys(slots ?? {}).length;

  if (slotCount > slotsMost) {
    throw fieldError(
      "SLOTS_TOO_MANY",
      "slots",
      `has ${slotCount} members; ${slotsMost} are allowed`,
      "Send only those that were edited.",
    );
  }

  if (body.message.trim() === "" && !mayBeEmpty) {
    throw fieldError(
      "MESSAGE_INVALID",
      "message",
      "is empty",
      "Only slots may come without words.",
    );
  }

  const request = fromWire(rest) as Omit<TurnRequest, "session" | "slots">;

  return { session, ...request, ...onlyDefined({ slots: slots as JsonObject | undefined }) };
}

/** A request without a key may repeat one of its session; `repeats`: or of its caller. */
export function acceptOptionsOf(
  request: FastifyRequest,
  repeats: AcceptOptions["repeats"] = "session",
): AcceptOptions {
  const key = request.headers["idempotency-key"];
  const traceParent = request.headers["traceparent"];

  return {
    caller: callerOf(request),
    path: request.routeOptions.url,
    ...(typeof key === "string" ? { key } : { repeats }),
    traceParent: typeof traceParent === "string" ? traceParent : undefined,
  };
}

interface ResumedTurn {
  readonly turnId: string;
  /** Read so far; undefined: nothing. */
  readonly seq: number | undefined;
  readonly turn: {
    readonly status: string;
    readonly sessionId: string;
    readonly lastSeq: number;
  };
}

/** Goes on behind `seq` (undefined: from the start), or answers 204 when `DONE` was read. */
async function resumeTurn(
  parts: ServerParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { turnId, seq, turn }: ResumedTurn,
): Promise<void> {
  request.turnId = turnId;
  const standing = decideStanding(seq === undefined ? undefined : { turnId, seq }, turnId, turn);

  if (standing.is === "behind") {
    return streamTurn(parts, request, reply, {
      turnId,
      sessionId: turn.sessionId,
      after: standing.after,
      firstFrame: `: turn ${turnId}\n\n`,
    });
  }

  await reply.code(204).header("turn-id", turnId).send(null);
}

interface StreamedTurn {
  readonly turnId: string;
  readonly sessionId: string;
  readonly after: number;
  readonly firstFrame: string;
}

/** Answers with a turn's stream. Whatever ends the reader, the turn goes on. */
async function streamTurn(
  parts: ServerParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { turnId, sessionId, after, firstFrame }: StreamedTurn,
): Promise<void> {
  const { conversations, clock } = parts;
  const caller = viewerOf(request);
  request.turnId = turnId;

  await answerWithStream(parts, request, reply, {
    what: `turn ${turnId}`,
    firstFrame,
    headers: { "turn-id": turnId, "session-id": sessionId },
    fields: { turn: turnId },
    send: (stream) => {
      const frames = conversations.read(turnId, { after, caller, signal: stream.signal });
      return sendTurn(turnId, frames, stream, clock);
    },
  });
}

/** The answer to a message: the end of its turn, and its hooks once more. */
function chatAnswerOf(done: Done, turnId: string): ChatAnswerJson {
  return onWire<ChatAnswerJson>({ interaction: done, hooks: done.hooks, turnId });
}

/** Aborts when the connection is gone before the answer left. */
export function closedSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) controller.abort();
  });

  return controller.signal;
}

/**
 * Waits for a turn as long as the server waits for it. Throws `SERVER_DRAINING`: the turn goes on
 * elsewhere and can be read there.
 */
export async function unlessClosing<T>(
  done: Promise<T>,
  closing: AbortSignal,
  turnId: string,
): Promise<T> {
  const closed = Promise.withResolvers<never>();
  const onClosing = (): void => closed.reject(closedWhileRunning(turnId));
  closing.addEventListener("abort", onClosing, { once: true });
  if (closing.aborted) onClosing();

  try {
    return await Promise.race([done, closed.promise]);
  } finally {
    closing.removeEventListener("abort", onClosing);
  }
}

function closedWhileRunning(turnId: string): DureError {
  const stream = `/v1/agent/turns/${turnId}/stream`;
  return new DureError(
    "SERVER_DRAINING",
    `This server closed while turn ${turnId} was running; the turn goes on.`,
    {
      class: "unavailable",
      hint: `Read it at ${stream}, or send the same Idempotency-Key again.`,
      details: { turnId, retryAfterMs: 1_000 },
    },
  );
}

function sessionToWire(
  detail: SessionDetail,
  services: readonly string[],
): z.output<typeof SessionAnswer> {
  const trace = detail.history.findLast(({ done }) => done !== undefined)?.done?.trace;
  const session = onWire<Omit<z.output<typeof SessionAnswer>, "trace">>({
    ...detail,
    services,
  });

  // Beside a session it stands without the underscore that it has in DONE.
  return { ...session, trace: trace && onWire<z.output<typeof SessionAnswer>["trace"]>(trace) };
}
