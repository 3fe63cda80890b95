import { isRaisedByDatabase } from "../../durable/database.ts";
import { isTakenOver, ownTroubleOf } from "../../durable/passing.ts";
import { codeOf, DureError, isAbort, messageOf } from "../../kernel/errors.ts";
import { onlyDefined } from "../../kernel/json.ts";
import { WORKER_FAILURES, type WorkerError, type WorkerFailure } from "./worker.ts";

/** A failure of a worker as something to throw inside of `work`. */
export function workerError(
  code: WorkerFailure,
  message: string,
  options: {
    hint?: string | undefined;
    cause?: unknown;
    /** With `WORKER_RATE_LIMITED`: when the next call may be made, milliseconds since 1970. */
    until?: number | undefined;
  } = {},
): DureError {
  const { hint = WORKER_FAILURES[code], cause, until } = options;
  const details = until === undefined ? undefined : { until };

  return new DureError(code, message, onlyDefined({ hint, cause, details }));
}

/**
 * Whether an error is what a try of a worker came to. Trouble of dure's own process or database, and
 * a defect of dure, are not: they say nothing of the work, and the step is begun again. A connection
 * of the worker's own that was cut is its end.
 */
export function endsTry(error: unknown): boolean {
  if (error instanceof DureError && isFailure(error.code)) return true;
  if (isTakenOver(error) || ownTroubleOf(error) || isRaisedByDatabase(error)) return false;

  return error instanceof DureError || isAbort(error) || codeOf(error) !== undefined;
}

/** What a worker failed with, as it is told: every error has a code, a message and a hint. */
export function asFailure(error: unknown): WorkerError & { readonly hint: string } {
  if (error instanceof DureError && isFailure(error.code)) {
    const until = error.details?.["until"];
    return {
      code: error.code,
      message: error.message,
      hint: error.hint ?? WORKER_FAILURES[error.code],
      until: typeof until === "number" ? until : undefined,
    };
  }
  const known = error instanceof DureError ? error : undefined;
  const code = known ? `${known.code}: ` : "";

  return {
    code: "WORKER_FAILED",
    message: `${code}${messageOf(error)}`,
    hint: known?.hint ?? WORKER_FAILURES.WORKER_FAILED,
  };
}

function isFailure(code: string): code is WorkerFailure {
  return Object.hasOwn(WORKER_FAILURES, code);
}
