import { expect, test } from "vitest";
import { Leases } from "./leases.ts";
import { DEFAULT_RULES, Retention } from "./retention.ts";
import { journalRule } from "./sessions.ts";
import { testDatabase } from "./test-database.ts";
import { joinTeam } from "./test-members.ts";

async function sweeper(url: string) {
  const us = await joinTeam(url);
  const leases = new Leases(us);
  return {
    ...us,
    leases,
    retention: new Retention({ ...us, leases }),
    [Symbol.asyncDispose]: () => us[Symbol.asyncDispose](),
  };
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

  expect(Object.fromEntries(removed!)).toEqual({
    events: 2_500,
    outbox: 50,
    effects: 0,
    processes: 0,
    leases: 0,
  });
  expect(us.database.statements - before).toBeLessThan(50);
  expect(await db.database.query({ text: "select type from dure.events" })).toEqual([
    { type: "young" },
  ]);
  expect(
    await db.database.query({
      text: "select state, count(*) from dure.outbox group by state order by state",
    }),
  ).toEqual([
    { state: "pending", count: 1 },
    { state: "sent", count: 1 },
    { state: "unknown", count: 50 },
  ]);
});

test("a rule of others is swept with its own condition and age, and leaves rows that are held", async () => {
  await using db = await testDatabase();
  await using us = await sweeper(db.url);
  await db.database.query({
    text: "create table test_aged (n int, at timestamptz, keep bool); insert into test_aged select n, now() - n * interval '1 hour', n % 2 = 0 from generate_series(1, 48) n",
  });
  us.retention.add({
    name: "test",
    keep: "7d",
    table: "test_aged",
    ageColumn: "at",
    where: "not keep",
  });
  us.retention.keep("test", "24h");

  await db.database.transaction(async (tx) => {
    await tx.query({ text: "select from test_aged where n = 47 for update" });
    expect((await us.retention.sweep())!.get("test")).toBe(11);
  });

  expect((await us.retention.sweep())!.get("test")).toBe(1);
  expect(us.retention.rules.map((rule) => rule.name)).toEqual([
    ...DEFAULT_RULES.map((rule) => rule.name),
    "test",
  ]);
});

test("what is not known, not recovered, or held by a living process is kept however old it is", async () => {
  await using db = await testDatabase();
  await using us = await sweeper(db.url);
  await db.database.query({
    text: `
      insert into dure.effects (key, session_id, turn_id, tool, input, nonce, status, updated_at) values
        ('of a session', 's1', 't', 'pay', '{}', 'n', 'done', now() - interval '8 days'),
        ('asked about', null, 't', 'pay', '{}', 'n', 'unknown', now() - interval '8 days'),
        ('of no session', null, 't', 'pay', '{}', 'n', 'unknown', now() - interval '8 days');
      insert into dure.escalations (id, subject, type, severity, title) values ('e1', 'effect/asked about', 'effect_unknown', 'high', 't');
      insert into dure.outbox (topic, ordering, key, payload, state, settled_at) values ('t', 'o', 'unknown', 'null', 'unknown', now() - interval '8 days');
      insert into dure.processes (id, app_version, host, machine, pid, pid_started, started_at, ended_at, recovered_at) values
        ('unrecovered', '', '', '', 1, '', now() - interval '9 days', now() - interval '8 days', null),
        ('recovered', '', '', '', 1, '', now() - interval '9 days', now() - interval '8 days', now() - interval '8 days')`,
  });
  await db.database.query(
    {
      text: "insert into dure.leases (name, holder, epoch, renewed_at) values ('held', $1, 3, now() - interval '8 days'), ('free', null, 3, now() - interval '8 days'), ('dead', 'recovered', 3, now() - interval '8 days')",
    },
    [us.id],
  );

  const removed = await us.retention.sweep();

  expect(Object.fromEntries(removed!)).toMatchObject({
    outbox: 0,
    effects: 1,
    processes: 1,
    leases: 2,
  });
  expect(await db.database.query({ text: "select key from dure.effects order by key" })).toEqual([
    { key: "asked about" },
    { key: "of a session" },
  ]);
  expect(
    await db.database.query({ text: "select id from dure.processes where id <> $1" }, [us.id]),
  ).toEqual([{ id: "unrecovered" }]);
  expect(await db.database.query({ text: "select name from dure.leases where epoch = 3" })).toEqual(
    [{ name: "held" }],
  );
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

  expect(() =>
    us.retention.add({ name: "x", keep: "1d", table: "a; drop table b", ageColumn: "at" }),
  ).toThrow(expect.objectContaining({ code: "RETENTION_INVALID" }));
  expect(() => us.retention.keep("nothing", "1d")).toThrow(
    expect.objectContaining({ code: "RETENTION_UNKNOWN" }),
  );
});

test("a rule that fails is named, and the rules behind it are swept all the same", async () => {
  await using db = await testDatabase();
  await using us = await sweeper(db.url);
  await db.database.query({
    text: "create table test_aged (at timestamptz); insert into test_aged values (now() - interval '48 hours')",
  });
  us.retention.add({ name: "broken", keep: "24h", table: "no_such_table", ageColumn: "at" });
  us.retention.add({ name: "behind", keep: "24h", table: "test_aged", ageColumn: "at" });

  await expect(us.retention.sweep()).rejects.toMatchObject({
    code: "RETENTION_FAILED",
    message: expect.stringContaining("broken") as string,
  });
  expect(await db.database.query({ text: "select at from test_aged" })).toEqual([]);
});

test("journals of turns that ended long ago go, each once and whole; those of other turns stay", async () => {
  await using db = await testDatabase();
  await using us = await sweeper(db.url);
  us.retention.add(journalRule("24h"));
  const turn = (id: string, finished: string | null) => ({
    text: `insert into dure.turns (id, session_id, service, version, status, accepted_at, finished_at) values ('${id}', 's', 'x', '1', '${finished === null ? "running" : "done"}', now() - interval '3 days', ${finished ?? "null"});
           insert into dure.turn_events (turn_id, seq, place, type, data, at) select '${id}', n, 'p', 'X', '{}', now() - interval '3 days' from generate_series(1, 3) n`,
  });
  // More than one bite, all ended in one instant.
  for (let index = 0; index < 450; index++) {
    await db.database.query(turn(`old${index}`, "'2026-01-01'"));
  }
  await db.database.query(turn("late", "now() - interval '23 hours'"));
  await db.database.query(turn("running", null));

  expect((await us.retention.sweep())!.get("turn-events")).toBe(450);
  expect(
    await db.database.query({
      text: "select turn_id, count(*) from dure.turn_events group by 1 order by 1",
    }),
  ).toEqual([
    { turn_id: "late", count: 3 },
    { turn_id: "running", count: 3 },
  ]);
  expect((await us.retention.sweep())!.get("turn-events")).toBe(0);
  await db.database.query({
    text: "update dure.turns set finished_at = now() - interval '25 hours' where id = 'late'",
  });
  expect((await us.retention.sweep())!.get("turn-events")).toBe(1);
  expect(
    await db.database.query({ text: "select distinct turn_id from dure.turn_events" }),
  ).toEqual([{ turn_id: "running" }]);
});
