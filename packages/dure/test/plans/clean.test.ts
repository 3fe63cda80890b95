import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import {
  realPlan,
  startRealRuns,
  testRepository,
  type RealRunsOptions,
  type TestRepository,
} from "./real-runs.ts";

const SCRIPT = `ports: { a: { implementer: [{ edits: [{ path: src/a/a.txt, content: "made" }] }, { edits: [{ path: src/a/a.txt, content: "again" }] }] }, hold: { implementer: [{ hang: true }] } }`;
const PLAN = (acceptance: string, id = "a"): string =>
  `plan: one\nroles: modules\nlimits: { tries: 1 }\nworkers: { default: { kind: offline } }\n` +
  `ports:\n  - { id: ${id}, role: ${id}, goal: g, owns: [src/${id}/**], acceptance: ` +
  `${JSON.stringify(acceptance)} }\n`;

async function open(
  more: Pick<RealRunsOptions, "onHourly"> = {},
): Promise<{ runs: TestRuns; repository: TestRepository; home: string }> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(await testRepository({ "README.md": "A shop.\n" }));
  const home = await mkdtemp(join(tmpdir(), "dure-home-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  return {
    runs: stack.use(await startRealRuns({ url, home, script: SCRIPT, ...more })),
    repository,
    home,
  };
}

async function run(
  { runs, repository }: { runs: TestRuns; repository: TestRepository },
  acceptance = "true",
): Promise<PlanRun> {
  const { id } = await runs.runs.run({
    plan: realPlan(PLAN(acceptance)),
    repository: repository.folder,
    by: "me",
  });
  await expect
    .poll(async () => (await runs.runs.get(id)).finishedAt !== null, {
      timeout: 60_000,
      interval: 50,
    })
    .toBe(true);
  await expect.poll(() => runs.runs.leading, { timeout: 30_000 }).toBe(0); // what it tidies is tidied
  return runs.runs.get(id);
}

const refsOf = (repository: TestRepository, id: string): Promise<string> =>
  repository.git("for-each-ref", "--format=%(refname)", `refs/dure/${id}`);
const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

test(
  "an old run is cleaned: its folder and refs are gone, its branch and history stay",
  { ...FULL, timeout: 90_000 },
  async () => {
    const at = await open();
    const { id, folder } = await run(at);
    const before = await at.repository.fingerprint();
    const young = await at.runs.runs.clean({});
    const dry = await at.runs.runs.clean({ olderThanMs: 0, dryRun: true });
    expect(await isThere(folder)).toBe(true);

    const cleaned = await at.runs.runs.clean({ olderThanMs: 0 });

    expect([young.items, dry.items, cleaned.items]).toEqual([
      [],
      [{ run: id, plan: "one", outcome: "cleaned" }],
      [{ run: id, plan: "one", outcome: "cleaned" }],
    ]);
    expect(await readdir(join(at.home, "plans"))).toEqual([]);
    expect(await refsOf(at.repository, id)).toBe("");
    expect(await at.repository.git("show", "dure/one:src/a/a.txt")).toBe("made");
    expect(await at.repository.fingerprint()).toBe(before);
    expect(await at.runs.runs.get(id)).toMatchObject({
      status: "success",
      report: { kept: ["a"] },
      cleanedAt: expect.any(Number) as number,
    });
    await expect(
      at.runs.runs.commands.order(id, { type: "retry", port: "a" }, { by: "me" }),
    ).rejects.toMatchObject({
      code: "RUN_CLEANED",
      hint: expect.stringContaining("dure/one") as string,
    });
    expect((await at.runs.runs.clean({ olderThanMs: 0 })).items).toEqual([]);
  },
);

test(
  "work on no branch, in no commit or still going on is kept; force takes only the first two",
  { ...FULL, timeout: 300_000 },
  async () => {
    const at = await open();
    const unmerged = await run(at);
    await at.repository.git("branch", "-D", "dure/one");
    const dirty = await run(at, "false");
    await writeFile(join(dirty.folder, "ports", "a", "tree", "src", "a", "notes.txt"), "by hand");
    const { id: going } = await at.runs.runs.run({
      plan: realPlan(PLAN("true", "hold")),
      repository: at.repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await at.runs.runs.get(going)).ports[0]!.status, { timeout: 30_000 })
      .toBe("running");

    const kept = await at.runs.runs.clean({ olderThanMs: 0 });
    const asked = await at.runs.runs.clean({ run: going, force: true });

    expect(kept.items.map(({ run: id, outcome, because }) => [id, outcome, because?.code])).toEqual(
      [
        [unmerged.id, "kept", "RUN_UNMERGED"],
        [dirty.id, "kept", "TREE_NOT_SAFE"],
      ],
    );
    expect(kept.items[1]!.because!.message).toContain("src/a/notes.txt");
    expect(asked.items).toMatchObject([{ outcome: "kept", because: { code: "RUN_GOING" } }]);
    expect(await refsOf(at.repository, unmerged.id)).not.toBe("");
    expect(await isThere(join(dirty.folder, "ports", "a", "tree", "src", "a", "notes.txt"))).toBe(
      true,
    );

    const forced = await at.runs.runs.clean({ olderThanMs: 0, force: true });

    expect(forced.items.map(({ run: id, outcome }) => [id, outcome])).toEqual([
      [unmerged.id, "cleaned"],
      [dirty.id, "cleaned"],
    ]);
    expect(await readdir(join(at.home, "plans"))).toEqual([going]);
    expect(await refsOf(at.repository, dirty.id)).toBe("");
  },
);

