import type { PlatformEvent } from "../kernel/platform-events.ts";
import { followStream, type FollowOptions, type FollowParts } from "./follow-stream.ts";
import type { JobDetail, JobNews, JobStatus } from "./jobs.ts";

export type JobStreamOptions = FollowOptions;
export type JobStreamParts = FollowParts;

/** Events behind which a job says nothing more. */
const END_EVENTS: ReadonlySet<string> = new Set([
  "job.completed",
  "job.failed",
  "job.cancelled",
  "job.abandoned",
]);

/**
 * A job as it stands, then its events until it has ended. Throws a refusal, such as `JOB_UNKNOWN`.
 */
export function followJob(parts: JobStreamParts): AsyncGenerator<JobNews, void> {
  return followStream<JobNews>(parts, {
    read: (event, data) =>
      event === "job"
        ? { kind: "job", job: data as JobDetail }
        : { kind: "event", event: data as PlatformEvent },
    isEnd: (news) =>
      news.kind === "job" ? isOver(news.job.status) : END_EVENTS.has(news.event.type),
    ends: "at-once",
  });
}

function isOver(status: JobStatus): boolean {
  return status !== "PENDING" && status !== "RUNNING";
}
