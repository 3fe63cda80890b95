import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { Database } from "../durable/database.ts";
import { DureError } from "../kernel/errors.ts";
import { parseJsonBody } from "../server/body.ts";
import { boundsOf } from "../server/bounds.ts";
import { PARTS_BYTES } from "../server/part-files.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import {
  A2aParams,
  A2aPushParams,
  A2aPutPush,
  A2aTaskParams,
  A2aGet,
  A2aList,
  A2aSend,
  A2aNamedPush,
  A2aPushes,
  A2aRpc,
} from "../wire/a2a.ts";
import { A2aDesk, assertService, type A2aStored } from "./a2a-desk.ts";
import { restError, rpcError, taskUnknown } from "./a2a-error.ts";
import {
  assertVersion,
  type Exchange,
  cancelTask,
  sendMessage,
  streamMessage,
  subscribe,
} from "./a2a-exchange.ts";
import { agentCard, noExtendedCard } from "./agent-card.ts";
import { parsed, assertNoTenant } from "./parsed.ts";
import type { SignCard } from "./card-signature.ts";
import { PushDesk } from "./push-desk.ts";
import { getPush, listPushes, putPush, removePush } from "./push-exchange.ts";
import { PushRows } from "./push-rows.ts";
import { TaskRows } from "./task-rows.ts";
import type { StreamJson } from "./task-stream.ts";
import { asDureError, problemOf, statusOf } from "../server/problem.ts";

const config = { scope: "chat" } as const;
const told = { audit: false, stream: true, uploads: "parts" } as const;
const overRest = { ...config, ...told, refusal: restError } as const;
const overRpc = { ...config, ...told, refusal: rpcError } as const;

/** What the routes are given besides the parts of the server. */
export interface A2aOptions {
  readonly database: Database;
  /** Receivers of push notifications inside the network, as `host:port`. */
  readonly pushTo: ReadonlySet<string>;
  /** Absent: cards are not signed. */
  readonly signCard?: SignCard | undefined;
}

/** Services and agents as agents of A2A 1.0. Source: docs/spec/interop §7. */
export function a2aRoutes({
  database,
  pushTo,
  signCard = (card) => card,
}: A2aOptions): FastifyPluginAsyncZod<ServerParts> {
  return async (app, parts) => {
    const pushes = new PushDesk(new PushRows(database), pushTo);
    const stored = { tasks: new TaskRows(database), pushes };
    app.addHook("onRequest", async (_, reply) => void reply.header("cache-control", "no-store"));
    takeEmptyBodies(app, parts);

    cards(app, parts, signCard);
    rpc(app, parts, stored);
    rest(app, parts, stored);
    pushRoutes(app, parts, stored);
  };
}

/** What a client asks of a task it may ask without a body. */
function takeEmptyBodies(app: RouteApp, parts: ServerParts): void {
  const bounds = boundsOf(parts.limits);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    ["application/json", "application/a2a+json"],
    { parseAs: "buffer" },
    async (_: FastifyRequest, bytes: Buffer) =>
      bytes.length === 0 ? undefined : parseJsonBody(bytes, bounds),
  );
}

function cards(app: RouteApp, parts: ServerParts, signCard: SignCard): void {
  const schema = { hide: true } as const;
  const cardConfig = { ...config, refusal: restError };

  app.get("/.well-known/agent-card.json", { config: cardConfig, schema }, async (request) => {
    const services = parts.conversations.describe();
    const first = services.find((service) => service.default) ?? services[0];
    if (!first) throw noService();
    return signCard(cardOf(parts, request, first.name));
  });

  app.get(
    "/a2a/v1/:service/.well-known/agent-card.json",
    { config: cardConfig, schema: { ...schema, params: A2aParams } },
    async (request) => signCard(cardOf(parts, request, request.params.service)),
  );
}

function cardOf(parts: ServerParts, request: FastifyRequest, name: string): object {
  assertService(parts, name);
  const service = parts.conversations.describe().find((one) => one.name === name)!;
  const origin = `${request.protocol}://${request.host}`;

  return agentCard(service, { origin, version: parts.version });
}

function noService(): DureError {
  return new DureError("SERVICE_UNKNOWN", "This team has no service.", { class: "not-found" });
}

