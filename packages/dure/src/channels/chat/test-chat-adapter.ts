import type {
  ChatAdapter,
  ChatFetchOptions,
  ChatHost,
  ChatPage,
  ChatPostable,
  ChatSent,
  ChatWebhookOptions,
} from "./chat-types.ts";
import type { ChatPlatform } from "./platforms.ts";

/** A message of `TestChat`, as an adapter of `chat` tells it. */
export interface TestChatMessage {
  readonly id: string;
  readonly threadId: string;
  text: string;
  readonly author: Readonly<Record<string, unknown>>;
  readonly metadata: { readonly dateSent: Date; readonly edited: boolean };
  readonly attachments: readonly unknown[];
  readonly raw: unknown;
}

/** What an adapter throws, by the classes of dure. */
export interface TestChatFault {
  readonly what: "post" | "thread";
  /** Absent: it never answers. */
  readonly code?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly afterDoing: boolean;
}

/** How threads of `TestChat` are named: `test:<channel>` and `test:<channel>:<message>`. */
export const TEST_PLATFORM: ChatPlatform = {
  messageLength: 2_000,
  fileBytes: 1_000,
  edits: true,
  threadBelow: (_adapter, channel, { id }) => `${channel}:${id}`,
};

/** A chat platform in memory; each bot has an adapter of it. */
export class TestChat {
  readonly messages: TestChatMessage[] = [];
  readonly adapters: TestChatAdapter[] = [];
  readonly faults: TestChatFault[] = [];
  #ids = 0;

  adapter(userId: string, userName: string): TestChatAdapter {
    const adapter = new TestChatAdapter(this, { userId, userName });
    this.adapters.push(adapter);

    return adapter;
  }

  /** A person's message, told to every adapter. */
  async say(threadId: string, text: string): Promise<string> {
    const message = this.add(threadId, text, { userId: "minjun", userName: "민준", isBot: false });
    await Promise.all(this.adapters.map((adapter) => adapter.tell(message)));

    return message.id;
  }

  add(threadId: string, text: string, author: object): TestChatMessage {
    this.#ids += 1;
    const message: TestChatMessage = {
      id: String(1_000 + this.#ids),
      threadId,
      text,
      author: { fullName: "", ...author },
      metadata: { dateSent: new Date(), edited: false },
      attachments: [],
      raw: {},
    };
    this.messages.push(message);

    return message;
  }

  shown(threadId: string): readonly string[] {
    return this.messages
      .filter((one) => one.threadId === threadId && !one.text.startsWith("🧵"))
      .map(({ text }) => text);
  }
}

/** An adapter as those of `chat` are: it answers requests before what they told is stored. */
export class TestChatAdapter implements ChatAdapter {
  readonly name = "test";
  readonly userName: string;
  readonly botUserId: string;
  persistThreadHistory?: boolean;
  host: ChatHost | undefined;
  /** What was sent, as it came. */
  readonly posted: { readonly threadId: string; readonly message: ChatPostable }[] = [];
  readonly typed: string[] = [];
  readonly #chat: TestChat;

  constructor(chat: TestChat, { userId, userName }: { userId: string; userName: string }) {
    this.#chat = chat;
    this.botUserId = userId;
    this.userName = userName;
  }

  async initialize(host: ChatHost): Promise<void> {
    this.host = host;
  }

  async disconnect(): Promise<void> {}

  /** As that of Telegram: an update is claimed first, and its task is let go. */
  async handleWebhook(request: Request, options?: ChatWebhookOptions): Promise<Response> {
    const { secret, update, threadId, message } = (await request.json()) as TestUpdate;
    if (secret !== "right") return new Response("wrong secret", { status: 401 });
    const isNew = await this.host!.getState().setIfNotExists(`update:${update}`, true, 60_000);
    if (isNew) void this.host!.processMessage(this, threadId, revived(message), options);

    return new Response("taken", { headers: { "x-platform": "test" } });
  }

