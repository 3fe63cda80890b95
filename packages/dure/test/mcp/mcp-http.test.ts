import { fileURLToPath } from "node:url";
import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolResult,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Scope } from "../../src/kernel/access.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startContractTeam, WORDS, type ContractTeam } from "../contract/contract-team.ts";
import { until } from "../until.ts";

/** `/mcp` of a real team, with the official client; and `dure mcp` that is killed in a call. */
const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

let team: ContractTeam;
let clients: Client[] = [];

beforeAll(async () => {
  team = await startContractTeam();
}, 120_000);

afterEach(async () => {
  for (const client of clients) await client.close();
  clients = [];
});

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

interface Connecting {
  readonly token?: string;
  readonly mode?: "legacy" | "auto";
  readonly tools?: string;
}

async function connect({ token = team.admin, mode = "auto", tools }: Connecting = {}) {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const address = new URL(`${team.url}/mcp${tools === undefined ? "" : `?tools=${tools}`}`);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
  clients.push(client);
  return client;
}

async function connectStdio(): Promise<{ client: Client; pid: number }> {
  const client = new Client({ name: "test", version: "1" });
  const env = { ...getDefaultEnvironment(), DURE_TOKEN: team.admin, DURE_URL: team.url };
  const args = ["--conditions=dure-source", MAIN, "mcp", "--tools", "agents"];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    env,
    stderr: "ignore",
  });
  await client.connect(transport);
  clients.push(client);
  return { client, pid: transport.pid! };
}

async function tokenFor(tenant: string, ...scopes: readonly Scope[]): Promise<string> {
  const store = new PostgresTokenStore({ database: team.database });
  return (await store.create({ name: `of ${tenant}`, scopes, tenant })).token;
}

function told(result: CallToolResult): Record<string, unknown> {
  const [part] = result.content;
  if (result.isError || part?.type !== "text") throw new Error(JSON.stringify(result.content));
  return JSON.parse(part.text) as Record<string, unknown>;
}

async function get<Answer>(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${team.admin}` };
  return (await (await fetch(team.url + path, { headers })).json()) as Answer;
}

/** The turn that runs in a session, once it does. */
function runningIn(session: string): Promise<string> {
  return until(
    async () => {
      const path = `/v1/agent/sessions?search=${encodeURIComponent(WORDS.hang)}`;
      const { items } = await get<{
        items: readonly { session_id: string; running_turn: { turn_id: string } | null }[];
      }>(path);
      return items.find(({ session_id }) => session_id === session)?.running_turn?.turn_id;
    },
    () => `no turn runs in ${session}`,
  );
}

async function stop(turn: string): Promise<void> {
  const headers = { authorization: `Bearer ${team.admin}` };
  await fetch(`${team.url}/v1/agent/turns/${turn}/stop`, { method: "POST", headers });
}

/** What was said to an agent in a session, once for each turn. */
async function saidIn(session: string): Promise<readonly string[]> {
  const { history } = await get<{ history: readonly { role: string; content: string }[] }>(
    `/v1/agent/sessions/${session}`,
  );
  return history.filter(({ role }) => role === "user").map(({ content }) => content);
}

describe("the official client over HTTP", FULL, () => {
  test.each([
    ["the newest protocol", "auto", "2026-07-28"],
    ["the one before it", "legacy", "2025-11-25"],
  ] as const)("%s: tools are listed, and an agent answers", async (_, mode, version) => {
    const client = await connect({ mode });
    const { tools } = await client.listTools();
    const asked = { agent: "eden", message: "안녕하세요" };

    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(tools.map(({ name }) => name)).toContain("ask_agent");
    expect(told(await client.callTool({ name: "ask_agent", arguments: asked }))).toMatchObject({
      message: "네, 알겠습니다.",
    });
  });

  test.each(["auto", "legacy"] as const)(
    "progress is told to who asks for it (%s)",
    async (mode) => {
      const client = await connect({ mode });
      const said: unknown[] = [];

      await client.callTool(
        { name: "ask_agent", arguments: { agent: "eden", message: "안녕하세요" } },
        { onprogress: (progress) => void said.push(progress) },
      );

      expect(said).toEqual([{ progress: 1, message: expect.any(String) as string }]);
    },
  );

  test("a call that is given up leaves the turn alone, and the key finds it again", async () => {
    const asked = { agent: "eden", message: WORDS.hang, session: "given-up", key: "g1" };
    const client = await connect();
    const leave = new AbortController();

    const call = client.callTool({ name: "ask_agent", arguments: asked }, { signal: leave.signal });
    const turn = await runningIn("given-up");
    leave.abort();
    await expect(call).rejects.toThrow();

    expect(await runningIn("given-up")).toBe(turn);
    const again = client.callTool({ name: "ask_agent", arguments: asked });
    await stop(turn);
    expect(told(await again)).toMatchObject({ error: { code: "TURN_STOPPED" } });
    expect(await saidIn("given-up")).toEqual([WORDS.hang]);
  });
});

describe("resources", FULL, () => {
  test.each(["auto", "legacy"] as const)(
    "a job and a room are listed and read, and what is unknown is not found (%s)",
    async (mode) => {
      const client = await connect({ mode, tools: "jobs,rooms" });
      const asked = { agent: "ruda", target: "eden", message: "Look.", wait_sec: 30 };
      const { job_id: job } = told(await client.callTool({ name: "delegate", arguments: asked }));
      const uri = `dure://jobs/${String(job)}`;

      const { resources } = await client.listResources();
      const { contents } = await client.readResource({ uri });
      const room = resources.find((one) => one.uri.startsWith("dure://rooms/"))!;
      const read = await client.readResource({ uri: room.uri });

      expect(resources).toContainEqual(expect.objectContaining({ uri, name: "ruda → eden" }));
      expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ job_id: job });
      expect(read.contents).toHaveLength(1);
      expect(resources.some((one) => one.uri.startsWith("dure://runs/"))).toBe(false);
      for (const none of [
        "dure://jobs/none",
        "dure://runs/run_1",
        "dure://tokens/1",
        "dure://jobs/%",
      ]) {
        await expect(client.readResource({ uri: none })).rejects.toMatchObject({ code: -32_602 });
      }
    },
  );

  test("another tenant lists no job of ours, and finds none", async () => {
    const asked = { agent: "ruda", target: "eden", message: "Look.", wait_sec: 0 };
    const ours = await connect({ token: await tokenFor("acme", "jobs") });
    const theirs = await connect({ token: await tokenFor("beta", "jobs") });
    const { job_id: job } = told(await ours.callTool({ name: "delegate", arguments: asked }));
    const uri = `dure://jobs/${String(job)}`;

    expect((await ours.listResources()).resources.map((one) => one.uri)).toContain(uri);
    expect((await theirs.listResources()).resources).toEqual([]);
    await expect(theirs.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
  });
});

