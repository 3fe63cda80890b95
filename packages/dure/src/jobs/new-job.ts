import { codeOf, DureError } from "../kernel/errors.ts";
import type { FileRef } from "../kernel/files.ts";
import type { JobPayload } from "./payloads.ts";

/** What `dure.ask_job` takes. */
export interface NewJob {
  readonly id: string;
  readonly tenant: string;
  readonly requester: string;
  readonly target: string;
  readonly message: string;
  readonly payload: JobPayload | null;
  readonly topic: string | null;
  readonly intent: string;
  readonly conversation: string | null;
  /** Used when no conversation is found. */
  readonly new_conversation: string;
  /** Of the session where it is asked. */
  readonly files: readonly FileRef[];
  readonly parent: string | null;
  readonly max_turns: number;
  readonly key: string | null;
  readonly body_hash: string;
  readonly origin_session: string | null;
  readonly origin_turn: string | null;
  /** How long the caller waits for the answer itself, milliseconds. */
  readonly wait_ms: number;
  readonly max_depth: number;
  readonly max_tree: number;
}

/**
 * Why the database has not made the job; undefined for an error that is no
 * refusal. Pure.
 */
export function refusalOf(error: unknown, job: NewJob): DureError | undefined {
  return REFUSALS[codeOf(error) ?? ""]?.(job);
}

/** Refusals of `dure.ask_job`, by SQLSTATE. */
const REFUSALS: Readonly<Record<string, (job: NewJob) => DureError>> = {
  DU404: ({ parent }) =>
    new DureError("JOB_UNKNOWN", `There is no job ${parent}.`, {
      class: "not-found",
      hint: "Check the parent's id.",
    }),
  DU409: ({ parent }) =>
    new DureError("JOB_OVER", `The job ${parent} has ended and asks for nothing more.`, {
      class: "conflict",
      hint: "Ask from a session of its own.",
    }),
  DU413: ({ max_depth: most }) =>
    new DureError("JOB_TOO_DEEP", `This request would be more than ${most} requests deep.`, {
      class: "limit",
      hint: "Answer with what is known; the rest can be asked for outside of this exchange.",
    }),
  DU422: ({ key }) =>
    new DureError("IDEMPOTENCY_KEY_REUSED", `The key ${key} was used for another request.`, {
      class: "input",
      hint: "Use a new key for a new request.",
    }),
  DU429: ({ max_tree: most }) =>
    new DureError(
      "JOB_TREE_FULL",
      `The work that this request belongs to has ${most} jobs already.`,
      {
        class: "limit",
        hint: "Answer with what is known; the rest can be asked for outside of this work.",
      },
    ),
};
