import type { Clock } from "../../kernel/clock.ts";
import { ChannelError, type FileOfMessage } from "../../rooms/channel-adapter.ts";
import { downloadFile } from "../download.ts";
import type { AccountApi } from "./account-api.ts";
import { toAttachments } from "./mapping.ts";
import { channelIdOf } from "./places.ts";
import { NEEDS } from "./permissions.ts";
import { messageForm } from "./wire-forms.ts";

/** Source: "Reference: Signed Attachment CDN URLs". */
const HOSTS: ReadonlySet<string> = new Set(["cdn.discordapp.com", "media.discordapp.net"]);

/** What reading files of one bot needs. */
export interface DiscordFilesParts {
  readonly api: AccountApi;
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * The bytes of a file. Its address is signed and runs out within a day: then the message is asked
 * for another one. No token is shown.
 */
export async function readDiscordFile(
  file: FileOfMessage,
  parts: DiscordFilesParts,
): Promise<Uint8Array> {
  try {
    return await download(file, file.attachment.url, parts);
  } catch (error) {
    if (!isExpired(error)) throw error;
    return download(file, await freshUrl(file, parts), parts);
  }
}

function download(
  { attachment, maxBytes }: FileOfMessage,
  url: string,
  { apiUrl, clock, signal }: DiscordFilesParts,
): Promise<Uint8Array> {
  const { contentType: type, size } = attachment;
  return downloadFile({
    url,
    hosts: HOSTS,
    standIn: apiUrl,
    type,
    size,
    maxBytes,
    clock,
    signal,
  });
}

function isExpired(error: unknown): boolean {
  if (!(error instanceof ChannelError)) return false;
  return error.failure === "not-found" || error.failure === "permission";
}

async function freshUrl(
  { place, message, attachment }: FileOfMessage,
  { api, signal }: DiscordFilesParts,
): Promise<string> {
  const channel = channelIdOf(place);
  const told = await api.read(messageForm, {
    method: "GET",
    route: `/channels/${channel}/messages/${message}`,
    doing: "show a message",
    channel,
    needs: NEEDS.read,
    signal,
  });
  const found = toAttachments(told).find(({ id }) => id === attachment.id);
  if (found) return found.url;
  throw new ChannelError("not-found", "The message does not have it any more.", { detail: "gone" });
}
