import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DureError, messageOf } from "../kernel/errors.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { Caller } from "../engine/api.ts";
import {
  assertMay,
  countedAs,
  decideOrigin,
  hasScope,
  isHostAllowed,
  isUnsafe,
  type Principal,
  type RouteScope,
} from "./access.ts";
import type { StrangerReason } from "./access-mode.ts";
import { assertUrlDecodes, boundBody } from "./body.ts";
import { boundsOf } from "./bounds.ts";
import { cookieFor } from "./doors.ts";
import type { KnownLogin } from "./logins.ts";
import { isLoopbackAddress } from "./names.ts";
import type { ServerParts } from "./server.ts";
import type { SseStream } from "./sse.ts";

export interface RequestLimits {
  /**
   * Requests per minute of one address that is not this machine's; of IPv6, of one /64 network.
   * Default 1 200.
   */
  readonly perAddress?: number | undefined;
  /**
   * Requests per minute of this machine's own addresses. Default 600 000: a brake for a runaway
   * loop, not for a benchmark.
   */
  readonly perLoopback?: number | undefined;
  /** Requests per minute with one token. Default as for the address it comes from. */
  readonly perToken?: number | undefined;
  /** Tries to log in per minute and address. Default 30. */
  readonly logins?: number | undefined;
}

/** An open stream asks this often whether its token still lives, milliseconds. */
const RECHECK_MS = 2_000;

/**
 * What happens before any route, in this order: closing? the right host? not too often? who? from
 * this origin? allowed? And one line of log behind it.
 */
export function guardRequests(app: FastifyInstance, parts: ServerParts): void {
  const { corsOrigins = [] } = parts;
  const rates = new Rates(app, parts);
  const knownPaths = new KnownPaths();

  app.decorateRequest("principal", null);
  app.decorateRequest("login", undefined);
  app.decorateRequest("turnId", undefined);
  app.decorateRequest("sessionId", undefined);
  app.addHook("onRoute", ({ url, method }) => knownPaths.add(url, method));

  app.addHook("onRequest", async (request, reply) => {
    logWhenClosed(parts, request, reply);
    // What people say stays out of caches.
    if (request.raw.url?.startsWith("/v1/")) reply.header("cache-control", "no-store");
    assertReachable(parts, request);
    await rates.countArrival(request);

    if (allowCors(request.headers.origin, corsOrigins, reply) && request.method === "OPTIONS") {
      return answerPreflight(reply);
    }

    assertUrlDecodes(request.raw.url ?? "");
    if (request.is404) return;

    await admit(parts, request, rates);
    if (request.routeOptions.config.stream) {
      parts.connections.openStream({ address: request.ip, token: tokenOf(request) }, reply.raw);
    }
  });

  const { bodyIdleMs } = boundsOf(parts.limits);
  app.addHook("preParsing", async (request) => boundBody(request, bodyIdleMs));

  app.addHook("onSend", async (request, reply) => {
    // A connection that stays would keep the process.
    if (parts.streams.isDraining) reply.header("connection", "close");
    await renewCookie(parts, request, reply);
  });

  app.setNotFoundHandler((request) => {
    throw notFound(request, knownPaths);
  });
}

/** Throws while the server closes, for a connection too many, and for a foreign `Host`. */
function assertReachable(parts: ServerParts, request: FastifyRequest): void {
  if (parts.streams.isDraining) throw draining();

  parts.connections.assertAllowed(request.raw);

  const { host } = request.headers;
  assertOneOfEach(request.raw.rawHeaders);
  assertSameHost(request.raw.url ?? "", host);
  if (!isHostAllowed(host, parts.allowedHosts ?? [])) throw hostNotAllowed(host);
}

/** Headers that decide who may do what: a proxy in front may have read the other one. */
const ONCE = ["host", "authorization"];

/** Throws `HEADER_TWICE`. Node passes the second one over. Source: RFC 9112 §3.2. */
function assertOneOfEach(rawHeaders: readonly string[]): void {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const twice = ONCE.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice === undefined) return;

  throw new DureError("HEADER_TWICE", `The request has more than one header ${twice}.`, {
    class: "input",
    hint: "Send it once.",
  });
}

/** An address that names a host of its own must name the one that `Host` names. */
function assertSameHost(url: string, host: string | undefined): void {
  if (url.startsWith("/") || url === "*") return;
  const named = URL.parse(url)?.host;
  if (named === undefined || named !== host?.toLowerCase()) throw hostNotAllowed(named ?? url);
}

