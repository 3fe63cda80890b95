import { z } from "zod";
import { JOB_INTENTS, JOB_OUTCOMES, JOB_STATUSES } from "../kernel/jobs.ts";
import type { QueryInput, FromWire } from "../kernel/wire.ts";
import { fileRef } from "./files.ts";
import { idempotencyKey, json, pageOf, time } from "./shared.ts";

/** What `/v1/jobs` takes and gives. Source: docs/spec/jobs §2 and §5. */

const jobId = z.string().min(1).max(100);
const agentId = z.string().min(1).max(64);
const duration = z
  .string()
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, 'must be a number with a unit, such as "10m", "1h" or "7d"')
  .max(20);

// --- requests

export const JobParams = z.object({ id: jobId });

export const JobFileParams = JobParams.extend({ file_id: z.string().max(64) });

export const JobsQuery = z.object({
  status: z.enum(JOB_STATUSES).optional(),
  agent: agentId.optional().meta({ description: "As asking or as asked one." }),
  parent: jobId.optional().meta({ description: "The job that asked for it." }),
  root: jobId
    .optional()
    .meta({ description: "The job with which its whole work began; it is among them." }),
  since: duration.optional().meta({ description: "Made within this time, such as `1h`." }),
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().max(100).optional(),
});

export const JobBody = z.object({
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
  files: z
    .array(z.string().min(1).max(64))
    .max(10)
    .optional()
    .meta({ description: "Ids of files of sessions that the caller may read; they go with it." }),
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
    .object({ kind: z.string() })
    .catchall(json)
    .optional()
    .meta({
      description:
        "`task_delegation`, `status_report`, `question` or `answer`, with members of its own; at " +
        "most 12 KiB as text, told whole.",
    }),
});

export const JobHeaders = z.looseObject({
  "idempotency-key": idempotencyKey.optional().meta({
    description:
      "Holds as long as the job is kept, per caller and agent: the same body gives the same job, " +
      "another body is 422.",
  }),
});

export const JobAuditQuery = z.object({
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
});

export const JobPurgeBody = z.object({ older_than: duration });

export const JobWordsBody = z.object({
  text: z.string().meta({
    description: "At most 16 KiB of UTF-8, told whole. What waits for one turn: 20 texts, 20 KiB.",
  }),
  as_person: z
    .string()
    .trim()
    .min(1)
    .max(60)
    .optional()
    .meta({ description: "Name to speak under; with a token it needs scope `admin`." }),
});

// --- answers

const jobFields = {
  job_id: z.string(),
  tenant: z.string().optional().meta({ description: "Empty: of no tenant." }),
  status: z.enum(JOB_STATUSES),
  outcome: z.enum(JOB_OUTCOMES).nullable(),
  requester: z.string().meta({ description: "The agent that asked." }),
  requester_name: z.string(),
  target: z.string().meta({ description: "The agent that was asked." }),
  target_name: z.string(),
  message: z.string(),
  payload: z.object({ kind: z.string() }).catchall(json).nullable(),
  topic: z.string().nullable(),
  intent: z.enum(JOB_INTENTS),
  conversation_id: z.string(),
  parent_job_id: z.string().nullable(),
  root_id: z.string(),
  depth: z.int().meta({ description: "0 for a job that no job asked for." }),
  retry_of: z.string().nullable().meta({
    description: "The job that this one takes up; of releases before a retry opened the same job.",
  }),
  max_turns: z
    .int()
    .meta({ description: "0: the target reads the message, the caller waits for no answer." }),
  turns_done: z.int().meta({
    description: "Turns that are finished and recorded. A resumed job goes on behind them.",
  }),
  files: z
    .array(fileRef.extend({ turn: z.int().meta({ description: "0 for the request." }) }))
    .meta({ description: "What came with it. GET /v1/jobs/{id}/files/{file_id} has the bytes." }),
  resume_count: z.int().meta({ description: "Resumes since the last finished turn." }),
  resumes: z.int().meta({ description: "Resumes in all." }),
  last_error: z
    .object({
      code: z.string(),
      message: z.string(),
      retry: z.boolean().optional().meta({
        description: "POST /v1/jobs/{id}/retry goes on with the job.",
      }),
    })
    .nullable(),
  waiting: z
    .enum(["person", "pause"])
    .nullable()
    .meta({ description: "What a RUNNING job waits for: `pause` is the resume of its agent." }),
  origin: z
    .object({ session: z.string(), turn: z.string().nullable() })
    .nullable()
    .meta({ description: "Where it was asked, if in a conversation; it is told the result." }),
  created_at: time,
  updated_at: time,
  started_at: time.nullable(),
  finished_at: time.nullable(),
  turn_started_at: time.nullable().meta({
    description:
      "Since when the exchange turn under way is led; null between two turns, in line, and behind " +
      "the end.",
  }),
};

