import type { FollowedItem } from "../durable/event-log.ts";
import { followSubject, type FollowedSubject } from "../durable/follow-subject.ts";
import { isJobEnd, isJobOver, type JobEndType } from "../kernel/jobs.ts";
import type { EventOf, PlatformEvent } from "../wire/events.ts";
import type { JobDetail } from "./job.ts";

/**
 * What a stream of one job carries. `reset`: what came before `oldest` is no longer stored; read
 * the job anew.
 */
export type JobFrame =
  /** How the job stands; what follows comes behind `position`. */
  | { readonly kind: "job"; readonly job: JobDetail; readonly position: string }
  | { readonly kind: "event"; readonly event: PlatformEvent }
  | { readonly kind: "reset"; readonly oldest: string };

type JobToFollow = Pick<FollowedSubject<JobDetail>, "events" | "after" | "signal" | "read"> & {
  readonly jobId: string;
};

type JobEndEvent = EventOf<JobEndType>;

/** See `Jobs.stream`. */
export async function* followJob({
  jobId,
  ...followed
}: JobToFollow): AsyncGenerator<JobFrame, void, undefined> {
  const isSeen = followed.after === undefined;
  const frames = followSubject<JobDetail>({
    ...followed,
    filter: { types: ["job.*"], role: "delegation", job: jobId },
    isOver: ({ status }) => isJobOver(status),
    untilOver: (items, job) => untilEnd(items, isSeen ? job.turnsDone : undefined),
  });
  for await (const frame of frames) {
    if (frame.kind !== "subject") yield frame;
    else yield { kind: "job", job: frame.subject, position: frame.position };
  }
}

/**
 * The end comes last: a cancel that waited for the record of a turn stands
 * before it in the log.
 *
 * @param turnsSeen turns that the reader has seen with the job; undefined for
 * one that comes back
 */
async function* untilEnd(
  items: AsyncIterable<FollowedItem>,
  turnsSeen: number | undefined,
): AsyncGenerator<FollowedItem, void, undefined> {
  let seen = turnsSeen;
  let last: JobEndEvent | undefined;
  for await (const item of items) {
    if (item.kind === "reset") {
      yield item;
      continue;
    }
    const { event } = item;
    if (seen !== undefined && event.type === "job.turn") {
      const { number } = event.data;
      if (number <= seen) continue;
      seen = number;
    }
    if (isJobEnd(event)) last = event;
    else yield item;
    if (!last || (seen !== undefined && seen < last.data.turnsDone)) continue;
    yield { kind: "event", event: last };
    return;
  }
}
