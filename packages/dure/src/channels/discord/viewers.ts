import type { ChannelAccount, ChannelPort } from "../../rooms/channel-adapter.ts";
import { Audiences } from "../audiences.ts";
import { permissionsOf, PERMISSIONS } from "./permissions.ts";
import { addressOf, isHidden, isThread } from "./places.ts";
import type { WireGuild, WirePlace, WireRole } from "./wire-forms.ts";

/** Servers whose @everyone is remembered; the oldest is forgotten. */
const KEPT_SERVERS = 2500;
/** Channels of one server that are remembered. A server has at most 500. */
const KEPT_CHANNELS = 1000;

interface Server {
  everyone: WireRole | undefined;
  readonly channels: Map<string, WirePlace>;
}

/**
 * Which channels all members of their server may view: @everyone has VIEW_CHANNEL there. A category's
 * overwrites stand in each of its channels as well. A channel that is hidden from the bot, or whose
 * overwrites are not understood, says nothing: others are told of it, or it counts as private. Source:
 * "Permissions: Permission Overwrites", "Role Object" (the id of @everyone is the server's).
 */
export class Viewers {
  readonly audiences: Audiences;
  readonly #servers = new Map<string, Server>();

  constructor(port: ChannelPort, account: () => ChannelAccount) {
    this.audiences = new Audiences(port, account);
  }

  serverCame({ id, roles, channels }: WireGuild): void {
    this.#servers.delete(id);
    const everyone = roles.find((role) => role.id === id);
    this.#servers.set(id, { everyone, channels: new Map() });
    const [oldest] = this.#servers.keys();
    if (this.#servers.size > KEPT_SERVERS && oldest !== undefined) this.#servers.delete(oldest);
    for (const channel of channels) this.channelCame(channel, id);
  }

  /** Whether this is news. */
  channelCame(channel: WirePlace, guild = channel.guild_id): boolean {
    const server = guild === undefined ? undefined : this.#servers.get(guild);
    if (!server || guild === undefined || isThread(channel) || isHidden(channel)) return false;
    if (server.channels.size < KEPT_CHANNELS) server.channels.set(channel.id, channel);
    return this.audiences.learn(addressOf(channel, guild), isOpen(channel, guild, server));
  }

  channelGone({ id, guild_id }: WirePlace): void {
    this.#servers.get(guild_id ?? "")?.channels.delete(id);
    this.audiences.forget(id);
  }

  /** Gives the channels whose audience is another one. @everyone's role decides: its id is the server's. */
  roleChanged(role: WireRole): readonly string[] {
    const server = this.#servers.get(role.id);
    if (!server) return [];
    server.everyone = role;
    return [...server.channels.values()]
      .filter((channel) => this.channelCame(channel, role.id))
      .map(({ id }) => id);
  }
}

/** Pure. */
function isOpen(channel: WirePlace, guild: string, { everyone }: Server): boolean {
  const overwrites = channel.permission_overwrites;
  if (everyone === undefined || overwrites === undefined) return false;
  const bits = permissionsOf({ guild, selfId: "", memberRoles: [], roles: [everyone], overwrites });
  return (bits & PERMISSIONS.VIEW_CHANNEL) !== 0n;
}
