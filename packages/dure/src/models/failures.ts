import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
} from "@ai-sdk/provider";
import { codeOf, DureError, type ErrorClass, isAbort, messageOf } from "../kernel/errors.ts";
import { isObject, onlyDefined } from "../kernel/json.ts";

/** Kind of failure of a model call, as far as code decides by it. */
export type FailureClass =
  | "rate_limit"
  | "quota"
  | "server"
  | "network"
  | "timeout"
  | "format"
  | "empty"
  | "refused"
  | "context"
  | "auth"
  | "unknown_model"
  | "input"
  | "aborted"
  | "other";

export interface Failure {
  readonly class: FailureClass;
  /** Whether the same call may be made again. */
  readonly retryable: boolean;
  /** What the provider asked us to wait, milliseconds; not yet capped. */
  readonly retryAfterMs?: number;
  /** HTTP status, when there was an answer. */
  readonly status?: number;
}

interface FailureRow {
  /** The code of the `DureError`; part of the public contract. */
  readonly code: string;
  /** Source: docs/spec/conversation §4 (rate limit, 5xx, network, timeout, validation). */
  readonly retryable: boolean;
  /**
   * Whether another model may do better, once the attempts with this one are used up. Mistakes of
   * ours (key, name, request) stay visible instead.
   */
  readonly fallback: boolean;
  /** Whether the provider may count the tokens although no usage came. */
  readonly mayCost: boolean;
  readonly errorClass: ErrorClass;
  readonly hint: string;
}

/** Every way in which a model call fails. */
export const FAILURES = {
  rate_limit: row("MODEL_RATE_LIMITED", {
    retryable: true,
    fallback: true,
    errorClass: "unavailable",
    hint: "Wait, or raise the limit at the provider.",
  }),
  quota: row("MODEL_QUOTA_EXHAUSTED", {
    fallback: true,
    errorClass: "unavailable",
    hint: "Check plan and billing at the provider.",
  }),
  server: row("MODEL_SERVER_ERROR", {
    retryable: true,
    fallback: true,
    errorClass: "unavailable",
    hint: "The provider is in trouble; try again later.",
  }),
  network: row("MODEL_UNREACHABLE", {
    retryable: true,
    fallback: true,
    mayCost: true,
    errorClass: "unavailable",
    hint: "Check the address, the connection and the proxy.",
  }),
  timeout: row("MODEL_TIMEOUT", {
    retryable: true,
    fallback: true,
    mayCost: true,
    errorClass: "unavailable",
    hint: "Raise policy.timeoutSec if answers need longer.",
  }),
  format: row("MODEL_FORMAT", {
    retryable: true,
    fallback: true,
    mayCost: true,
    errorClass: "unavailable",
    hint: "Say in the prompt what the answer has to look like.",
  }),
  empty: row("MODEL_EMPTY", {
    retryable: true,
    fallback: true,
    mayCost: true,
    errorClass: "unavailable",
    hint: "Raise llm.maxOutputTokens if the answer was cut off before it began.",
  }),
  refused: row("MODEL_REFUSED", {
    mayCost: true,
    errorClass: "forbidden",
    hint: "The provider's filter stopped the answer; word it differently.",
  }),
  context: row("MODEL_CONTEXT_EXCEEDED", {
    errorClass: "limit",
    hint: "Send less history, or take a model with a longer context.",
  }),
  auth: row("MODEL_UNAUTHORIZED", {
    errorClass: "unavailable",
    hint: "Check the provider's key and what it may do.",
  }),
  unknown_model: row("MODEL_UNKNOWN", {
    errorClass: "unavailable",
    hint: "Check the model's name and the base address.",
  }),
  input: row("MODEL_REQUEST_INVALID", {
    errorClass: "internal",
    hint: "The provider did not accept the request; its answer says why.",
  }),
  aborted: row("MODEL_ABORTED", {
    mayCost: true,
    errorClass: "conflict",
    hint: "The call was stopped.",
  }),
  other: row("MODEL_FAILED", {
    mayCost: true,
    errorClass: "internal",
    hint: "See the cause in the log; LOG_LEVEL=debug shows its words.",
  }),
} as const satisfies Record<FailureClass, FailureRow>;

const CLASS_OF_CODE: ReadonlyMap<string, FailureClass> = new Map(
  Object.entries(FAILURES).map(([failureClass, { code }]) => [code, failureClass as FailureClass]),
);

