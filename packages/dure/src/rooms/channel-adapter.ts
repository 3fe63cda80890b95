/** What a platform must do for rooms, in their words. */

import type { CodedMessage } from "../kernel/coded-message.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Clock } from "../kernel/clock.ts";
import type { AccountState } from "../kernel/rooms.ts";

/**
 * A platform where agents live, in the words of rooms: an adapter knows accounts, places and
 * messages of its platform and nothing of roles, guards or agents' turns. It keeps nothing that
 * must survive: what was sent is in dure's outbox, what was received is in dure's record, and after
 * a gap the adapter is asked for what it has (`readSince`).
 *
 * The web rooms that dure serves itself, Discord and Slack are such; all pass `channelContract`.
 */
export interface ChannelAdapter {
  /** `web`, `discord`, `slack`: part of every place's address. */
  readonly name: string;
  readonly limits: ChannelLimits;
  /**
   * True: there is nothing to connect; every process serves all accounts, which are ready unless
   * a person paused them.
   */
  readonly isLocal: boolean;
  /** Keeps the port and gets ready; connects no account yet. */
  start(port: ChannelPort): Promise<void>;
  /** Ends every connection. Idempotent. */
  stop(): Promise<void>;
  /**
   * Connects one account until `signal` aborts; called by the process that holds the account's
   * lease. Tells its state through the port and reconnects by itself; resolves when the connection
   * has ended, after an abort or because the token was refused.
   */
  connect(account: ChannelAccount, options: { signal: AbortSignal }): Promise<void>;
  /**
   * Posts one part. Rejects with a `ChannelError`. The same `key` is posted once within
   * `limits.keyMemoryMs`. An empty id: the platform does not tell it.
   */
  post(post: OutgoingPost, options: { signal: AbortSignal }): Promise<{ platformId: string }>;
  /**
   * Whether a post whose answer was lost is there: among messages of that account in that place
   * after `after`, by key, else by exact content.
   */
  findPost(
    post: OutgoingPost,
    options: { after?: string | undefined; signal: AbortSignal },
  ): Promise<FoundOnPlatform>;
  createThread(
    thread: OutgoingThread,
    options: { signal: AbortSignal },
  ): Promise<{ platformId: string }>;
  /**
   * By owner, name and creation time; or, where a person has `named` it, that thread of the channel
   * and no other.
   */
  findThread(thread: OutgoingThread, options: { signal: AbortSignal }): Promise<FoundOnPlatform>;
  /**
   * Puts away a thread that this account made, in which nothing stands; what a person writes there
   * meanwhile is not lost. Harmless to repeat. Absent: it stays.
   */
  removeThread?(
    account: ChannelAccount,
    place: PlaceAddress,
    options: { signal: AbortSignal },
  ): Promise<void>;
  /**
   * Gives a message of this account another text. Harmless to repeat. Absent: what is being written
   * is not shown.
   */
  edit?(post: OutgoingPost, platformId: string, options: { signal: AbortSignal }): Promise<void>;
  /**
   * Takes a message of this account away; `not-found` when it is gone already. There where `edit`
   * is.
   */
  remove?(
    account: ChannelAccount,
    place: PlaceAddress,
    platformId: string,
    options: { signal: AbortSignal },
  ): Promise<void>;
  /**
   * Reads a file of a message, whole or not at all. Rejects with a `ChannelError`; what is
   * `transient`, `rate-limited` or `unavailable` is asked for again. Absent: files stay where they are.
   */
  readFile?(
    account: ChannelAccount,
    file: FileOfMessage,
    options: { signal: AbortSignal },
  ): Promise<Uint8Array>;
  /**
   * Sets a sign of this account below a message, or takes it away. Harmless to repeat. Absent: the
   * platform has none.
   */
  react?(
    account: ChannelAccount,
    place: PlaceAddress,
    sign: { platformId: string; emoji: Sign; isSet: boolean },
    options: { signal: AbortSignal },
  ): Promise<void>;
  /** Shows for some seconds that the account writes. Never throws. */
  typing(account: ChannelAccount, place: PlaceAddress): void;
  /**
   * What a place received after `after` (platform id; absent: the newest), oldest first, at most
   * `limit`.
   */
  readSince(
    account: ChannelAccount,
    place: PlaceAddress,
    options: { after?: string | undefined; limit: number; signal: AbortSignal },
  ): Promise<readonly InboundMessage[]>;
  /**
   * Whether a message of a person was taken away. Rejects with a `ChannelError` where that cannot be
   * told. Absent: what was deleted while no account was connected stays.
   */
  isGone?(
    account: ChannelAccount,
    place: PlaceAddress,
    platformId: string,
    options: { signal: AbortSignal },
  ): Promise<boolean>;
  /**
   * Lets an account hear what is said in a thread from here on, and hands on what was said before.
   * Absent: who is in a channel hears its threads.
   */
  joinThread?(
    account: ChannelAccount,
    place: PlaceAddress,
    options: { signal: AbortSignal },
  ): Promise<void>;
  /**
   * Other channels are allowed than before, while accounts are connected: what is open in those
   * that are new is heard from here on. Absent: there is nothing to join.
   */
  channelsChanged?(): void;
  /**
   * Threads that are in use, as told when the account connected. Absent: nothing is ever missed.
   */
  threadsInUse?(account: ChannelAccount): readonly ThreadInUse[];
  /** A thread as a text of this platform links it. Absent: it cannot. */
  linkTo?(place: PlaceAddress, named: { readonly id: string; readonly name: string }): string;
  /**
   * Takes what the platform posts to dure's server; `account` where the address names one. Answers
   * when it is stored. Absent: the platform posts nothing.
   */
  webhook?(request: Request, account: string | undefined): Promise<Response>;
  /** What to set so that an agent has an account. Absent: its key in the configuration. */
  accountKey?(agent: string): string;
  /**
   * What a doctor wants to know of one account: each line a fact with what to do about it.
   * `notices`: ids of channels in which it tells people something outside of threads.
   */
  check?(
    account: ChannelAccount,
    options: { signal: AbortSignal; notices?: readonly string[] | undefined },
  ): Promise<readonly ChannelFinding[]>;
}