/** Finds out who asks, and throws where the caller may not go. */
async function admit(parts: ServerParts, request: FastifyRequest, rates: Rates): Promise<void> {
  const scope = scopeOf(request);
  let because: StrangerReason | undefined;

  if (scope !== "public") {
    const identified = await parts.doors.identify(request);
    request.principal = identified.principal;
    if (identified.principal) request.login = identified.login;
    else because = identified.because;
  }

  if (request.principal && request.principal.proof !== "none") await rates.countToken(request);
  assertOrigin(request, parts.corsOrigins ?? []);
  assertMay(request.principal, scope, because);
}

/** 405 where another method is taken, else 404. */
function notFound(request: FastifyRequest, knownPaths: KnownPaths): DureError {
  const path = pathOf(request);
  const allow = knownPaths.methodsOf(path);

  if (allow.length === 0) {
    return new DureError("ROUTE_UNKNOWN", `There is nothing at ${path}.`, {
      class: "not-found",
      hint: "/openapi.json lists all routes.",
    });
  }

  return new DureError("METHOD_NOT_ALLOWED", `${path} does not take ${request.method}.`, {
    class: "input",
    hint: `It takes ${allow.join(", ")}.`,
    details: { allow },
  });
}

type RequestRateLimit = ReturnType<FastifyInstance["createRateLimit"]>;

/** Counts requests per minute: of an address, of a token, and tries to log in. */
class Rates {
  readonly #address: RequestRateLimit;
  readonly #login: RequestRateLimit;
  readonly #token: RequestRateLimit;

