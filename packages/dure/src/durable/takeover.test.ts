// @module-tag slow
import { expect, test, vi } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { boundMs } from "../kernel/test-bounds.ts";
import type { Database } from "./database.ts";
import { FRESH_MS } from "./lease-proof.ts";
import { decideLease, ProcessLease } from "./processes.ts";
import { decideDeath, Takeover } from "./takeover.ts";
import { testDatabase, type TestDatabase } from "./test-database.ts";
import {
  betweenLookAndWrite,
  joinTeam,
  TeamProcess,
  Network,
  untilBlocked,
} from "./test-members.ts";

test("a killed process is taken over as soon as the next one starts", async () => {
  await using db = await testDatabase();
  await using first = new TeamProcess("member", db.url);
  const { id, epoch } = await first.says("ready");
  await first.kill();
  // It is not silent yet, however long the next one takes to start.
  await db.database.query(
    {
      text: `
        update dure.processes set renewed_at = clock_timestamp() + interval '1 minute'
        where id = $1`,
    },
    [id],
  );

  await using second = new TeamProcess("member", db.url);
  const recovers = await second.says("recovers");

  expect(recovers).toMatchObject({ id, epoch, because: "gone" });
  expect(recovers["after"]).toBeLessThan(boundMs(1_000));
  const events = await db.database.query({ text: "select type, data from dure.events" });
  expect(events).toEqual([
    { type: "process.taken_over", data: expect.objectContaining({ process: id, because: "gone" }) },
  ]);
});

test(
  "a killed process of another machine is taken over when its last renewal is no proof to itself",
  FULL,
  async () => {
    await using db = await testDatabase();
    await using first = new TeamProcess("member", db.url);
    const { id } = await first.says("ready");
    await db.database.query(
      { text: "update dure.processes set machine = 'elsewhere' where id = $1" },
      [id],
    );
    await first.kill();

    await using second = new TeamProcess("member", db.url);

    await second.says("recovers");

    const text = "select ended_because as because from dure.processes where id = $1";
    expect(await db.database.query({ text }, [id])).toEqual([{ because: "gone" }]);
    expect(await ageWhenTaken(db.database, id)).toBeGreaterThanOrEqual(FRESH_MS);
  },
);

/** How old the last renewal of a process was when it was taken over, milliseconds. */
async function ageWhenTaken(database: Database, id: unknown): Promise<number> {
  const text = `
    select extract(epoch from ended_at - renewed_at)::float8 * 1000 as age
    from dure.processes
    where id = $1`;
  const [row] = await database.query<{ age: number }>({ text }, [id]);
  return row!.age;
}

test("a stopped process leaves its work to the others at once", FULL, async () => {
  await using db = await testDatabase();
  await using first = new TeamProcess("member", db.url);
  const { id } = await first.says("ready");
  await using second = new TeamProcess("member", db.url);
  await second.says("ready");

  first.tell("stop");
  await first.says("stopped");

  expect(await second.says("recovers")).toMatchObject({ id, because: "stopped" });
});

test.concurrent(
  "a frozen process is taken over after six seconds and steps down when it wakes",
  { timeout: 30_000 },
  async () => {
    await using db = await testDatabase();
    await using frozen = new TeamProcess("member", db.url);
    const { id } = await frozen.says("ready");
    await using other = new TeamProcess("member", db.url);
    await other.says("ready");

    frozen.signal("SIGSTOP");
    const stoppedAt = performance.now();
    const recovers = await other.says("recovers");
    const silentFor = performance.now() - stoppedAt;
    frozen.signal("SIGCONT");

    expect(recovers).toMatchObject({ id, because: "silent" });
    expect(await ageWhenTaken(db.database, id)).toBeGreaterThanOrEqual(6_000);
    expect(silentFor).toBeLessThan(boundMs(8_500));
    expect(await frozen.exited).toEqual({ code: 75, signal: null });
  },
);

test.concurrent(
  "a frozen process that was not taken over steps down too",
  { ...FULL, timeout: 30_000 },
  async () => {
    await using db = await testDatabase();
    await using frozen = new TeamProcess("member", db.url);
    await frozen.says("ready");

    frozen.signal("SIGSTOP");
    await systemClock.sleep(7_000);
    frozen.signal("SIGCONT");

    expect(await frozen.exited).toEqual({ code: 75, signal: null });
    expect(frozen.lines.at(-1)).toEqual({ say: "fenced", because: "stood-still" });
  },
);

