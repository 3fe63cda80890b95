/** Discord as rooms know a platform. */

import { botTokenOf } from "../../kernel/bot-tokens.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import {
  type AskedAway,
  type AskedGone,
  ChannelError,
  type ChannelAccount,
  type ChannelAdapter,
  type ChannelFinding,
  type ChannelLimits,
  type ChannelPort,
  type FileOfMessage,
  type FoundOnPlatform,
  type InboundMessage,
  type OutgoingPost,
  type OutgoingThread,
  type PlaceAddress,
  type ThreadInUse,
} from "../../rooms/channel-adapter.ts";
import { AccountApi } from "./account-api.ts";
import { checkAccount, noToken } from "./check.ts";
import { AccountConnection } from "./connection.ts";
import { loadDiscordJs, type DiscordJs } from "./discord-js.ts";
import { readDiscordFile } from "./files.ts";
import { IdentifyGate } from "./identify-gate.ts";
import {
  DISCORD,
  PLATFORM_MESSAGE_LENGTH,
  toEditBody,
  toInbound,
  toMessageBody,
  toThreadBody,
  toWireText,
} from "./mapping.ts";
import { isMessageGone, readMessages, type HistoryReader } from "./history.ts";
import { patiently, type Patient } from "../patience.ts";
import { channelIdOf } from "./places.ts";
import { namedThread, searchPost, searchThread } from "./search.ts";
import { namedForm } from "./wire-forms.ts";
import { NEEDS, openingNeeds, postingNeeds } from "./permissions.ts";

/** How the adapter reaches Discord. Only `tokens` has to be there. */
export interface DiscordOptions {
  /** The bot token of each account, by the account's id. */
  readonly tokens: Readonly<Record<string, string>>;
  /**
   * Another server with the same protocol, such as `FakeDiscord.url`. Default
   * `https://discord.com/api`.
   */
  readonly apiUrl?: string | undefined;
  /** Channel ids that `check` looks at. Default: the text channels of the bot's servers. */
  readonly channels?: readonly string[];
  /**
   * Whether a bot joins a thread that does not concern it, to hear what is said there. Default: no,
   * it is in those alone that are its own, where it was named, put in or called.
   */
  readonly joinsThread?: ((place: PlaceAddress, account: ChannelAccount) => boolean) | undefined;
  /** Milliseconds for one request. Default 10,000: docs/spec/collaboration §6, E5. */
  readonly timeoutMs?: number;
  /**
   * For the gateway's first word, and again for the session, milliseconds. Default 20,000: a
   * connection that says nothing is given up.
   */
  readonly gatewayPatienceMs?: number;
  /** Between the starts of any two bots of this process, milliseconds. Default 250. */
  readonly startBetweenBotsMs?: number;
  /**
   * Between two sessions of one bot, milliseconds. Default 5,000, the platform's "Max Concurrency".
   */
  readonly startPerBotMs?: number;
  /**
   * Messages per account that may wait to be stored; more are left out and read again. Default
   * 1,000.
   */
  readonly inboxLimit?: number;
  /**
   * Minutes without a message after which the platform archives a new thread: 60, 1440, 4320 or
   * 10080. Default 1440, the lifetime of participants.
   */
  readonly autoArchiveMinutes?: 60 | 1440 | 4320 | 10_080;
}

/** Source: "Reference: Uploading Files", where no server has boosts. */
const FILE_BYTES = 10 * 1024 * 1024;

interface Started {
  readonly port: ChannelPort;
  readonly discordJs: DiscordJs;
  readonly gate: IdentifyGate;
}

/**
 * Room that is left in a message for mentions, which grow when a snowflake takes the place of an
 * agent's id.
 */
const ROOM_FOR_MENTIONS = 100;

/**
 * `ChannelAdapter` over the gateway and the REST client of discord.js. Keeps a connection per account that is told to `connect`;
 * requests work as soon as `start` has resolved, connected or not. What posts or searches is tried
 * once, since its retries are the outbox's; reading, joining a thread and connecting have no outbox
 * behind them and are patient here.
 */
