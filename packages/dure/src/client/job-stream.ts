import { followStream, type FollowOptions, type FollowParts } from "./follow-stream.ts";
import type { JobNews } from "./jobs.ts";
import type { PlatformEvent } from "../wire/events.ts";
import { isJobEnd, isJobOver } from "../kernel/jobs.ts";
import type { JobDetail } from "../wire/jobs.ts";

export type JobStreamOptions = FollowOptions;
export type JobStreamParts = FollowParts;

/**
 * A job as it stands, then its events until it has ended. Throws a refusal, such as `JOB_UNKNOWN`.
 */
export function followJob(parts: JobStreamParts): AsyncGenerator<JobNews, void> {
  return followStream<JobNews>(parts, {
    read: (event, data) =>
      event === "job"
        ? { kind: "job", job: data as JobDetail }
        : { kind: "event", event: data as PlatformEvent },
    isEnd: (news) => (news.kind === "job" ? isJobOver(news.job.status) : isJobEnd(news.event)),
    ends: "at-once",
  });
}