test.concurrent(
  "a living process whose connections are all cut is not taken over and goes on",
  { timeout: 30_000 },
  async () => {
    await using db = await testDatabase();
    await using cut = new TeamProcess("member", db.url);
    const { id } = await cut.says("ready");
    await db.database.query(
      { text: "update dure.processes set machine = 'elsewhere' where id = $1" },
      [id],
    );
    await using other = await joinTeam(db.url);
    const renewed = async (): Promise<Date> =>
      (
        await db.database.query<{ renewed_at: Date }>(
          { text: "select renewed_at from dure.processes where id = $1" },
          [id],
        )
      )[0]!.renewed_at;

    for (let cuts = 0; cuts < 4; cuts++) {
      const before = await renewed();
      await db.database.query(
        {
          text: "select pg_terminate_backend(pid, 1000) from pg_stat_activity where starts_with(application_name, 'dure:' || $1)",
        },
        [id],
      );
      await using takeover = new Takeover(other); // its first look falls into the moment without connections
      await takeover.start();
      await expect
        .poll(async () => (await renewed()) > before, { timeout: 20_000, interval: 50 })
        .toBe(true);
    }

    expect(
      await db.database.query({ text: "select ended_at from dure.processes where id = $1" }, [id]),
    ).toEqual([{ ended_at: null }]);
    expect(cut.lines.filter((line) => line.say === "fenced")).toEqual([]);
  },
);

test.concurrent.each(["cut", "dead"] as const)(
  "a process whose network is %s for eight seconds begins nothing, and goes on if not taken over",
  { ...FULL, timeout: 40_000 },
  async (how) => {
    await using db = await testDatabase();
    await using network = await Network.to(db.url);
    await using alone = new TeamProcess("member", network.url);
    const { id } = await alone.says("ready");

    if (how === "cut") network.cut();
    else network.die();
    await alone.says("suspended");
    await systemClock.sleep(1_500);
    network.mend();

    await alone.says("resumed");
    expect(await db.database.query({ text: "select id, ended_at from dure.processes" })).toEqual([
      { id, ended_at: null },
    ]);
  },
);

test.concurrent(
  "a process whose network is dead is taken over and steps down when it is mended",
  { ...FULL, timeout: 40_000 },
  async () => {
    await using db = await testDatabase();
    await using network = await Network.to(db.url);
    await using apart = new TeamProcess("member", network.url);
    const { id } = await apart.says("ready");
    await using other = new TeamProcess("member", db.url);
    await other.says("ready");

    network.die();
    expect(await other.says("recovers")).toMatchObject({ id, because: "silent" });
    network.mend();

    expect(await apart.exited).toEqual({ code: 75, signal: null });
    expect(apart.lines.at(-1)).toEqual({ say: "fenced", because: "taken-over" });
  },
);

test("another process finishes a recovery whose taker died in the middle", FULL, async () => {
  await using db = await testDatabase();
  await using first = new TeamProcess("member", db.url);
  const { id } = await first.says("ready");
  await first.kill();
  await using stuck = new TeamProcess("stuck", db.url);
  await stuck.says("recovers", (line) => line["id"] === id);
  await stuck.kill();

  await using third = new TeamProcess("member", db.url);

  await third.says("recovers", (line) => line["id"] === id);
  await expect
    .poll(
      () =>
        db.database.query({
          text: "select from dure.processes where recovered_at is null and ended_at is not null",
        }),
      { timeout: 20_000 },
    )
    .toEqual([]);
});

test("recoverers run in order, each until it has succeeded, and once per death", async () => {
  await using db = await testDatabase();
  await using first = new TeamProcess("member", db.url);
  await first.says("ready");
  await first.kill();
  await using us = await joinTeam(db.url);
  await using takeover = new Takeover(us);
  const calls: string[] = [];
  takeover.onDead("flaky", async () => {
    calls.push("flaky");
    if (calls.length < 3) throw new Error("not yet");
  });
  takeover.onDead("second", async () => void calls.push("second"));

  await takeover.start();

  await expect
    .poll(
      () =>
        db.database.query({ text: "select from dure.processes where recovered_at is not null" }),
      { timeout: 20_000 },
    )
    .toHaveLength(1);
  expect(calls).toEqual(["flaky", "flaky", "flaky", "second"]);
});

test("who starts can wait until the work of the dead goes on, and no longer than it likes", async () => {
  await using db = await testDatabase();
  await using first = new TeamProcess("member", db.url);
  await first.says("ready");
  await first.kill();
  await using us = await joinTeam(db.url);
  await using takeover = new Takeover(us);
  const slow = Promise.withResolvers<void>();
  takeover.onDead("slow", () => slow.promise);
  const recovered = () =>
    db.database.query({ text: "select from dure.processes where recovered_at is not null" });
  await takeover.start();

  await takeover.settled({ withinMs: 50 });
  const meanwhile = await recovered();
  slow.resolve();
  await takeover.settled({ withinMs: 60_000 });

  expect(meanwhile).toHaveLength(0);
  expect(await recovered()).toHaveLength(1);
});

