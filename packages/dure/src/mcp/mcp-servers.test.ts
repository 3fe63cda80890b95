// @module-tag slow
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AnyTool } from "../engine/agent/tool.ts";
import { systemClock } from "../kernel/clock.ts";
import { FULL } from "../kernel/test-tiers.ts";
import { silentLogger } from "../kernel/logger.ts";
import { until } from "../../test/until.ts";
import { LoginStore } from "./login-store.ts";
import { McpServers, type ShownServer } from "./mcp-servers.ts";
import type { McpServerSpec } from "./server-spec.ts";

const HOSTILE = fileURLToPath(new URL("test-hostile-server.ts", import.meta.url));
const require = createRequire(import.meta.url);
const never = new AbortController().signal;

const SLOW = { ...FULL, timeout: 60_000 };
const NOT_AGAIN = (): string => "the server was not started again";
const NOT_READY = (): string => "the server is not ready";

let folder: string;
let opened: McpServers | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "dure-mcp-"));
});
afterEach(async () => {
  await opened?.stop();
  opened = undefined;
  await rm(folder, { recursive: true });
});

/** Servers of others, from the registry. */
const EVERYTHING = require.resolve("@modelcontextprotocol/server-everything/dist/index.js");
const FILESYSTEM = require.resolve("@modelcontextprotocol/server-filesystem/dist/index.js");
const MEMORY = require.resolve("@modelcontextprotocol/server-memory/dist/index.js");

const hostile = (manner: string, rest: object = {}): McpServerSpec => ({
  command: process.execPath,
  args: [HOSTILE, manner, join(folder, "notes")],
  ...rest,
});

async function open(
  servers: Record<string, McpServerSpec>,
  onWarning: (line: string) => void = () => {},
): Promise<McpServers> {
  opened = new McpServers({
    servers,
    folder,
    environment: { ...process.env, MCP_SECRET: "secret", OTHER: "hidden" },
    clock: systemClock,
    logger: { ...silentLogger, warn: (_about: object, line: string) => onWarning(line) },
    logins: new LoginStore({ home: folder, clock: systemClock }),
    version: "0.1.0",
  });
  opened.start();
  await opened.tried({ withinMs: 30_000 });
  return opened;
}

const notes = async (): Promise<readonly string[]> =>
  (await readFile(join(folder, "notes"), "utf8").catch(() => "")).split("\n").filter(Boolean);

function shown(servers: McpServers, name = "odd"): ShownServer {
  return servers.shown().find((one) => one.name === name)!;
}

function toolsOf(servers: McpServers, reference = "odd"): Readonly<Record<string, AnyTool>> {
  return servers.setOf(reference).tools();
}

const call = async (
  servers: McpServers,
  name: string,
  input: object = {},
  signal: AbortSignal = never,
): Promise<unknown> =>
  servers
    .setOf(name.split("__")[0]!)
    .find(name)!
    .execute(input, {} as never, { signal });

test("three servers of the registry are started, listed and called", FULL, async () => {
  await writeFile(join(folder, "a.txt"), "forty-two");
  const servers = await open({
    every: {
      command: process.execPath,
      args: [EVERYTHING, "stdio"],
    },
    files: {
      command: process.execPath,
      args: [FILESYSTEM, "."],
      tools: ["read_*", "write_file"],
    },
    graph: {
      command: process.execPath,
      args: [MEMORY],
      env: { MEMORY_FILE_PATH: join(folder, "graph.jsonl") },
    },
  });

  expect(shown(servers, "every").state).toMatchObject({ status: "ready", protocol: "2025-11-25" });
  expect(Object.keys(toolsOf(servers, "files/*_text_*"))).toEqual(["files__read_text_file"]);
  expect(shown(servers, "files").tools).toContainEqual({ name: "write_file", effect: "once" });
  expect(await call(servers, "files__read_text_file", { path: join(folder, "a.txt") })).toEqual({
    content: "forty-two",
  });
  expect(await call(servers, "every__echo", { message: "안녕" })).toBe("Echo: 안녕");
  const entities = [{ name: "두레", entityType: "team", observations: ["works"] }];
  await call(servers, "graph__create_entities", { entities });
  expect(await call(servers, "graph__read_graph")).toMatchObject({ entities });
});

