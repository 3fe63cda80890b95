import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isPrivate, publicLookup } from "./public-web.ts";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";

/** A receiver has this long to answer, milliseconds. */
const ANSWER_MS = 10_000;

/** Receivers that others have named. */
export interface Receivers {
  /** `host:port` that may be private. */
  readonly allowed: ReadonlySet<string>;
  /** Where they are allowed in the configuration. */
  readonly setting: string;
  /** Whether they are spoken to by TLS alone. Default no. */
  readonly isSecure?: boolean | undefined;
}

export interface GuardedPost extends Receivers {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Throws `PUSH_ADDRESS` for what is no public address of HTTP. A name is looked at when it is sent to. */
export function assertPublic(url: string, { allowed, setting, isSecure }: Receivers): URL {
  const target = URL.parse(url);
  const protocol = isSecure ? /^https:$/ : /^https?:$/;
  if (!target || !protocol.test(target.protocol) || target.username || target.password) {
    throw addressRefused(
      isSecure ? "does not begin with https://" : "is no address of HTTP",
      setting,
    );
  }
  const literal = target.hostname.replace(/^\[|\]$/g, "");
  const isInside = isIP(literal) !== 0 && isPrivate(literal);
  if (isInside && !isAllowed(target, allowed)) {
    throw addressRefused("is no public address", setting);
  }

  return target;
}

/** Posts to a public address alone; redirects are not followed. */
export async function postGuarded(
  url: string,
  { clock, signal, headers, body, ...receivers }: GuardedPost,
): Promise<{ status: number; retryAfter: string | null }> {
  const target = assertPublic(url, receivers);
  const lookup = isAllowed(target, receivers.allowed) ? undefined : publicLookup;
  const response = await withTimeout(clock, { ms: ANSWER_MS, signal }, tooLate, (within) =>
    post(target, { headers, body, lookup, signal: within }),
  );
  response.destroy();

  return {
    status: response.statusCode ?? 0,
    retryAfter: response.headers["retry-after"] ?? null,
  };
}

type SentPush = Pick<GuardedPost, "headers" | "body" | "signal"> & {
  readonly lookup: LookupFunction | undefined;
};

function post(target: URL, { headers, body, lookup, signal }: SentPush): Promise<IncomingMessage> {
  const isSecure = target.protocol === "https:";
  const all = { ...headers, "user-agent": "dure", "content-length": Buffer.byteLength(body) };
  // A connection of its own: another one would pass by the lookup.
  const options = { method: "POST", headers: all, signal, agent: false, lookup } as const;

  return new Promise((resolve, reject) => {
    const request = (isSecure ? httpsRequest : httpRequest)(target, options, resolve);
    request.on("error", reject);
    request.end(body);
  });
}

function tooLate(): DureError {
  return new DureError("PUSH_LATE", `The receiver did not answer within ${ANSWER_MS} ms.`, {
    class: "unavailable",
  });
}

function isAllowed({ hostname, port, protocol }: URL, allowed: ReadonlySet<string>): boolean {
  return allowed.has(`${hostname}:${port || (protocol === "https:" ? "443" : "80")}`);
}

function addressRefused(why: string, setting: string): DureError {
  return new DureError("PUSH_ADDRESS", `The address of the push notifications ${why}.`, {
    class: "input",
    hint: `Use a public one, or name it in \`${setting}\`.`,
  });
}
