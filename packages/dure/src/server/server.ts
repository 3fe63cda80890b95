import type { IncomingMessage, ServerResponse } from "node:http";
import { BlockList, isIP, type AddressInfo, type Socket } from "node:net";
import compress from "@fastify/compress";
import helmet from "@fastify/helmet";
import rateLimit from "@fastify/rate-limit";
import swagger from "@fastify/swagger";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import {
  jsonSchemaTransformObject,
  validatorCompiler,
  type FastifyPluginAsyncZod,
} from "fastify-type-provider-zod";
import type { Conversations } from "../engine/api.ts";
import type { Files } from "../durable/files/files.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { PlanLibrary } from "../plans/runs/plan-library.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { assertBindable } from "./access.ts";
import { boundsOf, type GivenLimits, type ServerBounds } from "./bounds.ts";
import { channelWebhookRoutes } from "./channel-webhook-routes.ts";
import { Connections } from "./connections.ts";
import { auditRequests, auditRoutes, refuseDeed, type AuditBook } from "./audit.ts";
import { useStrictJson } from "./body.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { agentEditRoutes, type AgentEditBook } from "./agent-edit-routes.ts";
import { agentRoutes, type AgentBook } from "./agent-routes.ts";
import type { TurnReplays } from "../engine/replay/replays.ts";
import { fileRoutes } from "./file-routes.ts";
import { takeUploads } from "./uploads.ts";
import { replayRoutes } from "./replay-routes.ts";
import { costRoutes, type CostBook } from "./cost-routes.ts";
import { dashboardRoutes } from "./dashboard.ts";
import { escalationRoutes, type EscalationInbox } from "./escalation-routes.ts";
import type { EventSource } from "./event-source.ts";
import { guardRequests, type RequestLimits } from "./guard.ts";
import { jobRoutes } from "./job-routes.ts";
import { bodyBytesFor } from "./limits.ts";
import { Doors, type AccessOptions } from "./doors.ts";
import { loginRoutes } from "./login-routes.ts";
import { describeRoute } from "./openapi.ts";
import { planRoutes } from "./plan-routes.ts";
import { platformRoutes } from "./platform-routes.ts";
import { roomFileRoutes } from "./room-file-routes.ts";
import { roomRoutes } from "./room-routes.ts";
import { asDureError, problemOf, retryAfterOf, statusOf } from "./problem.ts";
import { SseStreams, type SseLimits } from "./sse.ts";
import { SuspendDetector } from "./suspend-detector.ts";
import { WebHandler } from "./web-handler.ts";
import { Members } from "./members.ts";
import { traceRoutes } from "./trace-routes.ts";
import type { TraceBook } from "./trace-walk.ts";
import type { TokenStore } from "./token-store.ts";
import type { ProblemJson } from "../wire/problem.ts";