  async tell(message: TestChatMessage): Promise<void> {
    await this.host?.processMessage(this, message.threadId, this.#seen(message));
  }

  channelIdFromThreadId(threadId: string): string {
    const [name, channel] = threadId.split(":");
    if (name !== "test" || channel === undefined) throw new Error(`no thread: ${threadId}`);
    return `${name}:${channel}`;
  }

  encodeThreadId(data: unknown): string {
    return String(data);
  }

  decodeThreadId(threadId: string): unknown {
    return threadId;
  }

  isDM(threadId: string): boolean {
    return threadId.startsWith("test:direct");
  }

  getChannelVisibility(threadId: string): "private" | "workspace" {
    return this.channelIdFromThreadId(threadId) === "test:secret" ? "private" : "workspace";
  }

  async postMessage(threadId: string, message: ChatPostable): Promise<ChatSent> {
    this.channelIdFromThreadId(threadId);
    const text = textPartOf(message);
    const what = text.startsWith("🧵") ? "thread" : "post";
    const at = this.#chat.faults.findIndex((fault) => fault.what === what);
    const fault = at < 0 ? undefined : this.#chat.faults.splice(at, 1)[0];
    if (fault !== undefined && !fault.afterDoing) await thrown(fault);
    this.posted.push({ threadId, message });
    const author = { userId: this.botUserId, userName: this.userName, isBot: true };
    const { id, raw } = this.#chat.add(threadId, text, author);
    if (fault !== undefined) await thrown(fault);

    return { id, threadId, raw };
  }

  async editMessage(_threadId: string, messageId: string, message: ChatPostable): Promise<void> {
    const found = this.#chat.messages.find(({ id }) => id === messageId);
    if (!found) throw Object.assign(new Error("gone"), { code: "NOT_FOUND" });
    found.text = textPartOf(message);
  }

  async deleteMessage(_threadId: string, messageId: string): Promise<void> {
    const at = this.#chat.messages.findIndex(({ id }) => id === messageId);
    if (at < 0) throw Object.assign(new Error("gone"), { code: "NOT_FOUND" });
    this.#chat.messages.splice(at, 1);
  }

  async startTyping(threadId: string): Promise<void> {
    this.channelIdFromThreadId(threadId);
    this.typed.push(threadId);
  }

  async fetchMessages(
    threadId: string,
    { limit = 50, cursor }: ChatFetchOptions = {},
  ): Promise<ChatPage> {
    const all = this.#chat.messages.filter((one) => one.threadId === threadId);
    const end = cursor === undefined ? all.length : Number(cursor);
    const begin = Math.max(0, end - limit);
    const messages = all.slice(begin, end).map((one) => this.#seen(one));

    return { messages, nextCursor: begin === 0 ? undefined : String(begin) };
  }

  rehydrateAttachment(attachment: { fetchMetadata?: Record<string, string> }): never {
    const bytes = Buffer.from(attachment.fetchMetadata?.["content"] ?? "");
    return { ...attachment, fetchData: async () => bytes } as never;
  }

  parseMessage(raw: unknown): unknown {
    return revived(raw);
  }

  #seen(message: TestChatMessage): TestChatMessage {
    const isMe = message.author["userId"] === this.botUserId;
    return { ...message, author: { ...message.author, isMe } };
  }
}

/** The words of what is sent. */
function textPartOf(message: ChatPostable): string {
  if ("markdown" in message) return message.markdown;
  const texts = message.card.children.filter((child) => child.type === "text");

  return texts.map(({ content }) => content).join("\n");
}

/** What a request of the platform holds. */
export interface TestUpdate {
  readonly secret: string;
  readonly update: number;
  readonly threadId: string;
  readonly message: unknown;
}

/** Dates are texts in JSON. */
function revived(message: unknown): unknown {
  return { metadata: { dateSent: new Date(), edited: false }, ...(message as object) };
}

async function thrown({ code, retryAfter }: TestChatFault): Promise<never> {
  if (code === undefined) return new Promise(() => {});
  throw Object.assign(new Error(`refused as ${code}`), { code, retryAfter });
}
