import { randomBytes } from "node:crypto";
import {
  assertSecureTokenEndpoint,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  LATEST_PROTOCOL_VERSION,
  registerClient,
  selectResourceURL,
  startAuthorization,
  type OAuthServerInfo,
} from "@modelcontextprotocol/client";
import { withTimeout } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { StoredLogin } from "./login-store.ts";
import { openLoopback, type Loopback } from "./loopback.ts";
import { fetchWith, toStored, type PersonLoginOptions } from "./person-login.ts";

/** Longest wait for the servers before, and after, the person has logged in, milliseconds. */
const ANSWER_MS = 30_000;

export interface LogInOptions extends PersonLoginOptions {
  /** Shows the person where to log in. */
  readonly onAddress: (address: string, issuer: string) => void;
  readonly signal: AbortSignal | undefined;
}

type Metadata = StoredLogin["metadata"];

/** What is known before the person is asked. */
interface Found {
  readonly metadata: Metadata;
  /** As the server has published it, to the letter. */
  readonly resource: string | undefined;
  readonly scope: string | undefined;
}

/**
 * A person logs in at an MCP server: OAuth 2.1 with authorization code and PKCE. Gives the issuer.
 * Nothing is stored before all of it has succeeded. Throws `MCP_LOGIN_…`.
 */
export async function logIn(options: LogInOptions): Promise<string> {
  const { store, name, clock, url } = options;
  const state = randomBytes(32).toString("base64url");
  const found = await bounded(options, (signal) => discover(options, signal));
  await using loopback = await openLoopback({ state, clock });
  const client = await bounded(options, (signal) =>
    clientFor(found, { ...options, loopback, signal }),
  );
  const { authorizationUrl, codeVerifier } = await startAuthorization(found.metadata.issuer, {
    metadata: found.metadata,
    clientInformation: client,
    redirectUrl: loopback.redirectUrl,
    state,
    ...onlyDefined({ scope: found.scope, resource: found.resource }),
  });
  options.onAddress(safe(authorizationUrl).href, found.metadata.issuer);

  const { code, iss } = await loopback.brought({ signal: options.signal });
  const tokens = await bounded(options, (signal) =>
    exchangeAuthorization(found.metadata.issuer, {
      metadata: found.metadata,
      clientInformation: withSecret(client, options),
      authorizationCode: code,
      codeVerifier,
      redirectUri: loopback.redirectUrl,
      fetchFn: fetchWith(signal),
      ...onlyDefined({ iss, resource: found.resource }),
    }),
  );
  const login: StoredLogin = {
    url,
    issuer: found.metadata.issuer,
    metadata: found.metadata,
    client,
    resource: found.resource ?? null,
    ...toStored(tokens, clock.now()),
  };
  await store.alone(name, () => store.write(name, login));

  return login.issuer;
}

/** Who logs people in for the server. Only the issuer of the settings, where they name one. */
async function discover({ url, spec }: LogInOptions, signal: AbortSignal): Promise<Found> {
  const fetchFn = fetchWith(signal);
  const challenge = await challengeOf(url, signal);
  const { resourceMetadataUrl } = challenge;
  const info = await discoverOAuthServerInfo(url, {
    fetchFn,
    ...onlyDefined({ resourceMetadataUrl }),
  });
  const metadata = metadataOf(info);
  const { issuer } = metadata;
  if (spec.issuer !== undefined && issuer !== spec.issuer) throw otherIssuer(issuer, spec.issuer);
  const { resourceMetadata } = info;
  await selectResourceURL(url, {} as never, resourceMetadata); // it throws for another's resource
  const resource = resourceMetadata?.resource;
  const offered = resourceMetadata?.scopes_supported?.join(" ");

  return { metadata, resource, scope: spec.scope ?? challenge.scope ?? offered };
}

/** The first words of a client. A server may want a login for them alone, and not for a GET. */
const HELLO = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: "dure", version: "login" },
  },
});

/** What the server says to a request without a token. */
async function challengeOf(
  url: string,
  signal: AbortSignal,
): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
  const type = "application/json";
  const headers = { accept: `${type}, text/event-stream`, "content-type": type };
  const asked = { method: "POST", headers, body: HELLO, redirect: "error" } as const;
  const answer = await fetch(url, { ...asked, signal });
  await answer.body?.cancel();

  return extractWWWAuthenticateParams(answer);
}

function metadataOf({ authorizationServerMetadata: metadata }: OAuthServerInfo): Metadata {
  if (metadata) {
    assertSecureTokenEndpoint(metadata.token_endpoint);
    return { ...metadata };
  }
  throw new DureError("MCP_LOGIN_NOT_OFFERED", "The server names no authorization server.", {
    class: "unavailable",
    hint: "Ask who runs it how to log in; `headers` takes a token of your own.",
  });
}

interface Registering extends LogInOptions {
  readonly loopback: Loopback;
  readonly signal: AbortSignal;
}

/** The client of the settings, or one that is registered for this login. */
async function clientFor(
  { metadata }: Found,
  { spec, loopback, signal }: Registering,
): Promise<StoredLogin["client"]> {
  if (spec.clientId !== undefined) return { client_id: spec.clientId };
  if (metadata["registration_endpoint"] === undefined) {
    throw new DureError("MCP_LOGIN_NO_CLIENT", `${metadata.issuer} registers no clients.`, {
      class: "input",
      hint: "Register dure there, and set login: { clientId: … } of the server.",
    });
  }
  assertSecureTokenEndpoint(metadata["registration_endpoint"] as string);
  const registered = await registerClient(metadata.issuer, {
    metadata,
    clientMetadata: {
      client_name: "dure",
      application_type: "native",
      redirect_uris: [loopback.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    fetchFn: fetchWith(signal),
  });

  return { ...registered };
}

/** The secret of the settings is stored nowhere. */
function withSecret(
  client: StoredLogin["client"],
  { clientSecret }: PersonLoginOptions,
): StoredLogin["client"] {
  return clientSecret === undefined ? client : { ...client, client_secret: clientSecret };
}

/** A person opens it: nothing but an address that is safe to open. */
function safe(address: URL): URL {
  return assertSecureTokenEndpoint(address);
}

async function bounded<Answer>(
  { clock, signal, name }: LogInOptions,
  work: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const late = (): Error => new Error(`no answer within ${ANSWER_MS / 1_000} s`);
  try {
    return await withTimeout(clock, { ms: ANSWER_MS, signal }, late, work);
  } catch (error) {
    if (error instanceof DureError || signal?.aborted) throw error;
    throw new DureError("MCP_LOGIN_FAILED", `The login at ${name} failed: ${messageOf(error)}`, {
      class: "unavailable",
      cause: error,
    });
  }
}

function otherIssuer(issuer: string, wanted: string): DureError {
  const words = `The server names the authorization server ${issuer}, and the settings ${wanted}.`;
  return new DureError("MCP_LOGIN_OTHER_ISSUER", words, {
    class: "input",
    hint: "Correct login.issuer, if you trust the one that the server names.",
  });
}
