import { expect, onTestFinished, test } from "vitest";
import { Leases } from "../../durable/leases.ts";
import { testDatabase } from "../../durable/test-database.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import {
  eventsEmitted,
  portsChanged,
  stepEnded,
  stepSigned,
  useAdded,
  type RunRecords,
} from "./records.ts";
import { transcriptAppended, readTranscript } from "./transcript-rows.ts";
import type { StoredUse } from "./run.ts";
import type { NewRun } from "./run-changes.ts";
import { eventOfRun } from "./run-event.ts";
import { takeTestReport } from "../port/hooks.ts";
import { HookRequests } from "../runs/hook-requests.ts";
import { planOf, startTestRuns } from "../runs/test-runs.ts";

const PLAN = planOf({ a: "" });

function aRun(id: string, given: Partial<NewRun> = {}): NewRun {
  return {
    id,
    tenant: "",
    plan: PLAN,
    file: null,
    repository: "/r",
    folder: "/f",
    host: "host-1",
    baseCommit: "base",
    startedBy: "me",
    key: null,
    bodyHash: "h",
    triesOrchestrator: 1,
    ...given,
  };
}

/** Rows of runs that the test alone leads. */
async function open() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const runs = stack.use(await startTestRuns({ url, build: async () => ({ status: "stopped" }) }));
  await runs.runs.stop();
  const { database, inbox, notifications } = runs;
  const records: RunRecords = runs.runs.records;
  const leases = new Leases({
    database,
    lease: runs.lease,
    logger: silentLogger,
    clock: systemClock,
  });
  return {
    database,
    inbox,
    notifications,
    records,
    leases,
    lead: (run: string) => leases.takeOver(`run:${run}`),
  };
}

test("a leader that has lost its run writes nothing", async () => {
  const { records, lead } = await open();
  await records.create(aRun("run_1"), []);
  const before = await lead("run_1");
  const now = await lead("run_1");

  await expect(
    records.write(before, (tx) => records.changeRun(tx, "run_1", { status: "failed" })),
  ).rejects.toMatchObject({ code: "FENCED" });
  await expect(
    records.steps.begin(before, { run: "run_1", port: "a", try: 1, kind: "implement" }),
  ).rejects.toMatchObject({ code: "FENCED" });

  expect(await records.run("run_1")).toMatchObject({ status: "running" });
  expect(await records.steps.of("run_1")).toEqual([]);
  await records.write(now, (tx) => records.changeRun(tx, "run_1", { status: "paused" }));
  expect(await records.run("run_1")).toMatchObject({ status: "paused" });
});

