import type { RawFile, REST } from "discord.js";
import type { z } from "zod";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { ChannelError, type OutgoingFile } from "../../rooms/channel-adapter.ts";
import type { DiscordJs } from "./discord-js.ts";
import { toChannelError, type Attempt } from "./errors.ts";
import {
  messagesForm,
  namedForm,
  placeForm,
  type WireMessage,
  type WirePlace,
} from "./wire-forms.ts";
import { NEEDS } from "./permissions.ts";
import { onlyDefined } from "../../kernel/json.ts";

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

export interface ApiRequest extends Attempt {
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
export interface MessagePage {
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
  ): Promise<MessagePage> {
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
