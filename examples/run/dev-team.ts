/**
 * `npm run example:dev-team`: six ports on a small TypeScript repository that this program makes,
 * built by offline pairs in isolation, with real git and real test runs. First tries fail, feedback
 * mends them, one port asks a person. Checks itself.
 */
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { DureClient } from "dure/client";
import { makeShop } from "../dev-team/repository.ts";

const TEAM = fileURLToPath(new URL("..", import.meta.url));
const DURE = fileURLToPath(new URL("../../packages/dure/src/cli/main.ts", import.meta.url));
const run = promisify(execFile);
/** Source: docs/spec/plans §9. */
const MAX_SECONDS = 60;
/** Not every system says that this program belongs to the user of the server. */
const TOKEN = randomBytes(24).toString("base64url");

const began = performance.now();
const home = await mkdtemp(path.join(tmpdir(), "dure-example-dev-team-"));
const shop = path.join(home, "shop");
let failed = 0;
const server = await startServer();
try {
  await makeShop(shop);
  const head = await git("rev-parse", "HEAD", "main");
  const dure = new DureClient({
    baseUrl: server.url,
    token: TOKEN,
    reconnect: { maxDelayMs: 300 },
  });
  const view = await dure.plans.dryRun({ plan: "dev-team", repository: shop });
  console.log(
    `${view.ports.length} ports in ${view.levels.length} levels, critical path ` +
      `${view.criticalPath.join(" → ")}, ${view.mode.mode}: ${view.mode.because}\n`,
  );
  const started = await dure.plans.start({ plan: "dev-team", repository: shop });

  let [now, most] = [0, 0];
  for await (const news of dure.plans.stream(started.id)) {
    if (news.kind !== "event") continue;
    const { type, data } = news.event;
    if (type === "port.start") most = Math.max(most, ++now);
    if (type === "port.success" || type === "port.failed") now--;
    const line = story(type, data);
    if (line !== undefined) console.log(line);
  }

  const done = await dure.plans.run(started.id);
  const ports = await Promise.all(done.ports.map(({ id }) => dure.plans.port(started.id, id)));
  const tries = Object.fromEntries(
    ports.map(({ id, steps }) => [id, Math.max(...steps.map((step) => step.try))]),
  );
  const manifests = (
    await Promise.all(
      ports.flatMap(({ id, steps }) =>
        steps
          .filter(({ member }) => member !== null)
          .map((step) => dure.plans.manifest(started.id, id, step.id)),
      ),
    )
  ).filter((manifest) => manifest !== null);
  const saved =
    1 -
    total(manifests.map((manifest) => manifest.total)) /
      total(manifests.map((manifest) => manifest.fullContext));
  const { items: asked } = await dure.escalations({ run: started.id, status: "open" });
  console.log("");
  check(
    "five ports are kept, and the discounts are missing with their reason",
    done.status === "partial" &&
      done.report?.kept.length === 5 &&
      done.report.missing[0]?.port === "discount",
  );
  check(
    "first tries failed, and feedback mended them",
    tries["money"] === 2 &&
      tries["cart"] === 2 &&
      tries["receipt"] === 2 &&
      tries["api"] === 2 &&
      tries["stock"] === 1,
  );
  check(
    "the discounts had five tries, and then a person was asked",
    tries["discount"] === 5 &&
      asked.map(({ type, severity, source }) => `${type} ${severity} ${source.port}`).join() ===
        "test_failure high discount",
  );
  check(
    "independent ports worked side by side, never more than three",
    view.mode.mode === "parallel" && most >= 2 && most <= 3,
  );
  check(
    "members of a pair talked to each other directly",
    ports.every(({ messages }) => messages.length > 0),
  );
  check(
    "the whole passes its tests, on the branch that the run made",
    (await testsPassOn(done.report?.branch ?? "")) && done.report?.integration?.passed === true,
  );
  check(
    "the person's branch, index and files are as they were",
    (await git("rev-parse", "HEAD", "main")) === head &&
      (await git("status", "--porcelain")) === "",
  );
  check(
    "the trees of what is kept are gone",
    await leftOnly(path.join(home, "plans", started.id, "ports"), "discount"),
  );
  check("prompts had fewer tokens than what their roles would read", saved > 0);
  const took = (performance.now() - began) / 1_000;
  check(
    `all of that, the server's start included, took less than ${MAX_SECONDS} s`,
    took < MAX_SECONDS,
  );
  console.log(
    `\nresult: ${done.report?.branch}, whose files are ` +
      (await git("rev-parse", `${done.report?.branch}^{tree}`)),
  );
  console.log(
    `${Math.round(saved * 100)} % fewer tokens than what their roles would read, in ${manifests.length} ` +
      `prompts; ${took.toFixed(1)} s in all`,
  );
} finally {
  await server.stop();
  await rm(home, { recursive: true, force: true });
}
console.log(
  failed === 0
    ? "\ndev-team: everything is as it should be"
    : `\ndev-team: ${failed} checks failed`,
);
process.exitCode = failed === 0 ? 0 : 1;

function story(type: string, data: Readonly<Record<string, unknown>>): string | undefined {
  const port = textOf(data["port"]).padEnd(9);
  switch (type) {
    case "port.start":
      return `${port} begins`;
    case "worker.feedback":
      return `${port} try ${textOf(data["try"])}: ${
        data["success"] === true
          ? `${textOf(data["passed"])} tests pass`
          : `${textOf(data["failed"])} of ${textOf(data["total"])} tests fail`
      }`;
    case "port.success":
      return `${port} ✓`;
    case "port.failed":
      return `${port} ✗ ${textOf(data["because"])}`;
    case "merge.done":
      return `merged on ${textOf(data["branch"])}`;
    default:
      return undefined;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** `dure start`, as a person starts it. */
async function startServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const child = spawn(
    process.execPath,
    [...process.execArgv, DURE, "start", "--dir", TEAM, "--json"],
    {
      env: { ...process.env, PORT: "0", DURE_HOME: home, DURE_TOKEN: TOKEN, LOG_LEVEL: "error" },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const lines = createInterface({ input: child.stdout });
  const end = once(child, "exit").then(() =>
    Promise.reject(new Error("The server ended before it was ready; its reason stands above.")),
  );
  const [line] = (await Promise.race([once(lines, "line"), end])) as [string];
  end.catch(() => undefined);
  const exited = once(child, "exit");
  return {
    url: (JSON.parse(line) as { url: string }).url,
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

async function git(...args: string[]): Promise<string> {
  return (await run("git", args, { cwd: shop })).stdout.trim();
}

async function testsPassOn(branch: string): Promise<boolean> {
  const tree = path.join(home, "checked");
  await git("worktree", "add", "--detach", "--quiet", tree, branch);
  return run(process.execPath, ["--test", "test/**/*.test.ts"], { cwd: tree }).then(
    () => true,
    () => false,
  );
}

/** Trees are taken away when the run has ended, not before. */
async function leftOnly(folder: string, name: string): Promise<boolean> {
  for (let looks = 0; looks < 100; looks++) {
    if ((await readdir(folder)).join() === name) return true;
    await sleep(100);
  }
  return false;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function check(what: string, isSo: boolean): void {
  if (!isSo) failed += 1;
  console.log(`  ${isSo ? "✓" : "✗"} ${what}`);
}
