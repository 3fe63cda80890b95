import type { ChannelAccount, ChannelPort, PlaceAddress } from "../../rooms/channel-adapter.ts";
import type { Inbox } from "../inbox.ts";
import { idOf, isWritten, placeOf, SLACK, toInbound } from "./mapping.ts";
import { Orders } from "./orders.ts";
import type { Reader } from "./reader.ts";
import type { SocketEnvelope } from "./socket.ts";
import type { Viewers } from "./viewers.ts";
import {
  CHANNEL_EVENTS,
  channelEvent,
  eventCallback,
  messageEvent,
  reactionEvent,
  type ChannelEvent,
  type MessageEvent,
  type ReactionEvent,
  blockActions,
  plainAnswer,
  type BlockActions,
} from "./wire.ts";
import { messageOf } from "../../kernel/errors.ts";

interface EventParts {
  readonly name: string;
  readonly port: ChannelPort;
  readonly inbox: Inbox;
  readonly reader: Reader;
  readonly viewers: Viewers;
  /** Whose app it is: several where agents speak through one. */
  readonly accounts: () => readonly ChannelAccount[];
  readonly signal: () => AbortSignal;
}

/**
 * What stands in place of a root that has replies. Source: docs.slack.dev/reference/events/message,
 * "message_changed".
 */
const TOMBSTONE = "tombstone";
/** What Slack names in words and others as signs. Source: slack.com/help, "Use emoji and reactions". */
const EMOJIS: Readonly<Record<string, string>> = {
  "+1": "👍",
  thumbsup: "👍",
  "-1": "👎",
  thumbsdown: "👎",
  eyes: "👀",
  white_check_mark: "✅",
  octagonal_sign: "🛑",
  heart: "❤️",
  tada: "🎉",
};
/** Whom only its members read. Source: docs.slack.dev/reference/events/message, `channel_type`. */
const DIRECT_KINDS: readonly string[] = ["im", "mpim"];
/** Events whose ids are remembered: the platform tells an event up to four times. */
const KEPT_IDS = 5000;

/**
 * What an app is told: each event once, in order per place, acknowledged when it is stored. What
 * is malformed costs a line in the log.
 */
export class SlackEvents {
  readonly #parts: EventParts;
  readonly #presses: Presses;
  readonly #orders: Orders;
  /** By event id; bounded, oldest out. It resolves when the event is stored. */
  readonly #known = new Map<string, Promise<void>>();

  constructor(parts: EventParts) {
    this.#parts = parts;
    const { name, port, reader, accounts } = parts;
    this.#presses = new Presses({ name, port, reader, accounts });
    this.#orders = new Orders({ name, port, reader, accounts });
  }

  hear(told: SocketEnvelope): void {
    if (told.type === "interactive") {
      void this.#presses.answer(told, this.#parts.signal());
      return;
    }
    if (told.type === "events_api") return this.#hearEvent(told);
    if (told.type === "slash_commands") {
      void this.#orders.answer(told, this.#parts.signal());
      return;
    }
    void told.acknowledge(); // what came after this was written
  }

  #hearEvent(told: SocketEnvelope): void {
    const callback = eventCallback.safeParse(told.payload);
    if (!callback.success) return this.#malformed(told, "event");
    const { event_id: id, event } = callback.data;
    const known = this.#known.get(id);
    if (known) {
      void known.then(told.acknowledge, () => {});
      return;
    }
    const work = this.#workOf(event);
    if (work === "malformed") return this.#malformed(told, event.type);
    if (work === undefined) return void told.acknowledge();

