import type { CodedMessage } from "../kernel/coded-message.ts";
import { messageOf } from "../kernel/errors.ts";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelPort,
  type InboundMessage,
  type PlaceAddress,
  type PressingPerson,
  type ThreadInUse,
} from "../rooms/channel-adapter.ts";
import { PAGE, type AccountApi } from "./account-api.ts";
import type { DiscordJs } from "./discord-js.ts";
import {
  runGateway,
  TOKEN_REFUSED,
  type ConnectionEnd,
  type GatewayEventType,
} from "./gateway-client.ts";
import type { IdentifyGate } from "./identify-gate.ts";
import { Inbox } from "./inbox.ts";
import { cut, PLATFORM_MESSAGE_LENGTH, toInbound, type WireMessage } from "./mapping.ts";
import { patiently } from "./patience.ts";
import { addressOf, isThread, PlaceDirectory, type KnownPlace, type WirePlace } from "./places.ts";
import { StateTeller } from "./state-teller.ts";

export interface AccountConnectionOptions {
  readonly account: ChannelAccount;
  readonly port: ChannelPort;
  readonly api: AccountApi;
  readonly discordJs: DiscordJs;
  readonly token: string;
  readonly apiUrl: string | undefined;
  readonly timeoutMs: number;
  readonly gate: IdentifyGate;
  /** Messages that may wait to be stored. */
  readonly inboxLimit: number;
  readonly joinsThread: (place: PlaceAddress) => boolean;
}

/** Waits between connections that failed, milliseconds: doubled up to the second. */
const RECONNECT_MS = { first: 1000, most: 30_000 } as const;
/**
 * Before what waits for the end of an outage looks again, milliseconds; nothing is asked of the
 * platform.
 */
const OUTAGE_LOOK_MS = 5_000;
/** Buttons that are being answered; more are told to press again. */
const MAX_PRESSES = 100;

/**
 * One account at the gateway, from `run` until its signal aborts or the token is refused: tells its
 * state, hands what it hears to the port in order per place, and lets dure read what it may have
 * missed.
 *
 * *starting* → *ready* ⇄ *reconnecting* → *stopped*, or *refused*.
 */
export class AccountConnection {
  readonly #options: AccountConnectionOptions;
  readonly #port: ChannelPort;
  readonly #api: AccountApi;
  readonly #places = new PlaceDirectory();
  readonly #inbox: Inbox;
  readonly #states: StateTeller;
  readonly #refused = new AbortController();
  /** With the platform's id, as soon as that is known. */
  #account: ChannelAccount;
  #signal: AbortSignal = this.#refused.signal;
  /** Every server of the session has come, but for those with an outage. */
  #isComplete = false;
  /**
   * By id what is known of each server that the bot is in. `isOut`: it has not come, or has an
   * outage.
   */
  readonly #servers = new Map<string, { readonly name: string; readonly isOut: boolean }>();
  #presses = 0;
  #failures = 0;

