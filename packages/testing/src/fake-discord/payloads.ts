import type {
  APIGuild,
  APIGuildMember,
  APIRole,
  APIThreadMember,
  APIUser,
} from "discord-api-types/v10";
import { PERMISSIONS } from "./permissions.ts";
import type { Guild, Interaction, Message, FakeChannel, User } from "./world-facts.ts";

/**
 * A type of the platform with numbers and texts in place of the enums of its package, which this double does
 * not load.
 */
type Plain<T> = {
  [K in keyof T]: T[K] extends number | undefined
    ? number
    : T[K] extends string | undefined
      ? string
      : T[K];
};

/** Members that the platform's OpenAPI description has and the package has not. */
type MoreMembers = Readonly<Record<string, unknown>>;

/** Whose eyes a payload is for. */
export interface PayloadView {
  readonly bot: User;
  /**
   * Whether this bot sees the text of messages that do not concern it. Source: "Gateway: Message
   * Content Intent".
   */
  readonly content: boolean;
}

/** Source: "Channel Object: Channel Types". */
export const KIND_NUMBERS = {
  text: 0,
  direct: 1,
  announcement: 5,
  "announcement-thread": 10,
  "public-thread": 11,
  "private-thread": 12,
  forum: 15,
} as const satisfies Record<FakeChannel["kind"], number>;

export function userPayload(user: User): object {
  return {
    id: user.id,
    username: user.name,
    discriminator: user.bot ? "0000" : "0",
    global_name: user.bot ? null : user.name,
    avatar: null,
    bot: user.bot,
    public_flags: 0,
    flags: 0,
    primary_guild: null,
  } satisfies Plain<APIUser>;
}

/** The member of an event of a reaction. */
export function reactingMember(
  user: User,
  { joinedAt, roles }: { readonly joinedAt: number; readonly roles: readonly string[] },
): object {
  return { ...memberPayload(joinedAt), roles, user: userPayload(user) };
}

function memberPayload(joinedAt: number): object {
  return {
    roles: [],
    joined_at: iso(joinedAt),
    deaf: false,
    mute: false,
    flags: 0,
    nick: null,
    avatar: null,
    banner: null,
    pending: false,
    communication_disabled_until: null,
    premium_since: null,
  } satisfies Plain<Omit<APIGuildMember, "user">>;
}

/** Source: "Channel Object", "Thread Metadata Object". */
export function placePayload(place: FakeChannel, view: PayloadView): object {
  const common = {
    id: place.id,
    type: KIND_NUMBERS[place.kind],
    last_message_id: place.lastMessageId ?? null,
    flags: 0,
  };

  if (place.kind === "direct") {
    return {
      ...common,
      name: null,
      recipients: place.recipients.filter(({ id }) => id !== view.bot.id).map(userPayload),
    };
  }

  const guildPart = { guild_id: place.guild?.id, name: place.name, rate_limit_per_user: 0 };
  const { thread } = place;

  if (thread === undefined) {
    return {
      ...common,
      ...guildPart,
      position: 0,
      parent_id: null,
      topic: null,
      nsfw: false,
      ...moreFactsOf(place),
      permission_overwrites: [...place.overwrites].map(([id, { allow, deny }]) => ({
        id,
        type: place.guild?.members.has(id) === true ? 1 : 0,
        allow: String(allow),
        deny: String(deny),
      })),
    };
  }

  const member = threadMemberPayload(place, view.bot.id);

  return {
    ...common,
    ...guildPart,
    parent_id: thread.parent.id,
    owner_id: thread.ownerId,
    message_count: place.messages.size,
    total_message_sent: place.messages.size,
    member_count: Math.min(50, thread.members.size),
    thread_metadata: {
      archived: thread.archived,
      locked: thread.locked,
      auto_archive_duration: thread.autoArchiveMinutes,
      archive_timestamp: iso(thread.archiveChangedAt),
      create_timestamp: iso(thread.createdAt),
      invitable: place.kind === "private-thread" ? true : undefined,
    },
    member,
  };
}

/** Source: "Channel Object: Channel Flags". */
const CHANNEL_OBFUSCATED = 1 << 17;

/**
 * A channel over the gateway: of one that the bot may not view only that it is there. Source:
 * "Channel Object: Obfuscated Channels", for all bots since 2026-11-16.
 */
