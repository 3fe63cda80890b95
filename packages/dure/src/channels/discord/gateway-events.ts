/** The events of Discord's gateway, each passed on in its place. */

import type { ChannelAccount, ChannelPort, PlaceAddress } from "../../rooms/channel-adapter.ts";
import type { z } from "zod";
import type { AccountApi } from "./account-api.ts";
import type { BotRoles } from "./bot-roles.ts";
import type { GatewayEventType } from "./gateway-client.ts";
import type { Inbox } from "../inbox.ts";
import { toInbound, withBots } from "./mapping.ts";
import type { PlaceFinder } from "./place-finder.ts";
import { addressOf, isHidden, isThread, type KnownPlace, type PlaceDirectory } from "./places.ts";
import { registerCommand } from "./commands.ts";
import { Presses } from "./presses.ts";
import type { Servers } from "./servers.ts";
import type { Viewers } from "./viewers.ts";
import {
  guildForm,
  interactionForm,
  messageForm,
  messageGoneForm,
  messageUpdateForm,
  placeForm,
  reactionForm,
  roleCameForm,
  roleGoneForm,
  threadListForm,
  threadMembersForm,
  type WireGuild,
  type WireMessage,
  type WireMessageGone,
  type WireMessageUpdate,
  type WireReaction,
  type WirePlace,
  type WireRole,
} from "./wire-forms.ts";
import { ThreadEntry } from "./thread-entry.ts";

/** Source: "Gateway: Sharding": a bot without shards is in at most 2,500 servers. */
const MAX_SERVERS = 2500;

export interface GatewayEventsParts {
  readonly port: ChannelPort;
  readonly api: AccountApi;
  readonly places: PlaceDirectory;
  readonly finder: PlaceFinder;
  readonly roles: BotRoles;
  readonly inbox: Inbox;
  readonly servers: Servers;
  readonly viewers: Viewers;
  readonly joinsThread: (place: PlaceAddress, account: ChannelAccount) => boolean;
  /** With the platform's id, as soon as that is known. */
  readonly account: () => ChannelAccount;
  /** Aborts when nothing is heard any more. */
  readonly signal: () => AbortSignal;
  /** A server has come or is gone in a session that is complete. */
  readonly onServers: () => void;
  /** An event could not be understood. */
  readonly onLeftOut: (type: GatewayEventType, error: unknown) => void;
}

/**
 * What the gateway tells of places and messages, handed to the port in order
 * per place.
 */
export class GatewayEvents {
  readonly #port: ChannelPort;
  readonly #api: AccountApi;
  readonly #places: PlaceDirectory;
  readonly #roles: BotRoles;
  readonly #inbox: Inbox;
  readonly #servers: Servers;
  readonly #viewers: Viewers;
  readonly #presses: Presses;
  readonly #messages: MessageEvents;
  readonly #entry: ThreadEntry;
  readonly #account: () => ChannelAccount;
  readonly #signal: () => AbortSignal;
  readonly #onServers: () => void;
  readonly #onLeftOut: GatewayEventsParts["onLeftOut"];
  #application: string | undefined;
  /** Servers that know the command in this session. */
  readonly #commanded = new Set<string>();

