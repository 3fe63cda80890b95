import { PAGE, type AccountApi } from "./account-api.ts";
import {
  ChannelError,
  type FoundOnPlatform,
  type OutgoingFile,
} from "../../rooms/channel-adapter.ts";
import { isSameText, timeOf } from "./mapping.ts";
import { isThread } from "./places.ts";
import { threadsForm, type WireMessage, type WirePlace, type WireThreads } from "./wire-forms.ts";
import { NEEDS } from "./permissions.ts";
import { onlyDefined } from "../../kernel/json.ts";

/** Pages that are looked through before the answer is "unsure". */
const MAX_PAGES = 10;

/** Ids in what a person wrote that are tried: a link has three. */
const MAX_NAMED = 5;

/** How far the platform's clock may be behind ours, milliseconds. */
const CLOCK_SKEW_MS = 60_000;

/**
 * Whether this account posted this text in a channel after `after`: by nonce where the platform
 * gives it back, else by exact text. The platform tells a nonce only in the answer to the post and
 * at the gateway, never to a reader: so after a restart it is the text.
 *
 * An empty page proves nothing by itself, because without READ_MESSAGE_HISTORY every page is empty:
 * then the channel must agree that it has had no later message.
 */
export async function searchPost(
  api: AccountApi,
  post: {
    readonly channel: string;
    readonly text: string;
    readonly nonce: string;
    /** Then it is by their sizes: the platform gives files other names. */
    readonly files?: readonly OutgoingFile[] | undefined;
    readonly after?: string | undefined;
  },
  signal: AbortSignal,
): Promise<FoundOnPlatform> {
  const self = await api.self(signal);
  let { after } = post;
  let seen = 0;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { messages, count } = await api.messages(post.channel, { after, limit: PAGE, signal });
    const found = messages.find(
      (message) =>
        message.author.id === self && (message.nonce === post.nonce || isSame(message, post)),
    );
    if (found !== undefined) return { found: "yes", platformId: found.id };
    seen += count;
    if (count < PAGE) {
      if (seen > 0) return { found: "no" };
      const { last_message_id } = await api.place(post.channel, signal);
      const isReallyEmpty =
        last_message_id == null ||
        (after !== undefined && BigInt(last_message_id) <= BigInt(after));
      return { found: isReallyEmpty ? "no" : "unsure" };
    }
    // older pages would be history from before this post
    if (post.after === undefined) return { found: "unsure" };
    after = messages.at(-1)?.id;
  }
  return { found: "unsure" };
}

function isSame(
  { content, attachments }: WireMessage,
  {
    text,
    files = [],
  }: { readonly text: string; readonly files?: readonly OutgoingFile[] | undefined },
): boolean {
  const told = attachments.map(({ size }) => size ?? 0).toSorted((one, other) => one - other);
  const sent = files.map(({ bytes }) => bytes.length).toSorted((one, other) => one - other);
  return isSameText(content, text) && told.join(" ") === sent.join(" ");
}

/**
 * Whether this account opened a thread of this name in a channel since `since`, be it active or
 * archived; the first one if there are several.
 */
export async function searchThread(
  api: AccountApi,
  thread: {
    readonly guild: string | undefined;
    readonly channel: string;
    readonly name: string;
    readonly since: number;
  },
  signal: AbortSignal,
): Promise<FoundOnPlatform> {
  const self = await api.self(signal);
  const guild = thread.guild ?? (await api.place(thread.channel, signal)).guild_id;
  if (guild === undefined) return { found: "no" }; // a direct message channel has no threads
  const earliest = thread.since - CLOCK_SKEW_MS;
  const isIt = (place: WirePlace): boolean =>
    place.parent_id === thread.channel &&
    place.owner_id === self &&
    isSameText(place.name ?? "", thread.name) &&
    timeOf(place.id) >= earliest;

  const active = await api.read(threadsForm, {
    method: "GET",
    route: `/guilds/${guild}/threads/active`,
    doing: "list active threads",
    channel: thread.channel,
    needs: NEEDS.see,
    signal,
  });
  const found = firstOf(active.threads.filter(isIt));
  if (found !== undefined) return { found: "yes", platformId: found.id };
  const archived = await searchArchived(api, thread.channel, { isIt, earliest, signal });
  // The list of active threads has no pages: it may be one that was left out.
  return archived.found === "no" && active.has_more === true ? { found: "unsure" } : archived;
}

/**
 * The thread of this channel that a link (`…/channels/<guild>/<thread>/<message>`), a mention or an
 * id names.
 */
export async function namedThread(
  api: AccountApi,
  channel: string,
  named: string,
  signal: AbortSignal,
): Promise<FoundOnPlatform> {
  for (const id of (named.match(/\d{15,20}/g) ?? []).slice(0, MAX_NAMED)) {
    try {
      const place = await api.place(id, signal);
      if (place.parent_id === channel && isThread(place)) return { found: "yes", platformId: id };
    } catch (error) {
      // The id of a server or a message is no channel's, and what the bot may not see is not what
      // it made.
      if (
        !(error instanceof ChannelError) ||
        (error.failure !== "not-found" && error.failure !== "permission")
      ) {
        throw error;
      }
    }
  }
  return { found: "no" };
}

async function searchArchived(
  api: AccountApi,
  channel: string,
  {
    isIt,
    earliest,
    signal,
  }: { isIt: (place: WirePlace) => boolean; earliest: number; signal: AbortSignal },
): Promise<FoundOnPlatform> {
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await archivedPage(api, channel, before, signal);
    if (answer === "forbidden") return { found: "unsure" };
    const found = firstOf(answer.threads.filter(isIt));
    if (found !== undefined) return { found: "yes", platformId: found.id };
    before = answer.threads.at(-1)?.thread_metadata?.archive_timestamp;
    // Newest archived first: from here on they were archived before this one can have been made.
    if (answer.has_more !== true || before === undefined || Date.parse(before) < earliest) {
      return { found: "no" };
    }
  }
  return { found: "unsure" };
}

async function archivedPage(
  api: AccountApi,
  channel: string,
  before: string | undefined,
  signal: AbortSignal,
): Promise<WireThreads | "forbidden"> {
  try {
    return await api.read(threadsForm, {
      method: "GET",
      route: `/channels/${channel}/threads/archived/public`,
      query: { limit: String(PAGE), ...onlyDefined({ before }) },
      doing: "list archived threads",
      channel,
      needs: NEEDS.read,
      signal,
    });
  } catch (error) {
    if (error instanceof ChannelError && error.failure === "permission") return "forbidden";
    throw error;
  }
}

function firstOf(threads: readonly WirePlace[]): WirePlace | undefined {
  return threads.toSorted((one, other) => timeOf(one.id) - timeOf(other.id))[0];
}
