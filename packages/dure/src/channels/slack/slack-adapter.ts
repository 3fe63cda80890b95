import { botTokenOf } from "../../kernel/bot-tokens.ts";
import { DureError } from "../../kernel/errors.ts";
import {
  type AskedAway,
  type AskedGone,
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
  type ThreadInUse,
  type Sign,
} from "../../rooms/channel-adapter.ts";
import { AppApi } from "./app-api.ts";
import { checkApp, noTokens } from "./check.ts";
import { AppConnection } from "./connection.ts";
import { findSlackFiles, postSlackFiles, readSlackFile, type SlackFilesParts } from "./files.ts";
import {
  idOf,
  metadataOf,
  POST_EVENT,
  SLACK,
  THREAD_EVENT,
  threadTsOf,
  toBody,
  tsOf,
  WIRE_TEXT_LENGTH,
} from "./mapping.ts";
import { loadSlackPackages, type SlackPackages } from "./packages.ts";
import { Reader, THREAD_NAME_LENGTH } from "./reader.ts";
import { earliestTs, namedThread, searchMessage } from "./search.ts";
import { toSlackText } from "./text.ts";
import { plainAnswer, postedAnswer } from "./wire.ts";

/** The two tokens of an app: of its bot (`xoxb-…`) and of its Socket Mode (`xapp-…`). */
export interface SlackTokens {
  readonly bot: string;
  readonly app: string;
  /**
   * Several accounts speak through this app, each under its own name, which needs the scope
   * `chat:write.customize`. Default: it is one agent's.
   */
  readonly isShared?: boolean | undefined;
}

/** How the adapter reaches Slack. Only `tokens` has to be there. */
export interface SlackOptions {
  /** Of each account, by the account's id. */
  readonly tokens: Readonly<Record<string, SlackTokens>>;
  /** The agent of each account that shares an app. Default: the account's id. */
  readonly agents?: Readonly<Record<string, string>> | undefined;
  /** Another server with the same protocol, such as `FakeSlack.url`. */
  readonly apiUrl?: string | undefined;
  /** Ids of the channels that are looked at. */
  readonly channels?: (() => readonly string[]) | undefined;
  /** Milliseconds for one request. Default 10,000: docs/spec/collaboration §6, E5. */
  readonly timeoutMs?: number | undefined;
  /**
   * Messages per app that may wait to be stored; more are left out and read again. Default 1,000.
   */
  readonly inboxLimit?: number | undefined;
  /**
   * Milliseconds without a word after which the channels are looked at: a connection that has told
   * nothing of what stands there is made anew. Default 300,000.
   */
  readonly quietMs?: number | undefined;
}

/** Source: slack.com/help, "Add files to Slack": up to 1 GB; what dure keeps is smaller. */
const FILE_BYTES = 1_000_000_000;
/** Slack names emoji in words. */
const SIGN_NAMES: Readonly<Record<Sign, string>> = { "👀": "eyes", "✅": "white_check_mark" };

/** What is kept of one app. */
interface App {
  readonly tokens: SlackTokens;
  readonly api: AppApi;
  readonly reader: Reader;
  readonly connection: AppConnection;
}

interface StartedSlack {
  readonly port: ChannelPort;
  readonly packages: SlackPackages;
}

/**
 * `ChannelAdapter` over the official clients: Socket Mode to hear, Web API to speak. Slack knows no
 * keys of messages. So dure looks for what may have arrived before it says it again, by the metadata
 * that each message carries.
 */
export class SlackAdapter implements ChannelAdapter {
  readonly name = SLACK;
  readonly isLocal = false;
  /** Room is left for what grows: `&` is `&amp;`, and a mention has an id of Slack. */
  readonly limits: ChannelLimits = {
    messageLength: WIRE_TEXT_LENGTH - 200,
    threadNameLength: THREAD_NAME_LENGTH,
    keyMemoryMs: 0,
    fileBytes: FILE_BYTES,
  };
  readonly #options: SlackOptions;
  readonly #apps = new Map<string, App>();
  /** Accounts as they were told to `connect`. */
  readonly #accounts = new Map<string, ChannelAccount>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  #started: StartedSlack | undefined;

  constructor(options: SlackOptions) {
    this.#options = options;
  }

