import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { messageOf } from "../kernel/errors.ts";
import type { EventFilter, EventRole, PlatformEvent } from "../kernel/platform-events.ts";
import { assertOfAllTenants, hasScope, type Principal } from "./access.ts";
import { readEventPosition, type EventSource } from "./event-source.ts";
import { callerOf, endWhenRevoked } from "./guard.ts";
import {
  EventsQuery,
  HealthAnswer,
  MeAnswer,
  PlatformEventStream,
  NotReady,
  problems,
  ReadyAnswer,
  ReloadAnswer,
  ResumeHeaders,
  splitList,
} from "./schemas.ts";
import type { Health, ServerParts } from "./server.ts";
import { mayFollow } from "./own-sessions.ts";
import { eventFrame, frame } from "./sse.ts";
import { keyOfSession, viewOf } from "./tenants.ts";
import type { Scope } from "./token-store.ts";

/** The event log, who one is, and how the process is. Source: docs/spec/platform §3, §6. */
export const platformRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { doors, events, streams, logger } = parts;

  app.get(
    "/v1/events",
    {
      config: { scope: "known", stream: true },
      schema: {
        tags: ["events"],
        summary: "All that happens, from one durable log",
        headers: ResumeHeaders,
        querystring: EventsQuery,
        response: { 200: PlatformEventStream, ...problems(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const principal = request.principal!;
      const filter = filterOf(request);
      const view = viewOf(request);
      const given = readEventPosition(
        request.headers["last-event-id"] || request.query.last_event_id,
      );
      // Where it begins is told at once: a reader that is cut off before the first event comes back
      // to here.
      const after = given ?? (await beginOf(events, request.query.last, filter));

      reply.hijack();
      const stream = streams.open(
        reply.raw,
        reply.getHeaders() as OutgoingHttpHeaders,
        `: events\nid: ${after}\n\n`,
      );
      const cancel = endWhenRevoked(parts, request, stream);
      try {
        for await (const item of events.follow(filter, { after, signal: stream.signal })) {
          if (stream.ended) break;
          if (item.kind === "reset") stream.write(frame("reset", { oldest: item.oldest }));
          else if (mayRead(principal, filter, item.event)) {
            stream.write(eventFrame(item.event, view));
          }
          if (stream.isFull) await stream.roomAgain();
        }
        stream.end();
      } catch (error) {
        if (!stream.ended) {
          logger.warn(
            { request: request.id, error: messageOf(error) },
            "stream of events broke; its reader is asked to come back",
          );
        }
        stream.end("retry: 1000\n\n");
      } finally {
        cancel();
      }
      if (stream.wasCut) {
        logger.warn(
          { request: request.id },
          "reader of events was cut off because it did not read; it can resume",
        );
      }
    },
  );

  app.get(
    "/v1/me",
    {
      config: { scope: "known" },
      schema: {
        tags: ["access"],
        summary: "Who one is here",
        response: { 200: MeAnswer, ...problems(401) },
      },
    },
    async (request) => ({
      auth: request.principal!.proof === "none" ? ("open" as const) : ("token" as const),
      access: await doors.mode(),
      scopes: [...request.principal!.scopes],
      person: request.principal!.person ?? null,
      dev_mode: parts.devMode,
      locale: parts.locale,
    }),
  );

  app.route({
    method: ["GET", "HEAD"],
    url: "/healthz",
    config: { scope: "public" },
    schema: {
      tags: ["operation"],
      summary: "Whether the process answers",
      response: { 200: HealthAnswer },
    },
    handler: async () => ({ status: "ok" as const, version: parts.version }),
  });

  app.route({
    method: ["GET", "HEAD"],
    url: "/readyz",
    config: { scope: "public" },
    schema: {
      tags: ["operation"],
      summary: "Whether it can work, and if not, why",
      response: { 200: ReadyAnswer, 503: NotReady },
    },
    handler: async (request, reply) => {
      const health = await checkHealth(parts);
      const principal = await stranger(request, parts);
      const detailed = principal !== null && hasScope(principal, "admin");
      return reply
        .code(health.ready ? 200 : 503)
        .send(detailed ? copyOf(health) : withoutDetails(health));
    },
  });

  app.get(
    "/metrics",
    {
      config: { scope: "admin" },
      schema: {
        tags: ["operation"],
        summary: "Prometheus text",
        response: {
          200: { description: "Metrics", content: { "text/plain": { schema: z.string() } } },
        },
      },
    },
    async (request, reply) => {
      assertOfAllTenants(callerOf(request), "METRICS_NOT_ALLOWED", "read the metrics");
      const text = await parts.metrics();
      return reply.type("text/plain; version=0.0.4; charset=utf-8").serializer(String).send(text);
    },
  );

  const { reload } = parts;
  if (reload) {
    app.post(
      "/v1/reload",
      {
        config: { scope: "admin", audit: () => ({ what: "team.reload", subject: "team" }) },
        schema: {
          tags: ["operation"],
          summary:
            "Reads configuration, agents, personas and services anew; turns that run finish on theirs",
          response: { 200: ReloadAnswer, ...problems(400, 401, 403, 409) },
        },
      },
      async (request) => {
        assertOfAllTenants(callerOf(request), "RELOAD_NOT_ALLOWED", "reload the team");
        const { services, agents, restart } = await reload();
        return { services: [...services], agents: [...agents], restart: [...restart] };
      },
    );
  }

  app.get("/openapi.json", { config: { scope: "public" }, schema: { hide: true } }, async () =>
    app.swagger(),
  );
};

/**
 * From now on, or from before the newest `last` events. A reader that comes back says its place
 * itself, and `last` is passed over.
 */
async function beginOf(
  events: EventSource,
  last: number | undefined,
  filter: EventFilter,
): Promise<string> {
  return last === undefined || last === 0 ? events.now() : events.beforeLast(last, filter);
}

/**
 * What a request asks for, within what its tenant has: another tenant's session, job or run has no
 * events for it, as one that does not exist.
 */
function filterOf(request: FastifyRequest): EventFilter {
  const {
    types,
    session: named,
    run,
    room,
    job,
    role,
  } = request.query as z.output<typeof EventsQuery>;
  const session = keyOfSession(request, named);
  return {
    tenant: viewOf(request) ?? undefined,
    ...(types === undefined ? {} : { types: splitList(types) }),
    ...(session === undefined ? {} : { session }),
    ...(run === undefined ? {} : { run }),
    ...(room === undefined ? {} : { room }),
    ...(job === undefined ? {} : { job }),
    ...(role === undefined ? {} : { role }),
  };
}

/** Scopes of which one is needed to read the events of a role. */
const SCOPES_OF_ROLE = {
  conversation: ["chat"],
  delegation: ["rooms", "jobs"],
  orchestration: ["plans:read"],
  system: ["admin"],
} as const satisfies Record<EventRole, readonly Scope[]>;

/**
 * Whether an event may be shown: those of one's own session with `chat`, others by their role; what
 * is said in sessions of dure's own with their scope.
 */
function mayRead(principal: Principal, filter: EventFilter, event: PlatformEvent): boolean {
  if (filter.session !== undefined && mayFollow(principal, filter.session)) return true;
  if (
    event.role === "conversation" &&
    event.session !== undefined &&
    !mayFollow(principal, event.session)
  ) {
    return false;
  }
  return SCOPES_OF_ROLE[event.role].some((scope) => hasScope(principal, scope));
}

/** Who asks on a public route, if they can say so; a bad token is nobody here. */
async function stranger(
  request: FastifyRequest,
  { doors }: ServerParts,
): Promise<Principal | null> {
  try {
    return (await doors.identify(request)).principal;
  } catch {
    return null;
  }
}

async function checkHealth({ health }: ServerParts): Promise<Health> {
  try {
    return await health();
  } catch (error) {
    return { ready: false, checks: { health: { ok: false, detail: messageOf(error) } } };
  }
}

function copyOf({ ready, checks }: Health): z.input<typeof ReadyAnswer> {
  return { ready, checks: { ...checks } };
}

function withoutDetails({ ready, checks }: Health): z.input<typeof ReadyAnswer> {
  return {
    ready,
    checks: Object.fromEntries(Object.entries(checks).map(([name, { ok }]) => [name, { ok }])),
  };
}
