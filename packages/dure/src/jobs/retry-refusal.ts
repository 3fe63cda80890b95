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
    default: {
      const { why, hint } = REFUSALS[answer];
      return new DureError("JOB_NOT_RETRYABLE", `The job ${job} ${why}.`, {
        class: "conflict",
        hint,
      });
    }
  }
}

const REFUSALS = {
  completed: { why: "is COMPLETED", hint: "It did what it was asked; ask again for more." },
  cancelled: { why: "was cancelled", hint: "It stays cancelled; ask again." },
  stopped: { why: "was stopped by a person", hint: "It stays stopped; ask again." },
  acted: {
    why: "cannot go on from its last turn, which has done something already",
    hint: "See in its turns what was done, then ask again for the rest.",
  },
} as const;
