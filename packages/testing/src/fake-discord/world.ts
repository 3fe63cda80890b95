import type { Clock } from "dure/client";
import { Attachments } from "./attachments.ts";
import { Interactions } from "./interactions.ts";
import { Messages } from "./messages.ts";
import {
  ALL_PERMISSIONS,
  bitsOf,
  PERMISSIONS,
  permissionsIn,
  type FakePermission,
  type Overwrite,
} from "./permissions.ts";
import {
  channelPayload,
  everyoneRole,
  guildPayload,
  managedRole,
  placePayload,
  roleIdOf,
  threadMemberPayload,
  type PayloadView,
} from "./payloads.ts";
import { REFUSALS } from "./refusal.ts";
import { Threads } from "./threads.ts";
import type {
  FakeChannel,
  Guild,
  WorldPlaceKind,
  ThreadState,
  User,
  WorldEvent,
  AppCommand,
} from "./world-facts.ts";

export interface WorldOptions {
  readonly clock: Clock;
  /** Where files are served: `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** How long the same nonce of an author gives the first message. */
  readonly nonceWindowMs: number;
}

/** The platform's epoch, the first second of 2015. Source: "API Reference: Snowflakes". */
const EPOCH = 1_420_070_400_000;

/**
 * What exists on the fake platform, and what its rules allow. Every verb either
 * happens wholly and is published, or throws a `Refusal`. It knows nothing of
 * HTTP and of connections.
 */
export class World {
  readonly clock: Clock;
  readonly guilds = new Map<string, Guild>();
  readonly users = new Map<string, User>();
  readonly places = new Map<string, FakeChannel>();
  readonly attachments: Attachments;
  readonly messages: Messages;
  readonly threads = new Threads(this);
  readonly interactions = new Interactions(this);
  readonly commands = new Commands(this);
  readonly publish: (event: WorldEvent) => void;
  #lastSnowflake = 0n;

  constructor(options: WorldOptions, publish: (event: WorldEvent) => void) {
    this.clock = options.clock;
    this.attachments = new Attachments(options);
    this.messages = new Messages(this, options);
    this.publish = publish;
  }

  /** Ids rise with time and carry it. Source: "API Reference: Snowflakes". */
  snowflake(): string {
    const now = BigInt(Math.floor(this.clock.now()) - EPOCH) << 22n;
    this.#lastSnowflake = now > this.#lastSnowflake ? now : this.#lastSnowflake + 1n;

    return this.#lastSnowflake.toString();
  }

  addUser(name: string, options: { bot: boolean }): User {
    const user: User = { id: this.snowflake(), name, bot: options.bot };
    this.users.set(user.id, user);

    return user;
  }

  addGuild(name: string): Guild {
    const guild: Guild = {
      id: this.snowflake(),
      name,
      members: new Map(),
      everyone: bitsOf(["VIEW_CHANNEL"]),
      isOut: false,
    };
    this.guilds.set(guild.id, guild);

    return guild;
  }

  addMember(guild: Guild, user: User, base: bigint, roles: readonly string[] = []): void {
    guild.members.set(user.id, { user, base, roles, joinedAt: this.clock.now() });
    if (user.bot) {
      this.#tellRole("GUILD_ROLE_CREATE", guild, user, { role: managedRole(user, base) });
    }
  }