export function channelPayload(place: FakeChannel, view: PayloadView, isSeen: boolean): object {
  const channel = placePayload(place, view);
  if (isSeen) return channel;

  return {
    ...channel,
    name: "___hidden___",
    topic: null,
    last_message_id: null,
    flags: CHANNEL_OBFUSCATED,
    permission_overwrites: [
      { id: place.guild?.id, type: 0, allow: "0", deny: String(PERMISSIONS.VIEW_CHANNEL) },
    ],
  };
}

/** What a forum has beside other channels. Source: "Channel Object", "Forum Tag Object". */
function moreFactsOf({ kind }: FakeChannel): object {
  if (kind !== "forum") return {};
  return {
    available_tags: [],
    default_reaction_emoji: null,
    default_sort_order: null,
    default_forum_layout: 0,
  };
}

/** Source: "Thread Member Object". */
export function threadMemberPayload(thread: FakeChannel, userId: string): object | undefined {
  const joinedAt = thread.thread?.members.get(userId);
  return joinedAt === undefined
    ? undefined
    : ({
        id: thread.id,
        user_id: userId,
        join_timestamp: iso(joinedAt),
        flags: 0,
      } satisfies Plain<APIThreadMember>);
}

/**
 * Source: "Message Object". The nonce is no part of it: only the answer to Create Message and
 * MESSAGE_CREATE carry it.
 */
export function messagePayload(message: Message, view: PayloadView, depth = 0): object {
  const { place, author } = message;
  const isShown = seesContent(message, view);
  const member = place.guild?.members.get(author.id);
  const reference = referenceOf(message);
  const replied = message.type === 19 && depth === 0;

  return {
    id: message.id,
    channel_id: place.id,
    type: message.type,
    author: userPayload(author),
    content: isShown ? message.text : "",
    timestamp: iso(message.at),
    edited_timestamp: message.editedAt === undefined ? null : iso(message.editedAt),
    tts: false,
    mention_everyone: message.mentionsEveryone,
    mentions: message.mentions.map(userPayload),
    mention_roles: [...message.mentionedRoles],
    attachments: isShown ? message.attachments.map((file) => filePayload(place, file)) : [],
    embeds: [],
    components: isShown ? message.components : [],
    pinned: false,
    flags: 0,
    guild_id: place.guild?.id,
    member: member && memberPayload(member.joinedAt),
    message_reference: reference,
    referenced_message: replied ? repliedPayload(message, view) : undefined,
  };
}

function seesContent({ author, place, mentions }: Message, { bot, content }: PayloadView): boolean {
  const concerns = author.id === bot.id || mentions.some(({ id }) => id === bot.id);
  return content || concerns || place.kind === "direct";
}

/** Source: "Message Reference". */
function referenceOf({ place, threadId, replyTo }: Message): object | undefined {
  const guild_id = place.guild?.id;
  if (threadId !== undefined) return { type: 0, channel_id: threadId, guild_id };
  if (replyTo === undefined) return undefined;

  return {
    type: 0,
    channel_id: place.id,
    message_id: replyTo.id,
    guild_id,
  };
}

/** Null when it was deleted. */
function repliedPayload({ place, replyTo }: Message, view: PayloadView): object | null {
  const isThere = replyTo !== undefined && place.messages.has(replyTo.id);
  return isThere ? messagePayload(replyTo, view, 1) : null;
}

function filePayload(place: FakeChannel, file: Message["attachments"][number]): object {
  const name = encodeURIComponent(file.filename);
  const url =
    file.url?.() ?? `https://cdn.example.invalid/attachments/${place.id}/${file.id}/${name}`;

  return {
    id: file.id,
    filename: file.filename,
    size: file.size,
    url,
    proxy_url: url,
    content_type: file.contentType,
  };
}

/**
 * Source: "Gateway Events: Guild Create". One role per bot stands for what was given to it;
 * @everyone gives nothing.
 */
export function guildPayload(
  guild: Guild,
  view: PayloadView,
  places: {
    readonly channels: readonly FakeChannel[];
    readonly threads: readonly FakeChannel[];
    readonly sees: (channel: FakeChannel) => boolean;
  },
): object {
  const own = guild.members.get(view.bot.id);
  return {
    ...guildFacts(guild),
    joined_at: iso(own?.joinedAt ?? 0),
    large: false,
    unavailable: false,
    member_count: guild.members.size,
    voice_states: [],
    members: [
      {
        user: userPayload(view.bot),
        ...memberPayload(own?.joinedAt ?? 0),
        roles: [roleIdOf(view.bot)],
      },
    ],
    channels: places.channels.map((channel) => channelPayload(channel, view, places.sees(channel))),
    threads: places.threads.map((thread) => placePayload(thread, view)),
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  };
}

