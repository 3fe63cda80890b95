import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { isOver, type Job, type JobDetail } from "../jobs/job.ts";
import type { JobFrame } from "../jobs/job-stream.ts";
import type { AskRequest, AskResult } from "../jobs/ask.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Duration } from "../kernel/duration.ts";
import { ulid } from "../kernel/ids.ts";
import { sessionIdFor, type TenantView } from "../kernel/tenant.ts";
import { toWire } from "../kernel/wire.ts";
import { assertOfAllTenants } from "./access.ts";
import { deedIsDone } from "./audit.ts";
import { closedSignal } from "./conversation-routes.ts";
import { readEventPosition } from "./event-source.ts";
import { callerOf } from "./guard.ts";
import { assertMaySpeakForOthers, checkName } from "./room-routes.ts";
import { problems, ResumeHeaders, ResumeQuery } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { eventFrame, frame } from "./sse.ts";
import { answerWithStream, writeFrames } from "./stream-answer.ts";
import { viewerOf, viewOf } from "./tenants.ts";
import { JOB_STATUSES, JOB_OUTCOMES } from "../kernel/jobs.ts";

const jobId = z.string().min(1).max(100);
const agentId = z.string().min(1).max(64);
const status = z.enum(JOB_STATUSES);
const outcome = z.enum(JOB_OUTCOMES);
const duration = z
  .string()
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, 'must be a number with a unit, such as "10m", "1h" or "7d"')
  .max(20);
const time = z.number().meta({ description: "Milliseconds since the epoch." });

const JobJson = z
  .looseObject({
    job_id: z.string(),
    status,
    outcome: outcome.nullable(),
    requester: z.string(),
    requester_name: z.string(),
    target: z.string(),
    target_name: z.string(),
    message: z.string(),
    conversation_id: z.string(),
    parent_job_id: z.string().nullable(),
    root_id: z.string(),
    max_turns: z.int(),
    turns_done: z.int(),
    last_error: z.object({ code: z.string(), message: z.string() }).nullable(),
    waiting: z.literal("person").nullable(),
    created_at: time,
    finished_at: time.nullable(),
    turn_started_at: time
      .nullable()
      .meta({ description: "Since when the exchange turn under way is led." }),
  })
  .meta({ id: "Job", description: "The durable record of an exchange between two agents." });

const JobDetailJson = JobJson.extend({
  turns: z.array(
    z.looseObject({
      number: z.int(),
      speaker: z.string(),
      text: z.string(),
      tokens_in: z.int(),
      tokens_out: z.int(),
      cost_micro_usd: z.number().nullable(),
      started_at: time,
      finished_at: time,
    }),
  ),
  words: z
    .array(
      z.looseObject({ author: z.string(), text: z.string(), at: time, turn: z.int().nullable() }),
    )
    .meta({
      description: "What persons said into it; `turn` is the exchange turn that it reached.",
    }),
});

const ListQuery = z.object({
  status: status.optional(),
  agent: agentId.optional().meta({ description: "As asking or as asked one." }),
  parent: jobId.optional().meta({ description: "The job that asked for it." }),
  root: jobId
    .optional()
    .meta({ description: "The job with which its whole work began; it is among them." }),
  since: duration.optional().meta({ description: "Made within this time, such as `1h`." }),
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().max(100).optional(),
});

const AskBody = z.object({
  agent: agentId.meta({ description: "In whose name." }),
  target: agentId.optional().meta({ description: "Who is asked." }),
  session: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: "Instead of `target`: the agent that answers in this session." }),
  message: z.string().meta({ description: "At most 16 KiB of UTF-8." }),
  wait_sec: z
    .number()
    .min(0)
    .max(300)
    .optional()
    .meta({ description: "How long to wait for the answer. Default 30; 0 returns at once." }),
  max_turns: z
    .int()
    .min(0)
    .max(1_000)
    .optional()
    .meta({ description: "Longest exchange; without it the kind of the request decides." }),
  topic: z.string().max(200).optional(),
  conversation_id: z
    .string()
    .max(100)
    .optional()
    .meta({
      description:
        "The conversation that it belongs to. The last words of the same two agents in it are told " +
        "at the beginning.",
    }),
  payload: z
    .looseObject({ kind: z.string() })
    .optional()
    .meta({
      description:
        "`task_delegation`, `status_report`, `question` or `answer`, with members of its own; at " +
        "most 12 KiB as text, told whole.",
    }),
});

