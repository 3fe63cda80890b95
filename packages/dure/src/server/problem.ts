import { passingOf, type Passing } from "../durable/passing.ts";
import { codeOf, DureError, type ErrorClass } from "../kernel/errors.ts";
import { isObject, onlyDefined } from "../kernel/json.ts";
import { snakeCase, toWire } from "../kernel/wire.ts";
import type { FieldError, ProblemJson } from "../wire/problem.ts";

const STATUS_OF_CLASS = {
  input: 400,
  unauthorized: 401,
  forbidden: 403,
  "not-found": 404,
  conflict: 409,
  limit: 429,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<ErrorClass, number>;

/** Codes whose status is finer than their class. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TOO_SLOW: 408,
  BODY_TOO_LARGE: 413,
  MESSAGE_TOO_LARGE: 413,
  FILE_TOO_LARGE: 413,
  FILE_TYPE_REFUSED: 415,
  CONTENT_TYPE_UNSUPPORTED: 415,
  EXPECTATION_FAILED: 417,
  IDEMPOTENCY_KEY_REUSED: 422,
  HEADERS_TOO_LARGE: 431,
};

const TITLES: Readonly<Record<number, string>> = {
  400: "The request is not valid",
  401: "A token is needed",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  408: "The request came too slowly",
  409: "In conflict with what is",
  413: "Too large",
  415: "Content type not supported",
  417: "Expectation failed",
  422: "Cannot be processed",
  429: "Too many requests",
  431: "Headers too large",
  500: "Something broke here",
  503: "Not available now",
};

/** Titles of codes that say more than their status. */
const TITLES_OF_CODE: Readonly<Record<string, string>> = {
  HOOK_REFUSED: "The delivery is refused",
};

/** What Fastify calls its own refusals, in dure's words. */
const FASTIFY_REFUSALS: Readonly<Record<string, { code: string; message: string; hint?: string }>> =
  {
    FST_ERR_CTP_BODY_TOO_LARGE: {
      code: "BODY_TOO_LARGE",
      message: "The body is too large.",
      hint: "Send it in parts.",
    },
    FST_ERR_CTP_INVALID_MEDIA_TYPE: {
      code: "CONTENT_TYPE_UNSUPPORTED",
      message: "The body's content type is not application/json.",
      hint: "Send JSON with the header content-type: application/json.",
    },
    FST_ERR_CTP_EMPTY_JSON_BODY: {
      code: "BODY_INVALID",
      message: "The body is empty.",
      hint: "Send a JSON object.",
    },
    FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
      code: "BODY_INVALID",
      message: "The body's length is not its Content-Length.",
    },
    FST_ERR_BAD_URL: {
      code: "URL_INVALID",
      message: "The address holds a broken percent-encoding.",
    },
  };

/**
 * The `DureError` behind anything that was thrown while a request was answered. Unknown errors
 * become `INTERNAL`, without their text. @param bodyBytes What the route takes.
 */
export function asDureError(
  error: unknown,
  { bodyBytes }: { bodyBytes?: number | undefined } = {},
): DureError {
  if (error instanceof DureError) return error;

  const refused = refusedByFastify(error, bodyBytes);
  if (refused) return refused;

  const passing = passingOf(error);
  if (passing) return passedOver(passing, error);

  if (NOT_STORABLE.has(codeOf(error) ?? "")) return notStorable(error);

  const fields = fieldErrorsOf(error);
  if (fields) return invalidFields(fields, error);

  const status = statusCodeOf(error);

  if (status !== undefined && status >= 400 && status < 500) {
    return new DureError("REQUEST_INVALID", (error as Error).message, {
      class: "input",
      cause: error,
    });
  }

  return new DureError("INTERNAL", "The server could not answer this request.", {
    hint: "The server's log has the reason under the id in the header request-id.",
    cause: error,
  });
}

/** A refusal of Fastify in dure's words; undefined for any other error. */
function refusedByFastify(error: unknown, bodyBytes: number | undefined): DureError | undefined {
  const refusal = FASTIFY_REFUSALS[codeOf(error) ?? ""];
  if (!refusal) return undefined;

  const { code, hint } = refusal;

  const message =
    code === "BODY_TOO_LARGE" && bodyBytes !== undefined
      ? `The body is larger than the ${bodyBytes} bytes that may be sent here.`
      : refusal.message;

  return new DureError(code, message, { class: "input", cause: error, ...onlyDefined({ hint }) });
}