/** What an agent says without words: it has begun, and it is done with nothing to say. */
export const SIGNS = { seen: "👀", done: "✅" } as const;
export type Sign = (typeof SIGNS)[keyof typeof SIGNS];

/** What the platform allows. */
export interface ChannelLimits {
  /** Characters (UTF-16 units) of one message; longer text is sent in parts. */
  readonly messageLength: number;
  /** Characters of a thread's name. */
  readonly threadNameLength: number;
  /** Bytes of one file that `post` takes. Absent: it takes none. */
  readonly fileBytes?: number | undefined;
  /**
   * How long at least the platform posts the same key once, milliseconds. 0: it knows no keys, and
   * what may be there already is looked for before it is posted again.
   */
  readonly keyMemoryMs: number;
}

/** What `isGone` is asked, and `removeThread`. */
export type AskedGone = Parameters<NonNullable<ChannelAdapter["isGone"]>>;
export type AskedAway = Parameters<NonNullable<ChannelAdapter["removeThread"]>>;

/**
 * What an adapter tells. Calls return when it is stored; one that rejects was not, and the adapter
 * asks again with `readSince`.
 */
export interface ChannelPort {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A message that `account` sees. The same one may come once per account, and again. */
  received(account: ChannelAccount, message: InboundMessage): Promise<void>;
  /** The text of a message became another one. */
  edited(
    account: ChannelAccount,
    change: { platformId: string; place: PlaceAddress; text: string },
  ): Promise<void>;
  /** A message was taken away, by its author or by one who may. */
  deleted(
    account: ChannelAccount,
    gone: { platformId: string; place: PlaceAddress },
  ): Promise<void>;
  /** A person has set a sign below a message, or has taken it away. */
  reacted(
    account: ChannelAccount,
    reaction: {
      platformId: string;
      /** The platform's id of the person. */
      person: string;
      /** An emoji, or the name of one of the platform's own between colons. */
      emoji: string;
      isSet: boolean;
    },
  ): Promise<void>;
  placeChanged(account: ChannelAccount, change: PlaceChange): Promise<void>;
  /**
   * Who may read a channel: told before the account is ready, and when it changes. A channel of which
   * nothing is told is kept as a private one.
   */
  audienceChanged(account: ChannelAccount, audience: Audience): Promise<void>;
  /** The state of the connection of an account that this process holds. */
  accountChanged(
    account: ChannelAccount,
    state: AccountState,
    detail?: AccountDetail,
  ): Promise<void>;
  /**
   * After each (re)connection whose gap the platform did not fill: dure reads every allowed place
   * through `readSince`.
   */
  mayHaveMissed(account: ChannelAccount): Promise<void>;
  /**
   * A person pressed a button that `post` had shown, or gave an order (`order:stop`; see
   * `rooms/orders/orders.ts`). Answers what the person shall see. With `key` the same deed may be told by
   * several accounts; empty then: another one has told it.
   */
  pressed(
    account: ChannelAccount,
    press: {
      value: string;
      person: PressingPerson;
      place: PlaceAddress;
      key?: string | undefined;
    },
  ): Promise<string>;
}

