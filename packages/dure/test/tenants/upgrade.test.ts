import { FULL } from "../../src/kernel/test-tiers.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { migrate } from "../../src/durable/migrate.ts";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { SCHEMA } from "../../src/team/schema.ts";

/**
 * What a tenant's session had before sessions were stored under their tenant: a past, a turn under
 * way, a question, a job, a hook.
 */
const ROWS = /* sql */ `
  insert into dure.sessions (id, tenant, incarnation, service, next_ordinal, running_turn) values ('ceo', 'acme', 'inc000000001', 'desk', 3, 'turn_now');
  insert into dure.sessions (id, tenant, service) values ('plain', '', 'desk'), ('job:job_1:eden', 'acme', 'desk'), ('room:ruda:web:general', 'acme', 'desk');
  insert into dure.turns (id, session_id, service, version, status, done, done_seq, finished_at) values ('turn_old', 'ceo', 'desk', '1', 'done', '{"message": "an answer of then", "agents": []}', 1, clock_timestamp());
  insert into dure.turns (id, session_id, service, version, status) values ('turn_now', 'ceo', 'desk', '', 'running');
  insert into dure.messages (session_id, ordinal, turn_id, asked, author, text, queued)
    values ('ceo', 1, 'turn_old', 'turn_old', 'person', 'words of then', false), ('ceo', 2, 'turn_now', 'turn_now', 'person', 'words of now', false);
  insert into dure.effects (key, session_id, turn_id, tool, input, nonce, status, result) values ('ceo/inc000000001/book/1', 'ceo', 'turn_old', 'book', '{}', 'n', 'done', '"receipt 1"');
  insert into dure.escalations (id, tenant, subject, type, severity, session_id, turn_id, service, title)
    values ('escalation_1', 'acme', 'approval/ceo/book/hash', 'decision', 'medium', 'ceo', 'turn_old', 'desk', 'May it?');
  insert into dure.jobs (id, tenant, requester, target, message, intent, conversation_id, root_id, root_work, max_turns, origin_session, queued_ms, progress_ms)
    values ('job_1', 'acme', 'ruda', 'eden', 'Do it.', 'question', 'conv_1', 'job_1', 'ceo', 1, 'ceo', 0, 0);
  insert into dure.job_notes (session_id, job_id) values ('ceo', 'job_1');
  insert into dure.outbox (topic, ordering, key, payload) values ('hook', 'ceo', 'turn_old.0', '{"session": "ceo", "turn": "turn_old"}');
  insert into dure.budget_sessions (session_id, agent, tokens, micro_usd) values ('ceo', 'helper', 7, 7);
  insert into dure.events (type, role, session, turn, data) values ('turn.done', 'conversation', 'ceo', 'turn_old', '{}'), ('turn.done', 'conversation', 'plain', null, '{}'), ('turn.done', 'conversation', 'gone', null, '{}');
  insert into dure.events (type, role, job, data) values ('job.accepted', 'delegation', 'job_1', '{}');`;

/** The migrations of the release before tenants. */
const BEFORE = {
  ...SCHEMA,
  number: 0,
  migrations: SCHEMA.migrations.slice(
    0,
    SCHEMA.migrations.findIndex(({ name }) => name === "tenants"),
  ),
};

async function upgraded(): Promise<TestDatabase> {
  const db = await testDatabase({ migrated: false });
  await migrate(db.database, BEFORE, { logger: silentLogger });
  await db.database.query({ text: ROWS });
  await migrate(db.database, SCHEMA, { logger: silentLogger });
  return db;
}

/** The rows of an older backup in a database that is newer, as a restore leaves them. */
async function restored(): Promise<TestDatabase> {
  const db = await testDatabase();
  await db.database.query({ text: ROWS });
  for (let times = 0; times < 2; times++) {
    await db.database.query({ text: "select dure.settle_tenants()" });
  }
  return db;
}

test.each([
  ["the upgrade", upgraded],
  ["the restore of an older backup", restored],
])("what a tenant's session had before %s stands under its tenant", async (_name, make) => {
  await using db = await make();
  const column = async (text: string): Promise<unknown[]> =>
    (await db.database.query<{ value: unknown }>({ text })).map(({ value }) => value);

  expect(await column("select id as value from dure.sessions order by 1")).toEqual([
    "acme/ceo",
    "job:job_1:eden",
    "plain",
    "room:ruda:web:general",
  ]);
  for (const table of [
    "turns",
    "messages",
    "effects",
    "escalations",
    "budget_sessions",
    "job_notes",
  ]) {
    expect(await column(`select distinct session_id as value from dure.${table}`), table).toEqual([
      "acme/ceo",
    ]);
  }
  expect(await column("select array[origin_session, root_work] as value from dure.jobs")).toEqual([
    ["acme/ceo", "acme/ceo"],
  ]);
  expect(
    await column("select array[ordering, payload->>'session'] as value from dure.outbox"),
  ).toEqual([["acme/ceo", "acme/ceo"]]);
  expect(await column("select subject as value from dure.escalations")).toEqual([
    "approval/acme/ceo/book/hash",
  ]);
  expect(await column("select key as value from dure.effects")).toEqual([
    "ceo/inc000000001/book/1",
  ]);
  expect(
    await column(
      "select coalesce(session, job) || ': ' || coalesce(tenant, 'unknown') as value from " +
        "dure.events order by seq",
    ),
  ).toEqual(["acme/ceo: acme", "plain: ", "gone: unknown", "job_1: acme"]);
});

test(
  "a tenant's session goes on after the upgrade, and its effects keep their keys",
  FULL,
  async () => {
    await using db = await upgraded();
    const keys: string[] = [];
    const book = tool({
      description: "Books.",
      inputSchema: z.object({}),
      effect: "once",
      recover: "ask",
      execute: (_input, { key }) => void keys.push(key),
    });
    const desk = defineService({
      name: "desk",
      agents: {},
      flows: {
        DEFAULT: flow(async (turn) => {
          await turn.call("book", book, {}, { key: ["2"] });
          return turn.done({ message: `heard: ${turn.message}` });
        }),
      },
    });
    await using t = await startTestEngine(desk, { on: db });
    const caller = { tenant: "acme", name: "" };

    for await (const { event } of t.engine.read("turn_now", { caller })) {
      if (event.type === "DONE") break;
    }
    const { history } = await t.engine.session("ceo", { caller });
    const next = await t.engine.turn({ session: "ceo", message: "and on" }, { caller }).done;

    expect(history.map(({ content }) => content)).toEqual([
      "words of then",
      "an answer of then",
      "words of now",
      "heard: words of now",
    ]);
    expect(next.message).toBe("heard: and on");
    expect(keys[0]).toMatch(/^ceo\/inc000000001\//);
    await expect(
      t.engine.session("ceo", { caller: { tenant: "beta", name: "" } }),
    ).rejects.toMatchObject({ code: "SESSION_UNKNOWN" });
  },
);
