import { randomBytes } from "node:crypto";
import {
  assertSecureTokenEndpoint,
  computeScopeUnion,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  registerClient,
  selectResourceURL,
  startAuthorization,
  validateClientMetadataUrl,
  type OAuthServerInfo,
  Client,
  extractWWWAuthenticateParams,
  StreamableHTTPClientTransport,
  type FetchLike,
} from "@modelcontextprotocol/client";
import { withTimeout } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { StoredMcpLogin } from "./login-store.ts";
import { ANY_LOOPBACK, openLoopback, type Loopback } from "./loopback.ts";
import { fetchWith, toStored, type PersonLoginOptions } from "./person-login.ts";
import { fetchAtOrigin } from "../kernel/fetch-at-origin.ts";

/** Longest wait for the servers before, and after, the person has logged in, milliseconds. */
const ANSWER_MS = 30_000;

export interface LogInOptions extends PersonLoginOptions {
  /** Shows the person where to log in. */
  readonly onAddress: (address: string, issuer: string) => void;
  readonly signal: AbortSignal | undefined;
}

type Metadata = StoredMcpLogin["metadata"];

/** What is known before the person is asked. */
interface FoundServer {
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
  const known = await store.read(name);
  const found = await bounded(options, (signal) => discover(options, { known, signal }));
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
  const login: StoredMcpLogin = {
    url,
    issuer: found.metadata.issuer,
    metadata: found.metadata,
    client,
    resource: found.resource ?? null,
    wants: null,
    ...toStored(tokens, { now: clock.now(), scope: found.scope ?? null }),
  };
  await store.alone(name, () => store.write(name, login));

  return login.issuer;
}

/**
 * Who logs people in for the server: only the issuer of the settings, where they name one. The
 * scope is what the server says it wants, else all that its document offers.
 */
async function discover(
  { url, spec }: LogInOptions,
  { known, signal }: { readonly known: StoredMcpLogin | undefined; readonly signal: AbortSignal },
): Promise<FoundServer> {
  const fetchFn = fetchWith(signal);
  const challenge = await firstChallenge(url, signal);
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

  const isSame = known?.url === url && known.issuer === issuer;
  const before = isSame ? [known.scope ?? undefined, known.wants ?? undefined] : [];
  const wanted = computeScopeUnion(challenge.scope ?? offered, ...before);

  return { metadata, resource, scope: spec.scope ?? withRenewal(wanted, metadata) };
}

/**
 * Where the authorization server has a scope for tokens that can be renewed, it is asked for too.
 * Source: MCP, SEP-2207. Pure.
 */
function withRenewal(scope: string | undefined, metadata: Metadata): string | undefined {
  const issues = metadata["scopes_supported"];
  const isIssued = Array.isArray(issues) && issues.includes(RENEWAL);
  return scope !== undefined && isIssued ? computeScopeUnion(scope, RENEWAL) : scope;
}

/** OpenID Connect Core 1.0, section 11. */
const RENEWAL = "offline_access";

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
  { metadata }: FoundServer,
  { spec, loopback, signal }: Registering,
): Promise<StoredMcpLogin["client"]> {
  if (spec.clientId !== undefined) return { client_id: spec.clientId };
  const takesDocuments = metadata["client_id_metadata_document_supported"] === true;
  if (spec.clientDocument !== undefined && takesDocuments) {
    validateClientMetadataUrl(spec.clientDocument);
    return { client_id: spec.clientDocument };
  }
  if (metadata["registration_endpoint"] === undefined) {
    throw new DureError("MCP_LOGIN_NO_CLIENT", `${metadata.issuer} registers no clients.`, {
      class: "input",
      hint: "Register dure there, and set login: { clientId: … } of the server.",
    });
  }
  assertSecureTokenEndpoint(metadata["registration_endpoint"] as string);
  const registered = await registerClient(metadata.issuer, {
    metadata,
    clientMetadata: clientMetadata(loopback.redirectUrl),
    fetchFn: fetchWith(signal),
  });

  return { ...registered };
}

/** What authorization servers know of dure. */
function clientMetadata(redirectUrl: string): {
  client_name: string;
  application_type: "native";
  redirect_uris: string[];
  grant_types: string[];
  response_types: string[];
  token_endpoint_auth_method: string;
} {
  return {
    client_name: "dure",
    application_type: "native",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
}

/**
 * The document that stands at an address and names the client. The port of an address of this machine
 * does not count there (RFC 8252, section 7.3). Throws where it is no https address with a path. Pure.
 */
export function clientDocument(address: string): object {
  validateClientMetadataUrl(address);
  return { client_id: address, ...clientMetadata(ANY_LOOPBACK) };
}

/** The secret of the settings is stored nowhere. */
function withSecret(
  client: StoredMcpLogin["client"],
  { clientSecret }: PersonLoginOptions,
): StoredMcpLogin["client"] {
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

// --- first challenge

/** What a server wants of a client without a token. */
type Challenge = ReturnType<typeof extractWWWAuthenticateParams>;

/**
 * Asks as a client does, up to the list of tools, until the server wants a login: some let a stranger
 * greet them. Empty where it wants none. Throws where the server gives no answer at all.
 */
async function firstChallenge(url: string, signal: AbortSignal): Promise<Challenge> {
  const answers: Response[] = [];
  const listen: FetchLike = async (address, init) => {
    const answer = await fetchAtOrigin(address, init);
    answers.push(answer);
    return answer;
  };
  const client = new Client(
    { name: "dure", version: "login" },
    { versionNegotiation: { mode: "auto" } },
  );
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: listen }), {
      signal,
    });
    await client.listTools(undefined, { signal });
  } catch (error) {
    // An answer that is no MCP may still say how to log in.
    if (answers.length === 0 || signal.aborted) throw error;
  } finally {
    await client.close();
  }
  const refusal = answers.find(({ headers }) => headers.has("www-authenticate"));

  return refusal ? extractWWWAuthenticateParams(refusal) : {};
}
