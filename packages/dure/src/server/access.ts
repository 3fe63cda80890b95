import { isIP } from "node:net";
import { DureError } from "../kernel/errors.ts";
import type { Caller } from "../engine/api.ts";
import { SCOPES, type Scope, type TokenRecord, type TokenStore } from "./token-store.ts";

/** Who may use a route: anybody, anybody known, or who has this scope. */
export type RouteScope = "public" | "known" | Scope;

/** Who asks. */
export interface Principal {
  readonly caller: Caller;
  readonly scopes: readonly Scope[];
  /** The name that a token was made for: what a person is called in rooms. Absent on an open server. */
  readonly person?: string;
  /** How they proved it; `none` on an open server. */
  readonly proof: "none" | "bearer" | "cookie";
  /** What they proved it with, to ask again while a stream is open; never logged. */
  readonly token?: string;
}

/** What of a request says where it comes from. */
export interface Origins {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly secFetchSite: string | undefined;
}

export const COOKIE = "dure_token";

/** A GET that starts a turn is as unsafe as a POST. */
export function isUnsafe(method: string, route: string | undefined): boolean {
  return !["GET", "HEAD", "OPTIONS"].includes(method) || route === "/v1/agent/chat/stream";
}

/**
 * Whether the `Host` header names this server. A page that rebinds its own name to 127.0.0.1 has that name here.
 * Behind tokens a bare address is fine as well: it cannot be rebound.
 */
export function isHostAllowed(host: string | undefined, options: { allowedHosts: readonly string[]; addresses: boolean }): boolean {
  if (host === undefined) return false;
  const name = hostName(host);
  if (name === undefined) return false;
  if (isLoopbackName(name)) return true;
  if (options.addresses && isIP(name.replace(/^\[|\]$/g, "")) !== 0) return true;
  return options.allowedHosts.some((allowed) => allowed.toLowerCase() === name || allowed.toLowerCase() === host.toLowerCase());
}

/** Whether only this machine answers to a name. Pure. */
export function isLoopbackName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || name === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/** Whether an address of a peer is this machine's own. */
export function isLoopbackAddress(address: string): boolean {
  return isLoopbackName(address.replace(/^::ffff:/, ""));
}

/**
 * Under what the requests of an address are counted. Pure. Whoever has one IPv6 address has the 2⁶⁴ of its network, so those count as
 * one; an IPv4 address counts as itself, however it is written. Source: RFC 6177.
 */
export function countedAs(address: string): string {
  const [bare = ""] = address.split("%", 1); // behind it stands an interface of this machine
  if (isIP(bare) !== 6) return bare;
  const groups = groupsOf(bare);
  if (groups.slice(0, 6).join() === "0,0,0,0,0,65535") return groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]).join(".");
  return `${groups.slice(0, 4).map((group) => group.toString(16)).join(":")}::/64`;
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1); // digits alone, with one gap at most
  const [head = "", tail] = plain.split("::");
  const [before, behind] = [head, tail ?? ""].map((side) => side.split(":").filter((group) => group !== "").map((group) => Number.parseInt(group, 16))) as [number[], number[]];
  return [...before, ...Array<number>(8 - before.length - behind.length).fill(0), ...behind];
}

/**
 * Refuses what another site's page makes a browser do. Pure; the first rule that applies wins.
 * A cookie leaves by itself, so what is unsafe needs the browser's word for where it comes from.
 */
export function decideOrigin(
  request: Origins,
  proof: Principal["proof"],
  options: { unsafe: boolean; corsOrigins: readonly string[] },
): { allowed: true } | { allowed: false; because: string } {
  if (!options.unsafe) return { allowed: true };
  const { method, host, origin, secFetchSite } = request;
  if (origin !== undefined && proof !== "cookie" && options.corsOrigins.includes(origin)) return { allowed: true };
  if (origin !== undefined && !isSameOrigin(origin, host)) return { allowed: false, because: `a page of ${origin} sent it` };
  if (secFetchSite === "cross-site" || secFetchSite === "same-site") return { allowed: false, because: "a page of another origin sent it" };
  if (proof === "cookie" && origin === undefined && secFetchSite === undefined && method !== "GET") {
    return { allowed: false, because: "it comes with a cookie and without Origin or Sec-Fetch-Site" };
  }
  return { allowed: true };
}

/** The scheme is not compared: behind a proxy that ends TLS the server sees http, the page https. */
function isSameOrigin(origin: string, host: string | undefined): boolean {
  try {
    return new URL(origin).host === new URL(`${new URL(origin).protocol}//${host}`).host;
  } catch {
    return false; // `null` and other opaque origins
  }
}