  /** Loads the clients. @throws SLACK_CLIENTS_MISSING */
  async start(port: ChannelPort): Promise<void> {
    if (this.#started !== undefined) return;
    const packages = await loadSlackPackages();
    this.#started ??= { port, packages };
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error("The Slack adapter has stopped."));
    await Promise.allSettled(this.#running);
  }

  async connect(account: ChannelAccount, { signal }: { signal: AbortSignal }): Promise<void> {
    const { port } = this.#ready();
    if (this.#options.tokens[account.id] === undefined) {
      await port.accountChanged(account, "refused", {
        code: "token-missing",
        facts: { account: account.id },
        message: `There are no tokens for the account ${account.id}.`,
      });

      return;
    }
    this.#accounts.set(account.id, account);
    this.#forgetRefused(account.id);
    const app = this.#app(account);
    const run = app.connection.run(account, AbortSignal.any([signal, this.#stopped.signal]));
    this.#running.add(run);
    try {
      await run;
    } finally {
      this.#running.delete(run);
    }
  }

  async post(
    post: OutgoingPost,
    { signal }: { signal: AbortSignal },
  ): Promise<{ platformId: string }> {
    const app = this.#app(post.account);
    if (post.files) return postSlackFiles(post, this.#filesOf(app, signal));
    const { channel, ts } = await app.api.call({
      method: "chat.postMessage",
      args: {
        ...toBody(post),
        ...personaOf(app, post.account),
        thread_ts: threadTsOf(post.place),
        unfurl_links: false,
        unfurl_media: false,
      },
      answer: postedAnswer,
      doing: "post a message",
      channel: post.place.channel,
      signal,
    });

    return { platformId: idOf(channel, ts) };
  }

  edit(post: OutgoingPost, platformId: string, { signal }: { signal: AbortSignal }): Promise<void> {
    return this.#change(post.account, post.place, {
      method: "chat.update",
      args: { ...toBody(post), ts: tsOf(platformId) },
      doing: "edit a message",
      signal,
    });
  }

  react(
    account: ChannelAccount,
    place: PlaceAddress,
    { platformId, emoji, isSet }: { platformId: string; emoji: Sign; isSet: boolean },
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    return this.#change(account, place, {
      method: isSet ? "reactions.add" : "reactions.remove",
      args: { channel: place.channel, timestamp: tsOf(platformId), name: SIGN_NAMES[emoji] },
      doing: "set a reaction",
      signal,
    });
  }

  remove(
    account: ChannelAccount,
    place: PlaceAddress,
    platformId: string,
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    const args = { channel: place.channel, ts: tsOf(platformId) };
    const request = { method: "chat.delete", args, doing: "delete a message", signal } as const;
    return this.#change(account, place, request);
  }

  /** A thread hangs on the message that is its name. */
  removeThread(...[account, place, options]: AskedAway): Promise<void> {
    return this.remove(account, place, place.thread ?? "", options);
  }

  async #change(
    account: ChannelAccount,
    { channel }: PlaceAddress,
    request: Pick<Parameters<AppApi["call"]>[0], "method" | "args" | "doing" | "signal">,
  ): Promise<void> {
    await this.#app(account).api.call({ ...request, answer: plainAnswer, channel });
  }

  async findPost(
    post: OutgoingPost,
    { after, signal }: { after?: string | undefined; signal: AbortSignal },
  ): Promise<FoundOnPlatform> {
    const { api } = this.#app(post.account);
    if (post.files) {
      return findSlackFiles(post, { api, after: after === undefined ? "0" : tsOf(after), signal });
    }
    return searchMessage(
      api,
      {
        channel: post.place.channel,
        threadTs: threadTsOf(post.place),
        event: POST_EVENT,
        key: post.key,
        after: after === undefined ? undefined : tsOf(after),
      },
      signal,
    );
  }

  /** A thread of Slack hangs on a message: this one is its name. */
  async createThread(
    thread: OutgoingThread,
    { signal }: { signal: AbortSignal },
  ): Promise<{ platformId: string }> {
    const app = this.#app(thread.account);
    const { channel } = thread.channel;
    const { ts } = await app.api.call({
      method: "chat.postMessage",
      args: {
        channel,
        text: `🧵 ${toSlackText(thread.name, [])}`,
        metadata: metadataOf(THREAD_EVENT, { key: thread.key, account: thread.account.id }),
        ...personaOf(app, thread.account),
      },
      answer: postedAnswer,
      doing: "create a thread",
      channel,
      signal,
    });

    return { platformId: idOf(channel, ts) };
  }

  async findThread(
    thread: OutgoingThread,
    { signal }: { signal: AbortSignal },
  ): Promise<FoundOnPlatform> {
    const { api } = this.#app(thread.account);
    const { channel } = thread.channel;
    if (thread.named !== undefined) return namedThread(api, channel, thread.named, signal);
    const after = earliestTs(thread.since);

    return searchMessage(api, { channel, event: THREAD_EVENT, key: thread.key, after }, signal);
  }

