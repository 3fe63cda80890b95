/** Discord's messages and places in the words of rooms. */

import {
  ChannelError,
  type Attachment,
  type InboundMessage,
  type OutgoingPost,
  type PlaceAddress,
} from "../../rooms/channel-adapter.ts";
import { isForum, threadTypeIn } from "./permissions.ts";
import type { WireAttachment, WireMessage, WireUser } from "./wire-forms.ts";
import { onlyDefined } from "../../kernel/json.ts";
import { quoteLines } from "../../kernel/quoted-words.ts";

/** The name of this adapter in every place's address. */
export const DISCORD = "discord";

/** Characters (UTF-16 units) of a message on the platform. Source: "Message: Create Message". */
export const PLATFORM_MESSAGE_LENGTH = 2000;

/**
 * Source: "Component Reference": rows, buttons of a row, characters of a label and of a custom id.
 */
const BUTTONS = { rows: 5, perRow: 5, label: 80, value: 100 } as const;

/**
 * Kinds of messages that a person or bot wrote; the others are the platform's own notices (a pin, a new
 * thread, …). Source: "Message: Message Types": DEFAULT, REPLY, CHAT_INPUT_COMMAND,
 * CONTEXT_MENU_COMMAND.
 */
const REPLY = 19;
const WRITTEN: readonly number[] = [0, REPLY, 20, 23];

/** What the platform does not say with the message. */
export interface InboundFacts {
  readonly threadName?: string | undefined;
  readonly botOfRole?: ((role: string) => string | undefined) | undefined;
}

/**
 * A message in the words of rooms; `undefined` for a notice of the platform. Pure. A reply to a bot
 * counts as its mention, whether or not the reply pings; it stands in no text (`at` −1):
 * docs/spec/collaboration §2, "A reply to an agent's message mentions that agent".
 */
export function toInbound(
  message: WireMessage,
  place: PlaceAddress,
  { threadName, botOfRole }: InboundFacts = {},
): InboundMessage | undefined {
  const { type } = message;
  if (!WRITTEN.includes(type)) return undefined;
  const { author } = message;
  const replyTo = message.message_reference?.message_id;
  const repliedAuthor = type === REPLY ? message.referenced_message?.author : undefined;
  const content = withBots(message.content, message.mention_roles, botOfRole);
  const byRole = message.mention_roles.flatMap((role) => botOfRole?.(role) ?? []);
  const woken = new Set([...message.mentions.map(({ id }) => id), ...byRole]);
  const inText = mentionsIn(content).filter(({ platformId }) => woken.has(platformId));
  const byReply =
    repliedAuthor?.bot === true && !inText.some(({ platformId }) => platformId === repliedAuthor.id)
      ? [{ platformId: repliedAuthor.id, at: -1 }]
      : [];
  return {
    platformId: message.id,
    place,
    author: {
      platformId: author.id,
      name: message.member?.nick ?? nameOf(author),
      isBot: author.bot === true || message.webhook_id !== undefined,
    },
    text: textOf(content, message),
    mentions: [...byReply, ...inText],
    attachments: toAttachments(message),
    at: writtenAt(message),
    ...onlyDefined({ replyTo, key: message.nonce?.toString(), threadName }),
  };
}

/**
 * The text with `<@bot>` where it mentions the role that came with a bot: the platform's picker
 * inserts the one as often as the other. Pure.
 */
export function withBots(
  text: string,
  roles: readonly string[],
  botOfRole: InboundFacts["botOfRole"],
): string {
  return text.replaceAll(/<@&(\d+)>/gu, (whole, role: string) => {
    const bot = roles.includes(role) ? botOfRole?.(role) : undefined;
    return bot === undefined ? whole : `<@${bot}>`;
  });
}

/**
 * What people read: the text, then what was forwarded as a quotation, then the poll with its answers.
 * Source: "Message Snapshot Object", "Poll Resource". Pure.
 */
function textOf(content: string, { message_snapshots: forwarded, poll }: WireMessage): string {
  const quoted = forwarded.map(({ message }) => `↪\n${quoteLines(message.content)}`);
  const answers = poll?.answers.map(({ poll_media: { text } }) => `- ${text}`) ?? [];
  const asked = poll === undefined ? [] : [[`📊 ${poll.question.text}`, ...answers].join("\n")];
  return [content, ...quoted, ...asked].filter((part) => part !== "").join("\n");
}

/**
 * Every `<@id>` of a text with where it stands; one inside code is none for the platform either.
 */
function mentionsIn(text: string): { platformId: string; at: number }[] {
  const spoken = text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/gu, (code) => " ".repeat(code.length));
  return [...spoken.matchAll(/<@!?(\d+)>/gu)].map((match) => ({
    platformId: match[1] ?? "",
    at: match.index,
  }));
}

/** What people see of a person or bot. */
export function nameOf({ id, global_name: shown, username }: WireUser): string {
  return shown ?? username ?? id;
}

