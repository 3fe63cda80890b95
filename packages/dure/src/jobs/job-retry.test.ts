// @module-tag slow
import type { AttemptRules } from "../engine/agent/agent-environment.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { tool } from "../engine/agent/tool.ts";
import { codeOf } from "../kernel/errors.ts";
import { hanging, talkative, startTestTeam, type TestAgent, type TestTeam } from "./test-jobs.ts";
import { sessionOf, type JobDetail } from "./job.ts";

/** Patience in these tests is a tenth of a second. */
const ENGINE = {
  patienceMs: () => 150,
  outageRetry: { firstMs: 10, maxMs: 20 },
  attemptRules: () => undefined,
};
const REQUEST = { requester: "ruda", agent: "eden", message: "Pay mina", maxTurns: 1 };

interface Bank {
  readonly paid: string[];
  /** What the model answers behind the payment. */
  after: TestAgent;
}
const AWAY: TestAgent = () => ({ text: "", error: { status: 503 } });
const BACK: TestAgent = () => "Mina has got the payment.";

type More = Partial<Parameters<typeof startTestTeam>[0]> & { readonly ruda?: TestAgent };

/** Eden pays once, and its model is away when it is to say so. */
function startBank(
  bank: Bank,
  url: string,
  { ruda = talkative, ...more }: More = {},
): Promise<TestTeam> {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({}),
    effect: "once",
    execute: (_args, { key }) => `receipt ${bank.paid.push(key)}`,
  });
  const eden: TestAgent = (request, context) =>
    request.messages.at(-1)?.role === "tool"
      ? bank.after(request, context)
      : { toolCalls: [{ name: "pay", args: {} }] };
  return startTestTeam({
    url,
    agents: { ruda, eden },
    tools: () => ({ pay }),
    engine: ENGINE,
    ...more,
  });
}

async function ended(team: TestTeam, id: string): Promise<JobDetail> {
  await expect
    .poll(async () => (await team.jobs.get(id)).finishedAt, { timeout: 20_000 })
    .not.toBeNull();
  return team.jobs.get(id);
}

async function typesOf(db: TestDatabase, id: string): Promise<readonly string[]> {
  const rows = await db.database.query<{ type: string }>(
    { text: "select type from dure.events where job = $1 order by xid, seq" },
    [id],
  );
  return rows.map(({ type }) => type);
}

test("a job goes on from its journal after a retry: what it had done is not done again", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url);
  const { jobId } = await team.jobs.ask(REQUEST);
  expect(await team.jobs.get(jobId)).toMatchObject({
    status: "FAILED",
    lastError: { code: "MODEL_SERVER_ERROR", retry: true },
  });

  bank.after = BACK;
  const again = await team.jobs.retry(jobId, { by: "mina" });

  expect(again.jobId).toBe(jobId);
  expect(await ended(team, jobId)).toMatchObject({
    status: "COMPLETED",
    turns: [{ text: "Mina has got the payment." }],
  });
  expect(bank.paid).toHaveLength(1);
  expect((await team.jobs.list()).items).toHaveLength(1);
  expect(await typesOf(db, jobId)).toEqual([
    "job.accepted",
    "job.started",
    "job.failed",
    "job.retried",
    "job.started",
    "job.turn",
    "job.completed",
  ]);
});

test("two processes that retry a job at once make one retry, with one effect", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url);
  await using other = await startBank(bank, db.url);
  const { jobId } = await team.jobs.ask(REQUEST);

  bank.after = BACK;
  const all = await Promise.all([team, other, team].map(({ jobs }) => jobs.retry(jobId)));

  expect(new Set(all.map((job) => job.jobId))).toEqual(new Set([jobId]));
  expect(await ended(team, jobId)).toMatchObject({ status: "COMPLETED" });
  expect((await typesOf(db, jobId)).filter((type) => type === "job.retried")).toHaveLength(1);
  expect(bank.paid).toHaveLength(1);
});

test("a retry while the model is still away ends again, and can be retried again", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url);
  const { jobId } = await team.jobs.ask(REQUEST);

  await team.jobs.retry(jobId);
  const second = await ended(team, jobId);
  bank.after = BACK;
  await team.jobs.retry(jobId);

  expect(second).toMatchObject({ status: "FAILED", lastError: { retry: true } });
  expect(await ended(team, jobId)).toMatchObject({ status: "COMPLETED" });
  expect(bank.paid).toHaveLength(1);
});

