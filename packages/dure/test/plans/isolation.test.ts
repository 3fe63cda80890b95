import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { TestRuns } from "../../src/plans/run/test-runs.ts";
import { realPlan, startRealRuns, testRepository, type TestRepository } from "./real-runs.ts";

const ATTACK = fileURLToPath(new URL("attack.mjs", import.meta.url));
/** More than a port may change at once. 10,000 in the long run; one more than the bound does for the ordinary one. */
const MANY = process.env["DURE_TEST_LONG"] === "1" ? 10_000 : 5_001;
const FILES = {
  ".gitignore": "node_modules/\n",
  "src/price/price.mjs": "export const price = (cents) => cents;\n",
  "src/stock/stock.mjs": "export const left = (have, sold) => have - sold;\n",
  "src/contracts/amount.mjs": "export const DIGITS = 2;\n",
};

async function open(): Promise<{ runs: TestRuns; repository: TestRepository; home: string }> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(await testRepository(FILES));
  const home = await mkdtemp(join(tmpdir(), "dure-home-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  return { runs: stack.use(await startRealRuns({ url, home })), repository, home };
}

const planWith = (command: readonly string[], more = ""): string => `
plan: attack
roles: modules
workers: { default: { kind: command, command: ${JSON.stringify(command)} } }
contracts: [{ path: src/contracts/amount.mjs, by: orchestrator }]
${more}
ports:
  - { id: price, role: price, goal: Write prices., owns: [src/price/**], acceptance: "node -e \\"import('./src/price/price.mjs').then((m) => process.exit(m.price(1250) === '12.50' ? 0 : 1))\\"" }
`;

async function ended(runs: TestRuns, id: string): Promise<void> {
  await expect.poll(async () => (await runs.plans.get(id)).finishedAt !== null, { timeout: 60_000, interval: 50 }).toBe(true);
}

test("a worker that ignores everything changes nothing but its own files, and what it left behind cannot write any more", { timeout: 120_000 }, async () => {
  const { runs, repository, home } = await open();
  const before = await repository.fingerprint();
  const config = await readFile(join(repository.folder, ".git", "config"), "utf8");
  const mark = `mark-${process.pid}`;

  // The store's place is only known when the run is; a worker would find it by looking.
  const { id } = await runs.plans.run({ plan: realPlan(planWith(["sh", "-c", `exec node ${ATTACK} ${repository.folder} "$(dirname "$(dirname "$(dirname "$PWD")")")/store.git" ${mark}`])), repository: repository.folder, by: "me" });
  await ended(runs, id);
  const run = await runs.plans.get(id);
  const port = await runs.plans.port(id, "price");

  const said = port.steps.find(({ kind }) => kind === "implement")!.log;
  expect(said.match(/done:(.*)/)?.[1]?.trim(), `these attacks were not held: ${said}`).toBe("");
  // Links that lead out are no work of its own: they are recorded, and the port asks.
  expect(port.violations.map(({ path, found }) => `${path} ${found}`)).toEqual(expect.arrayContaining(["src/price/passwd commit"]));
  expect(run.report!.missing[0]!.because.code).toBe("OWNERSHIP_VIOLATED");
  const { items } = await runs.inbox.list({ tenant: "", run: id, status: "open", type: "ownership" });
  expect(items).toMatchObject([{ severity: "high" }]);

  expect(await repository.fingerprint()).toBe(before);
  expect(await readFile(join(repository.folder, ".git", "config"), "utf8")).toBe(config);
  const kept = (await repository.git("for-each-ref", "--format=%(refname:lstrip=3)", `refs/dure/${id}/ports`)).split("\n").filter(Boolean);
  for (const name of kept) {
    const files = (await repository.git("diff", "--name-only", `refs/dure/${id}/base`, `refs/dure/${id}/${name}`)).split("\n").filter(Boolean);
    expect(files.filter((file) => !file.startsWith("src/price/"))).toEqual([]);
    expect(files).not.toContain("src/price/passwd");
  }
  expect(await processesWith(mark)).toEqual([]);
  expect((await readdir(home)).includes("escaped.txt")).toBe(false);
});

test("a worker that makes one file more than a port may have, or one huge one, is refused and nothing of it lands", { timeout: 120_000 }, async () => {
  const { runs, repository } = await open();
  const many = realPlan(planWith(["sh", "-c", `mkdir -p src/price/many && cd src/price/many && seq ${MANY} | xargs touch`]));
  const huge = realPlan(planWith(["sh", "-c", "head -c 50000000 /dev/zero > src/price/huge.bin"]));

  const runIds = [];
  for (const plan of [many, huge]) {
    const { id } = await runs.plans.run({ plan, repository: repository.folder, by: "me" });
    await ended(runs, id);
    runIds.push(id);
  }

  for (const id of runIds) {
    expect((await runs.plans.get(id)).report!.missing[0]!.because.code).toBe("OWNERSHIP_VIOLATED");
    expect((await runs.plans.port(id, "price")).violations.length).toBeGreaterThan(0);
    expect(await repository.git("for-each-ref", `refs/dure/${id}/ports`)).toBe("");
  }
});

async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.map((line) => line.replaceAll("\0", " ").trim()).filter((line) => line.includes(text) && line.includes("setTimeout"));
}
