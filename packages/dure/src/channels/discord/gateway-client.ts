import type { Client, ClientOptions } from "discord.js";
import type { CodedMessage } from "../../kernel/coded-message.ts";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { DiscordJs } from "./discord-js.ts";

/**
 * How a connection ended: dure stopped it, the platform does not accept the bot, or
 * something is in the way.
 */
export type ConnectionEnd =
  | { readonly end: "stopped" }
  | { readonly end: "refused"; readonly detail: string | CodedMessage }
  | { readonly end: "failed"; readonly detail: string };

export interface GatewayListener {
  /**
   * A new session begins: what arrives from now on is younger than what was missed. `guilds`: ids
   * of those that the bot is in.
   */
  readonly sessionStarted: (guilds: readonly string[]) => void;
  /** The session is complete; `selfId` is the bot's user id. */
  readonly ready: (selfId: string) => void;
  /** The old session goes on and everything missed has come. */
  readonly resumed: () => void;
  readonly reconnecting: () => void;
  /** An event as the platform sent it, by its name in the platform's documentation. */
  readonly event: (type: GatewayEventType, data: unknown) => void;
}

/** The events that this adapter listens to. Source: "Gateway Events: Receive Events". */
const GATEWAY_EVENTS = [
  "GUILD_CREATE",
  "GUILD_DELETE",
  "CHANNEL_CREATE",
  "CHANNEL_UPDATE",
  "CHANNEL_DELETE",
  "THREAD_CREATE",
  "THREAD_UPDATE",
  "THREAD_DELETE",
  "THREAD_LIST_SYNC",
  "MESSAGE_CREATE",
  "MESSAGE_UPDATE",
  "INTERACTION_CREATE",
] as const;
export type GatewayEventType = (typeof GATEWAY_EVENTS)[number];

export interface GatewayClientOptions {
  readonly discordJs: DiscordJs;
  readonly token: string;
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Waits until this bot may start a session. */
  readonly mayIdentify: (signal: AbortSignal) => Promise<void>;
  readonly listener: GatewayListener;
}

/** What an account tells of itself when its token is of no use. */
export const TOKEN_REFUSED: CodedMessage = {
  code: "token-refused",
  facts: {},
  message: "Discord does not accept the bot's token.",
};

/**
 * Close codes after which trying again is of no use. Source: "Opcodes and Status Codes: Gateway
 * Close Event Codes".
 */
const REFUSING_CODES: Readonly<Record<number, string | CodedMessage>> = {
  4004: TOKEN_REFUSED,
  4010: "Discord refused the shard (4010).",
  4011: "Discord demands sharding (4011): the bot is in too many servers for one connection.",
  4012: "Discord does not speak this version of its gateway any more (4012): update discord.js.",
  4013: "Discord refused the intents as invalid (4013).",
  4014: {
    code: "intent-refused",
    facts: {},
    message:
      'Discord refused the intents: switch on "Message Content Intent" in the developer portal, ' +
      "under Bot, Privileged Gateway Intents.",
  },
};

/** How long a goodbye may take, milliseconds. */
const GOODBYE_MS = 3000;

/**
 * One gateway connection of one bot, kept up by discord.js: heartbeats, resumes, new sessions.
 * Resolves when it has ended for good.
 *
 * The events are taken as the platform sent them, not from the caches of discord.js: a cache has
 * lost what it was not told of, and REST answers have the same form. So the caches are kept near
 * empty.
 */
