import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import {
  ChannelError,
  type FileOfMessage,
  type FoundOnPlatform,
  type OutgoingFile,
  type OutgoingPost,
} from "../../rooms/channel-adapter.ts";
import { downloadFile } from "../download.ts";
import type { AppApi } from "./app-api.ts";
import { toChannelError } from "./errors.ts";
import { idOf, threadTsOf } from "./mapping.ts";
import { MOST_SEARCHED } from "./search.ts";
import { fileAnswer, plainAnswer, uploadAnswer, type SlackWireMessage } from "./wire.ts";

/** Source: docs.slack.dev/reference/objects/file-object (`url_private`), and GovSlack. */
const HOSTS: ReadonlySet<string> = new Set(["files.slack.com", "files.slack-gov.com"]);
/** Milliseconds for the bytes of one file on their way. */
const UPLOAD_MS = 60_000;

/** What reading or posting files of one app needs. */
export interface SlackFilesParts {
  readonly api: AppApi;
  readonly token: string;
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * The bytes of a file. Its address is asked for now: what a message said of it may be old, and of a
 * file of another workspace it says nothing.
 */
export async function readSlackFile(
  { attachment, maxBytes }: FileOfMessage,
  { api, token, apiUrl, clock, signal }: SlackFilesParts,
): Promise<Uint8Array> {
  const { file } = await api.call({
    method: "files.info",
    args: { file: attachment.id },
    answer: fileAnswer,
    doing: "tell about a file",
    signal,
  });
  const url = file.url_private_download ?? file.url_private;
  if (!url) {
    throw new ChannelError("not-found", "Slack has no bytes of it.", {
      detail: file.mode ?? "no address",
    });
  }
  return downloadFile({
    url,
    hosts: HOSTS,
    authorization: `Bearer ${token}`,
    standIn: apiUrl,
    type: file.mimetype ?? undefined,
    size: file.size ?? undefined,
    maxBytes,
    clock,
    signal,
  });
}

/**
 * Shares files as a message of the app. Its id is not known then: Slack shares them later. Source:
 * docs.slack.dev/reference/methods/files.completeUploadExternal.
 */
export async function postSlackFiles(
  post: OutgoingPost,
  parts: SlackFilesParts,
): Promise<{ platformId: string }> {
  const { channel } = post.place;
  const uploaded: { id: string; title: string }[] = [];
  for (const file of post.files ?? []) {
    uploaded.push({ id: await upload(file, channel, parts), title: file.name });
  }
  await parts.api.call({
    method: "files.completeUploadExternal",
    args: { files: uploaded, channel_id: channel, thread_ts: threadTsOf(post.place) },
    answer: plainAnswer,
    doing: "share a file",
    channel,
    signal: parts.signal,
  });

  return { platformId: "" };
}

/** Gives its id. What is not completed is seen by no one, and goes. */
async function upload(
  { name, bytes }: OutgoingFile,
  channel: string,
  { api, clock, signal }: SlackFilesParts,
): Promise<string> {
  const doing = "take a file";
  const { upload_url: url, file_id: id } = await api.call({
    method: "files.getUploadURLExternal",
    args: { filename: name, length: bytes.length },
    answer: uploadAnswer,
    doing,
    channel,
    signal,
  });
  const late = (): Error =>
    new ChannelError("transient", `Slack did not take a file in ${UPLOAD_MS / 1000} s.`, {
      detail: "timeout",
      notSent: true,
    });
  try {
    await withTimeout(clock, { ms: UPLOAD_MS, signal }, late, async (ends) => {
      const body = bytes as Uint8Array<ArrayBuffer>;
      const answer = await fetchAtOrigin(url, { method: "POST", body, signal: ends });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    });
  } catch (error) {
    signal.throwIfAborted();
    throw toChannelError(error, { doing, channel });
  }
  return id;
}

/**
 * Whether the files of a post are shared: by number and sizes, since such a message carries no
 * metadata of ours.
 */
export async function findSlackFiles(
  post: OutgoingPost,
  { api, after, signal }: { api: AppApi; after: string; signal: AbortSignal },
): Promise<FoundOnPlatform> {
  const { channel } = post.place;
  const { userId } = await api.whoAmI(signal);
  const threadTs = threadTsOf(post.place);
  const messages = await api.read({ channel, threadTs, after, limit: MOST_SEARCHED, signal });
  const sizes = sizesOf((post.files ?? []).map(({ bytes }) => bytes.length));
  const isIt = ({ user, files }: SlackWireMessage): boolean =>
    user === userId && sizesOf((files ?? []).map(({ size }) => size ?? 0)) === sizes;
  const found = messages.find(isIt);
  if (found) return { found: "yes", platformId: idOf(channel, found.ts) };
  return { found: messages.length < MOST_SEARCHED ? "no" : "unsure" };
}

function sizesOf(sizes: readonly number[]): string {
  return sizes.toSorted((one, other) => one - other).join(" ");
}