function rpc(app: RouteApp, parts: ServerParts, stored: A2aStored): void {
  app.post(
    "/a2a/v1/:service",
    {
      config: overRpc,
      bodyLimit: PARTS_BYTES,
      schema: { hide: true, params: A2aParams },
    },
    async (request, reply) => {
      assertVersion(request);
      const { service } = request.params;
      const desk = new A2aDesk(parts, stored, request, service);
      const { web } = app;
      return answerRpc(request.body, (id) => {
        return { parts, request, reply, web, desk, frame: (event) => rpcFrame(id, event) };
      });
    },
  );
}

function rest(app: RouteApp, parts: ServerParts, stored: A2aStored): void {
  const exchangeOf = restExchange(app, parts, stored);
  const schema = { hide: true, params: A2aParams } as const;
  const ofTask = { hide: true, params: A2aTaskParams } as const;
  const bodyLimit = PARTS_BYTES;

  // `::` is a colon: message:send, message:stream.
  for (const verb of ["send", "stream"] as const) {
    app.post(
      `/a2a/v1/:service/message::${verb}`,
      { config: overRest, schema, bodyLimit },
      async (request, reply) => {
        const exchange = exchangeOf(request, reply, request.params.service);
        return postThere[verb](exchange, request.body);
      },
    );
  }

  app.get("/a2a/v1/:service/extendedAgentCard", { config: overRest, schema }, async () => {
    throw noExtendedCard();
  });

  app.get("/a2a/v1/:service/tasks", { config: overRest, schema }, async (request, reply) =>
    getThere.list(exchangeOf(request, reply, request.params.service), request.query),
  );

  app.get(
    "/a2a/v1/:service/tasks/:task",
    { config: overRest, schema: ofTask },
    async (request, reply) => {
      const { service, task } = request.params;
      return getThere.task(exchangeOf(request, reply, service), task, request.query);
    },
  );

  app.post(
    "/a2a/v1/:service/tasks/:task",
    { config: overRest, schema: ofTask, bodyLimit },
    async (request, reply) => {
      const { service, task } = request.params;
      return postThere.task(exchangeOf(request, reply, service), task);
    },
  );
}

type ExchangeOf = (request: FastifyRequest, reply: FastifyReply, service: string) => Exchange;

function restExchange(app: RouteApp, parts: ServerParts, stored: A2aStored): ExchangeOf {
  return (request, reply, service) => {
    assertVersion(request);
    const desk = new A2aDesk(parts, stored, request, service);
    return { parts, request, reply, web: app.web, desk, frame: restFrame };
  };
}

function pushRoutes(app: RouteApp, parts: ServerParts, stored: A2aStored): void {
  const exchangeOf = restExchange(app, parts, stored);
  const all = "/a2a/v1/:service/tasks/:task/pushNotificationConfigs";
  const ofTask = { config: overRest, schema: { hide: true, params: A2aTaskParams } } as const;
  const ofOne = { config: overRest, schema: { hide: true, params: A2aPushParams } } as const;

  app.post(all, { ...ofTask, bodyLimit: PARTS_BYTES }, async (request, reply) => {
    const { service, task: taskId } = request.params;
    const asked = parsed(A2aPutPush, { ...(request.body as object | undefined), taskId });
    reply.code(201);
    return putPush(exchangeOf(request, reply, service), asked);
  });

  app.get(all, ofTask, async (request, reply) => {
    const { service, task: taskId } = request.params;
    return listPushes(exchangeOf(request, reply, service), { taskId });
  });

  app.get(`${all}/:config`, ofOne, async (request, reply) => {
    const { service, task: taskId, config: id } = request.params;
    return getPush(exchangeOf(request, reply, service), { taskId, id });
  });

  app.delete(`${all}/:config`, ofOne, async (request, reply) => {
    const { service, task: taskId, config: id } = request.params;
    await removePush(exchangeOf(request, reply, service), { taskId, id });
    return reply.code(204).send(null);
  });
}

// --- a2a rest

/** One event of a stream over HTTP+JSON. */
function restFrame(event: StreamJson): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

const postThere = {
  async send(exchange: Exchange, body: unknown): Promise<unknown> {
    const asked = parsed(A2aSend, body);
    assertNoTenant(asked);
    const sent = await sendMessage(exchange, asked);

    return sent ?? exchange.reply.hijack();
  },

  async stream(exchange: Exchange, body: unknown): Promise<void> {
    const asked = parsed(A2aSend, body);
    assertNoTenant(asked);
    await streamMessage(exchange, asked);
  },

  /** `<id>:cancel` and `<id>:subscribe`. */
  async task(exchange: Exchange, named: string): Promise<unknown> {
    const [id = "", verb] = named.split(":", 2);
    if (verb === "cancel") return cancelTask(exchange, id);
    if (verb === "subscribe") return subscribe(exchange, id);
    throw taskUnknown();
  },
};