test("resources and prompts of a server are listed, read and filled in", FULL, async () => {
  const servers = await open({
    every: { command: process.execPath, args: [EVERYTHING, "stdio"] },
  });

  const resources = (await call(servers, "every__list_resources")) as { items: { uri: string }[] };
  const uri = resources.items.map((one) => one.uri).find((one) => !one.includes("{"))!;
  expect(await call(servers, "every__read_resource", { uri })).toContain(`[${uri}]`);
  const prompts = (await call(servers, "every__list_prompts")) as { items: { name: string }[] };
  expect(prompts.items.map(({ name }) => name)).toContain("args-prompt");
  expect(
    await call(servers, "every__get_prompt", {
      name: "args-prompt",
      arguments: { city: "Seoul" },
    }),
  ).toBe("user: What's weather in Seoul?");

  expect(shown(servers, "every").tools).toContainEqual({ name: "read_resource", effect: "none" });
  await expect(
    call(servers, "every__read_resource", { uri: "nothing://at-all" }),
  ).rejects.toMatchObject({ code: "MCP_REFUSED", sent: false });
});

test(
  "a server without resources has no such tools, nor one whose settings leave them out",
  FULL,
  async () => {
    const servers = await open({
      odd: hostile("polite"),
      every: { command: process.execPath, args: [EVERYTHING, "stdio"], tools: ["echo"] },
    });

    expect(Object.keys(toolsOf(servers))).toEqual(["odd__echo", "odd__write"]);
    expect(Object.keys(toolsOf(servers, "every"))).toEqual(["every__echo"]);
  },
);

test("a server gets PATH and what its settings name of the environment, and nothing else", async () => {
  const servers = await open({
    every: {
      command: process.execPath,
      args: [EVERYTHING, "stdio"],
      env: { GIVEN: "is ${MCP_SECRET}" },
    },
  });
  const environment = JSON.parse((await call(servers, "every__get-env")) as string) as object;

  expect(environment).toMatchObject({ GIVEN: "is secret", PATH: process.env["PATH"] });
  expect(environment).not.toHaveProperty("OTHER");
  expect(environment).not.toHaveProperty("MCP_SECRET");
});

test("a setting that names an absent variable makes the server unavailable, with the name", async () => {
  const servers = await open({ odd: hostile("polite", { env: { A: "${NOT_SET_AT_ALL}" } }) });

  expect(shown(servers).state).toEqual({
    status: "unavailable",
    code: "MCP_ENVIRONMENT_MISSING",
    because: "The environment lacks NOT_SET_AT_ALL.",
  });
  await expect(call(servers, "odd__echo")).rejects.toMatchObject({ sent: false });
});

test("a program that is not there makes the server unavailable and the team lives", async () => {
  const servers = await open({ odd: { command: join(folder, "no-such-program") } });

  expect(shown(servers).state).toMatchObject({ status: "unavailable", code: "ENOENT" });
});

test(
  "a server that ends in a call: the outcome is not known, and it is started again",
  FULL,
  async () => {
    const servers = await open({ odd: hostile("exit") });

    await expect(call(servers, "odd__write")).rejects.toMatchObject({ code: "MCP_CALL_LOST" });
    await until(
      async () => (await notes()).filter((line) => line.startsWith("start")).length > 1,
      NOT_AGAIN,
    );
    await until(() => shown(servers).state.status === "ready", NOT_READY);
  },
);

test(
  "a server that hangs in a call is ended after the call was given up, and started again",
  SLOW,
  async () => {
    const servers = await open({ odd: hostile("hang") });
    const before = (await notes()).filter((line) => line.startsWith("start")).length;

    const late = AbortSignal.timeout(300);
    await expect(call(servers, "odd__write", {}, late)).rejects.toMatchObject({
      code: "MCP_CALL_LOST",
    });
    await until(
      async () => (await notes()).filter((line) => line.startsWith("start")).length > before,
      NOT_AGAIN,
    );
  },
);

