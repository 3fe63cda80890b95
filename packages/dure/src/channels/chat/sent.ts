/** A message of rooms as an adapter of `chat` takes it. */

import {
  ChannelError,
  type OutgoingFile,
  type OutgoingPost,
  type PlaceAddress,
} from "../../rooms/channel-adapter.ts";
import type { ChatAdapter, ChatPostable, ChatSent, ChatUpload } from "./chat-types.ts";
import { messageIdOf, threadIdOf } from "./heard.ts";

/** The text of a message; mentions of dure are shown by name. */
export function textOfPost({ text, mentions }: Pick<OutgoingPost, "text" | "mentions">): string {
  return text.replace(/<@([A-Za-z0-9_-]{1,64})>/gu, (mention, agent: string) => {
    const named = mentions.find((one) => one.agent === agent);
    return named === undefined ? mention : `@${named.displayName}`;
  });
}

/** As the adapter takes it. With buttons it is a card, which the adapter may show as text. */
export function postableOf(post: OutgoingPost): ChatPostable {
  const text = textOfPost(post);
  if (post.files !== undefined) return { markdown: text, files: post.files.map(uploadOf) };
  if (post.buttons === undefined || post.buttons.length === 0) return { markdown: text };
  const buttons = post.buttons.map(({ value, label }) => ({
    type: "button" as const,
    id: value,
    label,
  }));

  return {
    card: {
      type: "card",
      children: [
        { type: "text", content: text },
        { type: "actions", children: buttons },
      ],
    },
    fallbackText: text,
  };
}

/** The same without buttons that can be pressed: each is a line. */
function withLines(post: OutgoingPost): OutgoingPost {
  const lines = (post.buttons ?? []).map(({ label }) => `- ${label}`);
  return { ...post, text: [post.text, ...lines].join("\n"), buttons: undefined };
}

/**
 * Sends it, by `send`, which rejects with a `ChannelError`. A platform that refuses the buttons, or
 * to answer a message that is gone, gets the words without them.
 */
export async function sendPost(
  adapter: ChatAdapter,
  post: OutgoingPost,
  send: (work: () => Promise<ChatSent>) => Promise<ChatSent>,
): Promise<ChatSent> {
  try {
    return await send(() => sendOnce(adapter, post));
  } catch (error) {
    const isRefused = error instanceof ChannelError && error.notSent && isOfContent(error);
    const isPlain = post.replyTo === undefined && (post.buttons ?? []).length === 0;
    if (!isRefused || isPlain) throw error;
    const plain = withLines({ ...post, replyTo: undefined });

    return send(() => sendOnce(adapter, plain));
  }
}

function isOfContent({ failure }: ChannelError): boolean {
  return failure === "invalid" || failure === "not-found";
}

function sendOnce(adapter: ChatAdapter, post: OutgoingPost): Promise<ChatSent> {
  const message = postableOf(post);
  if (post.replyTo !== undefined && adapter.reply !== undefined) {
    const replied = messageIdOf(post.place, post.replyTo);
    return adapter.reply(threadIdOf(post.place), replied, message);
  }

  return sendTo(adapter, post.place, message);
}

/** To a thread, a direct message, or a channel itself. */
export function sendTo(
  adapter: ChatAdapter,
  place: PlaceAddress,
  message: ChatPostable,
): Promise<ChatSent> {
  const isChannel = place.thread === undefined && place.direct !== true;
  if (isChannel && adapter.postChannelMessage !== undefined) {
    return adapter.postChannelMessage(place.channel, message);
  }

  return adapter.postMessage(threadIdOf(place), message);
}

function uploadOf({ name, type, bytes }: OutgoingFile): ChatUpload {
  return { data: Buffer.from(bytes), filename: name, mimeType: type };
}

/** The message that begins a thread, by which it is found again. */
export function threadTitle(name: string): string {
  return `🧵 ${name}`;
}