export interface ServerOptions {
  readonly conversations: Conversations;
  readonly events: EventSource;
  /** What conversations carry. Absent: nothing, and the routes are not there. */
  readonly files?: Files | undefined;
  /** Absent: nothing asks for decisions, and the routes are not there. */
  readonly inbox?: EscalationInbox | undefined;
  /** Absent: the team has no agents, and the routes are not there. */
  readonly rooms?: Rooms | undefined;
  /** Absent: no agents that could ask each other, and the routes are not there. */
  readonly jobs?: Jobs | undefined;
  /** Absent: no plans, and the routes are not there. */
  readonly plans?: PlanLibrary | undefined;
  /**
   * Answers within a second or two, also while the database is away; `/readyz` is 503 unless
   * `ready`.
   */
  readonly health: () => Promise<Health>;
  /**
   * Reads the team's files anew; throws without having changed anything. Absent: the route is not
   * there.
   */
  readonly reload?:
    | (() => Promise<{
        readonly services: readonly string[];
        readonly agents: readonly string[];
        readonly restart: readonly string[];
      }>)
    | undefined;
  /** How its agents are made; absent: the route is not there. */
  readonly agents?: AgentBook | undefined;
  /** Changes of their files; absent: the routes are not there. */
  readonly agentEdits?: AgentEditBook | undefined;
  /** What began what; absent: the route is not there. */
  readonly traces?: TraceBook | undefined;
  /** Absent: the route is not there. */
  readonly replays?: TurnReplays | undefined;
  /** Absent: no book of calls is kept, and the route is not there. */
  readonly costs?: CostBook | undefined;
  /** Prometheus text, version 0.0.4. */
  readonly metrics: () => Promise<string>;
  /** While it holds no living token, the user who runs the server needs none at this machine. */
  readonly auth: TokenStore;
  /** Who comes in besides by a token. Default: logins in memory, listening on 127.0.0.1. */
  readonly access?:
    | Pick<
        AccessOptions,
        "host" | "loginAlways" | "hasEnvironmentToken" | "logins" | "localToken" | "peers"
      >
    | undefined;
  readonly devMode: boolean;
  /** Folder of the built dashboard with its `index.html`; without it `/` is 404. */
  readonly dashboardFolder?: string | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Of dure, for `/healthz` and `/openapi.json`. */
  readonly version: string;
  /** Of this run of the server, for `/healthz`. Absent: it is not told. */
  readonly processId?: string | undefined;
  /** Of the team; what `/v1/me` says before a session has its own. */
  readonly locale: string;
  /** Whether an agent of the team has the model of a provider. Default `offline`. */
  readonly model?: "provider" | "offline" | undefined;
  readonly limits?: ServerLimits | undefined;
  /** `Host` names besides this machine's own, such as `dure.example.com`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins whose pages may call with a token, such as `https://app.example.com`. Default none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /**
   * Addresses or CIDR ranges of proxies whose `X-Forwarded-For` says who asks. Default none: the
   * peer of the connection asks.
   */
  readonly trustProxy?: readonly string[] | undefined;
  /**
   * Where it is written down what people do, before they do it. Absent: nowhere, and its route is
   * not there.
   */
  readonly audit?: AuditBook | undefined;
  /** Routes of protocols of others, behind the same guard. Default none. */
  readonly protocols?: readonly FastifyPluginAsyncZod<ServerParts>[] | undefined;
}

/** Every limit of `SERVER_LIMITS`, and what is set for each token alone. */
export interface ServerLimits extends GivenLimits, RequestLimits, SseLimits {}

export interface Health {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail?: string }>>;
}

/** What all routes of a server share. */
export interface ServerParts extends ServerOptions {
  readonly streams: SseStreams;
  readonly doors: Doors;
  readonly connections: Connections;
  readonly members: Members;
  /** Aborts when a closing server waits no longer. */
  readonly closing: AbortSignal;
}

/** The app that routes are added to. */
export type RouteApp = Parameters<FastifyPluginAsyncZod<ServerParts>>[0];

/**
 * The HTTP face of a team: every part is handed in, nothing is started. Routes of other parts are
 * registered on the returned app with `config: { scope }`; a route without one needs `admin`.
 * Closing it ends the streams with a hint to reconnect.
 */
export function createServer(options: ServerOptions): FastifyInstance {
  const stillness = new SuspendDetector(options.clock);
  const app = newApp(options, stillness);
  const closing = new AbortController();
  const parts = partsOf(app, options, closing.signal);

  const web = new WebHandler({
    server: app.server,
    bodyIdleMs: boundsOf(options.limits).bodyIdleMs,
    clock: options.clock,
  });

  app.decorate("auth", { getter: () => options.auth });
  app.decorate("web", { getter: () => web });
  app.decorate("doors", { getter: () => parts.doors });
  app.setValidatorCompiler(validatorCompiler);
  // Answers are typed and tested; checking each again would cost and strip.
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  useStrictJson(app, boundsOf(options.limits));
  app.setErrorHandler((error, request, reply) => sendProblem(options, error, request, reply));
  registerPlugins(app, options);
  app.after(() => registerRoutes(app, parts));

  app.server.on("checkExpectation", refuseExpectation);
  const closeSilent = silentConnections(app);
  app.addHook("onClose", async () => stillness.stop());
  app.addHook("preClose", async () => drain(app, parts, { closing, closeSilent, web }));

  return app;
}