test("a process that was taken over may not write and learns it from its next guarded write", async () => {
  await using db = await testDatabase();
  const onFenced = vi.fn();
  await using us = await joinTeam(db.url, { onFenced });
  await us.database.transaction((tx) => us.lease.guard(tx));
  await db.database.query(
    {
      text: "update dure.processes set epoch = epoch + 1, ended_at = clock_timestamp() where id = $1",
    },
    [us.id],
  );

  await expect(us.database.transaction((tx) => us.lease.guard(tx))).rejects.toMatchObject({
    code: "FENCED",
  });

  us.lease.fence("stood-still");

  expect(us.lease.signal.aborted).toBe(true);
  expect(onFenced).toHaveBeenCalledOnce();
  expect(onFenced).toHaveBeenCalledWith(
    expect.objectContaining({ message: expect.stringContaining("taken-over") as string }),
  );
});

test("a process that has not reached its database for six seconds begins nothing new", async () => {
  await using db = await testDatabase();
  let now = 0;
  let watch = (): void => {};
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    every: (_ms, callback) => {
      watch = callback;
      return () => {};
    },
    sleep: (_ms, options) => systemClock.sleep(3_600_000, options), // it renews once
  };
  await using us = await joinTeam(db.url, { clock });
  await us.lease.whenHeld();
  const begun = vi.fn();

  for (now of [4_000, 8_000]) watch();
  const waiting = us.lease.whenHeld().then(begun, () => {});
  await db.database.query({ text: "select 1" });

  expect(us.lease.state).toBe("suspended");
  expect(begun).not.toHaveBeenCalled();
  await us.lease.stop();
  await waiting;
});

test.for([
  ["another epoch", "epoch = epoch + 1"],
  ["an end", "ended_at = clock_timestamp()"],
] as const)(
  "a process whose row has %s is fenced by its next guarded write",
  async ([, change]) => {
    await using db = await testDatabase();
    await using us = await joinTeam(db.url);
    await db.database.query({ text: `update dure.processes set ${change} where id = $1` }, [us.id]);

    await expect(us.database.transaction((tx) => us.lease.guard(tx))).rejects.toMatchObject({
      code: "FENCED",
    });
  },
);

test("a takeover waits for a guarded write that is under way", async () => {
  await using db = await testDatabase();
  const unrenewed = {
    ...systemClock,
    sleep: (_ms: number, options?: { signal?: AbortSignal }) =>
      systemClock.sleep(3_600_000, options),
  };
  await using network = await Network.to(db.url);
  await using silent = await joinTeam(network.url, { clock: unrenewed });
  await using other = await joinTeam(db.url);
  await using takeover = new Takeover(other);
  await db.database.query(
    {
      text: "update dure.processes set renewed_at = renewed_at - interval '7 seconds' where id = $1",
    },
    [silent.id],
  );
  // The takeover ends its connections: it must not connect again and renew at the last moment.
  network.die();
  const order: string[] = [];
  let taking: Promise<unknown> = Promise.resolve();

  // On a connection that the takeover does not find by its name, so that only the row says that
  // it writes.
  await db.database.transaction(async (tx) => {
    await silent.lease.guard(tx);
    taking = takeover.start().then(() => order.push("taken"));
    await untilBlocked(db.database, "%dure.processes%where id = $1%for update%");
    order.push("written");
  });
  await taking;

  expect(order).toEqual(["written", "taken"]);
  expect(
    await db.database.query({ text: "select ended_because from dure.processes where id = $1" }, [
      silent.id,
    ]),
  ).toEqual([{ ended_because: "silent" }]);
  network.mend();
});

test("a process that is stopped after it was taken over says so, and changes nothing of it", async () => {
  await using db = await testDatabase();
  const onFenced = vi.fn();
  await using us = await joinTeam(db.url, { onFenced });
  await db.database.query(
    {
      text: "update dure.processes set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent' where id = $1",
    },
    [us.id],
  );

  await us.lease.stop();

  expect(onFenced).toHaveBeenCalledOnce();
  expect(
    await db.database.query({ text: "select epoch, ended_because from dure.processes" }),
  ).toEqual([{ epoch: us.lease.epoch + 1, ended_because: "silent" }]);
});

/** A process of another machine that has said nothing for seven seconds. */
async function addSilent(db: TestDatabase): Promise<void> {
  await db.database.query({
    text: "insert into dure.processes (id, app_version, host, machine, pid, pid_started, renewed_at) values ('process_silent', '', 'h', 'elsewhere', 1, '', clock_timestamp() - interval '7 seconds')",
  });
}

/** One whose work is to be recovered. */
async function addDead(db: TestDatabase, recoveringBy: string | null): Promise<void> {
  await db.database.query(
    {
      text: `insert into dure.processes (id, epoch, app_version, host, machine, pid, pid_started, ended_at, ended_because, recovering_by)
             values ('process_dead', 2, '', 'h', 'elsewhere', 1, '', clock_timestamp(), 'silent', $1)`,
    },
    [recoveringBy],
  );
}

