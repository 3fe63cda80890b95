import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NotSentError } from "../engine/agent/tool.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { logIn, type LogInOptions } from "./log-in.ts";
import { LoginStore } from "./login-store.ts";
import { McpServers } from "./mcp-servers.ts";
import { PersonLogin } from "./person-login.ts";
import type { PersonLoginSpec } from "./server-spec.ts";
import { startLoginServer, type LoginServer } from "./test-login-server.ts";

/** A person's login at a remote MCP server, with servers that are rude. */

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

async function open(login: PersonLoginSpec = {}): Promise<McpServers> {
  opened = new McpServers({
    servers: { sums: { url: server.url, login } },
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

test("who has logged in once has the tools, and the file is the owner's alone", async () => {
  const issuer = await logIn(given());
  const servers = await open();

  expect(issuer).toBe(server.issuer);
  expect(await add(servers)).toBe("42");
  const files = await readdir(path.join(home, "mcp-logins"));
  expect(files.toSorted()).toEqual(["sums.json", "sums.json.lock.1"]);
  const { mode } = await stat(path.join(home, "mcp-logins", "sums.json"));
  expect(mode & 0o777).toBe(0o600);
  expect(server.asked[0]!.get("resource")).toBe(server.url);
});

test("without a login the server is unavailable, and says what to do", async () => {
  const servers = await open();

  expect(stateOf(servers)).toEqual({
    status: "unavailable",
    code: "MCP_NOT_LOGGED_IN",
    because: "not logged in: run dure mcp login sums",
  });
});

test("a token that is over is renewed before the call", async () => {
  server.lifetime = 1;
  await logIn(given());
  server.lifetime = 3_600;
  const servers = await open();

  expect(await add(servers)).toBe("42");
  expect(server.asked.map((body) => body.get("grant_type"))).toEqual([
    "authorization_code",
    "refresh_token",
  ]);
});

describe("a server that takes no token any more, also none that was renewed", () => {
  const because = "the login is not taken any more: run dure mcp login sums";

  test("is unavailable, and says what to do; the login is kept", async () => {
    await logIn(given());
    server.manners.takesNone = true;
    const servers = await open();

    expect(stateOf(servers)).toEqual({ status: "unavailable", code: "MCP_NOT_LOGGED_IN", because });
    expect(await storeOf().read("sums")).toMatchObject({ issuer: server.issuer });
  });

  test("has done nothing in a call", async () => {
    await logIn(given());
    const servers = await open();
    server.manners.takesNone = true;
    const refused = add(servers);

    await expect(refused).rejects.toBeInstanceOf(NotSentError);
    await expect(refused).rejects.toMatchObject({
      code: "MCP_NOT_LOGGED_IN",
      message: `sums did not do add: ${because}`,
    });
  });
});

test("a token that the server does not take any more is renewed, and the call is made", async () => {
  await logIn(given());
  const servers = await open();
  server.living.clear();

  expect(await add(servers)).toBe("42");
});

test("of many that renew at once one does, and none loses the login", async () => {
  server.lifetime = 1;
  await logIn(given());
  server.lifetime = 3_600;
  const logins = Array.from({ length: 8 }, () => new PersonLogin({ ...given() }));

  const tokens = await Promise.all(logins.map((login) => login.token()));

  expect(new Set(tokens).size).toBe(1);
  expect(server.asked.filter((body) => body.get("grant_type") === "refresh_token")).toHaveLength(1);
});

test("a refused refresh is an honest error of a call, in which nothing has happened", async () => {
  await logIn(given());
  const servers = await open();
  server.manners.refuses = true;
  server.living.clear();

  const refused = await add(servers).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(NotSentError);
  expect(refused).toMatchObject({
    code: "MCP_NOT_LOGGED_IN",
    message: "sums: not logged in: run dure mcp login sums",
  });
  expect(await storeOf().read("sums")).toBeUndefined();

  server.manners.refuses = false;
  await logIn(given());
  expect(await add(servers)).toBe("42");
});

test("an authorization server that is down costs the call, and not the login", async () => {
  await logIn(given());
  const login = new PersonLogin({ ...given() });
  await login.token();
  server.manners.isDown = true;

  await expect(login.onUnauthorized()).rejects.toMatchObject({ code: "MCP_LOGIN_UNAVAILABLE" });

  server.manners.isDown = false;
  await login.onUnauthorized();
  expect(server.living).toContain(await login.token());
});

test.each([
  ["another address", { url: "https://evil.example/mcp" }],
  ["another authorization server", { spec: { issuer: "https://login.example" } }],
  ["another client", { spec: { clientId: "other" } }],
])("a login does not count for %s, and no token is sent there", async (_what, change) => {
  await logIn(given());
  const login = new PersonLogin({ ...given(), ...change });

  await expect(login.token()).rejects.toMatchObject({ code: "MCP_NOT_LOGGED_IN" });
  expect(server.asked).toHaveLength(1);
});

test("only the authorization server of the settings is taken, before anything is sent to it", async () => {
  const onAddress = (): void => expect.unreachable();
  const asked = { ...given({ issuer: "https://login.example" }), onAddress };

  await expect(logIn(asked)).rejects.toMatchObject({ code: "MCP_LOGIN_OTHER_ISSUER" });
  expect(server.asked).toEqual([]);
});

test.each<[string, (server: LoginServer) => object]>([
  ["has another issuer in its document", () => ({ lies: "https://evil.example" })],
  ["is over with its code", () => ({ codeIsOver: true })],
  ["says beside the code that it is another one", () => ({ iss: "https://evil.example" })],
])("an authorization server that %s logs no one in", async (_what, manners) => {
  Object.assign(server.manners, manners(server));

  await expect(logIn(given())).rejects.toMatchObject({ code: "MCP_LOGIN_FAILED" });
  expect(await storeOf().read("sums")).toBeUndefined();
});

test("one that registers no clients needs the client of the settings", async () => {
  server.manners.registersNone = true;

  await expect(logIn(given())).rejects.toMatchObject({ code: "MCP_LOGIN_NO_CLIENT" });
  expect(await logIn(given({ clientId: "known" }))).toBe(server.issuer);
});

test("a call with another state is refused, and the login goes on", async () => {
  const statuses: number[] = [];
  const onAddress = (address: string): void => {
    const back = new URL(new URL(address).searchParams.get("redirect_uri")!);
    void (async () => {
      for (const query of ["?code=stolen&state=guessed", "?code=stolen", ""]) {
        statuses.push((await fetch(back.href + query)).status);
      }
      statuses.push((await fetch(new URL("/other", back))).status);
      await browse(address);
    })();
  };

  expect(await logIn({ ...given(), onAddress })).toBe(server.issuer);
  expect(statuses).toEqual([400, 400, 400, 404]);
  expect(server.asked.map((body) => body.get("code"))).not.toContain("stolen");
});

test("a person who says no, or leaves, is not logged in", async () => {
  const refusing = (address: string): void => {
    const { searchParams } = new URL(address);
    const back = new URL(searchParams.get("redirect_uri")!);
    back.searchParams.set("state", searchParams.get("state")!);
    back.searchParams.set("error", "access_denied");
    void fetch(back);
  };
  const gone = new AbortController();
  const leaving = { onAddress: () => gone.abort(), signal: gone.signal };

  await expect(logIn({ ...given(), onAddress: refusing })).rejects.toMatchObject({
    code: "MCP_LOGIN_REFUSED",
    message: "The authorization server says: access_denied",
  });
  await expect(logIn({ ...given(), ...leaving })).rejects.toThrow();
});

test("a call of the login's address that is none ends nothing", async () => {
  const strange: string[] = [];
  const asking = async (address: string): Promise<void> => {
    const { searchParams } = new URL(address);
    const { port } = new URL(searchParams.get("redirect_uri")!);
    const socket = connect(Number(port), "127.0.0.1");
    socket.end("GET // HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    for await (const chunk of socket) strange.push(String(chunk));
    await fetch(address);
  };

  await logIn({ ...given(), onAddress: (address) => void asking(address) });
  expect(strange.join("")).toMatch(/^HTTP\/1.1 404/);
});

test("a file that others may read, or that is no login, is none", async () => {
  await mkdir(path.join(home, "mcp-logins"));
  const file = path.join(home, "mcp-logins", "sums.json");
  await writeFile(file, "{}", { mode: 0o600 });
  expect(await storeOf().read("sums")).toBeUndefined();

  await rm(file);
  await logIn(given());
  const text = await readFile(file, "utf8");
  await rm(file);
  await writeFile(file, text, { mode: 0o644 });
  expect(await storeOf().read("sums")).toBeUndefined();
});
