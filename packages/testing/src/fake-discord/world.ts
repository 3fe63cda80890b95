import type { Clock } from "dure/client";
import {
  ALL_PERMISSIONS,
  bitsOf,
  PERMISSIONS,
  permissionsIn,
  type FakePermission,
  type Overwrite,
} from "./permissions.ts";
import {
  guildPayload,
  interactionPayload,
  messagePayload,
  placePayload,
  threadMemberPayload,
  type PayloadView,
} from "./payloads.ts";
import { REFUSALS } from "./refusal.ts";

export interface User {
  readonly id: string;
  readonly name: string;
  readonly bot: boolean;
}

export interface Guild {
  readonly id: string;
  readonly name: string;
  /** Base permissions of each member: what its roles give it. */
  readonly members: Map<
    string,
    { readonly base: bigint; readonly roles: readonly string[]; readonly joinedAt: number }
  >;
  /** The platform has an outage there. Source: "Guild: Unavailable Guild Object". */
  isOut: boolean;
}

export type PlaceKind = "text" | "direct" | "public-thread" | "private-thread";

/** A channel, a thread or a direct message channel: on this platform they share one kind of id. */
export interface FakeChannel {
  readonly id: string;
  readonly kind: PlaceKind;
  readonly guild: Guild | undefined;
  name: string;
  /** Per member, on top of its roles; of a thread those of its channel count. */
  readonly overwrites: Map<string, Overwrite>;
  /** Both ends of a direct message channel. */
  readonly recipients: readonly User[];
  readonly thread: ThreadState | undefined;
  readonly messages: Map<string, Message>;
  /** Stays when that message is deleted. Source: "Channel Object: last_message_id". */
  lastMessageId: string | undefined;
}

export interface ThreadState {
  readonly parent: FakeChannel;
  readonly ownerId: string;
  readonly createdAt: number;
  /** Who joined, and when: only they receive its messages. */
  readonly members: Map<string, number>;
  archived: boolean;
  locked: boolean;
  autoArchiveMinutes: number;
  /** When it was last archived or opened. */
  archiveChangedAt: number;
}

/**
 * 0: a message. 18: "a thread was created", said by the platform in the thread's channel. 19: a
 * reply.
 */
export type MessageType = 0 | 18 | 19;

export interface Message {
  readonly id: string;
  readonly place: FakeChannel;
  readonly author: User;
  readonly type: MessageType;
  readonly at: number;
  readonly nonce: string | number | undefined;
  readonly replyTo: Message | undefined;
  readonly attachments: readonly FileFact[];
  /** Of a message of type 18: the thread. */
  readonly threadId: string | undefined;
  text: string;
  editedAt: number | undefined;
  /** Whom it mentions after `allowed_mentions`, in the order of the text. */
  mentions: readonly User[];
  mentionsEveryone: boolean;
  components: readonly object[];
}

export interface FileFact {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly contentType: string | undefined;
}

export interface MessageDraft {
  readonly content?: string | null | undefined;
  readonly nonce?: string | number | undefined;
  readonly enforce_nonce?: boolean | undefined;
  readonly embeds?: readonly object[] | null | undefined;
  readonly allowed_mentions?: AllowedMentions | null | undefined;
  readonly message_reference?:
    | { readonly message_id: string; readonly fail_if_not_exists?: boolean | undefined }
    | undefined;
  readonly components?: readonly object[] | null | undefined;
}

export interface AllowedMentions {
  readonly parse?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly replied_user?: boolean | undefined;
}

export interface Interaction {
  readonly id: string;
  readonly token: string;
  readonly bot: User;
  readonly person: User;
  readonly message: Message;
  readonly customId: string;
  readonly createdAt: number;
  /** The type of the callback that it got. */
  answered: number | undefined;
  ephemeral: boolean;
  /** Tells the person's side what is shown; called once. */
  readonly show: (shown: ShownAnswer) => void;
}

export interface ShownAnswer {
  readonly text: string;
  /** Only the person who pressed sees it. */
  readonly ephemeral: boolean;
}

/**
 * Something for the gateway: who may know of it is decided per bot, what it contains per session.
 */
