import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { newId } from "../kernel/ids.ts";
import { onWire } from "../kernel/wire.ts";
import { callerOf } from "../server/guard.ts";
import { problems } from "../server/schemas.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import { viewOf } from "../server/tenants.ts";
import {
  FiringJson,
  ScheduleJson,
  ScheduleParams,
  ScheduleRunHeaders,
  SchedulesAnswer,
  type ScheduleFiring,
} from "../wire/schedules.ts";
import type { z } from "zod";
import type { HookDeed } from "../webhooks/hook-deed.ts";
import type { ShownSchedule } from "./schedule.ts";
import type { Schedules, ScheduleViewer } from "./schedules.ts";

const tags = ["schedules"];

/** Work that begins at a time: how it stands, and what people do with it. */
export function scheduleRoutes(schedules: Schedules): FastifyPluginAsyncZod<ServerParts> {
  return async (app) => {
    listSchedules(app, schedules);
    runSchedule(app, schedules);
    pauseSchedule(app, schedules);
    resumeSchedule(app, schedules);
  };
}

function listSchedules(app: RouteApp, schedules: Schedules): void {
  app.get(
    "/v1/schedules",
    {
      config: { scope: "jobs" },
      schema: {
        tags,
        summary: "Work that begins at a time, by name: its rule, its next moment, the last ones",
        response: { 200: SchedulesAnswer, ...problems(401, 403) },
      },
    },
    async (request) => ({ items: (await schedules.list(viewerOf(request))).map(jsonOf) }),
  );
}

function runSchedule(app: RouteApp, schedules: Schedules): void {
  app.post(
    "/v1/schedules/:name/run",
    {
      config: { scope: "admin", audit: "schedule.run" },
      schema: {
        tags,
        summary: "Does it now, also while it is paused; its moments stay as they are",
        params: ScheduleParams,
        headers: ScheduleRunHeaders,
        response: { 202: FiringJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const key = request.headers["idempotency-key"] ?? newId("event");
      const firing = await schedules.run(request.params.name, key, viewerOf(request));

      return reply.code(202).send(firingJson(firing));
    },
  );
}

function pauseSchedule(app: RouteApp, schedules: Schedules): void {
  app.post(
    "/v1/schedules/:name/pause",
    {
      config: { scope: "admin", audit: "schedule.pause" },
      schema: {
        tags,
        summary: "Lets its moments pass until it is resumed; what was taken is done",
        params: ScheduleParams,
        response: { 200: ScheduleJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => jsonOf(await schedules.pause(request.params.name, viewerOf(request))),
  );
}

function resumeSchedule(app: RouteApp, schedules: Schedules): void {
  app.post(
    "/v1/schedules/:name/resume",
    {
      config: { scope: "admin", audit: "schedule.resume" },
      schema: {
        tags,
        summary: "Lets its next moment count",
        params: ScheduleParams,
        response: { 200: ScheduleJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => jsonOf(await schedules.resume(request.params.name, viewerOf(request))),
  );
}

function viewerOf(request: FastifyRequest): ScheduleViewer {
  return { tenant: viewOf(request), by: callerOf(request).name };
}

/** Pure. */
function jsonOf({ deed, ...schedule }: ShownSchedule): z.output<typeof ScheduleJson> {
  const { name, cron, timeZone, missed, tenant, next, paused, last } = schedule;
  const does = { does: deed.kind, with: withOf(deed) };

  return {
    ...{ name, cron, time_zone: timeZone, missed, tenant, ...does, next, paused },
    last: last.map(firingJson),
  };
}

function withOf(deed: HookDeed): string {
  if (deed.kind === "message") return deed.room;
  return deed.kind === "job" ? deed.target : deed.plan;
}

function firingJson(firing: ScheduleFiring): z.output<typeof FiringJson> {
  return onWire<z.output<typeof FiringJson>>(firing);
}