/**
 * What an account tells of itself. `needsPeople`: it does not mend itself soon, so the operators are
 * told.
 */
export type AccountDetail = string | (CodedMessage & { readonly needsPeople?: boolean });

/** Who pressed a button, as far as the platform vouches for it. */
export interface PressingPerson {
  /** The platform's own id: a name can be changed. */
  readonly id: string;
  readonly name: string;
  /** Ids of roles that the person has where the button stands. */
  readonly roles?: readonly string[] | undefined;
  /** May administer the server where the button stands. */
  readonly manages?: boolean;
  /** May write where the button stands. Absent: every person can. */
  readonly writes?: boolean | undefined;
}

/** One agent's account on a platform: on Discord one bot. */
export interface ChannelAccount {
  /** The key in dure's configuration; by default the agent's id. */
  readonly id: string;
  readonly agent: string;
  readonly displayName: string;
  /** The platform's own id of it, when known: a Discord user id. */
  readonly platformId?: string | undefined;
}

/** A place by the platform's ids. `thread` absent: the channel itself. */
export interface PlaceAddress {
  readonly adapter: string;
  /** A server of the platform; absent for a direct message and for the web rooms. */
  readonly guild?: string | undefined;
  readonly channel: string;
  readonly thread?: string | undefined;
  /** A direct room of one person and one agent. */
  readonly direct?: boolean | undefined;
  /** A thread that its members alone see. */
  readonly private?: boolean | undefined;
}

/** A thread in which something was said, as one account sees it. */
export interface ThreadInUse {
  readonly place: PlaceAddress;
  readonly name: string;
  /** The platform's id of its newest message. */
  readonly newest: string;
  /**
   * Others have put the account in, by naming it: it hears what is said from then on; the
   * words that named it are not handed to it.
   */
  readonly wasAdded: boolean;
}

/** A message that a platform tells. */
export interface InboundMessage {
  readonly platformId: string;
  readonly place: PlaceAddress;
  readonly author: InboundAuthor;
  /**
   * As the platform has it; mentions of the platform are listed in `mentions`, in the order of the
   * text.
   */
  readonly text: string;
  /**
   * Platform ids of the accounts that the text mentions in the platform's own way, with where in
   * the text; −1: it answers a message of that account.
   */
  readonly mentions: readonly { readonly platformId: string; readonly at: number }[];
  readonly replyTo?: string;
  /** Our own key, where the platform gives it back (Discord: nonce). */
  readonly key?: string | undefined;
  readonly attachments: readonly Attachment[];
  /** Milliseconds since the epoch, by the platform's clock. */
  readonly at: number;
  readonly threadName?: string | undefined;
}

/** Who wrote a message, as the platform says. */
export interface InboundAuthor {
  readonly platformId: string;
  readonly name: string;
  readonly isBot: boolean;
}

/** A file beside a message, as the platform tells of it. */
export interface Attachment {
  /** The platform's, by which `readFile` finds it. Absent: it is a link. */
  readonly id?: string | undefined;
  readonly name: string;
  readonly url: string;
  readonly contentType?: string | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
}

/** A file that is to be read. */
export interface FileOfMessage {
  readonly place: PlaceAddress;
  /** The platform's id of the message. */
  readonly message: string;
  readonly attachment: Attachment;
  /** A longer one is refused with `full`. */
  readonly maxBytes: number;
}

/** A file that leaves with a message. */
export interface OutgoingFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A message that is to leave. */
export interface OutgoingPost {
  readonly account: ChannelAccount;
  readonly place: PlaceAddress;
  /**
   * At most `limits.messageLength`; mentions stand in the text as `<@agent-id>` and are put into
   * the platform's form by the adapter.
   */
  readonly text: string;
  /** Agents that this text may mention; every other mention in it is shown and wakes no account. */
  readonly mentions: readonly {
    readonly agent: string;
    readonly platformId: string;
    readonly displayName: string;
  }[];
  /** At most 25 characters, the same for every attempt. */
  readonly key: string;
  readonly replyTo?: string | undefined;
  readonly buttons?: readonly { readonly value: string; readonly label: string }[] | undefined;
  /** The text is empty then. Only where `limits.fileBytes` is. */
  readonly files?: readonly OutgoingFile[] | undefined;
}