export interface WorldEvent {
  readonly type: string;
  /** One of these intents lets it through; empty: no intent is needed. */
  readonly intents: readonly ("GUILDS" | "GUILD_MESSAGES" | "DIRECT_MESSAGES")[];
  readonly reaches: (bot: User) => boolean;
  readonly data: (view: PayloadView) => object;
}

export interface WorldOptions {
  readonly clock: Clock;
  /** How long the same nonce of an author gives the first message. */
  readonly nonceWindowMs: number;
}

/** The platform's epoch, the first second of 2015. Source: "API Reference: Snowflakes". */
const EPOCH = 1_420_070_400_000;
/**
 * An interaction's token can be used for 15 minutes. Source: "Receiving and Responding: Followup
 * Messages".
 */
const INTERACTION_TOKEN_MS = 15 * 60_000;

/**
 * What exists on the fake platform, and what its rules allow. Every verb either happens wholly and
 * is published, or throws a `Refusal`. It knows nothing of HTTP and of connections.
 */
export class World {
  readonly clock: Clock;
  readonly guilds = new Map<string, Guild>();
  readonly users = new Map<string, User>();
  readonly places = new Map<string, FakeChannel>();
  readonly interactions = new Map<string, Interaction>();
  readonly #nonceWindowMs: number;
  readonly #nonces = new Map<string, { readonly message: Message; readonly at: number }>();
  readonly #publish: (event: WorldEvent) => void;
  #lastSnowflake = 0n;

  constructor(options: WorldOptions, publish: (event: WorldEvent) => void) {
    this.clock = options.clock;
    this.#nonceWindowMs = options.nonceWindowMs;
    this.#publish = publish;
  }

  /** Ids rise with time and carry it. Source: "API Reference: Snowflakes". */
  snowflake(): string {
    const now = BigInt(Math.floor(this.clock.now()) - EPOCH) << 22n;
    this.#lastSnowflake = now > this.#lastSnowflake ? now : this.#lastSnowflake + 1n;
    return this.#lastSnowflake.toString();
  }

  // ── People, guilds, channels
  // ────────────────────────────────────────────────────────────────────────

  addUser(name: string, options: { bot: boolean }): User {
    const user: User = { id: this.snowflake(), name, bot: options.bot };
    this.users.set(user.id, user);
    return user;
  }

  addGuild(name: string): Guild {
    const guild: Guild = { id: this.snowflake(), name, members: new Map(), isOut: false };
    this.guilds.set(guild.id, guild);
    return guild;
  }

  addMember(guild: Guild, user: User, base: bigint, roles: readonly string[] = []): void {
    guild.members.set(user.id, { base, roles, joinedAt: this.clock.now() });
  }

