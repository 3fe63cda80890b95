import type { CodedMessage } from "../../kernel/coded-message.ts";
import type { Clock, Cancel } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { ChannelError } from "../../rooms/channel-adapter.ts";
import {
  GatewayLink,
  type GatewaySession,
  type LinkEnd,
  type LinkListener,
} from "./gateway-link.ts";
import { namedForm, type WireReady } from "./wire-forms.ts";
import { backOffMs } from "../../kernel/back-off.ts";

/** Why a bot is not connected any more: dure stopped it, or the platform does not accept it. */
export type ConnectionEnd =
  | { readonly end: "stopped" }
  | { readonly end: "refused"; readonly detail: string | CodedMessage };

export interface GatewayListener {
  /**
   * A new session begins: what arrives from now on is younger than what was missed. `guilds`: ids
   * of those that the bot is in; `application`: of which it is the bot.
   */
  readonly sessionStarted: (guilds: readonly string[], application: string) => void;
  /** The session is complete; `selfId` is the bot's user id. */
  readonly ready: (selfId: string) => void;
  /** The old session goes on and everything missed has come. */
  readonly resumed: () => void;
  readonly lost: (lost: { why: string; waitMs: number; refusedResume: boolean }) => void;
  /** An event as the platform sent it, by its name in the platform's documentation. */
  readonly event: (type: GatewayEventType, data: unknown) => void;
  /** What could not be understood; it is left out. */
  readonly leftOut: (what: string, error: unknown) => void;
}

/** The events that this adapter listens to. Source: "Gateway Events: Receive Events". */
export const GATEWAY_EVENTS = [
  "GUILD_CREATE",
  "GUILD_DELETE",
  "GUILD_ROLE_CREATE",
  "GUILD_ROLE_UPDATE",
  "GUILD_ROLE_DELETE",
  "CHANNEL_CREATE",
  "CHANNEL_UPDATE",
  "CHANNEL_DELETE",
  "THREAD_CREATE",
  "THREAD_UPDATE",
  "THREAD_DELETE",
  "THREAD_LIST_SYNC",
  "THREAD_MEMBERS_UPDATE",
  "MESSAGE_CREATE",
  "MESSAGE_UPDATE",
  "MESSAGE_DELETE",
  "MESSAGE_DELETE_BULK",
  "MESSAGE_REACTION_ADD",
  "MESSAGE_REACTION_REMOVE",
  "INTERACTION_CREATE",
] as const;
export type GatewayEventType = (typeof GATEWAY_EVENTS)[number];

export interface GatewayClientOptions {
  readonly token: string;
  readonly clock: Clock;
  /** For HELLO, and again for READY, milliseconds. */
  readonly patienceMs: number;
  /**
   * Waits until this bot may start a session, and tells where. Rejects with a `ChannelError`, or
   * with the signal's reason.
   */
  readonly mayStart: (signal: AbortSignal) => Promise<string>;
  readonly listener: GatewayListener;
}

/** What an account tells of itself when its token is of no use. */
export const TOKEN_REFUSED: CodedMessage = {
  code: "token-refused",
  facts: {},
  message: "Discord does not accept the bot's token.",
};

/**
 * Close codes after which trying again is of no use. Source: "Opcodes and Status Codes: Gateway
 * Close Event Codes".
 */
const REFUSING_CODES: Readonly<Record<number, string | CodedMessage>> = {
  4004: TOKEN_REFUSED,
  4010: "Discord refused the shard (4010).",
  4011: "Discord demands sharding (4011): the bot is in too many servers for one connection.",
  4012: "Discord does not speak this version of its gateway any more (4012): update dure.",
  4013: "Discord refused the intents as invalid (4013).",
  4014: {
    code: "intent-refused",
    facts: {},
    message:
      'Discord refused the intents: switch on "Message Content Intent" in the developer portal, ' +
      "under Bot, Privileged Gateway Intents.",
  },
};

/** Source: "Gateway: List of Intents": guilds, their messages, message content, direct messages, reactions. */
const INTENTS = (1 << 0) | (1 << 9) | (1 << 15) | (1 << 12) | (1 << 10);

/**
 * One bot at the gateway: connects, resumes or begins anew, with growing pauses while connections
 * stay short. Resolves when it has ended for good; never rejects.
 */
export async function runGateway(
  options: GatewayClientOptions,
  signal: AbortSignal,
): Promise<ConnectionEnd> {
  const { clock, listener } = options;
  let session: GatewaySession | undefined;
  let short = 0;
  const watch = new LinkWatch(options);
  while (!signal.aborted) {
    const lost = await connectOnce(options, watch, session, signal);
    if (signal.aborted) break;
    const refusal = lost.code === undefined ? undefined : REFUSING_CODES[lost.code];
    if (refusal !== undefined) return { end: "refused", detail: refusal };
    short = shortInARow(short, lost);
    session = lost.session;
    const waitMs = pauseMs(short, lost.identified, Math.random());
    listener.lost({ why: lost.why, waitMs, refusedResume: lost.refusedResume });
    await clock.sleep(waitMs, { signal }).catch(() => {});
  }
  return { end: "stopped" };
}

type Lost = LinkEnd & {
  readonly livedMs: number | undefined;
  readonly identified: boolean;
  readonly refusedResume: boolean;
};

