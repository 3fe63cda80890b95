import {
  ChannelError,
  type Attachment,
  type InboundMessage,
  type OutgoingPost,
  type PlaceAddress,
} from "../../rooms/channel-adapter.ts";
import { cutText } from "../../rooms/text.ts";
import { fromSlackText, mentionsIn, toSlackText } from "./text.ts";
import type { SlackWireMessage } from "./wire.ts";

/** The name of this adapter in every place's address. */
export const SLACK = "slack";

/** Kinds of metadata that our messages carry: Slack gives it back to who reads. */
export const POST_EVENT = "dure_post";
export const THREAD_EVENT = "dure_thread";

/**
 * Characters of `text` that Slack advises; an edit takes no more. Longer ones stand in blocks.
 * Source: docs.slack.dev/reference/methods/chat.update, `msg_too_long`.
 */
export const WIRE_TEXT_LENGTH = 4000;
/** Source: docs.slack.dev/reference/block-kit/blocks: section, actions, button. */
const BLOCKS = { sectionText: 3000, sections: 45, buttons: 25, label: 75, value: 2000 } as const;

/**
 * What people and apps write; the other subtypes are the platform's own notices. Source:
 * docs.slack.dev/reference/events/message, "Message subtypes".
 */
const WRITTEN: ReadonlySet<string> = new Set([
  "",
  "bot_message",
  "file_share",
  "me_message",
  "thread_broadcast",
]);

/**
 * A message's id in dure: its `ts` is unique in its channel alone. Ids of one place keep the order
 * of the place when they are compared as texts.
 */
export function idOf(channel: string, ts: string): string {
  return `${channel}:${ts}`;
}

/** The `ts` of such an id. */
export function tsOf(id: string): string {
  return id.slice(id.lastIndexOf(":") + 1);
}

export function threadTsOf({ thread }: PlaceAddress): string | undefined {
  return thread === undefined ? undefined : tsOf(thread);
}

/** Where a message stands; a root of a thread stands in its channel. */
export function placeOf(
  channel: string,
  { ts, thread_ts: root }: Pick<SlackWireMessage, "ts" | "thread_ts">,
  isDirect: boolean,
): PlaceAddress {
  return {
    adapter: SLACK,
    channel,
    thread: root !== undefined && root !== ts ? idOf(channel, root) : undefined,
    direct: isDirect ? true : undefined,
  };
}

/** A message's author and text as one app sees them. */
export interface Seen {
  readonly place: PlaceAddress;
  readonly author: InboundMessage["author"];
  readonly text: string;
  readonly threadName?: string | undefined;
}

/** Whether it was written, rather than told by the platform or made by us to open a thread. */
export function isWritten({ subtype, metadata }: SlackWireMessage): boolean {
  return WRITTEN.has(subtype ?? "") && metadata?.event_type !== THREAD_EVENT;
}

/** A message in the words of rooms. Pure. */
export function toInbound(message: SlackWireMessage, seen: Seen): InboundMessage {
  const { place, author, text, threadName } = seen;
  const key = message.metadata?.event_payload?.["key"];
  return {
    platformId: idOf(place.channel, message.ts),
    place,
    author,
    text,
    mentions: mentionsIn(text),
    attachments: (message.files ?? []).flatMap(toAttachment),
    at: Math.floor(Number(message.ts) * 1000),
    key: typeof key === "string" ? key : undefined,
    threadName,
  };
}

/** The name of a thread: how its root begins. */
export function threadNameOf(root: SlackWireMessage, length: number): string | undefined {
  const [line = ""] = fromSlackText(root.text ?? "")
    .trim()
    .split("\n");
  return line === "" ? undefined : cutText(line.replaceAll("*", ""), length);
}

/** What a message or an edit consists of: found again by its key. Pure. */
export function toBody(post: OutgoingPost): Record<string, unknown> {
  const text = toSlackText(post.text, post.mentions);
  const buttons = post.buttons ?? [];
  const needsBlocks = buttons.length > 0 || text.length > WIRE_TEXT_LENGTH;
  return {
    channel: post.place.channel,
    text: cutText(text, WIRE_TEXT_LENGTH),
    metadata: metadataOf(POST_EVENT, { key: post.key, account: post.account.id }),
    blocks: needsBlocks ? [...sectionsOf(text), ...actionsOf(buttons)] : undefined,
  };
}

export function metadataOf(type: string, payload: Readonly<Record<string, string>>): object {
  return { event_type: type, event_payload: payload };
}

function sectionsOf(text: string): object[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length && parts.length < BLOCKS.sections;) {
    const part = wholeCharacters(text.slice(from, from + BLOCKS.sectionText));
    parts.push(part);
    from += part.length;
  }
  return parts.map((part) => ({ type: "section", text: { type: "mrkdwn", text: part } }));
}

function wholeCharacters(text: string): string {
  return text.isWellFormed() ? text : text.slice(0, -1);
}

function actionsOf(buttons: NonNullable<OutgoingPost["buttons"]>): object[] {
  if (buttons.length === 0) return [];
  const tooLong = buttons.find(({ value }) => value.length > BLOCKS.value);
  if (tooLong !== undefined || buttons.length > BLOCKS.buttons) {
    throw new ChannelError(
      "invalid",
      `A message of Slack has at most ${BLOCKS.buttons} buttons, each with a value of at most ` +
        `${BLOCKS.value} characters.`,
    );
  }
  const elements = buttons.map(({ value, label }, index) => ({
    type: "button",
    action_id: `dure-${index}`,
    text: { type: "plain_text", text: cutText(label, BLOCKS.label) },
    value,
  }));
  return [{ type: "actions", elements }];
}

/** Of these Slack has no bytes: a link elsewhere, or a file that is gone. */
const WITHOUT_BYTES: ReadonlySet<string> = new Set(["external", "tombstone", "hidden_by_limit"]);

function toAttachment(file: NonNullable<SlackWireMessage["files"]>[number]): Attachment[] {
  const url = file.permalink ?? file.url_private;
  if (!url) return [];
  return [
    {
      id: WITHOUT_BYTES.has(file.mode ?? "") ? undefined : (file.id ?? undefined),
      name: file.name ?? "file",
      url,
      contentType: file.mimetype ?? undefined,
      size: file.size ?? undefined,
    },
  ];
}