  constructor(app: FastifyInstance, { limits = {} }: ServerParts) {
    const timeWindow = 60_000;
    const bounds = boundsOf(limits);
    const keyGenerator = (request: FastifyRequest): string => countedAs(request.ip);
    const forAddress = (request: FastifyRequest): number =>
      isLoopbackAddress(request.ip) ? bounds.perLoopback : bounds.perAddress;
    this.#address = app.createRateLimit({ timeWindow, max: forAddress, keyGenerator });
    this.#login = app.createRateLimit({ timeWindow, max: bounds.logins, keyGenerator });

    this.#token = app.createRateLimit({
      timeWindow,
      max: (request) => limits.perToken ?? forAddress(request),
      keyGenerator: (request) => request.principal?.caller.name ?? keyGenerator(request),
    });
  }

  /** Before it is known who asks. Throws `RATE_LIMITED`. */
  async countArrival(request: FastifyRequest): Promise<void> {
    const route = request.routeOptions.url;
    const isProbe = route === "/healthz" || route === "/readyz";
    if (!isProbe) await assertWithin(this.#address, request);
    if (isLoginRoute(route)) await assertWithin(this.#login, request);
  }

  /** Throws `RATE_LIMITED`. */
  async countToken(request: FastifyRequest): Promise<void> {
    await assertWithin(this.#token, request);
  }
}

/** The caller of a request that passed `guardRequests`. */
export function callerOf({ principal }: FastifyRequest): Caller {
  return { ...principal!.caller, seesTools: hasScope(principal!, "admin") };
}

/**
 * Ends a stream whose reader would not be let in any more: the token is revoked, the login has
 * ended, or tokens are needed now. Returns how to stop looking.
 */
export function endWhenRevoked(
  { doors, clock }: ServerParts,
  request: FastifyRequest,
  stream: Pick<SseStream, "end">,
): () => void {
  const { principal } = request;
  if (!principal) return () => undefined;

  return clock.every(RECHECK_MS, () => {
    doors.stillIn(principal).then(
      (isStillIn) => isStillIn || stream.end(),
      () => undefined, // the store is away: nothing is known, the next look decides
    );
  });
}

/**
 * A login that is used gets another secret now and then. It is handed out as the answer leaves, so
 * that answers cannot overtake each other.
 */
async function renewCookie(
  { doors, logger }: ServerParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { login } = request;
  if (login?.rotates === undefined || reply.hasHeader("set-cookie")) return;

  try {
    const value = await doors.logins.rotate(login);
    if (value !== undefined) reply.header("set-cookie", cookieFor(request, value));
  } catch (error) {
    logger.warn(
      { request: request.id, login: login.id, error: messageOf(error) },
      "a login's cookie could not be renewed; the next answer tries again",
    );
  }
}

/** Where secrets are tried, or made. */
function isLoginRoute(route: string | undefined): boolean {
  return route === "/v1/login" || route === "/v1/login/links";
}

/**
 * Whose streams are counted together; undefined for the person at the machine, whose address counts
 * alone.
 */
function tokenOf({ principal }: FastifyRequest): string | undefined {
  return principal === null || principal.proof === "none" ? undefined : principal.caller.name;
}

function scopeOf(request: FastifyRequest): RouteScope {
  const { config, url } = request.routeOptions;
  return url === "/*" ? "public" : (config.scope ?? "admin");
}

function assertOrigin(request: FastifyRequest, corsOrigins: readonly string[]): void {
  const { host, origin, "sec-fetch-site": secFetchSite } = request.headers;
  const unsafe = isUnsafe(request.method, request.routeOptions.url);

  const from = {
    method: request.method,
    host,
    origin,
    secFetchSite: typeof secFetchSite === "string" ? secFetchSite : undefined,
  };

  const decision = decideOrigin(from, request.principal?.proof, { unsafe, corsOrigins });
  if (decision.allowed) return;

  throw new DureError("ORIGIN_NOT_ALLOWED", `The request is refused because ${decision.because}.`, {
    class: "forbidden",
    hint: "Call from dure's own page or with a token; list other pages' origins in `server.origins`.",
  });
}

async function assertWithin(count: RequestRateLimit, request: FastifyRequest): Promise<void> {
  const result = await count(request);
  if (result.isAllowed || !result.isExceeded) return;

  throw new DureError("RATE_LIMITED", `More than ${result.max} requests in a minute.`, {
    class: "limit",
    hint: "Wait as long as Retry-After says.",
    details: { retryAfterMs: result.ttl },
  });
}

/**
 * Lets pages of listed origins read answers. True if this is one of them. Cookies are not shared:
 * such a page sends a token.
 */
function allowCors(
  origin: string | undefined,
  corsOrigins: readonly string[],
  reply: FastifyReply,
): boolean {
  if (corsOrigins.length > 0) reply.header("vary", "origin");
  if (origin === undefined || !corsOrigins.includes(origin)) return false;

  reply.header("access-control-allow-origin", origin);
  reply.header("access-control-expose-headers", "turn-id, session-id, retry-after");

  return true;
}

function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .header("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE")
    .header(
      "access-control-allow-headers",
      "authorization, content-type, idempotency-key, last-event-id",
    )
    .header("access-control-max-age", "600")
    .code(204)
    .send();
}

/**
 * One line per request. The address is told without its query: a GET may carry a person's words
 * there.
 */
function logWhenClosed(
  { logger, clock }: ServerParts,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const startedAt = clock.monotonic();
  reply.raw.once("close", () => {
    const fields = {
      request: request.id,
      method: request.method,
      path: pathOf(request),
      status: reply.raw.statusCode,
      ms: Math.round(clock.monotonic() - startedAt),
      caller: request.principal?.caller.name ?? request.ip,
      ...onlyDefined({
        session: request.sessionId,
        turn: request.turnId,
        cut: reply.raw.writableFinished ? undefined : true,
      }),
    };

    const line = `${fields.method} ${fields.path} ${fields.status} in ${fields.ms} ms`;
    if (scopeOf(request) === "public") logger.debug(fields, line);
    else logger.info(fields, line);
  });
}

function pathOf(request: FastifyRequest): string {
  return (request.raw.url ?? "").split("?", 1)[0]!;
}

function draining(): DureError {
  return new DureError("SERVER_DRAINING", "This server is closing.", {
    class: "unavailable",
    hint: "Try again: another process or the next start answers.",
    details: { retryAfterMs: 1_000 },
  });
}

function hostNotAllowed(host: string | undefined): DureError {
  const said = host === undefined ? "is missing" : `names ${JSON.stringify(host)}`;
  return new DureError("HOST_NOT_ALLOWED", `The Host header ${said}, which is not this server.`, {
    class: "forbidden",
    hint: "Use 127.0.0.1 or localhost, or list the name in `server.allowedHosts`.",
  });
}

/** Which methods a path takes, to tell 405 from 404. */
class KnownPaths {
  readonly #routes: { pattern: RegExp; methods: readonly string[] }[] = [];

  add(url: string, method: string | string[]): void {
    if (url.includes("*")) return;

    const fixed = url.split(/:[A-Za-z_]+/);
    const escaped = fixed.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`^${escaped.join("[^/]+")}$`);
    this.#routes.push({ pattern, methods: [method].flat() });
  }

  methodsOf(path: string): readonly string[] {
    const fitting = this.#routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(fitting.flatMap(({ methods }) => methods))];
  }
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** Who may use the route. Without it only `admin` may. */
    scope?: RouteScope;
    /** It answers with a stream, which counts towards the limits of streams. */
    stream?: boolean;
  }
  interface FastifyRequest {
    /** Set before any handler of a route runs; null for a stranger on a public route. */
    principal: Principal | null;
    /** Of a request with a cookie. */
    login: KnownLogin | undefined;
    /** For the log. */
    turnId: string | undefined;
    sessionId: string | undefined;
  }
}
