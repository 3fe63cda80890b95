import type { FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import type { z } from "zod";
import { unknownFile } from "../durable/files/files.ts";
import type { Job, JobDetail } from "../jobs/job.ts";
import type { JobFrame } from "../jobs/job-stream.ts";
import type { AskRequest, AskResult } from "../jobs/ask.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { sessionUnknown } from "../jobs/asking.ts";
import { shownJob, shownJobDetail, type JobReader } from "../jobs/shown-job.ts";
import type { Duration } from "../kernel/duration.ts";
import type { FileRef } from "../kernel/files.ts";
import { ulid } from "../kernel/ids.ts";
import { isJobOver } from "../kernel/jobs.ts";
import type { TenantView } from "../kernel/tenant.ts";
import { assertMay, assertOfAllTenants } from "./access.ts";
import { deedIsDone } from "./audit.ts";
import { closedSignal } from "./conversation-routes.ts";
import { answerWithBytes } from "./file-answer.ts";
import { fileFor } from "./file-routes.ts";
import { readEventPosition } from "./event-source.ts";
import { callerOf } from "./guard.ts";
import { assertMaySpeakForOthers, checkName } from "./room-routes.ts";
import { problems } from "./schemas.ts";
import type { RouteApp, ServerParts } from "./server.ts";
import { eventFrame, frame } from "./sse.ts";
import { answerWithStream, writeFrames } from "./stream-answer.ts";
import { viewerOf, viewOf } from "./tenants.ts";
import { onWire } from "../kernel/wire.ts";
import { FileBytesAnswer } from "../wire/files.ts";
import {
  AskAccepted,
  AskAnswer,
  JobAuditAnswer,
  JobAuditQuery,
  JobBody,
  JobDetailJson,
  JobFileParams,
  JobHeaders,
  JobIsRead,
  JobStream,
  JobJson,
  JobParams,
  JobPurgeAnswer,
  JobPurgeBody,
  JobsAnswer,
  JobsQuery,
  JobWordsAnswer,
  JobWordsBody,
} from "../wire/jobs.ts";
import { ResumeHeaders, ResumeQuery } from "../wire/turns.ts";

/** Its job has no id yet. */
function askedFor({ body }: FastifyRequest): { what: string; subject: string } {
  const { agent, target, session } = body as z.infer<typeof JobBody>;
  return { what: "job.ask", subject: `${agent}→${target ?? session ?? ""}` };
}

const config = { scope: "jobs" as const };
const params = JobParams;

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
  readJobFile(app, jobParts);
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
        querystring: JobsQuery,
        response: {
          200: JobsAnswer,
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
        knownTo: parts.members.listedFor(request.principal!),
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
        headers: JobHeaders,
        body: JobBody,
        response: { 200: AskAnswer, 202: AskAccepted, ...problems(400, 401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { wait_sec } = request.body;
      const carried = await carriedBy(request, parts);
      const ask = { ...askOf(request), carried };
      const { session } = ask;
      if (!(await parts.members.mayKnow(request.principal!, { session }))) {
        throw sessionUnknown(session!);
      }

      const { jobId } = await jobs.ask({ ...ask, waitSec: 0 });
      await deedIsDone(request, parts, jobId); // however long the answer takes

      const gone = closedSignal(reply.raw);
      const signals = { gone, closing: parts.closing };

      const result: AskResult =
        wait_sec === 0
          ? { status: "accepted", jobId }
          : await waitFor(jobs, { ...ask, waitSec: wait_sec }, jobId, signals);

      if (gone.aborted) return reply.hijack(); // the caller has left; the job goes on

      return result.status === "ok" || result.status === "error"
        ? reply.code(200).send(onWire<z.output<typeof AskAnswer>>(result))
        : reply.code(202).send(onWire<z.output<typeof AskAccepted>>(result));
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
        querystring: JobAuditQuery,
        response: {
          200: JobAuditAnswer,
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

      const known = await knownOf(items, request, parts);

      return { items: known.map((job) => ({ ...jobToWire(job, request, parts), why: job.why })) };
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
          subject: (body as z.infer<typeof JobPurgeBody>).older_than,
        }),
      },
      schema: {
        tags: ["jobs"],
        summary: "Removes finished jobs of everybody that are older",
        body: JobPurgeBody,
        response: { 200: JobPurgeAnswer, ...problems(400, 401, 403) },
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
      const { id } = request.params;
      const job = await jobs.get(id, { tenant: await viewOfJob(id, request, parts) });
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
        response: { 200: JobStream, 204: JobIsRead, ...problems(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const tenant = await viewOfJob(id, request, parts);
      const after = readEventPosition(
        request.headers["last-event-id"] || request.query.last_event_id,
      );
      const job = await jobs.get(id, { tenant });

      if (after !== undefined && isJobOver(job.status)) {
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

/** Throws `FILE_UNKNOWN` for one that the caller may not read, `SCOPE_MISSING`. */
async function carriedBy(
  request: FastifyRequest<{ Body: z.infer<typeof JobBody> }>,
  parts: JobRouteParts,
): Promise<readonly FileRef[] | undefined> {
  const files: FileRef[] = [];
  for (const id of request.body.files ?? []) {
    assertMay(request.principal, "chat"); // as for the file itself
    // Who sees all tenants puts no file of one into a job of none.
    const isOfCaller = await parts.files?.look(id, callerOf(request).tenant);
    if (!isOfCaller) throw unknownFile(id);
    files.push(await fileFor(parts, request, id));
  }
  return files.length > 0 ? files : undefined;
}

function readJobFile(app: RouteApp, parts: JobRouteParts): void {
  const { jobs } = parts;
  app.get(
    "/v1/jobs/:id/files/:file_id",
    {
      config,
      schema: {
        tags: ["jobs"],
        summary: "The bytes of a file of a job",
        params: JobFileParams,
        response: { 200: FileBytesAnswer, ...problems(401, 403, 404, 503) },
      },
    },
    async (request, reply) => {
      const { id, file_id } = request.params;
      const job = await jobs.get(id, { tenant: await viewOfJob(id, request, parts) });
      const file = job.files.find((one) => one.id === file_id);
      const [found] = file ? await jobs.files.read(id, [file]) : [];
      if (!file || !found) throw unknownFile(file_id);

      return answerWithBytes(reply, file, found.bytes, { showsImages: true });
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
      const { id } = request.params;
      const { name: by } = viewerOf(request);
      const tenant = await viewOfJob(id, request, parts);

      return jobToWire(await jobs.cancel(id, { tenant, by }), request, parts);
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
          "Goes on with a job that failed or was given up, where last_error.retry says so: its turn goes " +
          "on from its journal; asked twice it is one retry",
        params,
        response: { 200: JobJson, ...problems(400, 401, 403, 404, 409) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { name: by } = viewerOf(request);
      const tenant = await viewOfJob(id, request, parts);
      return jobToWire(await jobs.retry(id, { tenant, by }), request, parts);
    },
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
        body: JobWordsBody,
        response: {
          202: JobWordsAnswer,
          ...problems(400, 401, 403, 404, 409, 429),
        },
      },
    },
    async (request, reply) => {
      await jobs.speak(request.params.id, request.body.text, {
        tenant: await viewOfJob(request.params.id, request, parts),
        by: speakerOf(request, parts, request.body.as_person),
      });
      return reply.code(202).send({ status: "heard" });
    },
  );
}

/** The tenant to look for a job with: work of others' direct rooms is not there. */
async function viewOfJob(
  job: string,
  request: FastifyRequest,
  { members }: ServerParts,
): Promise<TenantView> {
  return members.view(request.principal!, { job }, viewOf(request));
}

async function knownOf<Standing extends Job>(
  jobs: readonly Standing[],
  request: FastifyRequest,
  { members }: ServerParts,
): Promise<readonly Standing[]> {
  return members.known(request.principal!, jobs, ({ jobId }) => ({ job: jobId }));
}

function readerOf(request: FastifyRequest, { rooms }: ServerParts): JobReader {
  const nameOf = (agent: string): string => rooms?.directory.nameOf(agent) ?? agent;
  return { view: viewOf(request), nameOf };
}

function jobToWire(job: Job, request: FastifyRequest, parts: ServerParts): JobJson {
  return onWire<JobJson>(shownJob(job, readerOf(request, parts)));
}

function detailToWire(job: JobDetail, request: FastifyRequest, parts: ServerParts): JobDetailJson {
  return onWire<JobDetailJson>(shownJobDetail(job, readerOf(request, parts)));
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
    request.body as z.output<typeof JobBody>;
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