    const stored = Promise.withResolvers<void>();
    stored.promise.catch(() => this.#known.delete(id));
    this.#remember(id, stored.promise);
    this.#parts.inbox.push(work.lane, async () => {
      try {
        await work.store();
      } catch (error) {
        stored.reject(error);
        throw error; // the inbox reads it again
      }
      stored.resolve();
      await told.acknowledge();
    });
  }

  /** Undefined: nothing that is heard. */
  #workOf(
    event: Readonly<Record<string, unknown>> & { type: string },
  ): { lane: string; store: () => Promise<void> } | "malformed" | undefined {
    if (event.type === "message") {
      const message = messageEvent.safeParse(event);
      if (!message.success) return "malformed";
      const lane = message.data.message ?? message.data;
      const root = lane.thread_ts ?? "";
      return {
        lane: `${message.data.channel} ${root === lane.ts ? "" : root}`,
        store: () => this.#message(message.data),
      };
    }
    if (event.type === "reaction_added" || event.type === "reaction_removed") {
      const reaction = reactionEvent.safeParse(event);
      if (!reaction.success) return undefined; // of a file, or of another thing
      return { lane: "reactions", store: () => this.#reacted(reaction.data) };
    }
    if (!CHANNEL_EVENTS.has(event.type)) return undefined;
    const change = channelEvent.safeParse(event);
    if (!change.success) return "malformed";
    return { lane: "channels", store: () => this.#channel(change.data) };
  }

  async #reacted(event: ReactionEvent): Promise<void> {
    const { port, reader, accounts, signal } = this.#parts;
    const [account] = accounts();
    if (account === undefined || event.user === reader.self) return;
    const isSet = event.type === "reaction_added";
    if (isSet) await this.#orders.react(event, signal());
    await port.reacted(account, {
      platformId: idOf(event.item.channel, event.item.ts),
      person: event.user,
      emoji: EMOJIS[event.reaction] ?? `:${event.reaction}:`,
      isSet,
    });
  }

  async #message(event: MessageEvent): Promise<void> {
    const { reader, signal, port, viewers } = this.#parts;
    await viewers.hear(event);
    const isDirect = DIRECT_KINDS.includes(event.channel_type ?? "");
    if (event.subtype === "message_deleted") {
      return this.#deleted(event.channel, event.deleted_ts, { isWhole: true });
    }
    if (event.subtype === "message_changed") return this.#edited(event, isDirect);
    if (!isWritten(event)) return;
    const place = placeOf(event.channel, event, isDirect);
    const seen = await reader.see(event, place, signal());
    const inbound = toInbound(event, seen);
    for (const account of this.#listeners(isDirect)) await port.received(account, inbound);
  }

  /** Also told when the platform unfolds a link: then the text is the same. */
  async #edited({ channel, message }: MessageEvent, isDirect: boolean): Promise<void> {
    if (message?.subtype === TOMBSTONE) {
      return this.#deleted(channel, message.ts, { isWhole: false });
    }
    if (!message || !isWritten(message)) return;
    const [account] = this.#parts.accounts();
    if (!account) return;
    const place = placeOf(channel, message, isDirect);
    const platformId = idOf(channel, message.ts);
    const text = this.#parts.reader.textOf(message);
    await this.#parts.port.edited(account, { platformId, place, text });
  }

  /** A root goes with its thread, unless it leaves a stone above its replies. */
  async #deleted(
    channel: string,
    ts: string | undefined,
    { isWhole }: { isWhole: boolean },
  ): Promise<void> {
    if (ts === undefined) return;
    const { accounts, port } = this.#parts;
    const platformId = idOf(channel, ts);
    const place = { adapter: SLACK, channel, thread: platformId };
    for (const account of accounts()) {
      await port.deleted(account, { platformId, place: { adapter: SLACK, channel } });
      if (isWhole) await port.placeChanged(account, { kind: "thread-deleted", place });
    }
  }

  async #channel(event: ChannelEvent): Promise<void> {
    const { port, accounts } = this.#parts;
    const change = changeOf(event, this.#parts.reader.self);
    if (!change) return;
    for (const account of accounts()) await port.placeChanged(account, change);
  }

  /** What is said to an app that several agents share is the first one's where it is direct. */
  #listeners(isDirect: boolean): readonly ChannelAccount[] {
    return isDirect ? this.#parts.accounts().slice(0, 1) : this.#parts.accounts();
  }

  #malformed(told: SocketEnvelope, what: string): void {
    const { name, port } = this.#parts;
    port.logger.warn(
      { account: name, event: what },
      `${name} was told a malformed ${what} by Slack; it is left out`,
    );
    void told.acknowledge(); // told again it would be the same
  }

  #remember(id: string, stored: Promise<void>): void {
    this.#known.set(id, stored);
    if (this.#known.size > KEPT_IDS) this.#known.delete(this.#known.keys().next().value!);
  }
}

