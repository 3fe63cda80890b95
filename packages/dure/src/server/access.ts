import { isIP } from "node:net";
import { DureError } from "../kernel/errors.ts";
import type { Caller } from "../engine/api.ts";
import { ACCESS_WORDS, STRANGER_REASONS, type StrangerReason } from "./access-mode.ts";
import { hostName, isLoopbackName } from "./names.ts";
import type { TokenStore } from "./token-store.ts";
import { SCOPES_BY_NAME, type Scope } from "../kernel/access.ts";

/** Who may use a route: any caller, any authenticated caller, or callers with this scope. */
export type RouteScope = "public" | "known" | Scope;

/** Who asks. */
export interface Principal {
  readonly caller: Caller;
  readonly scopes: readonly Scope[];
  /** What they may approve beside the scopes; absent: nothing. */
  readonly roles?: readonly string[] | undefined;
  /**
   * The name that a token was made for: what a person is called in rooms. Absent for the person at
   * the machine.
   */
  readonly person?: string | undefined;
  /** How they proved it; `none`: the connection belongs to the user who runs the server. */
  readonly proof: "none" | "bearer" | "cookie";
  /** Of a cookie: its login. */
  readonly login?: string | undefined;
}

/** What of a request says where it comes from. */
export interface Origins {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

/** A GET that starts a turn is as unsafe as a POST. */
export function isUnsafe(method: string, route: string | undefined): boolean {
  return !["GET", "HEAD", "OPTIONS"].includes(method) || route === "/v1/agent/chat/stream";
}

/**
 * Whether the `Host` header names this server. A page that rebinds its own name to 127.0.0.1 has
 * that name here; an address cannot be rebound.
 */
export function isHostAllowed(host: string | undefined, allowedHosts: readonly string[]): boolean {
  if (host === undefined) return false;

  const name = hostName(host);
  if (name === undefined) return false;
  if (isLoopbackName(name) || isIP(name.replace(/^\[|\]$/g, "")) !== 0) return true;

  return allowedHosts.some(
    (allowed) => allowed.toLowerCase() === name || allowed.toLowerCase() === host.toLowerCase(),
  );
}

/**
 * Under what the requests of an address are counted. Pure. A caller with one IPv6 address has the 2⁶⁴
 * of its network, so those count as one; an IPv4 address counts as itself, however it is written.
 * Source: RFC 6177.
 */
export function countedAs(address: string): string {
  const [bare = ""] = address.split("%", 1); // behind it stands an interface of this machine
  if (isIP(bare) !== 6) return bare;

  const groups = groupsOf(bare);

  if (groups.slice(0, 6).join() === "0,0,0,0,0,65535") {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join(".");
  }

  const network = groups.slice(0, 4).map((group) => group.toString(16));

  return `${network.join(":")}::/64`;
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1); // digits alone, with one gap at most
  const [head = "", tail] = plain.split("::");

  const [before, behind] = [head, tail ?? ""].map((side) =>
    side
      .split(":")
      .filter((group) => group !== "")
      .map((group) => Number.parseInt(group, 16)),
  ) as [number[], number[]];

  return [...before, ...Array<number>(8 - before.length - behind.length).fill(0), ...behind];
}

export type OriginDecision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly because: string };

/**
 * Refuses what another site's page makes a browser do. Pure; the first rule that applies wins. A
 * cookie and a local connection prove nothing about the page, so they need the browser's word: for
 * whatever changes something with a cookie, and for the GET that starts a turn. A local POST
 * without it is curl's: every browser since 2019 sends Origin with a POST to another origin. A
 * bearer with the origin of another name comes through a proxy, which adds it to whatever a browser
 * sends: the browser's own word tells the proxy's page from that of a third.
 * Source: Fetch standard, "append a request Origin header".
 * @param proof undefined on a public route, where it is not asked who comes
 */
