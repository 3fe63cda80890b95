import { expect, test } from "vitest";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { confirmHold, FRESH_MS } from "./lease-proof.ts";
import { Leases } from "./leases.ts";
import { testDatabase } from "./test-database.ts";
import { joinTeam } from "./test-members.ts";

test("a process whose lease was renewed lately looks at nothing", async () => {
  let looks = 0;

  await confirmHold({ isFresh: () => true, clock: systemClock, look: async () => void looks++ });

  expect(looks).toBe(0);
});

test("an answer that took long is asked for again: the process may have stood still since", async () => {
  const time = { now: 0 };
  const clock: Clock = { ...systemClock, monotonic: () => time.now };
  const tookMs = [FRESH_MS + 1, FRESH_MS, 10];

  await confirmHold({
    isFresh: () => false,
    clock,
    look: async () => void (time.now += tookMs.shift()!),
  });

  expect(tookMs).toEqual([]);
});

test("what holds a lease is confirmed without a statement, and after a pause with one", async () => {
  await using db = await testDatabase();
  const time = { ahead: 0 };
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + time.ahead };
  await using us = await joinTeam(db.url, { clock });
  const leases = new Leases(us);
  await leases.acquire("run:1");
  const statements = async (): Promise<number> => {
    const before = us.database.statements;
    await leases.confirm("run:1");
    return us.database.statements - before;
  };

  expect(us.lease.isFresh).toBe(true);
  expect(await statements()).toBe(0);
  time.ahead = FRESH_MS + 500; // less than the 6 s after which it would step down by itself
  expect(us.lease.isFresh).toBe(false);
  expect(await statements()).toBe(1);
});

test("after a pause in which another has taken the run over, nothing is confirmed", async () => {
  await using db = await testDatabase();
  const time = { ahead: 0 };
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + time.ahead };
  await using us = await joinTeam(db.url, { clock });
  await using other = await joinTeam(db.url);
  const leases = new Leases(us);
  await leases.acquire("run:1");
  await new Leases(other).takeOver("run:1");
  time.ahead = FRESH_MS + 500;

  await expect(leases.confirm("run:1")).rejects.toMatchObject({ code: "FENCED" });
});
