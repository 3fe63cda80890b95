import { codeOf, DureError, isAbort, ProcessError } from "../kernel/errors.ts";
import { isConnectionError, isRaisedByDatabase, sqlState } from "./database.ts";

/**
 * What a process meets that is no fault of the work: its right to write has gone to another, it is
 * stopping, or the database could not do it now. The same work may be done in a moment, here or by
 * another process.
 */
export interface Passing {
  readonly code: string;
  /** When it makes sense to try again, milliseconds. */
  readonly retryAfterMs: number;
}

/**
 * A process that others have taken over is dead after 6 s, and its successor is at work by then.
 * Source: docs/spec/platform §8.
 */
const OTHER_PROCESS_MS = 1_000;
/**
 * The longest that a transaction may keep a lock from others. Source: TRANSACTION_TIMEOUT in
 * database.ts.
 */
const LOCK_MS = 5_000;

const PASSING_CODES: Readonly<Record<string, number>> = {
  FENCED: OTHER_PROCESS_MS,
  TURN_FENCED: OTHER_PROCESS_MS,
  JOB_FENCED: OTHER_PROCESS_MS,
  PROCESS_STOPPED: OTHER_PROCESS_MS,
  SERVER_STOPPING: OTHER_PROCESS_MS,
  SERVER_DRAINING: OTHER_PROCESS_MS,
  DATABASE_CLOSED: OTHER_PROCESS_MS,
  DATABASE_UNAVAILABLE: 1_000,
  LEASE_BUSY: LOCK_MS,
  TRANSACTION_TOO_LONG: LOCK_MS,
};

/** Source: PostgreSQL documentation, "PostgreSQL Error Codes". */
const PASSING_STATES: Readonly<Record<string, Passing>> = {
  "40001": { code: "DATABASE_BUSY", retryAfterMs: 1_000 }, // serialization_failure
  "40P01": { code: "DATABASE_BUSY", retryAfterMs: 1_000 }, // deadlock_detected
  "55P03": { code: "DATABASE_BUSY", retryAfterMs: LOCK_MS }, // lock_not_available
  "57014": { code: "DATABASE_BUSY", retryAfterMs: LOCK_MS }, // query_canceled, also by statement_timeout
  "25006": { code: "DATABASE_READ_ONLY", retryAfterMs: LOCK_MS }, // read_only_sql_transaction
  "53000": { code: "DATABASE_UNAVAILABLE", retryAfterMs: LOCK_MS }, // insufficient_resources
  "53100": { code: "DATABASE_UNAVAILABLE", retryAfterMs: 30_000 }, // disk_full
  "53200": { code: "DATABASE_UNAVAILABLE", retryAfterMs: LOCK_MS }, // out_of_memory
  "58030": { code: "DATABASE_UNAVAILABLE", retryAfterMs: LOCK_MS }, // io_error
};

/** Undefined for an error that would come again. */
export function passingOf(error: unknown): Passing | undefined {
  const code = error instanceof DureError ? error.code : undefined;
  const retryAfterMs = code === undefined ? undefined : PASSING_CODES[code];
  if (code !== undefined && retryAfterMs !== undefined) return { code, retryAfterMs };
  if (error instanceof DureError) return undefined; // who wrapped it has said what it means

  const known = PASSING_STATES[sqlState(error) ?? ""];
  if (known) return known;
  if (isAbort(error)) return { code: "SERVER_STOPPING", retryAfterMs: OTHER_PROCESS_MS };

  return isConnectionError(error)
    ? { code: "DATABASE_UNAVAILABLE", retryAfterMs: 1_000 }
    : undefined;
}

/**
 * Whether dure's own database can do nothing now, whichever statement it is sent: it is away, takes
 * no writes, has no room, or others hold what is wanted. What was written is safe to repeat or not,
 * as the caller knows.
 */
export function isDatabaseAway(error: unknown): boolean {
  return AWAY.has(passingOf(error)?.code ?? "") && !countsAsTry(error);
}

const AWAY: ReadonlySet<string> = new Set([
  "DATABASE_UNAVAILABLE",
  "DATABASE_BUSY",
  "DATABASE_READ_ONLY",
]);

/**
 * Whether the same work may be done in a moment, here or elsewhere: what passes, and what the
 * machine or a service lacks for now.
 */
export function mayPass(error: unknown): boolean {
  if (passingOf(error)) return true;
  return error instanceof DureError && error.class === "unavailable";
}

/**
 * Whether an error is the answer to a request, which would get the same one again. What passes is
 * none, whichever class it has: nothing was decided about the request.
 */
export function isRefusal(error: unknown): error is DureError {
  if (!(error instanceof DureError) || mayPass(error)) return false;
  return error.class !== "internal";
}

/** Another process has the work. */
const TAKEN_OVER: ReadonlySet<string> = new Set(["FENCED", "TURN_FENCED", "JOB_FENCED"]);

/**
 * Whether an error says that another process has the work now. Then this one leaves it: it stops
 * nothing, ends nothing and records no result. What it had under way may be the other one's by now.
 */
export function isTakenOver(error: unknown): boolean {
  return TAKEN_OVER.has(codeOf(error) ?? "");
}

/**
 * The passing trouble of this process or of dure's own database behind an error of some work, such
 * as a tool. What the work met elsewhere, a connection of its own that was cut, is its result.
 */
export function ownTroubleOf(error: unknown): Passing | undefined {
  if (!(error instanceof ProcessError) && !isRaisedByDatabase(error)) return undefined;
  return passingOf(error) ?? passingOf((error as Error).cause);
}

/** Whether a failed try of some work counts: what takes too long may take too long each time. */
export function countsAsTry(error: unknown): boolean {
  const passing = passingOf(error);
  return (
    passing === undefined || codeOf(error) === "TRANSACTION_TOO_LONG" || sqlState(error) === "57014"
  );
}
