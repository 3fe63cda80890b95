import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { TenantView } from "../kernel/tenant.ts";
import { toWire } from "../kernel/wire.ts";
import { gitRef } from "../plans/plan-schema.ts";
import type { PlanChoice } from "../plans/run/plan-library.ts";
import type { RunFrame } from "../plans/run/run-queries.ts";
import { isRunEnded } from "../plans/run/run.ts";
import { hasScope } from "./access.ts";
import { doneTo } from "./audit.ts";
import { boundsOf } from "./bounds.ts";
import { readEventPosition } from "./event-source.ts";
import { callerOf } from "./guard.ts";
import {
  detailToWire,
  DiffJson,
  ListedRunJson,
  PlanViewJson,
  RunDetailJson,
  RunJson,
  runStatus,
  runToWire,
  viewToWire,
} from "./plan-json.ts";
import {
  act,
  does,
  mayReachOut,
  name,
  planFile,
  portIds,
  read,
  repository,
  runParams,
  tags,
  whileAsked,
  type PlannedDeed,
  type PlanRouteParts,
} from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";
import { eventFrame, frame } from "./sse.ts";
import { answerWithStream, writeFrames } from "./stream-answer.ts";
import { viewOf } from "./tenants.ts";
import { ResumeHeaders, ResumeQuery } from "../wire/turns.ts";

const StartBody = z
  .object({
    plan: name.optional().meta({
      description: "Name or file of a plan in the team's folder `plans`. Either this or `text`.",
    }),
    text: z
      .string()
      .min(1)
      .optional()
      .meta({
        description:
          "A plan that is no file there; it is checked as one. What reaches beyond its tree " +
          "(`isolation: audit`, `env`, `writable`, `allow_home`, hosts) needs the scope admin. " +
          "`isolation: audit` and `allow_home` need plans:unconfined as well, also in a file of the " +
          "team.",
      }),
    file: planFile.optional().meta({
      description: "What `text` would be called: .yaml, .json or .md. Default plan.yaml.",
    }),
    base: gitRef.optional().meta({
      description: "A branch, a tag or a commit to begin from, instead of the plan's `base`.",
    }),
    repository,
    only: portIds.optional().meta({ description: "Only these ports and what they need." }),
    from: portIds.optional().meta({
      description: "These ports and what needs them; what they need is taken as done at the base.",
    }),
    dry_run: z
      .boolean()
      .optional()
      .meta({ description: "Begins nothing; says what would be done." }),
  })
  .superRefine(({ plan, text, file }, context) => {
    if ((plan === undefined) === (text === undefined)) {
      context.addIssue({
        code: "custom",
        path: ["plan"],
        message: "either `plan` or `text` is needed, and not both",
      });
    }
    if (file !== undefined && text === undefined) {
      context.addIssue({
        code: "custom",
        path: ["file"],
        message: "is the name of a `text`, and there is none",
      });
    }
  });

const StartHeaders = z.looseObject({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, "must be 1–255 visible ASCII characters")
    .optional()
    .meta({
      description:
        "Holds as long as the run is kept, per caller: the same body gives the same run, another " +
        "body is 422.",
    }),
});

const RunsQuery = z.object({
  plan: name.optional(),
  status: runStatus.optional(),
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().max(100).optional(),
});

const RunStream = {
  description:
    "SSE. First `event: run` with the whole run, then its events (`data:` is the envelope of " +
    "/v1/events) until run.end. With Last-Event-ID only what came behind it; `event: reset` says " +
    "that older events are gone.",
  content: { "text/event-stream": { schema: z.string() } },
};
const NOTHING = z.null().meta({ description: "It has ended, and all was read." });

/** Runs of plans: begun, listed, watched, merged. */
export function runRoutes(app: RouteApp, parts: PlanRouteParts): void {
  startRun(app, parts);
  listRuns(app, parts);
  readRun(app, parts);
  streamRun(app, parts);
  diffRun(app, parts);
  mergeRun(app, parts);
}

function startRun(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs",
    {
      config: { ...act, audit: begun },
      bodyLimit: boundsOf(parts.limits).planBytes,
      schema: {
        tags,
        summary: "Begins a run of a plan; with dry_run only says what would be done",
        headers: StartHeaders,
        body: StartBody,
        response: {
          200: PlanViewJson,
          202: RunJson,
          ...problems(400, 401, 403, 404, 409, 413, 422),
        },
      },
    },
    async (request, reply) => {
      const choice = choiceOf(request);
      if (request.body.dry_run) {
        const view = await library.dryRun(choice, { signal: whileAsked(reply, parts) });
        return reply.code(200).send(viewToWire(view));
      }

      const caller = callerOf(request);
      const given = request.headers["idempotency-key"];
      const wish = {
        ...choice,
        mayRunUnconfined: mayRunUnconfined(request),
        tenant: caller.tenant,
        by: caller.name,
        key: given === undefined ? undefined : `http:${caller.name}:${given}`,
      };
      const run = await library.start(wish, { signal: closing });
      const opened = library.opensNetwork(run).map((of) => `${run.id} network: open for ${of}`);
      doneTo(request, run.id, ...opened);
      return reply.code(202).send(runToWire(run));
    },
  );
}

