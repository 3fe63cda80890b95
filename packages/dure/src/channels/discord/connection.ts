/** One bot's connection to Discord, and what it hears. */

import type { CodedMessage } from "../../kernel/coded-message.ts";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelPort,
  type PlaceAddress,
  type ThreadInUse,
} from "../../rooms/channel-adapter.ts";
import type { AccountApi } from "./account-api.ts";
import { BotRoles } from "./bot-roles.ts";
import { runGateway, TOKEN_REFUSED, type GatewayListener } from "./gateway-client.ts";
import { GatewayEvents } from "./gateway-events.ts";
import { decideStart, type StartDecision } from "./identify-budget.ts";
import type { IdentifyGate } from "./identify-gate.ts";
import { Inbox } from "../inbox.ts";
import { PlaceFinder } from "./place-finder.ts";
import { PlaceDirectory } from "./places.ts";
import { Servers } from "./servers.ts";
import { Viewers } from "./viewers.ts";
import { StateTeller } from "../state-teller.ts";
import { gatewayForm } from "./wire-forms.ts";
import type { Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";

export interface AccountConnectionOptions {
  readonly account: ChannelAccount;
  readonly port: ChannelPort;
  readonly api: AccountApi;
  readonly token: string;
  /** For HELLO and READY, milliseconds. */
  readonly patienceMs: number;
  readonly gate: IdentifyGate;
  /** Messages that may wait to be stored. */
  readonly inboxLimit: number;
  readonly joinsThread: (place: PlaceAddress, account: ChannelAccount) => boolean;
}

/** Before a bot that is not connected is called to a thread again, milliseconds. */
const CALL_AGAIN_MS = 1_000;

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
  readonly #roles = new BotRoles();
  readonly #inbox: Inbox;
  readonly #states: StateTeller;
  readonly #refused = new AbortController();
  /** With the platform's id, as soon as that is known. */
  #account: ChannelAccount;
  #signal: AbortSignal = this.#refused.signal;
  readonly #servers = new Servers();
  readonly #viewers: Viewers;
  readonly #events: GatewayEvents;
  readonly #leftOut: LeftOut;

  constructor(options: AccountConnectionOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#api = options.api;
    this.#account = options.account;
    this.#states = new StateTeller(options.port);
    this.#viewers = new Viewers(options.port, () => this.#account);
    this.#inbox = new Inbox({
      clock: options.port.clock,
      logger: options.port.logger,
      account: options.account.id,
      limit: options.inboxLimit,
      readMissed: async () => {
        await this.#states.settled(); // "ready" is stored before what was missed is read
        await this.#viewers.audiences.tell();
        await this.#port.mayHaveMissed(this.#account);
      },
    });
    this.#leftOut = new LeftOut({
      clock: options.port.clock,
      logger: options.port.logger,
      account: options.account.id,
    });
    const { port, api, joinsThread } = options;
    const places = this.#places;
    this.#events = new GatewayEvents({
      port,
      api,
      places,
      finder: new PlaceFinder({ places, api, clock: port.clock }),
      roles: this.#roles,
      inbox: this.#inbox,
      servers: this.#servers,
      viewers: this.#viewers,
      joinsThread,
      account: () => this.#account,
      signal: () => this.#signal,
      onServers: () => this.#tellReady(),
      onLeftOut: (what, error) => this.#leaveOut(what, error),
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

  /** The platform's number of a channel's kind, when the gateway has told it. */
  typeOf(channel: string): number | undefined {
    return this.#places.get(channel)?.type;
  }

  botOfRole(role: string): string | undefined {
    return this.#roles.botOf(role);
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
   * The bot was called to a thread: it joins, and hears what was said there before.
   * @throws ChannelError `rate-limited` while it is not connected: it is called again.
   */
  join(place: PlaceAddress): void {
    if (!this.#servers.isComplete) {
      throw new ChannelError("rate-limited", `${this.#account.id} is not connected.`, {
        retryAfterMs: CALL_AGAIN_MS,
      });
    }
    const known = this.#places.get(place.thread ?? "");
    this.#events.join(known?.address ?? place, known?.name ?? "");
  }

  /**
   * The allowlist is another one: the bot joins what is open in a channel that
   * is on it now, where it joins all.
   */
  channelsChanged(): void {
    this.#events.channelsChanged();
    this.#viewers.audiences.forgetTold();
    void this.#viewers.audiences.tryToTell();
  }

  /** The token was refused over HTTP: the connection ends too. */
  refuse(): void {
    this.#refused.abort(new Error("The token was refused."));
  }

  /**
   * Resolves with why the token is of no use, or with nothing after an abort.
   */
  async #keepConnected(): Promise<string | CodedMessage | undefined> {
    const { token, patienceMs } = this.#options;
    const ended = await runGateway(
      {
        token,
        patienceMs,
        clock: this.#port.clock,
        mayStart: (signal) => this.#mayStart(signal),
        listener: {
          sessionStarted: (guilds, application) => {
            this.#events.sessionStarted(application);
            this.#leftOut.forget();
            this.#servers.begin(guilds);
            this.#inbox.hold();
          },
          ready: (selfId) => this.#ready(selfId),
          resumed: () => this.#tellReady(),
          lost: (lost) => this.#lost(lost),
          event: (type, data) => this.#events.hear(type, data),
          leftOut: (what, error) => this.#leaveOut(what, error),
        },
      },
      this.#signal,
    );
    if (ended.end === "refused") {
      this.#api.refuse();
      return ended.detail;
    }
    return this.#refused.signal.aborted ? TOKEN_REFUSED : undefined;
  }

  /** Where to connect, as soon as it is this bot's turn. */
  async #mayStart(signal: AbortSignal): Promise<string> {
    const { gate } = this.#options;
    const { id } = this.#account;
    for (;;) {
      const { url, session_start_limit: told } = await this.#api.read(gatewayForm, {
        method: "GET",
        route: "/gateway/bot",
        doing: "tell its gateway",
        signal,
      });
      const limit = told && { ...told, resetAfterMs: told.reset_after };
      const decision = decideStart(limit, gate.startedToday(id));
      if (decision.start) {
        await gate.wait(id, signal);
        return url;
      }
      this.#restBecause(decision);
      await this.#port.clock.sleep(decision.waitMs, { signal });
    }
  }

  /** The last session starts of the day are for people: with none left the token is lost. */
  #restBecause({ remaining, waitMs }: Extract<StartDecision, { start: false }>): void {
    const { id } = this.#account;
    const message = `Only ${remaining} session starts are left for the bot today: it waits.`;
    this.#port.logger.error(
      { account: id, remaining, waitMs },
      `${id} has only ${remaining} session starts left and does not connect; it asks again in ` +
        `${waitMs} ms`,
    );
    const facts = { remaining };
    const told = { code: "starts-low", facts, message, needsPeople: true };
    this.#states.tell(this.#account, "reconnecting", told);
  }

  #lost({ why, waitMs, refusedResume }: Parameters<GatewayListener["lost"]>[0]): void {
    const { id } = this.#account;
    this.#port.logger.warn(
      { account: id, waitMs },
      `${id} is not connected to Discord (${why}); again in ${waitMs} ms`,
    );
    // A session that is too old is no news: the loss of its connection was told.
    if (!refusedResume) this.#states.tell(this.#account, "reconnecting", why);
  }

  /** One line in the log; the account tells it until its next session. */
  #leaveOut(what: string, error: unknown): void {
    this.#leftOut.add(what, error);
    if (this.#servers.isComplete) this.#tellReady();
  }

  #ready(selfId: string): void {
    this.#account = { ...this.#account, platformId: selfId };
    this.#servers.complete();
    this.#tellReady();
    this.#inbox.readGap();
  }

  /** Ready also while a server has an outage: the others are there. */
  #tellReady(): void {
    const detail = this.#servers.trouble ?? this.#leftOut.told;
    this.#states.tell(this.#account, "ready", detail, this.#viewers.audiences.tryToTell());
  }
}

