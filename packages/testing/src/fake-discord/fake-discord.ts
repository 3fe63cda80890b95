import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DureError, systemClock, type Clock } from "dure/client";
import { Bots, type BotAccount } from "./bots.ts";
import { Faults, type ArmedFault, type FakeFault, type FaultTarget } from "./faults.ts";
import { FakeGateway } from "./gateway-control.ts";
import { Gateway } from "./gateway.ts";
import { ALL_PERMISSIONS, bitsOf, USUAL_PERMISSIONS, type FakePermission } from "./permissions.ts";
import {
  InvalidRequests,
  USUAL_INVALID_LIMIT,
  type InvalidRequestLimit,
} from "./invalid-requests.ts";
import { roleIdOf } from "./payloads.ts";
import { RateLimiter, USUAL_RATE_LIMITS, type RateLimits } from "./rate-limits.ts";
import { Rest, type LoggedRequest } from "./rest.ts";
import { overwriteOf, World } from "./world.ts";
import type { Attachments } from "./attachments.ts";
import type { FileFact, Guild, Message, FakeChannel, ShownAnswer, User } from "./world-facts.ts";
import { within } from "../within.ts";

/** How the fake server behaves. */
export interface FakeDiscordOptions {
  readonly clock?: Clock;
  /** How long a nonce is remembered; the platform says "the past few minutes". Default 5 min. */
  readonly nonceWindowMs?: number;
  /** Default 41,250, as the platform's. */
  readonly heartbeatIntervalMs?: number;
  /** Identifies per bot and window. Default 1 per 5 s, as the platform's for small bots. */
  readonly maxConcurrency?: number;
  readonly identifyWindowMs?: number;
  /**
   * How long a new session waits for its guilds, during which other events come already. Default 0.
   */
  readonly guildsAfterMs?: number;
  /** Session starts of a bot in a window; one more resets its token. Default 1,000 in 24 h. */
  readonly sessionStarts?: { readonly total: number; readonly perMs: number };
  /** How long a button's answer is awaited. Default 3,000, as the platform's. */
  readonly interactionWindowMs?: number;
  readonly rateLimits?: Partial<RateLimits>;
  /** Threads that the list of active ones shows. Default 1,000, as many as a guild may have. */
  readonly activeThreads?: number;
  /** Refused requests after which this address is banned. Default 10,000 in 10 min. */
  readonly invalidRequests?: InvalidRequestLimit;
}

/** Handles that tests hold; only their ids and names mean something. */
export interface FakeGuild {
  readonly id: string;
  readonly name: string;
}

/** A channel, a thread, or a direct message channel. */
export interface FakePlace {
  readonly id: string;
  readonly name: string;
}

/** A thread, as people see it. */
export interface FakeThread extends FakePlace {
  readonly channel: FakePlace;
  /** Names of those who joined. */
  readonly members: readonly string[];
  readonly owner: string;
  readonly archived: boolean;
}

/** A bot of the fake server. */
export interface FakeBot {
  readonly id: string;
  readonly name: string;
  readonly token: string;
}

/** What a bot may do. */
export interface FakeBotOptions {
  readonly token: string;
  readonly name: string;
  /** Default: every guild that exists. */
  readonly guilds?: readonly FakeGuild[];
  /**
   * Of the role that comes with the bot; @everyone gives nothing. Default: to read, write and open
   * public threads.
   */
  readonly permissions?: readonly FakePermission[];
  /** The switch of the developer portal. Default on. */
  readonly messageContentIntent?: boolean;
  /** The switches for members and presences. Default off. */
  readonly memberAndPresenceIntents?: boolean;
}

/** A message as a member of the place sees it. */
export interface FakeMessage {
  readonly id: string;
  readonly placeId: string;
  readonly author: string;
  readonly authorIsBot: boolean;
  readonly text: string;
  /** 0 a message, 19 a reply, 18 "a thread was created". */
  readonly type: number;
  /** Names of those whom it woke. */
  readonly mentions: readonly string[];
  readonly mentionsEveryone: boolean;
  readonly nonce: string | undefined;
  readonly replyTo: string | undefined;
  /** Names of its files. */
  readonly attachments: readonly string[];
  /** The bytes of each of them. */
  readonly files: readonly Uint8Array[];
  readonly buttons: readonly FakeButton[];
  /** `name emoji`, in the order in which they were set. */
  readonly reactions: readonly string[];
  readonly edited: boolean;
  readonly at: number;
}