export class DiscordAdapter implements ChannelAdapter {
  readonly name = DISCORD;
  readonly isLocal = false;
  readonly limits: ChannelLimits = {
    messageLength: PLATFORM_MESSAGE_LENGTH - ROOM_FOR_MENTIONS,
    threadNameLength: 100,
    // The platform says "the past few minutes"; a minute is certain.
    keyMemoryMs: 60_000,
    fileBytes: FILE_BYTES,
  };
  readonly #options: DiscordOptions;
  readonly #timeoutMs: number;
  readonly #apis = new Map<string, AccountApi>();
  readonly #connections = new Map<string, AccountConnection>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  #started: Started | undefined;

  constructor(options: DiscordOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 10_000;
  }

  /** Loads discord.js. @throws DISCORD_JS_MISSING */
  async start(port: ChannelPort): Promise<void> {
    if (this.#started !== undefined) return;
    const discordJs = await loadDiscordJs();
    const gate = new IdentifyGate({
      clock: port.clock,
      perBotMs: this.#options.startPerBotMs ?? 5000,
      betweenBotsMs: this.#options.startBetweenBotsMs ?? 250,
    });
    this.#started ??= { port, discordJs, gate };
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error("The Discord adapter has stopped."));
    await Promise.allSettled(this.#running);
    for (const api of this.#apis.values()) api.close();
    this.#apis.clear();
  }

  /**
   * @throws DISCORD_ACCOUNT_CONNECTED when this process already keeps this account's connection.
   */
  async connect(account: ChannelAccount, { signal }: { signal: AbortSignal }): Promise<void> {
    const { port, gate } = this.#ready();
    if (this.#connections.has(account.id)) {
      throw new DureError(
        "DISCORD_ACCOUNT_CONNECTED",
        `The account ${account.id} is connected already.`,
        { class: "conflict" },
      );
    }
    const token = this.#options.tokens[account.id];
    if (token === undefined) {
      await port.accountChanged(account, "refused", {
        code: "token-missing",
        facts: { account: account.id },
        message: `There is no bot token for the account ${account.id}.`,
      });
      return;
    }
    this.#forgetRefused(account.id);
    const connection = new AccountConnection({
      account,
      port,
      api: this.#api(account),
      token,
      patienceMs: this.#options.gatewayPatienceMs ?? 20_000,
      gate,
      inboxLimit: this.#options.inboxLimit ?? 1000,
      joinsThread: this.#options.joinsThread ?? (() => false),
    });
    this.#connections.set(account.id, connection);
    const run = connection.run(AbortSignal.any([signal, this.#stopped.signal])).finally(() => {
      this.#connections.delete(account.id);
      this.#running.delete(run);
    });
    this.#running.add(run);
    await run;
  }

  async post(
    post: OutgoingPost,
    { signal }: { signal: AbortSignal },
  ): Promise<{ platformId: string }> {
    this.#ensureAvailable(post.account, post.place);
    const channel = channelIdOf(post.place);
    const { id } = await this.#api(post.account).read(namedForm, {
      method: "POST",
      route: `/channels/${channel}/messages`,
      body: toMessageBody(post),
      files: post.files,
      doing: "post a message",
      channel,
      needs: postingNeeds(post),
      signal,
    });
    return { platformId: id };
  }

  edit(post: OutgoingPost, platformId: string, { signal }: { signal: AbortSignal }): Promise<void> {
    const body = toEditBody(post);
    const request = { method: "PATCH", body, doing: "edit a message", signal } as const;
    return this.#change(post.account, post.place, `/messages/${platformId}`, request);
  }

  /** Source: "Message: Create Reaction", "Delete Own Reaction". */
  react(
    account: ChannelAccount,
    place: PlaceAddress,
    { platformId, emoji, isSet }: { platformId: string; emoji: string; isSet: boolean },
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    const method = isSet ? "PUT" : "DELETE";
    const path = `/messages/${platformId}/reactions/${encodeURIComponent(emoji)}/@me`;
    return this.#change(account, place, path, { method, doing: "set a reaction", signal });
  }

  remove(
    account: ChannelAccount,
    place: PlaceAddress,
    platformId: string,
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    const request = { method: "DELETE", doing: "delete a message", signal } as const;
    return this.#change(account, place, `/messages/${platformId}`, request);
  }

  async #change(
    account: ChannelAccount,
    place: PlaceAddress,
    path: string,
    request: Pick<Parameters<AccountApi["request"]>[0], "method" | "body" | "doing" | "signal">,
  ): Promise<void> {
    this.#ensureAvailable(account, place);
    const channel = channelIdOf(place);
    const route = `/channels/${channel}${path}` as const;
    await this.#api(account).request({ ...request, route, channel, needs: NEEDS.see });
  }

