import type { Overwrite } from "./permissions.ts";
import type { PayloadView } from "./payloads.ts";

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
    {
      readonly user: User;
      readonly base: bigint;
      readonly roles: readonly string[];
      readonly joinedAt: number;
    }
  >;
  /** What the role @everyone gives to each member. */
  everyone: bigint;
  /** The platform has an outage there. Source: "Guild: Unavailable Guild Object". */
  isOut: boolean;
}

export type WorldPlaceKind =
  | "text"
  | "announcement"
  | "forum"
  | "direct"
  | "announcement-thread"
  | "public-thread"
  | "private-thread";

/** A channel, a thread or a direct message channel: on this platform they share one kind of id. */
export interface FakeChannel {
  readonly id: string;
  readonly kind: WorldPlaceKind;
  readonly guild: Guild | undefined;
  name: string;
  /**
   * By the id of a member or a role, the guild's own id for @everyone; of a thread those of its
   * channel count.
   */
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
  /** `name emoji`, one for each person and emoji. */
  readonly reactions: Set<string>;
  /** Of a message of type 18: the thread. */
  readonly threadId: string | undefined;
  text: string;
  editedAt: number | undefined;
  /** Whom it mentions after `allowed_mentions`, in the order of the text. */
  mentions: readonly User[];
  mentionsEveryone: boolean;
  /** Ids of roles that it mentions. */
  mentionedRoles: readonly string[];
  components: readonly object[];
}

export interface FileFact {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly contentType: string | undefined;
  readonly bytes?: Uint8Array | undefined;
  /** As it is told now; signed anew each time. */
  readonly url?: (() => string) | undefined;
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
  readonly roles?: readonly string[] | undefined;
  readonly replied_user?: boolean | undefined;
}

/** A slash command that a bot has made known in a guild. */
export interface AppCommand {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly options: readonly { readonly type: number; readonly name: string }[];
}

export interface Interaction {
  readonly id: string;
  readonly token: string;
  readonly bot: User;
  readonly person: User;
  readonly place: FakeChannel;
  /** Of a button: where it stands. */
  readonly message: Message | undefined;
  /** Of a button. */
  readonly customId: string | undefined;
  /** Of a command, with the one under it. */
  readonly command: { readonly known: AppCommand; readonly sub: string } | undefined;
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
  readonly intents: readonly (
    | "GUILDS"
    | "GUILD_MESSAGES"
    | "GUILD_MESSAGE_REACTIONS"
    | "DIRECT_MESSAGES"
  )[];
  readonly reaches: (bot: User) => boolean;
  readonly data: (view: PayloadView) => object;
}
