import { KIND_NUMBERS, placePayload, threadMemberPayload } from "./payloads.ts";
import { REFUSALS } from "./refusal.ts";
import type { World } from "./world.ts";
import type {
  FakeChannel,
  Guild,
  Message,
  MessageDraft,
  ThreadState,
  User,
  WorldEvent,
} from "./world-facts.ts";

/** Threads of the fake platform. */
export class Threads {
  readonly #world: World;
  readonly #archiving = new Map<string, () => void>();

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * Source: "Channel: Start Thread from Message" (its id is the message's), "Start Thread without
   * Message" (a message of type 18 tells of it in the channel; without a type the thread is
   * private).
   */
  start(
    owner: User,
    channel: FakeChannel,
    form: {
      name: string;
      type?: 10 | 11 | 12 | undefined;
      auto_archive_duration?: number | undefined;
    },
    message?: Message,
  ): FakeChannel {
    const kind = threadKindOf(channel, message === undefined ? form.type : undefined, message);
    const isPublic = kind !== "private-thread";

    this.#world.require(
      owner,
      channel,
      isPublic ? "CREATE_PUBLIC_THREADS" : "CREATE_PRIVATE_THREADS",
    );

    if (message !== undefined && this.#world.places.has(message.id)) throw REFUSALS.threadExists();
    const thread = this.#open(owner, channel, { kind, id: message?.id, form });
    if (message === undefined && isPublic) {
      this.#world.messages.tellThread(owner, channel, thread);
    }
    return thread;
  }

