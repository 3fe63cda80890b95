/** What was said in a place, where its platform gives it back. */

import { isObject } from "../../kernel/json.ts";
import type { PlaceAddress } from "../../rooms/channel-adapter.ts";
import type { ChatAdapter, ChatFetchOptions, ChatPage } from "./chat-types.ts";
import { messageIdOf, threadIdOf } from "./heard.ts";

/** Messages that one request asks for, and requests for one question. */
const PAGE = 100;
const MOST_PAGES = 10;

/** What was read of a place. */
export interface Said {
  /** Oldest first. */
  readonly messages: readonly unknown[];
  /** Nothing between them and `after` was left out. */
  readonly isWhole: boolean;
}

/**
 * What was said after a message, or the newest. `ask` is one request.
 *
 * @param after the platform's id in dure
 * @param most messages, where `after` is absent
 */
export async function saidSince(
  adapter: ChatAdapter,
  place: PlaceAddress,
  { after, most }: { after: string | undefined; most: number },
  ask: (work: () => Promise<ChatPage>) => Promise<ChatPage>,
): Promise<Said> {
  const known = after === undefined ? undefined : messageIdOf(place, after);
  let messages: readonly unknown[] = [];
  let cursor: string | undefined;

  for (let page = 0; page < MOST_PAGES; page++) {
    const options = cursor === undefined ? { limit: PAGE } : { limit: PAGE, cursor };
    const read = await ask(() => fetchPage(adapter, place, options));
    messages = [...read.messages, ...messages];
    const found = messages.findLastIndex((one) => isObject(one) && one["id"] === known);
    if (found >= 0) return { messages: messages.slice(found + 1), isWhole: true };
    cursor = read.nextCursor;
    if (cursor === undefined) {
      // A full page without a next one may be the oldest messages alone.
      return { messages, isWhole: known === undefined && read.messages.length < PAGE };
    }
    if (known === undefined && messages.length >= most) break;
  }

  return { messages, isWhole: false };
}

function fetchPage(
  adapter: ChatAdapter,
  place: PlaceAddress,
  options: ChatFetchOptions,
): Promise<ChatPage> {
  const isChannel = place.thread === undefined && place.direct !== true;
  if (isChannel && adapter.fetchChannelMessages !== undefined) {
    return adapter.fetchChannelMessages(place.channel, { ...options, direction: "backward" });
  }

  return adapter.fetchMessages(threadIdOf(place), { ...options, direction: "backward" });
}

/**
 * Whether two texts are the same words: a platform gives its own formatting back, or none. Signs
 * alone are compared as they are.
 */
export function isSameText(one: string, other: string): boolean {
  const [words, others] = [wordsOf(one), wordsOf(other)];
  return words === "" && others === "" ? one.trim() === other.trim() : words === others;
}

function wordsOf(text: string): string {
  return text.normalize("NFC").replace(/[^\p{L}\p{N}]+/gu, "");
}