/** From the question where to connect to the end of that connection. Never rejects. */
async function connectOnce(
  options: GatewayClientOptions,
  watch: LinkWatch,
  session: GatewaySession | undefined,
  signal: AbortSignal,
): Promise<Lost> {
  const { clock, token, patienceMs, mayStart } = options;
  let url: string;
  try {
    url = session === undefined ? await mayStart(signal) : session.url;
  } catch (error) {
    const code = error instanceof ChannelError && error.failure === "credential" ? 4004 : undefined;
    const why = messageOf(error);
    return { why, code, livedMs: undefined, identified: false, refusedResume: false };
  }
  const link = { url, token, session, clock, patienceMs, intents: INTENTS, listener: watch };
  const end = await new GatewayLink(link).run(signal);
  const livedMs = watch.lost();
  const refusedResume = end.refusedResume === true;
  return { ...end, livedMs, identified: session === undefined, refusedResume };
}

/** Hands on what connections tell, and measures how long each was of use. */
class LinkWatch implements LinkListener {
  readonly #clock: Clock;
  readonly #listener: GatewayListener;
  readonly #awaited: AwaitedGuilds;
  #since: number | undefined;
  #selfId = "";

  constructor({ clock, listener }: GatewayClientOptions) {
    this.#clock = clock;
    this.#listener = listener;
    this.#awaited = new AwaitedGuilds(clock, () => listener.ready(this.#selfId));
  }

  ready({ user, guilds, application }: WireReady): void {
    this.#since = this.#clock.monotonic();
    this.#selfId = user.id;
    const ids = guilds.map(({ id }) => id);
    this.#listener.sessionStarted(ids, application?.id ?? user.id);
    this.#awaited.begin(ids);
  }

  resumed(): void {
    this.#since = this.#clock.monotonic();
    this.#awaited.resume();
    this.#listener.resumed();
  }

  event(type: string, data: unknown): void {
    if (isHeard(type)) this.#listener.event(type, data);
    if (type !== "GUILD_CREATE" && type !== "GUILD_DELETE") return;
    const guild = namedForm.safeParse(data);
    if (guild.success) this.#awaited.came(guild.data.id);
  }

  leftOut(what: string, error: unknown): void {
    this.#listener.leftOut(what, error);
  }

  /** How long it was of use, milliseconds; undefined: not at all. */
  lost(): number | undefined {
    this.#awaited.pause();
    const since = this.#since;
    this.#since = undefined;
    return since === undefined ? undefined : this.#clock.monotonic() - since;
  }
}

function isHeard(type: string): type is GatewayEventType {
  return (GATEWAY_EVENTS as readonly string[]).includes(type);
}

// --- awaited guilds

/** A server that has an outage need not delay the others, milliseconds. */
const PATIENCE_MS = 5000;

/**
 * The servers that a new session has named and not brought yet. Source: "Gateway Events: Ready":
 * each comes as GUILD_CREATE, or as GUILD_DELETE while it has an outage.
 */
class AwaitedGuilds {
  readonly #clock: Clock;
  readonly #complete: () => void;
  readonly #awaited = new Set<string>();
  #isWaiting = false;
  #cancel: Cancel = () => {};

  /** @param complete once per session: all have come, or none for a while. */
  constructor(clock: Clock, complete: () => void) {
    this.#clock = clock;
    this.#complete = complete;
  }

  begin(guilds: readonly string[]): void {
    this.#awaited.clear();
    for (const guild of guilds) this.#awaited.add(guild);
    this.#isWaiting = true;
    this.#look();
  }

  came(guild: string): void {
    if (this.#awaited.delete(guild)) this.#look();
  }

  /** The connection is lost: those that are missing may come when the session goes on. */
  pause(): void {
    this.#cancel();
  }

  /** The session goes on. */
  resume(): void {
    this.#look();
  }

  #look(): void {
    this.#cancel();
    if (!this.#isWaiting) return;
    if (this.#awaited.size === 0) this.#end();
    else this.#cancel = this.#clock.after(PATIENCE_MS, () => this.#end());
  }

  #end(): void {
    this.#isWaiting = false;
    this.#complete();
  }
}

// --- reconnect

/** A connection that is over, as far as it matters for the next one. */
export interface LostLink {
  /** From READY or RESUMED to its end, milliseconds; undefined: it came to neither. */
  readonly livedMs: number | undefined;
  /** It has used up a session start of the bot. */
  readonly identified: boolean;
  /** The platform only said that the session is too old to be resumed. */
  readonly refusedResume: boolean;
}

/** A session that lasted so long is no sign that something is wrong, milliseconds. */
const LONG_MS = 5 * 60_000;

/**
 * Waits after connections that were short, milliseconds: doubled with each. Of those that cost a
 * session start at most one in 10 minutes follows, about 200 of the 1,000 a day.
 * Source: "Gateway: Session Start Limit Object".
 */
const SHORT = { firstMs: 500, maxMs: 60_000 } as const;
const SHORT_AND_COSTLY = { firstMs: 500, maxMs: 10 * 60_000 } as const;

/** How many short connections in a row this makes. Pure. */
export function shortInARow(before: number, lost: LostLink): number {
  if (lost.refusedResume) return before;
  return lost.livedMs !== undefined && lost.livedMs >= LONG_MS ? 0 : before + 1;
}

/**
 * How long to wait before the next connection, milliseconds. Pure. @param random from 0 to 1: what
 * was lost together does not come back together.
 */
export function pauseMs(short: number, identified: boolean, random: number): number {
  const most = backOffMs(Math.max(1, short), identified ? SHORT_AND_COSTLY : SHORT);
  return Math.round(most * (0.5 + random / 2));
}
