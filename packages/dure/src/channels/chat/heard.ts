/** What an adapter tells, read as distrustfully as what a platform tells, in the words of rooms. */

import { isObject, onlyDefined } from "../../kernel/json.ts";
import type {
  Attachment,
  InboundAuthor,
  InboundMessage,
  PlaceAddress,
} from "../../rooms/channel-adapter.ts";
import { LONGEST_TEXT } from "../../rooms/text.ts";
import type { ChatAdapter, ChatAttachment } from "./chat-types.ts";
import type { ChatPlatform } from "./platforms.ts";

/** Characters of an id or a name that a platform tells; a longer one is none. */
const LONGEST_ID = 1_000;
const LONGEST_NAME = 200;
/** Files of one message that are told of. */
const MOST_FILES = 20;
const FILE_KINDS = ["image", "file", "video", "audio"] as const;

/** One account, as what it hears is read. */
export interface Listener {
  /** The name of the kind: part of every address. */
  readonly kind: string;
  readonly adapter: ChatAdapter;
  readonly platform: ChatPlatform;
  /** Of each account of the kind that this process has opened, also its own. */
  readonly bots: () => readonly Bot[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** An account as the platform names it. */
export interface Bot {
  readonly account: string;
  /** In dure: letters and digits, so that a mention of it can stand in a text. */
  readonly id: string;
  /** At the platform. */
  readonly userId: string | undefined;
  readonly userName: string;
}

/** A message, with what dure asks of it besides. */
export interface HeardMessage {
  readonly message: InboundMessage;
  readonly isEdited: boolean;
}

/** Undefined: it is no message that dure can keep. */
export function heardMessage(
  value: unknown,
  { self, listener }: { self: Bot; listener: Listener },
): HeardMessage | undefined {
  if (!isObject(value)) return undefined;
  const id = idIn(value, "id");
  const threadId = idIn(value, "threadId");
  const author = authorOf(value["author"], self, listener.bots());
  if (id === undefined || threadId === undefined || author === undefined) return undefined;
  const place = placeOf(threadId, listener);
  const replied = isObject(value["replyTo"]) ? value["replyTo"] : undefined;
  const words = wordsOf(value, listener.bots());
  const isNamed = value["isMention"] === true && place.direct !== true;
  const text = isNamed && !isReplyTo(replied, self) ? withMentionOf(words, self) : words;
  const metadata = isObject(value["metadata"]) ? value["metadata"] : {};
  const repliedId = replied && idIn(replied, "id");

  const message: InboundMessage = {
    platformId: platformIdOf(place, id),
    place,
    author,
    text,
    mentions: [...mentionsIn(text, listener.bots()), ...repliedTo(replied, self)],
    ...onlyDefined({ replyTo: repliedId && platformIdOf(place, repliedId) }),
    attachments: attachmentsOf(value["attachments"]),
    at: timeOf(metadata["dateSent"]) ?? listener.now(),
  };

  return { message, isEdited: metadata["edited"] === true };
}

/** Where a thread of the adapter is. Throws what the adapter throws at an id that is none. */
export function placeOf(threadId: string, { kind, adapter, platform }: Listener): PlaceAddress {
  if (adapter.isDM?.(threadId) === true) return { adapter: kind, channel: threadId, direct: true };
  const channel = platform.channelOf?.(threadId) ?? adapter.channelIdFromThreadId(threadId);
  const thread = threadId === channel ? undefined : threadId;

  return { adapter: kind, channel, thread };
}

/** The adapter's thread of a place. */
export function threadIdOf({ channel, thread }: PlaceAddress): string {
  return thread ?? channel;
}

/** An id of a message is unique in its channel alone. */
export function platformIdOf({ channel }: PlaceAddress, id: string): string {
  return `${channel}#${id}`;
}

/** The adapter's id of a message of a place. */
export function messageIdOf({ channel }: PlaceAddress, platformId: string): string {
  const prefix = `${channel}#`;
  return platformId.startsWith(prefix) ? platformId.slice(prefix.length) : platformId;
}

/** Undefined: the platform's own notice, or no author. */
export function authorOf(
  value: unknown,
  self: Bot,
  bots: readonly Bot[],
): InboundAuthor | undefined {
  if (!isObject(value) || value["isSystem"] === true) return undefined;
  const userId = idIn(value, "userId");
  if (userId === undefined) return undefined;
  const bot = value["isMe"] === true ? self : bots.find((one) => one.userId === userId);
  const names = [value["fullName"], value["userName"], userId];
  const name = names.find((one) => typeof one === "string" && one.trim() !== "") as string;

  return {
    platformId: bot?.id ?? userId,
    name: name.slice(0, LONGEST_NAME),
    isBot: bot !== undefined || value["isBot"] === true,
  };
}

/** Letters and digits of what the platform calls a bot: so a mention of it can stand in a text. */
export function botId(userId: string | undefined, account: string): string {
  const letters = (userId ?? "").replace(/[^A-Za-z0-9]/gu, "");
  return (letters || account.replace(/[^A-Za-z0-9]/gu, "")).slice(-40);
}

/** A text member that is an id. */
export function idIn(value: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const id = value[name];
  return typeof id === "string" && id !== "" && id.length <= LONGEST_ID ? id : undefined;
}

/** The text, with the bots that it names as dure writes a mention of them. */
function wordsOf(value: Readonly<Record<string, unknown>>, bots: readonly Bot[]): string {
  const text = typeof value["text"] === "string" ? value["text"] : "";
  if (text.length > LONGEST_TEXT) return text; // it is refused as too long

  return bots.reduce((words, bot) => withMentionsOf(words, bot), text);
}

/** The platform says that the bot was named, and shows it in another way than by its name. */
function withMentionOf(text: string, { id }: Bot): string {
  return text.includes(`<@${id}>`) ? text : `<@${id}> ${text}`;
}

function withMentionsOf(text: string, { id, userName }: Bot): string {
  const name = userName.replace(/^@/u, "");
  if (name === "") return text;
  const escaped = name.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&");

  return text.replace(new RegExp(`@${escaped}(?![A-Za-z0-9_-])`, "giu"), () => `<@${id}>`);
}

function mentionsIn(text: string, bots: readonly Bot[]): InboundMessage["mentions"] {
  return bots
    .map(({ id }) => ({ platformId: id, at: text.indexOf(`<@${id}>`) }))
    .filter(({ at }) => at >= 0)
    .toSorted((one, other) => one.at - other.at);
}

function repliedTo(replied: unknown, self: Bot): InboundMessage["mentions"] {
  return isReplyTo(replied, self) ? [{ platformId: self.id, at: -1 }] : [];
}

/** Whether it is a message of the account itself. */
function isReplyTo(replied: unknown, { userId }: Bot): boolean {
  const author = isObject(replied) ? replied["author"] : undefined;
  if (!isObject(author)) return false;
  return author["isMe"] === true || (userId !== undefined && author["userId"] === userId);
}

function timeOf(value: unknown): number | undefined {
  const at = value instanceof Date ? value.getTime() : Number.NaN;
  return Number.isFinite(at) ? at : undefined;
}

function attachmentsOf(value: unknown): readonly Attachment[] {
  const files = Array.isArray(value) ? (value as readonly unknown[]) : [];
  return files.slice(0, MOST_FILES).flatMap((file) => attachmentOf(file) ?? []);
}

function attachmentOf(value: unknown): Attachment | undefined {
  if (!isObject(value)) return undefined;
  const kind = FILE_KINDS.find((one) => one === value["type"]) ?? "file";
  const url = typeof value["url"] === "string" ? value["url"] : undefined;
  const name = typeof value["name"] === "string" ? value["name"].slice(0, LONGEST_NAME) : kind;
  const mimeType = typeof value["mimeType"] === "string" ? value["mimeType"] : undefined;
  const size = typeof value["size"] === "number" ? value["size"] : undefined;
  const metadata = textsIn(value["fetchMetadata"]);
  const held = JSON.stringify({ type: kind, name, mimeType, url, fetchMetadata: metadata });
  const isReadable = metadata !== undefined && held.length <= 4 * LONGEST_ID;

  return { id: isReadable ? held : undefined, name, url: url ?? "", contentType: mimeType, size };
}

/** What an adapter makes a download from, as its attachment's id carries it; undefined: it is none. */
export function attachmentIn(id: string | undefined): ChatAttachment | undefined {
  if (id === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(id);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const type = FILE_KINDS.find((one) => one === value["type"]);
  const fetchMetadata = textsIn(value["fetchMetadata"]);
  if (type === undefined || fetchMetadata === undefined) return undefined;
  const { name, mimeType, url } = textsIn(value) ?? {};

  return {
    type,
    fetchMetadata,
    ...onlyDefined({ name, mimeType, url }),
  };
}

/** The text members. */
function textsIn(value: unknown): Record<string, string> | undefined {
  if (!isObject(value)) return undefined;
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );

  return Object.fromEntries(texts);
}
