import { setTimeout as sleep } from "node:timers/promises";
import type { BankReport, Double } from "./doubles.ts";
import {
  checkCalls,
  checkFollower,
  checkJob,
  checkLives,
  checkPayments,
  checkRoom,
  checkStream,
  type JobRow,
  type RoomMessage,
  type RoomWork,
} from "./invariants.ts";
import type { Load } from "./load.ts";
import { checkRun, type StoredRun } from "./plans.ts";
import type { Cluster } from "./postgres.ts";
import type { ModelCall } from "./provider.ts";
import type { Server } from "./servers.ts";
import type { Violation } from "./violations.ts";

export interface Checked {
  readonly load: Load;
  readonly servers: readonly Server[];
  readonly cluster: Cluster;
  readonly bank: Double;
  readonly provider: Double;
  readonly repository: { readonly folder: string; readonly base: string };
}

/** What the checks counted beside violations. */
export interface Counts {
  readonly [what: string]: number;
}

/**
 * Work that is not over, by table. An effect that a person is asked about is over for the machine.
 */
const OPEN = `
  select 'turn' as what, id, session_id as about from dure.turns where status <> 'done'
  union all select 'handling', id, coalesce(message, turn) from dure.handlings where state <> 'done'
  union all select 'job', id, message from dure.jobs where status in ('PENDING', 'RUNNING')
  union all select 'outbox', id::text, topic || ' ' || key from dure.outbox where state in ('pending', 'sending')
  union all select 'effect', key, turn_id from dure.effects e where status = 'intent'
    and not exists (select 1 from dure.escalations x where x.session_id = e.session_id and x.status = 'open')
  union all select 'run', id, plan from dure.plan_runs where status in ('running', 'paused', 'cancelling', 'waiting_host')
  union all select 'process', id, coalesce(ended_because, 'silent') from dure.processes
    where recovered_at is null and (ended_at is not null or renewed_at < clock_timestamp() - interval '20 s')`;

/** Waits until nothing is open, at most `patienceMs`; what still is open is stuck. */
export async function untilQuiet(
  cluster: Pick<Cluster, "ask">,
  patienceMs: number,
): Promise<readonly Violation[]> {
  const giveUpAt = performance.now() + patienceMs;
  for (;;) {
    const open = await cluster
      .ask<{ what: string; id: string; about: string }>(OPEN)
      .catch(() => undefined);
    if (open?.length === 0) return [];
    if (open && performance.now() > giveUpAt) {
      return open.map(({ what, id, about }) => ({
        invariant: "stuck" as const,
        text:
          `the ${what} ${id} (${about}) is not over ${Math.round(patienceMs / 1_000)} s after the last ` +
          "fault",
        ids: [id, about],
      }));
    }
    await sleep(500);
  }
}

/** The position of the newest event of the log. */
export async function lastEvent(cluster: Cluster): Promise<string> {
  const ids = await eventIds(cluster);
  return ids.at(-1) ?? "";
}

async function eventIds(cluster: Cluster): Promise<readonly string[]> {
  const rows = await cluster.ask<{ id: string }>(
    "select format('%s.%s.%s', (select era from dure.meta), xid, seq) as id from dure.events " +
      "order by xid, seq",
  );
  return rows.map(({ id }) => id);
}

/** Everything that is looked at when all is quiet. */
export async function checkAll(
  world: Checked,
): Promise<{ violations: readonly Violation[]; counts: Counts }> {
  const { load, servers, bank, provider } = world;
  const report = await bank.report<BankReport>();
  const calls = await provider.report<readonly ModelCall[]>();
  const lives = servers.flatMap((server) => server.lives);
  const paid = checkCalls(calls, lives);
  const violations = [
    ...checkPayments(load.payments, report.bookings),
    ...(await checkStreams(world)),
    ...(await checkRooms(world)),
    ...(await checkJobs(world)),
    ...(await checkRuns(world)),
    ...(await checkFollowers(world)),
    ...paid.violations,
    ...checkLives(lives),
  ];
  const finished = calls.filter(({ finishedAt }) => finishedAt !== undefined);
  const counts = {
    payments: load.payments.length,
    bookings: report.bookings.length,
    "bank orders": report.orders,
    "bank keys honoured": report.keysHonoured,
    "bank probes": report.probes,
    "room posts": load.posts.length,
    jobs: load.jobs.length,
    "plan runs": load.runs.length,
    "plan runs that succeeded": await countSuccessful(world),
    "model calls finished": finished.length,
    "model calls begun": calls.length,
    "paid twice, excused": paid.excused,
    "turns ended with an error": load.payments
      .flatMap(({ turns }) => turns)
      .filter(({ done }) => done?.error).length,
    "stream connections": load.payments
      .flatMap(({ turns }) => turns)
      .reduce((sum, { connections }) => sum + connections, 0),
    "events followed": load.followers.reduce((sum, { ids }) => sum + ids.length, 0),
    "follower connections": load.followers.reduce((sum, { connections }) => sum + connections, 0),
    "lives of servers": lives.length,
    "lives fenced": lives.filter(({ exitCode }) => exitCode === 75).length,
  };
  return { violations, counts };
}

