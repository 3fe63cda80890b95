import type { EventFilter } from "../kernel/platform-events.ts";
import type { EventLog, FollowedItem } from "./event-log.ts";

/** How a subject stands; what follows comes behind `position`. */
export interface SubjectFrame<Subject> {
  readonly kind: "subject";
  readonly subject: Subject;
  readonly position: string;
}

export interface FollowedSubject<Subject> {
  readonly events: Pick<EventLog, "follow" | "read" | "now" | "caughtUp">;
  /** The events of the subject. */
  readonly filter: EventFilter;
  /** Only what came behind this event; the subject itself is left out. */
  readonly after: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Throws when there is no such subject. */
  readonly read: () => Promise<Subject>;
  readonly isOver: (subject: Subject) => boolean;
  /**
   * What a reader is told of the events that come, until the subject has ended.
   */
  readonly untilOver: (
    items: AsyncIterable<FollowedItem>,
    subject: Subject,
  ) => AsyncIterable<FollowedItem>;
}

const PAGE = 500;

/**
 * One thing that has an end: how it stands, then what happens to it until it
 * has ended. Reads the position first and the subject after it, so that no
 * event falls between the two. Ends with the abort of the signal.
 */
export async function* followSubject<Subject>(
  followed: FollowedSubject<Subject>,
): AsyncGenerator<SubjectFrame<Subject> | FollowedItem, void, undefined> {
  const { events, filter, after, signal } = followed;
  const position = after ?? (await events.now());
  const subject = await followed.read();

  if (followed.isOver(subject)) {
    // Its last events may stand behind a transaction that is still open.
    await events.caughtUp({ signal });
    if (after === undefined) yield { kind: "subject", subject, position: await events.now() };
    else yield* storedBehind(after, followed);
    return;
  }

  if (after === undefined) yield { kind: "subject", subject, position };
  yield* followed.untilOver(events.follow(filter, { after: position, signal }), subject);
}

async function* storedBehind(
  after: string,
  { events, filter, signal }: Pick<FollowedSubject<unknown>, "events" | "filter" | "signal">,
): AsyncGenerator<FollowedItem, void, undefined> {
  for (let from = after; ;) {
    const page = await events.read(from, filter, PAGE);
    if (page.reset) yield { kind: "reset", ...page.reset };
    for (const event of page.events) yield { kind: "event", event };
    if (page.atEnd || signal?.aborted) return;
    from = page.next;
  }
}