  /** Source: "Gateway Events: Guild Role Create", "Guild Role Delete": a bot's role is its own. */
  #tellRole(type: string, guild: Guild, user: User, role: object): void {
    this.publish({
      type,
      intents: ["GUILDS"],
      reaches: (bot) => bot.id !== user.id && isTold(guild, bot),
      data: () => ({ guild_id: guild.id, ...role }),
    });
  }

  /** Source: "Gateway Events: Guild Role Update": told to each bot of the guild. */
  setEveryone(guild: Guild, bits: bigint): void {
    guild.everyone = bits;
    this.publish({
      type: "GUILD_ROLE_UPDATE",
      intents: ["GUILDS"],
      reaches: (bot) => isTold(guild, bot),
      data: () => ({ guild_id: guild.id, role: everyoneRole(guild) }),
    });
  }

  /** Source: "Gateway Events: Guild Create": also when the bot joins a guild. */
  inviteMember(guild: Guild, user: User, base: bigint): void {
    this.addMember(guild, user, base);
    this.publish({
      type: "GUILD_CREATE",
      intents: ["GUILDS"],
      reaches: (bot) => bot.id === user.id,
      data: (view) => guildPayload(guild, view, this.placesOf(guild, user)),
    });
  }

  /** Source: "Gateway Events: Guild Delete": no `unavailable` means that the bot was removed. */
  removeMember(guild: Guild, user: User): void {
    this.publish({
      type: "GUILD_DELETE",
      intents: ["GUILDS"],
      reaches: (bot) => bot.id === user.id,
      data: () => ({ id: guild.id }),
    });

    guild.members.delete(user.id);
    if (user.bot) this.#tellRole("GUILD_ROLE_DELETE", guild, user, { role_id: roleIdOf(user) });
    for (const place of this.places.values()) {
      if (place.guild === guild) place.thread?.members.delete(user.id);
    }
  }

  /**
   * An outage of the platform's own: its bots are told, and hear nothing of the guild until it is
   * back. What happens there meanwhile is not sent again. Source: "Gateway Events: Guild Delete"
   * (`unavailable`: "becomes or was already unavailable due to an outage") and "Guild Create"
   * ("when a guild becomes available again").
   */
  setOutage(guild: Guild, isOut: boolean): void {
    if (guild.isOut === isOut) return;

    guild.isOut = isOut;
    this.publish({
      type: isOut ? "GUILD_DELETE" : "GUILD_CREATE",
      intents: ["GUILDS"],
      reaches: (bot) => guild.members.has(bot.id),
      data: (view) =>
        isOut
          ? { id: guild.id, unavailable: true }
          : guildPayload(guild, view, this.placesOf(guild, view.bot)),
    });
  }

  addChannel(guild: Guild, name: string, kind: WorldPlaceKind = "text"): FakeChannel {
    const channel = this.addPlace({ id: this.snowflake(), kind, guild, name });
    this.publish({
      type: "CHANNEL_CREATE",
      intents: ["GUILDS"],
      reaches: (bot) => isTold(guild, bot),
      data: (view) => this.#channelPayload(channel, view),
    });

    return channel;
  }

  /**
   * Its threads go with it, without a word of their own. Source: "Gateway Events: Channel Delete".
   */
  removeChannel(channel: FakeChannel): void {
    this.places.delete(channel.id);
    for (const place of this.places.values()) {
      if (place.thread?.parent === channel) this.places.delete(place.id);
    }

    this.publish({
      type: "CHANNEL_DELETE",
      intents: ["GUILDS"],
      reaches: (bot) => isTold(channel.guild, bot),
      data: (view) => placePayload(channel, view),
    });
  }

  /**
   * Source: "Gateway Events: Channel Update", and "Thread List Sync" for who gains access. @param
   * whose a member, a role, or the guild itself for @everyone
   */
  setOverwrite(channel: FakeChannel, whose: string, overwrite: Overwrite): void {
    const { guild } = channel;
    if (guild === undefined) return;

    const bots = [...guild.members.values()].map(({ user }) => user).filter(({ bot }) => bot);
    const blind = bots.filter((user) => !this.can(user, channel, "VIEW_CHANNEL"));
    channel.overwrites.set(whose, overwrite);

    this.publish({
      type: "CHANNEL_UPDATE",
      intents: ["GUILDS"],
      reaches: (bot) => isTold(guild, bot),
      data: (view) => this.#channelPayload(channel, view),
    });

    for (const user of blind) {
      if (this.can(user, channel, "VIEW_CHANNEL")) this.#syncThreads(guild, channel, user);
    }
  }

  /** What a bot is told of a guild that comes. */
  placesOf(
    guild: Guild,
    bot: User,
  ): {
    channels: readonly FakeChannel[];
    threads: readonly FakeChannel[];
    sees: (channel: FakeChannel) => boolean;
  } {
    const channels = [...this.places.values()].filter(
      (place) => place.guild === guild && place.thread === undefined,
    );
    const sees = (channel: FakeChannel): boolean => this.can(bot, channel, "VIEW_CHANNEL");

    return { channels, threads: this.threads.active(bot, guild), sees };
  }

  #channelPayload(channel: FakeChannel, view: PayloadView): object {
    return channelPayload(channel, view, this.can(view.bot, channel, "VIEW_CHANNEL"));
  }

  #syncThreads(guild: Guild, channel: FakeChannel, user: User): void {
    this.publish({
      type: "THREAD_LIST_SYNC",
      intents: ["GUILDS"],
      reaches: (bot) => bot.id === user.id,
      data: (view) => {
        const threads = this.threads
          .active(user, guild)
          .filter((thread) => thread.thread?.parent === channel);
        return {
          guild_id: guild.id,
          channel_ids: [channel.id],
          threads: threads.map((thread) => placePayload(thread, view)),
          members: threads.flatMap((thread) => threadMemberPayload(thread, user.id) ?? []),
        };
      },
    });
  }

  directChannel(one: User, other: User): FakeChannel {
    for (const place of this.places.values()) {
      if (
        place.kind === "direct" &&
        place.recipients.includes(one) &&
        place.recipients.includes(other)
      ) {
        return place;
      }
    }

    return this.addPlace({
      id: this.snowflake(),
      kind: "direct",
      guild: undefined,
      name: "",
      recipients: [one, other],
    });
  }

  /** Source: "Permissions"; threads inherit their channel's ("Threads: Permissions"). */
  permissions(user: User, place: FakeChannel): bigint {
    if (place.kind === "direct") return place.recipients.includes(user) ? ALL_PERMISSIONS : 0n;

    const channel = place.thread?.parent ?? place;
    const member = place.guild?.members.get(user.id);
    if (member === undefined) return 0n;

    const roles = [...member.roles, ...(user.bot ? [roleIdOf(user)] : [])];

    const bits = permissionsIn(baseOf(member, place), channel.overwrites, {
      everyone: place.guild?.id ?? "",
      roles,
      member: user.id,
    });

    const isHidden =
      place.kind === "private-thread" &&
      place.thread?.members.has(user.id) !== true &&
      (bits & PERMISSIONS.MANAGE_THREADS) === 0n;

    return isHidden ? 0n : bits;
  }

  can(user: User, place: FakeChannel, permission: FakePermission): boolean {
    return (this.permissions(user, place) & PERMISSIONS[permission]) !== 0n;
  }

  /** A place that exists and that `user` may see: 10003 if not the one, 50001 if not the other. */
  visiblePlace(user: User, id: string | undefined): FakeChannel {
    const place = this.places.get(id ?? "");
    if (place === undefined) throw REFUSALS.unknownChannel();
    if (place.guild?.isOut === true) throw REFUSALS.unavailable();
    if (!this.can(user, place, "VIEW_CHANNEL")) throw REFUSALS.missingAccess();

    return place;
  }

  visibleGuild(user: User, id: string | undefined): Guild {
    const guild = this.guilds.get(id ?? "");
    if (guild === undefined) throw REFUSALS.unknownGuild();
    if (guild.isOut) throw REFUSALS.unavailable();
    if (!guild.members.has(user.id)) throw REFUSALS.missingAccess();

    return guild;
  }

  require(user: User, place: FakeChannel, permission: FakePermission): void {
    if (!this.can(user, place, permission)) throw REFUSALS.missingPermissions();
  }

  /**
   * A bot may write here, and show its typing sign. A person always may. Source: "Channel Types": a
   * forum holds threads alone; "JSON Error Codes": 50008.
   */
  requireWriting(user: User, place: FakeChannel): void {
    if (place.kind === "forum") throw REFUSALS.noTextChannel();
    if (!user.bot) return;

    const isThread = place.thread !== undefined;
    this.require(user, place, isThread ? "SEND_MESSAGES_IN_THREADS" : "SEND_MESSAGES");
  }

  addPlace(
    facts: Pick<FakeChannel, "id" | "kind" | "guild" | "name"> & {
      recipients?: readonly User[];
      thread?: ThreadState;
    },
  ): FakeChannel {
    const place: FakeChannel = {
      recipients: [],
      thread: undefined,
      ...facts,
      overwrites: new Map(),
      messages: new Map(),
      lastMessageId: undefined,
    };

    this.places.set(place.id, place);
    return place;
  }

  /** Whether a bot is told what happens in a place. */
  hears(bot: User, place: FakeChannel): boolean {
    return place.guild?.isOut !== true && this.can(bot, place, "VIEW_CHANNEL");
  }
}