/** Its job has no id yet. */
function askedFor({ body }: FastifyRequest): { what: string; subject: string } {
  const { agent, target, session } = body as z.infer<typeof AskBody>;
  return { what: "job.ask", subject: `${agent}→${target ?? session ?? ""}` };
}

const PurgeBody = z.object({ older_than: duration });

const AskHeaders = z.looseObject({
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, "must be 1–255 visible ASCII characters")
    .optional()
    .meta({
      description:
        "Holds as long as the job is kept, per caller and agent: the same body gives the same job, " +
        "another body is 422.",
    }),
});

const AskAnswer = z.union([
  z.object({ status: z.literal("ok"), reply: z.string(), job_id: z.string() }),
  z.object({ status: z.literal("error"), code: z.string(), hint: z.string(), job_id: z.string() }),
]);
const AskAccepted = z.object({ status: z.enum(["accepted", "timeout"]), job_id: z.string() });

const JobStream = {
  description:
    "SSE. First `event: job` with the whole job, then its events (`data:` is the envelope of " +
    "/v1/events) until one of job.completed, job.failed, job.cancelled, job.abandoned. With " +
    "Last-Event-ID only what came behind it; `event: reset` says that older events are gone.",
  content: { "text/event-stream": { schema: z.string() } },
};
const NOTHING = z.null().meta({ description: "It has ended, and all was read." });

const config = { scope: "jobs" as const };
const params = z.object({ id: jobId });

/** The parts of a server whose agents can ask each other. */
interface JobRouteParts extends ServerParts {
  readonly jobs: Jobs;
}

/** Exchanges between agents: asked for, listed, watched, steered. Source: docs/spec/jobs §5. */
export const jobRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  const { jobs } = parts;
  if (!jobs) return;
  const jobParts: JobRouteParts = { ...parts, jobs };
  listJobs(app, jobParts);
  askAgent(app, jobParts);
  auditJobs(app, jobParts);
  purgeJobs(app, jobParts);
  readJob(app, jobParts);
  streamJob(app, jobParts);
  cancelJob(app, jobParts);
  retryJob(app, jobParts);
  speakIntoJob(app, jobParts);
};