test.each([
  ["sends 20,000 messages first", "flood", "echo was done"],
  ["sends lines that are no messages first", "garbage", "echo was done"],
])("a server that %s is heard all the same", FULL, async (_what, manner, answer) => {
  const servers = await open({ odd: hostile(manner) });

  expect(await call(servers, "odd__echo")).toBe(answer);
});

test.each([
  ["sends a line without an end", "endless-line"],
  ["answers with another shape than a result's", "wrong-result"],
])("a server that %s costs the call, not the process", FULL, async (_what, manner) => {
  const servers = await open({ odd: hostile(manner) });

  await expect(call(servers, "odd__echo")).rejects.toMatchObject({ code: "MCP_CALL_LOST" });
  await until(() => shown(servers).state.status === "ready", NOT_READY);
});

test("a call that the server refuses has not happened", async () => {
  const servers = await open({ odd: hostile("refuse") });

  await expect(call(servers, "odd__write")).rejects.toMatchObject({
    code: "MCP_REFUSED",
    sent: false,
  });
});

test("tools with a huge schema are left out, and odd names are made to fit providers", async () => {
  const servers = await open({ odd: hostile("odd-tools") });

  expect(Object.keys(toolsOf(servers))).toEqual(["odd__echo", "odd_____with_spaces_"]);
});

test("of 1,200 tools the first 1,000 are offered, and those that settings name come before", async () => {
  const servers = await open({
    odd: hostile("too-many"),
    some: hostile("too-many", { tools: ["tool_49*"] }),
  });

  expect(shown(servers).tools).toHaveLength(1_000);
  expect(shown(servers).leftOut).toEqual([
    { name: "200 tools", because: "of 1200 tools the first 1000 are offered", count: 200 },
  ]);
  expect(servers.setOf("odd/tool_1").leftOut()).toMatchObject([
    { next: "Name the tools that agents need in `tools` of mcp.odd." },
  ]);
  expect(shown(servers, "some").tools).toHaveLength(11);
  expect(shown(servers, "some").leftOut).toEqual([]);
});

test("883 tools in pages of ten are all read, and a faulty one of them costs itself alone", async () => {
  const servers = await open({ odd: hostile("many-pages") });

  expect(shown(servers).state.status).toBe("ready");
  expect(shown(servers).tools).toHaveLength(882);
  expect(shown(servers).leftOut.map(({ name, because }) => `${name}: ${because}`)).toEqual([
    "tool_7: it has no inputSchema",
  ]);
});

test("a faulty tool is left out with its reason, and the good ones of its server work", async () => {
  const servers = await open({ odd: hostile("faulty-tools") });

  const offered = shown(servers).tools.map(({ name }) => name);
  expect(offered).toEqual([
    ...["good", "twice", "pay_it", "empty", "no_type", "either", "recursive"],
    ...["odd_rest", "long"],
  ]);
  expect(Object.fromEntries(shown(servers).leftOut.map((one) => [one.name, one.because]))).toEqual({
    "(nameless)": "it has no name",
    no_schema: "it has no inputSchema",
    null_schema: "it has no inputSchema",
    text_schema: "its inputSchema is no object",
    list_schema: "its inputSchema is no object",
    null_type: "its inputSchema takes no object",
    takes_text: "its inputSchema takes no object",
    takes_lists: "its inputSchema takes no object",
    unknown_type: expect.stringContaining("is no JSON Schema: /properties/a/type") as string,
    required_yes: expect.stringContaining("is no JSON Schema: /required") as string,
    deep: "its inputSchema has more than 64 levels",
    huge: "its inputSchema has more than 32768 bytes",
    circle: "its inputSchema has a reference that leads to itself",
    elsewhere: "its inputSchema has a reference to nothing in it: https://a.example/b",
    twice: "the list has a tool of this name before it",
    "pay it": "models would call it as they call pay_it",
  });
  expect(shown(servers).leftOut).toHaveLength(16);
  for (const name of offered) {
    const input = name === "either" ? { b: "x" } : {};
    const { inputSchema } = toolsOf(servers)[`odd__${name}`]!;
    expect(await call(servers, `odd__${name}`, inputSchema.parse(input) as object)).toBe(
      `${name} was done`,
    );
  }
  expect(toolsOf(servers)["odd__either"]!.inputSchema.safeParse({}).success).toBe(false);
  expect(toolsOf(servers)["odd__long"]!.description).toHaveLength(2_002);
});

