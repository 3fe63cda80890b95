import { backOffMs } from "../../kernel/back-off.ts";
import { withTimeout } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelPort,
} from "../../rooms/channel-adapter.ts";
import { Audiences } from "../audiences.ts";
import { StateTeller } from "../state-teller.ts";
import type { ChatAdapter, ChatHost, ChatLogger, ChatState } from "./chat-types.ts";
import { Deliveries } from "./delivery.ts";
import { ask } from "./errors.ts";
import { AccountEvents } from "./events.ts";
import { botId, type Bot, type Listener } from "./heard.ts";
import { chatHost } from "./host.ts";
import { MemoryState } from "./memory-state.ts";
import type { ChatPlatform } from "./platforms.ts";

/** Waits between attempts that failed, milliseconds: doubled up to the second. */
const AGAIN = { firstMs: 1_000, maxMs: 30_000 } as const;
/** An adapter that does not end is left, milliseconds. */
const CLOSE_MS = 5_000;

/** One bot of a platform, as it was made. */
export interface ChatBot {
  /** The key in dure's configuration. */
  readonly account: string;
  readonly agent: string;
  readonly adapter: ChatAdapter;
}

export interface AccountLinkParts {
  /** The name of the kind. */
  readonly kind: string;
  readonly bot: ChatBot;
  readonly platform: ChatPlatform;
  /** The adapter asks its platform itself, and only where the account is connected. */
  readonly isPolling: boolean;
  readonly state: ChatState | undefined;
  readonly port: ChannelPort;
  readonly logger: ChatLogger;
  readonly timeoutMs: number;
  readonly channels: () => readonly string[];
  /** All bots of the kind. */
  readonly bots: () => readonly Bot[];
}

/**
 * One account at its adapter. An adapter that is told by requests works in every process, from its
 * first request or post on; one that asks its platform itself does so in the process that holds the
 * account alone.
 *
 * *starting* → *ready* ⇄ *reconnecting* → *stopped*, or *refused*.
 */
export class AccountLink {
  readonly adapter: ChatAdapter;
  readonly listener: Listener;
  readonly #parts: AccountLinkParts;
  readonly #state: ChatState;
  readonly #deliveries: Deliveries;
  readonly #host: ChatHost;
  readonly #audiences: Audiences;
  #account: ChannelAccount;
  #initialized: Promise<void> | undefined;

  constructor(parts: AccountLinkParts) {
    const { bot, port, platform, kind, bots, channels, logger } = parts;
    this.#parts = parts;
    this.adapter = bot.adapter;
    this.#account = { id: bot.account, agent: bot.agent, displayName: bot.agent };
    this.#state = parts.state ?? new MemoryState(port.clock);
    const { clock, logger: log } = port;
    this.#deliveries = new Deliveries({ clock, logger: log, account: bot.account });
    this.#audiences = new Audiences(port, () => this.account);
    const now = (): number => port.clock.now();
    this.listener = { kind, adapter: this.adapter, platform, bots, now };
    const events = new AccountEvents({
      port,
      listener: this.listener,
      account: () => this.account,
      self: () => this.self,
      channels,
    });
    const { userName } = this.adapter;
    const deliveries = this.#deliveries;
    this.#host = chatHost({ events, deliveries, state: this.#state, logger, userName });
  }

  /** How the platform calls it, as far as the adapter knows by now. */
  get self(): Bot {
    const { account } = this.#parts.bot;
    const userId = userIdOf(this.adapter);
    return { account, id: botId(userId, account), userId, userName: this.adapter.userName };
  }

