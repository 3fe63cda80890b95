import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { TraceKind } from "../kernel/traces.ts";
import { onWire } from "../kernel/wire.ts";
import type { RoomPerson } from "../rooms/look/room-person.ts";
import { TraceAnswer, TraceParams, TraceQuery } from "../wire/traces.ts";
import { hasScope } from "./access.ts";
import { callerOf } from "./guard.ts";
import { mayFollow } from "./own-sessions.ts";
import { personOf } from "./room-routes.ts";
import { problems } from "./schemas.ts";
import type { ServerParts } from "./server.ts";
import { viewOf } from "./tenants.ts";
import { walkTrace, type TracedThing } from "./trace-walk.ts";

/** What began what, over rooms, turns, jobs and runs. Source: docs/spec/platform §3. */
export const traceRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { traces: book } = parts;
  if (!book) return;
  app.get(
    "/v1/traces/:id",
    {
      config: { scope: "chat" },
      schema: {
        tags: ["events"],
        summary:
          "What began a turn, a job, a run, a message or a request, and all that it began; only " +
          "what the caller may read",
        params: TraceParams,
        querystring: TraceQuery,
        response: { 200: TraceAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const who = whoOf(request, parts, request.query.as_person);
      const maySee = (thing: TracedThing): Promise<boolean> =>
        maySeeThing(thing, { request, parts, who });
      const trace = await walkTrace(id, { book, maySee });
      if (!trace) throw traceUnknown(id);
      const items = trace.items.map(({ tenant: _tenant, job: _job, ...shown }) => shown);

      return onWire<z.output<typeof TraceAnswer>>({ asked: id, items, isCut: trace.isCut });
    },
  );
};

/** Who reads the rooms; the empty name is no person's. */
function whoOf(
  request: FastifyRequest,
  { rooms }: ServerParts,
  asPerson: string | undefined,
): RoomPerson {
  const isNamed = asPerson !== undefined || request.principal!.person !== undefined;
  if (rooms && isNamed) return personOf(request, rooms, asPerson);
  return { tenant: callerOf(request).tenant, seesAll: viewOf(request) === null, person: "" };
}

interface Seeing {
  readonly request: FastifyRequest;
  readonly parts: ServerParts;
  readonly who: RoomPerson;
}

type VisibilityRule = (thing: TracedThing, seeing: Seeing) => boolean | Promise<boolean>;

const ofPlans: VisibilityRule = (_, { request }) => hasScope(request.principal!, "plans:read");
const ofPlace: VisibilityRule = ({ place }, seeing) =>
  hasScope(seeing.request.principal!, "rooms") && maySeePlace(place, seeing);

/** Each thing by the rules of the route that reads it. */
const RULES: Readonly<Record<TraceKind, VisibilityRule>> = {
  turn: ({ session }, { request: { principal }, parts }) =>
    mayFollow(principal!, session ?? "") &&
    parts.members.mayKnow(principal!, { session: session ?? "" }),
  job: ({ id }, { request: { principal }, parts }) =>
    hasScope(principal!, "jobs") && parts.members.mayKnow(principal!, { job: id }),
  run: ofPlans,
  port: ofPlans,
  message: ofPlace,
  request: ofPlace,
  escalation: ({ session, place, job }, { request: { principal }, parts }) => {
    const of = { session: session ?? "", room: place ?? "", job: job ?? undefined };
    return hasScope(principal!, "chat") && parts.members.mayKnow(principal!, of);
  },
};

async function maySeeThing(thing: TracedThing, seeing: Seeing): Promise<boolean> {
  const view = viewOf(seeing.request);
  if (view !== null && view !== thing.tenant) return false;

  return RULES[thing.kind](thing, seeing);
}

async function maySeePlace(
  place: string | null,
  { parts: { rooms }, who }: Seeing,
): Promise<boolean> {
  if (!rooms || place === null) return false;
  try {
    await rooms.place(place, who);
    return true;
  } catch (error) {
    if (codeOf(error) === "PLACE_UNKNOWN") return false;
    throw error;
  }
}

function traceUnknown(id: string): DureError {
  return new DureError("TRACE_UNKNOWN", `Nothing is known of "${id}".`, {
    class: "not-found",
    hint: "It may be too old: what is kept for how long stands under `retention`.",
  });
}
