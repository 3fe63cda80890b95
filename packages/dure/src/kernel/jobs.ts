/** Words of jobs that every reader shares. Source: docs/spec/jobs §2. */

export const OPEN_JOB_STATUSES = ["PENDING", "RUNNING"] as const;
export type OpenJobStatus = (typeof OPEN_JOB_STATUSES)[number];
export const JOB_ENDS = ["COMPLETED", "FAILED", "CANCELLED", "ABANDONED"] as const;
export type JobEnd = (typeof JOB_ENDS)[number];

/** Those of a job that goes on, then its ends. */
export const JOB_STATUSES = [...OPEN_JOB_STATUSES, ...JOB_ENDS] as const;
/**
 * `PENDING` waits in line, `RUNNING` is led by a process; `COMPLETED`, `FAILED`, `CANCELLED` and
 * `ABANDONED` are ends.
 */
export type JobStatus = (typeof JOB_STATUSES)[number];

/** Whether a job has ended, however it did. */
export function isJobOver(status: JobStatus): status is JobEnd {
  return (JOB_ENDS as readonly string[]).includes(status);
}

/** How a job can end. */
export const JOB_OUTCOMES = [
  "max_turns",
  "explicit_skip",
  "conclusion",
  "repetition",
  "empty_reply",
  "minimal_content",
  "no_reply",
  "blocked",
  "turn_timeout",
  "agent_error",
  "agent_removed",
  "budget",
  "cancelled",
  "stale",
  "resume_limit",
] as const;
/** How a job ended. */
export type JobOutcome = (typeof JOB_OUTCOMES)[number];

/** What a request is for; decides how long the exchange may be. Source: docs/spec/jobs §3. */
export const JOB_INTENTS = [
  "notification",
  "urgent_escalation",
  "result_report",
  "question",
  "request",
  "collaboration",
] as const;
/** What a request is for; it decides how long the exchange may be. */
export type JobIntent = (typeof JOB_INTENTS)[number];

/** Events behind which a job says nothing more. */
export type JobEndType = `job.${Lowercase<JobEnd>}`;
const JOB_END_EVENTS: ReadonlySet<string> = new Set(
  JOB_ENDS.map((end) => `job.${end.toLowerCase()}`),
);

/** Whether it is the last event of a job. */
export function isJobEnd<Event extends { readonly type: string }>(
  event: Event,
): event is Extract<Event, { readonly type: JobEndType }> {
  return JOB_END_EVENTS.has(event.type);
}