/** Text with U+0000, in PostgreSQL's words: `character_not_in_repertoire`, `untranslatable_character`. */
const NOT_STORABLE: ReadonlySet<string> = new Set(["22021", "22P05"]);

function notStorable(cause: unknown): DureError {
  return new DureError("REQUEST_INVALID", "The request holds characters that cannot be stored.", {
    class: "input",
    hint: "Send plain text in UTF-8, without U+0000.",
    cause,
  });
}

function invalidFields(
  fields: NonNullable<ReturnType<typeof fieldErrorsOf>>,
  cause: unknown,
): DureError {
  const names = fields.map(({ field, message }) =>
    field === "" ? message : `${field}: ${message}`,
  );
  return new DureError("REQUEST_INVALID", `The request is not valid: ${names.join("; ")}.`, {
    class: "input",
    details: { errors: fields },
    cause,
  });
}

/** The status that a library has set on its error. */
function statusCodeOf(error: unknown): number | undefined {
  if (!isObject(error) && !(error instanceof Error)) return undefined;
  const { statusCode } = error as { statusCode?: unknown };
  return typeof statusCode === "number" ? statusCode : undefined;
}

/**
 * What PostgreSQL or the end of this process has thrown, without its text: the database's own words
 * are no answer for a client.
 */
function passedOver({ code, retryAfterMs }: Passing, cause: unknown): DureError {
  const message =
    code === "SERVER_STOPPING" ? "This process is stopping." : "The database could not do it now.";
  return new DureError(code, message, {
    class: "unavailable",
    hint: "Send it again, with the same Idempotency-Key where there is one.",
    details: { retryAfterMs },
    cause,
  });
}

/**
 * The status of an error: 503 for what this process met and another try may not, else its code's,
 * else its class's.
 */
export function statusOf(error: DureError): number {
  if (passingOf(error)) return STATUS_OF_CLASS.unavailable;
  return STATUS_OF_CODE[error.code] ?? STATUS_OF_CLASS[error.class];
}

/**
 * What is sent for an error. An internal error says nothing of its inside unless `showInternals`.
 */
export function problemOf(
  error: DureError,
  options: { showInternals?: boolean } = {},
): ProblemJson {
  const status = statusOf(error);
  const { errors, ...facts } = error.details ?? {};
  const hidden = status === 500 && options.showInternals !== true;

  return {
    // Members that only the error knows.
    ...(hidden ? {} : (toWire(facts) as Record<string, unknown>)),
    type: `urn:dure:problem:${error.code.toLowerCase().replaceAll("_", "-")}`,
    title: TITLES_OF_CODE[error.code] ?? TITLES[status] ?? "Refused",
    status,
    detail: hidden ? "The server could not answer this request." : error.message,
    code: error.code,
    ...onlyDefined({
      hint: error.hint,
      errors: Array.isArray(errors) ? (errors as FieldError[]) : undefined,
    }),
  };
}

/** Seconds for `Retry-After`, at least 1; undefined where waiting does not help. */
export function retryAfterOf(error: DureError): number | undefined {
  const status = statusOf(error);
  if (status !== 429 && status !== 503) return undefined;

  const asked = error.details?.["retryAfterMs"] ?? passingOf(error)?.retryAfterMs;

  return typeof asked === "number" && asked > 0 ? Math.max(1, Math.ceil(asked / 1_000)) : 1;
}

/** Fields of a failed zod validation as Fastify reports it; undefined for other errors. */
function fieldErrorsOf(error: unknown): FieldError[] | undefined {
  if (!(error instanceof Error) || !("validation" in error) || !Array.isArray(error.validation)) {
    return undefined;
  }
  return (error.validation as { instancePath?: string; message?: string }[]).map(
    ({ instancePath, message }) => ({
      field: (instancePath ?? "").replace(/^\//, "").replaceAll("/", "."),
      message: message ?? "is not valid",
    }),
  );
}

/** A wrong field that a schema cannot see. */
export function fieldError(code: string, field: string, message: string, hint?: string): DureError {
  return new DureError(code, `${snakeCase(field)}: ${message}.`, {
    class: "input",
    details: { errors: [{ field: snakeCase(field), message }] },
    ...onlyDefined({ hint }),
  });
}
