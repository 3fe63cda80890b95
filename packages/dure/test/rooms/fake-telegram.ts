import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type {
  TelegramChat,
  TelegramMessage,
  TelegramUpdate,
  TelegramUser,
} from "@chat-adapter/telegram";
import type { FailureOfPlatform } from "./channel-contract.ts";

/** An answer of the Bot API that is none of success. Source: core.telegram.org/bots/api#making-requests. */
interface Refusal {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after: number };
}

interface Fault {
  readonly refusal: Refusal | undefined;
  readonly afterDoing: boolean;
}

/** A bot as `BotFather` makes it. */
export interface FakeTelegramBot {
  readonly id: number;
  readonly token: string;
  readonly user: TelegramUser;
}

/** Where updates of a bot go instead of `getUpdates`. */
type Webhook = (update: Request) => Promise<Response>;

type Fields = Readonly<Record<string, unknown>>;
type Method = (bot: FakeTelegramBot, fields: Fields) => unknown;

const REFUSALS: Readonly<Record<FailureOfPlatform, Omit<Refusal, "parameters"> | undefined>> = {
  permission: {
    error_code: 403,
    description: "Forbidden: bot was kicked from the supergroup chat",
  },
  "not-found": { error_code: 400, description: "Bad Request: chat not found" },
  "rate-limited": { error_code: 429, description: "Too Many Requests" },
  unavailable: { error_code: 429, description: "Too Many Requests" },
  credential: { error_code: 401, description: "Unauthorized" },
  full: { error_code: 413, description: "Request Entity Too Large" },
  transient: { error_code: 502, description: "Bad Gateway" },
  hang: undefined,
};

/** Methods that show something. */
const POSTS = new Set(["sendMessage", "sendRichMessage", "sendDocument", "sendMediaGroup"]);

/**
 * The Bot API of Telegram, as far as its adapter of `chat` uses it, with the types that the adapter
 * publishes. What bots write reaches no bot. Source: core.telegram.org/bots/api.
 */
