import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NotSentError } from "../engine/agent/tool.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { until } from "../../test/until.ts";
import { clientDocument as documentOf, logIn, type LogInOptions } from "./log-in.ts";
import { LoginStore } from "./login-store.ts";
import { McpServers } from "./mcp-servers.ts";
import type { PersonLoginSpec } from "./server-spec.ts";
import { startLoginServer, type LoginServer } from "./test-login-server.ts";

/** What a person's login allows, and how the client of it is named. */

const clock = systemClock;
let home: string;
let server: LoginServer;
let opened: McpServers | undefined;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), "dure-login-"));
  server = await startLoginServer();
});

afterEach(async () => {
  await opened?.stop();
  opened = undefined;
  await server[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

const storeOf = (): LoginStore => new LoginStore({ home, clock });

/** A browser that follows the address and comes back. */
async function browse(address: string): Promise<void> {
  await fetch(address);
}

function given(spec: PersonLoginSpec = {}): LogInOptions {
  return {
    name: "sums",
    url: server.url,
    spec,
    clientSecret: undefined,
    store: storeOf(),
    clock,
    signal: undefined,
    onAddress: (address) => void browse(address).catch(() => undefined),
  };
}

async function open(login: PersonLoginSpec = {}, prefix = ""): Promise<McpServers> {
  opened = new McpServers({
    servers: { sums: { url: server.url, login } },
    prefix,
    folder: home,
    environment: {},
    clock,
    logger: silentLogger,
    logins: storeOf(),
    version: "0.1.0",
  });
  opened.start();
  await opened.tried({ withinMs: 30_000 });
  return opened;
}

async function add(servers: McpServers): Promise<unknown> {
  const tool = servers.setOf("sums").find("sums__add")!;
  return tool.execute({ a: 40, b: 2 }, {} as never, { signal: new AbortController().signal });
}

const stateOf = (servers: McpServers): object => servers.shown()[0]!.state;

describe("a client that is named by a document", () => {
  const clientDocument = "https://team.example/dure-client.json";

  test("is named so where the server takes documents, and registers itself where not", async () => {
    server.manners.takesDocuments = true;
    await logIn(given({ clientDocument }));
    const byDocument = (await storeOf().read("sums"))!.client;
    server.manners.takesDocuments = false;
    await logIn(given({ clientDocument }));

    expect(byDocument).toEqual({ client_id: clientDocument });
    expect((await storeOf().read("sums"))!.client.client_id).not.toBe(clientDocument);
    expect(await add(await open({ clientDocument }))).toBe("42");
  });

  test("has a document with an address of this machine, and no secret", () => {
    expect(documentOf(clientDocument)).toEqual({
      client_id: clientDocument,
      client_name: "dure",
      application_type: "native",
      redirect_uris: ["http://127.0.0.1/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
    expect(() => documentOf("http://team.example/client.json")).toThrow(/HTTPS/u);
    expect(() => documentOf("https://team.example/")).toThrow(/pathname/u);
  });
});

describe("the first login asks for", () => {
  const FULL_OFFER = ["sums", "deep"];

  test.each<[string, object, PersonLoginSpec, string]>([
    ["all that the server says it wants", { challenges: "sums deep" }, {}, "sums deep"],
    ["that alone, where it offers more", { offers: FULL_OFFER }, {}, "sums"],
    ["what it wants after the greeting", { offers: FULL_OFFER, greets: true }, {}, "sums"],
    [
      "all that it offers, where it says nothing",
      { offers: FULL_OFFER, challenges: null },
      {},
      "sums deep",
    ],
    ["nothing, where it neither says nor offers", { challenges: null }, {}, ""],
    ["what the settings name", { offers: FULL_OFFER }, { scope: "deep" }, "deep"],
    ["tokens that can be renewed", { issues: ["offline_access"] }, {}, "sums offline_access"],
    ["no more than the settings name", { issues: ["offline_access"] }, { scope: "sums" }, "sums"],
  ])("%s", async (_what, manners, spec, scope) => {
    Object.assign(server.manners, manners);
    await logIn(given(spec));

    expect([...server.scopes.values()][0]).toBe(scope);
  });

  test("the rest is asked for when a call wants it, and what was granted is kept", async () => {
    Object.assign(server.manners, { offers: FULL_OFFER, needs: "deep" });
    await logIn(given());
    const servers = await open();
    await expect(add(servers)).rejects.toMatchObject({ code: "MCP_SCOPE_MISSING" });
    await logIn(given());

    expect(await storeOf().read("sums")).toMatchObject({ scope: "sums deep", wants: null });
    expect(await add(servers)).toBe("42");
  });
});

describe("a call that the login does not allow", () => {
  test("has done nothing and says so; the next login asks for what it wants", async () => {
    await logIn(given());
    server.manners.needs = "deep";
    const servers = await open();
    const refused = add(servers);

    await expect(refused).rejects.toBeInstanceOf(NotSentError);
    await expect(refused).rejects.toMatchObject({
      code: "MCP_SCOPE_MISSING",
      message:
        "sums did not do add: the login does not allow it (deep); dure mcp login sums asks for it",
    });
    expect(await storeOf().read("sums")).toMatchObject({ scope: "sums", wants: "deep" });

    await logIn(given());
    expect(await storeOf().read("sums")).toMatchObject({ scope: "sums deep", wants: null });
    expect(await add(servers)).toBe("42");
  });

  test("makes a server unavailable that wants it for all, until the person logs in again", async () => {
    await logIn(given());
    server.manners.needs = "deep";
    server.manners.needsForAll = true;
    const servers = await open();

    expect(stateOf(servers)).toEqual({
      status: "unavailable",
      code: "MCP_SCOPE_MISSING",
      because: "the login does not allow it (deep); dure mcp login sums asks for it",
    });
    await logIn(given());
    await until(
      () => servers.shown()[0]!.state.status === "ready",
      () => "it did not come back",
    );
    expect(await add(servers)).toBe("42");
  });

  test("names the server as a login of it is asked for, where one service has it", async () => {
    await logIn({ ...given(), name: "desk/sums" });
    server.manners.needs = "deep";

    await expect(add(await open({}, "desk/"))).rejects.toThrow(
      "the login does not allow it (deep); dure mcp login desk/sums asks for it",
    );
  });

  test("is not asked for where the settings name the scopes", async () => {
    const spec = { scope: "sums" };
    await logIn(given(spec));
    server.manners.needs = "deep";
    await expect(add(await open(spec))).rejects.toMatchObject({ code: "MCP_SCOPE_MISSING" });
    await logIn(given(spec));

    expect(await storeOf().read("sums")).toMatchObject({ scope: "sums" });
  });

  test("widens no login at another server, or of another address", async () => {
    await logIn(given());
    const login = (await storeOf().read("sums"))!;
    await storeOf().write("sums", { ...login, url: "https://other.example/mcp", wants: "deep" });
    await logIn(given());

    expect(await storeOf().read("sums")).toMatchObject({ scope: "sums", wants: null });
  });

  test("that asks for more than fits is not kept", async () => {
    await logIn(given());
    server.manners.needs = "x".repeat(2_000);
    await expect(add(await open())).rejects.toMatchObject({ code: "MCP_SCOPE_MISSING" });

    expect(await storeOf().read("sums")).toMatchObject({ wants: null });
  });
});