/** Who asks, by `Authorization` or cookie; null for a stranger. Throws `TOKEN_INVALID` for a token that is not (or no longer) known, `TOKENS_UNAVAILABLE`. */
export async function identify(
  request: { authorization: string | undefined; cookie: string | undefined; address: string },
  auth: TokenStore | "open",
): Promise<Principal | null> {
  if (auth === "open") return { caller: { tenant: "", name: request.address }, scopes: SCOPES, proof: "none" };

  const bearer = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(request.authorization ?? "")?.[1];
  if (request.authorization !== undefined && bearer === undefined) throw tokenInvalid();
  const token = bearer ?? cookieOf(request.cookie, COOKIE);
  if (token === undefined) return null;
  const record = await verified(auth, token);
  if (record) {
    return { caller: { tenant: record.tenant, name: record.id }, scopes: record.scopes, person: record.name, proof: bearer === undefined ? "cookie" : "bearer", token };
  }
  if (bearer === undefined) return null; // an old cookie is a stranger, who may log in again
  throw tokenInvalid();
}

/** A store that does not answer is no wrong token: 503, not 401. */
async function verified(store: TokenStore, token: string): Promise<TokenRecord | null> {
  try {
    return await store.verify(token);
  } catch (cause) {
    throw new DureError("TOKENS_UNAVAILABLE", "Tokens cannot be checked now.", { class: "unavailable", hint: "Is the database up? /readyz says.", cause });
  }
}

/** Throws `TOKEN_NEEDED` or `SCOPE_MISSING` where this principal may not go. */
export function assertMay(principal: Principal | null, scope: RouteScope): void {
  if (scope === "public") return;
  if (principal === null) {
    throw new DureError("TOKEN_NEEDED", "This server answers to tokens only.", {
      class: "unauthorized",
      hint: "Send `Authorization: Bearer <token>`, or log in. `dure token create` makes one.",
    });
  }
  if (scope === "known" || hasScope(principal, scope)) return;
  throw new DureError("SCOPE_MISSING", `This needs the scope ${scope}; the token has ${principal.scopes.join(", ") || "none"}.`, {
    class: "forbidden",
    hint: `Use a token with the scope ${scope}.`,
    details: { scope },
  });
}

/** Refuses to a tenant's token, also an admin's, what is done to all tenants at once. */
export function assertOfAllTenants(caller: Caller, code: string, what: string): void {
  if (caller.tenant === "") return;
  throw new DureError(code, `A tenant's token cannot ${what} of all tenants.`, { class: "forbidden", hint: "Use a token without a tenant." });
}

export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.some((given) => given === scope || given === "admin" || WIDER[scope]?.includes(given) === true);
}

/** Scopes that hold another one. */
const WIDER: Partial<Record<Scope, readonly Scope[]>> = { "plans:read": ["plans", "plans:run"], "plans:run": ["plans"] };

/** Refuses to be reached from other machines while there is no token that could keep them out. Throws `BIND_NEEDS_TOKEN`. */
export async function assertBindable(host: string, auth: TokenStore | "open"): Promise<void> {
  if (isLoopbackName(host)) return;
  if (auth !== "open" && (await auth.list()).some(({ revokedAt }) => revokedAt === null)) return;
  throw new DureError("BIND_NEEDS_TOKEN", `Listening on ${host} would let other machines in, and no token is set.`, {
    class: "input",
    hint: "Set DURE_TOKEN (or create tokens with `dure token create`), or listen on 127.0.0.1.",
  });
}

/** `Set-Cookie` that logs in for the browser's session; an empty token logs out. */
export function cookieHeader(token: string, options: { secure: boolean }): string {
  const maxAge = token === "" ? "; Max-Age=0" : "";
  return `${COOKIE}=${Buffer.from(token).toString("base64url")}; Path=/; HttpOnly; SameSite=Strict${options.secure ? "; Secure" : ""}${maxAge}`;
}

export function tokenInvalid(): DureError {
  return new DureError("TOKEN_INVALID", "The token is not known here, or it was revoked.", {
    class: "unauthorized",
    hint: "`dure token list` shows the living ones.",
  });
}

function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const at = pair.indexOf("=");
    const value = pair.slice(at + 1).trim();
    if (at > 0 && pair.slice(0, at).trim() === name && /^[A-Za-z0-9_-]{1,700}$/.test(value)) return Buffer.from(value, "base64url").toString();
  }
  return undefined;
}

/** The name in a `Host` header without its port, in lower case; undefined for what is no host. */
function hostName(host: string): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host);
  return match?.[1]?.toLowerCase().replace(/\.$/, "");
}
