import { codeOf, DureError, messageOf, type ErrorClass } from "../../kernel/errors.ts";

/** An error as a journal keeps it. */
export interface StoredError {
  readonly code: string;
  readonly message: string;
  readonly class: ErrorClass;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export function storedError(error: unknown): StoredError {
  const known = error instanceof DureError ? error : undefined;
  return {
    code: codeOf(error) ?? "INTERNAL",
    message: messageOf(error),
    class: known?.class ?? "internal",
    details: known?.details,
  };
}

/** The error as it was thrown, for a later life that reads its record. */
export function revive(error: StoredError): DureError {
  const { code, message, details } = error;
  return new DureError(code, message, { class: error.class, details });
}
