import { ChannelError } from "../../rooms/channel-adapter.ts";
import { PAGE, type AccountApi } from "./account-api.ts";
import type { Patient } from "../patience.ts";
import type { WireMessage } from "./wire-forms.ts";
import { NEEDS } from "./permissions.ts";

export interface HistoryReader {
  readonly api: AccountApi;
  readonly patient: Patient;
}

interface WantedMessages {
  readonly channel: string;
  /** Behind this one; absent: the newest. */
  readonly after: string | undefined;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** What was said in a place, in pages. Throws the permission that is missing. */
export async function readMessages(
  { api, patient }: HistoryReader,
  wanted: WantedMessages,
): Promise<readonly WireMessage[]> {
  const { channel, after, limit, signal } = wanted;
  const messages: WireMessage[] = [];
  let from = after;
  while (messages.length < limit) {
    const size = Math.min(PAGE, limit - messages.length);
    const page = await patient(() => api.messages(channel, { after: from, limit: size, signal }));
    messages.push(...page.messages);
    if (page.count < size || after === undefined) break;
    from = page.messages.at(-1)?.id ?? from;
  }
  if (messages.length === 0) await ensureReadable({ api, patient }, wanted);
  return messages;
}

/** Nothing was shown: either nothing was said, or it may not be read. */
async function ensureReadable(
  { api, patient }: HistoryReader,
  { channel, after, signal }: WantedMessages,
): Promise<void> {
  const { last_message_id: last } = await patient(() => api.place(channel, signal));
  if (last == null || (after !== undefined && BigInt(last) <= BigInt(after))) return;
  // The last message may have been deleted; reading it tells which of the two
  // it is.
  await isMessageGone({ api, patient }, { channel, id: last, signal });
}

/** HTTP status and JSON error code. A channel that is unknown says nothing of its messages. */
const UNKNOWN_MESSAGE = "404 10008";

/** Whether a message is not there any more; throws where it may not be read. */
export async function isMessageGone(
  { api, patient }: HistoryReader,
  { channel, id, signal }: { channel: string; id: string; signal: AbortSignal },
): Promise<boolean> {
  try {
    await patient(() =>
      api.request({
        method: "GET",
        route: `/channels/${channel}/messages/${id}`,
        doing: "read messages",
        channel,
        needs: NEEDS.read,
        signal,
      }),
    );
    return false;
  } catch (error) {
    if (!(error instanceof ChannelError) || error.detail !== UNKNOWN_MESSAGE) throw error;
    return true;
  }
}
