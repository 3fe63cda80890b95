import type { TurnError } from "../kernel/turn-events.ts";
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

/** Of a turn that has ended without its answer. Pure. */
export function turnFailure({ code, message }: TurnError): OpenAiError & { status: number } {
  const status = code === "BUDGET_EXCEEDED" ? 429 : 500;
  return { ...asOpenAiError({ status, code, detail: message } as ProblemJson), status };
}

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error";
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";

  return status < 500 ? "invalid_request_error" : "server_error";
}