export function decideOrigin(
  request: Origins,
  proof: Principal["proof"] | undefined,
  { unsafe, corsOrigins }: { unsafe: boolean; corsOrigins: readonly string[] },
): OriginDecision {
  const { method, host, origin, secFetchSite } = request;
  const isAmbient = proof === "cookie" || proof === "none";
  if (!unsafe && !isAmbient) return { allowed: true };
  const isOther = secFetchSite === "cross-site" || secFetchSite === "same-site";
  const isListed = corsOrigins.some((listed) => listed === origin);
  if (proof === "bearer" && (!isOther || isListed)) return { allowed: true };

  if (origin !== undefined && !isSameOrigin(origin, host)) {
    return { allowed: false, because: `a page of ${origin} sent it` };
  }
  if (isOther) return { allowed: false, because: "a page of another origin sent it" };

  if (unsafe && needsOwnPage(proof, method) && !isOwnPage(request)) {
    const how = proof === "cookie" ? "with a cookie" : "without a token";
    const because = `it comes ${how}, and nothing says that dure's own page sent it`;
    return { allowed: false, because };
  }

  return { allowed: true };
}

/** Whether the browser says that dure's own page sent it; asked once no other page has. Pure. */
function isOwnPage({ origin, secFetchSite }: Origins): boolean {
  return origin !== undefined || secFetchSite === "same-origin";
}

/** Whether a browser must say that dure's own page has sent an unsafe request. Pure. */
function needsOwnPage(proof: Principal["proof"] | undefined, method: string): boolean {
  return proof === "cookie" || (proof === "none" && method === "GET");
}

/**
 * The scheme is not compared: behind a proxy that ends TLS the server sees http, the page https.
 */
function isSameOrigin(origin: string, host: string | undefined): boolean {
  try {
    return new URL(origin).host === new URL(`${new URL(origin).protocol}//${host}`).host;
  } catch {
    return false; // `null` and other opaque origins
  }
}

/**
 * Throws `TOKEN_NEEDED` or `SCOPE_MISSING` where this principal may not go. @param because why a
 * stranger is one
 */
export function assertMay(
  principal: Principal | null,
  scope: RouteScope,
  because?: StrangerReason,
): void {
  if (scope === "public") return;

  if (principal === null) {
    const why = because && { ...ACCESS_WORDS, ...STRANGER_REASONS }[because];
    throw new DureError(
      "TOKEN_NEEDED",
      `A token or a login is needed here${why === undefined ? "" : `: ${why}`}.`,
      {
        class: "unauthorized",
        hint:
          "Send `Authorization: Bearer <token>`, or log in. At the server's machine `dure login` " +
          "prints a link, and `dure token create` makes a token.",
        details: { because },
      },
    );
  }

  if (scope === "known" || hasScope(principal, scope)) return;

  throw new DureError(
    "SCOPE_MISSING",
    `This needs the scope ${scope}; the token has ${principal.scopes.join(", ") || "none"}.`,
    {
      class: "forbidden",
      hint: `Use a token with the scope ${scope}.`,
      details: { scope },
    },
  );
}

/** Refuses to a tenant's token, also an admin's, what is done to all tenants at once. */
export function assertOfAllTenants(caller: Caller, code: string, what: string): void {
  if (caller.tenant === "") return;
  throw new DureError(code, `A tenant's token cannot ${what} of all tenants.`, {
    class: "forbidden",
    hint: "Use a token without a tenant.",
  });
}

export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.some(
    (given) =>
      given === scope ||
      (given === "admin" && !SCOPES_BY_NAME.has(scope)) ||
      WIDER[scope]?.includes(given) === true,
  );
}

/** Scopes that hold another one. */
const WIDER: Partial<Record<Scope, readonly Scope[]>> = {
  "plans:read": ["plans", "plans:run", "plans:merge"],
  "plans:run": ["plans"],
  "plans:merge": ["plans"],
};

/**
 * Refuses to be reached from other machines while there is no token that could keep them out.
 * Throws `BIND_NEEDS_TOKEN`.
 */
export async function assertBindable(host: string, auth: TokenStore): Promise<void> {
  if (isLoopbackName(host) || (await auth.anyLiving())) return;
  throw new DureError(
    "BIND_NEEDS_TOKEN",
    `Listening on ${host} would let other machines in, and no token is set.`,
    {
      class: "input",
      hint: "Set DURE_TOKEN (or create tokens with `dure token create`), or listen on 127.0.0.1.",
    },
  );
}

export function tokenInvalid(): DureError {
  return new DureError("TOKEN_INVALID", "The token is not known here, or it was revoked.", {
    class: "unauthorized",
    hint: "`dure token list` shows the living ones.",
  });
}
