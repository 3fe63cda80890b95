import type { TurnError } from "../kernel/turn-events.ts";
import { FAILURES } from "../models/failures.ts";
import type { ProblemJson } from "../wire/problem.ts";

/** An error as OpenAI's clients read it. */
export interface OpenAiError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

/** Codes that OpenAI's clients know; all others are dure's own. */
const CODES: Readonly<Record<string, string>> = {
  SERVICE_UNKNOWN: "model_not_found",
  BUDGET_EXCEEDED: "insufficient_quota",
  MODEL_QUOTA_EXHAUSTED: "insufficient_quota",
};

/** Pure. */
export function asOpenAiError({ status, code, detail, hint, errors }: ProblemJson): OpenAiError {
  return {
    error: {
      message: [detail, hint].filter(Boolean).join(" "),
      type: typeOf(status),
      param: errors?.[0]?.field ?? null,
      code: CODES[code] ?? code,
    },
  };
}

/** A failed turn, and whether the same request may come again. */
export interface TurnFailure extends OpenAiError {
  readonly status: number;
  readonly mayRetry: boolean;
}

/**
 * Of a turn that has ended without its answer. Clients repeat 408, 409, 429 and 5xx by themselves,
 * and LangChain also 422 and 424: these are for failures that pass, of turns that have not acted.
 * Source: docs/spec/interop §3. Pure.
 */
export function turnFailure(
  { code, message }: TurnError,
  { hasActed = false }: { readonly hasActed?: boolean } = {},
): TurnFailure {
  const known = CODES[code] ?? code;
  const mayRetry = !hasActed && PASSING.has(code);
  const error = {
    message: hasActed ? `${message} ${ACTED}` : message,
    type: known === "insufficient_quota" ? known : "server_error",
    param: null,
    code: known,
  };
  return { error, mayRetry, status: statusOf(known, mayRetry) };
}

/** One that no client repeats, unless it may. */
function statusOf(code: string, mayRetry: boolean): number {
  if (mayRetry) return code === "INTERNAL" ? 500 : 503;
  return code === "insufficient_quota" ? 402 : 400;
}

const ACTED =
  "Some of it was done before it failed, so the same request is answered with this for a while.";

/** Codes of turns whose next try may succeed. */
const PASSING: ReadonlySet<string> = new Set([
  "INTERNAL",
  "DATABASE_UNAVAILABLE",
  "REMOTE_UNAVAILABLE",
  ...Object.values(FAILURES)
    .filter(({ retryable }) => retryable)
    .map(({ code }) => code),
]);

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error";
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";

  return status < 500 ? "invalid_request_error" : "server_error";
}
