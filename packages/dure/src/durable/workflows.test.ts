import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { boundMs } from "../kernel/test-bounds.ts";
import { Takeover } from "./takeover.ts";
import { testDatabase, type TestDatabase } from "./test-database.ts";
import { joinTeam, Member } from "./test-members.ts";
import { Workflows } from "./workflows.ts";

const KILLS = process.env["DURE_TEST_LONG"] ? 20 : 3;

async function bank(db: TestDatabase): Promise<void> {
  await db.database.query({
    text: `create table test_accounts (name text primary key, balance int); insert into test_accounts values ('a', 1000), ('b', 0);
           create table test_transfers (workflow text); create table test_notes (workflow text)`,
  });
}

async function team(url: string) {
  const us = await joinTeam(url);
  const workflows = new Workflows({ ...us, target: { url }, appVersion: "test" });
  return {
    ...us,
    workflows,
    async [Symbol.asyncDispose]() {
      await workflows.stop({ graceMs: 200 });
      await us[Symbol.asyncDispose]();
    },
  };
}

test(
  "under repeated kills every transfer happens exactly once, and a second process ends what the killed left",
  { timeout: 120_000 },
  async () => {
    await using db = await testDatabase();
    await bank(db);
    const perLife = 25;

    for (let life = 0; life < KILLS; life++) {
      await using victim = new Member("bank", db.url, String(life * perLife), String(perLife));
      await victim.says("begun");
      await systemClock.sleep(life * 7); // another moment each time
      await victim.kill();
    }
    await using last = new Member("bank", db.url);
    await last.says("ready");
    const total = KILLS * perLife;
    const notes = async (): Promise<number> =>
      (await db.database.query({ text: "select from test_notes" })).length;
    await expect.poll(notes, { timeout: 30_000, interval: 100 }).toBe(total);

    expect(
      await db.database.query({ text: "select name, balance from test_accounts order by name" }),
    ).toEqual([
      { name: "a", balance: 1_000 - total },
      { name: "b", balance: total },
    ]);
    expect(
      await db.database.query({
        text: "select workflow from test_transfers group by workflow having count(*) <> 1",
      }),
    ).toEqual([]);
    expect(await db.database.query({ text: "select from test_transfers" })).toHaveLength(total);
  },
);

test(
  "a living process takes over the workflows of a killed one within seconds",
  { timeout: 60_000 },
  async () => {
    await using db = await testDatabase();
    await bank(db);
    await using heir = new Member("bank", db.url);
    await heir.says("ready");
    await using victim = new Member("bank", db.url, "0", "30");
    await victim.says("begun");

    await victim.kill();
    const killedAt = performance.now();
    await expect
      .poll(async () => (await db.database.query({ text: "select from test_notes" })).length, {
        timeout: 40_000,
        interval: 50,
      })
      .toBe(30);

    expect(performance.now() - killedAt).toBeLessThan(boundMs(5_000));
    expect(
      await db.database.query({ text: "select balance from test_accounts where name = 'b'" }),
    ).toEqual([{ balance: 30 }]);
  },
);

test(
  "a workflow speaks with the outside by steps, messages, children and time",
  { timeout: 30_000 },
  async () => {
    await using db = await testDatabase();
    await using us = await team(db.url);
    const keys: string[] = [];
    us.workflows.define<{ n: number }, number>("child", async ({ n }) => n * 2);
    us.workflows.define<null, { doubled: number; answer: string; none: boolean; later: boolean }>(
      "parent",
      async (_input, workflow) => {
        let tries = 0;
        const n = await workflow.step(
          "read",
          async ({ key }) => {
            keys.push(key);
            if (++tries < 3) throw new Error("not yet");
            return 21;
          },
          { attempts: 5, firstRetryMs: 10 },
        );
        const child = await workflow.start("child", "child-1", { n });
        const answer = await workflow.receive("answers", { timeoutMs: 10_000 });
        const none = await workflow.receive("nothing", { timeoutMs: 100 });
        const before = await workflow.now();
        await workflow.sleep(50);
        const later = (await workflow.now()) - before >= 50;
        return {
          doubled: (await child.result()) as number,
          answer: answer as string,
          none: none === undefined,
          later,
        };
      },
    );
    const run = await us.workflows.begin("parent", "parent-1", null);
    await us.workflows.send("parent-1", "answers", "yes", { key: "a" });
    await us.workflows.send("parent-1", "answers", "yes", { key: "a" });

    expect(await run.result()).toEqual({ doubled: 42, answer: "yes", none: true, later: true });
    expect(new Set(keys)).toEqual(new Set(["parent-1/0"]));
    expect(await us.workflows.status("parent-1")).toMatchObject({
      id: "parent-1",
      name: "parent",
      state: "done",
    });
    expect(await us.workflows.status("nobody")).toBeUndefined();
    expect(await (await us.workflows.begin("parent", "parent-1", null)).result()).toMatchObject({
      doubled: 42,
    });
    await expect(us.workflows.begin("stranger", "x", null)).rejects.toMatchObject({
      code: "WORKFLOW_UNKNOWN",
    });
  },
);

