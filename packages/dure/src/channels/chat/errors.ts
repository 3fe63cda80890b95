import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { ChannelError, type ChannelFailure } from "../../rooms/channel-adapter.ts";

/** What was tried, for the sentence that names it. */
export interface ChatAttempt {
  /** `telegram`. */
  readonly platform: string;
  /** `post a message`. */
  readonly doing: string;
}

/** Codes of `AdapterError` and `ChatError`. Source: @chat-adapter/shared and chat, "errors". */
const BY_CODE: Readonly<Record<string, ChannelFailure>> = {
  RATE_LIMITED: "rate-limited",
  AUTH_FAILED: "credential",
  PERMISSION_DENIED: "permission",
  NOT_FOUND: "not-found",
  VALIDATION_ERROR: "invalid",
  NOT_IMPLEMENTED: "invalid",
};
/** Statuses of HTTP, as the clients below the adapters carry them. */
const BY_STATUS: Readonly<Record<number, ChannelFailure>> = {
  400: "invalid",
  401: "credential",
  403: "permission",
  404: "not-found",
  410: "not-found",
  413: "invalid",
  422: "invalid",
  429: "rate-limited",
};

/** Waits so long after a refusal for its rate that does not say how long, milliseconds. */
const UNSAID_RETRY_AFTER_MS = 30_000;

/** Failures of a connection that was never made: nothing can have arrived. */
const NEVER_CONNECTED: readonly string[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "ENETUNREACH",
  "EHOSTUNREACH",
];

/** Errors within errors that are looked into. */
const DEEPEST = 4;

/**
 * What an adapter threw, in the classes of docs/spec/collaboration §6. Pure. Recognised by what it
 * carries: each adapter has its own classes of errors, and dure loads none of them.
 */
export function toChannelError(error: unknown, { platform, doing }: ChatAttempt): ChannelError {
  if (error instanceof ChannelError) return error;
  const layers = layersOf(error);
  const failure = failureOf(layers);
  const failed = `${platform} did not ${doing}: ${messageOf(error)}`;
  const detail = layers
    .map((layer) => String(statusOf(layer) ?? codeOf(layer) ?? ""))
    .find(Boolean);
  if (failure === "rate-limited") {
    const retryAfterMs = retryAfterOf(layers) ?? UNSAID_RETRY_AFTER_MS;
    return new ChannelError(failure, failed, { retryAfterMs, detail, cause: error });
  }
  const isUnsent = layers.some((layer) => NEVER_CONNECTED.includes(codeOf(layer) ?? ""));

  return new ChannelError(failure, failed, {
    notSent: failure !== "transient" || isUnsent,
    detail,
    cause: error,
  });
}

/**
 * Asks an adapter, which knows no signal: an abort or the time ends the waiting, and what was asked
 * may still be done. Rejects with a `ChannelError` or the signal's reason.
 */
export async function ask<T>(
  { clock, timeoutMs, signal }: { clock: Clock; timeoutMs: number; signal: AbortSignal },
  attempt: ChatAttempt,
  work: () => Promise<T>,
): Promise<T> {
  const late = (): Error =>
    new ChannelError(
      "transient",
      `${attempt.platform} did not ${attempt.doing} within ${timeoutMs} ms.`,
      { detail: "no answer" },
    );
  try {
    return await withTimeout(clock, { ms: timeoutMs, signal }, late, work);
  } catch (error) {
    signal.throwIfAborted();
    throw toChannelError(error, attempt);
  }
}

/** The error, and what it was made of. */
function layersOf(error: unknown): readonly unknown[] {
  const layers: unknown[] = [];
  let layer = error;
  while (layer !== undefined && layer !== null && layers.length < DEEPEST) {
    layers.push(layer);
    layer = member(layer, "originalError") ?? member(layer, "innerHttpError") ?? causeOf(layer);
  }

  return layers;
}

function failureOf(layers: readonly unknown[]): ChannelFailure {
  for (const layer of layers) {
    const status = statusOf(layer);
    const known = status === undefined ? undefined : BY_STATUS[status];
    const failure = known ?? BY_CODE[codeOf(layer) ?? ""];
    if (failure === "invalid" && saysNotFound(messageOf(layer))) return "not-found";
    if (failure !== undefined) return failure;
  }

  return "transient";
}

/** Telegram answers 400 "chat not found" where others answer 404. */
function saysNotFound(message: string): boolean {
  return /\b(?:chat|message|thread|topic|user|conversation)\b[^.\n]{0,40}\bnot found\b/iu.test(
    message.slice(0, 500),
  );
}

function statusOf(layer: unknown): number | undefined {
  const response = member(layer, "response");
  const candidates = [
    member(layer, "status"),
    member(layer, "statusCode"),
    member(response, "status"),
    member(layer, "code"),
  ];

  return candidates.find((one): one is number => typeof one === "number" && one >= 300);
}

/** Milliseconds. */
function retryAfterOf(layers: readonly unknown[]): number | undefined {
  for (const layer of layers) {
    const said = member(layer, "retryAfter") ?? headerOf(member(layer, "response"));
    const seconds = typeof said === "string" ? Number(said) : said;
    if (typeof seconds === "number" && seconds >= 0) return Math.ceil(seconds * 1_000);
  }

  return undefined;
}

function headerOf(response: unknown): unknown {
  const headers = member(response, "headers");
  if (headers instanceof Headers) return headers.get("retry-after") ?? undefined;

  return member(headers, "retry-after");
}

function causeOf(layer: unknown): unknown {
  return layer instanceof Error ? layer.cause : undefined;
}

function member(value: unknown, name: string): unknown {
  if (!isObject(value) && !(value instanceof Error)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name] ?? undefined;
}
