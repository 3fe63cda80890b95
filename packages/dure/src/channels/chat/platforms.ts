import { isObject } from "../../kernel/json.ts";
import type { ChatAdapter, ChatSent } from "./chat-types.ts";

/** What a platform allows, and how its threads are named. */
export interface ChatPlatform {
  /** UTF-16 units of one message, with room for what the adapter's own formatting adds. */
  readonly messageLength: number;
  /** Bytes of one file that leaves. Absent: the adapter sends none. */
  readonly fileBytes?: number | undefined;
  /** Whether messages can be edited and deleted. */
  readonly edits: boolean;
  /** Whether the platform gives back what was said. Absent: unless the adapter says it does not. */
  readonly hasHistory?: boolean | undefined;
  /** Nothing is said in a channel but in its threads. */
  readonly hasOnlyThreads?: boolean | undefined;
  /** An adapter that does not know its own id has not reached the platform yet. */
  readonly namesItself?: boolean | undefined;
  /** The channel of a thread. Absent: as the adapter says. */
  readonly channelOf?: ((threadId: string) => string) | undefined;
  /** The thread below a message that was posted in a channel. Absent: dure makes no threads. */
  readonly threadBelow?:
    | ((adapter: ChatAdapter, channel: string, sent: ChatSent) => string | undefined)
    | undefined;
}

const UNKNOWN: ChatPlatform = { messageLength: 2_000, edits: true };

/** By the name of the adapter. Sources: the pages of each platform, beside each number. */
const PLATFORMS: Readonly<Record<string, ChatPlatform>> = {
  telegram: {
    // core.telegram.org/bots/api#sendmessage: 4096; MarkdownV2 at most doubles a text.
    messageLength: 2_000,
    // core.telegram.org/bots/api#senddocument
    fileBytes: 50_000_000,
    edits: true,
    hasHistory: false,
    namesItself: true,
  },
  teams: {
    // learn.microsoft.com/microsoftteams/limits-specifications-teams: about 28 KB; 3 bytes a sign.
    messageLength: 8_000,
    edits: true,
    // Microsoft Graph gives messages back to an app with ChannelMessage.Read.All alone.
    hasHistory: false,
    threadBelow: teamsThread,
  },
  gchat: {
    // developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages: 32,000 bytes.
    messageLength: 4_000,
    edits: true,
    // Messages are listed for an app that an administrator allowed it.
    hasHistory: false,
    threadBelow: googleThread,
  },
  whatsapp: {
    // developers.facebook.com/docs/whatsapp/cloud-api/messages/text-messages: 4096.
    messageLength: 2_000,
    edits: false,
    hasHistory: false,
    namesItself: true,
  },
  // A comment on GitHub has 65,536 characters.
  github: { messageLength: 60_000, edits: true, hasOnlyThreads: true },
  // Its adapter's channel is one issue: a team would name each. So all issues are threads of one.
  linear: {
    messageLength: 10_000,
    edits: true,
    namesItself: true,
    hasOnlyThreads: true,
    channelOf: () => "linear",
  },
};

/** Those of a platform that is not known are careful. */
export function platformOf(adapter: string): ChatPlatform {
  return PLATFORMS[adapter] ?? UNKNOWN;
}

/** Source: learn.microsoft.com/microsoftteams/platform/bots, "Conversation id of a reply chain". */
function teamsThread(adapter: ChatAdapter, channel: string, { id }: ChatSent): string | undefined {
  const target = adapter.decodeThreadId(channel);
  if (!isObject(target) || typeof target["conversationId"] !== "string" || id === "") {
    return undefined;
  }

  return adapter.encodeThreadId({
    ...target,
    conversationId: `${target["conversationId"]};messageid=${id}`,
  });
}

/** A message outside of a thread begins one, which the answer names. */
function googleThread(
  adapter: ChatAdapter,
  channel: string,
  { raw }: ChatSent,
): string | undefined {
  const target = adapter.decodeThreadId(channel);
  const thread = isObject(raw) ? raw["thread"] : undefined;
  const threadName = isObject(thread) ? thread["name"] : undefined;
  if (!isObject(target) || typeof threadName !== "string") return undefined;

  return adapter.encodeThreadId({ ...target, threadName });
}
