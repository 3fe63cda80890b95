import { backOffMs } from "../../kernel/back-off.ts";
import { messageOf } from "../../kernel/errors.ts";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelPort,
  type ThreadInUse,
} from "../../rooms/channel-adapter.ts";
import { Inbox } from "../inbox.ts";
import { StateTeller } from "../state-teller.ts";
import type { AppApi } from "./app-api.ts";
import { SlackEvents } from "./events.ts";
import type { SlackPackages } from "./packages.ts";
import type { Reader } from "./reader.ts";
import { SilenceWatch } from "./silence.ts";
import { Viewers } from "./viewers.ts";
import { runSocket, type SocketEnd, type SocketEnvelope } from "./socket.ts";

export interface AppConnectionOptions {
  /** For the log: the account, or the app that several share. */
  readonly name: string;
  readonly port: ChannelPort;
  readonly api: AppApi;
  readonly reader: Reader;
  readonly packages: SlackPackages;
  readonly appToken: string;
  readonly apiUrl: string | undefined;
  readonly timeoutMs: number;
  readonly inboxLimit: number;
  /** Without a word for so long the channels are looked at, milliseconds. */
  readonly quietMs: number;
  /** Channels in which threads are looked for. */
  readonly channels: () => readonly string[];
  /** All whose app it is, also those that another process has connected. */
  readonly accounts: () => readonly ChannelAccount[];
  /** An account's id at the platform, once the app knows its own. */
  readonly platformIdOf: (account: ChannelAccount) => string | undefined;
}

/** Waits between connections that failed, milliseconds: doubled up to the second. */
const RECONNECT = { firstMs: 1_000, maxMs: 30_000 } as const;

interface ConnectedAccount {
  account: ChannelAccount;
  readonly states: StateTeller;
}

/**
 * One app at Socket Mode, as long as an account of it is connected in this process. Slack gives an
 * event to any one of an app's connections. So this one hands what it hears to every account of the
 * app, also to one that another process has connected.
 *
 * Of an account: *starting* → *ready* ⇄ *reconnecting* → *stopped*, or *refused*.
 */
export class AppConnection {
  readonly #options: AppConnectionOptions;
  readonly #members = new Map<string, ConnectedAccount>();
  readonly #refused = new AbortController();
  readonly #silence: SilenceWatch;
  readonly #viewers: Viewers;
  #threads: readonly ThreadInUse[] = [];
  #over = new AbortController();
  #loop: Promise<string | undefined> | undefined;
  #inbox: Inbox | undefined;
  #isReady = false;
  #failures = 0;