test("one statement writes all of its parts, or nothing once its lease is being taken over", async () => {
  const { database, records, lead } = await open();
  await records.create(aRun("run_1"), []);
  const lease = await lead("run_1");
  const run = (await records.run("run_1"))!;
  const writes = [
    portsChanged("run_1", [{ position: 0, addSpentMs: 5 }]),
    ...eventsEmitted([eventOfRun(run, "port.ready", { port: "a" })]),
  ];
  const standing = async () => [
    (await records.port("run_1", "a"))!.spentMs,
    (await database.query({ text: "select from dure.events where type = 'port.ready'" })).length,
  ];
  await records.put(lease, writes);
  expect(await standing()).toEqual([5, 1]);

  // It begins before the other process has committed, and sees then that the lease is gone.
  const putting = Promise.withResolvers<unknown>();
  await database.transaction(async (tx) => {
    // As a lease is taken.
    await tx.query({ text: "select from dure.leases where name = 'run:run_1' for update" });
    await tx.query({ text: "update dure.leases set epoch = epoch + 1 where name = 'run:run_1'" });
    records.put(lease, writes).then(putting.resolve, putting.resolve);
    const waits = {
      text: `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    };
    await expect.poll(async () => (await database.query(waits)).length).toBeGreaterThan(0);
  });

  expect(await putting.promise).toMatchObject({ code: "FENCED" });
  expect(await standing()).toEqual([5, 1]);
});

test("a run is made once per key and tenant, and seen by its tenant alone", async () => {
  const { records } = await open();

  expect(await records.create(aRun("run_1", { tenant: "t1", key: "once" }), [])).toBe(true);
  expect(await records.create(aRun("run_2", { tenant: "t1", key: "once" }), [])).toBe(false);
  expect(await records.create(aRun("run_3", { tenant: "t2", key: "once" }), [])).toBe(true);

  expect((await records.runByKey("t1", "once"))?.run.id).toBe("run_1");
  expect((await records.runByKey("t2", "once"))?.run.id).toBe("run_3");
  expect(await records.runByKey("t3", "once")).toBeUndefined();
  expect((await records.runs({ tenant: "t2", limit: 10 })).map(({ run }) => run.id)).toEqual([
    "run_3",
  ]);
});

test("tokens are counted by kind in the step, the port and the run", async () => {
  const { records, lead } = await open();
  await records.create(aRun("run_1"), []);
  const lease = await lead("run_1");
  const key = { run: "run_1", port: "a", try: 1, kind: "implement" } as const;
  const step = await records.steps.begin(lease, { ...key, worker: "acp" });
  const used = { input: 1_000, cached: 900, output: 50, calls: 2 };

  const { input: tokensIn, cached: tokensCached, output: tokensOut } = used;
  const sign = { progress: 0.4, task: "", log: "", tokensIn, tokensCached, tokensOut };
  const { input: addTokensIn, cached: addTokensCached, output: addTokensOut } = used;
  const change = { position: 0, addTokensIn, addTokensCached, addTokensOut };
  const known: StoredUse[] = [];
  await records.putAll(lease, {
    writes: [stepSigned(step.id, sign), portsChanged("run_1", [change]), useAdded("run_1", used)],
    stored: (use) => known.push(use),
  });

  expect(known).toMatchObject([{ tokens: { used: 1_050 }, calls: { used: 2 } }]);
  const [stored] = await records.steps.of("run_1");
  expect(stored).toMatchObject({ tokensIn: 1_000, tokensCached: 900, tokensOut: 50 });
  const counted = { tokensIn: 1_000, tokensCached: 900, tokensOut: 50 };
  expect(await records.run("run_1")).toMatchObject({ ...counted, calls: 2 });
  expect(await records.port("run_1", "a")).toMatchObject({ tokensCached: 900 });
});

test("how long such a step takes is known from the plan's last runs, of its tenant alone", async () => {
  const { database, records, lead } = await open();
  const typical = (run: string) =>
    records.steps.typicalMs(run, { kind: "implement", worker: "acp" });
  for (const [run, tenant] of [
    ["run_1", ""],
    ["run_2", ""],
    ["run_3", "t"],
  ] as const) {
    await records.create(aRun(run, { tenant }), []);
    const lease = await lead(run);
    const key = { run, port: "a", try: 1, kind: "implement" } as const;
    const step = await records.steps.begin(lease, { ...key, worker: "acp" });
    await records.put(lease, [stepEnded(step.id, { output: "made" })]);
  }
  await database.query({
    text: `update dure.plan_steps set
      finished_at = started_at + case run when 'run_3' then 900 else 60 end * interval '1 second'`,
  });
  await records.create(aRun("run_4"), []);

  expect(await typical("run_4")).toBe(60_000);
  expect(await typical("run_3")).toBe(900_000);
  expect(await records.steps.typicalMs("run_4", { kind: "test", worker: "acp" })).toBeUndefined();
});

test("a step that has ended stays as it ended", async () => {
  const { database, records, lead } = await open();
  await records.create(aRun("run_1"), []);
  const lease = await lead("run_1");
  const key = { run: "run_1", port: "a", try: 1, kind: "implement" } as const;
  const step = await records.steps.begin(lease, { ...key, worker: "offline" });
  await records.put(lease, [stepEnded(step.id, { output: "made", log: "the end" })]);

  const again = await records.steps.begin(lease, { ...key, worker: "another" });
  const sign = { progress: 0.5, task: "late", tokensCached: 0, tokensOut: 0, tokensIn: 9 };
  await records.put(lease, [stepSigned(step.id, { ...sign, log: "late" })]);

  expect(again).toMatchObject({
    id: step.id,
    status: "done",
    output: "made",
    starts: 1,
    worker: "offline",
  });
  expect((await records.steps.of("run_1"))[0]).toMatchObject({
    status: "done",
    task: "",
    log: "the end",
    tokensCached: 0,
    tokensOut: 0,
    tokensIn: 0,
  });
  expect(await database.query({ text: "select hook_hash from dure.plan_steps" })).toEqual([
    { hook_hash: null },
  ]);
});

test("what a terminal obeys is neither in a transcript nor in a log", async () => {
  const { database, records, lead } = await open();
  await records.create(aRun("run_1"), []);
  const lease = await lead("run_1");
  const key = { run: "run_1", port: "a", try: 9_000_000, kind: "integrate" } as const;
  const step = await records.steps.begin(lease, key);
  const red = "\u001b[31m2 failed\u001b[39m\u001b]8;;http://a\u0007";

  await records.put(lease, [
    ...transcriptAppended(step.id, [{ kind: "stdout", title: red, text: red }]),
    stepEnded(step.id, { output: null, log: red }),
  ]);

  const [line] = await readTranscript(database, "run_1", "a", { limit: 10 });
  expect(line).toMatchObject({ title: "2 failed", text: "2 failed", try: 0 });
  expect((await records.steps.of("run_1"))[0]!.log).toBe("2 failed");
});

test("the token of a step is worth nothing when its step or its run has ended", async () => {
  const { database, records, lead } = await open();
  await records.create(aRun("run_1"), []);
  const lease = await lead("run_1");
  const begin = async (number: number): Promise<string> => {
    const key = { run: "run_1", port: "a", try: number, kind: "implement" } as const;
    const step = await records.steps.begin(lease, { ...key, member: "implementer" });
    if (number === 1) {
      await records.put(lease, [stepEnded(step.id, { output: "made" })]);
    }
    return step.hookToken!;
  };
  const report = { success: true, failedTests: [], suggestions: [] };
  const take = (token: string) =>
    takeTestReport({ database, notifications: { publish: () => {} }, env: {} }, token, {
      ...report,
      metrics: { total: 1, passed: 1, failed: 0, durationMs: 0 },
    });
  const refusal = { code: "HOOK_TOKEN_INVALID" };

  await expect(take(await begin(1))).rejects.toMatchObject(refusal);
  const token = await begin(2);
  await expect(take(token)).resolves.toMatchObject({ run: "run_1" });
  await records.write(lease, (tx) =>
    records.changeRun(tx, "run_1", { status: "failed", phase: "over" }),
  );
  await expect(take(token)).rejects.toMatchObject(refusal);
});

test("what a worker's programs say to dure is stored without the secrets that it was given", async () => {
  const { database, inbox, notifications, records, lead } = await open();
  const workers = { ...PLAN.workers, default: { ...PLAN.workers.default!, env: ["SHOP_TOKEN"] } };
  await records.create(aRun("run_1", { plan: { ...PLAN, workers } }), []);
  const key = {
    run: "run_1",
    port: "a",
    try: 1,
    kind: "implement",
    member: "implementer",
  } as const;
  const { hookToken: token = "" } = await records.steps.begin(await lead("run_1"), key);
  const env = { SHOP_TOKEN: "shop-0123456789" };
  const parts = { database, inbox, notifications, clock: systemClock, env };
  const said = `of ${token} and shop-0123456789`;

  const hooks = new HookRequests(parts);
  const asked = hooks.ask(token, said, { signal: AbortSignal.abort() });
  await expect(asked).rejects.toThrow("aborted");
  await hooks.requestAccess(token, { path: "src/b", wants: "read", why: said });
  const metrics = { total: 1, passed: 1, failed: 0, durationMs: 0 };
  const report = { success: true, failedTests: [], suggestions: [said], metrics };
  await takeTestReport(parts, token, report);

  const [stored] = await database.query<{ words: string }>({
    name: "test.stored_words",
    text: `select (select jsonb_agg(m)::text from dure.plan_messages m)
      || (select jsonb_agg(e)::text from dure.escalations e) as words`,
  });
  expect(stored!.words.split("of [DURE_HOOK_TOKEN] and [SHOP_TOKEN]")).toHaveLength(4);
  expect(stored!.words).not.toContain(token);
  expect(stored!.words).not.toContain("shop-0123456789");
});

test("a run that is led by a living process waits for no leader", async () => {
  const { records, lead, leases } = await open();
  await records.create(aRun("run_1"), []);
  const lease = await lead("run_1");

  expect(await records.hosts.waiting("host-1", [])).toEqual([]);
  await leases.release(lease);
  expect(await records.hosts.waiting("host-1", [])).toEqual(["run_1"]);
});

test("a run of which something is wanted is not cleaned, and a tenant cleans its own alone", async () => {
  const { database, records } = await open();
  for (const [id, tenant] of [
    ["run_1", "t1"],
    ["run_2", "t2"],
  ] as const) {
    await records.create(aRun(id, { tenant }), []);
  }
  await database.query({
    text: "update dure.plan_runs set status = 'success', finished_at = clock_timestamp() - interval '1 hour'",
  });
  await records.orders.give(undefined, "run_1", { type: "retry" } as never, "mina");
  const begin = (run: string) => database.transaction((tx) => records.beginClean(tx, run));

  const ofOne = await records.hosts.cleanable({
    tenant: "t1",
    host: "host-1",
    olderThanMs: 0,
    after: 0,
    limit: 10,
  });

  expect(ofOne.map(({ id }) => id)).toEqual(["run_1"]);
  expect(await begin("run_1")).toBe(false);
  expect(await begin("run_2")).toBe(true);
});
