import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { chromium, type Page } from "playwright-core";
import { startBank } from "../examples/transfer/bank/bank.ts";
import { ServerProcess } from "../packages/dure/test/crash/server-process.ts";
import { ensureChromium } from "./chromium.ts";

/*
 * Drives a team through CopilotKit over AG-UI: its runtime with the core of its pages, then a page of
 * its React components in a browser.
 *
 *     npm run test:copilotkit
 *
 * The packages (750 MB) come from the registry into a temporary folder. It is no part of `npm test`.
 */

const VERSION = "1.74.0";
const PACKAGES = [
  `@copilotkit/runtime@${VERSION}`,
  `@copilotkit/core@${VERSION}`,
  `@copilotkit/react-core@${VERSION}`,
  "react@19.3.1",
  "react-dom@19.3.1",
  "esbuild@0.28.2",
];
const TEAM = fileURLToPath(new URL("../packages/dure/test/acp/desk-team", import.meta.url));
const CLIENT = fileURLToPath(new URL("copilotkit-client.mjs", import.meta.url));
const PAGE_SERVER = fileURLToPath(new URL("copilotkit-page-server.mjs", import.meta.url));
const SECONDS = 60;
/** Nothing is told to its makers. */
const SILENT = { COPILOTKIT_TELEMETRY_DISABLED: "true", DO_NOT_TRACK: "1" };
const env = { ...process.env, ...SILENT };
const run = promisify(execFile);

await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(path.join(tmpdir(), "dure-copilotkit-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const bank = await startBank();
stack.defer(() => bank.stop());
const environment = {
  DURE_HOME: path.join(folder, "home"),
  DATABASE_URL: "",
  ACP_BANK_URL: bank.url,
};
const server = ServerProcess.spawn(environment, TEAM);
stack.defer(() => server.kill());
const from = await installed();
await coreAlone(await server.url);
await pageInBrowser(await server.url);
console.log(`\nCopilotKit ${VERSION}: as expected.`);

/** Where the packages are found from. */
async function installed(): Promise<string> {
  await writeFile(path.join(folder, "package.json"), '{"private":true,"type":"module"}\n');
  const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...PACKAGES];
  await run("npm", install, { cwd: folder });
  return pathToFileURL(path.join(folder, "package.json")).href;
}

function words(script: string, url: string): string[] {
  return ["--experimental-import-meta-resolve", script, url, from];
}

async function coreAlone(url: string): Promise<void> {
  const limits = { env, timeout: SECONDS * 1_000 };
  const { stdout } = await run(process.execPath, words(CLIENT, url), limits);
  const told = JSON.parse(stdout.trim().split("\n").at(-1)!) as Record<string, unknown>;
  console.log(told);
  assert.deepEqual(told, {
    answer: "You said: hello",
    reason: "approval",
    tools: ["order", "order"],
    results: ['{"ordered":"chair"}'],
    last: "You said: ",
    errors: [],
  });
}

/** A person says something, and presses the buttons of what is asked. */
async function pageInBrowser(url: string): Promise<void> {
  const found = await ensureChromium();
  assert(found.ok, "there is no browser; CHROMIUM_PATH names one");
  await using opened = new AsyncDisposableStack();
  const child = spawn(process.execPath, words(PAGE_SERVER, url), {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  opened.defer(() => void child.kill());
  const lines = createInterface({ input: child.stdout });
  const signal = AbortSignal.timeout(SECONDS * 1_000);
  const [address] = (await once(lines, "line", { signal })) as [string];
  const browser = await chromium.launch({ executablePath: found.path, args: ["--no-sandbox"] });
  opened.defer(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(SECONDS * 1_000);
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));

  await page.goto(`${address}/?agent=transfer`);
  await say(page, "홍길동에게 10000원 보내줘");
  await press(page, "확인");
  await page.getByText("홍길동님에게 10,000원을 보냈어요").waitFor();
  assert.deepEqual(
    bank.bookings().map(({ to, amount }) => ({ to, amount })),
    [{ to: "홍길동", amount: 10_000 }],
  );

  await page.goto(`${address}/?agent=desk`);
  await say(page, "order it");
  await press(page, "승인");
  await page.getByText("You said:").waitFor();
  assert.deepEqual(errors, []);
  console.log({ page: ["confirmation", "approval"], errors });
}

async function say(page: Page, text: string): Promise<void> {
  const box = page.getByRole("textbox").first();
  await box.fill(text);
  await box.press("Enter");
}

async function press(page: Page, name: string): Promise<void> {
  const question = page.getByRole("group", { name: "question" });
  await question.getByRole("button", { name }).click();
}