  async findPost(
    post: OutgoingPost,
    { after, signal }: { after?: string | undefined; signal: AbortSignal },
  ): Promise<FoundOnPlatform> {
    this.#ensureAvailable(post.account, post.place);
    return searchPost(
      this.#api(post.account),
      {
        channel: channelIdOf(post.place),
        text: toWireText(post.text, post.mentions),
        nonce: post.key,
        files: post.files,
        after,
      },
      signal,
    );
  }

  /**
   * The platform has no key for threads: after an unknown outcome `findThread` is the only way to
   * tell.
   */
  async createThread(
    thread: OutgoingThread,
    { signal }: { signal: AbortSignal },
  ): Promise<{ platformId: string }> {
    this.#ensureAvailable(thread.account, thread.channel);
    const { channel } = thread.channel;
    const api = this.#api(thread.account);
    const type =
      this.#connections.get(thread.account.id)?.typeOf(channel) ??
      (await api.place(channel, signal)).type;
    const { id } = await api.read(namedForm, {
      method: "POST",
      route: `/channels/${channel}/threads`,
      body: {
        ...toThreadBody(thread.name, type),
        auto_archive_duration: this.#options.autoArchiveMinutes ?? 1440,
      },
      doing: "create a thread",
      channel,
      needs: openingNeeds(type),
      signal,
    });
    return { platformId: id };
  }

  async findThread(
    thread: OutgoingThread,
    { signal }: { signal: AbortSignal },
  ): Promise<FoundOnPlatform> {
    this.#ensureAvailable(thread.account, thread.channel);
    const { guild, channel } = thread.channel;
    const api = this.#api(thread.account);
    if (thread.named !== undefined) return namedThread(api, channel, thread.named, signal);
    return searchThread(api, { guild, channel, name: thread.name, since: thread.since }, signal);
  }

  /** Archived: deleting would take what a person has just written, and needs a permission. */
  removeThread(...[account, place, { signal }]: AskedAway): Promise<void> {
    const request = { method: "PATCH", body: { archived: true }, signal } as const;
    return this.#change(account, place, "", { ...request, doing: "archive an empty thread" });
  }

  /** Undefined connection: it is called again when there is one. */
  async joinThread(account: ChannelAccount, place: PlaceAddress): Promise<void> {
    this.#ensureAvailable(account, place);
    const connection = this.#connections.get(account.id);
    if (!connection) {
      throw new ChannelError("rate-limited", `${account.id} is not connected.`, {
        retryAfterMs: 1_000,
      });
    }
    connection.join(place);
  }

