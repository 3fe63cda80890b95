/** Words of jobs that every reader shares. Source: docs/spec/jobs §2. */

/** PENDING waits in line, RUNNING is led; the other four are ends. */
export const JOB_STATUSES = [
  "PENDING",
  "RUNNING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "ABANDONED",
] as const;
/** `PENDING` waits in line, `RUNNING` is led by a process; the other four are ends. */
export type JobStatus = (typeof JOB_STATUSES)[number];

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
const JOB_END_EVENTS = ["job.completed", "job.failed", "job.cancelled", "job.abandoned"] as const;
type JobEndEvent = (typeof JOB_END_EVENTS)[number];

/** Whether it is the last event of a job. */
export function isJobEnd<Event extends { readonly type: string }>(
  event: Event,
): event is Extract<Event, { readonly type: JobEndEvent }> {
  return (JOB_END_EVENTS as readonly string[]).includes(event.type);
}
