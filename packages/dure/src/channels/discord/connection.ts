import { backOffMs } from "../../kernel/back-off.ts";
import type { CodedMessage } from "../../kernel/coded-message.ts";
import { messageOf } from "../../kernel/errors.ts";
import type {
  ChannelAccount,
  ChannelPort,
  PlaceAddress,
  ThreadInUse,
} from "../../rooms/channel-adapter.ts";
import type { AccountApi } from "./account-api.ts";
import type { DiscordJs } from "./discord-js.ts";
import { runGateway, TOKEN_REFUSED, type ConnectionEnd } from "./gateway-client.ts";
import { GatewayEvents } from "./gateway-events.ts";
import type { IdentifyGate } from "./identify-gate.ts";
import { Inbox } from "./inbox.ts";
import { PlaceFinder } from "./place-finder.ts";
import { PlaceDirectory } from "./places.ts";
import { Servers } from "./servers.ts";
import { StateTeller } from "./state-teller.ts";

export interface AccountConnectionOptions {
  readonly account: ChannelAccount;
  readonly port: ChannelPort;
  readonly api: AccountApi;
  readonly discordJs: DiscordJs;
  readonly token: string;
  readonly apiUrl: string | undefined;
  readonly timeoutMs: number;
  readonly gate: IdentifyGate;
  /** Messages that may wait to be stored. */
  readonly inboxLimit: number;
  readonly joinsThread: (place: PlaceAddress) => boolean;
}

/**
 * Waits between connections that failed, milliseconds: doubled up to the
 * second.
 */
const RECONNECT = { firstMs: 1_000, maxMs: 30_000 } as const;

/**
 * One account at the gateway, from `run` until its signal aborts or the token
 * is refused: tells its state, hands what it hears to the port in order per
 * place, and lets dure read what it may have missed.
 *
 * *starting* → *ready* ⇄ *reconnecting* → *stopped*, or *refused*.
 */
export class AccountConnection {
  readonly #options: AccountConnectionOptions;
  readonly #port: ChannelPort;
  readonly #api: AccountApi;
  readonly #places = new PlaceDirectory();
  readonly #inbox: Inbox;
  readonly #states: StateTeller;
  readonly #refused = new AbortController();
  /** With the platform's id, as soon as that is known. */
  #account: ChannelAccount;
  #signal: AbortSignal = this.#refused.signal;
  readonly #servers = new Servers();
  readonly #events: GatewayEvents;
  #failures = 0;

  constructor(options: AccountConnectionOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#api = options.api;
    this.#account = options.account;
    this.#states = new StateTeller(options.port);
    this.#inbox = new Inbox({
      clock: options.port.clock,
      logger: options.port.logger,
      account: options.account.id,
      limit: options.inboxLimit,
      readMissed: async () => {
        await this.#states.settled(); // "ready" is stored before what was missed is read
        await this.#port.mayHaveMissed(this.#account);
      },
    });
    const { port, api, joinsThread } = options;
    const places = this.#places;
    this.#events = new GatewayEvents({
      port,
      api,
      places,
      finder: new PlaceFinder({ places, api, clock: port.clock }),
      inbox: this.#inbox,
      servers: this.#servers,
      joinsThread,
      account: () => this.#account,
      signal: () => this.#signal,
      onServers: () => this.#tellReady(),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = AbortSignal.any([signal, this.#refused.signal]);
    this.#states.tell(this.#account, "starting");
    const refusal = await this.#keepConnected();
    await this.#inbox.close();
    if (refusal === undefined) this.#states.tell(this.#account, "stopped");
    else this.#states.tell(this.#account, "refused", refusal);
    await this.#states.settled();
  }

  threadsInUse(): readonly ThreadInUse[] {
    return this.#places.threadsInUse(this.#account.platformId);
  }

  /**
   * @throws ChannelError `unavailable` while the server of `place` has an
   * outage.
   */
  ensureAvailable(place: PlaceAddress): void {
    const guild =
      place.guild ??
      this.#places.get(place.thread ?? place.channel)?.address.guild ??
      this.#places.get(place.channel)?.address.guild;
    this.#servers.ensureAvailable(guild);
  }

  /**
   * The allowlist is another one: the bot joins what is open in a channel that
   * is on it now.
   */
  channelsChanged(): void {
    this.#events.channelsChanged();
  }

  /** The token was refused over HTTP: the connection ends too. */
  refuse(): void {
    this.#refused.abort(new Error("The token was refused."));
  }

  /**
   * Resolves with why the token is of no use, or with nothing after an abort.
   */
  async #keepConnected(): Promise<string | CodedMessage | undefined> {
    const { clock, logger } = this.#port;
    const { id } = this.#account;
    while (!this.#signal.aborted) {
      const ended = await this.#connectOnce();
      if (ended.end === "refused") {
        this.#api.refuse();
        return ended.detail;
      }
      if (ended.end === "stopped") break;
      const waitMs = backOffMs(++this.#failures, RECONNECT);
      logger.warn(
        { account: id, waitMs },
        `${id} is not connected to Discord (${ended.detail}); again in ${waitMs} ms`,
      );
      this.#states.tell(this.#account, "reconnecting", ended.detail);
      await clock.sleep(waitMs, { signal: this.#signal }).catch(() => {});
    }
    return this.#refused.signal.aborted ? TOKEN_REFUSED : undefined;
  }

  async #connectOnce(): Promise<ConnectionEnd> {
    const { discordJs, token, apiUrl, timeoutMs, gate } = this.#options;
    const { clock } = this.#port;
    try {
      return await runGateway(
        {
          discordJs,
          token,
          apiUrl,
          clock,
          timeoutMs,
          mayIdentify: (signal) => gate.wait(this.#account.id, signal),
          listener: {
            sessionStarted: (guilds) => {
              this.#servers.begin(guilds);
              this.#inbox.hold();
            },
            ready: (selfId) => this.#ready(selfId),
            resumed: () => this.#tellReady(),
            reconnecting: () => this.#states.tell(this.#account, "reconnecting"),
            event: (type, data) => this.#events.hear(type, data),
          },
        },
        this.#signal,
      );
    } catch (error) {
      return this.#signal.aborted
        ? { end: "stopped" }
        : { end: "failed", detail: messageOf(error) };
    }
  }

  #ready(selfId: string): void {
    this.#failures = 0;
    this.#account = { ...this.#account, platformId: selfId };
    this.#servers.complete();
    this.#tellReady();
    this.#inbox.readGap();
  }

  /** Ready also while a server has an outage: the others are there. */
  #tellReady(): void {
    this.#states.tell(this.#account, "ready", this.#servers.trouble);
  }
}
