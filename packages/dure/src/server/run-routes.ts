import { isRunOver } from "../kernel/plans.ts";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { TenantView } from "../kernel/tenant.ts";
import { DureError } from "../kernel/errors.ts";
import { onWire } from "../kernel/wire.ts";
import type { PlanChoice } from "../plans/runs/plan-library.ts";
import type { RunFilter, RunFrame } from "../plans/runs/run-queries.ts";
import { shownDetail, shownPlan, shownRun } from "../plans/runs/shown.ts";
import { PlanViewJson } from "../wire/plans.ts";
import {
  ApprovalsAnswer,
  DiffJson,
  MergeAnswer,
  PublishAnswer,
  RunApproveBody,
  RunBody,
  RunDetailJson,
  RunHeaders,
  RunIsRead,
  RunJson,
  RunMergeBody,
  RunParams,
  RunPublishBody,
  RunUndoBody,
  RunsAnswer,
  RunsQuery,
  RunStream,
  UndoAnswer,
} from "../wire/runs.ts";
import { hasScope } from "./access.ts";
import { doneTo } from "./audit.ts";
import { boundsOf } from "./bounds.ts";
import { readEventPosition } from "./event-source.ts";
import { actorOf } from "./actor.ts";
import { callerOf } from "./guard.ts";
import { leavingRun, yesTo } from "./leaving-routes.ts";
import {
  act,
  delivers,
  read,
  tags,
  shareOf,
  whileAsked,
  workAsked,
  type PlannedDeed,
  type PlanRouteParts,
} from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";
import { eventFrame, frame } from "./sse.ts";
import { answerWithStream, writeFrames } from "./stream-answer.ts";
import { viewOf } from "./tenants.ts";
import { ResumeHeaders, ResumeQuery } from "../wire/turns.ts";

/** Runs of plans: begun, listed, watched, merged. */
export function runRoutes(app: RouteApp, parts: PlanRouteParts): void {
  startRun(app, parts);
  listRuns(app, parts);
  readRun(app, parts);
  streamRun(app, parts);
  diffRun(app, parts);
  leavingRun(app, parts);
  mergeRun(app, parts);
  undoRun(app, parts);
  publishRun(app, parts);
  approveRun(app, parts);
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
        headers: RunHeaders,
        body: RunBody,
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
        const view = await library.dryRun(choice, workAsked(request, reply, parts));
        return reply.code(200).send(onWire<PlanViewJson>(shownPlan(view)));
      }

      const caller = callerOf(request);
      const given = request.headers["idempotency-key"];

      const wish = {
        ...choice,
        mayRunUnconfined: mayRunUnconfined(request),
        by: actorOf(request),
        key: given === undefined ? undefined : storedKey(caller, given),
      };

      const run = await library.start(wish, { share: shareOf(request), signal: closing });
      const opened = library.opensNetwork(run).map((of) => `${run.id} network: open for ${of}`);
      doneTo(request, run.id, ...opened);

      const shown = shownRun(run, library.repositoryFor(viewOf(request)));
      return reply.code(202).send(onWire<RunJson>(shown));
    },
  );
}

/** A key is its caller's own. */
function storedKey({ name }: { readonly name: string }, given: string): string {
  return `http:${name}:${given}`;
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
          200: RunsAnswer,
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { items, nextCursor } = await runs.list(filterOf(request, request.query));
      const prefix = storedKey(callerOf(request), "");
      const { key, key_prefix } = request.query;
      const repository = parts.plans.repositoryFor(viewOf(request));
      const hasKeys = key !== undefined || key_prefix !== undefined;
      return onWire<z.output<typeof RunsAnswer>>({
        items: items.map((run) => ({
          ...shownRun(run, repository),
          counts: run.counts,
          key: hasKeys ? run.key?.slice(prefix.length) : undefined,
        })),
        nextCursor,
      });
    },
  );
}