test("a job that is late goes on from its journal after a retry, with one effect", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: hanging };
  await using team = await startBank(bank, db.url, { jobs: { limits: { firstReplyMs: 1_500 } } });
  const { jobId } = await team.jobs.ask(REQUEST);
  expect(await team.jobs.get(jobId)).toMatchObject({
    outcome: "no_reply",
    lastError: { code: "JOB_TURN_TIMEOUT", retry: true },
  });

  bank.after = BACK;
  await team.jobs.retry(jobId);

  expect(await ended(team, jobId)).toMatchObject({ status: "COMPLETED" });
  expect(bank.paid).toHaveLength(1);
});

test("a job that was given up goes on from its journal after a retry, with one effect", async () => {
  await using db = await testDatabase();
  const begun = Promise.withResolvers<void>();
  const bank: Bank = {
    paid: [],
    after: (...call) => {
      begun.resolve();
      return hanging(...call);
    },
  };
  await using team = await startBank(bank, db.url);
  const { jobId } = await team.jobs.ask({ ...REQUEST, waitSec: 0 });
  await begun.promise;
  await db.database.query({
    text: "update dure.job_clock set running_ms = running_ms + 3605000",
  });
  await db.database.query({ text: "select dure.abandon_stale_jobs(3600000)" });

  bank.after = BACK;
  // its turn is being stopped first
  await expect
    .poll(() => team.jobs.retry(jobId).then((job) => job.jobId, codeOf), { timeout: 20_000 })
    .toBe(jobId);

  expect(await ended(team, jobId)).toMatchObject({ status: "COMPLETED" });
  expect(bank.paid).toHaveLength(1);
});

test("a turn that has acted and cannot go on is not led again: the retry is refused", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: () => ({ error: { status: 403 } }) };
  await using team = await startBank(bank, db.url);
  const { jobId } = await team.jobs.ask(REQUEST);

  const refusal = await team.jobs.retry(jobId).catch(codeOf);

  expect(refusal).toBe("JOB_NOT_RETRYABLE");
  expect((await team.jobs.get(jobId)).lastError?.retry).toBeUndefined();
  expect(bank.paid).toHaveLength(1);
});

test("a job that a person has cancelled or whose turn a person has stopped is not opened again", async () => {
  await using db = await testDatabase();
  await using team = await startBank({ paid: [], after: BACK }, db.url, { ruda: hanging });
  const request = { requester: "eden", agent: "ruda", message: "How long?", waitSec: 0 };
  const { jobId: stopped } = await team.jobs.ask(request);
  await expect.poll(() => team.asked["ruda"]?.length).toBe(1);
  const [turn] = await db.database.query<{ id: string }>({ text: "select id from dure.turns" });
  await team.engine.stopTurn(turn!.id, { caller: { tenant: "", name: "mina" } });
  await ended(team, stopped);
  await team.pauses.pause("ruda", "mina");
  const { jobId: cancelled } = await team.jobs.ask(request);
  await team.jobs.cancel(cancelled, { by: "mina" });

  for (const id of [stopped, cancelled]) {
    expect(await team.jobs.retry(id).catch(codeOf)).toBe("JOB_NOT_RETRYABLE");
    expect((await team.jobs.get(id)).lastError?.retry).toBeUndefined();
  }
  expect((await team.jobs.list({ status: "PENDING" })).items).toEqual([]);
});

test("the turn of a job that is over is opened through its job alone", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url);
  const { jobId } = await team.jobs.ask(REQUEST);
  const [turn] = await db.database.query<{ id: string }>({ text: "select id from dure.turns" });

  expect(await team.engine.retryTurn(turn!.id).catch(codeOf)).toBe("TURN_NOT_RETRYABLE");
  expect(await team.jobs.get(jobId)).toMatchObject({ status: "FAILED" });
});

test("a job of another tenant is not opened, whatever id is handed in", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url);
  const { jobId } = await team.jobs.ask({ ...REQUEST, tenant: "acme" });
  const statement = { text: "select dure.retry_job($1, 'other', '') as how" };

  expect(await team.jobs.retry(jobId, { tenant: "other" }).catch(codeOf)).toBe("JOB_UNKNOWN");
  expect(await db.database.query(statement, [jobId])).toEqual([{ how: null }]);
  expect(await team.jobs.get(jobId, { tenant: "acme" })).toMatchObject({ status: "FAILED" });
});