function writtenAt({ id, timestamp }: WireMessage): number {
  const at = timestamp === undefined ? NaN : Date.parse(timestamp);
  return Number.isNaN(at) ? timeOf(id) : at;
}

/** The files of a message and of what it forwards. Pure. */
export function toAttachments(message: WireMessage): readonly Attachment[] {
  return [message, ...message.message_snapshots.map((snapshot) => snapshot.message)]
    .flatMap(({ attachments }) => attachments)
    .map(toAttachment);
}

function toAttachment(file: WireAttachment): Attachment {
  return {
    id: file.id,
    name: file.filename,
    url: file.url,
    ...onlyDefined({ size: file.size, contentType: file.content_type }),
  };
}

/**
 * The text as the platform shall have it: `<@agent-id>` becomes `<@snowflake>`. A snowflake is
 * longer than most agents' ids; where that breaks the limit, only the first mention of each agent
 * stays one and the others become names. Pure.
 */
export function toWireText(text: string, mentions: OutgoingPost["mentions"]): string {
  const byAgent = new Map(mentions.map((mention) => [mention.agent, mention]));
  const everyMention = text.replaceAll(/<@([^<>@\s]+)>/gu, (whole, agent: string) => {
    const mention = byAgent.get(agent);
    return mention === undefined ? whole : `<@${mention.platformId}>`;
  });
  if (everyMention.length <= PLATFORM_MESSAGE_LENGTH) return everyMention;
  const mentioned = new Set<string>();
  return text.replaceAll(/<@([^<>@\s]+)>/gu, (whole, agent: string) => {
    const mention = byAgent.get(agent);
    if (mention === undefined) return whole;
    if (mentioned.has(agent)) return `@${mention.displayName}`;
    mentioned.add(agent);
    return `<@${mention.platformId}>`;
  });
}

/**
 * The body of Create Message: found again by its nonce, and able to wake only the intended accounts.
 */
export function toMessageBody(post: OutgoingPost): object {
  return {
    ...toEditBody(post),
    nonce: post.key,
    enforce_nonce: true,
    message_reference: referenceTo(post.replyTo),
  };
}

/**
 * The body of Start Thread. Without a type the platform makes a private thread. In a forum it is a
 * post, which begins with a message: its name. Source: "Channel: Start Thread without Message", "Start
 * Thread in Forum or Media Channel".
 */
export function toThreadBody(name: string, channelType: number | undefined): object {
  if (!isForum(channelType)) return { name, type: threadTypeIn(channelType) };
  return { name, message: { content: name, allowed_mentions: { parse: [] } } };
}

function referenceTo(replyTo: string | undefined): object | undefined {
  return replyTo === undefined ? undefined : { message_id: replyTo, fail_if_not_exists: false };
}

/** The body of Edit Message. */
export function toEditBody(post: OutgoingPost): object {
  return {
    content: toWireText(post.text, post.mentions),
    // At most 100 users may be listed. Source: "Message: Allowed Mentions Object".
    allowed_mentions: {
      parse: [],
      users: [...new Set(post.mentions.map(({ platformId }) => platformId))].slice(0, 100),
      replied_user: false,
    },
    // Empty: the button of what was being written goes with it.
    components: toComponents(post.buttons ?? []),
  };
}

function toComponents(buttons: NonNullable<OutgoingPost["buttons"]>): object[] {
  const tooLong = buttons.find(({ value }) => value.length > BUTTONS.value);
  if (tooLong !== undefined) {
    throw new ChannelError(
      "invalid",
      `The value of the button "${tooLong.label}" has more than ${BUTTONS.value} characters.`,
    );
  }
  if (buttons.length > BUTTONS.rows * BUTTONS.perRow) {
    throw new ChannelError(
      "invalid",
      `A message has at most ${BUTTONS.rows * BUTTONS.perRow} buttons, not ${buttons.length}.`,
    );
  }
  const rows = Array.from({ length: Math.ceil(buttons.length / BUTTONS.perRow) }, (_, row) =>
    buttons.slice(row * BUTTONS.perRow, (row + 1) * BUTTONS.perRow),
  );
  return rows.map((row) => ({
    type: 1,
    components: row.map(({ value, label }) => ({
      type: 2,
      style: 1,
      custom_id: value,
      label: cut(label, BUTTONS.label),
    })),
  }));
}

/** Whether the platform shows the same text: it strips white space at both ends. */
export function isSameText(one: string, other: string): boolean {
  return one.trim() === other.trim();
}

/** The first `length` UTF-16 units, no surrogate pair broken. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const kept = text.slice(0, length - 1);
  return `${kept.isWellFormed() ? kept : kept.slice(0, -1)}…`;
}

/**
 * When something with this id was made, by the platform's clock. Source: "API Reference:
 * Snowflakes".
 */
export function timeOf(snowflake: string): number {
  return Number(BigInt(snowflake) >> 22n) + 1_420_070_400_000;
}
