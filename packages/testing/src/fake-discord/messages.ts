import { messagePayload, placePayload, reactingMember } from "./payloads.ts";
import { REFUSALS } from "./refusal.ts";
import type { World } from "./world.ts";
import type {
  AllowedMentions,
  FakeChannel,
  FileFact,
  Message,
  MessageDraft,
  User,
  WorldEvent,
} from "./world-facts.ts";

interface WantedPage {
  readonly limit: number;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly around?: string | undefined;
}

/** Messages of the fake platform. */
export class Messages {
  readonly #world: World;
  readonly #nonceWindowMs: number;
  readonly #nonces = new Map<string, { readonly message: Message; readonly at: number }>();

  /** @param options.nonceWindowMs how long a nonce gives the first message */
  constructor(world: World, options: { readonly nonceWindowMs: number }) {
    this.#world = world;
    this.#nonceWindowMs = options.nonceWindowMs;
  }

  /** Source: "Message: Create Message". */
  create(
    author: User,
    place: FakeChannel,
    draft: MessageDraft,
    files: readonly FileFact[] = [],
  ): Message {
    this.#world.requireWriting(author, place);
    if (author.bot && files.length > 0) this.#world.require(author, place, "ATTACH_FILES");
    assertContent(draft, files);
    const earlier = this.#sameNonce(author, draft);
    if (earlier !== undefined) return earlier;

    const replyTo = this.#reference(place, draft);
    this.#openForWriting(author, place);
    const text = draft.content ?? "";

    const message: Message = {
      ...this.#blank(author, place),
      type: replyTo === undefined ? 0 : 19,
      nonce: draft.nonce,
      replyTo,
      attachments: files.map((file) => this.#kept(place, file)),
      text,
      ...this.#mentions({ author, place, replyTo }, text, draft.allowed_mentions),
      components: draft.components ?? [],
    };

    if (draft.nonce !== undefined) {
      this.#nonces.set(nonceKey(author, draft.nonce), { message, at: message.at });
    }
    this.#joinBy(message);
    this.#add(message);

    return message;
  }

  #kept(place: FakeChannel, file: FileFact): FileFact {
    const { attachments } = this.#world;
    return { ...attachments.keep(file), url: () => attachments.urlOf(place.id, file) };
  }

  /**
   * The first message of a post in a forum; its id is the post's. Source: "Threads: Forum Channels".
   */
  beginPost(author: User, post: FakeChannel, draft: MessageDraft): Message {
    assertContent(draft, []);
    const text = draft.content ?? "";
    const blank = this.#blank(author, post);
    const said = { author, place: post, replyTo: undefined };
    const message: Message = {
      ...blank,
      id: post.id,
      text,
      ...this.#mentions(said, text, draft.allowed_mentions),
      components: draft.components ?? [],
    };
    this.#joinBy(message);
    this.#add(message);
    return message;
  }

  /** The platform tells of a new thread in the channel of it. */
  tellThread(owner: User, channel: FakeChannel, thread: FakeChannel): void {
    const blank = this.#blank(owner, channel);
    this.#add({ ...blank, type: 18, threadId: thread.id, text: thread.name });
  }

