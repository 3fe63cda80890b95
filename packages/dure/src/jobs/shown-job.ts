import { sessionIdFor, type TenantView } from "../kernel/tenant.ts";
import type { Job as ShownJob, JobDetail as ShownJobDetail } from "../wire/jobs.ts";
import type { Job, JobDetail } from "./job.ts";

/** For whom a job is shown. */
export interface JobReader {
  readonly view: TenantView;
  /** What people call an agent; its id where it has no name. */
  readonly nameOf: (agent: string) => string;
}

/** A job as its reader may know it: names beside ids, sessions by their id. Pure. */
export function shownJob(job: Job, reader: JobReader): ShownJob {
  return { ...job, ...knownBy(reader, job) };
}

/** The same with turns and words. Pure. */
export function shownJobDetail(job: JobDetail, reader: JobReader): ShownJobDetail {
  return { ...job, ...knownBy(reader, job) };
}

function knownBy(
  { view, nameOf }: JobReader,
  { origin, requester, target }: Job,
): Pick<ShownJob, "origin" | "requesterName" | "targetName"> {
  return {
    origin: origin && { ...origin, session: sessionIdFor(view, origin.session) },
    requesterName: nameOf(requester),
    targetName: nameOf(target),
  };
}
