import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { startTestServer, type TestServer } from "../server/test-server.ts";
import { MemoryTokenStore } from "../server/token-store.ts";
import { mcpRoutes } from "./mcp-routes.ts";

/** `/mcp` with a server in memory; with a real team: test/mcp/mcp-http.test.ts. */
let open: TestServer;
let guarded: TestServer;
let guest: string;

beforeAll(async () => {
  const auth = new MemoryTokenStore();
  guest = (await auth.create({ name: "guest", scopes: ["jobs"] })).token;
  open = await startTestServer({ protocols: [mcpRoutes] });
  guarded = await startTestServer({ protocols: [mcpRoutes], auth });
});

afterAll(async () => {
  await open[Symbol.asyncDispose]();
  await guarded[Symbol.asyncDispose]();
});

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

test("the person at the machine calls a tool without a token", async () => {
  const client = new Client({ name: "test", version: "1" });
  const address = new URL(`${open.url}/mcp?tools=services`);
  await client.connect(new StreamableHTTPClientTransport(address));

  const { content, isError } = await client.callTool({ name: "list_services", arguments: {} });
  await client.close();

  expect(isError).not.toBe(true);
  expect(JSON.stringify(content)).toContain("faq");
});

test.each([
  ["no token", {}, LIST, 401, "TOKEN_NEEDED"],
  ["a wrong token", { authorization: "Bearer wrong-0123456789abcdef" }, LIST, 401, "TOKEN_INVALID"],
  ["a page of another site", { origin: "https://evil.example" }, LIST, 403, "ORIGIN_NOT_ALLOWED"],
])("%s is refused in the shape of JSON-RPC", async (_what, headers, body, status, code) => {
  const server = code === "ORIGIN_NOT_ALLOWED" ? open : guarded;

  const answer = await server.post("/mcp", body, headers);

  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({
    jsonrpc: "2.0",
    id: null,
    error: { message: expect.stringContaining(code) as string, data: { code } },
  });
});

test.each([
  ["broken JSON", "{", -32_700],
  ["a body that is too large", JSON.stringify({ text: "x".repeat(1_048_600) }), -32_600],
])("%s is told with the code of JSON-RPC", async (_what, body, code) => {
  const headers = { "content-type": "application/json" };

  const answer = await open.fetch("/mcp", { method: "POST", headers, body });

  expect(await answer.json()).toMatchObject({ id: null, error: { code } });
});

test("unknown groups of tools are refused, and say which there are", async () => {
  const answer = await open.post("/mcp?tools=everything", LIST);

  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain("TOOLS_UNKNOWN");
});

test("a token is offered the tools of its scopes alone", async () => {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${guest}` } };
  const address = new URL(`${guarded.url}/mcp?tools=agents,jobs,services,decisions`);
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));

  const { tools } = await client.listTools();
  await client.close();

  expect(tools.map(({ name }) => name)).toEqual(["delegate", "list_jobs", "get_job", "cancel_job"]);
});

test("what the team has not, such as rooms, is left out of the list of resources", async () => {
  const client = new Client({ name: "test", version: "1" });
  const address = new URL(`${open.url}/mcp?tools=rooms,services`);
  await client.connect(new StreamableHTTPClientTransport(address));

  const { resources } = await client.listResources();
  const { resourceTemplates } = await client.listResourceTemplates();
  await client.close();

  expect(resources.filter(({ uri }) => uri.startsWith("dure://rooms/"))).toEqual([]);
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    "dure://rooms/{id}",
    "dure://sessions/{id}",
  ]);
});

describe("a client that listens to a session", () => {
  const uri = "dure://sessions/mina";
  const NOT_THERE = [
    ...["dure://sessions/none", "dure://rooms/office", "https://example.org/", "", "dure://"],
    ...["dure://sessions/%", "dure://sessions/%00", "dure://sessions/..%2F..%2Fv1%2Faudit"],
    `dure://sessions/${"x".repeat(20_000)}`,
  ];

  async function listen() {
    const auth = new MemoryTokenStore();
    const { token, record } = await auth.create({ name: "mina", scopes: ["chat"] });
    const clock = {
      ...systemClock,
      every: (ms: number, callback: () => void) => systemClock.every(ms / 300, callback),
    };
    const server = await startTestServer({ protocols: [mcpRoutes], auth, clock });
    const headers = { authorization: `Bearer ${token}` };
    await server.post("/v1/agent/chat", { session_id: "mina", message: "hi" }, headers);
    const client = new Client(
      { name: "test", version: "1" },
      { versionNegotiation: { mode: "auto" } },
    );
    const told = new Promise<string>((resolve) => {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
        resolve(params.uri),
      );
    });
    const address = new URL(`${server.url}/mcp?tools=services`);
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }));
    const asked = { resourceSubscriptions: [...NOT_THERE, uri] };
    const subscription = await client.listen(asked);

    return {
      subscription,
      told,
      revoke: () => auth.revoke(record.id),
      [Symbol.asyncDispose]: async () => {
        await client.close();
        await server[Symbol.asyncDispose]();
      },
    };
  }

  test("is told at once which of its addresses are followed, and to read them", async () => {
    await using listening = await listen();

    expect(listening.subscription.honoredFilter).toEqual({ resourceSubscriptions: [uri] });
    expect(await listening.told).toBe(uri);
  });

  test("hears no more when its token is revoked", async () => {
    await using listening = await listen();

    await listening.revoke();

    expect(await listening.subscription.closed).toBe("remote");
  });
});

test("there is nothing at it to GET or to end", async () => {
  for (const method of ["GET", "DELETE"]) {
    expect((await open.fetch("/mcp", { method })).status).toBe(405);
  }
});
