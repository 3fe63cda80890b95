import { lookup as dnsLookup } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { DureError } from "../../kernel/errors.ts";

/** How something of the public web is asked for. */
export interface PublicGet {
  readonly headers: Readonly<Record<string, string>>;
  /** `host:port` that may be private. */
  readonly allowed: ReadonlySet<string>;
  readonly maxRedirects: number;
  /** A token, and the addresses that may see it: it never follows a redirect to another one. */
  readonly secret?:
    | { readonly header: string; readonly value: string; isFor(url: URL): boolean }
    | undefined;
  readonly signal: AbortSignal;
}

/**
 * Asks for a public address and follows its redirects. Addresses of this machine and of private
 * networks are refused, for each redirect and by the address that is really connected to. Its body
 * is the caller's to read or to destroy. Throws `WEB_ADDRESS_PRIVATE`, `WEB_REDIRECTS`.
 */
export async function getPublic(url: URL, options: PublicGet): Promise<IncomingMessage> {
  let target = url;
  for (let redirects = 0; redirects <= options.maxRedirects; redirects++) {
    if (!/^https?:$/.test(target.protocol)) throw privateAddress(target.href);
    const response = await get(target, options);
    const { statusCode = 0, headers } = response;
    const isRedirect = statusCode >= 300 && statusCode <= 399;
    if (!isRedirect || headers.location === undefined) return response;
    response.destroy();
    target = nextOf(headers.location, target);
  }
  const { origin, pathname } = url; // a query may hold a secret
  throw new DureError(
    "WEB_REDIRECTS",
    `${origin}${pathname} redirects more than ${options.maxRedirects} times.`,
    { class: "input" },
  );
}

/** At most so many bytes of a body; what is beyond is not read. Destroys the response. */
export async function readUpTo(
  response: IncomingMessage,
  maxBytes: number,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) break;
  }
  response.destroy();
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isWhole: length <= maxBytes };
}

function nextOf(location: string, from: URL): URL {
  const next = URL.parse(location, from.href);
  if (next === null) throw privateAddress(from.host);
  return next;
}

function get(url: URL, { headers, allowed, secret, signal }: PublicGet): Promise<IncomingMessage> {
  const isSecure = url.protocol === "https:";
  const isExempt = allowed.has(`${url.hostname}:${url.port || (isSecure ? "443" : "80")}`);
  const literal = url.hostname.replace(/^\[|\]$/g, "");
  if (!isExempt && isIP(literal) !== 0 && isPrivate(literal)) {
    return Promise.reject(privateAddress(url.host));
  }
  const sent: Record<string, string> = { ...headers, "user-agent": "dure" };
  if (secret?.isFor(url) === true) sent[secret.header] = secret.value;
  return new Promise((resolve, reject) => {
    const request = (isSecure ? httpsRequest : httpRequest)(
      url,
      // A connection of its own: one that is kept open, or one through a proxy of the environment,
      // would pass by the lookup.
      { signal, agent: false, headers: sent, lookup: isExempt ? undefined : publicLookup },
      resolve,
    );
    request.on("error", reject);
    request.end();
  });
}

/**
 * Looks a name up and gives only public addresses, so that a name cannot lead inside between a
 * check and the connection.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  dnsLookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, "", 4);
    const addresses = found.filter(({ address }) => !isPrivate(address));
    const [first] = addresses;
    if (!first) return callback(privateAddress(hostname), "", 4);
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

/**
 * Not reachable from the public internet. Source: IANA special-purpose address registries (RFC
 * 6890).
 */
const SPECIAL = new BlockList();
for (const [address, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's host
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  SPECIAL.addSubnet(address, prefix, "ipv4");
}
// Of the global ones: protocols' own with Teredo, documentation, 6to4. Teredo and 6to4 carry an
// IPv4 address that may be private.
for (const [address, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const) {
  SPECIAL.addSubnet(address, prefix, "ipv6");
}

/**
 * The part of IPv6 from which public addresses are given out; what is outside (mapped and
 * translated IPv4, local, multicast) is never one.
 */
const GLOBAL = new BlockList();
GLOBAL.addSubnet("2000::", 3, "ipv6");

export function isPrivate(address: string): boolean {
  if (isIP(address) !== 6) return SPECIAL.check(address, "ipv4");
  return !GLOBAL.check(address, "ipv6") || SPECIAL.check(address, "ipv6");
}

function privateAddress(host: string): DureError {
  return new DureError("WEB_ADDRESS_PRIVATE", `${host} is no public address.`, {
    class: "forbidden",
    hint: "Only public pages can be read.",
  });
}