/** A button below a message. */
export interface FakeButton {
  readonly placeId: string;
  readonly messageId: string;
  readonly label: string;
  /** Its custom id. */
  readonly value: string;
}

/** What a post has beside its text. */
export interface FakePostOptions {
  /** Mentioned before the text, unless the text does it. */
  readonly mentions?: readonly { readonly id: string }[];
  readonly replyTo?: { readonly id: string };
  readonly attachments?: readonly {
    readonly name: string;
    readonly size?: number;
    readonly contentType?: string;
    /** Absent: it is told, and served to no one. */
    readonly bytes?: Uint8Array;
  }[];
}

/** How many requests the log keeps. */
const KEPT_REQUESTS = 10_000;

/**
 * A Discord for tests: REST and gateway, version 10, over loopback, strict where the real one is
 * strict. The real discord.js talks to it when `rest.api` is its `url`:
 *
 *     await using discord = await FakeDiscord.start();
 *     const general = discord.addChannel(discord.addGuild("두레"), "general");
 *     const ruda = discord.addBot({ name: "루다", token: "token-ruda" });
 *     const minsu = discord.addPerson("민수");
 *
 *     await minsu.post(general, `${discord.mention(ruda)} 이것 확인해줘`);
 *
 * Loopback only; what is posted is kept until `stop`.
 */
export class FakeDiscord implements AsyncDisposable {
  /** For `rest.api` of discord.js: `http://127.0.0.1:PORT/api`. */
  readonly url: string;
  /** What can be done to the gateway itself. */
  readonly gateway: FakeGateway;
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #world: World;
  readonly #bots = new Bots();
  readonly #faults = new Faults();
  readonly #gateway: Gateway;
  readonly #rest: Rest;
  readonly #requests: LoggedRequest[] = [];
  readonly #watchers = new Set<() => void>();
  #stopped: Promise<void> | undefined;

