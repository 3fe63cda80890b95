import { ChannelError, type FoundOnPlatform } from "../../rooms/channel-adapter.ts";
import type { AppApi } from "./app-api.ts";
import { idOf } from "./mapping.ts";
import type { SlackWireMessage } from "./wire.ts";

/** How far the platform's clock may be behind ours, seconds. */
const CLOCK_SKEW_S = 60;
/** Messages that are looked through before the answer is "unsure". */
export const MOST_SEARCHED = 2000;

/** What is looked for: a message of this app with this key. */
export interface SlackWantedMessages {
  readonly channel: string;
  readonly threadTs?: string | undefined;
  /** Kind of its metadata. */
  readonly event: string;
  readonly key: string;
  /** Only what is younger than this `ts`. */
  readonly after: string | undefined;
}

/**
 * Whether this app has said something under a key. Slack refuses no second message of the same key,
 * but gives the metadata of ours back to us. Without `after` only the newest are looked through.
 */
export async function searchMessage(
  api: AppApi,
  { channel, threadTs, event, key, after }: SlackWantedMessages,
  signal: AbortSignal,
): Promise<FoundOnPlatform> {
  const { userId, botId } = await api.whoAmI(signal);
  const messages = await api.read({
    channel,
    threadTs,
    after: after ?? "0",
    limit: MOST_SEARCHED,
    signal,
  });
  const isIt = ({ user, bot_id: bot, metadata }: SlackWireMessage): boolean =>
    (user === userId || bot === botId) &&
    metadata?.event_type === event &&
    metadata.event_payload?.["key"] === key;
  const found = messages.find(isIt);
  if (found) return { found: "yes", platformId: idOf(channel, found.ts) };
  return { found: messages.length < MOST_SEARCHED ? "no" : "unsure" };
}

/** The `ts` from which something that was first tried `since` can stand. */
export function earliestTs(since: number): string {
  return `${Math.max(0, Math.floor(since / 1000) - CLOCK_SKEW_S)}.000000`;
}

/**
 * The thread of this channel that a person names: by a link (`…/archives/C1/p1700000000000100`), by
 * the `thread_ts` in it, or by the `ts` of its root.
 */
export async function namedThread(
  api: AppApi,
  channel: string,
  named: string,
  signal: AbortSignal,
): Promise<FoundOnPlatform> {
  const inLink = /thread_ts=(\d{10}\.\d{6})/u.exec(named)?.[1];
  const packed = /\/p(\d{10})(\d{6})/u.exec(named);
  const bare = /\b(\d{10}\.\d{6})\b/u.exec(named)?.[1];
  const threadTs = inLink ?? (packed ? `${packed[1]}.${packed[2]}` : bare);
  if (threadTs === undefined) return { found: "no" };
  try {
    const { messages } = await api.page({ channel, threadTs, limit: 1, signal });
    const isThere = messages.some(({ ts }) => ts === threadTs);
    return isThere ? { found: "yes", platformId: idOf(channel, threadTs) } : { found: "no" };
  } catch (error) {
    if (error instanceof ChannelError && error.failure === "not-found") return { found: "no" };
    throw error;
  }
}
