import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { notKorean } from "../../test/languages/mixed-lines.ts";
import { FULL } from "../kernel/test-tiers.ts";
import { testDatabaseUrl } from "../durable/test-database.ts";
import { main } from "./program.ts";

/** Tokens with roles, and a team whose tool asks for one: the real command line on a real database. */

const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

const TEAM = `
import { chatAgent, defineService, flow, tool } from "dure";
import { defineTeam } from "dure/team";
import { z } from "zod";

const pay = tool({
  description: "Pays.",
  inputSchema: z.object({ to: z.string() }),
  effect: "once",
  approval: { by: { role: "treasury" } },
  execute: ({ to }) => to,
});
const clerk = chatAgent({ name: "clerk", prompt: "Help.", tools: { pay } });
const desk = defineService({
  name: "desk",
  agents: { clerk },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
  },
});

export default defineTeam({
  name: "till",
  locale: "en",
  model: "offline:own",
  offlineModels: [{ name: "own", respond: () => ({ text: "ok" }) }],
  services: { desk },
});
`;

let database: { url: string } & AsyncDisposable;
let folder: string;

beforeEach(async () => {
  database = await testDatabaseUrl();
  folder = await mkdtemp(path.join(tmpdir(), "dure-roles-"));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  await writeFile(path.join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(path.join(folder, "dure.config.ts"), TEAM);
  vi.stubEnv("DATABASE_URL", database.url);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
  await database[Symbol.asyncDispose]();
});

async function dure(language: string, ...args: readonly string[]): Promise<string> {
  vi.stubEnv("LANG", language);
  let text = "";
  const into = (): NodeJS.WriteStream =>
    new Writable({
      write: (part: Buffer, _, done) => ((text += part.toString()), done()),
    }) as unknown as NodeJS.WriteStream;
  await main([...args, "--dir", folder], {
    stdin: process.stdin,
    stdout: into(),
    stderr: into(),
  });
  return text;
}

const ENGLISH = "en_US.UTF-8";
const KOREAN = "ko_KR.UTF-8";

test("doctor warns of a role that no token has, until one is made with it", FULL, async () => {
  const before = await dure(ENGLISH, "doctor");
  const korean = await dure(KOREAN, "doctor");
  const made = await dure(ENGLISH, "token", "create", "mina", "--roles", "treasury,audit");
  const after = await dure(ENGLISH, "doctor");

  expect(before).toMatch(/warn role treasury: no token has the role treasury, which approves pay/u);
  expect(before).toContain("dure token create <name> --roles treasury");
  const lines = korean.split("\n").filter((line) => line.includes("treasury"));
  expect(lines.length).toBeGreaterThan(0);
  expect(notKorean(lines.join("\n"), ["role treasury", "treasury", "pay"])).toEqual([]);
  expect(made).toContain("It may approve what asks for: treasury, audit.");
  expect(after).not.toContain("role treasury");
});

test("a list of tokens shows their roles, and says where one has none", async () => {
  await dure(ENGLISH, "token", "create", "mina", "--roles", "treasury,audit");
  await dure(ENGLISH, "token", "create", "theo");

  const list = await dure(ENGLISH, "token", "list");

  expect(list).toMatch(/mina +chat +treasury,audit +–/u);
  expect(list).toMatch(/theo +chat +– +–/u);
});

test("a role that is no name of one makes no token, and each language says so alone", async () => {
  const args = ["token", "create", "mina", "--roles", "Big Role"];

  const english = await dure(ENGLISH, ...args);
  const korean = await dure(KOREAN, ...args);
  const list = await dure(ENGLISH, "token", "list");

  expect(english).toMatch(/ROLE_INVALID "Big Role" is no name of a role/u);
  expect(korean).toContain("ROLE_INVALID");
  expect(notKorean(korean, ["Big Role", "ROLE_INVALID"])).toEqual([]);
  expect(list).not.toContain("mina");
});
