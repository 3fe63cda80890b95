import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";

/** Something of a provider, a tool, a handler or another server that failed. */
export interface LoggedFailure {
  readonly error: unknown;
  /** Ids and codes of ours that the line has. */
  readonly facts: object;
  /** Default `warn`. */
  readonly as?: "info" | "warn" | "error";
}

/**
 * One line about a failure. The words of `error` may quote what a person has said, so they stand at
 * debug alone; the line above has code, class, the error's name, and where in the code it was
 * thrown. Source: docs/spec/platform §7.
 */
export function logFailure(
  logger: Logger,
  message: string,
  { error, facts, as = "warn" }: LoggedFailure,
): void {
  const ours = {
    ...facts,
    code: codeOf(error) ?? "INTERNAL",
    ...(error instanceof DureError
      ? { class: error.class, cause: causeOf(error) }
      : { error: nameOf(error), at: placeOf(error) }),
  };
  logger[as](ours, message);
  logger.debug({ ...facts, error: messageOf(error) }, `${message}: its own words`);
}

/** What lies behind one of our own: an error of a provider's client, or of the team's code. */
function causeOf({ cause }: DureError): object | undefined {
  if (cause === undefined) return undefined;
  return { error: nameOf(cause), code: codeOf(cause), at: placeOf(cause) };
}

/** `TypeError`, or `string` where something else was thrown. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/** The first lines of the stack, without the message in front of them. */
function placeOf(error: unknown): readonly string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [];
  const from = error.stack.indexOf(error.message);
  const frames = from < 0 ? "" : error.stack.slice(from + error.message.length);
  return frames
    .split("\n")
    .filter((line) => /^\s+at /u.test(line))
    .slice(0, MAX_PLACES)
    .map((line) => line.trim());
}

/** Enough to find the handler. */
const MAX_PLACES = 3;