describe("listening over HTTP", FULL, () => {
  const handOver = { agent: "ruda", target: "eden", message: "Look.", wait_sec: 0 };

  async function jobOf(client: Client): Promise<string> {
    const { job_id: job } = told(await client.callTool({ name: "delegate", arguments: handOver }));
    return `dure://jobs/${String(job)}`;
  }

  /** Addresses of what has changed, as the client hears of them. */
  function heardBy(client: Client): string[] {
    const heard: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      heard.push(params.uri);
    });
    return heard;
  }

  test("a client hears that a room it listens to has changed", async () => {
    const client = await connect({ tools: "rooms,posts" });
    const { items } = told(await client.callTool({ name: "list_rooms", arguments: {} })) as {
      items: readonly { id: string }[];
    };
    const room = items[0]!.id;
    const heard = heardBy(client);
    const subscription = await client.listen({ resourceSubscriptions: [`dure://rooms/${room}`] });
    await until(
      async () => heard.length > 0 || undefined,
      () => "it was not told at the beginning",
    );
    heard.length = 0;

    await client.callTool({ name: "post_message", arguments: { room, text: "새 소식이에요" } });
    await until(
      async () => heard.length > 0 || undefined,
      () => "the change was not told",
    );
    await subscription.close();

    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [`dure://rooms/${room}`] });
    expect(new Set(heard)).toEqual(new Set([`dure://rooms/${room}`]));
  });

  test("a client hears that a job has ended, and reads its answer then", async () => {
    const client = await connect();
    const uri = await jobOf(client);
    const heard = heardBy(client);
    await client.listen({ resourceSubscriptions: [uri] });

    const status = await until(
      async () => {
        if (heard.length === 0) return undefined;
        heard.length = 0;
        const { contents } = await client.readResource({ uri }, { cacheMode: "bypass" });
        const { status: now } = JSON.parse((contents[0] as { text: string }).text) as {
          status: string;
        };
        return now === "PENDING" || now === "RUNNING" ? undefined : now;
      },
      () => "the end of the job was not told",
    );

    expect(status).toBe("COMPLETED");
  });

  test("what a token may not read, and what is not there, is not listened to", async () => {
    const ours = await connect({ token: await tokenFor("acme", "jobs") });
    const theirs = await connect({ token: await tokenFor("beta", "jobs") });
    const uri = await jobOf(ours);
    const asked = [uri, "dure://jobs/none", "dure://rooms/office", "https://example.org/"];

    const { honoredFilter, closed } = await theirs.listen({ resourceSubscriptions: asked });

    expect(honoredFilter.resourceSubscriptions ?? []).toEqual([]);
    expect(await closed).toBe("graceful");
    expect((await ours.listen({ resourceSubscriptions: asked })).honoredFilter).toEqual({
      resourceSubscriptions: [uri],
    });
  });

  test("twenty things are listened to at once, and the client is told which", async () => {
    const client = await connect({ token: await tokenFor("many", "jobs") });
    const uris: string[] = [];
    for (let count = 0; count < 21; count++) uris.push(await jobOf(client));

    const { honoredFilter } = await client.listen({ resourceSubscriptions: uris });

    expect(honoredFilter.resourceSubscriptions).toEqual(uris.slice(0, 20));
  });
});