  channelsChanged(): void {
    for (const connection of this.#connections.values()) connection.channelsChanged();
  }

  threadsInUse(account: ChannelAccount): readonly ThreadInUse[] {
    return this.#connections.get(account.id)?.threadsInUse() ?? [];
  }

  /** Source: "Message Formatting": `<#id>` is shown as the channel's name and opens it. */
  linkTo(place: PlaceAddress): string {
    return `<#${channelIdOf(place)}>`;
  }

  typing(account: ChannelAccount, place: PlaceAddress): void {
    const channel = channelIdOf(place);
    const show = async (): Promise<unknown> =>
      this.#api(account).request({
        method: "POST",
        route: `/channels/${channel}/typing`,
        doing: "show the typing sign",
        channel,
        needs: NEEDS.post,
        signal: this.#stopped.signal,
      });
    show().catch((error: unknown) =>
      this.#started?.port.logger.debug(
        { account: account.id, channel },
        `no typing sign of ${account.id}: ${messageOf(error)}`,
      ),
    );
  }

  async readFile(
    account: ChannelAccount,
    file: FileOfMessage,
    { signal }: { signal: AbortSignal },
  ): Promise<Uint8Array> {
    const { clock } = this.#ready().port;
    const api = this.#api(account);
    return readDiscordFile(file, { api, apiUrl: this.#options.apiUrl, clock, signal });
  }

  /**
   * Pages of 100; waits at rate limits. A bot that may not read history is
   * shown nothing, which is told as the missing permission that it is.
   */
  async readSince(
    ...[account, place, { after, limit, signal }]: Parameters<ChannelAdapter["readSince"]>
  ): Promise<readonly InboundMessage[]> {
    const [reading, channel] = [this.#reading(account, place, signal), channelIdOf(place)];
    const messages = await readMessages(reading, { channel, after, limit, signal });
    const botOfRole = (role: string) => this.#connections.get(account.id)?.botOfRole(role);
    return messages.flatMap((message) => toInbound(message, place, { botOfRole }) ?? []);
  }

  isGone(...[account, place, id, { signal }]: AskedGone): Promise<boolean> {
    const reading = this.#reading(account, place, signal);
    return isMessageGone(reading, { channel: channelIdOf(place), id, signal });
  }

  #reading(account: ChannelAccount, place: PlaceAddress, signal: AbortSignal): HistoryReader {
    return { api: this.#api(account), patient: this.#patientFor(account, place, signal) };
  }

  accountKey(agent: string): string {
    return botTokenOf(agent, "DISCORD_TOKEN");
  }

  async check(
    account: ChannelAccount,
    { signal, notices = [] }: { signal: AbortSignal; notices?: readonly string[] | undefined },
  ): Promise<readonly ChannelFinding[]> {
    if (this.#options.tokens[account.id] === undefined) {
      return [noToken(account)];
    }
    const { channels = [] } = this.#options;
    return checkAccount(this.#api(account), account, { channels, notices }, signal);
  }

  /** Where an outage is known nothing is tried: work waits for its end. */
  #ensureAvailable(account: ChannelAccount, place: PlaceAddress): void {
    this.#connections.get(account.id)?.ensureAvailable(place);
  }

  /** An outage that begins between two attempts ends it. */
  #patientFor(account: ChannelAccount, place: PlaceAddress, signal: AbortSignal): Patient {
    const { clock } = this.#ready().port;
    return (work) =>
      patiently(clock, signal, async () => {
        this.#ensureAvailable(account, place);
        return work();
      });
  }

  #ready(): Started {
    if (this.#started === undefined) {
      throw new DureError("DISCORD_NOT_STARTED", "The Discord adapter has not been started.", {
        hint: "Call start(port) first.",
      });
    }
    return this.#started;
  }

  /** A later `connect` may be with a token that works again. */
  #forgetRefused(account: string): void {
    if (this.#apis.get(account)?.isRefused !== true) return;
    this.#apis.get(account)?.close();
    this.#apis.delete(account);
  }

  #api(account: ChannelAccount): AccountApi {
    const known = this.#apis.get(account.id);
    if (known !== undefined) return known;
    const { port, discordJs } = this.#ready();
    const token = this.#options.tokens[account.id];
    if (token === undefined) {
      throw new ChannelError("credential", `There is no bot token for the account ${account.id}.`, {
        notSent: true,
      });
    }
    const api = new AccountApi({
      discordJs,
      token,
      apiUrl: this.#options.apiUrl,
      clock: port.clock,
      timeoutMs: this.#timeoutMs,
      onRefused: () => this.#connections.get(account.id)?.refuse(),
    });
    this.#apis.set(account.id, api);
    return api;
  }
}
