import { spawn } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { startLoginServer, type LoginServer } from "../mcp/test-login-server.ts";

/** `dure mcp login` as a person runs it, with a server that wants a login. */

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));
const SLOW = { ...FULL, timeout: 60_000 };

let team: string;
let server: LoginServer;

beforeEach(async () => {
  server = await startLoginServer();
  team = await mkdtemp(path.join(tmpdir(), "dure-mcp-login-"));
  await symlink(PACKAGES, path.join(team, "node_modules"));
  const mcp = {
    sums: { url: server.url, login: { issuer: server.issuer } },
    open: { url: server.url },
  };
  await writeFile(
    path.join(team, "dure.config.ts"),
    `import { defineTeam } from "dure/team";
export default defineTeam({
  model: "offline:echo",
  agents: { mina: { displayName: "Mina", card: { mcp: ["sums"] } } },
  mcp: ${JSON.stringify(mcp)},
});`,
  );
});

afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await rm(team, { recursive: true, force: true });
});

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** Runs the command line; an address that it prints is opened, as by a browser. */
async function dure(...words: readonly string[]): Promise<Ran> {
  const child = spawn(process.execPath, ["--conditions=dure-source", MAIN, ...words], {
    cwd: team,
    env: { ...process.env, DURE_HOME: path.join(team, "home") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let isOpened = false;
  const hear = (chunk: Buffer): void => {
    output += chunk.toString();
    const address = /^http\S+\/authorize\S+$/mu.exec(output)?.[0];
    if (address === undefined || isOpened) return;
    isOpened = true;
    void fetch(address).catch(() => undefined);
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));

  return { code, output };
}

test("a person logs in and out, and doctor says which it is", SLOW, async () => {
  const before = await dure("doctor");
  const login = await dure("mcp", "login", "sums");
  const during = await dure("doctor");
  const logout = await dure("mcp", "logout", "sums");
  const again = await dure("mcp", "logout", "sums");

  expect(before.output).toContain("not logged in: run dure mcp login sums");
  expect([login.code, login.output]).toEqual([
    0,
    expect.stringContaining(`Logged in at ${server.issuer}`) as string,
  ]);
  expect(during.output).toContain("add (none)");
  const ended = `Its tokens are ended at ${server.issuer}.`;
  expect(logout).toEqual({ code: 0, output: `Logged out of sums.\n${ended}\n` });
  expect(server.living.size).toBe(0);
  expect(again).toEqual({ code: 0, output: "There was no login at sums.\n" });
});

test("logging out where tokens cannot be ended says so, and removes them here", SLOW, async () => {
  await dure("mcp", "login", "sums");
  server.manners.revokes = "fails";
  const failed = await dure("mcp", "logout", "sums");
  const doctor = await dure("doctor");
  server.manners.revokes = "not";
  await dure("mcp", "login", "sums");
  const without = await dure("mcp", "logout", "sums", "--json");

  expect(failed.code).toBe(0);
  expect(failed.output).toContain(`${server.issuer} has not ended the tokens: it answered 503.`);
  expect(doctor.output).toContain("not logged in: run dure mcp login sums");
  expect(JSON.parse(without.output)).toEqual({
    server: "sums",
    removed: true,
    revocation: { is: "not-offered" },
  });
});

test("a server that is unknown, or takes no login, is refused by its name", SLOW, async () => {
  const unknown = await dure("mcp", "login", "none");
  const without = await dure("mcp", "login", "open");

  expect([unknown.code, unknown.output]).toEqual([
    2,
    expect.stringContaining("Servers of this team are: sums, open.") as string,
  ]);
  expect([without.code, without.output]).toEqual([
    2,
    expect.stringContaining("open: { url: …, login: {} }") as string,
  ]);
});
