import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { onWire } from "../kernel/wire.ts";
import { onlyDefined } from "../kernel/json.ts";
import { deedIsDone, refuseDeed } from "./audit.ts";
import { CleanAnswer, ORDERED, RunCleanBody, RunExtendBody, RunParams } from "../wire/runs.ts";
import {
  act,
  does,
  order,
  tags,
  whileAsked,
  type PlannedDeed,
  type PlanRouteParts,
} from "./plan-route-parts.ts";
import { problems } from "./schemas.ts";
import type { RouteApp } from "./server.ts";
import { viewOf } from "./tenants.ts";

/** Orders to a whole run. */
export function runOrderRoutes(app: RouteApp, parts: PlanRouteParts): void {
  pauseRun(app, parts);
  resumeRun(app, parts);
  cancelRun(app, parts);
  mergeAgain(app, parts);
  extendRun(app, parts);
}

function pauseRun(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/pause",
    {
      config: does("run.pause"),
      schema: {
        tags,
        summary: "Starts no more ports; what works goes on",
        params: RunParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "pause" }),
  );
}

function resumeRun(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/resume",
    {
      config: does("run.resume"),
      schema: {
        tags,
        summary: "Goes on with a paused run",
        params: RunParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "resume" }),
  );
}

function cancelRun(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/cancel",
    {
      config: does("run.cancel"),
      schema: {
        tags,
        summary: "Ends a run; its workers are stopped, what they made is kept",
        params: RunParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "cancel" }),
  );
}

function mergeAgain(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/again",
    {
      config: does("run.again"),
      schema: {
        tags,
        summary:
          "Merges a run again that has ended, or begins it where nothing had begun; what succeeded is " +
          "not built again",
        params: RunParams,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "again" }),
  );
}

function extendRun(app: RouteApp, parts: PlanRouteParts): void {
  app.post(
    "/v1/runs/:id/extend",
    {
      config: does("run.extend"),
      schema: {
        tags,
        summary: "Gives the run more tokens or calls; what had stopped for want of them goes on",
        params: RunParams,
        body: RunExtendBody,
        response: { ...ORDERED, ...problems(400, 401, 403, 404, 409) },
      },
    },
    (request, reply) => order(parts, request, reply, { type: "extend", ...request.body }),
  );
}

export function cleanRuns(app: RouteApp, parts: PlanRouteParts): void {
  const { plans: library, closing } = parts;
  app.post(
    "/v1/runs/clean",
    {
      config: { ...act, audit: toClean },
      schema: {
        tags,
        summary:
          "Removes files and refs of ended runs of this machine, oldest first, a page at a time; " +
          "branches and the runs' history stay. What is on no branch, or in no commit, is kept unless " +
          "force is set",
        body: RunCleanBody,
        response: { 200: CleanAnswer, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request, reply) => {
      const { older_than_ms: olderThanMs, dry_run: dryRun, ...rest } = request.body ?? {};
      const tenant = viewOf(request);
      const begun: string[] = [];
      const onBegun = (run: string): void => void begun.push(run);

      try {
        // A run is cleaned to its end also when the caller has left.
        const cleaned = await library.clean(
          { ...rest, ...onlyDefined({ olderThanMs, dryRun }) },
          {
            tenant,
            onBegun,
            asked: whileAsked(reply, parts),
            signal: closing,
          },
        );
        if (begun.length === 0) refuseDeed(request, "NOTHING_CLEANED");
        return onWire<CleanAnswer>(cleaned);
      } finally {
        if (begun.length > 0) await deedIsDone(request, parts, ...begun); // whatever fails behind them
      }
    },
  );
}

/** Only the cleaning finds out which runs are old enough. */
function toClean({ body }: FastifyRequest): PlannedDeed | undefined {
  const { run, dry_run } = (body as z.infer<typeof RunCleanBody>) ?? {};
  return dry_run === true ? undefined : { what: "run.clean", subject: run ?? "" };
}