/** Keys are looked for among the caller's own. */
function filterOf(request: FastifyRequest, query: z.output<typeof RunsQuery>): RunFilter {
  const { key, key_prefix: prefix, ...rest } = query;
  if (key === undefined && prefix === undefined) return { ...rest, tenant: viewOf(request) };

  const caller = callerOf(request);
  const stored = (given: string | undefined): string | undefined =>
    given === undefined ? undefined : storedKey(caller, given);
  return { ...rest, tenant: caller.tenant, key: stored(key), keyPrefix: stored(prefix) };
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
        params: RunParams,
        response: { 200: RunDetailJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const tenant = viewOf(request);
      const run = await runs.detail(request.params.id, { tenant });
      const repository = parts.plans.repositoryFor(tenant);
      return onWire<RunDetailJson>(shownDetail(run, repository, parts.clock.now()));
    },
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
        params: RunParams,
        headers: ResumeHeaders,
        querystring: ResumeQuery,
        response: { 200: RunStream, 204: RunIsRead, ...problems(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const tenant = viewOf(request);
      const { id } = request.params;
      const after = readEventPosition(
        request.headers["last-event-id"] || request.query.last_event_id,
      );
      const run = await runs.get(id, { tenant });

      if (after !== undefined && isRunOver(run.status)) {
        const isRead = await isEmpty(runs.stream(id, { tenant, after }));
        if (isRead) return reply.code(204).send(null);
      }

      await answerWithStream(parts, request, reply, {
        what: "a run",
        firstFrame: `: run ${id}\n\n`,
        send: (stream) => {
          const frames = runs.stream(id, { tenant, after, signal: stream.signal });
          return writeFrames(stream, frames, (item) => frameOf(item, tenant, parts));
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
        params: RunParams,
        response: { 200: DiffJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const options = { tenant: viewOf(request), signal: whileAsked(reply, parts) };
      const diff = await library.diff(request.params.id, undefined, options);

      return onWire<DiffJson>(diff);
    },
  );
}

function mergeRun(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs/:id/merge",
    {
      config: delivers("run.merge"),
      schema: {
        tags,
        summary:
          "Takes the result of a run over into a branch of the user's repository, with its files where " +
          "the branch is checked out",
        params: RunParams,
        body: RunMergeBody,
        response: { 200: MergeAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      // A merge is finished also when the caller has left.
      const { kind, target, commit, updated, solved } = await library.merge(request.params.id, {
        into: request.body?.into,
        ...yesTo(request),
        tenant: viewOf(request),
        signal: closing,
      });

      const outcome = { kind, target, commit, updated: updated ?? null, solved };
      return onWire<z.output<typeof MergeAnswer>>(outcome);
    },
  );
}

function undoRun(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs/:id/undo",
    {
      config: delivers("run.undo"),
      schema: {
        tags,
        summary:
          "Takes the result of a run out of a branch again, by one commit upon it, with its files where " +
          "the branch is checked out; done once",
        params: RunParams,
        body: RunUndoBody,
        response: { 200: UndoAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      // It is finished also when the caller has left.
      const { target, commit, updated, isNew } = await library.undo(request.params.id, {
        from: request.body?.from,
        tenant: viewOf(request),
        signal: closing,
      });

      const outcome = { target, commit, updated: updated ?? null, isNew };
      return onWire<z.output<typeof UndoAnswer>>(outcome);
    },
  );
}

function publishRun(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs/:id/publish",
    {
      config: delivers("run.publish"),
      schema: {
        tags,
        summary:
          "Pushes the result of a run where its plan says, and opens a pull request; what is there " +
          "already is not done again",
        params: RunParams,
        body: RunPublishBody,
        response: { 200: PublishAnswer, ...problems(400, 401, 403, 404, 409, 503) },
      },
    },
    async (request) => {
      // It goes on when the caller has left.
      const published = await library.publish(request.params.id, {
        ...yesTo(request),
        tenant: viewOf(request),
        signal: closing,
      });

      return onWire<z.output<typeof PublishAnswer>>(published);
    },
  );
}

function approveRun(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs/:id/approve",
    {
      config: delivers("run.approve"),
      schema: {
        tags,
        summary:
          "Agrees that the result of a run is merged or published, for the very commit that was looked at",
        params: RunParams,
        body: RunApproveBody,
        response: { 200: ApprovalsAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      const { commit } = request.body;
      const asked = { commit, tenant: viewOf(request), who: approverOf(request), signal: closing };
      const state = await library.approve(request.params.id, asked);

      return onWire<z.output<typeof ApprovalsAnswer>>(state);
    },
  );
}

/** Only a token or a login says who agrees. Throws `APPROVAL_NEEDS_TOKEN`. */
function approverOf(request: FastifyRequest): { person: string; by: string } {
  const { caller, person, proof } = request.principal!;
  if (proof !== "none") return { person: person ?? caller.name, by: caller.name };
  throw new DureError("APPROVAL_NEEDS_TOKEN", "Nothing says who agrees: there is no token.", {
    class: "forbidden",
    hint: "Each person has a token or a login: dure token create NAME --scopes plans:merge",
  });
}

/** The plan that a request chooses, and what of it. */
function choiceOf(request: FastifyRequest): PlanChoice {
  const {
    plan = "",
    text,
    file = "plan.yaml",
    dry_run: _isDry,
    ...rest
  } = request.body as z.output<typeof RunBody>;

  return {
    ...rest,
    source: text === undefined ? { name: plan } : { file, text },
    tenant: viewOf(request),
  };
}

/** The run has no id yet. */
function begun({ body }: FastifyRequest): PlannedDeed | undefined {
  const { plan, file, dry_run } = body as z.infer<typeof RunBody>;
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

function frameOf(
  item: RunFrame,
  view: TenantView,
  { plans, clock }: PlanRouteParts,
): string | Buffer {
  switch (item.kind) {
    case "run": {
      const shown = shownDetail(item.run, plans.repositoryFor(view), clock.now());
      return frame("run", onWire<RunDetailJson>(shown), item.position);
    }
    case "event":
      return eventFrame(item.event, view);
    case "reset":
      return frame("reset", { oldest: item.oldest });
  }
}
