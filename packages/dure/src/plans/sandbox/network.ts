import { BlockList, isIP, isIPv6 } from "node:net";

/**
 * Where a process may get to. `none`: nowhere but itself. `provider`: the hosts that are named,
 * which for a worker are those of its model. `open`: every public host. In each case a process has
 * a network of its own: its only way out is dure's egress proxy.
 */
export interface NetworkPolicy {
  readonly kind: "none" | "provider" | "open";
  /**
   * `host`, `host:port`, `*.host`, `[v6]:port`. Without a port: 443 and 80. With `open` beside the
   * public ones.
   */
  readonly hosts: readonly string[];
}

export const NO_NETWORK: NetworkPolicy = { kind: "none", hosts: [] };

export interface NetworkTarget {
  /** A name in lower case, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** A named host. Without a port it stands for those of the web. */
export interface HostRule {
  readonly host: string;
  readonly port: number | undefined;
}

const WEB_PORTS: readonly number[] = [443, 80];

/** Reads `host`, `host:port`, `*.host`, `v6`, `[v6]:port`; undefined for anything else. Pure. */
export function parseHost(text: string): HostRule | undefined {
  const written = text.trim().toLowerCase();
  if (isIPv6(written)) return { host: written, port: undefined };
  const match =
    /^(?:\[([0-9a-f:.]+)\]|((?:\*\.)?[a-z0-9_](?:[a-z0-9._-]{0,251}[a-z0-9_])?))\.?(?::(\d{1,5}))?$/.exec(
      written,
    );
  if (!match) return undefined;
  const [, v6, name, digits] = match;
  if (v6 !== undefined && !isIPv6(v6)) return undefined;
  const port = digits === undefined ? undefined : Number(digits);
  if (port === 0 || (port ?? 1) > 65_535) return undefined;
  return { host: v6 ?? name!, port };
}

/** The host and port of a URL of the web; undefined for anything else. Pure. */
export function targetOfUrl(text: string): NetworkTarget | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, port } = new URL(text);
  const standard = { "http:": 80, "https:": 443, "postgres:": 5432, "postgresql:": 5432 }[protocol];
  if (standard === undefined || hostname === "") return undefined;
  return {
    host: hostname.replace(/^\[|\]$/g, "").toLowerCase(),
    port: port === "" ? standard : Number(port),
  };
}

export type NetworkReach =
  /** `isNamed`: with this very port, which alone opens addresses that are not public. */
  | { readonly allowed: true; readonly isNamed: boolean }
  | { readonly allowed: false; readonly because: string };

/**
 * Whether a policy lets a process ask for a host at all. Its address is looked at afterwards. Pure.
 */
export function decideHost(target: NetworkTarget, policy: NetworkPolicy): NetworkReach {
  if (policy.kind === "none") {
    return { allowed: false, because: "this process has no network (policy none)" };
  }
  const rules = policy.hosts
    .flatMap((text) => parseHost(text) ?? [])
    .filter((rule) => matches(rule, target));
  const isNamed = rules.some((rule) => rule.port === target.port);
  if (isNamed) return { allowed: true, isNamed: true };
  if (policy.kind === "open" || (rules.length > 0 && WEB_PORTS.includes(target.port))) {
    return { allowed: true, isNamed: false };
  }
  const named = policy.hosts.join(", ") || "none named";
  return {
    allowed: false,
    because: `it is not among the hosts of this process (policy provider: ${named})`,
  };
}

function matches(rule: HostRule, { host, port }: NetworkTarget): boolean {
  if (rule.port !== undefined && rule.port !== port) return false;
  if (rule.host.startsWith("*.")) return host.endsWith(rule.host.slice(1));
  return rule.host === host;
}

export interface AddressFacts {
  readonly isNamed: boolean;
  /** Addresses of this machine's own interfaces. */
  readonly own: readonly string[];
  /** What is never reached, as addresses: dure's servers, its database. */
  readonly never: readonly NetworkTarget[];
}

/** Why an address may not be connected to; undefined when it may. Pure. */
export function refusedAddress(
  address: string,
  port: number,
  { isNamed, own, never }: AddressFacts,
): string | undefined {
  const plain = plainAddress(address);
  const isHere = isIn(LOOPBACK, plain) || own.map(plainAddress).includes(plain);
  const isDures = never.some((target) => {
    if (target.port !== port) return false;
    const there = plainAddress(target.host);
    return (
      there === plain ||
      (isHere && (isIn(LOOPBACK, there) || own.map(plainAddress).includes(there)))
    );
  });
  if (isDures) return `${address}:${port} is dure's own`;
  if (isIn(METADATA, translated(plain))) {
    return `${address} is the machine's metadata or link-local`;
  }
  if (isNamed) return undefined;
  if (isHere) return `${address} is this machine`;
  return isIn(NOT_PUBLIC, plain) ? `${address} is not a public address` : undefined;
}

/**
 * Source: AWS, GCP, Azure (168.63.129.16), Alibaba (100.100.100.200) and Oracle (192.0.0.192) on
 * instance metadata; RFC 3927, RFC 4291 on link-local.
 */
const METADATA = blockList([
  "169.254.0.0/16",
  "168.63.129.16/32",
  "100.100.100.200/32",
  "192.0.0.192/32",
  "fe80::/10",
  "fd00:ec2::254/128",
  "fd20:ce::254/128",
]);
/** `0.0.0.0` and `::` lead to the machine itself on Linux. */
const LOOPBACK = blockList(["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"]);
/**
 * Source: IANA special-purpose address registries, IPv4 and IPv6. What carries an IPv4 address in
 * itself is refused whole.
 */
const NOT_PUBLIC = blockList([
  ...[
    "10.0.0.0/8",
    "100.64.0.0/10",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
  ],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
  ...[
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "fc00::/7",
    "fec0::/10",
    "ff00::/8",
  ],
]);

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split("/") as [string, string];
    list.addSubnet(address, Number(bits), isIPv6(address) ? "ipv6" : "ipv4");
  }
  return list;
}

function isIn(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** An IPv4 address in IPv6 clothes as what it is; without a zone. */
function plainAddress(address: string): string {
  const bare = address.replace(/%.*$/, "").toLowerCase();
  if (!isIPv6(bare)) return bare;
  const whole = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  return carriedBy(whole, /^::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$/);
}

/** Where a translator of the network leads. Source: RFC 6052 on 64:ff9b::/96. */
function translated(plain: string): string {
  return carriedBy(plain, /^64:ff9b::([0-9a-f]{1,4}):([0-9a-f]{1,4})$/);
}

/** The IPv4 address in the two groups that `form` finds; without them the address itself. */
function carriedBy(address: string, form: RegExp): string {
  const [, first, last] = form.exec(address) ?? [];
  if (first === undefined || last === undefined) return address;
  const [high, low] = [Number.parseInt(first, 16), Number.parseInt(last, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