  /** Source: "Gateway Events: Guild Create": also when the bot joins a guild. */
  inviteMember(guild: Guild, user: User, base: bigint): void {
    this.addMember(guild, user, base);
    const channels = [...this.places.values()].filter(
      (place) => place.guild === guild && place.thread === undefined,
    );
    this.#publish({
      type: "GUILD_CREATE",
      intents: ["GUILDS"],
      reaches: (bot) => bot.id === user.id,
      data: (view) =>
        guildPayload(guild, view, { channels, threads: this.activeThreads(user, guild) }),
    });
  }

  /** Source: "Gateway Events: Guild Delete": no `unavailable` means that the bot was removed. */
  removeMember(guild: Guild, user: User): void {
    this.#publish({
      type: "GUILD_DELETE",
      intents: ["GUILDS"],
      reaches: (bot) => bot.id === user.id,
      data: () => ({ id: guild.id }),
    });
    guild.members.delete(user.id);
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
    const channels = [...this.places.values()].filter(
      (place) => place.guild === guild && place.thread === undefined,
    );
    this.#publish({
      type: isOut ? "GUILD_DELETE" : "GUILD_CREATE",
      intents: ["GUILDS"],
      reaches: (bot) => guild.members.has(bot.id),
      data: (view) =>
        isOut
          ? { id: guild.id, unavailable: true }
          : guildPayload(guild, view, { channels, threads: this.activeThreads(view.bot, guild) }),
    });
  }

  addChannel(guild: Guild, name: string): FakeChannel {
    const channel = this.#addPlace({ id: this.snowflake(), kind: "text", guild, name });
    this.#publish({
      type: "CHANNEL_CREATE",
      intents: ["GUILDS"],
      reaches: (bot) => isTold(guild, bot),
      data: (view) => placePayload(channel, view),
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
    this.#publish({
      type: "CHANNEL_DELETE",
      intents: ["GUILDS"],
      reaches: (bot) => isTold(channel.guild, bot),
      data: (view) => placePayload(channel, view),
    });
  }

  /** Source: "Gateway Events: Channel Update", and "Thread List Sync" for who gains access. */
  setOverwrite(channel: FakeChannel, user: User, overwrite: Overwrite): void {
    const couldView = this.can(user, channel, "VIEW_CHANNEL");
    channel.overwrites.set(user.id, overwrite);
    const guild = channel.guild;
    if (guild === undefined) return;
    this.#publish({
      type: "CHANNEL_UPDATE",
      intents: ["GUILDS"],
      reaches: (bot) => isTold(guild, bot),
      data: (view) => placePayload(channel, view),
    });
    if (couldView || !this.can(user, channel, "VIEW_CHANNEL")) return;
    this.#publish({
      type: "THREAD_LIST_SYNC",
      intents: ["GUILDS"],
      reaches: (bot) => bot.id === user.id,
      data: (view) => {
        const threads = this.activeThreads(user, guild).filter(
          (thread) => thread.thread?.parent === channel,
        );
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
    return this.#addPlace({
      id: this.snowflake(),
      kind: "direct",
      guild: undefined,
      name: "",
      recipients: [one, other],
    });
  }

  // ── Permissions
  // ────────────────────────────────────────────────────────────────────────

  /** Source: "Permissions"; threads inherit their channel's ("Threads: Permissions"). */
  permissions(user: User, place: FakeChannel): bigint {
    if (place.kind === "direct") return place.recipients.includes(user) ? ALL_PERMISSIONS : 0n;
    const channel = place.thread?.parent ?? place;
    const member = place.guild?.members.get(user.id);
    if (member === undefined) return 0n;
    const bits = permissionsIn(member.base, channel.overwrites.get(user.id));
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

  // ── Messages
  // ────────────────────────────────────────────────────────────────────────

  /** Source: "Message: Create Message". */
  createMessage(
    author: User,
    place: FakeChannel,
    draft: MessageDraft,
    files: readonly FileFact[] = [],
  ): Message {
    if (author.bot) {
      this.require(
        author,
        place,
        place.thread === undefined ? "SEND_MESSAGES" : "SEND_MESSAGES_IN_THREADS",
      );
    }
    const text = draft.content ?? "";
    // Source: "Create Message": one of content, embeds, sticker_ids, components, files or poll is
    // required.
    if (text.trim() === "" && files.length === 0 && (draft.embeds?.length ?? 0) === 0) {
      throw REFUSALS.emptyMessage();
    }

    const earlier = this.#sameNonce(author, draft);
    if (earlier !== undefined) return earlier;

    const replyTo = this.#reference(place, draft);
    this.#openForWriting(author, place);
    const message: Message = {
      id: this.snowflake(),
      place,
      author,
      type: replyTo === undefined ? 0 : 19,
      at: this.clock.now(),
      nonce: draft.nonce,
      replyTo,
      attachments: files,
      threadId: undefined,
      text,
      editedAt: undefined,
      ...this.#mentionsOf(author, place, text, draft.allowed_mentions ?? undefined, replyTo),
      components: draft.components ?? [],
    };
    if (draft.nonce !== undefined) {
      this.#nonces.set(nonceKey(author, draft.nonce), { message, at: message.at });
    }
    if (place.thread !== undefined) {
      // Source: "Threads": who writes in a thread joins it, and so does a member who is mentioned
      // there.
      this.joinThread(author, place);
      for (const user of message.mentions) {
        if (this.can(user, place.thread.parent, "VIEW_CHANNEL")) this.joinThread(user, place);
      }
    }
    this.#add(message);
    return message;
  }

  /** Source: "Message: Edit Message". */
  editMessage(
    author: User,
    message: Message,
    change: Pick<MessageDraft, "content" | "components" | "allowed_mentions">,
  ): Message {
    if (message.author !== author) throw REFUSALS.notTheAuthor();
    const text = change.content === undefined ? message.text : (change.content ?? "");
    if (text.trim() === "" && message.attachments.length === 0) throw REFUSALS.emptyMessage();
    message.text = text;
    message.editedAt = this.clock.now();
    if (change.components !== undefined) message.components = change.components ?? [];
    const { mentions, mentionsEveryone } = this.#mentionsOf(
      author,
      message.place,
      text,
      change.allowed_mentions ?? undefined,
      message.replyTo,
    );
    message.mentions = mentions;
    message.mentionsEveryone = mentionsEveryone;
    this.#publishMessage("MESSAGE_UPDATE", message, (view) => messagePayload(message, view));
    return message;
  }

  deleteMessage(actor: User, message: Message): void {
    if (message.author !== actor) this.require(actor, message.place, "MANAGE_MESSAGES");
    message.place.messages.delete(message.id);
    this.#publishMessage("MESSAGE_DELETE", message, () => ({
      id: message.id,
      channel_id: message.place.id,
      ...(message.place.guild === undefined ? {} : { guild_id: message.place.guild.id }),
    }));
  }

  /**
   * Newest first. Without READ_MESSAGE_HISTORY the list is empty, which is no error. Source:
   * "Channel: Get Channel Messages". With `after` it is the page that follows that id at once.
   */
  listMessages(
    reader: User,
    place: FakeChannel,
    {
      limit,
      before,
      after,
      around,
    }: {
      limit: number;
      before?: string | undefined;
      after?: string | undefined;
      around?: string | undefined;
    },
  ): readonly Message[] {
    if (!this.can(reader, place, "READ_MESSAGE_HISTORY")) return [];
    const all = [...place.messages.values()];
    const page = ((): Message[] => {
      if (after !== undefined) {
        return all.filter(({ id }) => BigInt(id) > BigInt(after)).slice(0, limit);
      }
      if (before !== undefined) {
        return all.filter(({ id }) => BigInt(id) < BigInt(before)).slice(-limit);
      }
      if (around === undefined) return all.slice(-limit);
      const index = all.findIndex(({ id }) => BigInt(id) >= BigInt(around));
      const from = Math.max(0, (index < 0 ? all.length : index) - Math.floor(limit / 2));
      return all.slice(from, from + limit);
    })();
    return page.toReversed();
  }

  visibleMessage(reader: User, place: FakeChannel, id: string | undefined): Message {
    this.require(reader, place, "READ_MESSAGE_HISTORY");
    const message = place.messages.get(id ?? "");
    if (message === undefined) throw REFUSALS.unknownMessage();
    return message;
  }

  // ── Threads
  // ────────────────────────────────────────────────────────────────────────

  /**
   * Source: "Channel: Start Thread from Message" (its id is the message's), "Start Thread without
   * Message" (a message of type 18 tells of it in the channel; without a type the thread is
   * private).
   */
  startThread(
    owner: User,
    channel: FakeChannel,
    form: { name: string; type?: 11 | 12 | undefined; auto_archive_duration?: number | undefined },
    message?: Message,
  ): FakeChannel {
    if (channel.kind !== "text") throw REFUSALS.wrongChannelType();
    const isPublic = message !== undefined || form.type === 11;
    this.require(owner, channel, isPublic ? "CREATE_PUBLIC_THREADS" : "CREATE_PRIVATE_THREADS");
    if (message !== undefined && this.places.has(message.id)) throw REFUSALS.threadExists();
    const now = this.clock.now();
    const thread = this.#addPlace({
      id: message?.id ?? this.snowflake(),
      kind: isPublic ? "public-thread" : "private-thread",
      guild: channel.guild,
      name: form.name,
      thread: {
        parent: channel,
        ownerId: owner.id,
        createdAt: now,
        members: new Map([[owner.id, now]]),
        archived: false,
        locked: false,
        autoArchiveMinutes: form.auto_archive_duration ?? 4320,
        archiveChangedAt: now,
      },
    });
    this.#publish({
      type: "THREAD_CREATE",
      intents: ["GUILDS"],
      // Source: "Gateway Events: Thread Create"; "Threads: Gateway Events": every bot that can view
      // the channel learns of it.
      reaches: (bot) => this.can(bot, thread, "VIEW_CHANNEL"),
      data: (view) => ({ ...placePayload(thread, view), newly_created: true }),
    });
    if (message === undefined && isPublic) {
      this.#add({
        id: this.snowflake(),
        place: channel,
        author: owner,
        type: 18,
        at: now,
        nonce: undefined,
        replyTo: undefined,
        attachments: [],
        threadId: thread.id,
        text: form.name,
        editedAt: undefined,
        mentions: [],
        mentionsEveryone: false,
        components: [],
      });
    }
    return thread;
  }

  /**
   * Source: "Channel: Modify Channel" of a thread: archiving and naming are its owner's or need
   * MANAGE_THREADS.
   */
  modifyThread(
    actor: User,
    thread: FakeChannel,
    change: {
      name?: string | undefined;
      archived?: boolean | undefined;
      locked?: boolean | undefined;
      auto_archive_duration?: number | undefined;
    },
  ): FakeChannel {
    const state = thread.thread;
    if (state === undefined) throw REFUSALS.wrongChannelType();
    if (actor.bot && actor.id !== state.ownerId) this.require(actor, thread, "MANAGE_THREADS");
    if (change.locked !== undefined && actor.bot) this.require(actor, thread, "MANAGE_THREADS");
    if (change.archived !== undefined && change.archived !== state.archived) {
      state.archived = change.archived;
      state.archiveChangedAt = this.clock.now();
    } else if (state.archived && change.archived !== false) {
      throw REFUSALS.archivedThread();
    }
    state.locked = change.locked ?? state.locked;
    state.autoArchiveMinutes = change.auto_archive_duration ?? state.autoArchiveMinutes;
    thread.name = change.name ?? thread.name;
    this.#publishThread("THREAD_UPDATE", thread, (view) => placePayload(thread, view));
    return thread;
  }

  /**
   * Source: "Channel: Delete/Close Channel": a thread needs MANAGE_THREADS; the event has no more
   * than ids.
   */
  deleteThread(thread: FakeChannel): void {
    const { id, guild } = thread;
    const parent = thread.thread?.parent;
    this.#publishThread("THREAD_DELETE", thread, () => ({
      id,
      guild_id: guild?.id,
      parent_id: parent?.id,
      type: thread.kind === "public-thread" ? 11 : 12,
    }));
    this.places.delete(id);
  }

  /**
   * Source: "Channel: Join Thread", "Gateway Events: Thread Members Update" and "Thread Create"
   * (when the current user is added).
   */
  joinThread(user: User, thread: FakeChannel): void {
    const state = thread.thread;
    if (state === undefined) throw REFUSALS.wrongChannelType();
    if (state.members.has(user.id)) return;
    state.members.set(user.id, this.clock.now());
    const isThey = (bot: User): boolean => bot.id === user.id;
    this.#publish({
      type: "THREAD_CREATE",
      intents: ["GUILDS"],
      reaches: isThey,
      data: (view) => placePayload(thread, view),
    });
    this.#publish({
      type: "THREAD_MEMBERS_UPDATE",
      intents: ["GUILDS"],
      reaches: isThey,
      data: () => ({
        id: thread.id,
        guild_id: thread.guild?.id,
        member_count: state.members.size,
        added_members: [threadMemberPayload(thread, user.id)],
      }),
    });
  }

  leaveThread(user: User, thread: FakeChannel): void {
    thread.thread?.members.delete(user.id);
    this.#publish({
      type: "THREAD_MEMBERS_UPDATE",
      intents: ["GUILDS"],
      reaches: (bot) => bot.id === user.id,
      data: () => ({
        id: thread.id,
        guild_id: thread.guild?.id,
        member_count: thread.thread?.members.size ?? 0,
        removed_member_ids: [user.id],
      }),
    });
  }

  activeThreads(user: User, guild: Guild): FakeChannel[] {
    return [...this.places.values()].filter(
      (place) =>
        place.guild === guild &&
        place.thread !== undefined &&
        !place.thread.archived &&
        this.can(user, place, "VIEW_CHANNEL"),
    );
  }

  /**
   * Newest archived first. Source: "Channel: List Public Archived Threads" (needs
   * READ_MESSAGE_HISTORY).
   */
  archivedThreads(
    user: User,
    channel: FakeChannel,
    { limit, before }: { limit: number; before?: string | undefined },
  ): { threads: FakeChannel[]; hasMore: boolean } {
    this.require(user, channel, "READ_MESSAGE_HISTORY");
    const limitTime = before === undefined ? Infinity : Date.parse(before);
    const all = [...this.places.values()]
      .filter(
        (place) =>
          place.kind === "public-thread" &&
          place.thread?.parent === channel &&
          place.thread.archived,
      )
      .filter((place) => archivedAt(place) < limitTime)
      .sort((one, other) => archivedAt(other) - archivedAt(one));
    return { threads: all.slice(0, limit), hasMore: all.length > limit };
  }

  typing(user: User, place: FakeChannel): void {
    this.require(
      user,
      place,
      place.thread === undefined ? "SEND_MESSAGES" : "SEND_MESSAGES_IN_THREADS",
    );
  }

  // ── Interactions
  // ────────────────────────────────────────────────────────────────────────

  /**
   * A person presses a button: only the bot that posted it learns of it. Source: "Gateway Events:
   * Interaction Create".
   */
  press(
    person: User,
    message: Message,
    customId: string,
    show: (shown: ShownAnswer) => void,
  ): Interaction {
    const interaction: Interaction = {
      id: this.snowflake(),
      token: `interaction-${this.snowflake()}`,
      bot: message.author,
      person,
      message,
      customId,
      createdAt: this.clock.now(),
      answered: undefined,
      ephemeral: false,
      show,
    };
    for (const [id, old] of this.interactions) {
      if (interaction.createdAt - old.createdAt > INTERACTION_TOKEN_MS) {
        this.interactions.delete(id);
      }
    }
    this.interactions.set(interaction.id, interaction);
    this.#publish({
      type: "INTERACTION_CREATE",
      intents: [],
      reaches: (bot) => bot === message.author,
      data: (view) =>
        interactionPayload(interaction, view, {
          app: this.permissions(message.author, message.place),
          person: this.permissions(person, message.place),
        }),
    });
    return interaction;
  }

  /**
   * Source: "Receiving and Responding: Create Interaction Response": within `windowMs`, and only
   * once.
   */
  answerInteraction(
    interaction: Interaction,
    type: number,
    data: MessageDraft & { flags?: number | undefined },
    windowMs: number,
  ): void {
    if (this.clock.now() - interaction.createdAt > windowMs) throw REFUSALS.unknownInteraction();
    if (interaction.answered !== undefined) throw REFUSALS.alreadyAcknowledged();
    if (type === 4 && (data.content ?? "").trim() === "" && (data.embeds?.length ?? 0) === 0) {
      throw REFUSALS.emptyMessage();
    }
    interaction.answered = type;
    interaction.ephemeral = ((data.flags ?? 0) & 64) !== 0;
    if (type === 4) this.#showAnswer(interaction, data);
    if (type === 7) {
      this.editMessage(interaction.bot, interaction.message, data);
      interaction.show({ text: interaction.message.text, ephemeral: false });
    }
    if (type === 6) interaction.show({ text: "", ephemeral: true });
  }

  /** Source: "Receiving and Responding: Edit Original Interaction Response". */
  editAnswer(interaction: Interaction, data: MessageDraft): void {
    if (
      interaction.answered === undefined ||
      this.clock.now() - interaction.createdAt > INTERACTION_TOKEN_MS
    ) {
      throw REFUSALS.unknownWebhook();
    }
    if (interaction.answered === 4 || interaction.answered === 5) {
      this.#showAnswer(interaction, data);
    } else this.editMessage(interaction.bot, interaction.message, data);
  }

  #showAnswer(interaction: Interaction, data: MessageDraft): void {
    if (!interaction.ephemeral) {
      this.createMessage(interaction.bot, interaction.message.place, data);
    }
    interaction.show({ text: data.content ?? "", ephemeral: interaction.ephemeral });
  }

  // ── Steps
  // ────────────────────────────────────────────────────────────────────────

  #addPlace(
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

  #add(message: Message): void {
    message.place.messages.set(message.id, message);
    message.place.lastMessageId = message.id;
    this.#publishMessage("MESSAGE_CREATE", message, (view) => ({
      ...messagePayload(message, view),
      ...(message.nonce === undefined ? {} : { nonce: message.nonce }),
    }));
  }

  /**
   * The first message of this author with this nonce, if it is young enough. Source: "Message:
   * Create Message", `enforce_nonce`: "will be checked for uniqueness in the past few minutes. If
   * another message was created by the same author with the same nonce, that message will be
   * returned and no new message will be created."
   */
  #sameNonce(author: User, draft: MessageDraft): Message | undefined {
    const now = this.clock.now();
    for (const [key, { at }] of this.#nonces) {
      if (now - at <= this.#nonceWindowMs) break;
      this.#nonces.delete(key);
    }
    if (draft.nonce === undefined || draft.enforce_nonce !== true) return undefined;
    const earlier = this.#nonces.get(nonceKey(author, draft.nonce));
    return earlier !== undefined && now - earlier.at <= this.#nonceWindowMs
      ? earlier.message
      : undefined;
  }

  #reference(place: FakeChannel, draft: MessageDraft): Message | undefined {
    const reference = draft.message_reference;
    if (reference === undefined) return undefined;
    const message = place.messages.get(reference.message_id);
    if (message === undefined && reference.fail_if_not_exists !== false) {
      throw REFUSALS.invalidForm({
        message_reference: {
          _errors: [{ code: "REPLIES_UNKNOWN_MESSAGE", message: "Unknown message" }],
        },
      });
    }
    return message;
  }

  /**
   * A message opens an archived thread unless it is locked. Source: "Threads: Active & Archived
   * Threads".
   */
  #openForWriting(author: User, place: FakeChannel): void {
    const state = place.thread;
    if (state === undefined || !state.archived) return;
    if (state.locked && (!author.bot || !this.can(author, place, "MANAGE_THREADS"))) {
      throw REFUSALS.lockedThread();
    }
    state.archived = false;
    state.archiveChangedAt = this.clock.now();
    this.#publishThread("THREAD_UPDATE", place, (view) => placePayload(place, view));
  }

  /**
   * Whom a message wakes: what its text mentions outside code, narrowed by `allowed_mentions`; the
   * author of the message that it replies to unless that is switched off. Source: "Message: Allowed
   * Mentions Object" and "Message Formatting".
   */
  #mentionsOf(
    author: User,
    place: FakeChannel,
    text: string,
    allowed: AllowedMentions | undefined,
    replyTo: Message | undefined,
  ): Pick<Message, "mentions" | "mentionsEveryone"> {
    const spoken = withoutCode(text);
    const ids = new Set([...spoken.matchAll(/<@!?(\d+)>/gu)].map((match) => match[1] ?? ""));
    const anyone = allowed === undefined || allowed.parse?.includes("users") === true;
    const users = [...ids].filter((id) => anyone || allowed?.users?.includes(id) === true);
    const wakesRepliedUser =
      replyTo !== undefined && (allowed === undefined || allowed.replied_user === true);
    if (wakesRepliedUser && !users.includes(replyTo.author.id)) users.push(replyTo.author.id);
    const everyone =
      /@(everyone|here)/u.test(spoken) &&
      (allowed === undefined || allowed.parse?.includes("everyone") === true);
    return {
      mentions: users.flatMap((id) => this.users.get(id) ?? []),
      mentionsEveryone: everyone && this.can(author, place, "MENTION_EVERYONE"),
    };
  }

  #publishMessage(type: string, message: Message, data: WorldEvent["data"]): void {
    const { place } = message;
    this.#publish({
      type,
      intents: [place.kind === "direct" ? "DIRECT_MESSAGES" : "GUILD_MESSAGES"],
      // Strict: a bot that did not join a thread hears nothing of what is said there. Source:
      // "Threads: Gateway Events".
      reaches: (bot) =>
        this.#hears(bot, place) && (place.thread === undefined || place.thread.members.has(bot.id)),
      data,
    });
  }

  #publishThread(type: string, thread: FakeChannel, data: WorldEvent["data"]): void {
    this.#publish({ type, intents: ["GUILDS"], reaches: (bot) => this.#hears(bot, thread), data });
  }

  #hears(bot: User, place: FakeChannel): boolean {
    return place.guild?.isOut !== true && this.can(bot, place, "VIEW_CHANNEL");
  }
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

function archivedAt(place: FakeChannel): number {
  return place.thread?.archiveChangedAt ?? 0;
}

function nonceKey(author: User, nonce: string | number): string {
  return `${author.id}:${nonce}`;
}

function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/gu, "");
}
