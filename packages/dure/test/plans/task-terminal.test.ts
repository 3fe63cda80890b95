// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { atTerminal } from "../../src/cli/test-terminal.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { startPlanServer, type PlanServer } from "./plan-server.ts";

/** `dure task` before a person. */

const PROGRAM = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const before = process.cwd();
const ACCEPT = ["--accept", "node --test test/stock/*.test.mjs"];
/** An agent that subtracts, and says so. */
const MEND = "sed -i s/+/-/ src/stock/stock.mjs; echo 'Subtracted what was sold.'";
const WORKER = ["--worker", `cat > /dev/null; ${MEND}`];
const TASK = ["task", "The stock grows when something is sold.", ...ACCEPT, ...WORKER];

let at: PlanServer;

beforeAll(async () => {
  at = await startPlanServer();
  process.chdir(at.repository.folder);
}, 60_000);
afterEach(() => vi.unstubAllEnvs());
afterAll(async () => {
  process.chdir(before);
  await at?.[Symbol.asyncDispose]();
}, 60_000);

const runs = async () => (await at.runs.runs.list()).items;

test("a person accepts what may be changed by one key, looks on, and merges by one key", async () => {
  const main = await at.repository.git("rev-parse", "main");

  const { exitCode, shown } = await atTerminal(
    [...TASK, "--url", at.server.url],
    [
      ["May change src/stock/** (by your words: stock). Enter: yes", "\r"],
      ["Merge it now?", "\r"],
    ],
  );

  expect(exitCode, shown).toBe(0);
  expect(shown).toContain("Subtracted what was sold.");
  expect(shown).toContain("modified  src/stock/stock.mjs");
  expect(shown).toMatch(/is merged.* in main/);
  // Nothing is drawn twice.
  expect(shown).not.toMatch(/\u001b\[\d*[AFJK]/);
  expect(await at.repository.git("show", "main:src/stock/stock.mjs")).toContain("have - sold");
  await at.repository.git("reset", "--quiet", "--hard", main);
}, 60_000);

test("a guess is edited in Korean, and the result stays on its branch by the key for no", async () => {
  vi.stubEnv("LC_ALL", "ko_KR.UTF-8");
  const main = await at.repository.git("rev-parse", "main");

  const { exitCode, shown } = await atTerminal(
    [...TASK, "--url", at.server.url],
    [
      ["바꿔도 되는 곳: src/stock/**", "ㄷ"],
      ["어떤 경로인가요?", "src/stock/stock.mjs\r"],
      ["지금 합칠까요?", "ㅜ"],
    ],
  );

  expect(exitCode, shown).toBe(0);
  expect(shown).toContain("나중에 합치려면: dure plan merge run_");
  const { plan } = await at.runs.runs.get(/run_\w+/.exec(shown)![0]);
  expect(plan.ports[0]!.owns).toEqual(["src/stock/stock.mjs"]);
  expect(await at.repository.git("rev-parse", "main")).toBe(main);
}, 60_000);

test("a guess that a person refuses begins nothing, and without a person it is a hint", async () => {
  const known = (await runs()).length;

  const refused = await atTerminal([...TASK, "--url", at.server.url], [["Enter: yes", "n"]]);
  const piped = await inPipe([...TASK, "--url", at.server.url], {});

  expect(refused).toMatchObject({
    exitCode: 1,
    shown: expect.stringContaining("Nothing was begun.") as string,
  });
  expect(piped.code).toBe(2);
  expect(piped.said).toContain("By its words it would be --own 'src/stock/**'.");
  expect(await runs()).toHaveLength(known);
}, 60_000);

const start = (args: readonly string[], env: Readonly<Record<string, string>>) => {
  const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;

  return spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
    cwd: at.repository.folder,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
};

/** The command in a process of its own, without a terminal. */
async function inPipe(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; said: string }> {
  const child = start(args, env);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  }
  const [code] = (await once(child, "close")) as [number | null];

  return { code, said };
}

test(
  "without a team a task has a server of its own, which has ended when the task has",
  { ...FULL, timeout: 180_000 },
  async () => {
    const home = await mkdtemp(path.join(await realpath(tmpdir()), "dure-local-"));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const local = path.join(home, ".local", "share", "dure", "local");

    const own = ["--own", "src/stock/**", "--local"];
    const first = await inPipe([...TASK, ...own], { HOME: home });

    expect(first.code, first.said).toBe(0);
    expect(first.said).toContain("Starts a server for this task alone.");
    expect(first.said).toContain("Subtracted what was sold.");
    expect(first.said).toMatch(/Later: git merge dure\/task-the-stock/);
    await expect(access(path.join(local, ".dure", "server.json"))).rejects.toThrow("ENOENT");
    expect(await readFile(path.join(local, "dure.yaml"), "utf8")).toBe("name: local\n");
  },
);

test(
  "a task whose command is killed goes on in the server of the next one, and no server stays",
  { ...FULL, timeout: 180_000 },
  async () => {
    const home = await mkdtemp(path.join(await realpath(tmpdir()), "dure-local-"));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const slow = ["--worker", `cat > /dev/null; sleep 5; ${MEND}`, ...ACCEPT, "--key", "once"];
    const args = ["task", "The stock grows.", ...slow, "--own", "src/stock/**", "--local"];

    const child = start(args, { HOME: home });
    const begun = Promise.withResolvers<string>();
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      const id = /run_\w+/.exec(text)?.[0];
      if (id !== undefined) begun.resolve(id);
    });
    const id = await begun.promise;
    const file = path.join(home, ".local", "share", "dure", "local", ".dure", "server.json");
    const { url } = JSON.parse(await readFile(file, "utf8")) as { url: string };
    child.kill("SIGKILL");
    const answers = (): Promise<boolean> =>
      fetch(`${url}/healthz`).then(
        () => true,
        () => false,
      );
    await expect.poll(answers, { timeout: 30_000, interval: 250 }).toBe(false);

    const next = await inPipe(args, { HOME: home });

    expect(next.code, next.said).toBe(0);
    expect(next.said).toContain(id);
    expect(next.said).toContain("Subtracted what was sold.");
  },
);
