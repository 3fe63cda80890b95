import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text as readAll } from "node:stream/consumers";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

/** How an authorization server behaves that is not as it should be. */
export interface Manners {
  /** Another issuer stands in its own document. */
  lies?: string;
  /** The code is over before it is exchanged. */
  codeIsOver?: boolean;
  /** Refresh tokens are refused. */
  refuses?: boolean;
  /** It answers refreshes with a failure of its own. */
  isDown?: boolean;
  /** It says who it is beside the code. */
  iss?: string;
  registersNone?: boolean;
  /** A client may be named by the address of a document. */
  takesDocuments?: boolean;
  /** What a request without a token is told to ask for; default `sums`, null: nothing. */
  challenges?: string | null;
  /** A stranger may greet it; what it is asked then needs a token. */
  greets?: boolean;
  /** It takes no token, also none that was just given. */
  takesNone?: boolean;
  /** What the document of the server offers. */
  offers?: readonly string[];
  /** What the document of the authorization server offers. */
  issues?: readonly string[];
  /** What a token must allow that calls a tool, or all that asks anything. */
  needs?: string;
  needsForAll?: boolean;
  /** How it ends tokens that it is asked to end. */
  revokes?: "not" | "fails" | "redirects" | "hangs";
}

interface Grant {
  readonly challenge: string;
  readonly redirect: string;
  readonly client: string;
  readonly scope: string;
}

/** An MCP server that wants a person's login, and an authorization server at another address. */
export interface LoginServer extends AsyncDisposable {
  readonly url: string;
  readonly issuer: string;
  readonly manners: Manners;
  /** Bodies that the token endpoint was sent. */
  readonly asked: URLSearchParams[];
  /** What its endpoint for the end of tokens was sent. */
  readonly revoked: { readonly authorization: string; readonly body: URLSearchParams }[];
  /** Access tokens that are taken now. */
  readonly living: Set<string>;
  /** What access tokens allow. */
  readonly scopes: Map<string, string>;
  /** Seconds until a token is over. */
  lifetime: number;
}

export async function startLoginServer(): Promise<LoginServer> {
  const manners: Manners = {};
  const asked: URLSearchParams[] = [];
  const living = new Set<string>();
  const scopes = new Map<string, string>();
  const handler = createMcpHandler(makeServer);
  const resource = await listen((request, response, origin) => {
    if (request.url?.startsWith("/.well-known/oauth-protected-resource/mcp")) {
      const authorization_servers = [issuer.origin];
      const scopes_supported = manners.offers;
      return json(response, {
        resource: `${origin}/mcp`,
        authorization_servers,
        scopes_supported,
      });
    }
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const isTaken = living.has(token) && manners.takesNone !== true;
    if (isTaken && lacksScope(request, manners, scopes.get(token))) {
      const wants = `Bearer error="insufficient_scope", scope="${manners.needs}"`;
      return void response.writeHead(403, { "www-authenticate": wants }).end();
    }
    if (isTaken || isGreeting(request, manners)) {
      return void pipe(request, response, handler.fetch);
    }
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    const { challenges = "sums" } = manners;
    const scope = challenges === null ? "" : `, scope="${challenges}"`;
    const challenge = `Bearer resource_metadata="${metadata}"${scope}`;
    response.writeHead(401, { "www-authenticate": challenge }).end();
  });
  const server = { manners, asked, living, revoked: [], scopes, lifetime: 3_600 };
  const issuer = await listen(authorizationServer(server));

  return Object.assign(server, {
    url: `${resource.origin}/mcp`,
    issuer: issuer.origin,
    async [Symbol.asyncDispose]() {
      await resource.close();
      await issuer.close();
    },
  });
}

function lacksScope(
  { headers }: IncomingMessage,
  { needs, needsForAll }: Manners,
  scope = "",
): boolean {
  const isMeant = needsForAll ?? headers["mcp-method"] === "tools/call";
  return isMeant && needs !== undefined && !scope.split(" ").includes(needs);
}

function isGreeting({ headers }: IncomingMessage, { greets = false }: Manners): boolean {
  return greets && headers["mcp-method"] === "server/discover";
}

type Answer = (request: IncomingMessage, response: ServerResponse, origin: string) => unknown;

type Behaviour = Omit<LoginServer, "url" | "issuer" | typeof Symbol.asyncDispose>;

/** What an authorization server has given out. */
class Grants {
  readonly #server: Behaviour;
  readonly #codes = new Map<string, Grant>();
  readonly #refreshTokens = new Set<string>();
  readonly #clients = new Set(["known"]);

  constructor(server: Behaviour) {
    this.#server = server;
  }

  register(body: string, response: ServerResponse): void {
    const client_id = secret();
    this.#clients.add(client_id);
    json(response, { ...(JSON.parse(body) as object), client_id }, 201);
  }

