import { codeOf, messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { ChannelError, type ChannelFailure } from "../../rooms/channel-adapter.ts";

/** What was tried, for the sentence that names it. */
export interface SlackAttempt {
  /** `post a message`. */
  readonly doing: string;
  readonly channel?: string | undefined;
}

/**
 * The words of `{"ok": false, "error": …}`, in the classes of docs/spec/collaboration §6; a word
 * that is not here refuses this very request. Source: docs.slack.dev/reference/methods, "Errors".
 */
const FAILURES: Readonly<Record<string, ChannelFailure>> = {
  invalid_auth: "credential",
  not_authed: "credential",
  account_inactive: "credential",
  token_revoked: "credential",
  token_expired: "credential",
  not_allowed_token_type: "credential",

  missing_scope: "permission",
  no_permission: "permission",
  not_in_channel: "permission",
  is_archived: "permission",
  access_denied: "permission",
  team_access_not_granted: "permission",
  restricted_action: "permission",
  restricted_action_read_only_channel: "permission",
  restricted_action_thread_only_channel: "permission",
  restricted_action_thread_locked: "permission",
  restricted_action_non_threadable_channel: "permission",

  channel_not_found: "not-found",
  message_not_found: "not-found",
  thread_not_found: "not-found",
  user_not_found: "not-found",
  file_not_found: "not-found",
  file_deleted: "not-found",

  already_reacted: "invalid",
  no_reaction: "invalid",
  too_many_emoji: "invalid",
  too_many_reactions: "invalid",

  ratelimited: "rate-limited",
  rate_limited: "rate-limited",

  // Of these the page says that a part may have been done.
  fatal_error: "transient",
  internal_error: "transient",
  service_unavailable: "transient",
  request_timeout: "transient",
  team_added_to_org: "transient",
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

/** What an error of the clients carries, each perhaps missing or of another kind. */
interface SlackErrorFacts {
  readonly retryAfter?: unknown;
  readonly statusCode?: unknown;
  readonly data?: unknown;
  readonly original?: unknown;
}

/**
 * What a client threw, in the classes of docs/spec/collaboration §6. Pure. Recognised by what it
 * carries, so that the clients need not be loaded here.
 */
export function toChannelError(error: unknown, attempt: SlackAttempt): ChannelError {
  if (error instanceof ChannelError) return error;
  const facts = isObject(error) || error instanceof Error ? (error as SlackErrorFacts) : {};
  const where = attempt.channel === undefined ? "" : ` in channel ${attempt.channel}`;
  const failed = `Slack did not ${attempt.doing}${where}`;
  if (typeof facts.retryAfter === "number") return tooOften(failed, facts.retryAfter, error);
  if (isObject(facts.data)) return fromWord(facts.data, failed, error);

  const status = typeof facts.statusCode === "number" ? String(facts.statusCode) : undefined;
  const code = codeOf(causeOf(facts.original)) ?? codeOf(facts.original);
  return new ChannelError("transient", `${failed}: ${messageOf(error)}.`, {
    notSent: code !== undefined && NEVER_CONNECTED.includes(code),
    detail: status ?? code ?? "no answer",
    cause: error,
  });
}

/** The failure that a word of a refusal stands for. */
export function failureOf(word: string): ChannelFailure {
  return FAILURES[word] ?? "invalid";
}

function tooOften(failed: string, seconds: number, cause: unknown): ChannelError {
  const retryAfterMs = Math.ceil(seconds * 1000);
  return new ChannelError(
    "rate-limited",
    `${failed}: the rate limit of this method is reached; again in ${retryAfterMs} ms.`,
    { retryAfterMs, detail: "429", cause },
  );
}

function fromWord(
  data: Readonly<Record<string, unknown>>,
  failed: string,
  cause: unknown,
): ChannelError {
  const word = typeof data["error"] === "string" ? data["error"] : "unknown_error";
  const failure = failureOf(word);
  if (failure === "rate-limited") return tooOften(failed, UNSAID_RETRY_AFTER_MS / 1000, cause);
  const missing = failure === "permission" ? missingOf(word, data) : undefined;
  const lacks = missing === undefined ? word : `${word}; it lacks ${missing}`;
  return new ChannelError(failure, `${failed}: ${lacks}.`, {
    detail: word,
    missing,
    cause,
  });
}

function missingOf(word: string, { needed }: Readonly<Record<string, unknown>>): string {
  if (word === "missing_scope") return `the scope ${typeof needed === "string" ? needed : "?"}`;
  return word === "not_in_channel" ? "membership of the channel" : word;
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}
