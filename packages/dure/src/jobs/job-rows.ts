import type { RowOf } from "../durable/rows.ts";
import type { Job, JobError } from "./job.ts";
import { jobRetryRefusal, type RetriedJob } from "./retry-refusal.ts";
import type { JobWords } from "../wire/jobs.ts";

export interface JobRow extends RowOf<
  Omit<Job, "jobId" | "lastError" | "parentJobId" | "origin" | "turnStartedAt">
> {
  readonly id: string;
  readonly last_error: JobError | null;
  /** What a retry would do (`dure.job_retry`); null where it has nothing to do. */
  readonly retries: RetriedJob | null;
  readonly parent_id: string | null;
  readonly origin_session: string | null;
  readonly origin_turn: string | null;
  readonly turn_at: number | null;
}

export interface WordsRow {
  readonly id: number;
  readonly author: string;
  readonly text: string;
  readonly turn_number: number | null;
  readonly at: number;
}

export function ms(column: string): string {
  return `extract(epoch from ${column})::float8 * 1000 as ${column}`;
}

export const JOB_COLUMNS = `id, tenant, status, outcome, last_error, requester, target, message, payload, \
topic, intent, conversation_id, parent_id, root_id, depth, retry_of, max_turns, files,
  turns_done, resume_count, resumes, waiting, origin_session, origin_turn,
  case when status in ('FAILED', 'ABANDONED') then dure.job_retry(id) end as retries, \
${["created_at", "updated_at", "started_at", "finished_at", "turn_at"].map(ms).join(", ")}`;

export const RESULTS = `
  select c.id as "jobId", c.target, c.message, c.status, c.last_error as error,
    c.answer->>'text' as reply, c.answer->>'by' as by
  from dure.jobs c`;
export const WORDS = `
  select id, author, text, turn_number, ${ms("at")}
  from dure.job_words`;

export function jobOf(row: JobRow): Job {
  return {
    jobId: row.id,
    tenant: row.tenant,
    status: row.status,
    outcome: row.outcome,
    requester: row.requester,
    target: row.target,
    message: row.message,
    payload: row.payload,
    topic: row.topic,
    intent: row.intent,
    conversationId: row.conversation_id,
    parentJobId: row.parent_id,
    rootId: row.root_id,
    depth: row.depth,
    retryOf: row.retry_of,
    maxTurns: row.max_turns,
    files: row.files,
    turnsDone: row.turns_done,
    resumeCount: row.resume_count,
    resumes: row.resumes,
    lastError: row.last_error && shownError(row.last_error, row.retries),
    waiting: row.waiting,
    origin:
      row.origin_session === null ? null : { session: row.origin_session, turn: row.origin_turn },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    turnStartedAt: row.finished_at === null ? row.turn_at : null,
  };
}

function shownError({ code, message }: JobError, retries: RetriedJob | null): Job["lastError"] {
  const isOpened = retries !== null && jobRetryRefusal("", retries) === undefined;
  return { code, message, retry: isOpened || undefined };
}

export function wordsOf(row: WordsRow): JobWords {
  return { id: row.id, author: row.author, text: row.text, at: row.at, turn: row.turn_number };
}