  async readFile(
    account: ChannelAccount,
    file: FileOfMessage,
    { signal }: { signal: AbortSignal },
  ): Promise<Uint8Array> {
    return readSlackFile(file, this.#filesOf(this.#app(account), signal));
  }

  /** Slack shows no sign that an app writes. */
  typing(): void {}

  async readSince(
    account: ChannelAccount,
    place: PlaceAddress,
    options: { after?: string | undefined; limit: number; signal: AbortSignal },
  ): Promise<readonly InboundMessage[]> {
    return this.#app(account).reader.readSince(place, options);
  }

  isGone(...[account, place, platformId, { signal }]: AskedGone): Promise<boolean> {
    return this.#app(account).reader.isGone(place, tsOf(platformId), signal);
  }

  threadsInUse(account: ChannelAccount): readonly ThreadInUse[] {
    return this.#app(account).connection.threadsInUse();
  }

  channelsChanged(): void {
    for (const { connection } of this.#apps.values()) {
      connection.channelsChanged().catch(() => {}); // aborted: they are asked at the next connection
    }
  }

  /** Source: docs.slack.dev/reference/methods/chat.getPermalink, without asking for it. */
  linkTo({ channel, thread }: PlaceAddress): string {
    const url = [...this.#apps.values()].flatMap(({ api }) => api.identity?.url ?? [])[0];
    if (url === undefined || thread === undefined) return `<#${channel}>`;

    return `${url}archives/${channel}/p${tsOf(thread).replace(".", "")}`;
  }

  accountKey(agent: string): string {
    return botTokenOf(agent, "SLACK_BOT_TOKEN");
  }

  async check(
    account: ChannelAccount,
    { signal }: { signal: AbortSignal },
  ): Promise<readonly ChannelFinding[]> {
    if (this.#options.tokens[account.id] === undefined) {
      return [noTokens(account)];
    }
    const { api, tokens } = this.#app(account);
    const channels = this.#options.channels?.() ?? [];
    const socketApi = this.#apiOf(tokens.app, account.id, () => {});
    const hasPersonas = tokens.isShared === true;

    return checkApp({ api, socketApi, channels, hasPersonas }, account, signal);
  }

  #ready(): StartedSlack {
    if (this.#started === undefined) {
      throw new DureError("SLACK_NOT_STARTED", "The Slack adapter has not been started.", {
        hint: "Call start(port) first.",
      });
    }

    return this.#started;
  }

  #filesOf({ api, tokens }: App, signal: AbortSignal): SlackFilesParts {
    const { clock } = this.#ready().port;
    return { api, token: tokens.bot, apiUrl: this.#options.apiUrl, clock, signal };
  }

  /** A later `connect` may be with a token that works again. */
  #forgetRefused(account: string): void {
    const bot = this.#options.tokens[account]?.bot ?? "";
    if (this.#apps.get(bot)?.api.isRefused === true) this.#apps.delete(bot);
  }

  #app(account: ChannelAccount): App {
    const tokens = this.#options.tokens[account.id];
    if (tokens === undefined) {
      throw new ChannelError("credential", `There are no tokens for the account ${account.id}.`, {
        notSent: true,
      });
    }
    const known = this.#apps.get(tokens.bot);
    if (known !== undefined) return known;
    const app = this.#open(tokens);
    this.#apps.set(tokens.bot, app);

    return app;
  }

  /** Requests with one token. `name`: for the log. */
  #apiOf(token: string, name: string, onRefused: () => void): AppApi {
    const { port, packages } = this.#ready();
    const { apiUrl, timeoutMs = 10_000 } = this.#options;

    return new AppApi({
      packages,
      token,
      apiUrl,
      clock: port.clock,
      timeoutMs,
      debug: (line) => port.logger.debug({ account: name }, `Slack's client: ${line}`),
      onRefused,
    });
  }

  #open(tokens: SlackTokens): App {
    const { port, packages } = this.#ready();
    const { apiUrl, timeoutMs = 10_000, inboxLimit = 1000 } = this.#options;
    const { quietMs = 300_000, channels = () => [] } = this.#options;
    const { isShared = false } = tokens;
    const accounts = (): readonly ChannelAccount[] =>
      this.#accountsOf(tokens).map((id) => this.#accountOf(id, tokens));
    const name = isShared ? "the shared app" : (this.#accountsOf(tokens)[0] ?? "an app");
    const api: AppApi = this.#apiOf(tokens.bot, name, () => connection.refuse());
    const personas = (): readonly ChannelAccount[] => (isShared ? accounts() : []);
    const reader = new Reader(api, {
      clock: port.clock,
      personas,
      converted: (channel, seenByAll) => connection.converted(channel, seenByAll),
    });
    const connection: AppConnection = new AppConnection({
      name,
      port,
      api,
      reader,
      packages,
      appToken: tokens.app,
      apiUrl,
      timeoutMs,
      inboxLimit,
      quietMs,
      channels,
      accounts,
      platformIdOf: ({ id }) => this.#accountOf(id, tokens).platformId,
    });

    return { tokens, api, reader, connection };
  }

  /** Of a shared app all; else those that were told to connect. */
  #accountsOf({ bot, isShared }: SlackTokens): readonly string[] {
    return Object.entries(this.#options.tokens)
      .filter(([id, tokens]) => tokens.bot === bot && (isShared || this.#accounts.has(id)))
      .map(([id]) => id);
  }

  /** The id of one that shares an app is the platform's and its own. */
  #accountOf(id: string, { bot, isShared }: SlackTokens): ChannelAccount {
    const userId = this.#apps.get(bot)?.api.identity?.userId;
    const platformId = userId !== undefined && isShared ? `${userId}:${id}` : userId;
    const agent = this.#options.agents?.[id] ?? id;
    const account = this.#accounts.get(id) ?? { id, agent, displayName: agent };

    return { ...account, platformId };
  }
}

/** Source: docs.slack.dev/reference/scopes/chat.write.customize. */
function personaOf({ tokens }: App, { displayName }: ChannelAccount): object {
  return tokens.isShared ? { username: displayName.slice(0, 80) } : {};
}
