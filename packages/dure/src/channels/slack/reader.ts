import type { Clock } from "../../kernel/clock.ts";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelFailure,
  type InboundMessage,
  type PlaceAddress,
  type ThreadInUse,
} from "../../rooms/channel-adapter.ts";
import { patiently } from "../patience.ts";
import type { AppApi } from "./app-api.ts";
import {
  idOf,
  isWritten,
  SLACK,
  THREAD_EVENT,
  threadNameOf,
  threadTsOf,
  toInbound,
  type Seen,
} from "./mapping.ts";
import { fromSlackText, withoutAppMention } from "./text.ts";
import { channelAnswer, type SlackWireChannel, type SlackWireMessage } from "./wire.ts";

/** Characters of a thread's name. */
export const THREAD_NAME_LENGTH = 100;
/** Lets an app read group messages. Source: docs.slack.dev/reference/scopes/mpim.history. */
const GROUPS = "mpim:history";

/** Begins the subtype of the message with which a channel was made private, or public. */
const CONVERTED = "channel_convert_to_";

const KEPT_NAMES = 1000;
/** Messages of a channel among which threads are looked for. */
const THREAD_ROOTS = 100;
/** How long a thread without a word is in use, milliseconds: the lifetime of participants. */
const IN_USE_MS = 86_400_000;

/** Without these a thread keeps its id for a name. */
const LEFT_OUT: readonly ChannelFailure[] = ["permission", "not-found", "invalid"];

/** What is to be seen in channels at a glance. */
export interface ChannelsLook {
  readonly threads: readonly ThreadInUse[];
  /** The newest `ts`; empty: nothing was written. */
  readonly newest: string;
}

/** What is written in one workspace, read through one app. */
export class Reader {
  readonly api: AppApi;
  /** Names of the agents that speak through this app; empty: one, under the app's own name. */
  readonly #personas: () => readonly ChannelAccount[];
  readonly #clock: Clock;
  /** Names of threads by their place's id; bounded, oldest out. */
  readonly #names = new Map<string, string>();
  /** Whether only its members read it, by the channel's id; bounded, oldest out. */
  readonly #direct = new Map<string, boolean>();

  readonly #converted: (channel: string, seenByAll: boolean) => Promise<void>;

  /** `converted`: what is read says that a channel was made private, or public. */
  constructor(
    api: AppApi,
    parts: {
      clock: Clock;
      personas: () => readonly ChannelAccount[];
      converted?: (channel: string, seenByAll: boolean) => Promise<void>;
    },
  ) {
    this.api = api;
    this.#converted = parts.converted ?? (async () => {});
    this.#clock = parts.clock;
    this.#personas = parts.personas;
  }

  /** The bot user's id, once it is known. */
  get self(): string | undefined {
    return this.api.identity?.userId;
  }

