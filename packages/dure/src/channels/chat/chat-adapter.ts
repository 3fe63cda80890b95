import { DureError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelAdapter,
  type ChannelFinding,
  type ChannelLimits,
  type ChannelPort,
  type FileOfMessage,
  type FoundOnPlatform,
  type InboundMessage,
  type OutgoingPost,
  type OutgoingThread,
  type PlaceAddress,
} from "../../rooms/channel-adapter.ts";
import { AccountLink, type ChatBot } from "./account-link.ts";
import type { ChatState } from "./chat-types.ts";
import { ask } from "./errors.ts";
import { attachmentIn, heardMessage, messageIdOf, platformIdOf, threadIdOf } from "./heard.ts";
import { isSameText, saidSince, type Said } from "./history.ts";
import { chatLogger } from "./host.ts";
import type { ChatPlatform } from "./platforms.ts";
import { postableOf, sendPost, sendTo, textOfPost, threadTitle } from "./sent.ts";

/** What a platform by an adapter of `chat` is made of. */
export interface ChatChannelOptions {
  /** Of the kind. */
  readonly name: string;
  readonly bots: readonly ChatBot[];
  readonly platform: ChatPlatform;
  readonly isPolling: boolean;
  readonly state: ChatState | undefined;
  /** The platform's ids of the team's channels. */
  readonly channels: () => readonly string[];
  /** Milliseconds for one request. Default 10,000: docs/spec/collaboration §6, E5. */
  readonly timeoutMs?: number | undefined;
}

/** Milliseconds for a message with files. */
const FILES_MS = 60_000;
/** Characters of a thread's name: it is the message that begins it. */
const THREAD_NAME_LENGTH = 100;
/** Messages that are looked through where nothing says how far back. */
const LOOKED_THROUGH = 200;
/** The clock of a platform may be so much behind, milliseconds. */
const CLOCK_SKEW_MS = 60_000;

/**
 * `ChannelAdapter` over adapters of the npm package `chat`, one per account. They know no keys of
 * messages; and where their platform gives nothing back, what may have arrived cannot be looked for.
 */
export class ChatChannelAdapter implements ChannelAdapter {
  readonly name: string;
  readonly isLocal = false;
  readonly limits: ChannelLimits;
  declare readonly edit?: NonNullable<ChannelAdapter["edit"]>;
  declare readonly remove?: NonNullable<ChannelAdapter["remove"]>;
  readonly #options: ChatChannelOptions;
  /** By the account's id. */
  readonly #links = new Map<string, AccountLink>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  #port: ChannelPort | undefined;

