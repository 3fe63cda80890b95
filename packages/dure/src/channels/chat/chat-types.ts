/**
 * What dure uses of the npm package `chat`, written down here: nothing of it is imported, and each
 * of its adapters fits these types (`chat-types.test.ts`). What an adapter tells is `unknown` until
 * it was read.
 */

/** An adapter of `chat`: one bot at one platform, such as `createTelegramAdapter()`. */
export interface ChatAdapter {
  readonly name: string;
  readonly userName: string;
  readonly botUserId?: string | undefined;
  /** The platform gives no messages back: what the adapter fetches is its own memory. */
  readonly persistThreadHistory?: boolean | undefined;
  initialize(chat: ChatHost): Promise<void>;
  disconnect?(): Promise<void>;
  /** Checks the platform's signature by itself. */
  handleWebhook(request: Request, options?: ChatWebhookOptions): Promise<Response>;
  channelIdFromThreadId(threadId: string): string;
  encodeThreadId(data: unknown): string;
  decodeThreadId(threadId: string): unknown;
  isDM?(threadId: string): boolean;
  getChannelVisibility?(threadId: string): "private" | "workspace" | "external" | "unknown";
  postMessage(threadId: string, message: ChatPostable): Promise<ChatSent>;
  postChannelMessage?(channelId: string, message: ChatPostable): Promise<ChatSent>;
  reply?(threadId: string, messageId: string, message: ChatPostable): Promise<ChatSent>;
  editMessage(threadId: string, messageId: string, message: ChatPostable): Promise<unknown>;
  deleteMessage(threadId: string, messageId: string): Promise<void>;
  startTyping(threadId: string): Promise<void>;
  postEphemeral?(
    threadId: string,
    userId: string,
    message: ChatPostable,
    options?: { readonly fallbackToDM: boolean },
  ): Promise<unknown>;
  fetchMessages(threadId: string, options?: ChatFetchOptions): Promise<ChatPage>;
  fetchChannelMessages?(channelId: string, options?: ChatFetchOptions): Promise<ChatPage>;
  rehydrateAttachment?(attachment: ChatAttachment): ChatAttachment;
  /** Of the platform's own message. */
  parseMessage(raw: unknown): unknown;
}

export interface ChatWebhookOptions {
  waitUntil?: (task: Promise<unknown>) => void;
}

export interface ChatFetchOptions {
  readonly cursor?: string;
  readonly direction?: "forward" | "backward";
  readonly limit?: number;
}

/** Oldest first. */
export interface ChatPage {
  readonly messages: readonly unknown[];
  readonly nextCursor?: string | undefined;
}

/** A message that was sent. */
export interface ChatSent {
  readonly id: string;
  readonly threadId: string;
  readonly raw: unknown;
}

/** A message that is to be sent. */
export type ChatPostable =
  | { markdown: string; files?: ChatUpload[] }
  | { card: ChatCard; fallbackText?: string };

export interface ChatUpload {
  data: Buffer;
  filename: string;
  mimeType?: string;
}

/** The part of cards that buttons need. */
export interface ChatCard {
  type: "card";
  children: (ChatCardText | ChatCardButtons)[];
}

export interface ChatCardText {
  type: "text";
  content: string;
}

export interface ChatCardButtons {
  type: "actions";
  children: { type: "button"; id: string; label: string }[];
}

/** A file beside a message. */
export interface ChatAttachment {
  type: "image" | "file" | "video" | "audio";
  name?: string;
  url?: string;
  mimeType?: string;
  size?: number;
  fetchMetadata?: Record<string, string>;
  fetchData?: () => Promise<Buffer | ArrayBuffer>;
}

/** What an adapter calls when it has heard something: `ChatInstance` of the package. */
export interface ChatHost {
  getLogger(prefix?: string): ChatLogger;
  getState(): ChatState;
  getUserName(): string;
  processMessage(
    adapter: unknown,
    threadId: string,
    message: unknown,
    options?: ChatWebhookOptions,
  ): Promise<void>;
  handleIncomingMessage(adapter: unknown, threadId: string, message: unknown): Promise<void>;
  processMessageUpdated(event: unknown, options?: ChatWebhookOptions): Promise<void>;
  processMessageDeleted(event: unknown, options?: ChatWebhookOptions): Promise<void>;
  processAction(event: unknown, options: ChatWebhookOptions | undefined): Promise<void>;
  processReaction(event: unknown, options?: ChatWebhookOptions): Promise<void> | void;
  processSlashCommand(
    event: unknown,
    options: ChatWebhookOptions | undefined,
  ): Promise<void> | void;
  abortTurn(threadId: string): Promise<void>;
  processModalSubmit(event: unknown): Promise<unknown>;
  processOptionsLoad(event: unknown): Promise<unknown>;
  processModalClose(event: unknown): void;
  processAgentSessionStopped(event: unknown): void;
  processAgentSessionTitleChanged(event: unknown): void;
  processAppContextChanged(event: unknown): void;
  processAppHomeOpened(event: unknown): void;
  processAssistantContextChanged(event: unknown): void;
  processAssistantThreadStarted(event: unknown): void;
  processInstalled?(event: unknown): void;
  processUninstalled?(event: unknown): void;
  processMemberJoinedChannel(event: unknown): void;
}

/** `Logger` of the package: an adapter takes one in its options. */
export interface ChatLogger {
  child(prefix: string): ChatLogger;
  debug(message: string, ...details: unknown[]): void;
  info(message: string, ...details: unknown[]): void;
  warn(message: string, ...details: unknown[]): void;
  error(message: string, ...details: unknown[]): void;
}

/** `StateAdapter` of the package: what an adapter keeps between two requests. */
export interface ChatState {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  get<T = unknown>(key: string): Promise<T | null>;
  set(key: string, value: unknown, ttlMs?: number): Promise<void>;
  setIfNotExists(key: string, value: unknown, ttlMs?: number): Promise<boolean>;
  delete(key: string): Promise<void>;
  appendToList(
    key: string,
    value: unknown,
    options?: { maxLength?: number; ttlMs?: number },
  ): Promise<void>;
  getList<T = unknown>(key: string): Promise<T[]>;
  acquireLock(threadId: string, ttlMs: number): Promise<ChatLock | null>;
  extendLock(lock: ChatLock, ttlMs: number): Promise<boolean>;
  releaseLock(lock: ChatLock): Promise<void>;
  forceReleaseLock(threadId: string): Promise<void>;
  subscribe(threadId: string): Promise<void>;
  unsubscribe(threadId: string): Promise<void>;
  isSubscribed(threadId: string): Promise<boolean>;
  enqueue(threadId: string, entry: unknown, maxSize: number): Promise<number>;
  dequeue(threadId: string): Promise<unknown>;
  queueDepth(threadId: string): Promise<number>;
}

export interface ChatLock {
  threadId: string;
  token: string;
  expiresAt: number;
}