  private constructor(server: Server, options: FakeDiscordOptions) {
    const { port } = server.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}`;
    const gatewayUrl = `ws://127.0.0.1:${port}/gateway`;
    const clock = options.clock ?? systemClock;
    this.#clock = clock;
    this.#server = server;
    this.url = `${origin}/api`;
    this.#world = new World(
      { clock, origin, nonceWindowMs: options.nonceWindowMs ?? 5 * 60_000 },
      (event) => this.#gateway.publish(event),
    );
    this.#gateway = new Gateway({
      clock,
      world: this.#world,
      bots: this.#bots,
      url: () => gatewayUrl,
      heartbeatIntervalMs: options.heartbeatIntervalMs ?? 41_250,
      maxConcurrency: options.maxConcurrency ?? 1,
      identifyWindowMs: options.identifyWindowMs ?? 5000,
      guildsAfterMs: options.guildsAfterMs ?? 0,
      sessionStarts: options.sessionStarts ?? { total: 1000, perMs: 86_400_000 },
      changed: () => this.#changed(),
    });
    this.gateway = new FakeGateway(this.#gateway, (bot) => this.#bot(bot));
    this.#rest = new Rest({
      clock,
      bots: this.#bots,
      faults: this.#faults,
      limiter: new RateLimiter(clock, { ...USUAL_RATE_LIMITS, ...options.rateLimits }),
      invalid: new InvalidRequests(clock, options.invalidRequests ?? USUAL_INVALID_LIMIT),
      context: {
        world: this.#world,
        gatewayUrl,
        sessionStarts: (bot) => this.#gateway.sessionStarts(bot),
        interactionWindowMs: options.interactionWindowMs ?? 3000,
        activeThreads: options.activeThreads ?? 1000,
      },
      log: (request) => this.#log(request),
    });
  }

  static async start(options: FakeDiscordOptions = {}): Promise<FakeDiscord> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const fake = new FakeDiscord(server, options);
    server.on("request", (request, response) => {
      const { attachments } = fake.#world;
      if (attachments.serves(request.url ?? "")) return attachments.handle(request, response);
      fake.#rest.handle(request, response).catch((error: unknown) => {
        // A defect of this double, not a fault that a test asked for: seen by the client as 500
        // with its text.
        if (!response.headersSent) response.writeHead(500, { "content-type": "application/json" });
        response.end(JSON.stringify({ message: `FakeDiscord: ${String(error)}`, code: 0 }));
      });
    });
    server.on("upgrade", (request, socket, head) => fake.#gateway.upgrade(request, socket, head));
    return fake;
  }

  /** Cuts every connection. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= new Promise((resolve) => {
      this.#gateway.stop();
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  // ── The stage
  // ────────────────────────────────────────────────────────────────────────

  addGuild(name = "두레"): FakeGuild {
    return this.#world.addGuild(name);
  }

  /** @param kind a forum holds threads alone; threads of announcements are of a type of their own */
  addChannel(
    guild: FakeGuild,
    name: string,
    kind: "text" | "announcement" | "forum" = "text",
  ): FakePlace {
    const channel = this.#world.addChannel(this.#guild(guild), name, kind);
    return { id: channel.id, name };
  }

  addBot(options: FakeBotOptions): FakeBot {
    const user = this.#world.addUser(options.name, { bot: true });
    this.#bots.add({
      user,
      token: options.token,
      messageContentIntent: options.messageContentIntent ?? true,
      memberAndPresenceIntents: options.memberAndPresenceIntents ?? false,
    });
    const guilds =
      options.guilds?.map((guild) => this.#guild(guild)) ?? this.#world.guilds.values();
    for (const guild of guilds) {
      this.#world.addMember(guild, user, bitsOf(options.permissions ?? USUAL_PERMISSIONS));
    }
    return { id: user.id, name: user.name, token: options.token };
  }

  /**
   * A person at the keyboard, in every guild that exists; unless `permissions` say less,
   * they may do anything there.
   */
  addPerson(
    name: string,
    options: {
      readonly permissions?: readonly FakePermission[];
      readonly roles?: readonly string[];
    } = {},
  ): FakePerson {
    const user = this.#world.addUser(name, { bot: false });
    const base = options.permissions === undefined ? ALL_PERMISSIONS : bitsOf(options.permissions);
    for (const guild of this.#world.guilds.values()) {
      this.#world.addMember(guild, user, base, options.roles);
    }
    return new FakePerson(user, this.#world, this.#clock, (place) => this.#place(place));
  }

  /** A mention as the platform writes it. */
  mention(user: { readonly id: string }): string {
    return `<@${user.id}>`;
  }

  /** A mention of the role that came with a bot, as the platform's picker often writes it. */
  mentionRole(bot: FakeBot): string {
    return `<@&${roleIdOf(this.#bot(bot).user)}>`;
  }

  /** The channel's overwrite for a bot, its role, or all members, in place of an earlier one. */
  setPermissions(
    whose: FakeBot | { readonly roleOf: FakeBot } | "everyone",
    channel: FakePlace,
    change: {
      readonly allow?: readonly FakePermission[];
      readonly deny?: readonly FakePermission[];
    },
  ): void {
    const place = this.#place(channel);
    const id =
      whose === "everyone"
        ? (place.guild?.id ?? "")
        : "roleOf" in whose
          ? roleIdOf(this.#bot(whose.roleOf).user)
          : whose.id;
    this.#world.setOverwrite(place, id, overwriteOf(change));
  }

  /** What the role @everyone gives to each member of a guild; in the beginning VIEW_CHANNEL. */
  setEveryone(guild: FakeGuild, permissions: readonly FakePermission[]): void {
    this.#world.setEveryone(this.#guild(guild), bitsOf(permissions));
  }

  /** Lets a bot in, as its invite link does. */
  inviteBot(
    bot: FakeBot,
    guild: FakeGuild,
    permissions: readonly FakePermission[] = USUAL_PERMISSIONS,
  ): void {
    this.#world.inviteMember(this.#guild(guild), this.#bot(bot).user, bitsOf(permissions));
  }

  kickBot(bot: FakeBot, guild: FakeGuild): void {
    this.#world.removeMember(this.#guild(guild), this.#bot(bot).user);
  }

  /**
   * While on, the platform has an outage in this guild: its bots are told so and hear nothing of
   * it, and requests are answered with 503.
   */
  setOutage(guild: FakeGuild, on: boolean): void {
    this.#world.setOutage(this.#guild(guild), on);
  }

  /** As if its owner had reset it: 401 over HTTP, 4004 at the gateway. */
  revokeToken(bot: FakeBot): void {
    this.#gateway.revoke(this.#bot(bot));
  }

  removeChannel(channel: FakePlace): void {
    this.#world.removeChannel(this.#place(channel));
  }

  deleteThread(thread: FakePlace): void {
    this.#world.threads.delete(this.#place(thread));
  }

  archiveThread(thread: FakePlace, options: { readonly locked?: boolean } = {}): void {
    const place = this.#place(thread);
    const owner = { id: place.thread?.ownerId ?? "", name: "", bot: false };
    this.#world.threads.modify(owner, place, { archived: true, locked: options.locked });
  }

  // ── What is to be seen
  // ────────────────────────────────────────────────────────────────────────

  /** What a place shows, oldest first. */
  messages(place: FakePlace): readonly FakeMessage[] {
    return [...this.#place(place).messages.values()].map(seen);
  }

  /** Files of messages: who asked for them, and how serving them goes wrong. */
  get files(): Attachments {
    return this.#world.attachments;
  }

  /** The threads of a channel, oldest first. */
  threads(channel: FakePlace): readonly FakeThread[] {
    return [...this.#world.places.values()].flatMap((place) => {
      const { thread } = place;
      if (thread === undefined || thread.parent.id !== channel.id) return [];
      const nameOf = (id: string): string => this.#world.users.get(id)?.name ?? id;
      return [
        {
          id: place.id,
          name: place.name,
          channel: { id: channel.id, name: channel.name },
          members: [...thread.members.keys()].map(nameOf),
          owner: nameOf(thread.ownerId),
          archived: thread.archived,
        },
      ];
    });
  }

  /** What was asked over HTTP, oldest first; the last 10,000. */
  get requests(): readonly LoggedRequest[] {
    return this.#requests;
  }

  isConnected(bot: FakeBot): boolean {
    return this.#gateway.isConnected(this.#bot(bot));
  }

  /** How often a bot has started a session; a resume is none. */
  sessionsStarted(bot: FakeBot): number {
    return this.#gateway.identifiesOf(this.#bot(bot));
  }

  /**
   * Waits until `condition` is true; it is asked again at everything that happens here. @throws
   * FAKE_DISCORD_WAITED after `timeoutMs` (5 s).
   */
  async waitFor<T>(
    what: string,
    condition: () => T | undefined | false,
    options: { readonly timeoutMs?: number } = {},
  ): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const look = (): void => {
      const value = condition();
      if (value !== undefined && value !== false) resolve(value);
    };
    this.#watchers.add(look);
    try {
      look();
      const timeoutMs = options.timeoutMs ?? 5000;
      return await within(promise, {
        clock: this.#clock,
        ms: timeoutMs,
        onTimeout: () => waitedInVain(what, timeoutMs, this.#requests),
      });
    } finally {
      this.#watchers.delete(look);
    }
  }

  // ── What goes wrong
  // ────────────────────────────────────────────────────────────────────────

  /** The next requests to a route fail in this way. */
  fault(target: FaultTarget, fault: FakeFault): ArmedFault {
    return this.#faults.arm(target, fault);
  }

  /**
   * Cuts a bot's gateway connection. Resumable: it gets what it missed; else it must start again
   * and has missed it.
   */
  dropGateway(bot: FakeBot, options: { readonly resumable: boolean }): void {
    this.#gateway.drop(this.#bot(bot), options);
  }

  /** While on, nothing that happens reaches this bot, now or by a resume. */
  loseGatewayEvents(bot: FakeBot, on: boolean): void {
    this.#gateway.lose(this.#bot(bot), on);
  }

  /** The next event for this bot comes twice. */
  duplicateNext(bot: FakeBot): void {
    this.#gateway.duplicateNext(this.#bot(bot));
  }

  // ── Steps
  // ────────────────────────────────────────────────────────────────────────

  #log(request: LoggedRequest): void {
    this.#requests.push(request);
    if (this.#requests.length > KEPT_REQUESTS) this.#requests.shift();
    this.#changed();
  }

  #changed(): void {
    for (const look of this.#watchers) look();
  }

  #guild(guild: FakeGuild): Guild {
    const found = this.#world.guilds.get(guild.id);
    if (found === undefined) throw missing("guild", guild);
    return found;
  }

  #place(place: FakePlace): FakeChannel {
    const found = this.#world.places.get(place.id);
    if (found === undefined) throw missing("channel or thread", place);
    return found;
  }

  #bot(bot: FakeBot): BotAccount {
    const found = this.#bots.get(bot.id);
    if (found === undefined) throw missing("bot", bot);
    return found;
  }
}