  /** What a place received after a message, oldest first; waits at rate limits. */
  async readSince(
    place: PlaceAddress,
    { after, limit, signal }: { after?: string | undefined; limit: number; signal: AbortSignal },
  ): Promise<readonly InboundMessage[]> {
    await patiently(this.#clock, signal, () => this.api.whoAmI(signal));
    const from = {
      channel: place.channel,
      threadTs: threadTsOf(place),
      after: after?.slice(after.lastIndexOf(":") + 1),
      limit,
      signal,
    };
    const messages = await patiently(this.#clock, signal, () => this.api.read(from));
    const converted = messages.findLast(({ subtype }) => subtype?.startsWith(CONVERTED));
    if (converted) {
      await this.#converted(place.channel, converted.subtype === `${CONVERTED}public`);
    }
    const isDirect = place.direct ?? (await this.#isDirect(place.channel, signal));
    const seenAt = { ...place, direct: isDirect ? true : undefined };
    const inbound: InboundMessage[] = [];
    for (const message of messages.filter(isWritten)) {
      inbound.push(toInbound(message, await this.see(message, seenAt, signal)));
    }

    return inbound;
  }

  /** Whether a message is not there any more; a stone above the replies of a root is none. */
  async isGone(place: PlaceAddress, ts: string, signal: AbortSignal): Promise<boolean> {
    const from = { channel: place.channel, threadTs: threadTsOf(place), at: ts, limit: 10, signal };
    const { messages } = await patiently(this.#clock, signal, () => this.api.page(from));
    return !messages.some((one) => one.ts === ts && isWritten(one));
  }

  /** The root of the thread in which a message stands; undefined: in the channel, or gone. */
  async rootOf(channel: string, ts: string, signal: AbortSignal): Promise<string | undefined> {
    const { messages } = await patiently(this.#clock, signal, () =>
      this.api.page({ channel, threadTs: ts, limit: 1, signal }),
    );
    const message = messages.find((one) => one.ts === ts);

    return message?.thread_ts ?? messages[0]?.thread_ts;
  }

  /** Author, text and name of the thread of a message. */
  async see(message: SlackWireMessage, place: PlaceAddress, signal: AbortSignal): Promise<Seen> {
    const threadName =
      place.thread === undefined ? undefined : await this.#threadName(place.thread, signal);
    const author = await this.#author(message, signal);

    return { place, author, text: this.textOf(message), threadName };
  }

  /** As dure keeps it. */
  textOf(message: SlackWireMessage): string {
    const text = fromSlackText(message.text ?? "");
    const personas = this.#personas();
    if (personas.length === 0 || this.self === undefined) return text;
    const names = personas.map(({ displayName }) => displayName);

    return withoutAppMention(text, this.self, names);
  }

  /**
   * The newest messages of these channels: threads with a word of the last day among them, and the
   * newest `ts`. An app hears all that is said in a channel, so each thread counts.
   */
  async look(channels: readonly string[], signal: AbortSignal): Promise<ChannelsLook> {
    const threads: ThreadInUse[] = [];
    let newest = "";
    for (const channel of channels) {
      const messages = await this.#newestOf(channel, signal);
      threads.push(...messages.flatMap((message) => this.#inUse(channel, message)));
      for (const { ts, latest_reply: reply } of messages) newest = laterOf(newest, reply ?? ts);
    }

    return { threads, newest };
  }

  /** None where they may not be read: that is told when the channel itself is read. */
  async #newestOf(channel: string, signal: AbortSignal): Promise<readonly SlackWireMessage[]> {
    try {
      const { messages } = await patiently(this.#clock, signal, () =>
        this.api.page({ channel, limit: THREAD_ROOTS, signal }),
      );

      return messages;
    } catch (error) {
      if (error instanceof ChannelError && error.failure !== "transient") return [];
      throw error;
    }
  }

  #inUse(channel: string, root: SlackWireMessage): readonly ThreadInUse[] {
    const newest = root.latest_reply;
    if (!newest || Number(newest) * 1000 < this.#clock.now() - IN_USE_MS) return [];
    const thread = idOf(channel, root.ts);
    const name = threadNameOf(root, THREAD_NAME_LENGTH) ?? thread;

    return [
      {
        place: { adapter: SLACK, channel, thread },
        name,
        newest: idOf(channel, newest),
        wasAdded: root.metadata?.event_type !== THREAD_EVENT,
      },
    ];
  }

  /**
   * A message that is read does not say of what kind its channel is. An app without the scope reads
   * no group message, and may lack the right to ask.
   */
  async #isDirect(channel: string, signal: AbortSignal): Promise<boolean> {
    const known = this.#direct.get(channel);
    if (known !== undefined) return known;
    const scopes = this.api.identity?.scopes ?? [];
    if (scopes.length > 0 && !scopes.includes(GROUPS)) return channel.startsWith("D");
    const found = await this.#channelIfAllowed(channel, signal);
    if (!found) return channel.startsWith("D");
    const isDirect = found.is_im === true || found.is_mpim === true;
    this.#direct.set(channel, isDirect);
    if (this.#direct.size > KEPT_NAMES) this.#direct.delete(this.#direct.keys().next().value!);

    return isDirect;
  }

  /** Whether all of the workspace may read a channel. */
  async isSeenByAll(channel: string, signal: AbortSignal): Promise<boolean> {
    const { is_private, is_im, is_mpim } = await this.#channel(channel, signal);
    return is_private === false && is_im !== true && is_mpim !== true;
  }

  /** Undefined: the app may not ask. */
  async #channelIfAllowed(
    channel: string,
    signal: AbortSignal,
  ): Promise<SlackWireChannel | undefined> {
    try {
      return await this.#channel(channel, signal);
    } catch (error) {
      if (error instanceof ChannelError && LEFT_OUT.includes(error.failure)) return undefined;
      throw error;
    }
  }

  async #channel(channel: string, signal: AbortSignal): Promise<SlackWireChannel> {
    const found = await patiently(this.#clock, signal, () =>
      this.api.call({
        method: "conversations.info",
        args: { channel },
        answer: channelAnswer,
        doing: "show the channel",
        channel,
        signal,
      }),
    );
    return found.channel;
  }

  async #author(message: SlackWireMessage, signal: AbortSignal): Promise<InboundMessage["author"]> {
    const { user, bot_id: bot, username } = message;
    const platformId = user ?? bot ?? "unknown";
    const isBot = (bot ?? undefined) !== undefined;
    const persona = this.#personaOf(message);
    if (persona) return { platformId: persona, name: username ?? persona, isBot: true };
    if (isBot || !user) return { platformId, name: username ?? platformId, isBot };

    return { platformId, name: (await this.api.user(user, signal)).name, isBot };
  }

  /** The agent of ours that said it through an app that several share. */
  #personaOf({ user, bot_id: bot, username, metadata }: SlackWireMessage): string | undefined {
    const personas = this.#personas();
    const identity = this.api.identity;
    const isOurs = user === identity?.userId || (bot ?? "-") === identity?.botId;
    if (personas.length === 0 || !isOurs) return undefined;
    const account = metadata?.event_payload?.["account"];
    const speaker =
      personas.find(({ id }) => id === account) ??
      personas.find(({ displayName }) => displayName === username) ??
      personas[0];
    return speaker?.platformId;
  }

  async #threadName(thread: string, signal: AbortSignal): Promise<string | undefined> {
    const known = this.#names.get(thread);
    if (known !== undefined) return known;
    const [channel = "", threadTs = ""] = thread.split(":");
    const messages = await this.#rootOf(channel, threadTs, signal);
    const root = messages.find(({ ts }) => ts === threadTs);
    const name = (root && threadNameOf(root, THREAD_NAME_LENGTH)) ?? thread;
    this.#names.set(thread, name);
    if (this.#names.size > KEPT_NAMES) this.#names.delete(this.#names.keys().next().value!);

    return name;
  }

  /** Empty where it may not be read: a name is not worth a message. */
  async #rootOf(
    channel: string,
    threadTs: string,
    signal: AbortSignal,
  ): Promise<readonly SlackWireMessage[]> {
    try {
      const { messages } = await patiently(this.#clock, signal, () =>
        this.api.page({ channel, threadTs, limit: 1, signal }),
      );

      return messages;
    } catch (error) {
      if (error instanceof ChannelError && LEFT_OUT.includes(error.failure)) return [];
      throw error;
    }
  }
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other;
}
