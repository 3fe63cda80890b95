import { expect, test } from "vitest";
import { Leases } from "./leases.ts";
import { Retention } from "./retention.ts";
import { forgetSession, sessionRules } from "./sessions.ts";
import { testDatabase } from "./test-database.ts";
import { joinTeam } from "./test-members.ts";

/**
 * Two sessions with an old turn each; `used` was used yesterday, `idle` and the job's were not for
 * forty days.
 */
const ROWS = /* sql */ `
  insert into dure.sessions (id, service, memory, updated_at) select id, 'faq', '{"summaryText": "stays"}', now() - case id when 'used' then interval '1 day' else interval '40 days' end from unnest(array['used', 'idle', 'busy', 'job:job_1:eden']) id;
  update dure.sessions set running_turn = 'turn_busy_now' where id = 'busy';
  insert into dure.turns (id, session_id, service, version, status, finished_at)
    select 'turn_' || id || '_old', id, 'faq', '1', 'done', now() - interval '40 days' from dure.sessions
    union all select 'turn_used_new', 'used', 'faq', '1', 'done', now() - interval '1 day'
    union all select 'turn_busy_now', 'busy', 'faq', '1', 'running', null;
  insert into dure.messages (session_id, ordinal, turn_id, asked, author, text, queued) select session_id, row_number() over (), id, id, 'person', 'words', false from dure.turns;
  insert into dure.turn_events (turn_id, seq, place, type, data) select id, 1, '0', 'LLM_DONE', '"words"' from dure.turns;
  insert into dure.effects (key, session_id, turn_id, tool, input, nonce, status) select session_id || '/pay', session_id, id, 'pay', '{}', 'n', 'done' from dure.turns where id like '%_old';`;

async function sweptWith(
  keep: Parameters<typeof sessionRules>[0],
): Promise<Record<string, unknown>> {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await db.database.query({ text: ROWS });
  const retention = new Retention({ ...us, leases: new Leases(us), rules: sessionRules(keep) });

  const removed = await retention.sweep();

  const ids = async (text: string): Promise<readonly string[]> =>
    (await db.database.query<{ id: string }>({ text })).map(({ id }) => id);
  return {
    removed: Object.fromEntries(removed!),
    sessions: await ids("select id from dure.sessions order by id"),
    turns: await ids("select id from dure.turns order by id"),
    messages: await ids("select turn_id as id from dure.messages order by 1"),
    journals: await ids("select turn_id as id from dure.turn_events order by 1"),
    effects: await ids("select key as id from dure.effects order by 1"),
  };
}

test("sessions that are unused for so long are forgotten whole; those that answer or belong to jobs stay", async () => {
  const turns = [
    "turn_busy_now",
    "turn_busy_old",
    "turn_job:job_1:eden_old",
    "turn_used_new",
    "turn_used_old",
  ];

  expect(await sweptWith({ sessions: "30d" })).toEqual({
    removed: { sessions: 1 },
    sessions: ["busy", "job:job_1:eden", "used"],
    turns,
    messages: turns,
    journals: turns,
    effects: ["busy/pay", "job:job_1:eden/pay", "used/pay"],
  });
});

test("old turns go with their words and journals; their sessions and effects stay", async () => {
  const turns = ["turn_busy_now", "turn_job:job_1:eden_old", "turn_used_new"];

  expect(await sweptWith({ turns: "30d" })).toEqual({
    removed: { turns: 3 },
    sessions: ["busy", "idle", "job:job_1:eden", "used"],
    turns,
    messages: turns,
    journals: turns,
    effects: ["busy/pay", "idle/pay", "job:job_1:eden/pay", "used/pay"],
  });
});

test("more sessions than one transaction forgets are forgotten in one sweep", async () => {
  await using db = await testDatabase();
  await using us = await joinTeam(db.url);
  await db.database.query({
    text: "insert into dure.sessions (id, service, updated_at) select 's' || n, 'faq', now() - interval '2 days' from generate_series(1, 120) n",
  });
  const retention = new Retention({
    ...us,
    leases: new Leases(us),
    rules: sessionRules({ sessions: "1d" }),
  });

  expect(Object.fromEntries((await retention.sweep())!)).toEqual({ sessions: 120 });
});

test("without a word about it nothing is swept", () => {
  expect(sessionRules({})).toEqual([]);
});

test("a job that a forgotten session had asked for stays, and what it says from now on names no session", async () => {
  await using db = await testDatabase();
  await db.database.query({
    text: `insert into dure.sessions (id, service) values ('mina', 'faq');
      insert into dure.jobs (id, requester, target, message, intent, conversation_id, root_id, root_work, max_turns, queued_ms, progress_ms, origin_session, origin_turn)
        values ('job_1', 'ruda', 'eden', 'words', 'discussion', 'c', 'job_1', 'mina', 4, 0, 0, 'mina', 'turn_1')`,
  });
  await db.database.query({
    text: "insert into dure.events (type, role, session, job) values ('job.accepted', 'delegation', 'mina', 'job_1'); insert into dure.events (type, role, session) values ('turn.done', 'conversation', 'mina')",
  });

  expect(await forgetSession(db.database, "mina", "")).toBe(true);

  expect(
    await db.database.query({ text: "select origin_session, origin_turn from dure.jobs" }),
  ).toEqual([{ origin_session: null, origin_turn: null }]);
  expect(await db.database.query({ text: "select type, session, job from dure.events" })).toEqual([
    { type: "job.accepted", session: null, job: "job_1" },
  ]);
});