  constructor(options: AccountConnectionOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#api = options.api;
    this.#account = options.account;
    this.#states = new StateTeller(options.port);
    this.#inbox = new Inbox({
      clock: options.port.clock,
      logger: options.port.logger,
      account: options.account.id,
      limit: options.inboxLimit,
      readMissed: async () => {
        await this.#states.settled(); // "ready" is stored before what was missed is read
        await this.#port.mayHaveMissed(this.#account);
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = AbortSignal.any([signal, this.#refused.signal]);
    this.#states.tell(this.#account, "starting");
    const refusal = await this.#keepConnected();
    await this.#inbox.close();
    if (refusal === undefined) this.#states.tell(this.#account, "stopped");
    else this.#states.tell(this.#account, "refused", refusal);
    await this.#states.settled();
  }

  threadsInUse(): readonly ThreadInUse[] {
    return this.#places.threadsInUse(this.#account.platformId);
  }

  /** @throws ChannelError `unavailable` while the server of `place` has an outage. */
  ensureAvailable(place: PlaceAddress): void {
    const guild =
      place.guild ??
      this.#places.get(place.thread ?? place.channel)?.address.guild ??
      this.#places.get(place.channel)?.address.guild;
    const server = guild === undefined || !this.#isComplete ? undefined : this.#servers.get(guild);
    if (server?.isOut !== true) return;
    throw new ChannelError("unavailable", outageOf([server.name]).message, {
      notSent: true,
      retryAfterMs: OUTAGE_LOOK_MS,
    });
  }

  /** The allowlist is another one: the bot joins what is open in a channel that is on it now. */
  channelsChanged(): void {
    for (const place of this.#places.unheard()) this.#joinIfWanted(place);
  }

  /** The token was refused over HTTP: the connection ends too. */
  refuse(): void {
    this.#refused.abort(new Error("The token was refused."));
  }

  /** Resolves with why the token is of no use, or with nothing after an abort. */
  async #keepConnected(): Promise<string | CodedMessage | undefined> {
    const { clock, logger } = this.#port;
    const { id } = this.#account;
    while (!this.#signal.aborted) {
      const ended = await this.#connectOnce();
      if (ended.end === "refused") {
        this.#api.refuse();
        return ended.detail;
      }
      if (ended.end === "stopped") break;
      const waitMs = Math.min(RECONNECT_MS.most, RECONNECT_MS.first * 2 ** this.#failures++);
      logger.warn(
        { account: id, waitMs },
        `${id} is not connected to Discord (${ended.detail}); again in ${waitMs} ms`,
      );
      this.#states.tell(this.#account, "reconnecting", ended.detail);
      await clock.sleep(waitMs, { signal: this.#signal }).catch(() => {});
    }
    return this.#refused.signal.aborted ? TOKEN_REFUSED : undefined;
  }

  async #connectOnce(): Promise<ConnectionEnd> {
    const { discordJs, token, apiUrl, timeoutMs, gate } = this.#options;
    const { clock } = this.#port;
    try {
      return await runGateway(
        {
          discordJs,
          token,
          apiUrl,
          clock,
          timeoutMs,
          mayIdentify: (signal) => gate.wait(this.#account.id, signal),
          listener: {
            sessionStarted: (guilds) => {
              this.#isComplete = false;
              const named = new Map([...this.#servers].map(([guild, { name }]) => [guild, name]));
              this.#servers.clear();
              for (const guild of guilds) {
                this.#servers.set(guild, { name: named.get(guild) ?? guild, isOut: true });
              }
              this.#inbox.hold();
            },
            ready: (selfId) => this.#ready(selfId),
            resumed: () => this.#tellReady(),
            reconnecting: () => this.#states.tell(this.#account, "reconnecting"),
            event: (type, data) => this.#hear(type, data),
          },
        },
        this.#signal,
      );
    } catch (error) {
      return this.#signal.aborted
        ? { end: "stopped" }
        : { end: "failed", detail: messageOf(error) };
    }
  }

  #ready(selfId: string): void {
    this.#failures = 0;
    this.#account = { ...this.#account, platformId: selfId };
    this.#isComplete = true;
    this.#tellReady();
    this.#inbox.readGap();
  }

  /** Ready also while a server has an outage: the others are there. */
  #tellReady(): void {
    const out = [...this.#servers.values()].filter(({ isOut }) => isOut).map(({ name }) => name);
    if (this.#servers.size === 0) {
      this.#states.tell(this.#account, "ready", NO_SERVER);
    } else if (out.length > 0) this.#states.tell(this.#account, "ready", outageOf(out));
    else this.#states.tell(this.#account, "ready");
  }

  // ── Events
  // ────────────────────────────────────────────────────────────────────────

  /** Never throws: an event of a form that we do not understand is logged and left out. */
  #hear(type: GatewayEventType, data: unknown): void {
    try {
      this.#take(type, data);
    } catch (error) {
      const { id } = this.#account;
      this.#port.logger.warn(
        { account: id, err: error, event: type },
        `${id} was sent a ${type} that could not be understood; it is left out`,
      );
    }
  }

  #take(type: GatewayEventType, data: unknown): void {
    switch (type) {
      case "GUILD_CREATE":
        return this.#guildCame(data as WireGuild);
      case "GUILD_DELETE":
        return this.#guildGone(data as WireGuild);
      case "CHANNEL_CREATE":
        this.#places.learn(data as WirePlace);
        return;
      case "CHANNEL_UPDATE":
        return this.#placeChanged(data as WirePlace);
      case "CHANNEL_DELETE":
        this.#places.forget((data as WirePlace).id);
        return this.#tell(addressOf(data as WirePlace), "channel-removed");
      case "THREAD_CREATE":
        return this.#threadCame(data as WirePlace, (data as WirePlace).guild_id);
      case "THREAD_UPDATE":
        return this.#placeChanged(data as WirePlace);
      case "THREAD_DELETE":
        this.#places.forget((data as WirePlace).id);
        return this.#tell(addressOf(data as WirePlace), "thread-deleted");
      case "THREAD_LIST_SYNC": {
        const { threads, guild_id } = data as { threads: WirePlace[]; guild_id: string };
        for (const thread of threads) this.#threadCame(thread, guild_id);
        return;
      }
      case "MESSAGE_CREATE":
        return this.#messageCame(data as WireMessage);
      case "MESSAGE_UPDATE":
        return this.#messageChanged(data as WireMessage);
      case "INTERACTION_CREATE":
        void this.#pressed(data as WireInteraction);
        return;
      default:
        (type) satisfies never;
    }
  }

  /** Source: "Gateway Events: Guild Create": its inner payload may be an unavailable guild. */
  #guildCame(guild: WireGuild): void {
    if (guild.unavailable === true) return this.#guildGone(guild);
    this.#servers.set(guild.id, { name: guild.name ?? guild.id, isOut: false });
    for (const channel of guild.channels ?? []) this.#places.learn(channel, guild.id);
    for (const thread of guild.threads ?? []) this.#threadCame(thread, guild.id);
    // It comes late after an outage of theirs, or for the first time: no event told what was said
    // there before.
    if (!this.#isComplete) return;
    this.#tellReady();
    this.#inbox.readGap();
  }

  /**
   * `unavailable`: an outage of theirs, the guild comes back, and nothing of it is forgotten. Else
   * the bot was removed. Source: "Gateway Events: Guild Delete".
   */
  #guildGone(guild: WireGuild): void {
    if (guild.unavailable === true) {
      this.#servers.set(guild.id, {
        name: this.#servers.get(guild.id)?.name ?? guild.id,
        isOut: true,
      });
    } else this.#servers.delete(guild.id);
    if (this.#isComplete) this.#tellReady();
    if (guild.unavailable === true) return;
    for (const channel of this.#places.forgetGuild(guild.id)) this.#tell(channel, "access-lost");
  }

  #placeChanged(place: WirePlace): void {
    const before = this.#places.learn(place);
    const address = addressOf(place);
    const archived = place.thread_metadata?.archived === true;
    if (isThread(place) && archived !== (before?.archived ?? !archived)) {
      this.#tell(address, archived ? "thread-archived" : "thread-opened");
    }
    const name = place.name ?? "";
    if (before !== undefined && before.name !== name) {
      this.#inbox.push(place.id, () =>
        this.#port.placeChanged(this.#account, { kind: "renamed", place: address, name }),
      );
    }
    // One that slept when it could have been joined is in use again.
    if (isThread(place) && before?.archived === true && !archived && before.joined !== true) {
      this.#joinIfWanted({ address, name });
    }
  }

  /**
   * A thread that is new, or new to this bot. It is joined, because only those who joined hear what
   * is said there; and what was said before that is read, because the platform does not send it again.
   */
  #threadCame(thread: WirePlace, guild: string | undefined): void {
    const known = this.#places.learn(thread, guild);
    const address = addressOf(thread, guild);
    const { name, owner_id: owner } = thread;
    // The same event comes again when this bot has joined, and every active thread with each new
    // session.
    if (owner !== undefined && (known === undefined || thread.newly_created === true)) {
      this.#inbox.push(thread.id, () =>
        this.#port.placeChanged(this.#account, {
          kind: "thread-created",
          place: address,
          name: name ?? "",
          owner,
        }),
      );
    }
    if (owner === this.#account.platformId) this.#places.joined(thread.id);
    else if (thread.member === undefined) this.#joinIfWanted({ address, name: name ?? "" });
  }

  #joinIfWanted({ address, name }: Pick<KnownPlace, "address" | "name">): void {
    const { thread } = address;
    if (thread !== undefined && this.#options.joinsThread(address)) {
      this.#inbox.push(thread, () => this.#join(thread, address, name));
    }
  }

  #messageCame(message: WireMessage): void {
    this.#inbox.push(message.channel_id, async () => {
      const place = await this.#placeOf(message);
      if (place !== undefined) await this.#receive(message, place);
    });
  }

  /** Also comes when the platform adds a preview to a link: only what has been edited is told. */
  #messageChanged(message: WireMessage): void {
    const { content, edited_timestamp } = message as Partial<WireMessage>;
    if (content === undefined || edited_timestamp == null) return;
    this.#inbox.push(message.channel_id, async () => {
      const place = await this.#placeOf(message);
      if (place !== undefined) {
        await this.#port.edited(this.#account, {
          platformId: message.id,
          place: place.address,
          text: content,
        });
      }
    });
  }

  #tell(
    place: PlaceAddress,
    kind:
      | "thread-deleted"
      | "thread-archived"
      | "thread-opened"
      | "channel-removed"
      | "access-lost",
  ): void {
    this.#inbox.push(place.thread ?? place.channel, () =>
      this.#port.placeChanged(this.#account, { kind, place }),
    );
  }

  /**
   * Answers at once that an answer will come, since the platform waits 3 s only, then asks the port
   * and shows what it says. Source: "Receiving and Responding: Interaction Callback Type" 5, and
   * flag 64: only the person who pressed sees it.
   */
  async #pressed(interaction: WireInteraction): Promise<void> {
    const { id, token, application_id, data, channel_id } = interaction;
    const user = interaction.member?.user ?? interaction.user;
    if (
      interaction.type !== 3 ||
      data === undefined ||
      user === undefined ||
      channel_id === undefined
    ) {
      return;
    }
    this.#presses++;
    try {
      const callback = {
        method: "POST",
        route: `/interactions/${id}/${token}/callback`,
        doing: "answer a button",
        channel: channel_id,
        withoutToken: true,
      } as const;
      if (this.#presses > MAX_PRESSES) {
        await this.#api.request({
          ...callback,
          body: { type: 4, data: { content: "⏳", flags: 64 } },
        });
        return;
      }
      await this.#api.request({ ...callback, body: { type: 5, data: { flags: 64 } } });
      const content = await this.#answerPress(
        data.custom_id,
        { user, member: interaction.member },
        channel_id,
        interaction.guild_id,
      );
      const shown = {
        method: "PATCH",
        route: `/webhooks/${application_id}/${token}/messages/@original`,
        body: {
          content: cut(content.trim() === "" ? "✓" : content, PLATFORM_MESSAGE_LENGTH),
          allowed_mentions: { parse: [] },
        },
        doing: "show the answer to a button",
        channel: channel_id,
        withoutToken: true,
      } as const;
      await patiently(this.#port.clock, this.#signal, () => this.#api.request(shown));
    } catch (error) {
      const { id: account } = this.#account;
      this.#port.logger.warn(
        { account, err: error, interaction: id },
        `a button pressed by ${user.username} was not answered on Discord (${messageOf(error)})`,
      );
    } finally {
      this.#presses--;
    }
  }

  async #answerPress(
    value: string,
    { user, member }: { user: WireUser; member: WireInteraction["member"] },
    channel: string,
    guild: string | undefined,
  ): Promise<string> {
    try {
      const place = await this.#placeOf({
        channel_id: channel,
        ...(guild === undefined ? {} : { guild_id: guild }),
      });
      if (place === undefined) return "⚠️";
      return await this.#port.pressed(this.#account, {
        value,
        person: personOf(user, member, place.address),
        place: place.address,
      });
    } catch (error) {
      this.#port.logger.warn(
        { account: this.#account.id, err: error, value },
        `a button pressed by ${user.username} could not be handled (${messageOf(error)})`,
      );
      return `⚠️ ${messageOf(error)}`;
    }
  }

  // ── Steps
  // ────────────────────────────────────────────────────────────────────────

  async #receive(message: WireMessage, place: KnownPlace): Promise<void> {
    const inbound: InboundMessage | undefined = toInbound(
      message,
      place.address,
      place.address.thread === undefined ? undefined : place.name,
    );
    if (inbound !== undefined) await this.#port.received(this.#account, inbound);
  }

  /**
   * The place of an event, looked up when the gateway has not told of it; `undefined` when the bot
   * may not see it.
   */
  async #placeOf(event: {
    readonly channel_id: string;
    readonly guild_id?: string;
  }): Promise<KnownPlace | undefined> {
    const known = this.#places.get(event.channel_id);
    if (known !== undefined) return known;
    try {
      const place = await patiently(this.#port.clock, this.#signal, () =>
        this.#api.place(event.channel_id, this.#signal),
      );
      this.#places.learn(place, event.guild_id);
      return this.#places.get(event.channel_id);
    } catch (error) {
      if (
        error instanceof ChannelError &&
        (error.failure === "permission" || error.failure === "not-found")
      ) {
        return undefined;
      }
      throw error;
    }
  }

  /** Never rejects: a bot that cannot join is no message that was not stored. */
  async #join(thread: string, address: PlaceAddress, name: string): Promise<void> {
    const { clock, logger } = this.#port;
    const { id } = this.#account;
    const signal = this.#signal;
    const route = `/channels/${thread}/thread-members/@me` as const;
    let messages: WireMessage[];
    try {
      await patiently(clock, signal, () =>
        this.#api.request({
          method: "PUT",
          route,
          doing: "join the thread",
          channel: thread,
          needs: "VIEW_CHANNEL",
          signal,
        }),
      );
      messages = await patiently(clock, signal, () =>
        this.#api.messages(thread, { limit: PAGE, signal }),
      );
    } catch (error) {
      if (!signal.aborted) {
        logger.warn(
          { account: id, thread, err: error },
          `${id} could not join the thread ${name}: it hears nothing there until it is ` +
            `mentioned (${messageOf(error)})`,
        );
      }
      return;
    }
    this.#places.joined(thread);
    for (const message of messages) {
      await this.#receive(message, { address, name, archived: false });
    }
  }
}

