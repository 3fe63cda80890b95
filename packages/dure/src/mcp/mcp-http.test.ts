import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { until } from "../../test/until.ts";
import { LoginStore } from "./login-store.ts";
import { McpServers } from "./mcp-servers.ts";

/** Servers at an address, made with the official SDK. */
let opened: McpServers | undefined;
let http: Server | undefined;
afterEach(async () => {
  await opened?.stop();
  http?.closeAllConnections();
  http?.close();
});

/** Adds two numbers; who sends another token than `t1` is refused. */
function makeServer(): McpServer {
  const server = new McpServer({ name: "sums", version: "3.0.0" });
  server.registerTool(
    "add",
    {
      description: "Adds.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
  );
  return server;
}

async function listen(port = 0, make = makeServer): Promise<number> {
  const handler = createMcpHandler(make);
  http = createServer((request, response) => {
    if (request.headers.authorization !== "Bearer t1") {
      response.writeHead(401).end();
      return;
    }
    void answer(request, response, handler.fetch);
  }).listen(port, "127.0.0.1");
  await once(http, "listening");
  return (http.address() as AddressInfo).port;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const { method = "GET", headers, url = "/" } = request;
  const given = await fetch(
    new Request(new URL(url, "http://127.0.0.1"), {
      method,
      headers: headers as Record<string, string>,
      ...(method === "POST" && { body: Readable.toWeb(request), duplex: "half" }),
    } as RequestInit),
  );
  response.writeHead(given.status, Object.fromEntries(given.headers));
  if (given.body) Readable.fromWeb(given.body as never).pipe(response);
  else response.end();
}

/** Gives the token `t1` for the right secret, and says in the form of RFC 8414 that it is here. */
async function listenWithLogin(secret: string): Promise<number> {
  const handler = createMcpHandler(makeServer);
  const json = (response: ServerResponse, body: object, status = 200): void =>
    void response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(body));
  http = createServer((request, response) => {
    const issuer = `http://127.0.0.1:${(http!.address() as AddressInfo).port}`;
    const { authorization = "" } = request.headers;
    if (request.url?.startsWith("/.well-known/oauth-protected-resource")) {
      json(response, { resource: `${issuer}/mcp`, authorization_servers: [issuer] });
    } else if (request.url?.startsWith("/.well-known/")) {
      json(response, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        response_types_supported: ["code"],
        grant_types_supported: ["client_credentials"],
        token_endpoint_auth_methods_supported: ["client_secret_basic"],
      });
    } else if (request.url === "/token") {
      const isKnown = authorization === `Basic ${btoa(`dure:${secret}`)}`;
      if (isKnown) json(response, { access_token: "t1", token_type: "Bearer", expires_in: 60 });
      else json(response, { error: "invalid_client" }, 401);
    } else if (authorization === "Bearer t1") void answer(request, response, handler.fetch);
    else response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  return (http.address() as AddressInfo).port;
}

async function open(
  port: number,
  token: string,
  login: object = { headers: { Authorization: "Bearer ${SUMS}" } },
): Promise<McpServers> {
  opened = new McpServers({
    servers: { sums: { url: `http://127.0.0.1:${port}/mcp`, ...login } },
    folder: ".",
    environment: { SUMS: token },
    clock: systemClock,
    logger: silentLogger,
    logins: new LoginStore({ home: ".", clock: systemClock }),
    version: "0.1.0",
  });
  opened.start();
  await opened.tried({ withinMs: 30_000 });
  return opened;
}

async function add(servers: McpServers): Promise<unknown> {
  const tool = servers.setOf("sums").find("sums__add")!;
  const { signal } = new AbortController();
  return tool.execute({ a: 40, b: 2 }, {} as never, { signal });
}

test("a server at an address speaks the newest protocol, with headers of the environment", async () => {
  const servers = await open(await listen(), "t1");

  expect(servers.shown()).toEqual([
    {
      name: "sums",
      state: { status: "ready", protocol: "2026-07-28", version: "3.0.0" },
      tools: [{ name: "add", effect: "none" }],
      leftOut: [],
    },
  ]);
  expect(await add(servers)).toBe("42");
});

test("a faulty tool of a server that speaks the newest protocol costs itself alone", async () => {
  const makeFaulty = (): McpServer => {
    const server = makeServer();
    const faulty = { name: "pay", inputSchema: { anyOf: [{ type: "string" }] } };
    const bare = { name: "sum", inputSchema: {} };
    server.server.setRequestHandler("tools/list", () => ({
      tools: [faulty, { name: "no_schema" }, bare, { name: "add", inputSchema: {} }] as never,
      resultType: "complete",
    }));
    return server;
  };
  const servers = await open(await listen(0, makeFaulty), "t1");

  expect(servers.shown()).toMatchObject([
    {
      state: { status: "ready", protocol: "2026-07-28" },
      tools: [{ name: "sum" }, { name: "add" }],
      leftOut: [
        { name: "pay", because: "its inputSchema takes no object" },
        { name: "no_schema", because: "it has no inputSchema" },
      ],
    },
  ]);
  expect(await add(servers)).toBe("42");
});

test("a server that refuses the token is unavailable, and the token stands in no message", async () => {
  const servers = await open(await listen(), "wrong-token");
  const { state } = servers.shown()[0]!;

  expect(state.status).toBe("unavailable");
  expect(JSON.stringify(state)).not.toContain("wrong-token");
});

test("a server that redirects to another address is unavailable, and the token stays here", async () => {
  const keys: unknown[] = [];
  const other = createServer(({ headers }, response) => {
    keys.push(headers["x-key"]);
    response.end();
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  const there = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  http = createServer((_, response) => {
    response.writeHead(307, { location: `${there}/mcp` }).end();
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;

  const servers = await open(port, "t1", { headers: { "X-Key": "${SUMS}" } });
  other.closeAllConnections();
  other.close();

  const { state } = servers.shown()[0]!;
  expect(state.status).toBe("unavailable");
  expect(JSON.stringify(state)).toContain(`redirects to ${there}`);
  expect(keys).toEqual([]);
});

test("a call to a server that went away is lost, and one after its return is answered", async () => {
  const port = await listen();
  const servers = await open(port, "t1");
  http!.closeAllConnections();
  http!.close();
  await once(http!, "close");

  await expect(add(servers)).rejects.toBeInstanceOf(Error);
  await listen(port);
  await until(
    () => add(servers).catch(() => false),
    () => "the server is not called any more",
  );
});

test("dure logs in at a server by OAuth, with a secret of the environment", async () => {
  const port = await listenWithLogin("s1");
  const issuer = `http://127.0.0.1:${port}`;
  const oauth = { issuer, clientId: "dure", clientSecret: "${SUMS}" };
  const servers = await open(port, "s1", { oauth });

  expect(servers.shown()[0]!.state).toMatchObject({ status: "ready" });
  expect(await add(servers)).toBe("42");
});

test.each([
  ["a wrong secret", "other", undefined],
  ["another authorization server than the one it is for", "s1", "https://login.example"],
])("with %s it is unavailable", async (_what, secret, issuer) => {
  const port = await listenWithLogin("s1");
  const own = `http://127.0.0.1:${port}`;
  const oauth = { issuer: issuer ?? own, clientId: "dure", clientSecret: "${SUMS}" };
  const servers = await open(port, secret, { oauth });

  expect(servers.shown()[0]!.state.status).toBe("unavailable");
});