type SlackPlaceChange = Parameters<ChannelPort["placeChanged"]>[1];

/** Pure. Undefined: it concerns another member. */
function changeOf(event: ChannelEvent, self: string | undefined): SlackPlaceChange | undefined {
  const id = typeof event.channel === "string" ? event.channel : event.channel.id;
  const place: PlaceAddress = { adapter: SLACK, channel: id };
  switch (event.type) {
    case "channel_archive":
    case "channel_deleted":
    case "group_archive":
    case "group_deleted":
      return { kind: "channel-removed", place };
    case "channel_left":
    case "group_left":
      return { kind: "access-lost", place };
    case "member_left_channel":
      return event.user === self ? { kind: "access-lost", place } : undefined;
    case "channel_rename":
    case "group_rename":
      return { kind: "renamed", place, name: event.channel.name };
    default:
      return event satisfies never;
  }
}

// --- presses

interface SlackPressParts {
  readonly name: string;
  readonly port: ChannelPort;
  readonly reader: Reader;
  readonly accounts: () => readonly ChannelAccount[];
}

/** Buttons that are being answered; more are told to press again. */
const MAX_PRESSES = 100;

/** Answers the buttons that people press. */
class Presses {
  readonly #parts: SlackPressParts;
  #count = 0;

  constructor(parts: SlackPressParts) {
    this.#parts = parts;
  }

  /**
   * The decision is stored, then acknowledged, then told to the person who pressed alone. Slack
   * shows a warning after 3 s without; pressing twice is one decision. Never rejects.
   */
  async answer(told: SocketEnvelope, signal: AbortSignal): Promise<void> {
    const { name, port } = this.#parts;
    const press = blockActions.safeParse(told.payload);
    if (!press.success) {
      port.logger.warn({ account: name }, `${name} was told a malformed press by Slack`);
      return told.acknowledge();
    }
    this.#count += 1;
    try {
      const said = this.#count > MAX_PRESSES ? "⏳" : await this.#ask(press.data, signal);
      await told.acknowledge();
      if (said !== undefined) await this.#show(press.data, said, signal);
    } catch (error) {
      port.logger.warn(
        { account: name, err: error },
        `a button that ${press.data.user.id} pressed was not answered (${messageOf(error)})`,
      );
    } finally {
      this.#count -= 1;
    }
  }

  async #ask(press: BlockActions, signal: AbortSignal): Promise<string | undefined> {
    const { port, reader, accounts } = this.#parts;
    const [account] = accounts();
    const value = press.actions.find(({ type }) => type === "button")?.value;
    if (!account || !value) return undefined; // a link, or another app's block
    const { container, user } = press;
    const place = placeOf(
      container.channel_id,
      { ts: container.message_ts, thread_ts: container.thread_ts ?? undefined },
      container.channel_id.startsWith("D"),
    );
    const { name, manages } = await reader.api.user(user.id, signal);
    return port.pressed(account, { value, person: { id: user.id, name, manages }, place });
  }

  /** Source: docs.slack.dev/reference/methods/chat.postEphemeral. */
  async #show({ container, user }: BlockActions, text: string, signal: AbortSignal): Promise<void> {
    const thread = container.thread_ts ?? undefined;
    await this.#parts.reader.api.call({
      method: "chat.postEphemeral",
      args: { channel: container.channel_id, user: user.id, text, thread_ts: thread },
      answer: plainAnswer,
      doing: "answer a button",
      channel: container.channel_id,
      signal,
    });
  }
}
