import type { RawFile, REST } from "discord.js";
import type { z } from "zod";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import {
  ChannelError,
  type OutgoingFile,
  type ChannelFailure,
} from "../../rooms/channel-adapter.ts";
import type { DiscordJs } from "./discord-js.ts";
import {
  messagesForm,
  namedForm,
  placeForm,
  type WireMessage,
  type WirePlace,
} from "./wire-forms.ts";
import { NEEDS, type Permission } from "./permissions.ts";
import { onlyDefined, isObject } from "../../kernel/json.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";

export interface AccountApiOptions {
  readonly discordJs: DiscordJs;
  readonly token: string;
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
  /** For one request and its answer, milliseconds. */
  readonly timeoutMs: number;
  /** Called once, when the token is refused; nothing is asked with it any more. */
  readonly onRefused: () => void;
}

export interface ApiRequest extends RequestAttempt {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly route: `/${string}`;
  readonly body?: object;
  /** Beside the body. Source: "API Reference: Uploading Files". */
  readonly files?: readonly OutgoingFile[] | undefined;
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Answers to interactions prove themselves by their own token. */
  readonly withoutToken?: boolean;
}

/** Messages that the platform gives at once. Source: "Channel: Get Channel Messages". */
export const PAGE = 100;

/** `count`: as many as the platform gave, also those that could not be understood. */
export interface FetchedMessages {
  readonly messages: readonly WireMessage[];
  readonly count: number;
}

/**
 * One bot's requests over HTTP. Tries each once: who retries is the outbox. Rejects with a
 * `ChannelError`, or with the reason of the signal; an abort does not take back what the platform
 * has already got.
 *
 * It has its own REST of discord.js and not the gateway client's, so that it works while the
 * connection does not.
 */
export class AccountApi {
  readonly #rest: REST;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #onRefused: () => void;
  #refused = false;
  #selfId: string | undefined;

  constructor({ discordJs, token, apiUrl, clock, timeoutMs, onRefused }: AccountApiOptions) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#onRefused = onRefused;
    this.#rest = new discordJs.REST({
      ...onlyDefined({ api: apiUrl }),
      retries: 0, // its own have no back-off
      timeout: timeoutMs,
      // the outbox waits: where it is seen, and without keeping a place in a queue
      rejectOnRateLimit: () => true,
    }).setToken(token);
  }

  get isRefused(): boolean {
    return this.#refused;
  }

  refuse(): void {
    if (this.#refused) return;
    this.#refused = true;
    this.#onRefused();
  }

  async request({
    method,
    route,
    body,
    files,
    query,
    signal,
    withoutToken,
    ...attempt
  }: ApiRequest): Promise<unknown> {
    signal?.throwIfAborted();
    if (this.#refused && withoutToken !== true) {
      throw new ChannelError(
        "credential",
        `Discord did not ${attempt.doing}: the bot's token was refused.`,
        { detail: "401", notSent: true },
      );
    }
    const seconds = this.#timeoutMs / 1000;
    const late = (): Error =>
      new ChannelError(
        "transient",
        `Discord did not answer in ${seconds} s when asked to ${attempt.doing}.`,
        { detail: "timeout" },
      );
    try {
      const send = (signal: AbortSignal): Promise<unknown> =>
        this.#rest.request({
          method: method as never, // an enum of discord.js whose values are these words
          fullRoute: route,
          signal,
          auth: withoutToken !== true,
          ...onlyDefined({
            files: files?.map(toRawFile),
            body,
            query: query && new URLSearchParams(query),
          }),
        });
      return await withTimeout(this.#clock, { ms: this.#timeoutMs, signal }, late, send);
    } catch (error) {
      signal?.throwIfAborted();
      const failure = toChannelError(error, attempt);
      if (failure.failure === "credential" && withoutToken !== true) this.refuse();
      throw failure;
    }
  }

  /**
   * As `request`, with the answer in a form. One that has another form is no answer: what was asked
   * for may have been done.
   */
  async read<T extends z.ZodType>(form: T, request: ApiRequest): Promise<z.output<T>> {
    const answer = form.safeParse(await this.request(request));
    if (answer.success) return answer.data;
    throw new ChannelError(
      "transient",
      `Discord did not ${request.doing}: its answer could not be understood.`,
      { detail: "answer", cause: answer.error },
    );
  }

  /** The bot's own user id. */
  async self(signal?: AbortSignal): Promise<string> {
    this.#selfId ??= (
      await this.read(namedForm, {
        method: "GET",
        route: "/users/@me",
        doing: "tell who the bot is",
        signal,
      })
    ).id;
    return this.#selfId;
  }

  place(id: string, signal?: AbortSignal): Promise<WirePlace> {
    return this.read(placeForm, {
      method: "GET",
      route: `/channels/${id}`,
      doing: "show the channel",
      channel: id,
      needs: NEEDS.see,
      signal,
    });
  }

  /** One page, oldest first: what follows `after` at once; without it the newest. */
  async messages(
    channel: string,
    {
      after,
      limit,
      signal,
    }: { after?: string | undefined; limit: number; signal?: AbortSignal | undefined },
  ): Promise<FetchedMessages> {
    const { messages, count } = await this.read(messagesForm, {
      method: "GET",
      route: `/channels/${channel}/messages`,
      query: { limit: String(Math.min(PAGE, limit)), ...onlyDefined({ after }) },
      doing: "read messages",
      channel,
      needs: NEEDS.read,
      signal,
    });
    const oldestFirst = messages.toSorted((one, other) =>
      BigInt(one.id) < BigInt(other.id) ? -1 : 1,
    );
    return { messages: oldestFirst, count };
  }

  close(): void {
    this.#rest.clearHandlerSweeper();
    this.#rest.clearHashSweeper();
  }
}