describe("tokens at /mcp", FULL, () => {
  test("another tenant's job is one that does not exist", async () => {
    const asked = { agent: "ruda", target: "eden", message: "Look.", wait_sec: 0 };
    const ours = await connect({ token: await tokenFor("acme", "jobs") });
    const theirs = await connect({ token: await tokenFor("beta", "jobs") });
    const { job_id: job } = told(await ours.callTool({ name: "delegate", arguments: asked }));

    const foreign = await theirs.callTool({ name: "get_job", arguments: { job } });

    expect(foreign.isError).toBe(true);
    expect(JSON.stringify(foreign.content)).toContain("JOB_UNKNOWN");
    expect(told(await ours.callTool({ name: "get_job", arguments: { job } }))).toMatchObject({
      job_id: job,
    });
  });

  const OF_ROOMS = ["list_agents", "ask_agent", "list_rooms", "read_room", "post_message"];
  const OF_JOBS = ["delegate", "list_jobs", "get_job", "cancel_job"];
  const OF_PLANS = ["list_plans", "start_run", "list_runs", "get_run", "cancel_run"];
  const OF_CHAT = ["list_services", "chat", "list_sessions", "read_session"];
  const DECIDING = ["list_decisions", "decide"];

  test.each<[Scope, readonly string[]]>([
    ["chat", OF_CHAT],
    ["rooms", OF_ROOMS],
    ["jobs", OF_JOBS],
    ["plans:read", OF_PLANS],
    ["plans:run", OF_PLANS],
    ["admin", [...OF_ROOMS, ...OF_JOBS, ...OF_PLANS, ...OF_CHAT, ...DECIDING]],
  ])("the scope %s has these tools, and reaches no other by its name", async (scope, names) => {
    const tools = "agents,rooms,posts,jobs,plans,services,decisions";
    const every = await (await connect({ tools })).listTools();
    const client = await connect({ token: await tokenFor("", scope), tools });

    const offered = (await client.listTools()).tools.map(({ name }) => name);

    expect(offered).toEqual(names);
    for (const { name } of every.tools.filter((tool) => !offered.includes(tool.name))) {
      await expect(client.callTool({ name, arguments: {} }), name).rejects.toThrow();
    }
  });

  test("a tool whose scope is missing changes nothing, also when it is called by name", async () => {
    const reader = await connect({ token: await tokenFor("", "plans:read"), tools: "plans,jobs" });
    const asked = { agent: "ruda", target: "eden", message: "Look." };

    const begun = await reader.callTool({ name: "start_run", arguments: { plan: "greet" } });
    const unknown = reader.callTool({ name: "delegate", arguments: asked });

    expect(JSON.stringify(begun.content)).toContain("SCOPE_MISSING");
    await expect(unknown).rejects.toThrow();
    expect(await get("/v1/runs")).toMatchObject({ items: [] });
  });

  test("what is done over it stands in the audit log under the token", async () => {
    const token = await tokenFor("acme", "jobs");
    const client = await connect({ token });
    const asked = { agent: "ruda", target: "eden", message: "Look.", wait_sec: 0 };
    const { job_id: job } = told(await client.callTool({ name: "delegate", arguments: asked }));

    await client.callTool({ name: "cancel_job", arguments: { job } });

    const { items } = await get<{ items: readonly unknown[] }>("/v1/audit");
    expect(items).toContainEqual(
      expect.objectContaining({ what: "job.cancel", subject: job, person: "of acme" }),
    );
  });
});

test(
  "a dure mcp that is killed in a call leaves one turn, which the key finds again",
  { ...FULL, timeout: 60_000 },
  async () => {
    const asked = { agent: "eden", message: WORDS.hang, session: "killed", key: "k1" };
    const first = await connectStdio();
    const cut = first.client.callTool({ name: "ask_agent", arguments: asked });
    cut.catch(() => undefined);
    const turn = await runningIn("killed");

    process.kill(first.pid, "SIGKILL");
    await expect(cut).rejects.toThrow();
    const second = await connectStdio();
    const again = second.client.callTool({ name: "ask_agent", arguments: asked });
    await stop(turn);

    expect(told(await again)).toMatchObject({ error: { code: "TURN_STOPPED" } });
    expect(await saidIn("killed")).toEqual([WORDS.hang]);
  },
);