/** A thread that is to be made. */
export interface OutgoingThread {
  readonly account: ChannelAccount;
  readonly channel: PlaceAddress;
  readonly name: string;
  readonly key: string;
  /**
   * Of the first attempt, milliseconds since the epoch: an older thread of the same name is another
   * one.
   */
  readonly since: number;
  /**
   * What a person wrote to say which one it is: a link or an id of the platform. Only for
   * `findThread`.
   */
  readonly named?: string | undefined;
}

/** Whether a post or thread is at the platform. `unsure`: it cannot be told; people decide. */
export type FoundOnPlatform =
  | { readonly found: "yes"; readonly platformId: string }
  | { readonly found: "no" }
  | { readonly found: "unsure" };

/** What happened to a place at its platform. */
export type PlaceChange =
  | {
      readonly kind: "thread-deleted" | "thread-archived" | "thread-opened" | "channel-removed";
      readonly place: PlaceAddress;
    }
  /**
   * This account alone may not see the place any more: it was removed from the server, or a
   * permission was taken.
   */
  | { readonly kind: "access-lost"; readonly place: PlaceAddress }
  | {
      readonly kind: "thread-created";
      readonly place: PlaceAddress;
      readonly name: string;
      readonly owner: string;
      readonly key?: string;
    }
  | { readonly kind: "renamed"; readonly place: PlaceAddress; readonly name: string };

/** Who may read a channel of a platform. */
export interface Audience {
  readonly place: PlaceAddress;
  /** False: members of the channel alone, or it cannot be told. */
  readonly seenByAll: boolean;
}

/** One fact that `check` of an adapter found. */
export interface ChannelFinding {
  readonly ok: boolean;
  /** Of one that is not ok: the account works without it. */
  readonly isWarning?: boolean | undefined;
  readonly what: string;
  readonly hint?: string;
  /** The platform's id of the channel that it is about. */
  readonly channel?: string | undefined;
  /** It is about the channel as a place of notices. */
  readonly isOfNotices?: boolean | undefined;
}

/** Why a platform refused, in the classes of docs/spec/collaboration §6. */
export type ChannelFailure =
  /** 403: no retry; `missing` names the permission when known. */
  | "permission"
  /** 404: the place or message is gone; no retry. */
  | "not-found"
  /** 429: again after `retryAfterMs`; never counts as an attempt. */
  | "rate-limited"
  /**
   * The platform has an outage at this place and says when it is over: it waits, and never counts
   * as an attempt.
   */
  | "unavailable"
  /** 401: the account goes offline. */
  | "credential"
  /** The platform takes no more of this: people make room; no retry. */
  | "full"
  /** 400: the platform refuses this content; no retry. */
  | "invalid"
  /** 5xx, no answer, connection cut: it may have arrived. */
  | "transient";

/**
 * How an adapter tells that its platform did not do something; the class of failure decides what
 * follows.
 */
export class ChannelError extends Error {
  readonly failure: ChannelFailure;
  readonly retryAfterMs: number | undefined;
  /** The platform has certainly not done it. */
  readonly notSent: boolean;
  /** HTTP status or the platform's own code, for the log. */
  readonly detail: string | undefined;
  /** Of `permission`: what the account lacks, in the platform's word, when known. */
  readonly missing: string | undefined;
  /** `CHANNEL_PERMISSION`, `CHANNEL_NOT_FOUND` …: what is left of the class in a record. */
  readonly code: string;

  constructor(
    failure: ChannelFailure,
    message: string,
    options: {
      retryAfterMs?: number | undefined;
      notSent?: boolean;
      detail?: string | undefined;
      missing?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, options);
    this.name = "ChannelError";
    this.failure = failure;
    this.code = `CHANNEL_${failure.replace("-", "_").toUpperCase()}`;
    this.retryAfterMs = options.retryAfterMs;
    this.notSent = options.notSent ?? failure !== "transient";
    this.detail = options.detail;
    this.missing = options.missing;
  }
}