function toRawFile({ name, type, bytes }: OutgoingFile): RawFile {
  return { name, contentType: type, data: Buffer.from(bytes) };
}

// --- errors

/** What was tried, for the sentence that names it. */
interface RequestAttempt {
  /** `post a message`, `create a thread`. */
  readonly doing: string;
  /** The channel or thread; absent when it concerns the account alone. */
  readonly channel?: string;
  /** The permission that this needs when the channel can be seen. */
  readonly needs?: Permission;
}

/** Waits this long after a 429 that does not say how long, milliseconds. */
const UNSAID_RETRY_AFTER_MS = 1000;

/** Failures of a connection that was never made: nothing can have arrived. */
const NEVER_CONNECTED: readonly string[] = [
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "ENETUNREACH",
  "EHOSTUNREACH",
];

/** The platform's "JSON Error Codes" that say more than the status. */
const MISSING_ACCESS = 50001;
const THREAD_ARCHIVED = 50083;

/** Codes that are another class than their status, or that people can do something about. */
const TOLD_BY_CODE: Readonly<Record<number, { failure: ChannelFailure; because: string }>> = {
  30033: {
    failure: "full",
    because: "the thread has as many members as it may have; begin another one",
  },
  40067: {
    failure: "invalid",
    because: "the forum asks for a tag with each post; let it take posts without",
  },
  50008: {
    failure: "invalid",
    because: "this kind of channel takes no messages; name a text channel in rooms.channels",
  },
  50024: {
    failure: "invalid",
    because: "this kind of channel does not take it; name a text channel in rooms.channels",
  },
  160005: { failure: "permission", because: "the thread is locked; unlock it, or begin another" },
  160006: {
    failure: "full",
    because: "the server has as many active threads as it may have; archive some of them",
  },
  160007: {
    failure: "full",
    because: "the channel has as many active announcement threads as it may have; archive some",
  },
  200000: {
    failure: "invalid",
    because: "the server's automatic moderation blocked the text; see its rules",
  },
  200001: {
    failure: "invalid",
    because: "the server's automatic moderation blocked the title; see its rules",
  },
};

/** What an error of discord.js carries, each perhaps missing or of another kind. */
interface DiscordErrorFacts {
  readonly status?: unknown;
  readonly code?: unknown;
  readonly retryAfter?: unknown;
  readonly timeToReset?: unknown;
  readonly global?: unknown;
}

