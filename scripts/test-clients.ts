import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { ServerProcess } from "../packages/dure/test/crash/server-process.ts";

/*
 * Lets client families of OpenAI's API repeat requests that fail, with the retries that they have by
 * themselves, and counts payments.
 *
 *     npm run test:clients
 *
 * The packages (250 MB) come from the registry into a temporary folder. It is no part of `npm test`.
 */

const PACKAGES = [
  ...["openai4@npm:openai@4.104.0", "openai5@npm:openai@5.23.2", "openai@7.57.0"],
  ...["ai@7.0.173", "@ai-sdk/openai@4.0.118", "zod@4.6.7"],
  ...["@langchain/openai@1.5.8", "@langchain/core@1.4.0", "@openai/agents@0.20.0"],
];
/** Where each turn fails, and how often it pays. */
const FAILURES = {
  "before:401": 0,
  "before:503:1": 1,
  "in:500": 1,
  "after:401": 1,
  "after:402": 1,
  "after:503": 1,
} as const;
/** The same where the one who talks is asked for a yes first, and says this. */
const ANSWERED = [
  { fails: "none:0", answer: "yes", times: 1 },
  { fails: "none:0", answer: "no, forget it", times: 0 },
  { fails: "before:503:1", answer: "yes", times: 1 },
  { fails: "in:500", answer: "yes", times: 1 },
  { fails: "after:401", answer: "yes", times: 1 },
  { fails: "after:503", answer: "yes", times: 1 },
] as const;
const TEAM = fileURLToPath(new URL("../packages/dure/test/repeats/killed-team", import.meta.url));
const CLIENTS = fileURLToPath(new URL("retrying-clients.mjs", import.meta.url));
const TOKEN = "paying-admin-token-0123456789";
const SECONDS = 240;
const run = promisify(execFile);

await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(path.join(tmpdir(), "dure-clients-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const book = path.join(folder, "book");
const from = await installed();
for (const [fails, times] of Object.entries(FAILURES)) await countPayments({ fails, times });
for (const answered of ANSWERED) await countPayments(answered);
console.log("\nEach client family: as expected.");

/** Where the packages are found from. */
async function installed(): Promise<string> {
  await writeFile(path.join(folder, "package.json"), '{"private":true,"type":"module"}\n');
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"];
  await run("npm", ["install", ...quiet, ...PACKAGES], { cwd: folder });
  return pathToFileURL(path.join(folder, "package.json")).href;
}

async function countPayments(way: {
  readonly fails: string;
  readonly times: number;
  readonly answer?: string;
}): Promise<void> {
  const { fails, times, answer } = way;
  const environment = {
    DURE_HOME: path.join(folder, "home"),
    DATABASE_URL: "",
    DURE_TOKEN: TOKEN,
    PAYING_BOOK: book,
    PAYING_FAILS: fails,
    // A model that never comes back costs each of seven families the patience of a conversation.
    PAYING_PATIENCE: fails.endsWith(":503") ? "2s" : "1m",
    PAYING_ASKS: answer === undefined ? "" : "yes",
  };
  await writeFile(book, "");
  await using server = ServerProcess.spawn(environment, TEAM);
  // The same words again within ten minutes would be the same turn.
  const word = answer === undefined ? fails : `${fails} ${answer}`;
  const words = ["--experimental-import-meta-resolve", CLIENTS, await server.url, from, word];
  if (answer !== undefined) words.push(answer);
  const limits = { env: { ...process.env, DURE_TOKEN: TOKEN }, timeout: SECONDS * 1_000 };
  const { stdout } = await run(process.execPath, words, limits);
  const booked = (await readFile(book, "utf8")).split("\n");

  for (const line of stdout.trim().split("\n")) {
    const { name, content, asked, told } = JSON.parse(line) as Record<string, string>;
    const paid = booked.filter((payee) => payee === content).length;
    console.log(
      `${fails.padEnd(13)} ${(answer ?? "").padEnd(13)} ${name!.padEnd(26)} paid ${paid}  ${told}`,
    );
    if (answer !== undefined) assert.ok(asked?.includes(`Shall I ${content}?`), `${name} is asked`);
    assert.equal(paid, times, `${name} where the turn fails ${fails}`);
  }
}
