import type { Database } from "../durable/database.ts";
import type { Leases } from "../durable/leases.ts";
import type { Notifications } from "../durable/notify.ts";
import type { Outbox } from "../durable/outbox.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { Conversations } from "../engine/api.ts";
import type { Inbox } from "../escalations/inbox.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { ChannelAdapter } from "../rooms/channel-adapter.ts";
import { Directory, type RoomAgent, type RoomChannel } from "../rooms/directory.ts";
import { ROOM_LIMITS, type RoomLimits } from "../rooms/limits.ts";
import { Rooms } from "../rooms/rooms.ts";
import { WebAdapter } from "../rooms/web-adapter.ts";
import type { LoadedTeam, TeamConfig } from "./config.ts";
import type { Environment } from "./environment.ts";

/** Marks of `defineTeam`: `rooms: { adapters: [web(), discord()] }`. Files write `adapters: [web, discord]`. */
export function web(): { kind: "web" } {
  return { kind: "web" };
}

/** Discord; tokens stand in the environment as `DISCORD_TOKEN_<AGENT>`. Needs the package discord.js. */
export function discord(): { kind: "discord" } {
  return { kind: "discord" };
}

/** The rooms of a team, or undefined: a team without agents and without `rooms` has none. */
export async function openRooms(
  team: LoadedTeam,
  environment: Environment,
  parts: {
    database: Database;
    outbox: Outbox;
    notifications: Notifications;
    lease: ProcessLease;
    leases: Leases;
    conversations: Conversations;
    inbox: Inbox;
    locale: "ko" | "en";
    clock: Clock;
    logger: Logger;
  },
): Promise<Rooms | undefined> {
  const { config } = team;
  if (Object.keys(config.agents ?? {}).length === 0) {
    if (config.rooms) throw new DureError("ROOMS_WITHOUT_AGENTS", "The team has rooms and no agents.", { class: "input", hint: "Add agents: { … }, or remove rooms." });
    return undefined;
  }
  const adapters = await Promise.all(adapterNames(config).map((name) => openAdapter(name, config, environment, parts.database)));
  return new Rooms({
    ...parts,
    directory: directoryOf(config, environment),
    adapters,
    limits: roomLimits(config),
    allowBots: config.rooms?.allowBots ?? false,
    defaultChannel: config.rooms?.defaultChannel ?? Object.keys(channelsOf(config))[0]!,
  });
}

async function openAdapter(name: "web" | "discord", config: TeamConfig, environment: Environment, database: Database): Promise<ChannelAdapter> {
  if (name === "web") return new WebAdapter({ database });
  const { DiscordAdapter } = await loadDiscord();
  const channels = Object.values(channelsOf(config)).flatMap((channel) => channel.discord ?? []);
  return new DiscordAdapter({
    tokens: tokensOf(config, environment),
    channels,
    joinsThread: (place) => channels.includes(place.channel),
    ...(environment.discordApiUrl !== undefined && { apiUrl: environment.discordApiUrl }),
  });
}

/** Apart, for the compiler leaves the path of an import as it stands in some functions; and only teams on Discord load it. */
const loadDiscord = () => import("../discord/discord-adapter.ts");

function adapterNames(config: TeamConfig): readonly ("web" | "discord")[] {
  return [...new Set(config.rooms?.adapters ?? ["web" as const])];
}

function channelsOf(config: TeamConfig): NonNullable<NonNullable<TeamConfig["rooms"]>["channels"]> {
  const given = config.rooms?.channels ?? {};
  return Object.keys(given).length > 0 ? given : { general: {} };
}

/** By account. */
function tokensOf(config: TeamConfig, environment: Pick<Environment, "discordTokens">): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(config.agents ?? {}).flatMap(([id, agent]) => {
      const token = tokenOf(id, environment);
      return token === undefined ? [] : [[agent.accounts?.["discord"] ?? id, token]];
    }),
  );
}

/** Variables know only capitals and underscores: `DISCORD_TOKEN_NIGHT_OWL` is that of `night-owl`. */
function tokenOf(agent: string, environment: Pick<Environment, "discordTokens">): string | undefined {
  return environment.discordTokens[agent.toLowerCase().replaceAll("-", "_")];
}

export function directoryOf(config: TeamConfig, environment: Pick<Environment, "discordTokens">): Directory {
  const adapters = adapterNames(config);
  const agents = Object.entries(config.agents ?? {}).map(([id, agent]): RoomAgent => ({
    id,
    displayName: agent.displayName ?? id,
    service: agent.service ?? id,
    leads: agent.leads ?? false,
    ...(agent.channel !== undefined && { channel: agent.channel }),
    accounts: Object.fromEntries(adapters.filter((adapter) => adapter === "web" || tokenOf(id, environment) !== undefined).map((adapter) => [adapter, { id: agent.accounts?.[adapter] ?? id }])),
  }));
  const channels = Object.entries(channelsOf(config)).flatMap(([key, channel]) => {
    const wanted = channel.adapters ?? (["web", ...(channel.discord === undefined ? [] : ["discord" as const])] as const);
    return adapters
      .filter((adapter) => wanted.includes(adapter))
      .map((adapter): RoomChannel => ({
        key,
        adapter,
        name: channel.name ?? key,
        collaborate: channel.collaborate ?? true,
        ...(channel.defaultAgent !== undefined && { defaultAgent: channel.defaultAgent }),
        channel: adapter === "discord" ? channel.discord! : key,
      }));
  });
  return new Directory({ agents, channels });
}

function roomLimits(config: TeamConfig): RoomLimits {
  const { pair, thread, exchange, chainDepth } = config.limits ?? {};
  return {
    ...ROOM_LIMITS,
    ...(pair?.calls !== undefined && { pairCalls: pair.calls }),
    ...(pair?.per !== undefined && { pairPerMs: pair.per }),
    ...(thread?.messages !== undefined && { threadMessages: thread.messages }),
    ...(thread?.per !== undefined && { threadPerMs: thread.per }),
    ...(thread?.suspend !== undefined && { suspendMs: thread.suspend }),
    ...(exchange !== undefined && { exchangeMessages: exchange }),
    ...(chainDepth !== undefined && { chainDepth }),
  };
}