  /** Source: "Message: Edit Message". */
  edit(
    author: User,
    message: Message,
    change: Pick<MessageDraft, "content" | "components" | "allowed_mentions">,
  ): Message {
    if (message.author !== author) throw REFUSALS.notTheAuthor();

    const text = change.content === undefined ? message.text : (change.content ?? "");
    if (text.trim() === "" && message.attachments.length === 0) throw REFUSALS.emptyMessage();

    message.text = text;
    message.editedAt = this.#world.clock.now();
    if (change.components !== undefined) message.components = change.components ?? [];
    Object.assign(message, this.#mentions(message, text, change.allowed_mentions));
    this.#publishMessage("MESSAGE_UPDATE", message, (view) => messagePayload(message, view));

    return message;
  }

  delete(actor: User, message: Message): void {
    if (message.author !== actor) this.#world.require(actor, message.place, "MANAGE_MESSAGES");
    message.place.messages.delete(message.id);

    this.#publishMessage("MESSAGE_DELETE", message, () => ({
      id: message.id,
      channel_id: message.place.id,
      guild_id: message.place.guild?.id,
    }));
  }

  /** Source: "Gateway Events: Message Delete Bulk"; needs MANAGE_MESSAGES. */
  deleteAll(actor: User, messages: readonly [Message, ...Message[]]): void {
    const { place } = messages[0];
    this.#world.require(actor, place, "MANAGE_MESSAGES");
    for (const { id } of messages) place.messages.delete(id);
    this.#publishMessage("MESSAGE_DELETE_BULK", messages[0], () => ({
      ids: messages.map(({ id }) => id),
      channel_id: place.id,
      guild_id: place.guild?.id,
    }));
  }

  /**
   * Sets a standard emoji below a message. Source: "Message: Create Reaction" (ADD_REACTIONS and
   * READ_MESSAGE_HISTORY), "Gateway Events: Message Reaction Add" (no `member` in a direct channel).
   */
  react(actor: User, message: Message, emoji: string, kind: "ADD" | "REMOVE" = "ADD"): void {
    const { place } = message;
    this.#world.require(actor, place, "ADD_REACTIONS");
    this.#world.require(actor, place, "READ_MESSAGE_HISTORY");
    const { guild } = place;
    const member = guild?.members.get(actor.id);
    if (kind === "ADD") message.reactions.add(`${actor.name} ${emoji}`);
    else message.reactions.delete(`${actor.name} ${emoji}`);
    this.#world.publish({
      type: `MESSAGE_REACTION_${kind}`,
      intents: place.kind === "direct" ? [] : ["GUILD_MESSAGE_REACTIONS"],
      reaches: (bot) => this.#hears(bot, place),
      data: () => ({
        user_id: actor.id,
        channel_id: place.id,
        message_id: message.id,
        emoji: { id: null, name: emoji },
        burst: false,
        type: 0,
        guild_id: guild?.id,
        message_author_id: kind === "ADD" ? message.author.id : undefined,
        member: kind === "ADD" && member ? reactingMember(actor, member) : undefined,
      }),
    });
  }

  /**
   * Newest first. Without READ_MESSAGE_HISTORY the list is empty, which is no error. Source:
   * "Channel: Get Channel Messages". With `after` it is the page that follows that id at once.
   */
  list(reader: User, place: FakeChannel, wanted: WantedPage): readonly Message[] {
    if (!this.#world.can(reader, place, "READ_MESSAGE_HISTORY")) return [];
    return pageOf([...place.messages.values()], wanted).toReversed();
  }

  visible(reader: User, place: FakeChannel, id: string | undefined): Message {
    this.#world.require(reader, place, "READ_MESSAGE_HISTORY");
    const message = place.messages.get(id ?? "");
    if (message === undefined) throw REFUSALS.unknownMessage();

    return message;
  }

  #blank(author: User, place: FakeChannel): Message {
    return {
      id: this.#world.snowflake(),
      place,
      author,
      type: 0,
      at: this.#world.clock.now(),
      nonce: undefined,
      replyTo: undefined,
      attachments: [],
      reactions: new Set(),
      threadId: undefined,
      text: "",
      editedAt: undefined,
      mentions: [],
      mentionsEveryone: false,
      mentionedRoles: [],
      components: [],
    };
  }

  /**
   * Source: "Threads": who writes in a thread joins it, and so does a member
   * who is mentioned there.
   */
  #joinBy({ author, place, mentions }: Message): void {
    if (place.thread === undefined) return;

    const { parent } = place.thread;
    const mentioned = mentions.filter((user) => this.#world.can(user, parent, "VIEW_CHANNEL"));
    for (const user of [author, ...mentioned]) this.#world.threads.join(user, place);
  }

  #mentions(
    said: Pick<Message, "author" | "place" | "replyTo">,
    text: string,
    allowed: AllowedMentions | null | undefined,
  ): Pick<Message, "mentions" | "mentionsEveryone" | "mentionedRoles"> {
    const { ids, roles, everyone } = mentionsIn(text, allowed ?? undefined, said.replyTo);
    return {
      mentions: ids.flatMap((id) => this.#world.users.get(id) ?? []),
      mentionedRoles: said.place.guild === undefined ? [] : roles,
      mentionsEveryone: everyone && this.#world.can(said.author, said.place, "MENTION_EVERYONE"),
    };
  }

  #add(message: Message): void {
    message.place.messages.set(message.id, message);
    message.place.lastMessageId = message.id;
    this.#world.threads.watch(message.place);

    this.#publishMessage("MESSAGE_CREATE", message, (view) => ({
      ...messagePayload(message, view),
      nonce: message.nonce,
    }));
  }

  /**
   * The first message of this author with this nonce, if it is young enough. Source: "Message:
   * Create Message", `enforce_nonce`: "will be checked for uniqueness in the past few minutes. If
   * another message was created by the same author with the same nonce, that message will be
   * returned and no new message will be created."
   */
  #sameNonce(author: User, draft: MessageDraft): Message | undefined {
    const now = this.#world.clock.now();
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
    if (state.locked && (!author.bot || !this.#world.can(author, place, "MANAGE_THREADS"))) {
      throw REFUSALS.lockedThread();
    }

    state.archived = false;
    state.archiveChangedAt = this.#world.clock.now();
    this.#world.threads.tell("THREAD_UPDATE", place, (view) => placePayload(place, view));
  }

  #publishMessage(type: string, message: Message, data: WorldEvent["data"]): void {
    const { place } = message;
    this.#world.publish({
      type,
      intents: [place.kind === "direct" ? "DIRECT_MESSAGES" : "GUILD_MESSAGES"],
      reaches: (bot) => this.#hears(bot, place),
      data,
    });
  }

  /**
   * Strict: a bot that did not join a thread hears nothing of what is said there. Source: "Threads:
   * Gateway Events".
   */
  #hears(bot: User, place: FakeChannel): boolean {
    return (
      this.#world.hears(bot, place) &&
      (place.thread === undefined || place.thread.members.has(bot.id))
    );
  }
}