function newApp(options: ServerOptions, stillness: SuspendDetector): FastifyInstance {
  const bounds = boundsOf(options.limits);
  return Fastify({
    http: {
      maxHeaderSize: bounds.headBytes,
      headersTimeout: Math.min(bounds.headMs, bounds.requestMs),
      connectionsCheckingInterval: CHECK_MS,
    },
    bodyLimit: bodyBytesFor(bounds.messageBytes),
    keepAliveTimeout: bounds.keepAliveMs,
    trustProxy: trustedProxies(options.trustProxy),
    exposeHeadRoutes: false, // a HEAD must not run a GET that starts a turn
    forceCloseConnections: "idle",
    requestTimeout: bounds.requestMs,
    genReqId: () => ulid(options.clock.now()),
    routerOptions: { maxParamLength: 1_024 },
    return503OnClosing: false, // guard.ts says it as a problem
    frameworkErrors: (error, request, reply) =>
      void sendProblem(options, error, request, reply as FastifyReply),
    clientErrorHandler: answerBrokenHttp(bounds, options.clock, stillness),
  });
}

function partsOf(app: FastifyInstance, options: ServerOptions, closing: AbortSignal): ServerParts {
  const { auth: tokens, clock, access, limits, allowedHosts = [], trustProxy = [] } = options;
  const doors = new Doors({ ...access, tokens, clock, allowedHosts, trustProxy });
  const isProxy = isProxyIn(trustProxy);
  const connections = new Connections({ limits: boundsOf(limits), clock, isProxy });
  connections.watch(app.server);
  const streams = new SseStreams(clock, limits);
  const members = new Members(options);

  return { ...options, doors, streams, connections, members, closing };
}

function registerPlugins(app: FastifyInstance, { version }: ServerOptions): void {
  void app.register(helmet, SECURITY_HEADERS);
  void app.register(rateLimit, { global: false });
  void app.register(compress, { globalDecompression: false, encodings: ["gzip", "identity"] });

  void app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: { title: "dure", description: "Durable teams of AI agents.", version },
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
      security: [{ token: [] }],
    },
    transform: describeRoute,
    transformObject: jsonSchemaTransformObject,
  });
}

function registerRoutes(app: FastifyInstance, parts: ServerParts): void {
  guardRequests(app, parts);
  takeUploads(app);
  auditRequests(app, parts);
  void app.register(conversationRoutes, parts);
  void app.register(fileRoutes, parts);
  void app.register(replayRoutes, parts);
  void app.register(escalationRoutes, parts);
  void app.register(roomRoutes, parts);
  void app.register(roomFileRoutes, parts);
  void app.register(channelWebhookRoutes, parts);
  void app.register(agentRoutes, parts);
  void app.register(agentEditRoutes, parts);
  void app.register(traceRoutes, parts);
  void app.register(jobRoutes, parts);
  void app.register(planRoutes, parts);
  void app.register(costRoutes, parts);
  void app.register(auditRoutes, parts);
  void app.register(platformRoutes, parts);
  void app.register(loginRoutes, parts);
  for (const protocol of parts.protocols ?? []) void app.register(protocol, parts);
  void app.register(dashboardRoutes, parts);
}

/** Tells whether an address is one of the trusted proxies. */
function isProxyIn(proxies: readonly string[] = []): (address: string) => boolean {
  const trusted = new BlockList();
  for (const proxy of proxies) {
    const [address = "", bits] = proxy.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (bits === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(bits), family);
  }

  return (peer) => {
    const address = peer.replace(/^::ffff:/, "");
    return trusted.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  };
}

/**
 * Connections are looked at this often for requests that come too slowly, milliseconds. Node's
 * default of 30 s lets them live so much longer.
 */
const CHECK_MS = 1_000;

/** None is `false`: an empty list would make Fastify read the header all the same. */
function trustedProxies(proxies: readonly string[] = []): string[] | false {
  return proxies.length > 0 && [...proxies];
}

/**
 * A connection that became idle while the server closes is looked for this often, milliseconds:
 * Node closes only those that were idle before.
 */
const IDLE_SWEEP_MS = 50;
/**
 * Between "we wait no longer" and cutting what is left, milliseconds: time for the last answers to
 * leave.
 */
const LAST_ANSWERS_MS = 1_000;

/** What a server that closes ends. */
interface Draining {
  readonly closing: AbortController;
  readonly closeSilent: () => void;
  readonly web: WebHandler;
}