/** Source: "Guild Object". */
export function guildFacts(guild: Guild): object {
  return {
    id: guild.id,
    name: guild.name,
    icon: null,
    splash: null,
    discovery_splash: null,
    owner_id: "1",
    region: null,
    afk_channel_id: null,
    afk_timeout: 300,
    verification_level: 0,
    default_message_notifications: 0,
    explicit_content_filter: 0,
    roles: rolesOf(guild),
    emojis: [],
    features: [],
    mfa_level: 0,
    application_id: null,
    system_channel_id: null,
    system_channel_flags: 0,
    rules_channel_id: null,
    vanity_url_code: null,
    description: null,
    banner: null,
    premium_tier: 0,
    preferred_locale: "ko",
    public_updates_channel_id: null,
    nsfw_level: 0,
    stickers: [],
    premium_progress_bar_enabled: false,
    safety_alerts_channel_id: null,
    incidents_data: null,
    max_members: 500_000,
    max_presences: null,
    max_video_channel_users: 25,
    max_stage_video_channel_users: 50,
    premium_subscription_count: 0,
    home_header: null,
    hub_type: null,
    latest_onboarding_question_id: null,
    widget_channel_id: null,
    widget_enabled: false,
    nsfw: false,
  } satisfies Plain<APIGuild> & MoreMembers;
}

/** Source: "Guild: Get Guild Member". */
export function ownMemberPayload(guild: Guild, bot: User): object {
  return {
    user: userPayload(bot),
    ...memberPayload(guild.members.get(bot.id)?.joinedAt ?? 0),
    roles: [roleIdOf(bot)],
  };
}

/** @everyone, and the role that came with each bot. Source: "Permissions: Role Object". */
export function rolesOf(guild: Guild) {
  const bots = [...guild.members.values()].filter(({ user }) => user.bot);
  return [everyoneRole(guild), ...bots.map(({ user, base }) => managedRole(user, base))];
}

/** Source: "Permissions: Role Object": the id of @everyone is its guild's. */
export function everyoneRole({ id, everyone }: Guild) {
  return {
    ...BARE_ROLE,
    id,
    name: "@everyone",
    position: 0,
    permissions: String(everyone),
    managed: false,
  } satisfies Plain<APIRole>;
}

/** Source: "Permissions: Role Object", "Role Tags Structure". */
export function managedRole(bot: User, base: bigint) {
  return {
    ...BARE_ROLE,
    id: roleIdOf(bot),
    name: bot.name,
    position: 1,
    permissions: String(base),
    managed: true,
    tags: { bot_id: bot.id },
  } satisfies Plain<APIRole>;
}

const BARE_ROLE = {
  color: 0,
  colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
  hoist: false,
  icon: null,
  unicode_emoji: null,
  mentionable: false,
  flags: 0,
};

/** The role that came with a bot; an id of its own, derived from the bot's. */
export function roleIdOf(bot: User): string {
  return String(BigInt(bot.id) + 1_000_000n);
}

/** Source: "Receiving and Responding: Interaction Object". */
export function interactionPayload(
  interaction: Interaction,
  view: PayloadView,
  permissions: { readonly app: bigint; readonly person: bigint },
): object {
  const { message, person, place, command } = interaction;
  const member = place.guild?.members.get(person.id);

  return {
    id: interaction.id,
    application_id: interaction.bot.id,
    type: command === undefined ? 3 : 2,
    version: 1,
    token: interaction.token,
    channel_id: place.id,
    channel: placePayload(place, view),
    message: message && messagePayload(message, view),
    data:
      command === undefined
        ? { component_type: 2, custom_id: interaction.customId, id: 1 }
        : {
            id: command.known.id,
            name: command.known.name,
            type: 1,
            guild_id: place.guild?.id,
            options: [{ name: command.sub, type: 1, options: [] }],
          },
    app_permissions: String(permissions.app),
    locale: "ko",
    entitlements: [],
    authorizing_integration_owners: {},
    attachment_size_limit: 10_485_760,
    ...(place.guild === undefined
      ? { user: userPayload(person), context: 1 }
      : {
          guild_id: place.guild.id,
          guild: { id: place.guild.id, locale: "ko", features: [] },
          context: 0,
          member: {
            ...memberPayload(member?.joinedAt ?? 0),
            roles: member?.roles ?? [],
            user: userPayload(person),
            permissions: String(permissions.person),
          },
        }),
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "+00:00");
}