/**
 * Source: "Create Message": one of content, embeds, sticker_ids, components,
 * files or poll is required.
 */
function assertContent({ content, embeds }: MessageDraft, files: readonly FileFact[]): void {
  const isEmpty = (content ?? "").trim() === "" && (embeds?.length ?? 0) === 0;
  if (isEmpty && files.length === 0) throw REFUSALS.emptyMessage();
}

/** Oldest first. */
function pageOf(
  all: readonly Message[],
  { limit, before, after, around }: WantedPage,
): readonly Message[] {
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
}

function nonceKey(author: User, nonce: string | number): string {
  return `${author.id}:${nonce}`;
}

// --- mentions

/**
 * Whom a message wakes: what its text mentions outside code, narrowed by
 * `allowed_mentions`; the author of the message that it replies to unless that
 * is switched off. Source: "Message: Allowed Mentions Object" and "Message
 * Formatting". Pure.
 */
function mentionsIn(
  text: string,
  allowed: AllowedMentions | undefined,
  replyTo: Message | undefined,
): {
  readonly ids: readonly string[];
  readonly roles: readonly string[];
  readonly everyone: boolean;
} {
  const spoken = withoutCode(text);
  const named = new Set([...spoken.matchAll(/<@!?(\d+)>/gu)].map((match) => match[1] ?? ""));
  const isAllowed = (kind: string): boolean =>
    allowed === undefined || allowed.parse?.includes(kind) === true;
  const ids = [...named].filter(
    (id) => isAllowed("users") || allowed?.users?.includes(id) === true,
  );
  const wakesRepliedUser = allowed === undefined || allowed.replied_user === true;
  if (replyTo !== undefined && wakesRepliedUser && !ids.includes(replyTo.author.id)) {
    ids.push(replyTo.author.id);
  }
  const roles = [...spoken.matchAll(/<@&(\d+)>/gu)]
    .map((match) => match[1] ?? "")
    .filter((id) => isAllowed("roles") || allowed?.roles?.includes(id) === true);

  return {
    ids,
    roles: [...new Set(roles)],
    everyone: /@(everyone|here)/u.test(spoken) && isAllowed("everyone"),
  };
}

function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/gu, "");
}