/** Ends the streams, then requests that wait, then connections that do not read: closing always ends. */
async function drain(
  app: FastifyInstance,
  { streams, clock, limits }: ServerParts,
  { closing, closeSilent, web }: Draining,
): Promise<void> {
  streams.drain();
  closeSilent();
  const { drainMs } = boundsOf(limits);

  const cancels = [
    clock.every(IDLE_SWEEP_MS, () => {
      app.server.closeIdleConnections();
      closeSilent();
    }),
    clock.after(drainMs, () => closing.abort()),
    clock.after(drainMs + LAST_ANSWERS_MS, () => {
      app.server.closeAllConnections();
      web.cut();
    }),
  ];

  const over = (): void => cancels.forEach((cancel) => cancel());
  if (app.server.listening) app.server.once("close", over);
  await web.settled();
  if (!app.server.listening) over();
}

/**
 * Closes, when called, the connections on which nothing has come yet. Node does not count them as
 * idle: it waits for their first request.
 */
function silentConnections(app: FastifyInstance): () => void {
  const open = new Set<Socket>();
  app.server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });

  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
}

/**
 * Listens. Throws `BIND_NEEDS_TOKEN` for an address that others can reach without tokens,
 * `PORT_IN_USE`.
 */
export async function startServer(
  app: FastifyInstance,
  options: { host?: string; port: number },
): Promise<{ url: string; port: number }> {
  const host = options.host ?? "127.0.0.1";
  await assertBindable(host, app.auth);

  try {
    await app.listen({ host, port: options.port });
  } catch (cause) {
    if (codeOf(cause) !== "EADDRINUSE" && codeOf(cause) !== "EACCES") throw cause;
    const why =
      codeOf(cause) === "EACCES" ? "may not be used by this user" : "is in use by another process";
    throw new DureError("PORT_IN_USE", `Port ${options.port} on ${host} ${why}.`, {
      class: "unavailable",
      hint: "Stop the other process, or set PORT to a free one.",
      cause,
    });
  }

  const { port } = app.server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;

  return { url: `http://${name}:${port}`, port };
}

/**
 * A page of dure runs its own scripts and talks to its own server; nothing else. Styles are inline
 * because Mantine writes them.
 */
const SECURITY_HEADERS = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", "data:", "blob:"],
      fontSrc: ["'self'", "data:"],
      connectSrc: ["'self'"],
      objectSrc: ["'none'"],
      baseUri: ["'none'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
    },
  },
  // Dure speaks plain HTTP; a proxy in front that ends TLS says this for itself.
  strictTransportSecurity: false,
  xFrameOptions: { action: "deny" as const },
  referrerPolicy: { policy: "no-referrer" as const },
};

/** After these the connection is of no more use. */
const CLOSING_CODES: ReadonlySet<string> = new Set([
  "CONNECTIONS_FULL",
  "CONNECTIONS_PER_ADDRESS",
  "REQUEST_TOO_SLOW",
]);

/**
 * Bytes of a refused body that are still read so that its sender sees the refusal instead of a
 * reset connection.
 */
const DISCARD_BYTES = 32 * 1024 * 1024;

async function sendProblem(
  { logger, devMode }: ServerOptions,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const error = asDureError(thrown, { bodyBytes: request.routeOptions.bodyLimit });
  const status = statusOf(error);
  refuseDeed(request, error.code);

  if (status === 500) {
    const cause = error.cause ?? error;
    logger.error(
      {
        request: request.id,
        error: messageOf(cause),
        code: codeOf(cause),
        stack: cause instanceof Error ? cause.stack : undefined,
      },
      `request ${request.id} failed`,
    );
  }

  const retryAfter = retryAfterOf(error);
  if (retryAfter !== undefined) reply.header("retry-after", retryAfter);
  if (status === 401) reply.header("www-authenticate", 'Bearer realm="dure"');
  const allow = error.details?.["allow"];
  if (status === 405 && Array.isArray(allow)) reply.header("allow", allow.join(", "));

  if (status === 413) {
    reply.removeHeader("connection"); // Fastify would close, and its sender would see a reset connection
    discardBody(request);
  }

  if (CLOSING_CODES.has(error.code)) reply.header("connection", "close");
  reply.header("request-id", request.id);

  const problem = problemOf(error, { showInternals: devMode });
  const { refusal } = request.routeOptions.config;
  const told = refusal ? refusal(problem) : problem;
  const type = refusal ? "application/json" : "application/problem+json";

  return reply.code(status).type(type).serializer(JSON.stringify).send(told);
}

