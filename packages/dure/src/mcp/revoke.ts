import { assertSecureTokenEndpoint, selectClientAuthMethod } from "@modelcontextprotocol/client";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import { fetchAtOrigin } from "../kernel/fetch-at-origin.ts";
import type { StoredMcpLogin } from "./login-store.ts";

/** Longest wait for the authorization server, for both tokens together, milliseconds. */
const ANSWER_MS = 10_000;

/** What became of tokens at their authorization server. */
export type Revocation =
  | { readonly is: "revoked" }
  | { readonly is: "not-offered" }
  /** They may still count. */
  | { readonly is: "failed"; readonly because: string };

interface Revoking {
  /** Of the settings, where they have one. */
  readonly clientSecret: string | undefined;
  readonly clock: Clock;
}

/**
 * Ends the tokens of a login at the server that gave them (RFC 7009), the refresh token first: it
 * would give new ones. They go to the address that was known at the login. Never throws.
 */
export async function revoke(login: StoredMcpLogin, how: Revoking): Promise<Revocation> {
  const endpoint = login.metadata["revocation_endpoint"];
  if (typeof endpoint !== "string") return { is: "not-offered" };
  const late = (): Error => new Error(`no answer within ${ANSWER_MS / 1_000} s`);
  try {
    await withTimeout(how.clock, ANSWER_MS, late, async (signal) => {
      for (const [hint, token] of tokensOf(login)) {
        await send(endpoint, { login, hint, token, ...how }, signal);
      }
    });
    return { is: "revoked" };
  } catch (error) {
    return { is: "failed", because: messageOf(error) };
  }
}

function tokensOf({
  refreshToken,
  accessToken,
}: StoredMcpLogin): readonly (readonly [string, string])[] {
  const access = ["access_token", accessToken] as const;
  return refreshToken === null ? [access] : [["refresh_token", refreshToken], access];
}

interface SentRevocation extends Revoking {
  readonly login: StoredMcpLogin;
  readonly hint: string;
  readonly token: string;
}

/** A server that does not know a token any more says yes too. */
async function send(
  endpoint: string,
  { login, hint, token, clientSecret }: SentRevocation,
  signal: AbortSignal,
): Promise<void> {
  const address = assertSecureTokenEndpoint(endpoint);
  const body = new URLSearchParams({ token, token_type_hint: hint });
  const headers = new Headers();
  identify(login, clientSecret, { body, headers });
  const answer = await fetchAtOrigin(address, { method: "POST", headers, body, signal });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
}

/** As at the token endpoint, unless the server names other ways for this one. */
function identify(
  { client, metadata }: StoredMcpLogin,
  clientSecret: string | undefined,
  { body, headers }: { readonly body: URLSearchParams; readonly headers: Headers },
): void {
  const known = { ...client, client_secret: clientSecret ?? client.client_secret };
  const ways =
    metadata["revocation_endpoint_auth_methods_supported"] ??
    metadata["token_endpoint_auth_methods_supported"];
  const supported = Array.isArray(ways) ? ways.map(String) : [];
  const method = selectClientAuthMethod(known, supported);
  const { client_id: id, client_secret: secret } = known;
  if (method === "client_secret_basic" && secret !== undefined) {
    const pair = [id, secret].map(encodeURIComponent).join(":");
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
    return;
  }
  body.set("client_id", id);
  if (method === "client_secret_post" && secret !== undefined) body.set("client_secret", secret);
}