/**
 * What kind of failure an error is. Pure.
 * @param now wall clock, milliseconds; a `Retry-After` may be a date.
 */
export function classify(error: unknown, now: number): Failure {
  if (error instanceof DureError) return failureOfDureError(error);
  if (isAbort(error)) return failure("aborted");
  if (APICallError.isInstance(error)) return failureOfHttp(error, now);

  if (
    JSONParseError.isInstance(error) ||
    TypeValidationError.isInstance(error) ||
    InvalidResponseDataError.isInstance(error)
  ) {
    return failure("format");
  }

  if (error instanceof Error && error.message === UNREADABLE_FIRST_FRAME) return failure("format");
  if (EmptyResponseBodyError.isInstance(error)) return failure("empty");
  if (isNetworkError(error)) return failure("network");

  return failureOfStreamError(error) ?? failure("other");
}

/**
 * All that @ai-sdk/anthropic 4 says when the first frame of an answer is no JSON; only later frames
 * come as a `JSONParseError`.
 */
const UNREADABLE_FIRST_FRAME = "Expected a normalized Anthropic stream error";

/**
 * The one error that callers see. A `DureError` stays what it is.
 * @param call.secret the provider's key: some say back what they were given, and an error's message is logged.
 */
export function modelError(
  error: unknown,
  call: {
    provider: string;
    model: string;
    now: number;
    secret?: string | undefined;
    facts?: Readonly<Record<string, unknown>>;
  },
): DureError {
  const { provider, model, now, secret, facts } = call;
  if (error instanceof DureError && !CLASS_OF_CODE.has(error.code)) return error;

  const found = classify(error, now);
  const { code, errorClass, hint } = FAILURES[found.class];
  const status = found.status === undefined ? "" : ` (HTTP ${found.status})`;

  const message =
    error instanceof DureError
      ? error.message
      : `${provider}:${model} failed${status}: ${describe(error, secret)}`;

  const before = error instanceof DureError ? error.details : undefined;

  return new DureError(code, message, {
    class: errorClass,
    hint: error instanceof DureError && error.hint ? error.hint : hint,
    cause: error instanceof DureError ? error.cause : error,
    details: {
      ...before,
      provider,
      model,
      failure: found.class,
      retryable: found.retryable,
      ...onlyDefined({ retryAfterMs: found.retryAfterMs, providerStatus: found.status }),
      ...facts,
    },
  });
}

/** An error of one of the classes, made here and not at the provider. */
export function failureError(
  failureClass: FailureClass,
  message: string,
  options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
): DureError {
  const { code, errorClass, hint } = FAILURES[failureClass];
  return new DureError(code, message, { class: errorClass, hint, ...options });
}

/** The model's answer has not the asked-for shape; such a call may be made again. */
export function formatError(
  message: string,
  options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
): DureError {
  return failureError("format", message, options);
}

/**
 * Milliseconds of `Retry-After` (seconds or an HTTP date) or of `retry-after-ms`; undefined when
 * there is none that can be read.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string>> | undefined,
  now: number,
): number | undefined {
  const milliseconds = Number(headers?.["retry-after-ms"] ?? Number.NaN);
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds;

  const written = headers?.["retry-after"]?.trim();
  if (!written) return undefined;
  if (/^\d+(?:\.\d+)?$/.test(written)) return Math.round(Number(written) * 1_000);

  const date = /^[a-z]{3}/i.test(written) ? Date.parse(written) : Number.NaN; // an HTTP date begins with its weekday

  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function failure(
  failureClass: FailureClass,
  facts: { status?: number | undefined; retryAfterMs?: number | undefined } = {},
): Failure {
  return {
    class: failureClass,
    retryable: FAILURES[failureClass].retryable,
    ...onlyDefined({ status: facts.status, retryAfterMs: facts.retryAfterMs }),
  };
}

function failureOfDureError(error: DureError): Failure {
  const { retryAfterMs: after, providerStatus: status } = error.details ?? {};
  return failure(CLASS_OF_CODE.get(error.code) ?? "other", {
    status: typeof status === "number" ? status : undefined,
    retryAfterMs: typeof after === "number" ? after : undefined,
  });
}

function failureOfHttp(error: APICallError, now: number): Failure {
  const { statusCode: status } = error;
  if (status === undefined || (status < 400 && isNetworkError(error))) {
    return failure("network", { status });
  }
  if (status < 400) return failure("format", { status }); // an answer that could not be read

  const said = `${error.message} ${error.responseBody ?? ""}`;
  const askedMs = retryAfterMs(error.responseHeaders, now) ?? retryDelayMs(said);

  return failure(classOfStatus(status, said), { status, retryAfterMs: askedMs });
}

/**
 * Gemini says in the body how long to wait. Source: google/rpc/error_details.proto, `RetryInfo`;
 * protobuf.dev, "ProtoJSON" (a duration is seconds with an `s`).
 */
