import { readFile } from "node:fs/promises";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeShop } from "../../../../examples/dev-team/repository.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { parsePlan } from "../../src/plans/plan-file.ts";
import type { ContextManifest } from "../../src/plans/context/prompt.ts";
import { startRealRuns } from "./real-runs.ts";

const PLANS = new URL("../../../../examples/plans/", import.meta.url);

test("the team of the example mends what its tests find, asks a person about the discounts, and keeps the rest", { timeout: 180_000 }, async () => {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const home = await mkdtemp(join(tmpdir(), "dure-dev-team-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  await makeShop(join(home, "shop"));
  const runs = stack.use(await startRealRuns({ url, home: join(home, "data"), script: await readFile(new URL("dev-team.offline.yaml", PLANS), "utf8") }));
  const plan = parsePlan("dev-team.yaml", await readFile(new URL("dev-team.yaml", PLANS), "utf8"));

  const { id } = await runs.plans.run({ plan, repository: join(home, "shop"), by: "me" });
  await expect.poll(async () => (await runs.plans.get(id)).finishedAt !== null, { timeout: 150_000, interval: 100 }).toBe(true);
  const run = await runs.plans.get(id);
  const tries = Object.fromEntries(await Promise.all(run.ports.map(async ({ id: port }) => [port, Math.max(...(await runs.plans.port(id, port)).steps.map((step) => step.try))])));

  expect(run.report).toMatchObject({ branch: "dure/dev-team", kept: expect.arrayContaining(["money", "stock", "cart", "receipt", "api"]), missing: [{ port: "discount", because: { code: "TRIES_EXHAUSTED" } }], integration: { passed: true } });
  expect(run.status).toBe("partial");
  expect(run.mode).toMatchObject({ mode: "parallel" });
  expect(tries).toEqual({ money: 2, stock: 1, cart: 2, discount: 5, receipt: 2, api: 2 });
  const { items } = await runs.inbox.list({ tenant: "", run: id, status: "open" });
  expect(items.map(({ type, severity }) => `${type} ${severity}`)).toEqual(["test_failure high"]);
  const manifests = (await Promise.all((await runs.plans.records.steps(id)).filter(({ kind }) => kind === "implement").map((step) => runs.plans.records.manifest(id, step.id)))) as ContextManifest[];
  const saved = 1 - manifests.reduce((sum, { total }) => sum + total, 0) / manifests.reduce((sum, { fullContext }) => sum + fullContext, 0);
  console.log(`tokens of the prompts against full context: ${Math.round(saved * 100)} % fewer`);
  expect(saved).toBeGreaterThan(0.3);
});
