import type { REST } from "discord.js";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { ChannelError } from "../../rooms/channel-adapter.ts";
import type { DiscordJs } from "./discord-js.ts";
import { toChannelError, type Attempt } from "./errors.ts";
import type { WireMessage } from "./mapping.ts";
import type { WirePlace } from "./places.ts";

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
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Answers to interactions prove themselves by their own token. */
  readonly withoutToken?: boolean;
}

/** Messages that the platform gives at once. Source: "Channel: Get Channel Messages". */
export const PAGE = 100;

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
      ...(apiUrl === undefined ? {} : { api: apiUrl }),
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

  async request<T>({
    method,
    route,
    body,
    query,
    signal,
    withoutToken,
    ...attempt
  }: ApiRequest): Promise<T> {
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
          ...(body === undefined ? {} : { body }),
          ...(query === undefined ? {} : { query: new URLSearchParams(query) }),
        });
      return (await withTimeout(this.#clock, { ms: this.#timeoutMs, signal }, late, send)) as T;
    } catch (error) {
      signal?.throwIfAborted();
      const failure = toChannelError(error, attempt);
      if (failure.failure === "credential" && withoutToken !== true) this.refuse();
      throw failure;
    }
  }

  /** The bot's own user id. */
  async self(signal?: AbortSignal): Promise<string> {
    this.#selfId ??= (
      await this.request<{ id: string }>({
        method: "GET",
        route: "/users/@me",
        doing: "tell who the bot is",
        signal,
      })
    ).id;
    return this.#selfId;
  }

  place(id: string, signal?: AbortSignal): Promise<WirePlace> {
    return this.request({
      method: "GET",
      route: `/channels/${id}`,
      doing: "show the channel",
      channel: id,
      needs: "VIEW_CHANNEL",
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
  ): Promise<WireMessage[]> {
    const page = await this.request<WireMessage[]>({
      method: "GET",
      route: `/channels/${channel}/messages`,
      query: { limit: String(Math.min(PAGE, limit)), ...(after === undefined ? {} : { after }) },
      doing: "read messages",
      channel,
      needs: "READ_MESSAGE_HISTORY",
      signal,
    });
    return page.toSorted((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
  }

  close(): void {
    this.#rest.clearHandlerSweeper();
    this.#rest.clearHashSweeper();
  }
}