  get account(): ChannelAccount {
    return { ...this.#account, platformId: this.self.id };
  }

  /** Ready to send. Rejects with a `ChannelError` that says that nothing was sent. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.#parts.isPolling) return;
    try {
      await this.#initialize(signal);
    } catch (error) {
      signal.throwIfAborted();
      const { failure = "transient" } = error instanceof ChannelError ? error : {};
      throw new ChannelError(failure, messageOf(error), { notSent: true, cause: error });
    }
  }

  /** Hands a request of the platform to the adapter; its answer comes when it is stored. */
  async take(request: Request): Promise<Response> {
    if (this.#parts.isPolling) return new Response("not taken", { status: 404 });
    const { port, bot } = this.#parts;
    try {
      await this.#initialize(new AbortController().signal);
    } catch (error) {
      port.logger.warn(
        { account: bot.account, err: error },
        `a request for ${bot.account} is not taken: its adapter is not ready (${messageOf(error)})`,
      );
      return new Response("not ready", { status: 503, headers: { "retry-after": "5" } });
    }

    return this.#deliveries.take(this.adapter, request, this.#state);
  }

  /** Connects until `signal` aborts or the platform refuses the account. */
  async run(account: ChannelAccount, signal: AbortSignal): Promise<void> {
    this.#account = account;
    const states = new StateTeller(this.#parts.port);
    states.tell(account, "starting"); // how the platform calls it is not known yet
    const refusal = await this.#connect(states, signal);
    if (refusal === undefined) {
      if (!signal.aborted) this.#tellReady(states, signal);
      await aborted(signal);
      await this.#pause();
      states.tell(this.account, "stopped");
    } else {
      states.tell(this.#account, "refused", refusal);
    }
    await states.settled();
  }

  /** Other channels are the team's than before. */
  async channelsChanged(): Promise<void> {
    this.#learnAudiences();
    await this.#audiences.tryToTell();
  }

  async close(): Promise<void> {
    if (this.#initialized === undefined) return;
    this.#initialized = undefined;
    await this.#disconnect();
  }

  /** Resolves with why the account is refused, or with nothing. */
  async #connect(states: StateTeller, signal: AbortSignal): Promise<string | undefined> {
    const { port, kind, bot } = this.#parts;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await this.#initialize(signal);
        return undefined;
      } catch (error) {
        if (signal.aborted) return undefined;
        const isRefused = error instanceof ChannelError && error.failure === "credential";
        if (isRefused) return messageOf(error);
        const waitMs = backOffMs(failures, AGAIN);
        states.tell(this.#account, "reconnecting", messageOf(error));
        port.logger.warn(
          { account: bot.account, waitMs, err: error },
          `${bot.account} is not connected to ${kind} (${messageOf(error)}); again in ${waitMs} ms`,
        );
        await port.clock.sleep(waitMs, { signal }).catch(() => {});
      }
    }

    return undefined;
  }

  async #initialize(signal: AbortSignal): Promise<void> {
    this.#initialized ??= this.#initializeOnce();
    const { clock } = this.#parts.port;
    const { kind: platform, timeoutMs } = this.#parts;
    await ask({ clock, timeoutMs, signal }, { platform, doing: "answer" }, () => this.#begun());
  }

  async #begun(): Promise<void> {
    await this.#initialized;
  }

  /** Adapters go on without knowing who they are when their platform does not answer. */
  async #initializeOnce(): Promise<void> {
    const { platform, kind } = this.#parts;
    try {
      await this.adapter.initialize(this.#host);
      if (platform.namesItself === true && userIdOf(this.adapter) === undefined) {
        throw new Error(`${kind} does not say who the account is: look at its token`);
      }
    } catch (error) {
      this.#initialized = undefined;
      throw error;
    }
  }

  #tellReady(states: StateTeller, signal: AbortSignal): void {
    this.#learnAudiences();
    states.tell(this.account, "ready", undefined, this.#audiences.tryToTell());
    void this.#readMissed(states, signal);
  }

  /** Never rejects. */
  async #readMissed(states: StateTeller, signal: AbortSignal): Promise<void> {
    const { port, bot } = this.#parts;
    await states.settled();
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await port.mayHaveMissed(this.account);
      } catch (error) {
        port.logger.warn(
          { account: bot.account, err: error },
          `what ${bot.account} may have missed could not be read (${messageOf(error)}); again soon`,
        );
        await port.clock.sleep(backOffMs(failures, AGAIN), { signal }).catch(() => {});
      }
    }
  }

  #learnAudiences(): void {
    const { kind, channels } = this.#parts;
    for (const channel of channels()) {
      const visibility = this.#visibilityOf(channel);
      if (visibility === undefined) continue;
      this.#audiences.learn({ adapter: kind, channel }, visibility === "workspace");
    }
  }

  /** A channel of the configuration may be none of the adapter. */
  #visibilityOf(channel: string): string | undefined {
    try {
      return this.adapter.getChannelVisibility?.(channel);
    } catch {
      return undefined;
    }
  }

  async #pause(): Promise<void> {
    if (!this.#parts.isPolling) return;
    this.#initialized = undefined;
    await this.#disconnect();
  }

  async #disconnect(): Promise<void> {
    const { port, bot } = this.#parts;
    const late = (): Error => new Error(`not ended within ${CLOSE_MS} ms`);
    try {
      await withTimeout(port.clock, CLOSE_MS, late, async () => this.adapter.disconnect?.());
    } catch (error) {
      port.logger.warn(
        { account: bot.account, err: error },
        `the adapter of ${bot.account} did not end in good order (${messageOf(error)})`,
      );
    }
  }
}

/** Some adapters throw until they know it. */
function userIdOf(adapter: ChatAdapter): string | undefined {
  try {
    return adapter.botUserId;
  } catch {
    return undefined;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