async function checkStreams({ load, cluster }: Checked): Promise<readonly Violation[]> {
  const rows = await cluster.ask<{ turn: string; event: string }>(
    `select turn_id as turn, format('%s.%s %s', turn_id, seq, type) as event from (
       select turn_id, seq, type from dure.turn_events where type <> 'RECORD'
       union all select id, done_seq, 'DONE' from dure.turns where done is not null) as stored
     order by turn_id, seq`,
  );
  const stored = Map.groupBy(rows, ({ turn }) => turn);
  return load.payments
    .flatMap(({ turns }) => turns)
    .flatMap((turn) =>
      checkStream(
        turn,
        (stored.get(turn.turnId ?? "") ?? []).map(({ event }) => event),
      ),
    );
}

async function checkRooms({ load, cluster }: Checked): Promise<readonly Violation[]> {
  const found: Violation[] = [];
  for (const [room, posts] of Map.groupBy(load.posts, (post) => post.room)) {
    const messages = await cluster.ask<RoomMessage>(
      "select id, seq::integer as seq, author, text from dure.room_messages where place = $1 order by seq",
      [room],
    );
    const work = await cluster.ask<RoomWork>(
      "select message, agent, outcome, turn from dure.handlings where place = $1 and message is not null",
      [room],
    );
    found.push(...checkRoom(posts, messages, work));
  }
  return found;
}

async function checkJobs({ load, cluster }: Checked): Promise<readonly Violation[]> {
  const rows = await cluster.ask<JobRow>(
    `with told as (
       select e.job, count(*)::integer as times from dure.events e
        where e.type in ('job.completed', 'job.failed', 'job.cancelled', 'job.abandoned') group by e.job)
     select j.id, j.message, j.status, j.outcome, j.turns_done as turns, j.last_error as error,
            j.id in (select e.job from dure.escalations e where e.job is not null) as asked,
            coalesce(told.times, 0) as told
       from dure.jobs j left join told on told.job = j.id`,
  );
  return load.jobs.flatMap((job) => checkJob(job, rows));
}

async function checkRuns({
  load,
  cluster,
  repository: { folder, base },
}: Checked): Promise<readonly Violation[]> {
  const stored = await cluster.ask<StoredRun>(
    `select r.id, r.status, r.report, coalesce((select array_agg(p.id order by p.position) from dure.plan_ports p where p.run = r.id and p.status = 'succeeded'), '{}') as succeeded
       from dure.plan_runs r order by r.seq`,
  );
  const lost = load.runs.filter((id) => !stored.some((run) => run.id === id));
  const found = await Promise.all(stored.map((run) => checkRun(run, folder, base)));
  const more =
    stored.length > load.runs.length
      ? [
          {
            invariant: "plan" as const,
            text: `${load.runs.length} runs were accepted, and ${stored.length} stand there`,
            ids: stored.map(({ id }) => id),
          },
        ]
      : [];
  return [
    ...found.flat(),
    ...more,
    ...lost.map((id): Violation => ({
      invariant: "plan",
      text: `${id} was accepted, and is not there`,
      ids: [id],
    })),
  ];
}

async function countSuccessful({ cluster }: Checked): Promise<number> {
  return (await cluster.ask("select 1 from dure.plan_runs where status = 'success'")).length;
}

async function checkFollowers({ load, cluster }: Checked): Promise<readonly Violation[]> {
  const stored = await eventIds(cluster);
  // What is written while this is read stands behind the last event that each was to read.
  return load.followers.flatMap((follower, index) =>
    checkFollower(
      `follower-${index + 1}`,
      follower.ids,
      stored.slice(0, stored.indexOf(follower.last ?? "") + 1),
    ),
  );
}
