import { isLoopbackName } from "./names.ts";
import type { PeerOwner } from "./peer-owner.ts";
import type { AccessReason } from "../kernel/access.ts";

/** What of a server decides who needs credentials. */
export interface AccessFacts {
  /** The address that it listens on. */
  readonly host: string;
  /** `server.loginAlways`, or DURE_LOGIN_ALWAYS. */
  readonly loginAlways: boolean;
  readonly hasEnvironmentToken: boolean;
  /** Whether the database holds a token that was not revoked. */
  readonly hasLivingToken: boolean;
  readonly allowedHosts: readonly string[];
  readonly trustProxy: readonly string[];
  /** Whether the system says whose connection it is. */
  readonly namesPeers: boolean;
}

/** Why access is as it is, in words for the start, the doctor and the answer 401. */
export const ACCESS_WORDS = {
  "login-always": "`server.loginAlways` is set",
  "environment-token": "DURE_TOKEN is set",
  "reachable-from-elsewhere": "the server listens beyond this machine",
  "public-host": "`server.allowedHosts` names a public host",
  "behind-a-proxy": "`server.trustProxy` names a proxy",
  "token-exists": "a token exists in the database",
  "peers-unknown": "this system does not say whose connection it is",
  "no-token": "no token exists, and the system says whose connection it is",
} as const satisfies Record<AccessReason, string>;

/**
 * `same-user`: a local connection of the server's own user needs no credentials. `credentials`:
 * every caller needs them.
 */
export interface AccessMode {
  readonly mode: "same-user" | "credentials";
  readonly because: AccessReason;
}

/** Who needs credentials. Pure; the first rule that applies wins. Source: docs/spec/platform §6. */
export function decideAccess(facts: AccessFacts): AccessMode {
  const needed = (because: AccessReason): AccessMode => ({ mode: "credentials", because });

  if (facts.loginAlways) return needed("login-always");
  if (facts.hasEnvironmentToken) return needed("environment-token");
  if (!isLoopbackName(facts.host)) return needed("reachable-from-elsewhere");
  if (facts.allowedHosts.some(isPublicHost)) return needed("public-host");
  if (facts.trustProxy.length > 0) return needed("behind-a-proxy");
  if (facts.hasLivingToken) return needed("token-exists");
  if (!facts.namesPeers) return needed("peers-unknown");

  return { mode: "same-user", because: "no-token" };
}

/** One sentence for the start and the doctor. Pure. */
export function accessText({ mode, because }: AccessMode): string {
  const why = ACCESS_WORDS[because];
  if (mode === "same-user") {
    return `Without a token: only you, the user who runs the server, at this machine (${why}).`;
  }
  return `Every caller needs a token or a login (${why}).`;
}

function isPublicHost(host: string): boolean {
  return !isLoopbackName(host.toLowerCase().replace(/:\d+$/, ""));
}

/** What a request and its connection say about where they come from. */
export interface Arrival {
  /** An application that embeds the team handed it in (`RunningTeam.fetch`). */
  readonly isEmbedded: boolean;
  readonly peerIsLoopback: boolean;
  /** Such as `1.1`. */
  readonly httpVersion: string;
  /** The `Host` header, without its port. */
  readonly hostIsLoopback: boolean;
  /** The first header that only a proxy writes. */
  readonly forwardedBy: string | undefined;
}

/** Why a connection without credentials is not the person at the machine. */
export const STRANGER_REASONS = {
  embedded: "the application that embeds the team does not say whose request it is",
  "other-machine": "the connection comes from another machine",
  forwarded: "a proxy forwarded the request",
  "http-1.0": "it is HTTP/1.0, which a proxy speaks and no browser",
  "public-name": "it does not ask for this machine by a local name",
  "other-user": "the connection belongs to another user of this machine",
  "user-unknown": "the system does not say whose connection it is",
} as const satisfies Record<string, string>;
export type StrangerReason = keyof typeof STRANGER_REASONS | AccessReason;

export type LocalDecision =
  | { readonly isLocal: true }
  | { readonly isLocal: false; readonly because: StrangerReason };

/**
 * Whether a request without credentials comes from the person at the machine. Pure; the first rule
 * that applies wins. Root is another user too: proxies and container engines forward foreign
 * connections as root.
 */
export function decideLocal(
  { mode, because }: AccessMode,
  arrival: Arrival,
  owner: PeerOwner,
): LocalDecision {
  const stranger = (reason: StrangerReason): LocalDecision => ({ isLocal: false, because: reason });

  if (mode === "credentials") return stranger(because);
  if (arrival.isEmbedded) return stranger("embedded");
  if (!arrival.peerIsLoopback) return stranger("other-machine");
  if (arrival.forwardedBy !== undefined) return stranger("forwarded");
  // nginx before 1.29.7 speaks HTTP/1.0 to what stands behind it, and adds no header. Source:
  // nginx, proxy_http_version.
  if (arrival.httpVersion === "1.0" || arrival.httpVersion === "0.9") return stranger("http-1.0");
  if (!arrival.hostIsLoopback) return stranger("public-name");
  if (owner === "other-user") return stranger("other-user");
  if (owner === "unknown") return stranger("user-unknown");

  return { isLocal: true };
}

/** Headers that a proxy adds, and a browser or curl does not. */
const FORWARDING_HEADERS: ReadonlySet<string> = new Set([
  "forwarded", // RFC 7239
  "via", // RFC 9110 §7.6.3
  "cdn-loop", // RFC 8586
  "x-real-ip", // nginx, Traefik
  "x-client-ip", // Apache mod_remoteip's examples, Azure
  "x-cluster-client-ip", // Rackspace, Riverbed
  "x-proxyuser-ip", // Google
  "true-client-ip", // Akamai, Cloudflare
  "client-ip",
  "proxy-client-ip", // WebLogic
  "wl-proxy-client-ip", // WebLogic
  "fastly-client-ip", // Fastly
  "x-amzn-trace-id", // AWS load balancers
  "x-varnish", // Varnish
  "x-request-start", // Heroku, nginx guides
  "front-end-https", // Microsoft's ISA and TMG
]);

/** Families of such headers. */
const FORWARDING_PREFIXES = [
  "x-forward", // de facto: HAProxy, Caddy, Traefik, Envoy, Apache mod_proxy; X-Forward-For
  "x-original-", // IIS, ingress-nginx, ASP.NET
  "x-envoy-", // Envoy
  "x-appengine-", // Google App Engine
  "x-azure-", // Azure Front Door
  "x-arr-", // IIS Application Request Routing
  "x-amz-cf-", // CloudFront
  "x-vercel-", // Vercel
  "cf-", // Cloudflare
  "fly-", // Fly.io
  "tailscale-", // tailscale serve
] as const;

/**
 * The first header that says that a proxy stands between. Pure. @param headers with names in lower
 * case, as Node gives them
 */
export function forwardingHeader(headers: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(headers).find((written) => {
    const name = written.replaceAll("_", "-"); // CGI's way, which some proxies take over
    return (
      FORWARDING_HEADERS.has(name) || FORWARDING_PREFIXES.some((prefix) => name.startsWith(prefix))
    );
  });
}
