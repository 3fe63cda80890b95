import { DureError } from "../kernel/errors.ts";

/** What `dure.retry_job` has done, or why it has not. */
export type RetriedJob =
  | "turn"
  | "again"
  | "begin"
  | "open"
  | "completed"
  | "cancelled"
  | "stopped"
  | "ending"
  | "acted";

/** Why a job is not opened again; undefined: it is open. Pure. */
export function jobRetryRefusal(job: string, answer: RetriedJob): DureError | undefined {
  switch (answer) {
    case "turn":
    case "again":
    case "begin":
    case "open":
      return undefined;
    case "ending":
      return new DureError(
        "JOB_NOT_RETRYABLE",
        `The last turn of the job ${job} is being stopped.`,
        {
          class: "unavailable",
          hint: "Try again in a moment.",
        },
      );
    case "completed":
      return new DureError("JOB_NOT_RETRYABLE", `The job ${job} is COMPLETED.`, {
        class: "conflict",
        hint: "It did what it was asked; ask again for more.",
      });
    case "cancelled":
      return new DureError("JOB_NOT_RETRYABLE", `The job ${job} was cancelled.`, {
        class: "conflict",
        hint: "It stays cancelled; ask again.",
      });
    case "stopped":
      return new DureError("JOB_NOT_RETRYABLE", `The job ${job} was stopped by a person.`, {
        class: "conflict",
        hint: "It stays stopped; ask again.",
      });
    case "acted":
      return new DureError(
        "JOB_NOT_RETRYABLE",
        `What the last turn of the job ${job} has done cannot go on.`,
        {
          class: "conflict",
          hint: "See in its turns what was done, then ask again for the rest.",
        },
      );
    default:
      return answer satisfies never;
  }
}
