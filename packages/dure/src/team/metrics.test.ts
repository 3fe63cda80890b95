import { expect, test } from "vitest";
import type { Database } from "../durable/database.ts";
import { testDatabase } from "../durable/test-database.ts";
import { joinTeam } from "../durable/test-members.ts";
import { teamMetrics } from "./metrics.ts";

/** The values of those metrics that are dure's own, by name. */
function readMetrics(text: string): Record<string, number> {
  return Object.fromEntries(
    [...text.matchAll(/^(dure_\w+) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]),
  );
}

async function open(url: string, settledAfterMs?: number) {
  const us = await joinTeam(url);
  const scrape = teamMetrics({
    database: us.database,
    engine: { running: 1 },
    events: { lag: async () => 0 },
    lease: us.lease,
    jobs: { standing: async () => ({ PENDING: 2, RUNNING: 3 }) },
    runs: { leading: 0 },
    settledAfterMs,
  });
  return {
    scrape: async () => readMetrics(await scrape()),
    [Symbol.asyncDispose]: () => us[Symbol.asyncDispose](),
  };
}

/** Turns that ended `ago`, each with one call. */
async function work(database: Database, name: string, count: number, ago = "0 s"): Promise<void> {
  await database.query({
    text: `
      insert into dure.turns (id, session_id, service, version, status, finished_at)
      select '${name}' || n, 's1', 'faq', '1', 'done', now() - interval '${ago}'
      from generate_series(1, ${count}) n;
      insert into dure.model_calls (
        at, session_id, turn_id, service, agent, provider, model, attempt, prompt_hash,
        tokens_in, tokens_out, estimated, cost_micro_usd, latency_ms
      )
      select now() - interval '${ago}', 's1', '${name}' || n, 'faq', 'helper', 'offline',
        'echo', 1, 'h', 10, 1, false, 5, 1
      from generate_series(1, ${count}) n;`,
  });
}

test.each([{ settledAfterMs: 10_000 }, { settledAfterMs: 0 }])(
  "turns and calls count from the process's start, each once (settled after $settledAfterMs ms)",
  async ({ settledAfterMs }) => {
    await using db = await testDatabase();
    await work(db.database, "before", 3, "1 hour");
    await using us = await open(db.url, settledAfterMs);
    await db.database.query({
      text: `
        insert into dure.sessions (id, service, running_turn, queue)
        values ('s2', 'faq', 't1', '{t2,t3}');
        insert into dure.turns (id, session_id, service, version, status)
        values ('t1', 's2', 'faq', '1', 'running'), ('t2', 's2', 'faq', '1', 'queued'),
          ('t3', 's2', 'faq', '1', 'queued')`,
    });

    const first = await us.scrape();
    await work(db.database, "one", 2);
    const [second, same, both] = [
      await us.scrape(),
      await us.scrape(),
      (await Promise.all([us.scrape(), us.scrape()]))[1],
    ];
    await work(db.database, "two", 1);
    const last = await us.scrape();

    expect(first).toMatchObject({
      dure_metrics_complete: 1,
      dure_turns_running_here: 1,
      dure_turns_open: 3,
      dure_turns_done_total: 0,
      dure_model_calls_total: 0,
      dure_jobs_pending: 2,
      dure_jobs_running: 3,
    });
    expect(second).toMatchObject({
      dure_turns_done_total: 2,
      dure_model_calls_total: 2,
      dure_model_tokens_in_total: 20,
      dure_model_tokens_out_total: 2,
      dure_model_cost_micro_usd_total: 10,
    });
    for (const again of [same, both]) {
      expect({ ...again, dure_database_statements_total: 0 }).toEqual({
        ...second,
        dure_database_statements_total: 0,
        dure_event_loop_stall_ms_max: again["dure_event_loop_stall_ms_max"],
      });
    }
    expect(last).toMatchObject({ dure_turns_done_total: 3, dure_model_calls_total: 3 });
  },
);

test("a scrape reads what is new, not the tables", async () => {
  await using db = await testDatabase();
  await work(db.database, "before", 20_000, "1 hour");
  await db.database.query({ text: "analyze dure.turns; analyze dure.model_calls" });
  await using us = await open(db.url);
  await us.scrape();
  const scans = async (): Promise<unknown> => {
    await db.database.query({ text: "select pg_stat_clear_snapshot()" });
    return db.database.query({
      text: `
        select relname, seq_scan
        from pg_stat_user_tables
        where schemaname = 'dure' and relname in ('turns', 'model_calls')
        order by 1`,
    });
  };
  await db.database.query({ text: "select pg_stat_force_next_flush()" });
  const before = await scans();

  for (let scrape = 0; scrape < 5; scrape++) await us.scrape();

  expect(await scans()).toEqual(before);
});

test("without the database the process tells of itself, and of nothing that it does not know", async () => {
  const db = await testDatabase();
  await using us = await open(db.url);
  await work(db.database, "one", 2);
  expect(await us.scrape()).toMatchObject({ dure_metrics_complete: 1, dure_turns_done_total: 2 });

  await db[Symbol.asyncDispose]();
  const away = await us.scrape();

  expect(Object.keys(away).sort()).toEqual([
    "dure_database_statements_total",
    "dure_event_loop_stall_ms_max",
    "dure_metrics_complete",
    "dure_plan_runs_led_here",
    "dure_process_lease_held",
    "dure_turns_running_here",
  ]);
  expect(away["dure_metrics_complete"]).toBe(0);
});