function retryDelayMs(said: string): number | undefined {
  const [, seconds] = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(said) ?? [];
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1_000);
}

/** Gemini's quotas of a day have no other status than those of a minute, but another id. */
const OUT_OF_QUOTA =
  /insufficient_quota|credit balance is too low|"quotaId"\s*:\s*"[^"]*PerDay[^"]*"/i;

/** Sources: the 400s of OpenAI (both APIs), Anthropic and Gemini. */
const TOO_LONG =
  /context_length_exceeded|maximum context length|exceeds the context window|prompt is too long|too many (?:input )?tokens|exceeds the maximum number of tokens allowed/i;

function classOfStatus(status: number, said: string): FailureClass {
  if (status === 402 || OUT_OF_QUOTA.test(said)) return "quota";
  if (status === 429) return "rate_limit";
  if (status === 408) return "timeout";
  if (status >= 500 || status === 409 || status === 425) return "server";
  if (status === 401 || status === 403 || /API_KEY_INVALID/.test(said)) return "auth";
  if (status === 404) return "unknown_model";

  if (status === 413 || TOO_LONG.test(said)) return "context";

  if (/content_filter|content_policy/i.test(said)) return "refused";

  return "input";
}

/**
 * Errors that providers send inside a stream that began with 200. Sources: the error pages of
 * OpenAI and Anthropic.
 */
const CLASS_OF_STREAM_ERROR: Readonly<Record<string, FailureClass>> = {
  rate_limit_error: "rate_limit",
  rate_limit_exceeded: "rate_limit",
  insufficient_quota: "quota",
  billing_error: "quota",
  overloaded_error: "server",
  api_error: "server",
  server_error: "server",
  timeout_error: "timeout",
  authentication_error: "auth",
  permission_error: "auth",
  not_found_error: "unknown_model",
  invalid_request_error: "input",
  context_length_exceeded: "context",
};

function failureOfStreamError(error: unknown): Failure | undefined {
  if (!isObject(error)) return undefined;

  const named =
    CLASS_OF_STREAM_ERROR[String(error["code"])] ?? CLASS_OF_STREAM_ERROR[String(error["type"])];
  if (named) return failure(named);

  const status = error["statusCode"];
  if (typeof status === "number") {
    return failure(classOfStatus(status, messageOf(error["message"])), { status });
  }

  // A plain object is what a provider said; an Error is something that broke here.
  return error instanceof Error ? undefined : failure("server");
}

/** Node's and undici's words for a connection that failed. */
const NETWORK_CODE =
  /^(?:ECONN|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EPIPE|ETIMEDOUT|UND_ERR_|ERR_TLS|CERT_|ERR_STREAM_PREMATURE_CLOSE)/;

/** Whether a connection failed, anywhere in the chain of causes. Pure. */
export function isNetworkError(error: unknown): boolean {
  for (
    let current = error, depth = 0;
    current instanceof Error && depth < 5;
    current = current.cause, depth++
  ) {
    if (NETWORK_CODE.test(codeOf(current) ?? "")) return true;
    if (
      current instanceof TypeError &&
      /^(?:terminated|fetch failed|network error)$/.test(current.message)
    ) {
      return true;
    }
  }
  return false;
}

function describe(error: unknown, secret: string | undefined): string {
  const message =
    isObject(error) && typeof error["message"] === "string" ? error["message"] : messageOf(error);
  return (secret ? message.replaceAll(secret, "[secret]") : message).slice(0, 500);
}

function row(
  code: string,
  facts: {
    retryable?: boolean;
    fallback?: boolean;
    mayCost?: boolean;
    errorClass: ErrorClass;
    hint: string;
  },
): FailureRow {
  return { code, retryable: false, fallback: false, mayCost: false, ...facts };
}