  constructor(parts: GatewayEventsParts) {
    const { port, api, account, finder: places } = parts;
    this.#port = port;
    this.#api = api;
    this.#places = parts.places;
    this.#roles = parts.roles;
    this.#inbox = parts.inbox;
    this.#servers = parts.servers;
    this.#viewers = parts.viewers;
    this.#presses = new Presses({ account, port, api, places });
    this.#messages = new MessageEvents(parts);
    this.#entry = new ThreadEntry({
      ...parts,
      receive: (message, place) => this.#messages.receive(message, place),
    });
    this.#account = account;
    this.#signal = parts.signal;
    this.#onServers = parts.onServers;
    this.#onLeftOut = parts.onLeftOut;
  }

  /**
   * The allowlist is another one: the bot joins what is open in a channel that
   * is on it now, where it joins all.
   */
  channelsChanged(): void {
    for (const place of this.#places.unheard()) this.#entry.seen(place);
  }

  /** The bot was called to a thread. */
  join(address: PlaceAddress, name: string): void {
    this.#entry.join(address, name);
  }

  /** A new session: each of its servers is told the command once. */
  sessionStarted(application: string): void {
    this.#application = application;
    this.#commanded.clear();
  }

  #tellCommand(guild: string): void {
    const application = this.#application;
    if (application === undefined || this.#commanded.has(guild)) return;
    if (this.#commanded.size >= MAX_SERVERS) return;
    this.#commanded.add(guild);
    const parts = { api: this.#api, port: this.#port, account: this.#account().id };
    void registerCommand(parts, { application, guild, signal: this.#signal() });
  }

  /**
   * Never throws: an event of a form that we do not understand is told and
   * left out.
   */
  hear(type: GatewayEventType, data: unknown): void {
    try {
      this.#take(type, data);
    } catch (error) {
      this.#onLeftOut(type, error);
    }
  }

  #take(type: GatewayEventType, data: unknown): void {
    if (isOfGuild(type)) return this.#takeOfGuild(type, data);
    if (isOfMessage(type)) return this.#messages.take(type, data);
    switch (type) {
      case "CHANNEL_CREATE":
        return this.#channelCame(placeForm.parse(data));
      case "CHANNEL_UPDATE":
      case "THREAD_UPDATE":
        return this.#placeChanged(placeForm.parse(data));
      case "CHANNEL_DELETE":
        return this.#placeGone(placeForm.parse(data), "channel-removed");
      case "THREAD_DELETE":
        return this.#placeGone(placeForm.parse(data), "thread-deleted");
      case "THREAD_CREATE": {
        const thread = placeForm.parse(data);
        return this.#threadCame(thread, thread.guild_id);
      }
      case "THREAD_LIST_SYNC":
        return this.#threadsCame(threadListForm.parse(data));
      case "THREAD_MEMBERS_UPDATE":
        return this.#membersChanged(threadMembersForm.parse(data));
      case "MESSAGE_REACTION_ADD":
        return this.#reacted(reactionForm.parse(data), true);
      case "MESSAGE_REACTION_REMOVE":
        return this.#reacted(reactionForm.parse(data), false);
      case "INTERACTION_CREATE":
        void this.#presses.answer(interactionForm.parse(data), this.#signal());
        return;
      default:
        (type) satisfies never;
    }
  }

  #takeOfGuild(type: GatewayEventType & `GUILD_${string}`, data: unknown): void {
    switch (type) {
      case "GUILD_CREATE":
        return this.#guildCame(guildForm.parse(data));
      case "GUILD_DELETE":
        return this.#guildGone(guildForm.parse(data));
      case "GUILD_ROLE_CREATE":
        return this.#roles.learn([roleCameForm.parse(data).role]);
      case "GUILD_ROLE_UPDATE":
        return this.#roleChanged(roleCameForm.parse(data).role);
      case "GUILD_ROLE_DELETE":
        return this.#roles.forget(roleGoneForm.parse(data).role_id);
      default:
        (type) satisfies never;
    }
  }

  #reacted(reaction: WireReaction, isSet: boolean): void {
    if (isSet) void this.#presses.react(reaction, this.#signal());
    this.#messages.reacted(reaction, isSet);
  }

  /** May be the only event that tells where the bot is a member. */
  #threadsCame({ threads, members, guild_id }: z.output<typeof threadListForm>): void {
    const own = new Set(members.map(({ id }) => id));
    for (const thread of threads) {
      const member = thread.member ?? (own.has(thread.id) ? {} : undefined);
      this.#threadCame({ ...thread, member }, guild_id, { isListed: true });
    }
  }

  /** Others may put the bot into a thread, and take it out. */
  #membersChanged(change: z.output<typeof threadMembersForm>): void {
    const self = this.#account().platformId;
    if (self === undefined) return;
    if (change.removed_member_ids.includes(self)) this.#places.joined(change.id, false);
    if (!change.added_members.some(({ user_id }) => user_id === self)) return;
    const known = this.#places.get(change.id);
    this.#places.joined(change.id);
    if (known && known.joined !== true) this.#entry.wasPutIn(known.address, known.name);
  }

  #channelCame(channel: WirePlace): void {
    this.#places.learn(channel);
    if (this.#viewers.channelCame(channel)) this.#tellAudiences([channel.id]);
  }

  #roleChanged(role: WireRole): void {
    this.#roles.learn([role]);
    const changed = this.#viewers.roleChanged(role);
    this.#tellAudiences(changed);
  }

  /**
   * At once, also while a gap is read; and in the lane of each channel, so that what is said there
   * next is said to those who read it now.
   */
  #tellAudiences(channels: readonly string[]): void {
    if (channels.length > 0) void this.#viewers.audiences.tryToTell();
    for (const channel of channels) this.#inbox.push(channel, () => this.#viewers.audiences.tell());
  }

  #placeGone(place: WirePlace, kind: "channel-removed" | "thread-deleted"): void {
    this.#places.forget(place.id);
    this.#viewers.channelGone(place);
    this.#tell(addressOf(place), kind);
  }

  /**
   * Source: "Gateway Events: Guild Create": its inner payload may be an
   * unavailable guild.
   */
  #guildCame(guild: WireGuild): void {
    if (guild.unavailable === true) return this.#guildGone(guild);
    this.#servers.came(guild);
    this.#roles.learn(guild.roles);
    this.#tellCommand(guild.id);
    this.#viewers.serverCame(guild);
    this.#channelsCame(guild);
    for (const thread of guild.threads) this.#threadCame(thread, guild.id, { isListed: true });
    // It comes late after an outage of theirs, or for the first time: no event
    // told what was said there before.
    if (!this.#servers.isComplete) return;
    this.#onServers();
    this.#inbox.readGap();
  }

  /** Tells once of each channel that the bot may not view. */
  #channelsCame({ id: guild, channels }: WireGuild): void {
    const hidden = channels.filter((channel) => {
      const before = this.#places.learn(channel, guild);
      return isHidden(channel) && before?.isHidden !== true;
    });
    if (hidden.length === 0) return;
    // One entry for all: a server may have hundreds of them.
    this.#inbox.push(guild, async () => {
      for (const channel of hidden) {
        const place = addressOf(channel, guild);
        await this.#port.placeChanged(this.#account(), { kind: "access-lost", place });
      }
    });
  }

  /**
   * `unavailable`: an outage of theirs, the guild comes back, and nothing of it
   * is forgotten. Else the bot was removed. Source: "Gateway Events: Guild
   * Delete".
   */
  #guildGone(guild: WireGuild): void {
    if (guild.unavailable === true) this.#servers.lost(guild);
    else this.#servers.left(guild);
    if (this.#servers.isComplete) this.#onServers();
    if (guild.unavailable === true) return;
    for (const channel of this.#places.forgetGuild(guild.id)) this.#tell(channel, "access-lost");
  }

  #placeChanged(place: WirePlace): void {
    const before = this.#places.learn(place);
    const address = addressOf(place);
    if (this.#viewers.channelCame(place)) this.#tellAudiences([place.id]);
    if (isHidden(place)) {
      if (before?.isHidden !== true) this.#tell(address, "access-lost");
      return;
    }
    // What was said while it was hidden was told by no event.
    if (before?.isHidden === true) this.#inbox.readGap();
    if (isThread(place)) this.#threadChanged(place, before);
    const name = place.name ?? "";
    if (before !== undefined && before.name !== name) {
      this.#inbox.push(place.id, () =>
        this.#port.placeChanged(this.#account(), { kind: "renamed", place: address, name }),
      );
    }
  }

  #threadChanged(place: WirePlace, before: KnownPlace | undefined): void {
    const address = addressOf(place);
    const archived = place.thread_metadata?.archived === true;
    if (archived !== (before?.archived ?? !archived)) {
      this.#tell(address, archived ? "thread-archived" : "thread-opened");
    }
    // One that slept when it could have been joined is in use again.
    if (before?.archived === true && !archived && before.joined !== true) {
      this.#entry.seen({ address, name: place.name ?? "" });
    }
  }

  /**
   * A thread that is new, or new to this bot. `isListed`: it stands in a list of all, and what was
   * missed in it is read with everything else.
   */
  #threadCame(
    thread: WirePlace,
    guild: string | undefined,
    { isListed = false }: { isListed?: boolean } = {},
  ): void {
    const known = this.#places.learn(thread, guild);
    const address = addressOf(thread, guild);
    const { name = "", owner_id: owner } = thread;
    // The same event comes again when this bot has joined, and every active
    // thread with each new session.
    if (owner !== undefined && (known === undefined || thread.newly_created === true)) {
      this.#inbox.push(thread.id, () =>
        this.#port.placeChanged(this.#account(), {
          kind: "thread-created",
          place: address,
          name,
          owner,
        }),
      );
    }
    if (owner === this.#account().platformId) this.#places.joined(thread.id);
    else if (thread.member === undefined) this.#entry.seen({ address, name });
    else if (!isListed && known?.joined !== true) this.#entry.wasPutIn(address, name);
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
      this.#port.placeChanged(this.#account(), { kind, place }),
    );
  }
}

