import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { ServerProcess } from "../packages/dure/test/crash/server-process.ts";

/*
 * Drives a team through CopilotKit, its runtime and the core of its pages, over AG-UI:
 *
 *     npm run test:copilotkit
 *
 * The packages (340 MB) come from the registry into a temporary folder. It is no part of `npm test`.
 */

const VERSION = "1.75.0";
const PACKAGES = [`@copilotkit/runtime@${VERSION}`, `@copilotkit/core@${VERSION}`];
const TEAM = fileURLToPath(new URL("../packages/dure/test/acp/desk-team", import.meta.url));
const CLIENT = fileURLToPath(new URL("copilotkit-client.mjs", import.meta.url));
const SECONDS = 60;
/** Nothing is told to its makers. */
const SILENT = { COPILOTKIT_TELEMETRY_DISABLED: "true", DO_NOT_TRACK: "1" };
const run = promisify(execFile);

const folder = await mkdtemp(path.join(tmpdir(), "dure-copilotkit-"));
const environment = { DURE_HOME: path.join(folder, "home"), DATABASE_URL: "" };
const server = ServerProcess.spawn(environment, TEAM);
try {
  await writeFile(path.join(folder, "package.json"), '{"private":true,"type":"module"}\n');
  const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...PACKAGES];
  await run("npm", install, { cwd: folder });
  const from = pathToFileURL(path.join(folder, "package.json")).href;
  const args = ["--experimental-import-meta-resolve", CLIENT, await server.url, from];
  const env = { ...process.env, ...SILENT };
  const { stdout } = await run(process.execPath, args, { env, timeout: SECONDS * 1_000 });
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
  console.log(`\nCopilotKit ${VERSION}: as expected.`);
} finally {
  await server.kill();
  await rm(folder, { recursive: true, force: true });
}