/** A person at the keyboard of a client. */
export class FakePerson {
  readonly id: string;
  readonly name: string;
  readonly #user: User;
  readonly #world: World;
  readonly #clock: Clock;
  readonly #place: (place: FakePlace) => FakeChannel;

  constructor(user: User, world: World, clock: Clock, place: (place: FakePlace) => FakeChannel) {
    this.id = user.id;
    this.name = user.name;
    this.#user = user;
    this.#world = world;
    this.#clock = clock;
    this.#place = place;
  }

  post(place: FakePlace, text: string, options: FakePostOptions = {}): FakeMessage {
    const missing = (options.mentions ?? [])
      .map(({ id }) => `<@${id}>`)
      .filter((mention) => !text.includes(mention));
    const files: FileFact[] = (options.attachments ?? []).map((file) => ({
      id: this.#world.snowflake(),
      filename: file.name,
      size: file.size ?? file.bytes?.length ?? 0,
      contentType: file.contentType,
      bytes: file.bytes,
    }));
    const draft = {
      content: [...missing, text].join(" "),
      message_reference: options.replyTo && { message_id: options.replyTo.id },
    };
    return seen(this.#world.messages.create(this.#user, this.#place(place), draft, files));
  }

  edit(message: { readonly id: string; readonly placeId: string }, text: string): FakeMessage {
    return seen(
      this.#world.messages.edit(this.#user, this.#message(message.placeId, message.id), {
        content: text,
      }),
    );
  }

  /** Needs to be the author, or to manage messages. */
  remove(message: { readonly id: string; readonly placeId: string }): void {
    this.#world.messages.delete(this.#user, this.#message(message.placeId, message.id));
  }

  /** Takes several messages of one place away at once; needs to manage messages. */
  removeAll(messages: readonly { readonly id: string; readonly placeId: string }[]): void {
    const [first, ...others] = messages.map(({ placeId, id }) => this.#message(placeId, id));
    if (first !== undefined) this.#world.messages.deleteAll(this.#user, [first, ...others]);
  }

  startThread(
    channel: FakePlace,
    name: string,
    options: {
      readonly from?: { readonly id: string };
      readonly isPrivate?: boolean;
      /** Of a post in a forum: its first message. Default: its name. */
      readonly text?: string;
    } = {},
  ): FakePlace {
    const place = this.#place(channel);
    const type = options.isPrivate === true ? 12 : place.kind === "announcement" ? 10 : 11;
    const from =
      options.from === undefined ? undefined : this.#message(channel.id, options.from.id);
    if (place.kind === "forum") {
      const message = { content: options.text ?? name };
      return this.#world.threads.startPost(this.#user, place, { name, message }).thread;
    }
    return this.#world.threads.start(this.#user, place, { name, type }, from);
  }

  /** The channel of this person and one bot. */
  directMessages(bot: FakeBot): FakePlace {
    const user = this.#world.users.get(bot.id);
    if (user === undefined) throw missing("bot", bot);
    return {
      id: this.#world.directChannel(this.#user, user).id,
      name: `${this.name}, ${bot.name}`,
    };
  }

  /**
   * Presses a button and resolves with what the person is shown. @throws FAKE_DISCORD_PRESS_FAILED:
   * "This interaction failed", after `timeoutMs` (5 s).
   */
  async press(
    button: FakeButton,
    options: { readonly timeoutMs?: number } = {},
  ): Promise<ShownAnswer> {
    const { promise, resolve } = Promise.withResolvers<ShownAnswer>();
    this.#world.interactions.press(
      this.#user,
      this.#message(button.placeId, button.messageId),
      button.value,
      resolve,
    );
    const failed = (): DureError =>
      new DureError(
        "FAKE_DISCORD_PRESS_FAILED",
        `This interaction failed: no bot answered the button "${button.label}".`,
      );
    const ms = options.timeoutMs ?? 5000;
    return within(promise, { clock: this.#clock, ms, onTimeout: failed });
  }

  /**
   * Gives a bot's slash command and resolves with what the person is shown. @throws
   * FAKE_DISCORD_PRESS_FAILED: "The application did not respond", after `timeoutMs` (5 s);
   * FAKE_DISCORD_UNKNOWN: the bot has no such command there.
   */
  async command(
    bot: FakeBot,
    place: FakePlace,
    sub: string,
    options: { readonly name?: string; readonly timeoutMs?: number } = {},
  ): Promise<ShownAnswer> {
    const { name = "dure", timeoutMs: ms = 5000 } = options;
    const user = this.#world.users.get(bot.id);
    const at = this.#place(place);
    const known = user && at.guild && this.#world.commands.find(user, at.guild.id, name);
    if (known?.options.every((option) => option.name !== sub) ?? true) {
      throw missing("command", { id: sub, name });
    }
    const { promise, resolve } = Promise.withResolvers<ShownAnswer>();
    this.#world.interactions.command(this.#user, at, { bot: user!, known: known!, sub }, resolve);
    const failed = (): DureError =>
      new DureError("FAKE_DISCORD_PRESS_FAILED", `The application did not respond to /${name}.`);
    return within(promise, { clock: this.#clock, ms, onTimeout: failed });
  }

  /** Sets an emoji below a message. */
  react(message: { readonly id: string; readonly placeId: string }, emoji: string): void {
    this.#world.messages.react(this.#user, this.#message(message.placeId, message.id), emoji);
  }

  /** Takes an own emoji away. */
  unreact(message: { readonly id: string; readonly placeId: string }, emoji: string): void {
    const found = this.#message(message.placeId, message.id);
    this.#world.messages.react(this.#user, found, emoji, "REMOVE");
  }

  #message(placeId: string, id: string): Message {
    const message = this.#place({ id: placeId, name: placeId }).messages.get(id);
    if (message === undefined) throw missing("message", { id, name: id });
    return message;
  }
}

function waitedInVain(
  what: string,
  timeoutMs: number,
  requests: readonly LoggedRequest[],
): DureError {
  const last = requests
    .slice(-5)
    .map(({ method, path, status, bot }) => `${bot ?? "?"} ${method} ${path} ${status}`);
  return new DureError(
    "FAKE_DISCORD_WAITED",
    `Waited ${timeoutMs} ms in vain for ${what}. The last requests: ${last.join("; ") || "none"}.`,
  );
}

function seen(message: Message): FakeMessage {
  const { place } = message;
  const rows = message.components as readonly {
    readonly components: readonly { readonly label?: string; readonly custom_id: string }[];
  }[];
  return {
    id: message.id,
    placeId: place.id,
    author: message.author.name,
    authorIsBot: message.author.bot,
    text: message.text,
    type: message.type,
    mentions: message.mentions.map(({ name }) => name),
    mentionsEveryone: message.mentionsEveryone,
    nonce: message.nonce === undefined ? undefined : String(message.nonce),
    replyTo: message.replyTo?.id,
    attachments: message.attachments.map(({ filename }) => filename),
    files: message.attachments.map(({ bytes }) => bytes ?? new Uint8Array()),
    buttons: rows
      .flatMap((row) => row.components)
      .map((button) => ({
        placeId: place.id,
        messageId: message.id,
        label: button.label ?? "",
        value: button.custom_id,
      })),
    reactions: [...message.reactions],
    edited: message.editedAt !== undefined,
    at: message.at,
  };
}

function missing(
  kind: string,
  { id, name }: { readonly id: string; readonly name: string },
): DureError {
  return new DureError("FAKE_DISCORD_UNKNOWN", `This Discord has no ${kind} ${name} (${id}).`);
}