test("a retried job waits for its permit, and its turn with it", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url);
  const { jobId } = await team.jobs.ask(REQUEST);
  await team.pauses.pause("eden", "mina");

  await team.jobs.retry(jobId);

  expect(await db.database.query({ text: "select status, holder from dure.turns" })).toEqual([
    { status: "running", holder: "parked" },
  ]);
  expect(await team.jobs.get(jobId)).toMatchObject({ status: "PENDING" });
  bank.after = BACK;
  await team.pauses.resume("eden", "mina");
  expect(await ended(team, jobId)).toMatchObject({ status: "COMPLETED" });
});

test("the place that was told of the failure is told once what came of the retry", async () => {
  await using db = await testDatabase();
  const told: { status: string; told: unknown }[] = [];
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url);
  team.outbox.handle("job.announce", {
    policy: { attempts: 1, firstRetryMs: 10, timeoutMs: 1_000 },
    send: async (payload) => {
      const { status, error } = payload as { status: string; error: { told?: true } | null };
      told.push({ status, told: error?.told });
    },
  });
  await team.engine.turn({ session: "s1", service: "ruda", message: "hello" }).done;
  const origin = { session: "s1" };
  const { jobId } = await team.jobs.ask({ ...REQUEST, origin, waitSec: 0 });
  await expect.poll(() => told.length, { timeout: 10_000 }).toBe(1);

  bank.after = BACK;
  await team.jobs.retry(jobId);

  await ended(team, jobId);
  await expect
    .poll(() => told, { timeout: 10_000 })
    .toEqual([
      { status: "FAILED", told: undefined },
      { status: "COMPLETED", told: true },
    ]);
});

test("a notice that has not left when the job is retried is taken back: one result is told", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url);
  await team.engine.turn({ session: "s1", service: "ruda", message: "hello" }).done;
  const { jobId } = await team.jobs.ask({ ...REQUEST, origin: { session: "s1" }, waitSec: 0 });
  await ended(team, jobId);

  bank.after = BACK;
  await team.jobs.retry(jobId);
  await ended(team, jobId);

  const notices = await db.database.query({
    text: "select payload->>'status' as status, payload->'error'->'told' as told from dure.outbox where topic = 'job.announce'",
  });
  expect(notices).toEqual([{ status: "COMPLETED", told: null }]);
});

test("an agent that was told in its exchange of a failure is told there what came of the retry", async () => {
  await using db = await testDatabase();
  const bank: Bank = { paid: [], after: AWAY };
  await using team = await startBank(bank, db.url, { ruda: hanging });
  const { jobId: parent } = await team.jobs.ask({
    requester: "eden",
    agent: "ruda",
    message: "Let's discuss: it",
    waitSec: 0,
  });
  await expect.poll(() => team.asked["ruda"]?.length).toBe(1);
  const { jobId } = await team.jobs.ask({
    ...REQUEST,
    origin: { session: sessionOf(parent, "ruda") },
    waitSec: 0,
  });
  await ended(team, jobId);
  await db.database.query({ text: "update dure.job_results set turn_number = 1" });

  bank.after = BACK;
  await team.jobs.retry(jobId);
  await ended(team, jobId);

  expect(
    await db.database.query({ text: "select child_id, turn_number from dure.job_results" }),
  ).toEqual([{ child_id: jobId, turn_number: null }]);
});

test("further attempts of a call behind an effect go on in the same turn, with one effect", async () => {
  await using db = await testDatabase();
  let calls = 0;
  const bank: Bank = {
    paid: [],
    after: (request, context) => (++calls < 4 ? AWAY : BACK)(request, context),
  };
  const attemptRules = (): AttemptRules => ({
    maxAttempts: 4,
    pauseMs: () => 1,
    idleTimeoutSec: 60,
    repeatsShown: true,
    finals: [],
  });
  await using team = await startBank(bank, db.url, {
    engine: { ...ENGINE, patienceMs: () => 0, attemptRules },
  });
  const { jobId, status } = await team.jobs.ask(REQUEST);

  expect(status).toBe("ok");
  expect((await team.jobs.get(jobId)).turns).toMatchObject([{ attempts: 4 }]);
  expect(
    await db.database.query({ text: "select count(*)::int as turns from dure.turns" }),
  ).toEqual([{ turns: 1 }]);
  expect(bank.paid).toHaveLength(1);
});
