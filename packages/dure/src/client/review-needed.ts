import { DureError } from "../kernel/errors.ts";
import type { ReviewNeeded } from "../wire/runs.ts";

/**
 * What a person is to look at before a result leaves its run; undefined: the refusal says something
 * else. Sending `confirm` again is the yes to it. Pure.
 */
export function reviewNeeded(error: unknown): ReviewNeeded | undefined {
  const isIt = error instanceof DureError && error.code === "RESULT_NEEDS_REVIEW";
  if (!isIt || !Array.isArray(error.details?.["findings"])) return undefined;

  return error.details as unknown as ReviewNeeded;
}