export class FakeTelegram {
  readonly calls: { readonly method: string; readonly fields: Fields }[] = [];
  readonly messages: TelegramMessage[] = [];
  /** Requests of webhooks that were not answered with 200. */
  refused = 0;
  /** Whether it knows `sendRichMessage`: servers of the Bot API that people host may be older. */
  isRich = true;
  readonly #bots: FakeTelegramBot[] = [];
  readonly #chats = new Map<number, TelegramChat>();
  readonly #updates = new Map<string, TelegramUpdate[]>();
  readonly #webhooks = new Map<string, { secret: string; take: Webhook }>();
  readonly #waiting = new Map<string, () => void>();
  readonly #files = new Map<string, Uint8Array>();
  readonly #faults: Fault[] = [];
  readonly #server: Server;
  #ids = 100;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeTelegram> {
    const server = createServer();
    const telegram = new FakeTelegram(server);
    server.on("request", (request, response) => void telegram.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

    return telegram;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  addBot(username: string): FakeTelegramBot {
    const id = 7_000 + this.#bots.length;
    const user = { id, is_bot: true, first_name: username, username };
    const bot = { id, token: `${id}:secret`, user };
    this.#bots.push(bot);
    this.#updates.set(bot.token, []);

    return bot;
  }

  addGroup(title: string): TelegramChat {
    return this.#addChat({ id: -1_001_000 - this.#chats.size, type: "supergroup", title });
  }

  addPerson(first_name: string): TelegramUser {
    const id = 500 + this.#chats.size;
    this.#addChat({ id, type: "private", first_name });

    return { id, is_bot: false, first_name, username: `person${id}` };
  }

  /** Updates of a bot are posted from here on, until they are answered with 200. */
  setWebhook(bot: FakeTelegramBot, secret: string, take: Webhook): void {
    this.#webhooks.set(bot.token, { secret, take });
  }

  /** A person's message, told to each bot that is there. */
  async say(
    from: TelegramUser,
    chat: { readonly id: number },
    given: Partial<TelegramMessage>,
  ): Promise<TelegramMessage> {
    const message = this.#addMessage(from, chat.id, given);
    await this.#tell({ message });

    return message;
  }

  async edit(message: TelegramMessage, text: string): Promise<void> {
    Object.assign(message, { text, edit_date: now() });
    await this.#tell({ edited_message: message });
  }

  /** A person presses a button below a message. */
  async press(from: TelegramUser, message: TelegramMessage, data: string): Promise<void> {
    const id = String(this.#nextId());
    await this.#tell({ callback_query: { id, from, message, data, chat_instance: "1" } });
  }

  /** A person sets an emoji below a message. */
  async react(user: TelegramUser, message: TelegramMessage, emoji: string): Promise<void> {
    const { chat, message_id, date } = message;
    const new_reaction = [{ type: "emoji" as const, emoji }];
    const reaction = { chat, message_id, date, user, old_reaction: [], new_reaction };
    await this.#tell({ message_reaction: reaction });
  }

  addFile(content: string): string {
    const id = `file${this.#nextId()}`;
    this.#files.set(id, Buffer.from(content));

    return id;
  }

  shown(chatId: number): readonly string[] {
    return this.messages
      .filter(({ chat }) => chat.id === chatId)
      .map((message) => message.text ?? message.caption ?? "");
  }

  /** The next message is refused so, or never answered. */
  fail(
    failure: FailureOfPlatform,
    { afterDoing = false, retryAfterMs = 1_000 }: { afterDoing?: boolean; retryAfterMs?: number },
  ): void {
    const known = REFUSALS[failure];
    const parameters = { retry_after: Math.ceil(retryAfterMs / 1_000) };
    const refusal = known?.error_code === 429 ? { ...known, parameters } : known;
    this.#faults.push({ refusal, afterDoing });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bytesOf(request);
    const [, kind = "", ...rest] = (request.url ?? "").split("/");
    const isFile = kind === "file";
    const token = (isFile ? (rest.shift() ?? "") : kind).replace(/^bot/u, "");
    const bot = this.#bots.find((one) => one.token === token);
    if (!bot) return answer(response, refusalOf(401, "Unauthorized"));
    if (isFile) {
      const bytes = this.#files.get(rest.join("/"));
      response.writeHead(bytes ? 200 : 404).end(bytes);
      return;
    }
    const method = rest[0] ?? "";
    const fields = await fieldsOf(request, body);
    this.calls.push({ method, fields });
    const fault = POSTS.has(method) ? this.#faults.shift() : undefined;
    if (fault && fault.refusal === undefined) return;
    if (fault && !fault.afterDoing) return answer(response, fault.refusal!);
    const given = await this.#call(method, bot, fields);
    answer(response, fault?.refusal ?? given);
  }

  async #call(method: string, bot: FakeTelegramBot, fields: Fields): Promise<unknown> {
    const known = this.#methods[method];
    const isKnown = known !== undefined && (this.isRich || method !== "sendRichMessage");
    if (!isKnown) return refusalOf(404, "Not Found: method not found");
    try {
      return { ok: true, result: await known(bot, fields) };
    } catch (error) {
      return refusalOf(400, `Bad Request: ${(error as Error).message}`);
    }
  }

  readonly #methods: Readonly<Record<string, Method>> = {
    getMe: (bot) => bot.user,
    deleteWebhook: (bot) => this.#webhooks.delete(bot.token) || true,
    getWebhookInfo: () => ({ url: "", has_custom_certificate: false, pending_update_count: 0 }),
    getUpdates: (bot, fields) => this.#poll(bot, fields),
    getChat: (_bot, { chat_id }) => this.#chat(chat_id),
    sendChatAction: (_bot, { chat_id }) => this.#chat(chat_id) !== undefined,
    setMessageReaction: () => true,
    answerCallbackQuery: () => true,
    getFile: (_bot, { file_id }) => ({ file_id, file_path: file_id }),
    sendMessage: (bot, fields) => this.#send(bot, fields, { text: textOf(fields["text"], fields) }),
    sendRichMessage: (bot, fields) => {
      const { markdown } = fields["rich_message"] as { markdown: string };
      return this.#send(bot, fields, { text: textOf(markdown, {}) });
    },
    sendDocument: (bot, fields) => {
      const { name = "", size = 0 } = fields["document"] as { name?: string; size?: number };
      const document = { file_id: `sent${name}`, file_name: name, file_size: size };
      return this.#send(bot, fields, { caption: name, document });
    },
    editMessageText: (bot, fields) => {
      const message = this.#own(bot, fields, "edit");
      const { markdown } = (fields["rich_message"] ?? {}) as { markdown?: string };
      const text = markdown ?? textOf(fields["text"], fields);
      if (text === message.text) throw new Error("message is not modified");
      return Object.assign(message, { text });
    },
    deleteMessage: (bot, fields) => {
      this.messages.splice(this.messages.indexOf(this.#own(bot, fields, "delete")), 1);
      return true;
    },
  };

  async #poll(bot: FakeTelegramBot, { offset = 0, timeout = 0 }: Fields): Promise<unknown> {
    if (this.#webhooks.has(bot.token)) throw new Error("can't use getUpdates while a webhook is");
    const updates = this.#updates.get(bot.token)!;
    const begin = updates.findIndex(({ update_id }) => update_id >= Number(offset));
    updates.splice(0, begin < 0 ? updates.length : begin);
    if (updates.length === 0 && Number(timeout) > 0) {
      await new Promise<void>((resolve) => {
        this.#waiting.set(bot.token, resolve);
        setTimeout(resolve, Number(timeout) * 1_000).unref();
      });
    }

    return [...updates];
  }

  async #tell(given: Omit<TelegramUpdate, "update_id">): Promise<void> {
    const update = { update_id: this.#nextId(), ...given };
    await Promise.all(this.#bots.map((bot) => this.#tellBot(bot, update)));
  }

  async #tellBot({ token }: FakeTelegramBot, update: TelegramUpdate): Promise<void> {
    const webhook = this.#webhooks.get(token);
    if (webhook === undefined) {
      this.#updates.get(token)!.push(update);
      this.#waiting.get(token)?.();
      return;
    }
    for (let tries = 0; tries < 3; tries++) {
      const headers = {
        "content-type": "application/json",
        "x-telegram-bot-api-secret-token": webhook.secret,
      };
      const body = JSON.stringify(update);
      const request = new Request("https://dure.example/", { method: "POST", headers, body });
      if ((await webhook.take(request)).status === 200) return;
      this.refused += 1;
    }
  }

  #send(bot: FakeTelegramBot, fields: Fields, given: Partial<TelegramMessage>): TelegramMessage {
    const { id } = this.#chat(fields["chat_id"]);
    const thread = fields["message_thread_id"];

    return this.#addMessage(bot.user, id, {
      ...given,
      ...(thread === undefined ? {} : { message_thread_id: Number(thread) }),
    });
  }

  #own(bot: FakeTelegramBot, fields: Fields, what: string): TelegramMessage {
    const id = Number(fields["message_id"]);
    const message = this.messages.find((one) => one.message_id === id);
    if (!message) throw new Error(`message to ${what} not found`);
    if (message.from?.id !== bot.id) throw new Error(`message can't be ${what}ed`);

    return message;
  }

  #chat(id: unknown): TelegramChat {
    const chat = this.#chats.get(Number(id));
    if (!chat) throw new Error("chat not found");

    return chat;
  }

  #addChat(chat: TelegramChat): TelegramChat {
    this.#chats.set(chat.id, chat);
    return chat;
  }

  #addMessage(from: TelegramUser, chatId: number, given: object): TelegramMessage {
    const chat = this.#chat(chatId);
    const message = { message_id: this.#nextId(), date: now(), chat, from, ...given };
    this.messages.push(message);

    return message;
  }

  #nextId(): number {
    this.#ids += 1;
    return this.#ids;
  }
}

