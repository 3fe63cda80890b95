import { expect, test } from "vitest";
import { migrate } from "../src/durable/migrate.ts";
import type { Migration, Schema } from "../src/durable/release.ts";
import { testDatabase, type TestDatabase } from "../src/durable/test-database.ts";
import { TeamProcess } from "../src/durable/test-members.ts";
import { defineService, flow } from "../src/engine/service/service.ts";
import { startTestEngine, type TestEngine } from "../src/engine/test-engine.ts";
import { silentLogger } from "../src/kernel/logger.ts";
import { SCHEMA } from "../src/team/schema.ts";
import { until } from "./until.ts";

const quiet = { logger: silentLogger };
const LAST = SCHEMA.migrations.length;

/** The tables that the first release made: frozen by scripts/schema-lock.json. */
const BASELINE: Schema = {
  ...SCHEMA,
  number: 0,
  migrations: SCHEMA.migrations.slice(0, 1),
  functions: {},
};

const COLUMN: Migration = {
  id: LAST + 1,
  name: "colours",
  sql: "alter table dure.turns add column colour text not null default 'plain'",
};
/** A test that holds the lock 4711 holds this migration. */
const INDEX: Migration = {
  id: LAST + 2,
  name: "colour-index",
  sql: `
    select pg_advisory_xact_lock(4711);
    create index turns_colour on dure.turns (colour)`,
};

/** A release that comes after this one: a column with a default, an index, a function. */
const NEXT: Schema = {
  ...SCHEMA,
  number: SCHEMA.number + 1,
  migrations: [...SCHEMA.migrations, COLUMN, INDEX],
  functions: {
    ...SCHEMA.functions,
    colours: `
      create or replace function dure.colours() returns text[] language sql as $$
        select array_agg(distinct colour) from dure.turns
      $$;`,
  },
};

const desk = defineService({
  name: "desk",
  agents: {},
  flows: { DEFAULT: flow(async (turn) => turn.done({ message: `heard: ${turn.message}` })) },
});

const stock = defineService({
  name: "stock",
  agents: {},
  flows: {
    DEFAULT: flow(async (turn) => {
      const count = await turn.step("count", () => 1);
      const more = await turn.step("more", () => 1);
      const last = await turn.step("last", () => 1);
      return turn.done({ message: `${count} and ${more} and ${last}` });
    }),
  },
});

test("rows of the first release stay whole while a process works and the next release begins", async () => {
  await using db = await testDatabase({ migrated: false });
  await migrate(db.database, BASELINE, quiet);
  await fill(db);
  const before = await rowsOf(db);
  await migrate(db.database, SCHEMA, quiet);
  await using older = await startTestEngine(desk, { on: db });

  const upgrade = migrate(db.database, NEXT, quiet);
  const meanwhile = await answersUntil(upgrade, older);
  await using newer = await startTestEngine(desk, { on: db });
  const after = [await older.say("old"), await newer.say("new")];

  expect(meanwhile.filter((answer) => answer !== "heard: more")).toEqual([]);
  expect(after.map(({ done }) => done.message)).toEqual(["heard: old", "heard: new"]);
  expect(await applied(db)).toEqual(NEXT.migrations.map(({ id }) => id));
  expect(await db.database.query({ text: "select dure.colours() as all" })).toEqual([
    { all: ["plain"] },
  ]);
  expect(Object.values(before).filter(({ length }) => length === 0)).toEqual([]);
  const kept = await rowsOf(db);
  for (const [table, rows] of Object.entries(before)) {
    const whole = rows.map((row) => expect.objectContaining(row) as object);
    expect(kept[table], table).toEqual(expect.arrayContaining(whole));
  }
});

test("a turn goes on from lines of the release before, which reads, writes and removes lines beside", async () => {
  const before: Schema = { ...BASELINE, migrations: SCHEMA.migrations.slice(0, 5) };
  await using db = await testDatabase({ migrated: false });
  await migrate(db.database, before, quiet);
  await db.database.query({
    text: `
      with session as (
        insert into dure.sessions (id, service, next_ordinal, running_turn)
        values ('s', 'stock', 2, 't')
      ), turn as (
        insert into dure.turns (id, session_id, service, version, status)
        values ('t', 's', 'stock', '1', 'running')
      ), message as (
        insert into dure.messages (session_id, ordinal, turn_id, asked, author, text, queued)
        values ('s', 1, 't', 't', 'person', 'how many?', false)
      )
      insert into dure.turn_events (turn_id, seq, place, type, data)
      values ('t', 1, '1 step:count', 'RECORD', '3')`,
  });
  await migrate(db.database, SCHEMA, quiet);
  const put = `
    insert into dure.turn_events (turn_id, seq, place, type, data)
    values ('t', 1, '1 step:count', 'RECORD', '4'), ('t', 2, '2 step:more', 'RECORD', '5')
    on conflict do nothing
    returning seq`;
  const written = await db.database.query({ text: put });
  await using engine = await startTestEngine(stock, { on: db });

  let answer = "";
  for await (const { event } of engine.engine.read("t")) {
    if (event.type === "DONE") answer = event.data.message;
  }

  expect([written, answer]).toEqual([[{ seq: 2 }], "3 and 5 and 1"]);
  const lines = "select seq, data from dure.turn_events where turn_id = 't' order by seq";
  expect(await db.database.query({ text: lines })).toEqual([
    { seq: 1, data: 3 },
    { seq: 2, data: 5 },
    { seq: 3, data: 1 },
  ]);
  await db.database.query({ text: "delete from dure.turn_events where turn_id = any('{t}')" });
  expect(await db.database.query({ text: "select from dure.turn_journal" })).toEqual([]);
});