function listRuns(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.get(
    "/v1/runs",
    {
      config: read,
      schema: {
        tags,
        summary: "Runs, newest first",
        querystring: RunsQuery,
        response: {
          200: z.object({ items: z.array(ListedRunJson), next_cursor: z.string().nullable() }),
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { items, nextCursor } = await runs.list({ ...request.query, tenant: viewOf(request) });
      return {
        items: items.map((run) => ({ ...runToWire(run), counts: { ...run.counts } })),
        next_cursor: nextCursor,
      };
    },
  );
}

function readRun(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.get(
    "/v1/runs/:id",
    {
      config: read,
      schema: {
        tags,
        summary: "One run with its plan and its ports",
        params: runParams,
        response: { 200: RunDetailJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) =>
      detailToWire(
        await runs.detail(request.params.id, { tenant: viewOf(request) }),
        parts.clock.now(),
      ),
  );
}

function streamRun(app: RouteApp, parts: PlanRouteParts): void {
  const { runs } = parts.plans;
  app.get(
    "/v1/runs/:id/events",
    {
      config: { ...read, stream: true },
      schema: {
        tags,
        summary: "How a run stands, then what happens to it until it has ended",
        params: runParams,
        headers: ResumeHeaders,
        querystring: ResumeQuery,
        response: { 200: RunStream, 204: NOTHING, ...problems(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const tenant = viewOf(request);
      const { id } = request.params;
      const after = readEventPosition(
        request.headers["last-event-id"] || request.query.last_event_id,
      );
      const run = await runs.get(id, { tenant });
      if (after !== undefined && isRunEnded(run.status)) {
        const isRead = await isEmpty(runs.stream(id, { tenant, after }));
        if (isRead) return reply.code(204).send(null);
      }

      await answerWithStream(parts, request, reply, {
        what: "a run",
        firstFrame: `: run ${id}\n\n`,
        send: (stream) => {
          const frames = runs.stream(id, { tenant, after, signal: stream.signal });
          return writeFrames(stream, frames, (item) => frameOf(item, parts.clock.now(), tenant));
        },
      });
    },
  );
}

function diffRun(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library } = parts;
  app.get(
    "/v1/runs/:id/diff",
    {
      config: read,
      schema: {
        tags,
        summary: "What the result of a run changes against its base",
        params: runParams,
        response: { 200: DiffJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const options = { tenant: viewOf(request), signal: whileAsked(reply, parts) };
      const diff = await library.diff(request.params.id, undefined, options);
      return toWire(diff) as z.infer<typeof DiffJson>;
    },
  );
}

function mergeRun(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs/:id/merge",
    {
      config: does("run.merge"),
      schema: {
        tags,
        summary:
          "Takes the result of a run over into a branch of the user's repository, with its files where " +
          "the branch is checked out",
        params: runParams,
        body: z
          .object({
            into: z.string().min(1).max(250).optional().meta({
              description:
                "A branch. Default: the plan's base, else the branch that the repository stands at.",
            }),
          })
          .nullish(),
        response: {
          200: z.object({
            kind: z.enum(["merged", "fast-forward", "already"]),
            target: z.string(),
            commit: z.string(),
            updated: z
              .string()
              .nullable()
              .meta({ description: "The working tree whose files were updated." }),
          }),
          ...problems(400, 401, 403, 404, 409),
        },
      },
    },
    async (request) => {
      // A merge is finished also when the caller has left.
      const { kind, target, commit, updated } = await library.merge(request.params.id, {
        into: request.body?.into,
        tenant: viewOf(request),
        mayReachOut: mayReachOut(request),
        signal: closing,
      });
      return { kind, target, commit, updated: updated ?? null };
    },
  );
}

/** The plan that a request chooses, and what of it. */
function choiceOf(request: FastifyRequest): PlanChoice {
  const {
    plan = "",
    text,
    file = "plan.yaml",
    dry_run: _isDry,
    ...rest
  } = request.body as z.output<typeof StartBody>;
  return {
    ...rest,
    source: text === undefined ? { name: plan } : { file, text },
    mayReachOut: mayReachOut(request),
  };
}

/** The run has no id yet. */
function begun({ body }: FastifyRequest): PlannedDeed | undefined {
  const { plan, file, dry_run } = body as z.infer<typeof StartBody>;
  return dry_run === true ? undefined : { what: "run.start", subject: plan ?? file ?? "" };
}

/** Only a token identifies who takes protection away; a caller without one may be a worker. */
function mayRunUnconfined({ principal }: FastifyRequest): boolean {
  return (
    principal !== null &&
    ["bearer", "cookie"].includes(principal.proof) &&
    hasScope(principal, "plans:unconfined")
  );
}

async function isEmpty(frames: AsyncIterable<RunFrame>): Promise<boolean> {
  for await (const _ of frames) return false;
  return true;
}

function frameOf(item: RunFrame, now: number, view: TenantView): string | Buffer {
  switch (item.kind) {
    case "run":
      return frame("run", detailToWire(item.run, now), item.position);
    case "event":
      return eventFrame(item.event, view);
    case "reset":
      return frame("reset", { oldest: item.oldest });
  }
}