type MessageEventType = GatewayEventType &
  `MESSAGE_${"CREATE" | "UPDATE" | "DELETE" | "DELETE_BULK"}`;

type MessageParts = Pick<
  GatewayEventsParts,
  "port" | "finder" | "roles" | "inbox" | "account" | "signal"
>;

/** What is said, edited and deleted, each in the order of its place. */
class MessageEvents {
  readonly #parts: MessageParts;

  constructor(parts: MessageParts) {
    this.#parts = parts;
  }

  take(type: MessageEventType, data: unknown): void {
    if (type === "MESSAGE_CREATE") return this.#came(messageForm.parse(data));
    if (type === "MESSAGE_UPDATE") return this.#changed(messageUpdateForm.parse(data));
    this.#gone(messageGoneForm.parse(data));
  }

  async receive(message: WireMessage, place: KnownPlace): Promise<void> {
    const { port, roles, account } = this.#parts;
    const inbound = toInbound(message, place.address, {
      threadName: place.address.thread === undefined ? undefined : place.name,
      botOfRole: (role) => roles.botOf(role),
    });
    if (inbound !== undefined) await port.received(account(), inbound);
  }

  #came(message: WireMessage): void {
    this.#in(message, (place) => this.receive(message, place));
  }

  /**
   * Also comes when the platform adds a preview to a link: only what has been
   * edited is told.
   */
  #changed(message: WireMessageUpdate): void {
    const { id: platformId, content, edited_timestamp, mention_roles } = message;
    if (content === undefined || edited_timestamp === undefined) return;
    const { port, roles, account } = this.#parts;
    const text = withBots(content, mention_roles, (role) => roles.botOf(role));
    this.#in(message, ({ address }) =>
      port.edited(account(), { platformId, place: address, text }),
    );
  }

  #gone(gone: WireMessageGone): void {
    const { port, account } = this.#parts;
    const ids = gone.id === undefined ? gone.ids : [gone.id];
    this.#in(gone, async ({ address: place }) => {
      for (const platformId of ids) await port.deleted(account(), { platformId, place });
    });
  }

  /** Of a server's own emoji the name is told. */
  reacted({ user_id: person, emoji, member, ...reaction }: WireReaction, isSet: boolean): void {
    const { port, account } = this.#parts;
    const name = emoji.id === undefined ? emoji.name : `:${emoji.name}:`;
    if (name === undefined || member?.user?.bot === true) return;
    const platformId = reaction.message_id;
    this.#in(reaction, () => port.reacted(account(), { platformId, person, emoji: name, isSet }));
  }

  #in(
    told: { readonly channel_id: string; readonly guild_id?: string | undefined },
    work: (place: KnownPlace) => Promise<void>,
  ): void {
    const { inbox, finder, signal } = this.#parts;
    inbox.push(told.channel_id, async () => {
      const place = await finder.find(told, signal());
      if (place !== undefined) await work(place);
    });
  }
}

function isOfMessage(type: GatewayEventType): type is MessageEventType {
  return type.startsWith("MESSAGE_") && !type.startsWith("MESSAGE_REACTION_");
}

function isOfGuild(type: GatewayEventType): type is GatewayEventType & `GUILD_${string}` {
  return type.startsWith("GUILD_");
}
