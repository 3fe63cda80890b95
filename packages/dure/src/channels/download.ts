import type { IncomingMessage } from "node:http";
import { getPublic, readUpTo } from "../engine/agent/public-web.ts";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import { ChannelError } from "../rooms/channel-adapter.ts";

/** A file of a platform that is to be read. */
export interface Download {
  readonly url: string;
  /** `https` addresses that serve the platform's files: another one is not asked. */
  readonly hosts: ReadonlySet<string>;
  /** Header that these hosts alone are shown. */
  readonly authorization?: string | undefined;
  /** Another server that stands for the platform: `http://127.0.0.1:PORT/api`. */
  readonly standIn?: string | undefined;
  /** What the platform says of it. */
  readonly type?: string | undefined;
  readonly size?: number | undefined;
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** For one file, milliseconds: the largest that is taken comes at 170 kB each second. */
const WITHIN_MS = 60_000;
const MAX_REDIRECTS = 3;

/**
 * Reads a file of a platform, whole or not at all. Redirects go to public addresses alone, and not
 * with the token to another host. Rejects with a `ChannelError`, or with the reason of the signal;
 * leaves nothing behind. A page of HTML that is no file (a login) is `permission`.
 */
export async function downloadFile(download: Download): Promise<Buffer> {
  const { clock, signal } = download;
  const late = (): Error =>
    new ChannelError("transient", `The file did not come within ${WITHIN_MS / 1000} s.`, {
      detail: "timeout",
    });
  try {
    return await withTimeout(clock, { ms: WITHIN_MS, signal }, late, (ends) =>
      read(download, ends),
    );
  } catch (error) {
    signal.throwIfAborted();
    throw toChannelError(error);
  }
}

async function read(download: Download, signal: AbortSignal): Promise<Buffer> {
  const { hosts, authorization, standIn, maxBytes } = download;
  const inside = standIn === undefined ? undefined : new URL(standIn);
  const isOurs = (url: URL): boolean =>
    (inside !== undefined && url.origin === inside.origin) ||
    (url.protocol === "https:" && url.port === "" && hosts.has(url.hostname));
  const url = URL.parse(download.url);
  if (url === null || !isOurs(url)) {
    throw new ChannelError("invalid", "It is at no address of the platform's files.", {
      detail: "host",
    });
  }
  const response = await getPublic(url, {
    headers: { accept: "*/*" },
    allowed: new Set(inside ? [inside.host] : []),
    maxRedirects: MAX_REDIRECTS,
    secret: authorization === undefined ? undefined : secretFor(authorization, isOurs),
    signal,
  });
  assertFile(response, download);
  const { bytes, isWhole } = await readUpTo(response, maxBytes);
  if (!isWhole) throw tooLarge(maxBytes);
  if (isPage(response) && bytes.length !== download.size) throw loginPage();
  return bytes;
}

function secretFor(value: string, isFor: (url: URL) => boolean) {
  return { header: "authorization", value, isFor };
}

/** Throws before the body is read; then nothing more of it comes. */
function assertFile(response: IncomingMessage, { type, maxBytes }: Download): void {
  const refusal = refusalOf(response, { type, maxBytes });
  if (refusal === undefined) return;
  response.destroy();
  throw refusal;
}

function refusalOf(
  response: IncomingMessage,
  { type, maxBytes }: Pick<Download, "type" | "maxBytes">,
): ChannelError | undefined {
  const { statusCode: status = 0, headers } = response;
  if (status !== 200) return fromStatus(status, headers["retry-after"]);
  if (Number(headers["content-length"] ?? 0) > maxBytes) return tooLarge(maxBytes);
  return isPage(response) && !/html/i.test(type ?? "") ? loginPage() : undefined;
}

function isPage({ headers }: IncomingMessage): boolean {
  return /^(text\/html|application\/xhtml)/i.test(headers["content-type"] ?? "");
}

function fromStatus(status: number, retryAfter: string | undefined): ChannelError {
  const detail = String(status);
  const said = `The platform answered ${status}.`;
  if (status === 429) {
    const retryAfterMs = Math.max(1, Number(retryAfter) || 1) * 1000;
    return new ChannelError("rate-limited", said, { detail, retryAfterMs });
  }
  if (status === 401 || status === 403) return new ChannelError("permission", said, { detail });
  if (status === 404 || status === 410) return new ChannelError("not-found", said, { detail });
  return new ChannelError(status >= 500 ? "transient" : "invalid", said, { detail });
}

function loginPage(): ChannelError {
  return new ChannelError("permission", "The platform showed a login page in its place.", {
    detail: "login page",
  });
}

function tooLarge(maxBytes: number): ChannelError {
  return new ChannelError("full", `It has more than ${maxBytes} bytes.`, { detail: "bytes" });
}

/** What refuses the address is no outage. */
const REFUSED: ReadonlySet<string> = new Set(["WEB_ADDRESS_PRIVATE", "WEB_REDIRECTS"]);

function toChannelError(error: unknown): ChannelError {
  if (error instanceof ChannelError) return error;
  const detail = codeOf(error) ?? "no answer";
  const failure = REFUSED.has(detail) ? "invalid" : "transient";
  return new ChannelError(failure, messageOf(error), { detail, cause: error });
}
