import {
  InsufficientScopeError,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";
import { NotSentError } from "../engine/agent/tool.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";

/** What an error of a server is about. */
export interface ServerContact {
  readonly server: string;
  /** As `dure mcp login` is told it; undefined: no person logs in there. */
  readonly login: string | undefined;
}

/** Codes with which a server refuses a call before it begins. Source: JSON-RPC 2.0, section 5.1. */
const REFUSALS: ReadonlySet<number> = new Set([
  ProtocolErrorCode.ParseError,
  ProtocolErrorCode.InvalidRequest,
  ProtocolErrorCode.MethodNotFound,
  ProtocolErrorCode.InvalidParams,
]);
/** The server would ask, and was told that it cannot. */
const WANTS_INPUT: number = ProtocolErrorCode.MissingRequiredClientCapability;
/** Nothing has left this process. */
const UNSENT: ReadonlySet<unknown> = new Set([
  SdkErrorCode.NotConnected,
  SdkErrorCode.NotInitialized,
  SdkErrorCode.CapabilityNotSupported,
]);

/** Why a server cannot be used. Pure. */
export function unavailable(
  error: unknown,
  asked: ServerContact,
): { code: string; because: string } {
  if (error instanceof InsufficientScopeError) {
    return { code: "MCP_SCOPE_MISSING", because: scopeWords(error, asked) };
  }
  if (isLoginRefused(error, asked)) {
    return { code: "MCP_NOT_LOGGED_IN", because: refusedWords(asked) };
  }
  return { code: codeOf(error) ?? "MCP_UNAVAILABLE", because: messageOf(error) };
}

/** What is known of a call that gave no result. Pure. */
export function callError(error: unknown, name: string, asked: ServerContact): Error {
  const { server } = asked;
  if (error instanceof ProtocolError && REFUSALS.has(error.code)) {
    return new NotSentError("MCP_REFUSED", `${server} refused ${name}: ${error.message}`, {
      cause: error,
    });
  }
  if (codeOf(error) === "MCP_NOT_LOGGED_IN") {
    return new NotSentError("MCP_NOT_LOGGED_IN", `${server}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (isLoginRefused(error, asked)) {
    const words = `${server} did not do ${name}: ${refusedWords(asked)}`;
    return new NotSentError("MCP_NOT_LOGGED_IN", words, { cause: error });
  }
  if (error instanceof InsufficientScopeError) {
    const words = `${server} did not do ${name}: ${scopeWords(error, asked)}`;
    return new NotSentError("MCP_SCOPE_MISSING", words, { cause: error });
  }
  if (isQuestion(error)) return inputWanted(error, name, asked);
  if (error instanceof SdkError && UNSENT.has(error.code)) {
    return new NotSentError("MCP_UNAVAILABLE", `${server} is not there: ${error.message}`, {
      cause: error,
    });
  }
  return new DureError(
    "MCP_CALL_LOST",
    `${server} gave no answer to ${name}: ${messageOf(error)}`,
    {
      class: "unavailable",
      cause: error,
    },
  );
}

function scopeWords(
  { requiredScope }: InsufficientScopeError,
  { server, login }: ServerContact,
): string {
  const scope = requiredScope === undefined ? "" : ` (${requiredScope})`;
  return `the login does not allow it${scope}; dure mcp login ${login ?? server} asks for it`;
}

/** The token was renewed, and is refused all the same: another server may log people in now. */
function isLoginRefused(error: unknown, { login }: ServerContact): boolean {
  const isRefused =
    error instanceof SdkError && error.code === SdkErrorCode.ClientHttpAuthentication;
  return isRefused && login !== undefined;
}

function refusedWords({ login }: ServerContact): string {
  return `the login is not taken any more: run dure mcp login ${login}`;
}

/** The server wants an answer in the middle of the call, or says that it would. */
function isQuestion(error: unknown): error is Error {
  if (error instanceof ProtocolError) return error.code === WANTS_INPUT;
  const isUnsupported =
    error instanceof SdkError && error.code === SdkErrorCode.CapabilityNotSupported;
  const { key } = (isUnsupported ? (error.data ?? {}) : {}) as { key?: string };
  return key !== undefined;
}

/** The server knows of the call; what it has done before it asked is not known. */
function inputWanted(error: Error, name: string, { server }: ServerContact): DureError {
  return new DureError(
    "MCP_INPUT_WANTED",
    `${server} asks something in the middle of ${name}, and gets no answer: ${error.message}`,
    {
      class: "input",
      hint: 'With questions: "defaults" in its settings, forms are answered with their defaults.',
      cause: error,
    },
  );
}