// --- left out

/** A line for each kind of packet at most so often, milliseconds; the next one has the count. */
const LINE_EVERY_MS = 60_000;
/** Kinds that are told apart. The adapter hears fewer. */
const MAX_KINDS = 50;
/** Characters of the reason in a line: zod names every member that is wrong. */
const REASON_LENGTH = 300;

/** What the gateway sent to one account that could not be understood. */
class LeftOut {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #account: string;
  readonly #kinds = new Map<string, { nextLineAt: number; silent: number }>();
  #told: CodedMessage | undefined;

  constructor(parts: { clock: Clock; logger: Logger; account: string }) {
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#account = parts.account;
  }

  /** What the account tells of itself: the first one of its session. */
  get told(): CodedMessage | undefined {
    return this.#told;
  }

  /** A new session begins. */
  forget(): void {
    this.#told = undefined;
  }

  add(event: string, error: unknown): void {
    this.#told ??= {
      code: "event-left-out",
      facts: { event },
      message: `Discord sent something that dure could not understand (${event}); it was left out.`,
    };
    const kind = this.#kindOf(event);
    const now = this.#clock.monotonic();
    if (now < kind.nextLineAt) {
      kind.silent++;
      return;
    }
    const more = kind.silent === 0 ? "" : `, and so were ${kind.silent} before it`;
    kind.nextLineAt = now + LINE_EVERY_MS;
    kind.silent = 0;
    const account = this.#account;
    const reason = messageOf(error).slice(0, REASON_LENGTH);
    this.#logger.warn(
      { account, event, reason },
      `${account} was sent ${event} in a form that is not known; it is left out${more}`,
    );
  }

  #kindOf(event: string): { nextLineAt: number; silent: number } {
    const known = this.#kinds.get(event);
    if (known !== undefined) return known;
    const kind = { nextLineAt: 0, silent: 0 };
    const [oldest] = this.#kinds.keys();
    if (this.#kinds.size >= MAX_KINDS && oldest !== undefined) this.#kinds.delete(oldest);
    this.#kinds.set(event, kind);
    return kind;
  }
}
