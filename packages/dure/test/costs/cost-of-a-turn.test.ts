import { expect, test } from "vitest";
import type { Database } from "../../src/durable/database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";

const chat = defineService({
  name: "chat",
  agents: { helper: chatAgent({ name: "helper", prompt: "Answer briefly." }) },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
  },
});

/** Rows of a turn and the indexes of their tables: each new row is in all of them. */
const WRITTEN = { events: 2, messages: 1, model_calls: 1, turn_journal: 1, turns: 1 };
const INDEXES = {
  events: 1,
  messages: 2,
  model_calls: 3,
  sessions: 2,
  turn_journal: 1,
  turns: 4,
};
/** Bytes of write-ahead log, at most. */
const WAL = { first: 5_400, warm: 5_300 };

interface Cost {
  readonly statements: number;
  readonly commits: number;
  readonly rows: Readonly<Record<string, number>>;
  readonly bytes: number;
}

/** Of this database alone. */
async function rowsIn(database: Database): Promise<Record<string, number>> {
  const counts = Object.keys(INDEXES).map(
    (table) => `'${table}', (select count(*) from dure.${table})`,
  );
  const [row] = await database.query<{ counts: Record<string, number> }>({
    text: `select jsonb_build_object(${counts.join(", ")}) as counts`,
  });
  return row!.counts;
}

/** Of the whole server: transactions that have written, and bytes of log. */
async function writtenBy(database: Database): Promise<{ commits: number; bytes: number }> {
  const [row] = await database.query<{ commits: number; bytes: number }>({
    text: `
      select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits,
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`,
  });
  return row!;
}

async function costOf({ database, engine }: TestEngine, session: string): Promise<Cost> {
  const rowsBefore = await rowsIn(database);
  const before = await writtenBy(database);
  const { statements } = database;
  await engine.turn({ session, message: "When does my parcel arrive?", service: "chat" }).done;
  const sent = database.statements - statements;
  const { commits, bytes } = await writtenBy(database);
  const rows = Object.entries(await rowsIn(database)).flatMap(([table, count]) => {
    const more = count - rowsBefore[table]!;
    return more === 0 ? [] : [[table, more] as const];
  });
  return {
    statements: sent,
    commits: commits - before.commits,
    rows: Object.fromEntries(rows),
    bytes: bytes - before.bytes,
  };
}

/** What other tests of the machine and looks by the clock add is not in the least of each. */
function leastOf(costs: readonly Cost[]): Cost {
  const least = (of: (cost: Cost) => number): number => Math.min(...costs.map(of));
  return {
    statements: least(({ statements }) => statements),
    commits: least(({ commits }) => commits),
    rows: costs[0]!.rows,
    bytes: least(({ bytes }) => bytes),
  };
}

test("a plain turn is two statements that commit, with one row of journal", async () => {
  await using t = await startTestEngine(chat);
  for (let turn = 0; turn < 5; turn++) await costOf(t, "before");

  const first: Cost[] = [];
  const warm: Cost[] = [];
  for (let turn = 0; turn < 20; turn++) {
    first.push(await costOf(t, `s${turn}`));
    warm.push(await costOf(t, `s${turn}`));
  }

  const [ofFirst, ofWarm] = [leastOf(first), leastOf(warm)];
  expect(ofFirst).toMatchObject({ statements: 2, commits: 2, rows: { ...WRITTEN, sessions: 1 } });
  expect(ofWarm).toMatchObject({ statements: 2, commits: 2, rows: WRITTEN });
  expect(ofWarm.rows).not.toHaveProperty("sessions");
  expect(ofFirst.bytes).toBeLessThan(WAL.first);
  expect(ofWarm.bytes).toBeLessThan(WAL.warm);
});

test("the tables that a turn writes have thirteen indexes", async () => {
  await using t = await startTestEngine(chat);

  const indexes = await t.database.query<{ table: string; count: number }>(
    {
      text: `
        select tablename as table, count(*)::integer as count
        from pg_indexes
        where schemaname = 'dure' and tablename = any($1)
        group by tablename`,
    },
    [Object.keys(INDEXES)],
  );

  expect(Object.fromEntries(indexes.map(({ table, count }) => [table, count]))).toEqual(INDEXES);
});