/** Signs that stand for formatting unless a backslash is before them. */
const RESERVED = /(?<!\\)[_*[\]()~`>#+=|{}.!-]/u;

/** @throws where Telegram refuses it. Source: #sendmessage and #markdownv2-style. */
function textOf(given: unknown, { parse_mode }: Fields): string {
  const text = typeof given === "string" ? given : "";
  if (text.trim() === "") throw new Error("message text is empty");
  if (text.length > 4_096) throw new Error("message is too long");
  if (parse_mode !== "MarkdownV2") return text;
  const plain = text.replace(/\*([^*]+)\*/gu, "$1");
  const reserved = RESERVED.exec(plain)?.[0];
  if (reserved !== undefined) throw new Error(`can't parse entities: "${reserved}" is reserved`);

  return plain.replace(/\\(.)/gu, "$1");
}

function refusalOf(error_code: number, description: string): Refusal {
  return { error_code, description };
}

function answer(response: ServerResponse, given: unknown): void {
  const refusal = given as Partial<Refusal>;
  const body = refusal.error_code === undefined ? given : { ok: false, ...refusal };
  const headers = { "content-type": "application/json" };
  response.writeHead(refusal.error_code ?? 200, headers).end(JSON.stringify(body));
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);

  return Buffer.concat(pieces);
}

async function fieldsOf(request: IncomingMessage, body: Buffer): Promise<Fields> {
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("application/json")) return JSON.parse(body.toString()) as Fields;
  const form = await new Response(new Uint8Array(body), {
    headers: { "content-type": type },
  }).formData();

  return Object.fromEntries(form.entries());
}

/** Seconds. */
function now(): number {
  return Math.floor(Date.now() / 1_000);
}
