import { DureError } from "../kernel/errors.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { ProblemJson } from "../wire/problem.ts";

/** One error of A2A in both bindings. Source: A2A 1.0 §5.4, §9.5, §11.6. */
interface A2aError {
  readonly rpc: number;
  readonly reason: string;
  readonly name: string;
}

/** Codes of dure that A2A has an error for. */
const ERRORS: Readonly<Record<string, A2aError>> = {
  TASK_UNKNOWN: { rpc: -32_001, reason: "TASK_NOT_FOUND", name: "NOT_FOUND" },
  TURN_UNKNOWN: { rpc: -32_001, reason: "TASK_NOT_FOUND", name: "NOT_FOUND" },
  TASK_NOT_CANCELABLE: {
    rpc: -32_002,
    reason: "TASK_NOT_CANCELABLE",
    name: "FAILED_PRECONDITION",
  },
  PUSH_UNKNOWN: { rpc: -32_001, reason: "TASK_NOT_FOUND", name: "NOT_FOUND" },
  TASK_OVER: { rpc: -32_004, reason: "UNSUPPORTED_OPERATION", name: "FAILED_PRECONDITION" },
  NOT_SPOKEN: { rpc: -32_005, reason: "CONTENT_TYPE_NOT_SUPPORTED", name: "INVALID_ARGUMENT" },
  CONTENT_TYPE_UNSUPPORTED: {
    rpc: -32_005,
    reason: "CONTENT_TYPE_NOT_SUPPORTED",
    name: "INVALID_ARGUMENT",
  },
  CARD_NOT_EXTENDED: {
    rpc: -32_007,
    reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    name: "FAILED_PRECONDITION",
  },
  VERSION_NOT_SPOKEN: {
    rpc: -32_009,
    reason: "VERSION_NOT_SUPPORTED",
    name: "FAILED_PRECONDITION",
  },
};

/** Codes of JSON-RPC 2.0 §5.1. */
const RPC_CODES: Readonly<Record<string, number>> = {
  BODY_INVALID: -32_700,
  RPC_INVALID: -32_600,
  METHOD_UNKNOWN: -32_601,
};

const INVALID_PARAMS = -32_602;
const INTERNAL = -32_603;
/** The server's own: who asks may not, or not now. */
const REFUSED = -32_000;

/** Names of google.rpc.Code by status. */
const NAMES: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};

/** A refusal over JSON-RPC; `id` is null where the request was not read. Pure. */
export function rpcError(problem: ProblemJson, id: string | number | null = null): object {
  const { code, status } = problem;
  const number = ERRORS[code]?.rpc ?? RPC_CODES[code] ?? rpcCodeOf(status);

  return {
    jsonrpc: "2.0",
    id,
    error: { code: number, message: messageOf(problem), data: [infoOf(problem)] },
  };
}

function rpcCodeOf(status: number): number {
  if (status >= 500) return INTERNAL;
  return status === 400 || status === 413 || status === 422 ? INVALID_PARAMS : REFUSED;
}

/** A refusal over HTTP+JSON: google.rpc.Status. Pure. */
export function restError(problem: ProblemJson): object {
  const { code, status } = problem;
  const name = ERRORS[code]?.name ?? NAMES[status] ?? "INVALID_ARGUMENT";

  return {
    error: { code: status, status: name, message: messageOf(problem), details: [infoOf(problem)] },
  };
}

function messageOf({ detail, hint }: ProblemJson): string {
  return [detail, hint].filter(Boolean).join(" ");
}

/** google.rpc.ErrorInfo: A2A's reason where there is one, and always dure's code. */
function infoOf({ code, hint }: ProblemJson): object {
  const known = ERRORS[code];

  return {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: known?.reason ?? code,
    domain: known ? "a2a-protocol.org" : "dure",
    metadata: onlyDefined({ code, hint }),
  };
}

export function taskUnknown(): DureError {
  return new DureError("TASK_UNKNOWN", "There is no such task.", { class: "not-found" });
}

export function taskOver(state: string): DureError {
  return new DureError("TASK_OVER", `The task is in ${state}; nothing more comes of it.`, {
    class: "input",
    hint: "Begin another one in its context: send the message without a taskId.",
  });
}

export function notCancelable(why: string): DureError {
  return new DureError("TASK_NOT_CANCELABLE", `The task cannot be cancelled: ${why}.`, {
    class: "input",
  });
}
