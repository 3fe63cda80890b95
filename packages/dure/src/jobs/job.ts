import { createHash } from "node:crypto";
import { DureError } from "../kernel/errors.ts";
import type { FileRef } from "../kernel/files.ts";
import { ulid } from "../kernel/ids.ts";
import type { JobPayload } from "./payloads.ts";
import type { GivenAnswer, Job as JobAnswered, JobTurn, JobWords } from "../wire/jobs.ts";
import { isJobOver, type JobEnd, type JobOutcome, type JobStatus } from "../kernel/jobs.ts";

/**
 * Which status may follow which. Recovery is the only caller that takes RUNNING back to PENDING, and
 * a retry the only one that opens a job that failed or was given up. The table of jobs has a trigger that says the same (`check_job_status` in jobs.sql.ts); a test
 * holds the two together.
 */
export const NEXT_STATUSES = {
  PENDING: ["RUNNING", "CANCELLED", "ABANDONED"],
  RUNNING: ["PENDING", "COMPLETED", "FAILED", "CANCELLED", "ABANDONED"],
  COMPLETED: [],
  FAILED: ["PENDING"],
  CANCELLED: [],
  ABANDONED: ["PENDING"],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

/**
 * How a job ended, and in which status that leaves it. Only what was brought to an end by the
 * agents themselves is COMPLETED.
 */
export const OUTCOMES = {
  max_turns: "COMPLETED",
  explicit_skip: "COMPLETED",
  conclusion: "COMPLETED",
  repetition: "COMPLETED",
  empty_reply: "COMPLETED",
  minimal_content: "COMPLETED",
  no_reply: "FAILED",
  blocked: "FAILED",
  turn_timeout: "FAILED",
  agent_error: "FAILED",
  agent_removed: "FAILED",
  budget: "FAILED",
  cancelled: "CANCELLED",
  stale: "ABANDONED",
  resume_limit: "ABANDONED",
} as const satisfies Record<JobOutcome, JobEnd>;

export type CompletedOutcome = {
  [Name in JobOutcome]: (typeof OUTCOMES)[Name] extends "COMPLETED" ? Name : never;
}[JobOutcome];
export type FailedOutcome = {
  [Name in JobOutcome]: (typeof OUTCOMES)[Name] extends "FAILED" ? Name : never;
}[JobOutcome];

/** The next status, or `JOB_TRANSITION` when the table does not allow it. Pure. */
export function transition(
  from: JobStatus,
  to: JobStatus,
  by: "anybody" | "recovery" | "retry" = "anybody",
): JobStatus {
  const isAllowed =
    (NEXT_STATUSES[from] as readonly JobStatus[]).includes(to) &&
    (to !== "PENDING" || by === (isJobOver(from) ? "retry" : "recovery"));
  if (isAllowed) return to;
  throw new DureError("JOB_TRANSITION", `A job that is ${from} cannot become ${to}.`, {
    class: "conflict",
    hint:
      from === "COMPLETED"
        ? "It did what it was asked; there is nothing left to change."
        : isJobOver(from)
          ? from === "CANCELLED"
            ? "It has ended; ask again."
            : "It has ended; a retry goes on with it."
          : `It may become ${NEXT_STATUSES[from].join(", ")}; PENDING by recovery only.`,
  });
}

/** The durable record of an exchange, as `/v1/jobs` shows it, with the ids of its agents alone. */
export interface Job extends Omit<JobAnswered, "tenant" | "payload" | "files" | AgentNames> {
  readonly tenant: string;
  readonly files: readonly JobFile[];
  readonly payload: JobPayload | null;
}
/** A file of an exchange. `turn` is where it came: 0 for the request. */
export type JobFile = FileRef & { readonly turn: number };
type AgentNames = "requesterName" | "targetName";

export type JobError = NonNullable<Job["lastError"]> & {
  /** Of an end that was told before a retry went on with the job. */
  readonly told?: boolean | undefined;
};

/** A job with all that was said in it. */
export interface JobDetail extends Job {
  readonly answer: GivenAnswer | null;
  readonly turns: readonly JobTurn[];
  readonly words: readonly JobWords[];
}

/** What an agent said in an earlier exchange of the same conversation. */
export interface EarlierWords {
  readonly speaker: string;
  readonly text: string;
}

/** Outcome of background work that an agent asked for in its exchange. */
export interface JobResult {
  readonly jobId: string;
  /** Who was asked. */
  readonly target: string;
  readonly message: string;
  readonly status: JobStatus;
  readonly error: JobError | null;
  /** The answer, or what there was of it. */
  readonly reply: string | null;
  /** The agent whose words they are; null: the whole exchange. */
  readonly by: string | null;
}

export function newJobId(now?: number): string {
  return `job_${ulid(now)}`;
}

/** Who speaks in a turn: the target first, then by turns. Pure. */
export function speakerOf(job: Pick<Job, "requester" | "target">, turn: number): string {
  return turn % 2 === 1 ? job.target : job.requester;
}

/**
 * The session in which an agent leads one exchange: it never mixes with its other ones. Fits the
 * engine's session ids.
 */
export function sessionOf(jobId: string, agent: string): string {
  const name = /^[A-Za-z0-9._@-]{1,100}$/.test(agent)
    ? agent
    : `x-${createHash("sha256").update(agent).digest("hex").slice(0, 32)}`;
  return `job:${jobId}:${name}`;
}

/** Whose session of an exchange it is, of these agents; undefined for every other session. */
export function speakerOfSession(session: string, agents: readonly string[]): string | undefined {
  const job = jobOfSession(session);
  return job === undefined ? undefined : agents.find((agent) => sessionOf(job, agent) === session);
}

/** Whose the files of a job are in the store. No session has a key that begins so: it holds a space. */
export function filesKeyOfJob(jobId: string): string {
  return `job ${jobId}`;
}

/** The job whose exchange a session belongs to; undefined for every other session. */
export function jobOfSession(session: string): string | undefined {
  return /^job:(job_[0-9A-Z]{26}):/.exec(session)?.[1];
}