test("an upgrade that is killed keeps its whole steps, and the next start applies the rest", async () => {
  await using db = await testDatabase();
  const holder = await db.database.connectSession();
  await holder.query("select pg_advisory_lock(4711)");
  await using upgrader = new TeamProcess("upgrader", db.url, JSON.stringify([COLUMN, INDEX]));

  await until(
    () => isHeld(db),
    () => `no migration is held ${upgrader.errors}`,
  );
  await upgrader.kill();
  const kept = await applied(db);
  await holder.end();
  await migrate(db.database, NEXT, quiet);

  expect(kept).toEqual(NEXT.migrations.slice(0, -1).map(({ id }) => id));
  expect(await applied(db)).toEqual(NEXT.migrations.map(({ id }) => id));
  const index = "select to_regclass('dure.turns_colour')::text as name";
  expect(await db.database.query({ text: index })).toEqual([{ name: "turns_colour" }]);
});

test("rows are refused by triggers until the functions stand", async () => {
  await using db = await testDatabase({ migrated: false });
  await migrate(db.database, BASELINE, quiet);
  await fill(db);
  const text = "delete from dure.sessions";

  await expect(db.database.query({ text })).rejects.toThrow("not in place yet");
  await migrate(db.database, SCHEMA, quiet);

  expect(await db.database.query({ text: `${text} returning id` })).toEqual([{ id: "x" }]);
});

/** What a process answers, again and again, until `end`. */
async function answersUntil(end: Promise<void>, worker: TestEngine): Promise<readonly string[]> {
  const answers: string[] = [];
  let isOver = false;
  const ended = end.finally(() => (isOver = true));
  while (!isOver) {
    const { done } = await worker.say("more");
    answers.push(done.message);
  }
  await ended;
  return answers;
}

interface Column {
  readonly table: string;
  /** Null: the table asks for no value. */
  readonly name: string | null;
  readonly type: string;
}

/** Columns without a value of their own; a table stands behind those that it refers to. Views keep names of before. */
const COLUMNS = `
  select c.relname as table, a.attname as name, format_type(a.atttypid, null) as type
  from pg_class c
  left join pg_attribute a on a.attrelid = c.oid
    and a.attnum > 0 and a.attnotnull and not a.atthasdef and a.attidentity = ''
  where c.relnamespace = 'dure'::regnamespace and c.relkind in ('r', 'v') and c.relname <> 'migrations'
  order by c.oid, a.attnum`;

const VALUES: Readonly<Record<string, string>> = {
  text: "'x'",
  "text[]": "'{x}'",
  bytea: "decode(repeat('78', 32), 'hex')",
  boolean: "true",
  jsonb: `'{"x": "y"}'`,
  "timestamp with time zone": "'2026-12-01'",
};

/** What the checks of these columns ask for. */
const CHOSEN: Readonly<Record<string, string>> = {
  "events.role": "'system'",
  "turns.status": "'done'",
  "effects.status": "'done'",
  "escalations.severity": "'low'",
  "file_bytes.sha256": "repeat('0', 64)",
  "files.sha256": "repeat('0', 64)",
  "places.kind": "'channel'",
  "room_messages.author_kind": "'person'",
  "agent_pairs.other": "'y'",
  "jobs.target": "'y'",
  "plan_messages.type": "'ack'",
  "plan_violations.wanted": "'read'",
  "plan_violations.found": "'commit'",
  "plan_comments.side": "'new'",
  "schedule_firings.status": "'done'",
};

/** Puts a row into each table that has none; every id is `x` or 1. */
async function fill({ database }: TestDatabase): Promise<void> {
  const columns = await database.query<Column>({ text: COLUMNS });
  for (const [table, own] of Map.groupBy(columns, (column) => column.table)) {
    const named = own.flatMap(({ name, type }) => (name === null ? [] : [{ name, type }]));
    const names = named.map(({ name }) => `"${name}"`).join(", ");
    const values = named.map(({ name, type }) => CHOSEN[`${table}.${name}`] ?? VALUES[type] ?? "1");
    const row = names === "" ? "default values" : `(${names}) values (${values.join(", ")})`;
    await database.query({ text: `insert into dure.${table} ${row} on conflict do nothing` });
  }
}

/** All rows by table, but those in which the schema describes itself. */
async function rowsOf({ database }: TestDatabase): Promise<Record<string, readonly object[]>> {
  const found: Record<string, readonly object[]> = {};
  const columns = await database.query<Column>({ text: COLUMNS });
  for (const table of new Set(columns.map((column) => column.table))) {
    if (table === "release") continue;
    found[table] = await database.query<object>({ text: `select * from dure.${table}` });
  }
  return found;
}

async function applied({ database }: TestDatabase): Promise<readonly unknown[]> {
  const rows = await database.query({ text: "select id from dure.migrations order by id" });
  return rows.map((row) => row["id"]);
}

/** Whether a migration waits for the lock of the test. */
async function isHeld({ database }: TestDatabase): Promise<boolean> {
  const waiting = await database.query({
    text: `
      select from pg_stat_activity
      where datname = current_database() and wait_event = 'advisory' and query like '%4711%'`,
  });
  return waiting.length > 0;
}