test("a tool that turns bad is left out with one warning, and comes back when it is good", async () => {
  const lines: string[] = [];
  const servers = await open({ odd: hostile("turns-bad") }, (line) => lines.push(line));
  const names = (): string => Object.keys(toolsOf(servers)).join();
  const become = async (wanted: string): Promise<void> => {
    await call(servers, "odd__echo");
    await until(
      () => names() === wanted,
      () => `it has ${names()}`,
    );
  };

  expect(names()).toBe("odd__echo,odd__pay");
  await become("odd__echo");
  expect(shown(servers).leftOut).toEqual([{ name: "pay", because: "it has no inputSchema" }]);
  await expect(call(servers, "odd__pay")).rejects.toMatchObject({ code: "MCP_TOOL_UNKNOWN" });
  await become("odd__echo,odd__pay");
  expect(await call(servers, "odd__pay")).toBe("pay was done");
  expect(shown(servers).leftOut).toEqual([]);
  expect(lines).toEqual([
    "odd: pay is not offered: it has no inputSchema. Tell the author of the server, or take it " +
      "out by `tools` of mcp.odd.",
  ]);
});

test("a result that does not fit the tool's outputSchema is the result of a call that was made", async () => {
  const servers = await open({ odd: hostile("other-output") });

  expect(await call(servers, "odd__pay")).toEqual({ paid: "yes" });
  expect(await notes()).toContain("call pay");
});

test("a list of tools that cannot be read makes the server unavailable", async () => {
  const servers = await open({ odd: hostile("no-list") });

  expect(shown(servers).state.status).toBe("unavailable");
  expect(toolsOf(servers)).toEqual({});
});

test("tools that change are others for the next turn; one that went is refused as not sent", async () => {
  const servers = await open({ odd: hostile("changes") });
  const set = servers.setOf("odd");
  expect(Object.keys(set.tools())).toEqual(["odd__echo", "odd__write"]);

  await call(servers, "odd__echo");
  await until(
    () => Object.keys(set.tools()).join() === "odd__other",
    () => "the tools are the same",
  );

  expect(set.find("odd__echo")).toMatchObject({ effect: "once" });
  await expect(call(servers, "odd__echo")).rejects.toMatchObject({
    code: "MCP_TOOL_UNKNOWN",
    sent: false,
  });
  expect(set.find("other__echo")).toBeUndefined();
});

test(
  "a server that never answers is spoken to as an old one, and its end takes no minute",
  { ...FULL, timeout: 30_000 },
  async () => {
    opened = new McpServers({
      servers: { odd: hostile("mute") },
      folder,
      environment: {},
      clock: systemClock,
      logger: silentLogger,
      logins: new LoginStore({ home: folder, clock: systemClock }),
      version: "0.1.0",
    });
    opened.start();
    await until(
      async () => (await notes()).includes("initialize"),
      () => "it was not spoken to",
    );

    await opened.stop();

    expect(shown(opened).state).toEqual({ status: "stopped" });
  },
);

test(
  "the end of a server ends all that it has started, also what left its group",
  FULL,
  async () => {
    const servers = await open({ odd: hostile("family") });
    const pids = (await notes()).map((line) => Number(line.split(" ")[1]));
    expect(pids.length).toBeGreaterThanOrEqual(2);

    await servers.stop();

    await until(
      () => pids.every((pid) => !lives(pid)),
      () => "a process lives",
    );
  },
);

test("an unknown server is named with those that there are", async () => {
  const servers = await open({ odd: hostile("polite") });

  expect(() => servers.setOf("docs/search")).toThrow(
    expect.objectContaining({
      code: "MCP_SERVER_UNKNOWN",
      hint: expect.stringContaining("odd") as string,
    }),
  );
});

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