export async function runGateway(
  options: GatewayClientOptions,
  signal: AbortSignal,
): Promise<ConnectionEnd> {
  signal.throwIfAborted();
  const { discordJs, clock, listener } = options;
  const { promise: ended, resolve: end } = Promise.withResolvers<ConnectionEnd>();
  const onAbort = (): void => end({ end: "stopped" });
  signal.addEventListener("abort", onAbort, { once: true });
  let over = false;
  const isLive = (): boolean => !over && !signal.aborted;

  const { client, freeze } = createClient(options, signal);
  const on = (event: string, listen: (data: never) => void): void => {
    client.ws.on(event as never, (data: unknown) => {
      if (isLive()) listen(data as never);
    });
  };
  on("READY", (data: { readonly guilds?: readonly { readonly id: string }[] }) =>
    listener.sessionStarted((data.guilds ?? []).map(({ id }) => id)),
  );
  for (const type of GATEWAY_EVENTS) on(type, (data) => listener.event(type, data));

  const { Events } = discordJs;
  client.on(Events.ShardReady, () => {
    if (isLive() && client.user !== null) listener.ready(client.user.id);
  });
  client.on(Events.ShardResume, () => {
    if (isLive()) listener.resumed();
  });
  client.on(Events.ShardReconnecting, () => {
    if (isLive()) listener.reconnecting();
  });
  client.on(Events.ShardDisconnect, ({ code }) => end(endOfClose(code)));
  client.on(Events.Error, () => {}); // an unheard "error" would end the process
  client.login(options.token).catch((error: unknown) => end(endOfLogin(error)));

  const result = await ended;
  over = true;
  signal.removeEventListener("abort", onAbort);
  freeze();
  await withTimeout(
    clock,
    GOODBYE_MS,
    () => new Error("no goodbye"),
    () => client.destroy(),
  ).catch(() => {});
  return result;
}

function endOfClose(code: number): ConnectionEnd {
  const refusal = REFUSING_CODES[code];
  return refusal === undefined
    ? { end: "failed", detail: `the gateway closed with ${code}` }
    : { end: "refused", detail: refusal };
}

function endOfLogin(error: unknown): ConnectionEnd {
  const { code, status } = error as { code?: unknown; status?: unknown };
  return code === "TokenInvalid" || status === 401
    ? { end: "refused", detail: TOKEN_REFUSED }
    : { end: "failed", detail: messageOf(error) };
}

function createClient(
  { discordJs, apiUrl, timeoutMs, mayIdentify }: GatewayClientOptions,
  signal: AbortSignal,
): { client: Client; freeze: () => void } {
  const { Client, GatewayIntentBits, Options, SimpleShardingStrategy } = discordJs;
  let frozen = false;
  const options: ClientOptions = {
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.MessageContent,
      GatewayIntentBits.DirectMessages,
    ],
    makeCache: Options.cacheWithLimits(CACHE_LIMITS),
    sweepers: Options.DefaultSweeperSettings, // archived threads, after 4 h
    waitGuildTimeout: 5000, // a guild that is not available need not delay the others
    rest: { ...(apiUrl === undefined ? {} : { api: apiUrl }), retries: 0, timeout: timeoutMs },
    ws: {
      buildIdentifyThrottler: () => ({
        waitForIdentify: (_shard, aborted) => mayIdentify(AbortSignal.any([aborted, signal])),
      }),
      buildStrategy: (manager) => {
        // A shard that is between two connections does not hear `destroy` and connects again half a
        // second later. It asks for its session first: when dure has stopped it, it waits
        // there for ever, with nothing open.
        const retrieve = manager.options.retrieveSessionInfo.bind(manager.options);
        manager.options.retrieveSessionInfo = (shard) =>
          frozen ? new Promise<never>(() => {}) : retrieve(shard);
        return new SimpleShardingStrategy(manager);
      },
    },
  };
  return {
    client: new Client(options),
    freeze: () => {
      frozen = true;
    },
  };
}

/**
 * Nothing is read from these caches; the bot itself must stay. The managers that are not named may
 * not be limited.
 */
const CACHE_LIMITS = {
  ApplicationCommandManager: 0,
  ApplicationEmojiManager: 0,
  AutoModerationRuleManager: 0,
  BaseGuildEmojiManager: 0,
  DMMessageManager: 0,
  EntitlementManager: 0,
  GuildBanManager: 0,
  GuildEmojiManager: 0,
  GuildInviteManager: 0,
  GuildMemberManager: { maxSize: 10, keepOverLimit: isSelf },
  GuildMessageManager: 0,
  GuildScheduledEventManager: 0,
  GuildStickerManager: 0,
  MessageManager: 0,
  PresenceManager: 0,
  ReactionManager: 0,
  ReactionUserManager: 0,
  StageInstanceManager: 0,
  ThreadMemberManager: 0,
  UserManager: { maxSize: 10, keepOverLimit: isSelf },
  VoiceStateManager: 0,
};

function isSelf(value: { readonly id: string; readonly client: Client }): boolean {
  return value.id === value.client.user?.id;
}
