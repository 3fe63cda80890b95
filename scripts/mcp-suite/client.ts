import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { systemClock } from "../../packages/dure/src/kernel/clock.ts";
import { codeOf } from "../../packages/dure/src/kernel/errors.ts";
import { silentLogger } from "../../packages/dure/src/kernel/logger.ts";
import { logIn } from "../../packages/dure/src/mcp/log-in.ts";
import { LoginStore } from "../../packages/dure/src/mcp/login-store.ts";
import { McpServers } from "../../packages/dure/src/mcp/mcp-servers.ts";
import type { PersonLoginSpec } from "../../packages/dure/src/mcp/server-spec.ts";

/*
 * The client of dure as MCP's conformance suite starts it: connects to the address behind its
 * arguments, lists the tools and calls each of them once. See ../test-mcp.ts.
 */

/** What a tool is called with; else what the suite says, or nothing. */
const INPUTS: Readonly<Record<string, object>> = { suite__add_numbers: { a: 5, b: 3 } };

const url = process.argv.at(-1)!;
const home = await mkdtemp(path.join(tmpdir(), "dure-mcp-suite-client-"));
const logins = new LoginStore({ home, clock: systemClock });
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments?: object }[];
  readonly client_id?: string;
  readonly client_secret?: string;
};
const isLogin = process.env["MCP_CONFORMANCE_SCENARIO"]?.startsWith("auth/") === true;
const login = {
  clientId: context.client_id,
  clientSecret: context.client_secret,
  /** The address that the suite expects. */
  clientDocument: "https://conformance-test.local/client-metadata.json",
};
if (isLogin) await logInAs(login);

const servers = new McpServers({
  servers: { suite: { url, effects: { "*": "none" }, login: isLogin ? login : undefined } },
  clock: systemClock,
  version: "0.1.0",
  folder: process.cwd(),
  environment: process.env,
  logger: silentLogger,
  logins,
});
servers.start();
await servers.tried({ withinMs: 20_000 });

let [shown] = servers.shown();
if (shown?.state.status === "unavailable" && shown.state.code === "MCP_SCOPE_MISSING") {
  await logInAs(login); // as a person who reads what is wrong
  for (let look = 0; look < 50 && shown?.state.status !== "ready"; look++) {
    await systemClock.sleep(100);
    [shown] = servers.shown();
  }
}
if (shown?.state.status !== "ready") console.error(JSON.stringify(shown?.state));
const tools = servers.setOf("suite").tools();
const own = Object.keys(tools).filter((name) => !/__(list|read|get)_/u.test(name));
for (const name of own) await call(name, INPUTS[name] ?? inputOfSuite(name));
const [resource] = listed(await call("suite__list_resources", {}));
await call("suite__read_resource", { uri: resource?.uri ?? "file:///none" });
const [prompt] = listed(await call("suite__list_prompts", {}));
await call("suite__get_prompt", { name: prompt?.name ?? "none" });
await servers.stop();
await rm(home, { recursive: true, force: true });

/** As a person with a browser. What fails is told; the suite judges what it has received. */
async function logInAs(spec: PersonLoginSpec): Promise<void> {
  const onAddress = (address: string): void => void fetch(address).catch(() => undefined);
  const { clientSecret } = spec;
  const asked = { name: "suite", url, spec, clientSecret, store: logins, clock: systemClock };
  try {
    await logIn({ ...asked, onAddress, signal: AbortSignal.timeout(20_000) });
  } catch (error) {
    console.error("login:", error instanceof Error ? error.message : error);
  }
}

/** Entries of a list; none where the server has no such list. */
function listed(told: unknown): readonly { readonly uri?: string; readonly name?: string }[] {
  const { items } = (told ?? {}) as { items?: readonly { uri?: string; name?: string }[] };
  return items ?? [];
}

/** What fails is told; the suite judges what it has received. */
async function call(name: string, input: object): Promise<unknown> {
  const execute = tools[name]?.execute;
  if (!execute) return undefined;
  const signal = new AbortController().signal;
  const how = { signal, key: name } as unknown as Parameters<typeof execute>[2];
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await execute(input, {} as Parameters<typeof execute>[1], how);
    } catch (error) {
      console.error(name, error instanceof Error ? error.message : error);
      if (!isFirst || codeOf(error) !== "MCP_SCOPE_MISSING") return undefined;
      await logInAs(login); // as a person who reads what is wrong
    }
  }
}

/** Some scenarios say what their tools are called with. */
function inputOfSuite(name: string): object {
  const { toolCalls = [] } = context;
  return toolCalls.find((one) => `suite__${one.name}` === name)?.arguments ?? {};
}
