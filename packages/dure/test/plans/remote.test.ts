import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { makeShop } from "../../../../examples/dev-team/repository.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { parsePlan } from "../../src/plans/plan-file.ts";
import { stepCommits } from "../../src/plans/lead/adopt.ts";
import { LeaderProcess } from "./leader-process.ts";
import { startRealRuns } from "./real-runs.ts";

const PLANS = new URL("../../../../examples/plans/", import.meta.url);
const SCRIPT = fileURLToPath(new URL("dev-team.offline.yaml", PLANS));

test(
  "after the loss of a machine with its disk another one goes on from what was pushed",
  { ...FULL, timeout: 300_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await testDatabase());
    const folder = await mkdtemp(join(tmpdir(), "dure-machines-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const git = (at: string, ...args: string[]): string =>
      execFileSync("git", args, { cwd: join(folder, at), encoding: "utf8" }).trim();
    await makeShop(join(folder, "shop"));
    git(".", "clone", "--quiet", "--bare", "shop", "origin.git");
    for (const machine of ["a", "b"]) git(".", "clone", "--quiet", "origin.git", machine);
    const machine = (name: string) => ({
      url,
      home: join(folder, `${name}-data`),
      host: `machine-${name}`,
      hostGoneMs: 3_000,
      remote: { address: "origin", repository: join(folder, name) },
    });
    const watcher = stack.use(await startRealRuns({ ...machine("a"), script: "ports: {}" }));
    await watcher.runs.stop();
    const plan = parsePlan(
      "dev-team.yaml",
      await readFile(new URL("dev-team.yaml", PLANS), "utf8"),
    );
    const { id } = await watcher.runs.run(
      { plan, repository: join(folder, "a"), by: "test" },
      { signal: new AbortController().signal },
    );
    const first = stack.use(new LeaderProcess({ ...machine("a"), script: SCRIPT }));
    await expect
      .poll(
        async () =>
          (await watcher.runs.get(id)).ports.filter(({ status }) => status === "succeeded").length,
        { timeout: 120_000, interval: 50 },
      )
      .toBeGreaterThanOrEqual(2);

    await first.kill();
    const ended = (await stepCommits(watcher.database, id)).filter(
      ({ status }) => status === "done",
    );
    for (const lost of ["a", "a-data"]) {
      await rm(join(folder, lost), { recursive: true, force: true });
    }
    stack.use(new LeaderProcess({ ...machine("b"), script: SCRIPT }));
    await expect
      .poll(async () => (await watcher.runs.get(id)).finishedAt !== null, {
        timeout: 180_000,
        interval: 100,
        message: "the run did not end on the other machine",
      })
      .toBe(true);

    const run = await watcher.runs.get(id);
    expect(run).toMatchObject({
      status: "partial",
      host: "machine-b",
      repository: join(folder, "b"),
      report: {
        branch: "dure/dev-team",
        missing: [{ port: "discount" }],
        integration: { passed: true },
      },
    });
    const after = new Map((await stepCommits(watcher.database, id)).map((step) => [step.id, step]));
    expect(ended.map((step) => after.get(step.id))).toEqual(ended);
    const starts = await watcher.database.query<{ id: number; starts: number }>(
      { text: "select id, starts from dure.plan_steps where run = $1" },
      [id],
    );
    expect(
      starts
        .filter((step) => ended.some((one) => one.id === step.id))
        .every((step) => step.starts === 1),
    ).toBe(true);
    const { items } = await watcher.inbox.list({ tenant: "", run: id });
    expect(
      items
        .filter(({ type }) => type === "blocked")
        .map(({ status, resolvedBy }) => `${status} by ${resolvedBy}`),
    ).toEqual(["resolved by machine-b"]);
    for (const { resultCommit } of run.ports) {
      if (resultCommit !== null) expect(git("b", "cat-file", "-t", resultCommit)).toBe("commit");
    }
  },
);
