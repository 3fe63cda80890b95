import type { Job } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";

/** How a job stands, in a word. */
export function StatusBadge({ job }: { job: Pick<Job, "status" | "waiting"> }): ReactNode {
  const text = useText();
  return (
    <span className="job-status" data-status={job.waiting === null ? job.status : "WAITING"}>
      {job.status === "RUNNING" && job.waiting === null && <span className="pulse" aria-hidden />}
      {job.waiting === null ? text.jobs.statuses[job.status] : text.jobs.waitsForPerson}
    </span>
  );
}
