/**
 * How the outside sees an error: what a caller did wrong, what is missing, what is in the way, what
 * broke here.
 */
export type ErrorClass =
  | "input"
  | "not-found"
  | "conflict"
  | "limit"
  | "forbidden"
  | "unauthorized"
  | "unavailable"
  | "internal";

/** What an error says beside its code and message. */
export interface DureErrorOptions {
  /** What to do about it: the sentence that one would say to a colleague. */
  hint?: string | undefined;
  cause?: unknown;
  /**
   * Default `internal`. Decides the HTTP status (server/problem.ts) and the exit code of the CLI.
   */
  class?: ErrorClass | undefined;
  /** Facts for machines, copied into the problem JSON as they are. */
  details?: Readonly<Record<string, unknown>> | undefined;
}

/** The one error of dure: a stable code, a message that names the things involved, and a hint. */
export class DureError extends Error {
  override readonly name = "DureError";
  readonly code: string;
  readonly hint: string | undefined;
  readonly class: ErrorClass;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  /** @param code UPPER_SNAKE_CASE; part of the public contract. */
  constructor(code: string, message: string, options: DureErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.class = options.class ?? "internal";
    this.details = options.details;
  }
}

/**
 * Thrown where this process, not the work, is in the way: it stops, or others have taken over. The
 * same code from another server is a plain `DureError`.
 */
export class ProcessError extends DureError {}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of anything that was thrown, if it has one: dure's own, Node's, PostgreSQL's. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Whether an error is only the echo of an abort. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || codeOf(error) === "ABORT_ERR");
}