export const JobJson = z
  .object(jobFields)
  .meta({ id: "Job", description: "The durable record of an exchange between two agents." });
export type JobJson = z.output<typeof JobJson>;

const JobTurnJson = z.object({
  number: z.int().meta({ description: "From 1; the target speaks in odd turns." }),
  speaker: z.string(),
  text: z.string(),
  tokens_in: z.int().meta({ description: "Of every attempt." }),
  tokens_out: z.int(),
  cost_micro_usd: z
    .number()
    .nullable()
    .meta({ description: "Null where the model's price is not known." }),
  turn_id: z.string().nullable().meta({ description: "The conversation turn that brought it." }),
  attempts: z.int().meta({ description: "0 for a turn that a retried job has taken over." }),
  started_at: time,
  finished_at: time,
});

const JobWordsJson = z.object({
  id: z.int(),
  author: z.string(),
  text: z.string(),
  at: time,
  turn: z.int().nullable().meta({
    description: "The exchange turn that it reached; null while it waits for the next one.",
  }),
});

const how = z.enum(["finish", "message", "exchange"]).meta({
  description:
    "`finish`: given to that tool. `message`: the one message that answers. `exchange`: all that " +
    "was said, in its order.",
});
const answeredBy = z
  .string()
  .nullable()
  .meta({ description: "The agent whose words they are; null: of both." });

const AnswerJson = z.object({ how, by: answeredBy, text: z.string() });

export const JobDetailJson = JobJson.extend({
  answer: AnswerJson.nullable().meta({
    description: "What the exchange has answered so far. Null: the target has said nothing.",
  }),
  turns: z.array(JobTurnJson),
  words: z.array(JobWordsJson).meta({ description: "What persons said into it." }),
});
export type JobDetailJson = z.output<typeof JobDetailJson>;

export const JobsAnswer = pageOf(JobJson);

const AuditedJobJson = JobJson.extend({ why: z.enum(["stuck", "orphaned", "resumed-often"]) });
export const JobAuditAnswer = z.object({ items: z.array(AuditedJobJson) });

export const AskAnswer = z.union([
  z.object({
    status: z.literal("ok"),
    reply: z.string(),
    how: how.optional(),
    by: answeredBy,
    files: z
      .array(fileRef)
      .optional()
      .meta({ description: "What the asked agent has made. GET /v1/jobs/{id}/files/{file_id}." }),
    job_id: z.string(),
  }),
  z.object({ status: z.literal("error"), code: z.string(), hint: z.string(), job_id: z.string() }),
]);
/** The exchange goes on. */
export const AskAccepted = z.object({
  status: z.enum(["accepted", "timeout"]),
  job_id: z.string(),
});

export const JobStream = {
  description:
    "SSE. First `event: job` with the whole job, then its events (`data:` is the envelope of " +
    "/v1/events) until one of job.completed, job.failed, job.cancelled, job.abandoned. With " +
    "Last-Event-ID only what came behind it; `event: reset` says that older events are gone.",
  content: { "text/event-stream": { schema: z.string() } },
};
export const JobIsRead = z.null().meta({ description: "It has ended, and all was read." });
export const JobPurgeAnswer = z.object({ removed: z.int() });
export const JobWordsAnswer = z
  .object({ status: z.literal("heard") })
  .meta({ description: "Stored; the next turn is told it." });

// --- in TypeScript's spelling

/** The record of an exchange between two agents. */
export type Job = FromWire<JobJson>;
/** A job with its turns and what persons said into it. */
export type JobDetail = FromWire<JobDetailJson>;
/** One finished turn of an exchange. Costs are in millionths of a US dollar. */
export type JobTurn = FromWire<z.output<typeof JobTurnJson>>;
export type GivenAnswer = FromWire<z.output<typeof AnswerJson>>;
/** What a person said into a running exchange. */
export type JobWords = FromWire<z.output<typeof JobWordsJson>>;
/**
 * A job that needs a look. `stuck`: no progress for too long. `orphaned`: no living process leads
 * it. `resumed-often`: its processes keep dying.
 */
export type AuditedJob = FromWire<z.output<typeof AuditedJobJson>>;
/**
 * What a request came to: the reply, or a code and what to do. After `waitSec` without a reply the
 * answer names the job, which goes on.
 */
export type JobAnswer = FromWire<z.output<typeof AskAnswer> | z.output<typeof AskAccepted>>;
/**
 * One agent asks another, and both may answer each other until the exchange ends. Give `target` or
 * `session`.
 */
export type JobRequest = FromWire<z.input<typeof JobBody>>;
/** Which jobs are wanted, newest first. All given members must fit. `limit` is 1–200. */
export type JobsFilter = QueryInput<z.output<typeof JobsQuery>>;
export type JobAuditFilter = QueryInput<z.output<typeof JobAuditQuery>>;
