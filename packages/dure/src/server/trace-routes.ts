import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { RebuiltRequest } from "../engine/replay/replays.ts";
import type { Json } from "../kernel/json.ts";
import type { TraceKind, TraceStepKind } from "../kernel/traces.ts";
import { onWire, type FromWire } from "../kernel/wire.ts";
import type { RoomPerson } from "../rooms/look/room-person.ts";
import {
  TraceAnswer,
  TracesAnswer,
  TracesQuery,
  TraceParams,
  TraceQuery,
  TraceTextsAnswer,
  TraceTextsParams,
  TraceTextsQuery,
} from "../wire/traces.ts";
import { assertMay, hasScope } from "./access.ts";
import { callerOf } from "./guard.ts";
import { mayFollow } from "./own-sessions.ts";
import { personOf } from "./room-routes.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { viewerOf, viewOf } from "./tenants.ts";
import {
  walkTrace,
  type ListedTrace,
  type TraceBook,
  type TracedThing,
  type TraceStep,
} from "./trace-walk.ts";

/** What began what, over rooms, turns, jobs and runs. Source: docs/spec/platform §3. */
export const traceRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { traces: book } = parts;
  if (!book) return;
  manyTraces(app, parts, book);
  oneTrace(app, parts, book);
  textsOfTrace(app, parts, book);
};

/** What may not be seen is left out of a page, which is shorter then. */
function manyTraces(app: RouteApp, parts: ServerParts, book: TraceBook): void {
  app.get(
    "/v1/traces",
    {
      config: { scope: "chat" },
      schema: {
        tags: ["events"],
        summary:
          "Turns, jobs and runs, newest first; each begins a trace or stands in one. A page may be " +
          "short: next_cursor goes on behind what it has looked through",
        querystring: TracesQuery,
        response: { 200: TracesAnswer, ...problems(400, 401, 403) },
      },
    },
    async (request) => {
      const { min_micro_usd: minMicroUsd, ...asked } = request.query;
      const seeing = { request, parts, who: whoOf(request, parts, undefined) };
      const filter = { ...asked, minMicroUsd, tenant: viewOf(request) };
      const { items, nextCursor } = await book.list(filter);
      const shown: Omit<ListedTrace, "tenant" | "session" | "job">[] = [];
      for (const { tenant, session, job, ...line } of items) {
        const thing = { ...line, tenant, session, job, place: null, agents: [] };
        if (await maySeeThing(thing, seeing)) shown.push(line);
      }
      return onWire<z.output<typeof TracesAnswer>>({ items: shown, nextCursor });
    },
  );
}

function oneTrace(app: RouteApp, parts: ServerParts, book: TraceBook): void {
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
      const inside = await book.stepsOf(trace.items.filter(({ kind }) => kind === "turn"));
      const isCut = trace.isCut || inside.isCut;
      const steps = inside.steps.filter(({ kind }) => maySeeStep(kind, request)).map(shownStep);

      return onWire<z.output<typeof TraceAnswer>>({ asked: id, items, steps, isCut });
    },
  );
}

/** Tools and steps are shown to those who see all of a service. */
function maySeeStep(kind: TraceStepKind, request: FastifyRequest): boolean {
  const isOpen = kind === "agent" || kind === "model" || kind === "wait";
  return isOpen || viewerOf(request).seesTools === true;
}

function shownStep({ promptHash: _promptHash, ...shown }: TraceStep) {
  return shown;
}

/** Texts of things by those who may read them, and of steps by administrators: they hold prompts. */
function textsOfTrace(app: RouteApp, parts: ServerParts, book: TraceBook): void {
  app.get(
    "/v1/traces/:id/texts",
    {
      config: { scope: "chat" },
      schema: {
        tags: ["events"],
        summary: "What went into one thing of a trace, or one step of a turn, and what came out",
        params: TraceTextsParams,
        querystring: TraceTextsQuery,
        response: { 200: TraceTextsAnswer, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { at, as_person: asPerson } = request.query;
      if (at !== undefined) assertMay(request.principal, "admin");
      const thing = await book.find(id);
      const seeing = { request, parts, who: whoOf(request, parts, asPerson) };
      if (!thing || !(await maySeeThing(thing, seeing))) throw traceUnknown(id);
      const { input, output } = await book.textsOf(thing, at);
      const asked =
        at === undefined ? NO_PROMPT : await promptAt(thing, at, { request, parts, book });

      return onWire<z.output<typeof TraceTextsAnswer>>({ args: input, result: output, ...asked });
    },
  );
}

type AskedPrompt = Pick<FromWire<z.output<typeof TraceTextsAnswer>>, "prompt" | "noPrompt">;
const NO_PROMPT: AskedPrompt = { prompt: null, noPrompt: null };

/** The request of a call of a model, made again: nothing of it is stored but its hash. */
async function promptAt(
  thing: TracedThing,
  place: string,
  { request, parts, book }: { request: FastifyRequest; parts: ServerParts; book: TraceBook },
): Promise<AskedPrompt> {
  const { steps } = await book.stepsOf([thing]);
  const step = steps.find((one) => one.place === place);
  if (step?.kind !== "model" || !parts.replays) return NO_PROMPT;
  try {
    const requests = await parts.replays.requests(thing.id, viewerOf(request));
    const asked = requests.get(place);
    if (!asked) return { prompt: null, noPrompt: "REPLAY_REFUSED" };
    return { prompt: promptOf(asked, step.promptHash), noPrompt: null };
  } catch (error) {
    if (!(error instanceof DureError)) throw error;
    return { prompt: null, noPrompt: error.code };
  }
}

/** The parts of a request: what was said before, data of the turn, the message, and its work since. Pure. */
function promptOf(
  { request, turnFrom, hash }: RebuiltRequest,
  sent: string | null,
): AskedPrompt["prompt"] {
  const { system = "", messages, tools = [] } = request;
  const said = messages.findIndex(({ role }, at) => at >= (turnFrom ?? 0) && role !== "user");
  const message = (said < 0 ? messages.length : said) - 1;
  const partOf = (at: number) => {
    if (at > message) return "work" as const;
    if (at === message) return "message" as const;
    return at < (turnFrom ?? message) ? ("history" as const) : ("context" as const);
  };
  return {
    system,
    messages: messages.map((one, at) => ({ part: partOf(at), data: one as unknown as Json })),
    tools: tools.map(({ name }) => name),
    isAsSent: hash === sent,
  };
}

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
