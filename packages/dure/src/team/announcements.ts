import type { OutsideHandler } from "../durable/outbox-handler.ts";
import type { Conversations } from "../engine/api.ts";
import { announcementText, type JobAnnouncement } from "../jobs/announcement.ts";
import type { JobFiles } from "../jobs/job-files.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { Directory } from "../rooms/directory.ts";

/** Milliseconds in which the place of origin is told. Source: docs/spec/jobs §3.6. */
const TOLD_WITHIN_MS = 120_000;

/**
 * Tells the place where a job was asked what came of it: a turn of its own in that session, in
 * which the agent that asked says it in its words, or `ANNOUNCE_SKIP`, with the files that were made
 * for it; an agent that answers
 * through a service is told it in the next turn there. The key is that of the outbox entry, so
 * there is one such turn. What was asked in an exchange does not come here: the agent is told it in
 * its next turn there, and the exchange's own place of origin when there is none
 * (dure.announce_job).
 */
export function announcementHandler(parts: {
  conversations: Pick<Conversations, "accept">;
  jobs: Pick<Jobs, "keepNote"> & { readonly files: Pick<JobFiles, "carryMade"> };
  directory: Directory;
  locale: string;
}): OutsideHandler {
  return {
    policy: { attempts: 8, firstRetryMs: 500, timeoutMs: TOLD_WITHIN_MS },
    send: async (payload, { key }) => {
      const notice = payload as unknown as JobAnnouncement;
      const requester = parts.directory.find(notice.requester);
      if (!requester) return;
      // A flow would take a turn of its own for a person's words; its agents are told with the next
      // one.
      if (requester.service !== requester.id) {
        return parts.jobs.keepNote(notice.jobId, notice.session);
      }

      const text = announcementText(notice, {
        locale: parts.locale,
        nameOf: (agent) => parts.directory.nameOf(agent),
      });

      const background =
        "<background-work>\nWork that you had asked for in the background has ended; its " +
        "result follows as quoted data. Tell the people here in your own words, shortly. If " +
        "no one needs to know, answer with ANNOUNCE_SKIP alone.\n</background-work>";

      const made = await parts.jobs.files.carryMade(notice.jobId, notice.session);
      const files = made.map(({ id }) => id);
      try {
        await parts.conversations.accept(
          { session: notice.session, service: requester.service, message: text, background, files },
          {
            key,
            path: "announce",
            author: "system",
            caller: { tenant: notice.tenant, name: "jobs" },
          },
        );
      } catch (error) {
        // the session is gone, and who could be told with it
        if (error instanceof DureError && error.class === "not-found") return;
        throw error;
      }
    },
    classify: (error) =>
      codeOf(error) === "SESSION_QUEUE_FULL"
        ? { class: "rate-limited", afterMs: 2_000, notSent: true }
        : undefined,
  };
}