/** What is told of an account, and of what waits, while servers have an outage. */
function outageOf(servers: readonly string[]): CodedMessage {
  return {
    code: "outage",
    facts: { servers },
    message: `Discord has an outage in the server ${servers.join(", ")}: what is said there waits.`,
  };
}

const NO_SERVER: CodedMessage = {
  code: "no-server",
  facts: {},
  message: "The bot is in no server: `dure doctor` gives the link that invites it.",
};

interface WireGuild {
  readonly id: string;
  readonly name?: string;
  readonly unavailable?: boolean;
  readonly channels?: readonly WirePlace[];
  readonly threads?: readonly WirePlace[];
}

interface WireUser {
  readonly id: string;
  readonly username: string;
  readonly global_name?: string | null;
}

/** Source: "Interaction Object". */
interface WireInteraction {
  readonly id: string;
  readonly type: number;
  readonly token: string;
  readonly application_id: string;
  readonly channel_id?: string;
  readonly guild_id?: string;
  readonly data?: { readonly custom_id: string };
  readonly member?: {
    readonly user: WireUser;
    readonly roles?: readonly string[];
    readonly permissions?: string;
  };
  readonly user?: WireUser;
}

/** Source: "Permissions: Bitwise Permission Flags": ADMINISTRATOR, MANAGE_GUILD. */
const MANAGING = (1n << 3n) | (1n << 5n);
/**
 * The same: ADMINISTRATOR, SEND_MESSAGES; SEND_MESSAGES_IN_THREADS, which counts in a thread
 * instead.
 */
const WRITING = { channel: (1n << 3n) | (1n << 11n), thread: (1n << 3n) | (1n << 38n) } as const;

/** Who pressed, with what the platform says that they may do there. Pure. */
function personOf(
  user: WireUser,
  member: WireInteraction["member"],
  place: PlaceAddress,
): PressingPerson {
  const { roles, permissions } = member ?? {};
  const may = (bits: bigint): boolean =>
    permissions !== undefined && (BigInt(permissions) & bits) !== 0n;
  const writing = place.thread === undefined ? WRITING.channel : WRITING.thread;
  return {
    id: user.id,
    name: user.global_name ?? user.username,
    roles,
    manages: may(MANAGING),
    writes: place.direct === true ? undefined : may(writing),
  };
}