  constructor(options: AppConnectionOptions) {
    this.#options = options;
    const { name, quietMs, port, reader, channels, accounts } = options;
    this.#viewers = new Viewers({ name, port, reader, channels, accounts });
    const look = async (signal: AbortSignal): Promise<string> =>
      (await reader.look(channels(), signal)).newest;
    this.#silence = new SilenceWatch({
      clock: port.clock,
      logger: port.logger,
      name,
      quietMs,
      look,
    });
  }

  /** Connects an account until `signal` aborts or a token is refused. */
  async run(account: ChannelAccount, signal: AbortSignal): Promise<void> {
    const member: ConnectedAccount = { account, states: new StateTeller(this.#options.port) };
    member.states.tell(account, "starting");
    this.#members.set(account.id, member);
    this.#loop ??= this.#begin();
    const loop = this.#loop;
    if (this.#isReady) {
      this.#tellReady(member);
      this.#inbox?.readGap();
    }
    const refusal = await Promise.race([loop, aborted(signal)]);
    this.#members.delete(account.id);
    if (this.#members.size === 0) {
      this.#over.abort(new Error("No account is connected any more."));
      await loop;
    }
    if (refusal === undefined) member.states.tell(member.account, "stopped");
    else member.states.tell(member.account, "refused", refusal);
    await member.states.settled();
  }

  threadsInUse(): readonly ThreadInUse[] {
    return this.#threads;
  }

  /** The configuration has other channels than before. */
  async channelsChanged(): Promise<void> {
    this.#viewers.audiences.forgetTold();
    if (this.#isReady) await this.#viewers.ask(this.#over.signal);
    await this.#viewers.audiences.tryToTell();
  }

  /** Resolves when it is stored. */
  async converted(channel: string, seenByAll: boolean): Promise<void> {
    await this.#viewers.learn(channel, seenByAll);
  }

  /** A token was refused over HTTP: the connection ends too. */
  refuse(): void {
    this.#refused.abort(new Error("The token was refused."));
  }

  /** Resolves with why a token is of no use, or with nothing after an abort. */
  async #begin(): Promise<string | undefined> {
    this.#over = new AbortController();
    const { port, name, inboxLimit, reader, accounts } = this.#options;
    const signal = AbortSignal.any([this.#over.signal, this.#refused.signal]);
    const inbox = new Inbox({
      clock: port.clock,
      logger: port.logger,
      account: name,
      limit: inboxLimit,
      readMissed: () => this.#readMissed(signal),
    });
    this.#inbox = inbox;
    const viewers = this.#viewers;
    const parts = { name, port, inbox, reader, viewers, accounts };
    const events = new SlackEvents({ ...parts, signal: () => signal });
    const refusal = await this.#keepConnected(events, signal);
    this.#isReady = false;
    await inbox.close();
    this.#loop = undefined;

    return refusal;
  }

  async #keepConnected(events: SlackEvents, signal: AbortSignal): Promise<string | undefined> {
    const { port, name, api } = this.#options;
    while (!signal.aborted) {
      const ended = await this.#connectOnce(events, signal);
      this.#isReady = false;
      if (ended.end === "refused") {
        api.refuse();
        return ended.detail;
      }
      if (ended.end === "stopped") break;
      if (ended.end === "refresh") {
        port.logger.debug({ account: name }, `${name} connects to Slack anew`);
        continue;
      }
      await this.#rest(ended.detail, signal);
    }

    return this.#refused.signal.aborted ? "Slack does not accept the bot token." : undefined;
  }

  async #rest(detail: string, signal: AbortSignal): Promise<void> {
    const { port, name } = this.#options;
    const waitMs = backOffMs(++this.#failures, RECONNECT);
    port.logger.warn(
      { account: name, waitMs },
      `${name} is not connected to Slack (${detail}); again in ${waitMs} ms`,
    );
    for (const { account, states } of this.#members.values()) {
      states.tell(account, "reconnecting", detail);
    }
    await port.clock.sleep(waitMs, { signal }).catch(() => {});
  }

  async #connectOnce(events: SlackEvents, signal: AbortSignal): Promise<SocketEnd> {
    try {
      await this.#options.api.whoAmI(signal);
      await this.#viewers.ask(signal);
    } catch (error) {
      if (signal.aborted) return { end: "stopped" };
      const isRefused = error instanceof ChannelError && error.failure === "credential";

      return { end: isRefused ? "refused" : "failed", detail: messageOf(error) };
    }
    const over = new AbortController();
    const whileOpen = AbortSignal.any([signal, over.signal]);
    let isDeaf = false;
    const watching = this.#silence.watch(() => {
      isDeaf = true;
      over.abort(new Error("The connection is deaf."));
    }, whileOpen);
    const ended = await this.#runSocket(events, whileOpen);
    over.abort(new Error("The connection has ended."));
    await watching;

    return isDeaf && !signal.aborted ? { end: "refresh" } : ended;
  }

  #runSocket(events: SlackEvents, signal: AbortSignal): Promise<SocketEnd> {
    const { packages, appToken, apiUrl, port, name, timeoutMs } = this.#options;
    const { clock, logger } = port;
    const listener = {
      connected: () => this.#connected(),
      heard: (told: SocketEnvelope) => {
        this.#silence.heard(told.payload);
        events.hear(told);
      },
    };
    const parts = { packages, appToken, apiUrl, clock, logger, name, timeoutMs, listener };

    return runSocket(parts, signal);
  }

  /** What was said while there was no connection is read, also after a refresh. */
  #connected(): void {
    this.#failures = 0;
    this.#isReady = true;
    for (const member of this.#members.values()) this.#tellReady(member);
    this.#inbox?.readGap();
  }

  #tellReady(member: ConnectedAccount): void {
    const platformId = this.#options.platformIdOf(member.account);
    member.account = { ...member.account, platformId };
    const stored = this.#viewers.audiences.tryToTell();
    member.states.tell(member.account, "ready", undefined, stored);
  }

  async #readMissed(signal: AbortSignal): Promise<void> {
    const { reader, channels, port } = this.#options;
    await this.#viewers.audiences.tell();
    const members = [...this.#members.values()];
    await Promise.all(members.map(({ states }) => states.settled()));
    const { threads, newest } = await reader.look(channels(), signal);
    this.#threads = threads;
    this.#silence.read(newest);
    for (const { account } of members) await port.mayHaveMissed(account);
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
