import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stopTestServer, testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { OUTSIDE, workshopIn, type Asked, type Workshop } from "./outside/repositories.ts";
import { StartedTeam } from "./started-team.ts";

/**
 * `dure task` in repositories of others, each made from nothing: the first run is green, and its
 * change is in the branch. What they took is printed.
 */

const PROGRAM = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

const stack = new AsyncDisposableStack();
const took: string[] = [];
let team: string;
let at: Workshop;

beforeAll(async () => {
  stack.defer(() => stopTestServer());
  const database = stack.use(await testDatabaseUrl());
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-outside-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  await dure(["init", "demo", "--yes"], folder);
  team = path.join(folder, "demo");
  at = workshopIn(await mkdtemp(path.join(folder, "repositories-")));
  const server = stack.use(new StartedTeam(team, database.url, { LC_ALL: "C" }));
  await server.url;
}, 120_000);
afterAll(async () => {
  console.info(took.join("\n"));
  await stack.disposeAsync();
}, 60_000);

/** A command as a person types it, with all that it said. */
async function dure(args: readonly string[], cwd: string): Promise<{ code: number; said: string }> {
  const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE, LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  }
  const [code] = (await once(child, "close")) as [number];

  return { code, said };
}

/** `dure task` to its end, then its merge. */
async function taskAndMerge({ cwd, args, worker, into }: Asked): Promise<number> {
  const commands = ["--worker", `cat > /dev/null\n${worker}`, "--follow", "--dir", team];
  const done = await dure(["task", ...args, ...commands], cwd);
  expect(done.code, done.said).toBe(0);
  const id = /run_\w+/.exec(done.said)![0];
  const target = into === undefined ? [] : ["--into", into];
  const merged = await dure(["plan", "merge", id, ...target, "--dir", team], cwd);
  expect(merged.code, merged.said).toBe(0);

  return 2;
}

test.for(OUTSIDE)(
  "dure task is green and merged at once in a repository of another person: $name",
  { ...FULL, timeout: 300_000 },
  async ({ name, build }) => {
    const asked = await build(at);
    const { cwd, into = "main", changed, checkout = cwd } = asked;
    const root = await at.git(checkout, "rev-parse", "--show-toplevel");
    const status = (): Promise<string> => at.git(root, "status", "--porcelain");
    const statusBefore = await status();
    const before = await at.git(cwd, "rev-parse", into);
    const began = performance.now();

    const commands = await taskAndMerge(asked);

    const minutes = ((performance.now() - began) / 60_000).toFixed(1);
    took.push(`${name}: ${minutes} min, ${commands} commands`);
    const [file, text] = changed;
    expect(await at.git(cwd, "show", `${into}:${file}`)).toBe(text);
    expect(await at.git(cwd, "diff", "--name-only", before, into)).toBe(file);
    const written = await readFile(path.join(root, file), "utf8");
    expect(written.replaceAll("\r\n", "\n")).toBe(`${text}\n`); // `core.autocrlf` of one of them
    expect(await status()).toBe(statusBefore);
  },
);

test("dure task in a repository without a commit says what comes first", FULL, async () => {
  const cwd = await mkdtemp(path.join(at.folder, "empty-"));
  await at.git(cwd, "init", "--quiet");

  const asked = ["--own", "src/**", "--accept", "true", "--worker", "true", "--dir", team];
  const { code, said } = await dure(["task", "Begin.", ...asked], cwd);

  expect(code).not.toBe(0);
  expect(said).toContain("REPOSITORY_EMPTY");
  expect(said).toContain("Commit something");
});
