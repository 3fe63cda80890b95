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
  ".gitignore": "node_modules/\n.env\n",
  "src/price/price.mjs": "export const price = (cents) => cents;\n",
  "src/stock/stock.mjs": "// not-for-price\nexport const left = (have, sold) => have - sold;\n",
  "src/contracts/amount.mjs": "export const DIGITS = 2;\n",
  // A plan of fewer than five files is worked on in one context, in which nothing is hidden from a port.
  "src/stock/more/a.mjs": "",
  "src/stock/more/b.mjs": "",
};
const UNCOMMITTED = { ".env": "KEY=not-for-price\n" };

async function open({ homeInside = false }: { homeInside?: boolean } = {}): Promise<{ runs: TestRuns; repository: TestRepository; home: string }> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(await testRepository(FILES));
  const home = await mkdtemp(homeInside ? join(repository.folder, ".dure-") : join(tmpdir(), "dure-home-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  return { runs: stack.use(await startRealRuns({ url, home })), repository, home };
}

const planWith = (command: readonly string[], more = ""): string => `
plan: attack
roles: modules
workers: { default: { kind: command, command: ["true"] }, price: { kind: command, command: ${JSON.stringify(command)} } }
contracts: [{ path: src/contracts/amount.mjs, by: orchestrator }]
${more}
ports:
  - { id: stock, role: stock, goal: Leave the stock as it is., owns: [src/stock/**], acceptance: "true" }
  - { id: price, role: price, goal: Write prices., owns: [src/price/**], acceptance: "node -e \\"import('./src/price/price.mjs').then((m) => process.exit(m.price(1250) === '12.50' ? 0 : 1))\\"" }
`;

async function ended(runs: TestRuns, id: string): Promise<void> {
  await expect.poll(async () => (await runs.plans.get(id)).finishedAt !== null, { timeout: 60_000, interval: 50 }).toBe(true);
}

/** The attack as its worker's command; the store's place is only known when the run is: a worker would find it by looking. */
const attack = (repository: TestRepository, mark: string, ...more: string[]): readonly string[] => ["sh", "-c", `exec node ${ATTACK} ${repository.folder} "$(dirname "$(dirname "$(dirname "$PWD")")")/store.git" ${[mark, ...more].join(" ")}`];

test("every attack succeeds where nothing keeps workers apart, so the next test shows what does", { timeout: 120_000 }, async () => {
  const { runs, repository } = await open();
  await repository.write(UNCOMMITTED);

  const { id } = await runs.plans.run({ plan: realPlan(planWith(attack(repository, "control", "control"), "isolation: audit")), repository: repository.folder, by: "me" });
  await ended(runs, id);
  const port = await runs.plans.port(id, "price");

  const said = port.steps.find(({ kind }) => kind === "implement")!.log;
  // The repository in its tree never held another's file, whatever keeps workers apart.
  expect(said.match(/held:(.*)/)?.[1], said).toMatch(/^ read another port's file from git \([^()]*\)$/);
  expect(said.match(/done:(.*)/)?.[1]?.split(", ").length).toBeGreaterThan(20);
  expect((await runs.plans.get(id)).report?.missing.map(({ port: name }) => name) ?? ["price"]).toContain("price");
});

test("a worker that ignores everything reads and changes nothing but its own files, and what it left behind cannot write any more", { timeout: 120_000 }, async () => {
  const { runs, repository, home } = await open();
  const before = await repository.fingerprint();
  const config = await readFile(join(repository.folder, ".git", "config"), "utf8");
  const mark = `mark-${process.pid}`;
  await repository.write(UNCOMMITTED);

  const { id } = await runs.plans.run({ plan: realPlan(planWith(attack(repository, mark))), repository: repository.folder, by: "me" });
  await ended(runs, id);
  const run = await runs.plans.get(id);
  const port = await runs.plans.port(id, "price");

  const said = port.steps.find(({ kind }) => kind === "implement")!.log;
  expect(said.match(/done:(.*)/)?.[1]?.trim(), `these attacks were not held: ${said}`).toBe("");
  // Links that lead out are no work of its own: they are recorded, and the port asks.
  expect(port.violations.map(({ path, found }) => `${path} ${found}`)).toEqual(expect.arrayContaining(["src/price/passwd commit"]));
  expect(run.report!.missing).toMatchObject([{ port: "price", because: { code: "OWNERSHIP_VIOLATED" } }]);
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
  expect(await readdir(join(home, "plans"))).toEqual([id]);
});

test("a worker works in a tree below the person's own files, which it does not see, with the software that lies there", { timeout: 120_000 }, async () => {
  const { runs, repository } = await open({ homeInside: true });
  await repository.write({ ...UNCOMMITTED, "node_modules/.bin/tool": "#!/bin/sh\necho tool\n" });
  const look = `cat ${repository.folder}/.env ../../../../../../src/stock/stock.mjs; sh ${repository.folder}/node_modules/.bin/tool > src/price/tool.txt; ls ${repository.folder} >> src/price/tool.txt; echo "export const price = (cents) => (cents / 100).toFixed(2);" > src/price/price.mjs`;

  const { id } = await runs.plans.run({ plan: realPlan(planWith(["sh", "-c", look])), repository: repository.folder, by: "me" });
  await ended(runs, id);
  const port = await runs.plans.port(id, "price");

  expect((await runs.plans.get(id)).status, JSON.stringify(port.steps.map(({ log }) => log))).toBe("success");
  expect(port.steps.map(({ log }) => log).join("")).not.toContain("not-for-price");
  expect((await repository.git("show", `refs/dure/${id}/ports/price/result:src/price/tool.txt`)).split("\n").map((name) => name.replace(/^\.dure-.*/, ".dure"))).toEqual(["tool", "node_modules"]);
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
    expect(await repository.git("for-each-ref", `refs/dure/${id}/ports/price`)).toBe("");
  }
});

async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.map((line) => line.replaceAll("\0", " ").trim()).filter((line) => line.includes(text) && line.includes("setTimeout"));
}
