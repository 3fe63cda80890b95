import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { messageOf } from "../kernel/errors.ts";
import type { EventFilter, EventRole } from "../kernel/platform-events.ts";
import { assertOfAllTenants, hasScope, type Principal } from "./access.ts";
import { readEventPosition, type EventSource } from "./event-source.ts";
import { callerOf } from "./guard.ts";
import { NotReady, problems, splitList } from "./schemas.ts";
import type { Health, RouteApp, ServerParts } from "./server.ts";
import { mayFollow } from "./own-sessions.ts";
import { eventFrame, frame, type SseStream } from "./sse.ts";
import { answerWithStream, writeFrames } from "./stream-answer.ts";
import { keyOfSession, viewOf } from "./tenants.ts";
import type { PlatformEvent } from "../wire/events.ts";
import {
  EventsQuery,
  HealthAnswer,
  MeAnswer,
  PlatformEventStream,
  ReadyAnswer,
  ReloadAnswer,
} from "../wire/platform.ts";
import { ResumeHeaders } from "../wire/turns.ts";
import type { Scope } from "../kernel/access.ts";
import { onlyDefined } from "../kernel/json.ts";
import { toWire } from "../kernel/wire.ts";

/** The event log, who one is, and how the process is. Source: docs/spec/platform §3, §6. */
export const platformRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  streamEvents(app, parts);
  describeCaller(app, parts);
  answerHealth(app, parts);
  answerReadiness(app, parts);
  printMetrics(app, parts);
  reloadTeam(app, parts);
  describeApi(app);
};

function streamEvents(app: RouteApp, parts: ServerParts): void {
  const { events } = parts;
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

      await answerWithStream(parts, request, reply, {
        what: "events",
        firstFrame: `: events\nid: ${after}\n\n`,
        send: (stream) => {
          if (request.query.people !== undefined) sendPeople(parts, request, stream);
          const items = events.follow(filter, { after, signal: stream.signal });
          return writeFrames(stream, items, async (item) => {
            if (item.kind === "reset") return frame("reset", { oldest: item.oldest });
            const isShown =
              mayRead(principal, filter, item.event) &&
              (await parts.members.mayKnow(principal, item.event));
            return isShown ? eventFrame(item.event, view) : undefined;
          });
        },
      });
    },
  );
}

/** Who is in the rooms that the caller may see; a reader with a full buffer hears the next change. */
function sendPeople({ rooms }: ServerParts, request: FastifyRequest, stream: SseStream): void {
  const view = viewOf(request);
  const { room } = request.query as z.output<typeof EventsQuery>;
  if (!hasScope(request.principal!, "rooms")) return;

  rooms?.people.follow(({ tenant, people }) => {
    const isSeen = (view === null || tenant === view) && (room ?? people.room) === people.room;
    if (isSeen && !stream.isFull) stream.write(frame("people", toWire(people)));
  }, stream.signal);
}

function describeCaller(app: RouteApp, parts: ServerParts): void {
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
      access: await parts.doors.mode(),
      scopes: [...request.principal!.scopes],
      person: request.principal!.person ?? null,
      dev_mode: parts.devMode,
      locale: parts.locale,
      model: parts.model ?? "offline",
    }),
  );
}

function answerHealth(app: RouteApp, parts: ServerParts): void {
  app.route({
    method: ["GET", "HEAD"],
    url: "/healthz",
    config: { scope: "public" },
    schema: {
      tags: ["operation"],
      summary: "Whether the process answers",
      response: { 200: HealthAnswer },
    },
    handler: async () => ({
      status: "ok" as const,
      version: parts.version,
      process_id: parts.processId,
    }),
  });
}

function answerReadiness(app: RouteApp, parts: ServerParts): void {
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
      const principal = await callerOfPublicRoute(request, parts);
      const detailed = principal !== null && hasScope(principal, "admin");

      return reply
        .code(health.ready ? 200 : 503)
        .send(detailed ? copyOf(health) : withoutDetails(health));
    },
  });
}

function printMetrics(app: RouteApp, parts: ServerParts): void {
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
}

function reloadTeam(app: RouteApp, { reload }: ServerParts): void {
  if (!reload) return;
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

function describeApi(app: RouteApp): void {
  app.get("/openapi.json", { config: { scope: "public" }, schema: { hide: true } }, async () =>
    app.swagger(),
  );
}

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
  const query = request.query as z.output<typeof EventsQuery>;
  const { types, run, room, job, role } = query;

  return {
    tenant: viewOf(request) ?? undefined,
    ...onlyDefined({
      types: types === undefined ? undefined : splitList(types),
      session: keyOfSession(request, query.session),
      run,
      room,
      job,
      role,
    }),
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

/** Who asks on a public route. Null without a token, and with a bad one. */
async function callerOfPublicRoute(
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
