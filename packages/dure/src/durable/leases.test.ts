import { FULL } from "../kernel/test-tiers.ts";
import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { Leases } from "./leases.ts";
import { testDatabase } from "./test-database.ts";
import { joinTeam } from "./test-members.ts";

async function member(url: string) {
  const us = await joinTeam(url);
  return { ...us, leases: new Leases(us), [Symbol.asyncDispose]: () => us[Symbol.asyncDispose]() };
}

test("a name has one holder; released or ended, it is free again under a higher epoch each time", async () => {
  await using db = await testDatabase();
  const first = await member(db.url);
  await using second = await member(db.url);

  const held = await first.leases.acquire("bot:ruda");
  expect(held).toEqual({ name: "bot:ruda", holder: first.id, epoch: 1 });
  expect(await second.leases.acquire("bot:ruda")).toBeUndefined();
  expect(await first.leases.renew(held!)).toBe(true);
  await first.leases.release(held!);
  const next = await second.leases.acquire("bot:ruda");
  expect(next).toMatchObject({ holder: second.id, epoch: 2 });
  expect(await first.leases.renew(held!)).toBe(false);

  const other = await first.leases.acquire("run:1");
  await first[Symbol.asyncDispose]();
  expect(await second.leases.acquire("run:1")).toMatchObject({
    holder: second.id,
    epoch: other!.epoch + 1,
  });
});

test("a lease that its holder has got anew is renewed and released under its new epoch alone", async () => {
  await using db = await testDatabase();
  await using us = await member(db.url);
  const before = (await us.leases.acquire("run:1"))!;
  const now = await us.leases.takeOver("run:1");
  const guarded = (lease: typeof now) =>
    us.database.transaction((tx) => us.leases.guard(tx, lease));

  expect(await us.leases.renew(before)).toBe(false);
  await us.leases.release(before);
  await expect(guarded(before)).rejects.toMatchObject({ code: "FENCED" });

  expect(await us.leases.renew(now)).toBe(true);
  await guarded(now);
});

test("a lease that was released is not renewed, and allows no write", async () => {
  await using db = await testDatabase();
  await using us = await member(db.url);
  const lease = (await us.leases.acquire("run:1"))!;
  await us.leases.release(lease);

  expect(await us.leases.renew(lease)).toBe(false);
  await expect(us.database.transaction((tx) => us.leases.guard(tx, lease))).rejects.toMatchObject({
    code: "FENCED",
  });
});

test("a process that was taken over gets no lease", async () => {
  await using db = await testDatabase();
  await using us = await member(db.url);
  await db.database.query({
    text: "update dure.processes set epoch = epoch + 1, ended_at = clock_timestamp()",
  });

  await expect(us.leases.acquire("run:1")).rejects.toMatchObject({ code: "FENCED" });
  expect(
    await db.database.query({ text: "select name from dure.leases where holder is not null" }),
  ).toEqual([]);
});

test("of many that reach for one name at once, one gets it", async () => {
  await using db = await testDatabase();
  await using first = await member(db.url);
  await using second = await member(db.url);

  const got = await Promise.all(
    [first, second, first, second, first, second].map((us) => us.leases.acquire("bot:eden")),
  );

  expect(got.filter((lease) => lease !== undefined)).toHaveLength(1);
});

test("a lease that was not renewed for six seconds is free", async () => {
  await using db = await testDatabase();
  await using first = await member(db.url);
  await using second = await member(db.url);
  await first.leases.acquire("bot:ruda");
  await db.database.query({
    text: "update dure.leases set renewed_at = renewed_at - interval '6 seconds'",
  });

  expect(await second.leases.acquire("bot:ruda")).toMatchObject({ holder: second.id, epoch: 2 });
});

test("a guarded writer is waited for before the lease changes hands, and fenced afterwards", async () => {
  await using db = await testDatabase();
  await using first = await member(db.url);
  await using second = await member(db.url);
  const lease = (await first.leases.acquire("run:1"))!;
  const order: string[] = [];
  const guarded = Promise.withResolvers<void>();

  const writing = first.database.transaction(async (tx) => {
    await first.leases.guard(tx, lease);
    guarded.resolve();
    await systemClock.sleep(300);
    order.push("written");
  });
  await guarded.promise;
  await second.leases.takeOver("run:1");
  order.push("taken");
  await writing;

  expect(order).toEqual(["written", "taken"]);
  await expect(
    first.database.transaction((tx) => first.leases.guard(tx, lease)),
  ).rejects.toMatchObject({ code: "FENCED" });
});

test(
  "a process that loses a lease while working is told to stop",
  { ...FULL, timeout: 15_000 },
  async () => {
    await using db = await testDatabase();
    await using first = await member(db.url);
    await using second = await member(db.url);
    const begun = Promise.withResolvers<void>();
    const working = first.leases.hold("retention", async (_lease, { signal }) => {
      begun.resolve();
      await systemClock.sleep(60_000, { signal });
    });
    await begun.promise;
    expect(await second.leases.hold("retention", async () => "never")).toEqual({
      ok: false,
      because: "held-by-another",
    });

    await second.leases.takeOver("retention");

    await expect(working).rejects.toMatchObject({ code: "FENCED" });
  },
);