  constructor(options: ChatChannelOptions) {
    this.#options = options;
    this.name = options.name;
    const { messageLength, fileBytes, edits } = options.platform;
    const threadNameLength = THREAD_NAME_LENGTH;
    this.limits = { messageLength, threadNameLength, fileBytes, keyMemoryMs: 0 };
    if (!edits) return;
    this.edit = (post, platformId, by) => this.#edit(post, platformId, by.signal);
    this.remove = (account, place, platformId, { signal }) =>
      this.#ask(account, { doing: "delete a message", signal }, ({ adapter }) =>
        adapter.deleteMessage(threadIdOf(place), messageIdOf(place, platformId)),
      );
  }

  async start(port: ChannelPort): Promise<void> {
    if (this.#port !== undefined) return;
    this.#port = port;
    const { name: kind, bots, isPolling, platform, state, channels } = this.#options;
    const links = this.#links;
    for (const bot of bots) {
      const link = new AccountLink({
        kind,
        bot,
        platform,
        isPolling,
        state,
        port,
        logger: chatLogger(port.logger, bot.account),
        timeoutMs: this.#timeoutMs,
        channels,
        bots: () => [...links.values()].map(({ self }) => self),
      });
      links.set(bot.account, link);
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error(`The adapter of ${this.name} has stopped.`));
    await Promise.allSettled(this.#running);
    await Promise.all([...this.#links.values()].map((link) => link.close()));
  }

  async connect(account: ChannelAccount, { signal }: { signal: AbortSignal }): Promise<void> {
    const link = this.#links.get(account.id);
    if (link === undefined) {
      await this.#started().accountChanged(account, "refused", `${this.name} has no such account.`);
      return;
    }
    const run = link.run(account, AbortSignal.any([signal, this.#stopped.signal]));
    this.#running.add(run);
    try {
      await run;
    } finally {
      this.#running.delete(run);
    }
  }

  /** What the platform posts to dure's server. `account`: whose, where there are several. */
  async webhook(request: Request, account: string | undefined): Promise<Response> {
    const links = [...this.#links.values()];
    const isFor = ({ account: { id, agent } }: AccountLink): boolean =>
      account === undefined ? links.length === 1 : id === account || agent === account;
    const link = links.find(isFor);
    if (this.#port === undefined || this.#stopped.signal.aborted) {
      return new Response("not here now", { status: 503, headers: { "retry-after": "5" } });
    }
    if (link === undefined) return new Response("not here", { status: 404 });

    return link.take(request);
  }

  async post(
    post: OutgoingPost,
    { signal }: { signal: AbortSignal },
  ): Promise<{ platformId: string }> {
    const link = this.#link(post.account);
    const timeoutMs = post.files === undefined ? this.#timeoutMs : FILES_MS;
    await link.ready(signal);
    const sent = await sendPost(link.adapter, post, (work) =>
      ask(
        { clock: this.#started().clock, timeoutMs, signal },
        { platform: this.name, doing: "post a message" },
        work,
      ),
    );

    return { platformId: sent.id === "" ? "" : platformIdOf(post.place, sent.id) };
  }

  async findPost(
    post: OutgoingPost,
    { after, signal }: { after?: string | undefined; signal: AbortSignal },
  ): Promise<FoundOnPlatform> {
    const link = this.#link(post.account);
    // What an adapter gives back of a file differs: a person can tell.
    if (!this.#hasHistory(link) || post.files !== undefined) return { found: "unsure" };
    const said = await this.#said(post.account, post.place, { after, signal }).catch(unlessRefused);
    if (said === undefined) return { found: "unsure" };
    const text = textOfPost(post);
    const found = said.messages
      .filter((one) => isOwn(one, link.self.userId))
      .find((one) => isSameText(textIn(one), text));
    if (found !== undefined) {
      return { found: "yes", platformId: platformIdOf(post.place, textMember(found, "id")) };
    }

    return { found: said.isWhole ? "no" : "unsure" };
  }

  /** A thread hangs on a message in the channel: this one is its name. */
  async createThread(
    { account, channel, name }: OutgoingThread,
    { signal }: { signal: AbortSignal },
  ): Promise<{ platformId: string }> {
    const { threadBelow } = this.#options.platform;
    if (threadBelow === undefined) {
      throw new ChannelError("invalid", `dure makes no threads on ${this.name}.`, {
        detail: "no threads",
      });
    }
    const thread = await this.#ask(
      account,
      { doing: "create a thread", signal },
      async ({ adapter }) => {
        const sent = await sendTo(adapter, channel, { markdown: threadTitle(name) });
        return threadBelow(adapter, channel.channel, sent);
      },
    );

    return { platformId: thread ?? "" };
  }

  async findThread(
    thread: OutgoingThread,
    { signal }: { signal: AbortSignal },
  ): Promise<FoundOnPlatform> {
    const { threadBelow } = this.#options.platform;
    if (threadBelow === undefined) return { found: "no" };
    const link = this.#link(thread.account);
    if (!this.#hasHistory(link) || thread.named !== undefined) return { found: "unsure" };
    const all = { after: undefined, signal };
    const said = await this.#said(thread.account, thread.channel, all).catch(unlessRefused);
    if (said === undefined) return { found: "unsure" };
    const found = said.messages
      .filter((one) => isOwn(one, link.self.userId) && isSince(one, thread.since))
      .find((one) => isSameText(textIn(one), threadTitle(thread.name)));
    if (found === undefined) return { found: said.isWhole ? "no" : "unsure" };
    const sent = {
      id: textMember(found, "id"),
      threadId: textMember(found, "threadId"),
      raw: isObject(found) ? found["raw"] : undefined,
    };
    const platformId = threadBelow(link.adapter, thread.channel.channel, sent);

    return platformId === undefined ? { found: "unsure" } : { found: "yes", platformId };
  }

  async readFile(
    account: ChannelAccount,
    { attachment, maxBytes }: FileOfMessage,
    { signal }: { signal: AbortSignal },
  ): Promise<Uint8Array> {
    const { adapter } = this.#link(account);
    const held = attachmentIn(attachment.id);
    const fetchData = held && adapter.rehydrateAttachment?.(held).fetchData;
    if (fetchData === undefined) {
      throw new ChannelError("not-found", `${attachment.name} cannot be read on ${this.name}.`);
    }
    if ((attachment.size ?? 0) > maxBytes) throw tooLarge(attachment.name, maxBytes);
    const data = await this.#ask(
      account,
      { doing: `give ${attachment.name}`, signal, timeoutMs: FILES_MS },
      fetchData,
    );
    const bytes = new Uint8Array(data);
    if (bytes.length > maxBytes) throw tooLarge(attachment.name, maxBytes);

    return bytes;
  }

  typing(account: ChannelAccount, place: PlaceAddress): void {
    const { signal } = this.#stopped;
    const show = async (): Promise<void> =>
      this.#ask(account, { doing: "show that it writes", signal }, ({ adapter }) =>
        adapter.startTyping(threadIdOf(place)),
      );
    show().catch(() => {}); // nothing hangs on it
  }

  async readSince(
    account: ChannelAccount,
    place: PlaceAddress,
    { after, limit, signal }: { after?: string | undefined; limit: number; signal: AbortSignal },
  ): Promise<readonly InboundMessage[]> {
    const link = this.#link(account);
    const isSilent = place.thread === undefined && this.#options.platform.hasOnlyThreads === true;
    if (isSilent || !this.#hasHistory(link)) return [];
    const { messages } = await this.#said(account, place, { after, signal, most: limit });
    const read = messages.flatMap(
      (one) => heardMessage(one, { self: link.self, listener: link.listener })?.message ?? [],
    );

    return after === undefined ? read.slice(-limit) : read.slice(0, limit);
  }

  channelsChanged(): void {
    for (const link of this.#links.values()) void link.channelsChanged();
  }

  /** An adapter has no question that changes nothing: that it could be made is all there is. */
  async check({ id, agent }: ChannelAccount): Promise<readonly ChannelFinding[]> {
    const found = this.#links.get(id);
    if (found === undefined) {
      return [{ ok: false, what: `${agent} has no adapter on ${this.name}` }];
    }
    const { name } = found.adapter;
    return [{ ok: true, what: `${agent} has an adapter of ${name}; its token is not looked at` }];
  }

  get #timeoutMs(): number {
    return this.#options.timeoutMs ?? 10_000;
  }

  #started(): ChannelPort {
    if (this.#port !== undefined) return this.#port;
    throw new DureError("CHAT_NOT_STARTED", `The adapter of ${this.name} has not been started.`, {
      hint: "Call start(port) first.",
    });
  }

  #link({ id }: ChannelAccount): AccountLink {
    this.#started();
    const link = this.#links.get(id);
    if (link !== undefined) return link;
    throw new ChannelError("credential", `There is no account ${id} on ${this.name}.`, {
      notSent: true,
    });
  }

  #hasHistory({ adapter }: AccountLink): boolean {
    return this.#options.platform.hasHistory ?? adapter.persistThreadHistory !== true;
  }

  async #edit(post: OutgoingPost, platformId: string, signal: AbortSignal): Promise<void> {
    const { place } = post;
    try {
      await this.#ask(post.account, { doing: "edit a message", signal }, ({ adapter }) =>
        adapter.editMessage(threadIdOf(place), messageIdOf(place, platformId), postableOf(post)),
      );
    } catch (error) {
      if (!saysUnchanged(error)) throw error;
    }
  }

  async #said(
    account: ChannelAccount,
    place: PlaceAddress,
    {
      after,
      signal,
      most = LOOKED_THROUGH,
    }: {
      after: string | undefined;
      signal: AbortSignal;
      most?: number;
    },
  ): Promise<Said> {
    const { adapter } = this.#link(account);
    return saidSince(adapter, place, { after, most }, (work) =>
      this.#ask(account, { doing: "give what was said", signal }, work),
    );
  }

  async #ask<T>(
    account: ChannelAccount,
    {
      doing,
      signal,
      timeoutMs = this.#timeoutMs,
    }: {
      doing: string;
      signal: AbortSignal;
      timeoutMs?: number;
    },
    work: (link: AccountLink) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#started();
    const link = this.#link(account);
    await link.ready(signal);

    return ask({ clock, timeoutMs, signal }, { platform: this.name, doing }, () => work(link));
  }
}

/** The account may not look, or the adapter cannot: a person can tell. */
function unlessRefused(error: unknown): undefined {
  const { failure = "transient" } = error instanceof ChannelError ? error : {};
  if (failure !== "permission" && failure !== "invalid") throw error;
}

/** Telegram refuses an edit that changes nothing. */
function saysUnchanged(error: unknown): boolean {
  return error instanceof ChannelError && error.failure === "invalid"
    ? error.message.includes("message is not modified")
    : false;
}

/** Whether a message is the account's own. */
function isOwn(message: unknown, userId: string | undefined): boolean {
  const author = isObject(message) ? message["author"] : undefined;
  if (!isObject(author)) return false;
  return author["isMe"] === true || (userId !== undefined && author["userId"] === userId);
}

function isSince(message: unknown, since: number): boolean {
  const metadata = isObject(message) ? message["metadata"] : undefined;
  const sent = isObject(metadata) ? metadata["dateSent"] : undefined;
  return sent instanceof Date && sent.getTime() >= since - CLOCK_SKEW_MS;
}

function textIn(message: unknown): string {
  return textMember(message, "text");
}

function textMember(value: unknown, name: string): string {
  const text = isObject(value) ? value[name] : undefined;
  return typeof text === "string" ? text : "";
}

function tooLarge(name: string, maxBytes: number): ChannelError {
  return new ChannelError("full", `${name} is larger than ${maxBytes} bytes.`);
}