/** What a member's roles give it: its own, and @everyone. */
function baseOf({ base }: { readonly base: bigint }, { guild }: FakeChannel): bigint {
  return base | (guild?.everyone ?? 0n);
}

/** What a member's overwrite says in names. */
export function overwriteOf(change: {
  readonly allow?: readonly FakePermission[];
  readonly deny?: readonly FakePermission[];
}): Overwrite {
  return { allow: bitsOf(change.allow ?? []), deny: bitsOf(change.deny ?? []) };
}

/** Whether a bot hears what changes in a guild. */
function isTold(guild: Guild | undefined, bot: User): boolean {
  return guild !== undefined && !guild.isOut && guild.members.has(bot.id);
}

// --- commands

/** Source: "Application Commands: Registering a Command": 100 slash commands of an app per guild. */
const MAX_COMMANDS = 100;

/** The commands that bots have made known, per guild and application. */
class Commands {
  readonly #world: World;
  readonly #known = new Map<string, AppCommand[]>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Source: "Application Commands: Create Guild Application Command": one of the same name is overwritten. */
  register(bot: User, guild: string, form: Omit<AppCommand, "id">): AppCommand {
    const known = this.#of(bot, guild);
    const at = known.findIndex(({ name }) => name === form.name);
    if (at < 0 && known.length >= MAX_COMMANDS) throw REFUSALS.tooManyCommands();
    const command = { ...form, id: known[at]?.id ?? this.#world.snowflake() };
    known.splice(at < 0 ? known.length : at, 1, command);
    return command;
  }

  find(bot: User, guild: string, name: string): AppCommand | undefined {
    return this.#of(bot, guild).find((command) => command.name === name);
  }

  #of(bot: User, guild: string): AppCommand[] {
    const key = `${bot.id}/${guild}`;
    const known = this.#known.get(key) ?? [];
    this.#known.set(key, known);
    return known;
  }
}