test(
  "cancelling ends a workflow with its children, and a step hears it",
  { timeout: 30_000 },
  async () => {
    await using db = await testDatabase();
    await using us = await team(db.url);
    let heard = false;
    us.workflows.define<null, void>("slow-child", async (_input, workflow) => {
      await workflow.step(
        "wait",
        ({ signal }) =>
          new Promise<void>((_, reject) =>
            signal.addEventListener(
              "abort",
              () => ((heard = true), reject(signal.reason as Error)),
            ),
          ),
      );
    });
    us.workflows.define<null, void>("slow", async (_input, workflow) => {
      await (await workflow.start("slow-child", "child", null)).result();
    });
    await us.workflows.begin("slow", "parent", null);
    await expect
      .poll(() => us.workflows.status("child"), { timeout: 10_000 })
      .toMatchObject({ state: "running" });

    await us.workflows.cancel("parent");

    await expect
      .poll(() => us.workflows.status("child"), { timeout: 10_000 })
      .toMatchObject({ state: "cancelled" });
    expect(await us.workflows.status("parent")).toMatchObject({ state: "cancelled" });
    await expect.poll(() => heard, { timeout: 10_000 }).toBe(true);
  },
);

test(
  "a process that lost its lease writes nothing more, not even an error",
  { timeout: 60_000 },
  async () => {
    await using db = await testDatabase();
    await db.database.query({ text: "create table test_notes (workflow text)" });
    await using loser = await team(db.url);
    const reached = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    loser.workflows.define<null, string>("transfer", async (_input, workflow) => {
      reached.resolve();
      await go.promise;
      await workflow.transact(
        "note",
        async (tx) => void (await tx.query({ text: "insert into test_notes values ('loser')" })),
      );
      return "loser";
    });
    await loser.workflows.begin("transfer", "t1", null);
    await reached.promise;
    await db.database.query(
      {
        text: "update dure.processes set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent' where id = $1",
      },
      [loser.id],
    );

    go.resolve();
    await expect.poll(() => loser.lease.signal.aborted, { timeout: 20_000 }).toBe(true);

    expect(await db.database.query({ text: "select from test_notes" })).toEqual([]);
    expect(await db.database.query({ text: "select status from dbos.workflow_status" })).toEqual([
      { status: "PENDING" },
    ]);
    expect(await db.database.query({ text: "select from dbos.operation_outputs" })).toEqual([]);
  },
);

test(
  "stopping leaves an unfinished workflow for others, who take it with the end of the lease",
  { timeout: 60_000 },
  async () => {
    await using db = await testDatabase();
    const first = await team(db.url);
    let steps = 0;
    const define = (workflows: Workflows, who: string): void =>
      workflows.define<null, string>("wait", async (_input, workflow) => {
        await workflow.step("first", async () => void (steps += 1));
        await workflow.step("second", async ({ signal }) => {
          if (who === "first") await systemClock.sleep(60_000, { signal });
        });
        return who;
      });
    define(first.workflows, "first");
    await first.workflows.begin("wait", "w1", null);
    await expect.poll(() => steps, { timeout: 10_000 }).toBe(1);
    await first[Symbol.asyncDispose]();
    await using second = await team(db.url);
    define(second.workflows, "second");
    await using takeover = new Takeover(second);
    takeover.onDead("workflows", (dead) => second.workflows.recoverDead(dead.id));

    await takeover.start();

    await expect
      .poll(
        async () =>
          (
            await db.database.query<{ status: string }>({
              text: "select status from dbos.workflow_status",
            })
          )[0]?.status,
        { timeout: 10_000 },
      )
      .toBe("SUCCESS");
    expect(await second.workflows.result("w1")).toBe("second");
    expect(steps).toBe(1);
  },
);

test("a dead process without workflows does not make its heir load DBOS", async () => {
  await using db = await testDatabase();
  await using us = await team(db.url);

  await us.workflows.recoverDead("process_unknown");

  expect(
    await db.database.query({ text: "select to_regclass('dbos.workflow_status') as there" }),
  ).toEqual([{ there: null }]);
});