/** `Expect:` anything but `100-continue`: no route sees it. */
function refuseExpectation(request: IncomingMessage, response: ServerResponse): void {
  const problem = problemOf(
    new DureError(
      "EXPECTATION_FAILED",
      `Expect: ${String(request.headers.expect)} is not understood.`,
      { class: "input", hint: "Leave the header out." },
    ),
  );
  response
    .writeHead(problem.status, { "content-type": "application/problem+json", connection: "close" })
    .end(JSON.stringify(problem));
}

function discardBody(request: FastifyRequest): void {
  let left = DISCARD_BYTES;
  request.raw.on("data", (bytes: Buffer) => {
    left -= bytes.length;
    if (left < 0) request.raw.destroy();
  });

  request.raw.resume();
}

/** What Node calls requests that never came to be one. */
const BROKEN_HTTP: Readonly<Record<string, (bounds: ServerBounds) => DureError>> = {
  HPE_HEADER_OVERFLOW: ({ headBytes }) =>
    new DureError("HEADERS_TOO_LARGE", `The request's head is larger than ${headBytes} bytes.`, {
      class: "input",
      hint: "Send long messages with POST.",
    }),
  ERR_HTTP_REQUEST_TIMEOUT: ({ headMs, requestMs }) =>
    new DureError(
      "REQUEST_TOO_SLOW",
      `The request did not come in within ${requestMs / 1_000} s, ` +
        `or its head not within ${headMs / 1_000} s.`,
      { class: "input", hint: "Send it again, in one go." },
    ),
};

/**
 * A connection that was refused is closed after this long, also when the other side does not close
 * it, milliseconds.
 */
const LINGER_MS = 1_000;

/** Others have taken over what this process led by then, or it goes on. */
const STOOD_STILL_RETRY_MS = 1_000;

/** The client was not slow: this process was stopped, and its timers ran on. */
function stoodStill(): DureError {
  return new DureError("SERVER_STOOD_STILL", "This server stood still while the request came in.", {
    class: "unavailable",
    hint: "Send it again.",
    details: { retryAfterMs: STOOD_STILL_RETRY_MS },
  });
}

/** What is not HTTP never reaches a route: answered on the socket. */
function answerBrokenHttp(
  bounds: ServerBounds,
  clock: Clock,
  stillness: SuspendDetector,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) {
      return void socket.destroy();
    }
    // Nothing was asked yet: a browser that connects ahead would take an answer for that of its
    // next request.
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) {
      return void socket.destroy();
    }

    const isOurs =
      // Node looks for slow ones now and then.
      error.code === "ERR_HTTP_REQUEST_TIMEOUT" && stillness.endedWithin(2 * bounds.headMs);
    const trouble = isOurs ? stoodStill() : BROKEN_HTTP[error.code ?? ""]?.(bounds);

    const problem = problemOf(
      trouble ??
        new DureError("HTTP_INVALID", "This is no valid HTTP request.", { class: "input" }),
    );

    const body = JSON.stringify(problem);

    const head = [
      `HTTP/1.1 ${problem.status} ${problem.title}`,
      "content-type: application/problem+json",
      `content-length: ${Buffer.byteLength(body)}`,
      ...(isOurs ? [`retry-after: ${STOOD_STILL_RETRY_MS / 1_000}`] : []),
      "connection: close",
    ];

    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);

    socket.once(
      "close",
      clock.after(LINGER_MS, () => socket.destroy()),
    );
  };
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** How a refusal is told in another protocol's shape. Default: as problem JSON. */
    refusal?: (problem: ProblemJson) => object;
  }
  interface FastifyInstance {
    readonly auth: TokenStore;
    /** Who comes in, and a link for the person who starts it. */
    readonly doors: Doors;
    /** Answers without the port. */
    readonly web: WebHandler;
  }
}
