import type { Job } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { useIsGone } from "../server-watch.ts";

/** How a job stands, in a word. */
export function StatusBadge({ job }: { job: Pick<Job, "status" | "waiting"> }): ReactNode {
  const text = useText();
  const words = statusWords(job, text.jobs);
  const isStale = useIsGone() && job.status === "RUNNING";
  return (
    <span className="badge" data-status={job.waiting === null ? job.status : "WAITING"}>
      {job.status === "RUNNING" && job.waiting === null && <span className="pulse" aria-hidden />}
      {isStale ? text.shell.connection.lastSeen({ status: words }) : words}
    </span>
  );
}

/** What the job waits for, or else its status. */
export function statusWords(
  { status, waiting }: Pick<Job, "status" | "waiting">,
  words: ReturnType<typeof useText>["jobs"],
): string {
  if (waiting === null) return words.statuses[status];
  return waiting === "pause" ? words.waitsForResume : words.waitsForPerson;
}