const getThere = {
  async list(exchange: Exchange, query: unknown): Promise<unknown> {
    const asked = parsed(A2aList, query);
    assertNoTenant(asked);

    return exchange.desk.list(asked);
  },

  async task(exchange: Exchange, named: string, query: unknown): Promise<unknown> {
    const [id = "", verb] = named.split(":", 2);
    if (verb === "subscribe") return subscribe(exchange, id);
    if (verb !== undefined) throw taskUnknown();
    const asked = parsed(A2aGet, { ...(query as object), id });
    assertNoTenant(asked);

    return exchange.desk.task(id, asked.historyLength ?? undefined);
  },
};

// --- a2a rpc

type RpcId = string | number | null;

/** One event of a stream over JSON-RPC. */
function rpcFrame(id: RpcId, event: StreamJson): string {
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: event })}\n\n`;
}

/** Undefined: the answer is a stream, or its reader has left. */
type MethodHandler = (exchange: Exchange, params: unknown) => Promise<unknown>;

const METHODS: Readonly<Record<string, MethodHandler>> = {
  SendMessage: (exchange, params) => sendMessage(exchange, sendingOf(params)),
  SendStreamingMessage: (exchange, params) => streamMessage(exchange, sendingOf(params)),
  GetTask: ({ desk }, params) => {
    const { id, historyLength } = idOf(params);
    return desk.task(id, historyLength ?? undefined);
  },
  ListTasks: ({ desk }, params) => {
    const asked = parsed(A2aList, params ?? {});
    assertNoTenant(asked);
    return desk.list(asked);
  },
  CancelTask: (exchange, params) => cancelTask(exchange, idOf(params).id),
  SubscribeToTask: (exchange, params) => subscribe(exchange, idOf(params).id),
  GetExtendedAgentCard: () => Promise.reject(noExtendedCard()),
  CreateTaskPushNotificationConfig: (exchange, params) =>
    putPush(exchange, parsed(A2aPutPush, params)),
  GetTaskPushNotificationConfig: (exchange, params) =>
    getPush(exchange, parsed(A2aNamedPush, params)),
  ListTaskPushNotificationConfigs: (exchange, params) =>
    listPushes(exchange, parsed(A2aPushes, params)),
  DeleteTaskPushNotificationConfig: (exchange, params) =>
    removePush(exchange, parsed(A2aNamedPush, params)),
};

/**
 * Does what a message of JSON-RPC asks for. What is wrong with the call is answered under its id;
 * what may pass is thrown, and has its status of HTTP.
 */
async function answerRpc(body: unknown, exchangeOf: (id: RpcId) => Exchange): Promise<unknown> {
  const call = A2aRpc.safeParse(body);
  if (!call.success) throw notRpc();
  const exchange = exchangeOf(call.data.id ?? null);
  const answer = await answerCall(call.data, exchange);

  return answer ?? exchange.reply.hijack();
}

async function answerCall(call: A2aRpc, exchange: Exchange): Promise<object | undefined> {
  const { id = null, method, params } = call;
  try {
    const act = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
    if (!act) throw methodUnknown(method);
    const result = await act(exchange, params);

    return result === undefined ? undefined : { jsonrpc: "2.0", id, result };
  } catch (thrown) {
    const error = asDureError(thrown);
    const status = statusOf(error);
    if (exchange.reply.sent || status >= 500 || status === 429) throw thrown;

    return rpcError(problemOf(error), id);
  }
}

function sendingOf(params: unknown): A2aSend {
  const asked = parsed(A2aSend, params);
  assertNoTenant(asked);
  return asked;
}

function idOf(params: unknown): { id: string; historyLength?: number | null | undefined } {
  const asked = parsed(A2aGet, params);
  assertNoTenant(asked);
  return asked;
}

function notRpc(): DureError {
  return new DureError("RPC_INVALID", "The body is no request of JSON-RPC 2.0.", {
    class: "input",
    hint: "Send one object with jsonrpc, id, method and params.",
  });
}

function methodUnknown(method: string): DureError {
  return new DureError("METHOD_UNKNOWN", `There is no method ${method}.`, { class: "input" });
}
