import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore, type NewToken } from "../../src/server/token-store.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { testRepository, type TestRepository } from "../plans/real-runs.ts";
import { Editor } from "./editor.ts";

/** Tasks over `dure acp` with tokens that may less, with the official client of ACP. */

const TEAM = fileURLToPath(new URL("task-team", import.meta.url));
const WORKER = "cat >/dev/null; echo hello > src/hello.txt";
const TASKS = ["--own", "src/**", "--accept", "test -f src/hello.txt", "--worker", WORKER];
const SLOW = { ...FULL, timeout: 120_000 };
const OWNER = "acp-owner-token-0123456789";

const stack = new AsyncDisposableStack();
const editors: Editor[] = [];
let environment: Readonly<Record<string, string>>;
let server: ServerProcess;
let repository: TestRepository;
let tokens: PostgresTokenStore;
/** A session of the owner that has one task. */
let session: string;

beforeAll(async () => {
  const databaseUrl = stack.use(await testDatabaseUrl()).url;
  const home = await mkdtemp(path.join(tmpdir(), "dure-acp-scopes-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  environment = { DATABASE_URL: databaseUrl, DURE_HOME: home };
  repository = stack.use(await testRepository({ "src/old.txt": "old" }));
  server = stack.use(ServerProcess.spawn({ ...environment, DURE_TOKEN: OWNER }, TEAM));
  await server.url;
  const database = await Database.open({
    url: databaseUrl,
    applicationName: "dure:cli-test",
    logger: silentLogger,
  });
  stack.defer(() => database.close());
  tokens = new PostgresTokenStore({ database });

  const owner = await open(OWNER);
  ({ session } = await owner.begin("dure:task", repository.folder));
  await owner.prompt(session, "Write hello.");
}, 120_000);

afterEach(async () => {
  for (const editor of editors.splice(0)) await editor[Symbol.asyncDispose]();
});

afterAll(() => stack.disposeAsync(), 60_000);

async function open(token: string): Promise<Editor> {
  const editor = await Editor.open(TEAM, { ...environment, DURE_TOKEN: token }, TASKS);
  editors.push(editor);
  return editor;
}

async function openWith(wanted: NewToken): Promise<Editor> {
  const { token } = await tokens.create(wanted);
  return open(token);
}

async function runs(): Promise<number> {
  const headers = { authorization: `Bearer ${OWNER}` };
  const answer = await fetch(`${await server.url}/v1/runs?limit=200`, { headers });
  return ((await answer.json()) as { items: readonly object[] }).items.length;
}

test.each([
  ["has no scope of plans", { name: "talker", scopes: ["chat"] }],
  ["is another caller's", { name: "other", scopes: ["chat", "plans:read", "plans"] }],
  [
    "is of another tenant",
    { name: "tenant", scopes: ["chat", "plans:read", "plans"], tenant: "acme" },
  ],
] as const)(
  "a token that %s neither loads, resumes nor lists a session of tasks",
  SLOW,
  async (_, wanted) => {
    const editor = await openWith({ ...wanted, scopes: [...wanted.scopes] });

    await expect(editor.load(session)).rejects.toMatchObject({ code: -32_002 });
    await expect(editor.resume(session)).rejects.toMatchObject({ code: -32_002 });
    expect((await editor.list()).sessions).toEqual([]);
    expect([editor.told, editor.updates, editor.asked]).toEqual([[], [], []]);
  },
);

test("a token without the scope of plans begins no task, and may talk on", SLOW, async () => {
  const before = await runs();
  const editor = await openWith({ name: "beginner", scopes: ["chat"] });
  const { session: own } = await editor.begin("dure:task", repository.folder);

  await expect(editor.prompt(own, "Write hello.")).rejects.toThrow(/scope/u);
  await editor.setMode(own, "desk");

  expect(await editor.prompt(own, "hello")).toEqual({ stopReason: "end_turn" });
  expect(await runs()).toBe(before);
});

test("the token that began it is told the task, and finds it in its list", SLOW, async () => {
  const owner = await open(OWNER);

  await owner.load(session);

  expect(owner.said).toContain("The task is done");
  expect((await owner.list()).sessions.map(({ sessionId }) => sessionId)).toContain(session);
});