  /** The person says yes at once. */
  authorize({ searchParams }: URL, response: ServerResponse): void {
    const redirect = new URL(searchParams.get("redirect_uri")!);
    const client = searchParams.get("client_id")!;
    const { takesDocuments = false } = this.#server.manners;
    const isDocument = takesDocuments && client.startsWith("https://");
    const isKnown = isDocument || this.#clients.has(client);
    if (!isKnown) return void response.writeHead(400).end();
    const code = secret();
    const challenge = searchParams.get("code_challenge")!;
    const scope = searchParams.get("scope") ?? "";
    this.#codes.set(code, { challenge, redirect: redirect.href, client, scope });
    redirect.searchParams.set("code", code);
    redirect.searchParams.set("state", searchParams.get("state")!);
    const { iss } = this.#server.manners;
    if (iss !== undefined) redirect.searchParams.set("iss", iss);
    response.writeHead(302, { location: redirect.href }).end();
  }

  token(body: URLSearchParams, response: ServerResponse): void {
    this.#server.asked.push(body);
    if (body.get("grant_type") === "refresh_token") this.#refresh(body, response);
    else this.#exchange(body, response);
  }

  revoke(body: URLSearchParams, authorization: string, response: ServerResponse): void {
    this.#server.revoked.push({ authorization, body });
    const { revokes } = this.#server.manners;
    if (revokes === "hangs") return;
    if (revokes === "fails") return void response.writeHead(503).end();
    if (revokes === "redirects") return void response.writeHead(307, { location: "/" }).end();
    const token = body.get("token") ?? "";
    this.#server.living.delete(token);
    this.#refreshTokens.delete(token);
    response.writeHead(200).end();
  }

  #exchange(body: URLSearchParams, response: ServerResponse): void {
    const code = body.get("code") ?? "";
    const grant = this.#codes.get(code);
    this.#codes.delete(code);
    const proof = createHash("sha256").update(body.get("code_verifier") ?? "");
    const fits =
      grant?.challenge === proof.digest("base64url") &&
      grant.redirect === body.get("redirect_uri") &&
      grant.client === body.get("client_id");
    if (fits && this.#server.manners.codeIsOver !== true) this.#give(grant.scope, response);
    else refuse(response);
  }

  /** A refresh token works once; a second use ends the grant, as OAuth 2.1 wants it. */
  #refresh(body: URLSearchParams, response: ServerResponse): void {
    const { isDown, refuses } = this.#server.manners;
    if (isDown === true) return void response.writeHead(503).end();
    const token = body.get("refresh_token") ?? "";
    const isKnown = this.#refreshTokens.delete(token);
    const scope = this.#server.scopes.get(token) ?? "";
    if (isKnown && refuses !== true) return this.#give(scope, response);
    this.#refreshTokens.clear();
    refuse(response);
  }

  #give(scope: string, response: ServerResponse): void {
    const [access, refresh] = [secret(), secret()];
    for (const token of [access, refresh]) this.#server.scopes.set(token, scope);
    this.#server.living.add(access);
    this.#refreshTokens.add(refresh);
    json(response, {
      access_token: access,
      refresh_token: refresh,
      token_type: "Bearer",
      expires_in: this.#server.lifetime,
    });
  }
}

function authorizationServer(server: Behaviour): Answer {
  const grants = new Grants(server);
  return async (request, response, origin) => {
    const url = new URL(request.url ?? "/", origin);
    if (url.pathname.startsWith("/.well-known/")) {
      return json(response, metadataOf(origin, server.manners));
    }
    if (url.pathname === "/authorize") return grants.authorize(url, response);
    const body = await readAll(request);
    if (url.pathname === "/register") return grants.register(body, response);
    if (url.pathname === "/token") return grants.token(new URLSearchParams(body), response);
    if (url.pathname === "/revoke") {
      const { authorization = "" } = request.headers;
      return grants.revoke(new URLSearchParams(body), authorization, response);
    }
    response.writeHead(404).end();
  };
}

function refuse(response: ServerResponse): void {
  json(response, { error: "invalid_grant" }, 400);
}

function metadataOf(origin: string, manners: Manners): object {
  const { lies, iss, registersNone, revokes, takesDocuments, issues } = manners;
  return {
    issuer: lies ?? origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: iss !== undefined,
    revocation_endpoint: revokes === "not" ? undefined : `${origin}/revoke`,
    client_id_metadata_document_supported: takesDocuments === true,
    scopes_supported: issues,
    registration_endpoint: registersNone === true ? undefined : `${origin}/register`,
  };
}

function makeServer(): McpServer {
  const server = new McpServer({ name: "sums", version: "3.0.0" });
  const annotations = { readOnlyHint: true };
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool("add", { description: "Adds.", inputSchema, annotations }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  return server;
}

export async function listen(answer: Answer): Promise<{ origin: string; close(): Promise<void> }> {
  const server = createServer((request, response) => void answer(request, response, origin));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    origin,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export async function pipe(
  request: IncomingMessage,
  response: ServerResponse,
  send: (request: Request) => Promise<Response>,
): Promise<void> {
  const { method = "GET", headers, url = "/" } = request;
  const body = method === "POST" ? { body: Readable.toWeb(request), duplex: "half" } : {};
  const asked = { method, headers, ...body } as RequestInit;
  const given = await send(new Request(new URL(url, "http://127.0.0.1"), asked));
  response.writeHead(given.status, Object.fromEntries(given.headers));
  if (given.body) Readable.fromWeb(given.body as never).pipe(response);
  else response.end();
}

function secret(): string {
  return randomBytes(16).toString("hex");
}