test(
  "who leaves while it cleans gets the run under way cleaned to its end, and no other",
  { ...FULL, timeout: 90_000 },
  async () => {
    const at = await open();
    const [first, second] = [await run(at), await run(at)];
    const left = new AbortController();
    const begun: string[] = [];

    const cleaned = await at.runs.runs.clean(
      { olderThanMs: 0 },
      { asked: left.signal, onBegun: (id) => (begun.push(id), left.abort()) },
    );

    expect([begun, cleaned.items.map(({ run: id, outcome }) => [id, outcome])]).toEqual([
      [first.id],
      [[first.id, "cleaned"]],
    ]);
    expect([await isThere(first.folder), await isThere(second.folder)]).toEqual([false, true]);
    expect(
      (await at.runs.runs.clean({ olderThanMs: 0, after: cleaned.next! })).items,
    ).toMatchObject([{ run: second.id, outcome: "cleaned" }]);
  },
);

test(
  "an interrupted cleaning is finished by the next one, and until then the run takes no orders",
  { ...FULL, timeout: 90_000 },
  async () => {
    const at = await open();
    const { id, folder } = await run(at);
    // As a kill leaves it: begun in the database, half of its files gone.
    await at.runs.database.query(
      { text: "update dure.plan_runs set clean_began_at = clock_timestamp() where id = $1" },
      [id],
    );
    await rm(join(folder, "store.git"), { recursive: true, force: true });
    await at.runs.database.query(
      {
        text: "insert into dure.plan_orders (run, wish, by_whom) values ($1, '{\"type\": \"again\"}', 'me')",
      },
      [id],
    );
    await expect
      .poll(async () => (await at.runs.runs.records.orders.open(id)).length, { timeout: 30_000 })
      .toBe(0);
    expect(await isThere(join(folder, "store.git"))).toBe(false);
    await expect.poll(() => at.runs.runs.leading, { timeout: 30_000 }).toBe(0);

    const cleaned = await at.runs.runs.clean({ olderThanMs: 1_000_000_000 });

    expect(cleaned.items).toMatchObject([{ run: id, outcome: "cleaned" }]);
    expect(await isThere(folder)).toBe(false);
    expect(await refsOf(at.repository, id)).toBe("");
  },
);

test(
  "rows of a run stay until it is cleaned; after 90 days its files go without force",
  { ...FULL, timeout: 90_000 },
  async () => {
    let hour = (): void => {};
    const at = await open({ onHourly: (work) => (hour = work) });
    const first = await run(at);
    const second = await run(at);
    await at.runs.runs.clean({ run: second.id });
    const { database, runs: plans } = at.runs;
    await database.query(
      { text: "update dure.plan_runs set finished_at = clock_timestamp() - interval '91 days'" },
      [],
    );

    const gone = await database.transaction((tx) =>
      plans.retentionRule().sweep(tx, { keepMs: 90 * 86_400_000, limit: 10 }),
    );

    expect(gone).toBe(1);
    expect((await plans.list()).items.map(({ id }) => id)).toEqual([first.id]);

    await at.repository.git("branch", "-D", "dure/one-2");
    const unmerged = await run(at);
    await at.repository.git("branch", "-D", unmerged.report!.branch!);
    const young = await run(at);
    await database.query(
      {
        text: `
          update dure.plan_runs
          set finished_at = clock_timestamp() - case when id = $1 then interval '89 days' else interval '91 days' end`,
      },
      [young.id],
    );
    hour();
    await expect.poll(() => isThere(first.folder), { timeout: 20_000 }).toBe(false);
    hour(); // again, so that whatever follows the first one has been looked at
    await expect
      .poll(async () => (await plans.get(first.id)).cleanedAt !== null, { timeout: 20_000 })
      .toBe(true);
    expect([await isThere(unmerged.folder), await isThere(young.folder)]).toEqual([true, true]);
    expect((await plans.get(unmerged.id)).cleanedAt).toBeNull();
  },
);
