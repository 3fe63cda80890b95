import { createHash } from "node:crypto";
import { DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import type { JobPayload } from "./payloads.ts";
import type { JobIntent, JobOutcome, JobStatus } from "../kernel/jobs.ts";

/**
 * PENDING waits for its permit, RUNNING has had one; the other four are ends. Source:
 * docs/spec/jobs §2.
 */
export type EndStatus = Exclude<JobStatus, "PENDING" | "RUNNING">;

/**
 * Which status may follow which. Recovery is the only caller that takes RUNNING back to PENDING.
 * The table of jobs has a trigger that says the same (`check_job_status` in jobs.sql.ts); a test
 * holds the two together.
 */
export const NEXT_STATUSES = {
  PENDING: ["RUNNING", "CANCELLED", "ABANDONED"],
  RUNNING: ["PENDING", "COMPLETED", "FAILED", "CANCELLED", "ABANDONED"],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
  ABANDONED: [],
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
} as const satisfies Record<JobOutcome, EndStatus>;

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
  by: "anybody" | "recovery" = "anybody",
): JobStatus {
  const isAllowed =
    (NEXT_STATUSES[from] as readonly JobStatus[]).includes(to) &&
    (to !== "PENDING" || by === "recovery");
  if (isAllowed) return to;
  throw new DureError("JOB_TRANSITION", `A job that is ${from} cannot become ${to}.`, {
    class: "conflict",
    hint:
      from === "COMPLETED"
        ? "It did what it was asked; there is nothing left to change."
        : NEXT_STATUSES[from].length === 0
          ? "It has ended; start it anew with retry."
          : `It may become ${NEXT_STATUSES[from].join(", ")}; PENDING by recovery only.`,
  });
}

export function isOver(status: JobStatus): status is EndStatus {
  return NEXT_STATUSES[status].length === 0;
}

/** The durable record of an exchange. */
export interface Job {
  readonly jobId: string;
  readonly tenant: string;
  readonly status: JobStatus;
  readonly outcome: JobOutcome | null;
  /** The agents' ids. */
  readonly requester: string;
  readonly target: string;
  readonly message: string;
  readonly payload: JobPayload | null;
  readonly topic: string | null;
  readonly intent: JobIntent;
  readonly conversationId: string;
  readonly parentJobId: string | null;
  readonly rootId: string;
  /** 0 for a job that no job asked for. */
  readonly depth: number;
  /** The job that this one was started from with `retry`. */
  readonly retryOf: string | null;
  /**
   * Exchange turns at most, the target's first reply included. 0: the target reads the message,
   * and its answer is not waited for.
   */
  readonly maxTurns: number;
  /** Turns that are finished and recorded. A resumed job starts at `turnsDone + 1`. */
  readonly turnsDone: number;
  /** Resumes since the last finished turn. */
  readonly resumeCount: number;
  /** Resumes in all. */
  readonly resumes: number;
  readonly lastError: JobError | null;
  /** What a RUNNING job waits for outside of its turn. */
  readonly waiting: "person" | null;
  /** Where the requester asked: the place that is told the result. */
  readonly origin: { readonly session: string; readonly turn: string | null } | null;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /**
   * Since when the exchange turn under way is led; null between two turns, in line, and behind the
   * end.
   */
  readonly turnStartedAt: number | null;
}

export interface JobError {
  readonly code: string;
  readonly message: string;
}

/** One agent's answer in the exchange. */
export interface JobTurn {
  /** From 1. The target speaks in odd turns. */
  readonly number: number;
  readonly speaker: string;
  readonly text: string;
  /**
   * Of every model call that has a record, also of attempts that failed. The usage of a call that
   * a crash cut off is not known: the call is made again, and that one counts.
   */
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly costMicroUsd: number | null;
  /** The conversation turn that brought it. */
  readonly turnId: string | null;
  readonly attempts: number;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** What a person said into the exchange. */
export interface JobWords {
  readonly id: number;
  readonly author: string;
  readonly text: string;
  readonly at: number;
  /** The exchange turn that it reached; null while it waits for the next one. */
  readonly turn: number | null;
}

/** A job with all that was said in it. */
export interface JobDetail extends Job {
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
  /** What the asked agent said last. */
  readonly reply: string | null;
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

/** The job whose exchange a session belongs to; undefined for every other session. */
export function jobOfSession(session: string): string | undefined {
  return /^job:(job_[0-9A-Z]{26}):/.exec(session)?.[1];
}
