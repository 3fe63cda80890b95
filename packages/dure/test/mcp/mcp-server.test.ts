// @module-tag slow
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, type CallToolResult } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";

/** `dure mcp`, with the official client. */
const TEAM = fileURLToPath(new URL("team", import.meta.url));
const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

const SLOW = { ...FULL, timeout: 60_000 };

const stack = new AsyncDisposableStack();
let home: string;
let databaseUrl: string;
let server: ServerProcess;
let client: Client | undefined;

beforeAll(async () => {
  databaseUrl = stack.use(await testDatabaseUrl()).url;
  home = await mkdtemp(join(tmpdir(), "dure-mcp-"));
  stack.defer(() => rm(home, { recursive: true }));
  await serve();
}, 120_000);

afterEach(async () => {
  await client?.close();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await stack.disposeAsync();
}, 60_000);

async function serve(): Promise<void> {
  server = ServerProcess.spawn(
    {
      DATABASE_URL: databaseUrl,
      DURE_HOME: home,
      MCP_SERVER: fileURLToPath(new URL("../../src/mcp/test-hostile-server.ts", import.meta.url)),
      MCP_MANNER: "polite",
    },
    TEAM,
  );
  await server.url;
}

type Mode = "legacy" | "auto";

async function connect(mode: Mode = "auto", ...args: readonly string[]): Promise<Client> {
  client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const env = { ...getDefaultEnvironment(), DATABASE_URL: databaseUrl, DURE_HOME: home };
  const command = ["--conditions=dure-source", MAIN, "mcp", "--dir", TEAM, ...args];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: command, env, stderr: "ignore" }),
  );
  return client;
}

async function call(name: string, input: Record<string, unknown> = {}): Promise<CallToolResult> {
  return client!.callTool({ name, arguments: input }, { timeout: 60_000 });
}

async function told<Answer>(name: string, input: Record<string, unknown> = {}): Promise<Answer> {
  const { content, isError } = await call(name, input);
  const [part] = content;
  if (isError || part?.type !== "text") throw new Error(JSON.stringify(content));
  return JSON.parse(part.text) as Answer;
}

test.each([
  ["the newest protocol", "auto", "2026-07-28"],
  ["the one before it", "legacy", "2025-11-25"],
] as const)(
  "a client that speaks %s lists the tools and asks an agent",
  FULL,
  async (_, mode, version) => {
    const connected = await connect(mode);
    const { tools } = await connected.listTools();

    expect(connected.getNegotiatedProtocolVersion()).toBe(version);
    expect(tools.map(({ name }) => name)).toContain("ask_agent");
    expect(await told("list_agents")).toMatchObject([
      { id: "mina" },
      { id: "jun" },
      { id: "desk" },
    ]);
    expect(await told("ask_agent", { agent: "mina", message: "hello" })).toMatchObject({
      message: expect.stringContaining("hello") as string,
      session: expect.stringContaining("chat-") as string,
    });
  },
);

test(
  "tools that could say yes for a person are offered only where they were asked for",
  FULL,
  async () => {
    const { tools } = await (await connect()).listTools();
    const names = tools.map(({ name }) => name);
    await client!.close();
    const asked = (await (await connect("auto", "--tools", "services,decisions")).listTools())
      .tools;

    expect(names).not.toContain("chat");
    expect(names).not.toContain("post_message");
    expect(names).not.toContain("decide");
    expect(asked.map(({ name }) => name)).toEqual([
      "list_services",
      "chat",
      "list_sessions",
      "read_session",
      "list_decisions",
      "decide",
    ]);
  },
);

test("what only reads says so, and what changes something does not", FULL, async () => {
  const { tools } = await (await connect()).listTools();
  const readOnly = tools.filter(({ annotations }) => annotations?.readOnlyHint === true);

  expect(readOnly.map(({ name }) => name)).toEqual([
    "list_agents",
    "list_rooms",
    "read_room",
    "list_jobs",
    "get_job",
    "list_plans",
    "list_runs",
    "get_run",
  ]);
});

test("the same key is the same work: one job, however often it is called", FULL, async () => {
  await connect();
  const asked = { agent: "mina", target: "jun", message: "Look.", wait_sec: 0, key: "k1" };

  const first = await told<{ job_id: string }>("delegate", asked);
  const second = await told<{ job_id: string }>("delegate", asked);

  expect(second.job_id).toBe(first.job_id);
  expect(await told("get_job", { job: first.job_id })).toMatchObject({ target: "jun" });
});

test("a message is posted in a room and read there", FULL, async () => {
  await connect("auto", "--as", "kim", "--tools", "rooms,posts");
  const { items } = await told<{ items: readonly { id: string }[] }>("list_rooms");

  await told("post_message", { room: items[0]!.id, text: "Good morning.", key: "m1" });

  expect(await told("read_room", { room: items[0]!.id })).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining({ text: "Good morning." })]) as unknown,
  });
});

const REFUSED = sampled<readonly [string, string, Record<string, unknown>, RegExp]>(
  [
    ["an unknown job", "get_job", { job: "job_none" }, /JOB_UNKNOWN|NOT_FOUND/],
    ["an unknown agent", "ask_agent", { agent: "none", message: "a" }, /AGENT_UNKNOWN/],
    ["a service as an agent", "ask_agent", { agent: "office", message: "yes" }, /AGENT_UNKNOWN/],
    ["an agent of a service", "ask_agent", { agent: "desk", message: "yes" }, /AGENT_OF_SERVICE/],
    ["arguments that do not fit", "read_room", { room: "", limit: 0 }, /room/],
  ],
  1,
);

test.each(REFUSED.rows)(
  "%s is told with its code, and changes nothing",
  REFUSED.options,
  async (_what, name, input, message) => {
    await connect();
    const { isError, content } = await call(name, input);

    expect(isError).toBe(true);
    expect(JSON.stringify(content)).toMatch(message);
  },
);

test(
  "in a session of a service the agent that was asked answers, not the service",
  FULL,
  async () => {
    await connect("auto", "--tools", "agents,services");
    const asked = { session: "of-a-service", message: "odd__echo" };

    expect(await told("chat", { ...asked, service: "office" })).toMatchObject({
      message: '"echo was done"',
    });
    expect(await told("ask_agent", { ...asked, agent: "mina" })).toMatchObject({
      message: "odd__echo",
    });
  },
);

test(
  "a team that is started again is found again, and one that is gone is said to be",
  SLOW,
  async () => {
    await connect();
    await server.kill();

    expect((await call("list_agents")).isError).toBe(true);
    await serve();

    expect(await told("list_agents")).toMatchObject([
      { id: "mina" },
      { id: "jun" },
      { id: "desk" },
    ]);
  },
);