/**
 * What discord.js threw, in the classes of docs/spec/collaboration §6. Pure.
 * Recognised by what it carries, so that discord.js need not be loaded here: a
 * rate limit by `timeToReset`, an answer of the platform by `status`.
 */
function toChannelError(error: unknown, attempt: RequestAttempt): ChannelError {
  if (error instanceof ChannelError) return error;
  const facts = isObject(error) || error instanceof Error ? (error as DiscordErrorFacts) : {};
  const where = attempt.channel === undefined ? "" : ` in channel ${attempt.channel}`;
  const failed = `Discord did not ${attempt.doing}${where}`;
  const message = messageOf(error);

  const limited = fromRateLimit(facts, failed, error);
  if (limited) return limited;
  if (typeof facts.status === "number") {
    return fromStatus(facts.status, facts.code, { message, failed, attempt, cause: error });
  }
  // discord.js forgets a token that was answered with 401 and says this at the
  // next request.
  if (message.startsWith("Expected token to be set")) {
    return new ChannelError("credential", `${failed}: the bot's token was refused.`, {
      detail: "401",
      cause: error,
    });
  }
  const code = codeOf(error) ?? codeOf(error instanceof Error ? error.cause : undefined);
  return new ChannelError("transient", `${failed}: ${message}.`, {
    notSent: code !== undefined && NEVER_CONNECTED.includes(code),
    ...onlyDefined({ detail: code }),
    cause: error,
  });
}

function fromRateLimit(
  { timeToReset, retryAfter, global }: DiscordErrorFacts,
  failed: string,
  cause: unknown,
): ChannelError | undefined {
  if (typeof timeToReset !== "number" || typeof retryAfter !== "number") return undefined;
  const waitMs = retryAfter > 0 ? retryAfter : Math.max(timeToReset, UNSAID_RETRY_AFTER_MS);
  const retryAfterMs = Math.ceil(waitMs);
  const scope = global === true ? "all requests of this bot" : "this route";
  return new ChannelError(
    "rate-limited",
    `${failed}: the rate limit of ${scope} is reached; again in ${retryAfterMs} ms.`,
    { retryAfterMs, detail: global === true ? "429 global" : "429", cause },
  );
}

function fromStatus(
  status: number,
  code: unknown,
  facts: { message: string; failed: string; attempt: RequestAttempt; cause: unknown },
): ChannelError {
  const { message, failed, attempt, cause } = facts;
  const detail = typeof code === "number" && code !== 0 ? `${status} ${code}` : String(status);
  const options = { detail, cause };
  if (code === THREAD_ARCHIVED) {
    return new ChannelError("permission", `${failed}: the thread is archived and locked.`, {
      ...options,
      missing: "MANAGE_THREADS",
    });
  }
  const told = typeof code === "number" ? TOLD_BY_CODE[code] : undefined;
  if (told !== undefined) {
    return new ChannelError(told.failure, `${failed}: ${told.because}.`, options);
  }
  if (status === 401) {
    return new ChannelError("credential", `${failed}: the bot's token was refused.`, options);
  }
  if (status === 403) {
    const missing = code === MISSING_ACCESS ? "VIEW_CHANNEL" : attempt.needs;
    const lacks =
      missing === undefined ? message : `the bot lacks the permission ${missing} (${message})`;
    return new ChannelError("permission", `${failed}: ${lacks}.`, {
      ...options,
      ...onlyDefined({ missing }),
    });
  }
  if (status === 404) {
    return new ChannelError("not-found", `${failed}: it does not exist (${message}).`, options);
  }
  // 408 is a timeout of theirs; everything else below 500 refuses this very request.
  if (status === 408 || status >= 500) {
    return new ChannelError("transient", `${failed}: it answered ${status} ${message}.`, options);
  }
  return new ChannelError(
    "invalid",
    `${failed}: it refused the request (${status} ${message}).`,
    options,
  );
}
