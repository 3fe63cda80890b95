import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { systemClock } from "../../packages/dure/src/kernel/clock.ts";
import { codeOf } from "../../packages/dure/src/kernel/errors.ts";
import { silentLogger } from "../../packages/dure/src/kernel/logger.ts";
import { logIn } from "../../packages/dure/src/mcp/log-in.ts";
import { LoginStore } from "../../packages/dure/src/mcp/login-store.ts";
import type { McpState } from "../../packages/dure/src/mcp/connection.ts";
import { McpServers } from "../../packages/dure/src/mcp/mcp-servers.ts";
import type { PersonLoginSpec, RemoteServer } from "../../packages/dure/src/mcp/server-spec.ts";
import { jsonSchemaOf } from "../../packages/dure/src/models/json-schema.ts";

/*
 * The client of dure as MCP's conformance suite starts it: connects to the address behind its
 * arguments, lists the tools and calls each of them once. It does what a configuration of dure says,
 * and what a person does who reads dure's messages. See ../test-mcp.ts.
 */

/** Many of these run at once, on few processors. */
const PATIENCE_MS = 60_000;
/** Until a server is there after another login. */
const AGAIN_MS = 10_000;
/** What tools of the suite are called with. */
const INPUTS: Readonly<Record<string, () => object>> = {
  suite__add_numbers: () => ({ a: 5, b: 3 }),
  // It wants the schema of another tool, as a model reads it.
  suite__json_schema_echo: () => ({
    schema: jsonSchemaOf(tools["suite__json_schema_2020_12_tool"]!.inputSchema),
  }),
};
/** With these a person is told to log in. */
const WANTS_LOGIN: ReadonlySet<string | undefined> = new Set([
  "MCP_SCOPE_MISSING",
  "MCP_NOT_LOGGED_IN",
]);

const url = process.argv.at(-1)!;
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments?: object }[];
  readonly client_id?: string;
  readonly client_secret?: string;
};
const home = await mkdtemp(path.join(tmpdir(), "dure-mcp-suite-client-"));
const logins = new LoginStore({ home, clock: systemClock });
const login: PersonLoginSpec = {
  clientId: context.client_id,
  clientSecret: context.client_secret,
  /** The address that the suite expects. */
  clientDocument: "https://conformance-test.local/client-metadata.json",
};
const settings = await settingsOf(scenario);
/** Whether a person is logged in. */
let isLoggedIn = settings.login !== undefined && (await logInAs(settings.login));

const servers = new McpServers({
  servers: { suite: { url, effects: { "*": "none" }, questions: "defaults", ...settings } },
  clock: systemClock,
  version: "0.1.0",
  folder: process.cwd(),
  environment: process.env,
  logger: silentLogger,
  logins,
});
servers.start();
const isReady = ({ status }: McpState): boolean => status === "ready";
let state = await seen((now) => isReady(now) || wantsLogin(now), PATIENCE_MS);
if (wantsLogin(state) && (await logInAgain())) state = await seen(isReady, AGAIN_MS);
if (state.status !== "ready") console.error(JSON.stringify(state));
const tools = servers.setOf("suite").tools();
const own = Object.keys(tools).filter((name) => !/__(list|read|get)_/u.test(name));
for (const name of own) await call(name, inputOf(name));
const [resource] = listed(await call("suite__list_resources", {}));
await call("suite__read_resource", { uri: resource?.uri ?? "file:///none" });
const [prompt] = listed(await call("suite__list_prompts", {}));
await call("suite__get_prompt", { name: prompt?.name ?? "none" });
await servers.stop();
await rm(home, { recursive: true, force: true });

/** The server's state when it is so, or after that time. dure tries by itself what it could not. */
async function seen(isSo: (state: McpState) => boolean, withinMs: number): Promise<McpState> {
  const until = systemClock.monotonic() + withinMs;
  for (;;) {
    const { state: now } = servers.shown()[0]!;
    if (isSo(now) || systemClock.monotonic() > until) return now;
    await systemClock.sleep(100);
  }
}

function wantsLogin(now: McpState): boolean {
  return now.status === "unavailable" && WANTS_LOGIN.has(now.code);
}

/** How the server is set up: without a login, with a person's, or with dure's own. */
async function settingsOf(name: string): Promise<Pick<RemoteServer, "login" | "oauth">> {
  if (!name.startsWith("auth/")) return {};
  if (name !== "auth/client-credentials-basic") return { login };
  const { client_id: clientId = "", client_secret: clientSecret = "" } = context;
  return { oauth: { issuer: await issuerOf(url), clientId, clientSecret } };
}

/** As the server's document says it; an operator knows it. */
async function issuerOf(address: string): Promise<string> {
  const { origin, pathname } = new URL(address);
  const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: issuers } = (await answer.json()) as {
    readonly authorization_servers: readonly [string];
  };
  return issuers[0];
}

/** As a person with a browser. What fails is told; the suite judges what it has received. */
async function logInAs(spec: PersonLoginSpec): Promise<boolean> {
  const onAddress = (address: string): void => void fetch(address).catch(() => undefined);
  const { clientSecret } = spec;
  const asked = { name: "suite", url, spec, clientSecret, store: logins, clock: systemClock };
  try {
    await logIn({ ...asked, onAddress, signal: AbortSignal.timeout(PATIENCE_MS) });
    return true;
  } catch (error) {
    console.error("login:", error instanceof Error ? error.message : error);
    return false;
  }
}

/** As a person who reads what is wrong; one whom a login has failed does not come back. */
async function logInAgain(): Promise<boolean> {
  isLoggedIn = isLoggedIn && (await logInAs(login));
  return isLoggedIn;
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
      const isOver = !isFirst || !WANTS_LOGIN.has(codeOf(error));
      if (isOver || !(await logInAgain())) return undefined;
    }
  }
}

/** What a tool is called with: what the suite says, else what its scenarios take. */
function inputOf(name: string): object {
  const { toolCalls = [] } = context;
  const said = toolCalls.find((one) => `suite__${one.name}` === name);
  return said?.arguments ?? INPUTS[name]?.() ?? {};
}