  /**
   * Source: "Channel: Start Thread in Forum or Media Channel": needs SEND_MESSAGES, and
   * CREATE_PUBLIC_THREADS is ignored; a post is a public thread with a first message.
   */
  startPost(
    owner: User,
    forum: FakeChannel,
    form: { name: string; auto_archive_duration?: number | undefined; message: MessageDraft },
  ): { thread: FakeChannel; message: Message } {
    this.#world.require(owner, forum, "SEND_MESSAGES");
    const thread = this.#open(owner, forum, { kind: "public-thread", form });
    return { thread, message: this.#world.messages.beginPost(owner, thread, form.message) };
  }

  #open(
    owner: User,
    channel: FakeChannel,
    {
      kind,
      id,
      form,
    }: {
      kind: FakeChannel["kind"];
      id?: string | undefined;
      form: { name: string; auto_archive_duration?: number | undefined };
    },
  ): FakeChannel {
    const now = this.#world.clock.now();

    const thread = this.#world.addPlace({
      id: id ?? this.#world.snowflake(),
      kind,
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

    this.#world.publish({
      type: "THREAD_CREATE",
      intents: ["GUILDS"],
      // Source: "Gateway Events: Thread Create"; "Threads: Gateway Events": every bot that can view
      // the channel learns of it.
      reaches: (bot) => this.#world.can(bot, thread, "VIEW_CHANNEL"),
      data: (view) => ({ ...placePayload(thread, view), newly_created: true }),
    });

    this.watch(thread);
    return thread;
  }

  /**
   * Source: "Channel: Modify Channel" of a thread: archiving and naming are its owner's or need
   * MANAGE_THREADS.
   */
  modify(
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

    if (actor.bot && actor.id !== state.ownerId) {
      this.#world.require(actor, thread, "MANAGE_THREADS");
    }
    if (change.locked !== undefined && actor.bot) {
      this.#world.require(actor, thread, "MANAGE_THREADS");
    }

    if (change.archived !== undefined && change.archived !== state.archived) {
      state.archived = change.archived;
      state.archiveChangedAt = this.#world.clock.now();
    } else if (state.archived && change.archived !== false) {
      throw REFUSALS.archivedThread();
    }

    state.locked = change.locked ?? state.locked;
    state.autoArchiveMinutes = change.auto_archive_duration ?? state.autoArchiveMinutes;
    thread.name = change.name ?? thread.name;
    this.tell("THREAD_UPDATE", thread, (view) => placePayload(thread, view));
    this.watch(thread);

    return thread;
  }

  /**
   * Something happened in it: it is archived when nothing more does for its time. Source: "Threads:
   * Active & Archived Threads", "Thread Metadata Object: auto_archive_duration".
   */
  watch(thread: FakeChannel): void {
    this.#archiving.get(thread.id)?.();
    const state = thread.thread;
    if (state === undefined || state.archived || !this.#world.places.has(thread.id)) return;

    const ms = state.autoArchiveMinutes * 60_000;

    this.#archiving.set(
      thread.id,
      this.#world.clock.after(ms, () => this.#archive(thread, state)),
    );
  }

  #archive(thread: FakeChannel, state: ThreadState): void {
    if (state.archived || !this.#world.places.has(thread.id)) return;

    state.archived = true;
    state.archiveChangedAt = this.#world.clock.now();
    this.tell("THREAD_UPDATE", thread, (view) => placePayload(thread, view));
  }

  /**
   * Source: "Channel: Delete/Close Channel": a thread needs MANAGE_THREADS; the event has no more
   * than ids.
   */
  delete(thread: FakeChannel): void {
    const { id, guild } = thread;
    const parent = thread.thread?.parent;

    this.tell("THREAD_DELETE", thread, () => ({
      id,
      guild_id: guild?.id,
      parent_id: parent?.id,
      type: KIND_NUMBERS[thread.kind],
    }));

    this.#archiving.get(id)?.();
    this.#archiving.delete(id);
    this.#world.places.delete(id);
  }

  /**
   * Source: "Channel: Join Thread", "Gateway Events: Thread Members Update" and "Thread Create"
   * (when the current user is added).
   */
  join(user: User, thread: FakeChannel): void {
    const state = thread.thread;
    if (state === undefined) throw REFUSALS.wrongChannelType();
    if (state.members.has(user.id)) return;

    state.members.set(user.id, this.#world.clock.now());
    const isThey = (bot: User): boolean => bot.id === user.id;

    this.#world.publish({
      type: "THREAD_CREATE",
      intents: ["GUILDS"],
      reaches: isThey,
      data: (view) => placePayload(thread, view),
    });

    this.#world.publish({
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

  leave(user: User, thread: FakeChannel): void {
    thread.thread?.members.delete(user.id);
    this.#world.publish({
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

  active(user: User, guild: Guild): FakeChannel[] {
    return [...this.#world.places.values()].filter(
      (place) =>
        place.guild === guild &&
        place.thread !== undefined &&
        !place.thread.archived &&
        this.#world.can(user, place, "VIEW_CHANNEL"),
    );
  }

  /**
   * Newest archived first. Source: "Channel: List Public Archived Threads" (needs
   * READ_MESSAGE_HISTORY).
   */
  archived(
    user: User,
    channel: FakeChannel,
    { limit, before }: { limit: number; before?: string | undefined },
  ): { threads: FakeChannel[]; hasMore: boolean } {
    this.#world.require(user, channel, "READ_MESSAGE_HISTORY");
    const limitTime = before === undefined ? Infinity : Date.parse(before);

    const all = [...this.#world.places.values()]
      .filter(
        (place) =>
          (place.kind === "public-thread" || place.kind === "announcement-thread") &&
          place.thread?.parent === channel &&
          place.thread.archived,
      )
      .filter((place) => archivedAt(place) < limitTime)
      .sort((one, other) => archivedAt(other) - archivedAt(one));

    return { threads: all.slice(0, limit), hasMore: all.length > limit };
  }

  /** To every bot that sees it. */
  tell(type: string, thread: FakeChannel, data: WorldEvent["data"]): void {
    this.#world.publish({
      type,
      intents: ["GUILDS"],
      reaches: (bot) => this.#world.hears(bot, thread),
      data,
    });
  }
}

/**
 * Source: "Channel Types", "Threads": a thread of an announcement channel is of type 10, and no other
 * can be; without a type and a message it is private.
 */
function threadKindOf(
  channel: FakeChannel,
  type: 10 | 11 | 12 | undefined,
  message: Message | undefined,
): "announcement-thread" | "public-thread" | "private-thread" {
  if (channel.kind === "announcement") {
    if (message === undefined && type !== 10) throw REFUSALS.wrongChannelType();
    return "announcement-thread";
  }

  if (channel.kind !== "text" || type === 10) throw REFUSALS.wrongChannelType();
  return message !== undefined || type === 11 ? "public-thread" : "private-thread";
}

function archivedAt(place: FakeChannel): number {
  return place.thread?.archiveChangedAt ?? 0;
}