async function rowOf(db: TestDatabase, id: string) {
  const [row] = await db.database.query<{
    epoch: number;
    ended: boolean;
    recovered: boolean;
    recovering_by: string | null;
  }>(
    {
      text: "select epoch, ended_at is not null as ended, recovered_at is not null as recovered, recovering_by from dure.processes where id = $1",
    },
    [id],
  );
  return row;
}

test.for([
  [
    "a process that renews at the last moment is not taken over",
    "renewed_at = clock_timestamp()",
    { epoch: 1, ended: false },
  ],
  [
    "one death is taken over once, however many look at the same moment",
    "epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'",
    { epoch: 2, ended: true },
  ],
] as const)("%s", FULL, async ([, change, expected]) => {
  await using db = await testDatabase();
  await addSilent(db);
  await using us = await joinTeam(db.url);
  await using takeover = new Takeover(us);
  let taking: Promise<void> = Promise.resolve();

  await betweenLookAndWrite(db.database, us.id, {
    begin: () => void (taking = takeover.start()),
    meanwhile: `update dure.processes set ${change} where id = 'process_silent'`,
  });
  await taking;

  expect(await rowOf(db, "process_silent")).toMatchObject(expected);
  expect(await db.database.query({ text: "select type from dure.events" })).toEqual([]);
});

test("a process that is dead to the others takes no process over", async () => {
  await using db = await testDatabase();
  await addSilent(db);
  await using us = await joinTeam(db.url);
  await using takeover = new Takeover(us);
  await db.database.query(
    {
      text: "update dure.processes set epoch = epoch + 1, ended_at = clock_timestamp() where id = $1",
    },
    [us.id],
  );

  await takeover.start();

  expect(us.lease.state).toBe("fenced");
  expect(await rowOf(db, "process_silent")).toMatchObject({ epoch: 1, ended: false });
});

test("a recovery that a living process has begun is not begun by another", async () => {
  await using db = await testDatabase();
  await using other = await joinTeam(db.url);
  await addDead(db, other.id);
  await using us = await joinTeam(db.url);
  await using takeover = new Takeover(us);
  const recover = vi.fn(async () => {});
  takeover.onDead("any", recover);

  await takeover.start();
  await takeover.settled({ withinMs: 20_000 });

  expect(recover).not.toHaveBeenCalled();
  expect(await rowOf(db, "process_dead")).toMatchObject({
    recovered: false,
    recovering_by: other.id,
  });
});

test("a recovery that was handed on is not called finished by the one before", async () => {
  await using db = await testDatabase();
  await addDead(db, null);
  await using other = await joinTeam(db.url);
  await using us = await joinTeam(db.url);
  await using takeover = new Takeover(us);
  takeover.onDead("slow", async () => {
    await db.database.query(
      { text: "update dure.processes set recovering_by = $1 where id = 'process_dead'" },
      [other.id],
    );
  });

  await takeover.start();
  await takeover.settled({ withinMs: 20_000 });

  expect(await rowOf(db, "process_dead")).toMatchObject({
    recovered: false,
    recovering_by: other.id,
  });
});

test("a process must connect under its own name", async () => {
  await using db = await testDatabase();

  const join = () =>
    new ProcessLease({
      database: db.database,
      id: "process_other",
      appVersion: "test",
      logger: silentLogger,
    });

  expect(join).toThrow(expect.objectContaining({ code: "PROCESS_NAME_MISMATCH" }));
});

test("a process that is seen running here, or that was without connections only once, is not dead", () => {
  const alive = {
    silent: false,
    disconnected: false,
    disconnectedBefore: false,
    here: "elsewhere",
  } as const;

  expect(decideDeath(alive)).toBe("alive");
  expect(decideDeath({ ...alive, silent: true, here: "running" })).toBe("silent");
  expect(decideDeath({ ...alive, here: "gone" })).toBe("gone");
  expect(
    decideDeath({ ...alive, disconnected: true, disconnectedBefore: true, here: "running" }),
  ).toBe("alive");
  expect(decideDeath({ ...alive, disconnected: true })).toBe("look-again");
  expect(decideDeath({ ...alive, disconnected: true, disconnectedBefore: true })).toBe("gone");
});

test("a process doubts itself after six seconds by its own clock", () => {
  expect(decideLease({ now: 6_000, lastTick: 5_750, renewedAt: 0 })).toBe("go-on");
  expect(decideLease({ now: 6_001, lastTick: 5_750, renewedAt: 0 })).toBe("suspended");
  expect(decideLease({ now: 10_000, lastTick: 3_900, renewedAt: 3_800 })).toBe("stood-still");
});