function listJobs(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.get(
    "/v1/jobs",
    {
      config,
      schema: {
        tags: ["jobs"],
        summary: "Jobs, newest first",
        querystring: ListQuery,
        response: {
          200: z.object({ items: z.array(JobJson), next_cursor: z.string().nullable() }),
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { since, ...filter } = request.query;
      const { items, nextCursor } = await jobs.list({
        ...filter,
        since: since as Duration | undefined,
        tenant: viewOf(request),
      });
      return { items: items.map((job) => jobToWire(job, request, parts)), next_cursor: nextCursor };
    },
  );
}

function askAgent(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.post(
    "/v1/jobs",
    {
      config: { ...config, audit: askedFor },
      schema: {
        tags: ["jobs"],
        summary:
          "Lets one agent ask another: 200 when the exchange has ended, 202 while it goes on",
        headers: AskHeaders,
        body: AskBody,
        response: { 200: AskAnswer, 202: AskAccepted, ...problems(400, 401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { wait_sec } = request.body;
      const ask = askOf(request);
      const { jobId } = (await jobs.ask({ ...ask, waitSec: 0 })) as { jobId: string };
      await deedIsDone(request, parts, jobId); // however long the answer takes

      const gone = closedSignal(reply.raw);
      const signals = { gone, closing: parts.closing };
      const result: AskResult =
        wait_sec === 0
          ? { status: "accepted", jobId }
          : await waitFor(jobs, { ...ask, waitSec: wait_sec }, jobId, signals);
      if (gone.aborted) return reply.hijack(); // the caller has left; the job goes on
      return result.status === "accepted" || result.status === "timeout"
        ? reply.code(202).send({ status: result.status, job_id: jobId })
        : reply.code(200).send(toWire(result) as z.infer<typeof AskAnswer>);
    },
  );
}

function auditJobs(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.get(
    "/v1/jobs/audit",
    {
      config,
      schema: {
        tags: ["jobs"],
        summary: "Jobs that someone should look at, and why",
        querystring: z.object({
          stuck: duration.optional().meta({
            description: "Without progress for this long counts as stuck. Default `10m`.",
          }),
          resumes: z.coerce
            .number()
            .int()
            .min(1)
            .max(1_000)
            .optional()
            .meta({ description: "So many resumes count as often. Default 3." }),
        }),
        response: {
          200: z.object({
            items: z.array(JobJson.extend({ why: z.enum(["stuck", "orphaned", "resumed-often"]) })),
          }),
          ...problems(400, 401, 403),
        },
      },
    },
    async (request) => {
      const { stuck, resumes } = request.query;
      const items = await jobs.audit({
        tenant: viewOf(request),
        stuck: stuck as Duration | undefined,
        resumes,
      });
      return { items: items.map((job) => ({ ...jobToWire(job, request, parts), why: job.why })) };
    },
  );
}

function purgeJobs(app: RouteApp, { jobs }: JobRouteParts): void {
  app.post(
    "/v1/jobs/purge",
    {
      config: {
        scope: "admin",
        audit: ({ body }) => ({
          what: "jobs.purge",
          subject: (body as z.infer<typeof PurgeBody>).older_than,
        }),
      },
      schema: {
        tags: ["jobs"],
        summary: "Removes finished jobs of everybody that are older",
        body: PurgeBody,
        response: { 200: z.object({ removed: z.int() }), ...problems(400, 401, 403) },
      },
    },
    async (request) => {
      assertOfAllTenants(callerOf(request), "PURGE_NOT_ALLOWED", "remove the jobs");
      const removed = await jobs.purge({ olderThan: request.body.older_than as Duration });
      return { removed };
    },
  );
}

function readJob(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.get(
    "/v1/jobs/:id",
    {
      config,
      schema: {
        tags: ["jobs"],
        summary: "One job with its transcript",
        params,
        response: { 200: JobDetailJson, ...problems(400, 401, 403, 404) },
      },
    },
    async (request) => {
      const job = await jobs.get(request.params.id, { tenant: viewOf(request) });
      return detailToWire(job, request, parts);
    },
  );
}

function streamJob(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.get(
    "/v1/jobs/:id/stream",
    {
      config: { ...config, stream: true },
      schema: {
        tags: ["jobs"],
        summary: "How a job stands, then what happens to it until it has ended",
        params,
        headers: ResumeHeaders,
        querystring: ResumeQuery,
        response: { 200: JobStream, 204: NOTHING, ...problems(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const tenant = viewOf(request);
      const { id } = request.params;
      const after = readEventPosition(
        request.headers["last-event-id"] || request.query.last_event_id,
      );
      const job = await jobs.get(id, { tenant });
      if (after !== undefined && isOver(job.status)) {
        const isRead = await isReadToItsEnd(jobs, id, { tenant, after });
        if (isRead) return reply.code(204).send(null);
      }

      await answerWithStream(parts, request, reply, {
        what: "a job",
        firstFrame: `: job ${id}\n\n`,
        send: (stream) => {
          const frames = jobs.stream(id, { tenant, after, signal: stream.signal });
          const toJson = (job: JobDetail): unknown => detailToWire(job, request, parts);
          return writeFrames(stream, frames, (item) => frameOf(item, toJson, tenant));
        },
      });
    },
  );
}

function cancelJob(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.post(
    "/v1/jobs/:id/cancel",
    {
      config: { ...config, audit: "job.cancel" },
      schema: {
        tags: ["jobs"],
        summary: "Cancels a job and all that it asked for, wherever they run",
        params,
        response: { 200: JobJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      const { tenant, name: by } = viewerOf(request);
      return jobToWire(await jobs.cancel(request.params.id, { tenant, by }), request, parts);
    },
  );
}

function retryJob(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.post(
    "/v1/jobs/:id/retry",
    {
      config: { ...config, audit: "job.retry" },
      schema: {
        tags: ["jobs"],
        summary:
          "Starts a job that did not succeed anew, behind its finished turns; asked twice it gives the " +
          "same one",
        params,
        response: { 200: JobJson, ...problems(400, 401, 403, 404, 409, 429) },
      },
    },
    async (request) =>
      jobToWire(await jobs.retry(request.params.id, { tenant: viewOf(request) }), request, parts),
  );
}

function speakIntoJob(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.post(
    "/v1/jobs/:id/speak",
    {
      config: { ...config, audit: "job.speak" },
      schema: {
        tags: ["jobs"],
        summary: "A person's words for the next exchange turn; they go before what the agents say",
        params,
        body: z.object({
          text: z.string().meta({
            description:
              "At most 16 KiB of UTF-8, told whole. What waits for one turn: 20 texts, 20 KiB.",
          }),
          as_person: z
            .string()
            .trim()
            .min(1)
            .max(60)
            .optional()
            .meta({ description: "Name to speak under; with a token it needs scope `admin`." }),
        }),
        response: {
          202: z
            .object({ status: z.literal("heard") })
            .meta({ description: "Stored; the next turn is told it." }),
          ...problems(400, 401, 403, 404, 409, 429),
        },
      },
    },
    async (request, reply) => {
      await jobs.speak(request.params.id, request.body.text, {
        tenant: viewOf(request),
        by: speakerOf(request, parts, request.body.as_person),
      });
      return reply.code(202).send({ status: "heard" });
    },
  );
}

/** The job as JSON, with the names of its agents. */
function jobToWire(
  job: Job,
  request: FastifyRequest,
  { rooms }: ServerParts,
): z.infer<typeof JobJson> {
  const nameOf = (agent: string): string => rooms?.directory.nameOf(agent) ?? agent;
  const origin = job.origin && {
    ...job.origin,
    session: sessionIdFor(viewOf(request), job.origin.session),
  };
  return toWire({
    ...job,
    origin,
    requesterName: nameOf(job.requester),
    targetName: nameOf(job.target),
  }) as z.infer<typeof JobJson>;
}

function detailToWire(
  job: JobDetail,
  request: FastifyRequest,
  parts: ServerParts,
): z.infer<typeof JobDetailJson> {
  return jobToWire(job, request, parts) as z.infer<typeof JobDetailJson>;
}

/** The name under which a person speaks. Throws `PERSON_FORBIDDEN`, `PERSON_INVALID`. */
function speakerOf(
  request: FastifyRequest,
  { rooms }: ServerParts,
  asPerson: string | undefined,
): string {
  if (asPerson !== undefined) assertMaySpeakForOthers(request);
  const own = request.principal!.person === undefined ? OPERATOR : callerOf(request).name;
  return checkName(asPerson ?? own, rooms?.directory.agents ?? []);
}

/** The name of a person without a login who gives none. */
const OPERATOR = "operator";

/**
 * What a request asks for. Without a key it gets one of its own: so the job can be asked for first
 * and waited for then, and its id is known when the server closes.
 */
function askOf(request: FastifyRequest): AskRequest {
  const { agent, target, session, max_turns, conversation_id, message, topic, payload } =
    request.body as z.output<typeof AskBody>;
  const caller = callerOf(request);
  const given = request.headers["idempotency-key"] as string | undefined;
  return {
    message,
    topic,
    payload,
    requester: agent,
    agent: target,
    session,
    maxTurns: max_turns,
    conversationId: conversation_id,
    tenant: caller.tenant,
    key: given === undefined ? `http:${ulid()}` : `http:${caller.name}:${given}`,
  };
}

/**
 * Waits for a job that was asked for. What keeps it from waiting on (the server closes, the caller
 * left) leaves the job as it is.
 */
async function waitFor(
  jobs: Jobs,
  ask: AskRequest,
  id: string,
  { gone, closing }: { gone: AbortSignal; closing: AbortSignal },
): Promise<AskResult> {
  try {
    return await jobs.ask(ask, { signal: AbortSignal.any([gone, closing]) });
  } catch (error) {
    if (!gone.aborted && !closing.aborted) throw error;
    return { status: "timeout", jobId: id };
  }
}

async function isReadToItsEnd(
  jobs: Jobs,
  id: string,
  options: { tenant: TenantView; after: string },
): Promise<boolean> {
  for await (const _ of jobs.stream(id, options)) return false;
  return true;
}

function frameOf(
  item: JobFrame,
  toJson: (job: JobDetail) => unknown,
  view: TenantView,
): string | Buffer {
  switch (item.kind) {
    case "job":
      return frame("job", toJson(item.job), item.position);
    case "event":
      return eventFrame(item.event, view);
    case "reset":
      return frame("reset", { oldest: item.oldest });
  }
}
