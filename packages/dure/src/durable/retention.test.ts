import { expect, test } from "vitest";
import { Leases } from "./leases.ts";
import { DEFAULT_RULES, Retention } from "./retention.ts";
import { testDatabase } from "./test-database.ts";
import { joinTeam } from "./test-members.ts";

async function sweeper(url: string) {
  const us = await joinTeam(url);
  const leases = new Leases(us);
  return { ...us, leases, retention: new Retention({ ...us, leases }), [Symbol.asyncDispose]: () => us[Symbol.asyncDispose]() };
}

test("what has aged goes in bites of a thousand rows, what is young or open stays", async () => {
  await using db = await testDatabase();
  await using us = await sweeper(db.url);
  await db.database.query({
    text: `
      insert into dure.events (type, role, at) select 'old', 'system', now() - interval '8 days' from generate_series(1, 2500);
      insert into dure.events (type, role) values ('young', 'system');
      insert into dure.outbox (topic, ordering, key, payload, state, settled_at, created_at)
        select 't', 'o', 'k' || n, 'null', case when n % 2 = 0 then 'sent' else 'unknown' end, now() - interval '8 days', now() - interval '9 days' from generate_series(1, 100) n;
      insert into dure.outbox (topic, ordering, key, payload, created_at) values ('t', 'o', 'pending', 'null', now() - interval '9 days');
      insert into dure.outbox (topic, ordering, key, payload, state, settled_at) values ('t', 'o', 'recent', 'null', 'sent', now());`,
  });
  const before = us.database.statements;

  const removed = await us.retention.sweep();

  expect(Object.fromEntries(removed!)).toEqual({ events: 2_500, outbox: 50, effects: 0, processes: 0, leases: 0 });
  expect(us.database.statements - before).toBeLessThan(50);
  expect(await db.database.query({ text: "select type from dure.events" })).toEqual([{ type: "young" }]);
  expect(await db.database.query({ text: "select state, count(*) from dure.outbox group by state order by state" })).toEqual([
    { state: "pending", count: 1 },
    { state: "sent", count: 1 },
    { state: "unknown", count: 50 },
  ]);
});

test("a rule of others is swept with its own condition and age, and leaves rows that somebody holds", async () => {
  await using db = await testDatabase();
  await using us = await sweeper(db.url);
  await db.database.query({ text: "create table test_aged (n int, at timestamptz, keep bool); insert into test_aged select n, now() - n * interval '1 hour', n % 2 = 0 from generate_series(1, 48) n" });
  us.retention.add({ name: "test", keep: "7d", table: "test_aged", ageColumn: "at", where: "not keep" });
  us.retention.keep("test", "24h");

  await db.database.transaction(async (tx) => {
    await tx.query({ text: "select from test_aged where n = 47 for update" });
    expect((await us.retention.sweep())!.get("test")).toBe(11);
  });

  expect((await us.retention.sweep())!.get("test")).toBe(1);
  expect(us.retention.rules.map((rule) => rule.name)).toEqual([...DEFAULT_RULES.map((rule) => rule.name), "test"]);
});

test("one process sweeps at a time", async () => {
  await using db = await testDatabase();
  await using first = await sweeper(db.url);
  await using second = await sweeper(db.url);
  await first.leases.acquire("retention");

  expect(await second.retention.sweep()).toBeUndefined();
});

test("a rule with a name that is not plain, or an unknown rule, is refused", async () => {
  await using db = await testDatabase();
  await using us = await sweeper(db.url);

  expect(() => us.retention.add({ name: "x", keep: "1d", table: "a; drop table b", ageColumn: "at" })).toThrow(expect.objectContaining({ code: "RETENTION_INVALID" }));
  expect(() => us.retention.keep("nothing", "1d")).toThrow(expect.objectContaining({ code: "RETENTION_UNKNOWN" }));
});
