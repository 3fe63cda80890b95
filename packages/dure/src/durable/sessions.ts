import type { Duration } from "../kernel/duration.ts";
import type { Database, Transaction } from "./database.ts";
import type { SweepRule } from "./retention.ts";

/**
 * Deletes a session without a running turn. A later session with its id finds none of its messages.
 * False: there is no such session of this tenant, or it is answering.
 *
 * These rows stay: effects with unknown outcome and their escalations; hooks until they are
 * delivered; usage numbers of model calls; jobs that the session requested, without their origin.
 */
export async function forgetSession(
  database: Database,
  id: string,
  tenant: string,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    const gone = await tx.query(
      {
        text: `
          delete from dure.sessions
          where id = $1 and tenant = $2 and running_turn is null
          returning id`,
      },
      [id, tenant],
    );

    if (gone.length === 0) return false;

    await forgetContents(tx, [id]);

    return true;
  });
}

/**
 * Takes back what a session asked, where that is still its question: its person has left it, and
 * the calls that it asked a yes for, which its next turn is told. Not while a turn runs, whose own
 * end takes it back, and not one whose effect has begun. Undefined: there is no such session of
 * this tenant; null stands for any.
 */
export async function takeBackQuestion(
  database: Database,
  { id, tenant, question }: { id: string; tenant: string | null; question: string },
): Promise<boolean | undefined> {
  const [row] = await database.query<{ is_known: boolean; is_taken_back: boolean }>(
    {
      name: "take_back_question",
      text: `with asked as (
          select state->'question'->'approvals' as subjects
          from dure.sessions
          where id = $1
        ),
        about as (
          select e.id, jsonb_build_object('id', e.id, 'type', e.type, 'subject', e.subject,
            'answer', 'left', 'context', e.context) as told
          from asked
          join dure.escalations e on asked.subjects ? e.subject
          where e.session_id = $1
            and e.status = 'open'
            and e.context->>'by' = 'person'
          order by e.created_at, e.id
        ),
        left_open as (
          select jsonb_build_object('left', jsonb_agg(told)) as told
          from about
          having count(*) > 0
        ),
        taken as (
          update dure.sessions
          set state = (state - 'question') || coalesce((select told from left_open), '{}')
          where id = $1
            and ($2::text is null or tenant = $2)
            and running_turn is null
            and state->'question'->>'id' = $3
            and not coalesce((state->'question'->>'begun')::boolean, false)
          returning 1
        ),
        closed as (
          select dure.close_escalation(about.id, 'dismissed', '{"value": "left"}', 'person')
          from taken, about
        ),
        known as (
          select id
          from dure.sessions
          where id = $1 and ($2::text is null or tenant = $2)
        )
        select exists (select from taken) as is_taken_back, exists (select from known) as is_known,
          (select count(*) from closed) as closed`,
    },
    [id, tenant, question],
  );
  return row!.is_known ? row!.is_taken_back : undefined;
}

/**
 * Removes the journals of turns that ended long ago; the turns themselves stay. It visits turns in
 * the order in which they ended and stores its position. So the cost of a sweep depends on what it
 * removes, not on what is kept.
 */
export function journalRule(keep: Duration): SweepRule {
  return { name: "turn-events", keep, bite: JOURNALS_AT_ONCE, sweep: sweepJournals };
}

/**
 * Turns per transaction, which ends within 5 s: one of 200 steps has some 400 rows.
 */
const JOURNALS_AT_ONCE = 200;

async function sweepJournals(
  tx: Transaction,
  { keepMs, limit }: { keepMs: number; limit: number },
): Promise<number> {
  const [row] = await tx.query<{ turns: number }>(
    {
      name: "retention.journals",
      text: `with aged as materialized (
               select id, finished_at from dure.turns
                where status = 'done' and finished_at > (select journals_swept_to from dure.meta)
                  and finished_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
                order by finished_at fetch first ($2::integer) rows with ties
             ), told as (
               delete from dure.turn_journal
               where turn_id = any(array(select id from aged))
             ), remembered as (update dure.meta
               set journals_swept_to = (select max(finished_at) from aged)
               where exists (select from aged))
             select count(*) as turns from aged`,
    },
    [keepMs, limit],
  );
  return row?.turns ?? 0;
}

/**
 * Rules for a team that says how long conversations are kept. Sessions of jobs go with their jobs.
 */
export function sessionRules(keep: {
  readonly sessions?: Duration | undefined;
  readonly turns?: Duration | undefined;
}): readonly SweepRule[] {
  const { sessions, turns } = keep;
  return [
    ...(sessions === undefined
      ? []
      : [{ name: "sessions", keep: sessions, bite: SESSIONS_AT_ONCE, sweep: sweepSessions }]),
    ...(turns === undefined ? [] : [{ name: "turns", keep: turns, sweep: sweepTurns }]),
  ];
}

/**
 * Sessions per transaction, which ends within 5 s: each may have thousands of turns.
 */
const SESSIONS_AT_ONCE = 50;

async function sweepSessions(
  tx: Transaction,
  { keepMs, limit }: { keepMs: number; limit: number },
): Promise<number> {
  const gone = await tx.query<{ id: string }>(
    {
      text: `
               delete from dure.sessions
               where running_turn is null and id in (
               select id from dure.sessions
                where updated_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
                  and running_turn is null
                  and id not like 'job:%'
                order by updated_at limit $2 for update skip locked)
             returning id`,
    },
    [keepMs, limit],
  );

  if (gone.length > 0) {
    await forgetContents(
      tx,
      gone.map(({ id }) => id),
    );
  }

  return gone.length;
}

/**
 * Removes turns, their messages and files. The session keeps its state, memory, finished flows and
 * effects.
 */
async function sweepTurns(
  tx: Transaction,
  { keepMs, limit }: { keepMs: number; limit: number },
): Promise<number> {
  const [row] = await tx.query<{ removed: number }>(
    {
      text: `with aged as (
               select id from dure.turns
                where status = 'done'
                  and finished_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
                  and session_id not like 'job:%'
                order by finished_at limit $2 for update skip locked
             ), said as (delete from dure.messages where turn_id in (select id from aged)
             ), told as (delete from dure.turn_journal where turn_id in (select id from aged)
             ), carried as (delete from dure.files where turn_id in (select id from aged)
             ), removed as (delete from dure.turns where id in (select id from aged) returning 1)
             select count(*) as removed from removed`,
    },
    [keepMs, limit],
  );
  return row?.removed ?? 0;
}

/** Of sessions whose rows are gone, and with them their effects and budgets. */
async function forgetContents(tx: Transaction, ids: readonly string[]): Promise<void> {
  for (const text of [
    `
      delete from dure.turn_journal
      where turn_id in (select id from dure.turns where session_id = any($1))`,
    ...["turns", "messages", "completed", "idempotency"].map(
      (table) => `delete from dure.${table} where session_id = any($1)`,
    ),
    // A person must still answer whether the effect happened. The answer wakes no turn.
    `update dure.escalations
      set session_id = null, turn_id = null
      where session_id = any($1) and type = 'effect_unknown' and status = 'open'`,
    "delete from dure.escalations where session_id = any($1)",
    // Events of a job, a run or a room stay with it.
    `update dure.events
      set session = null, turn = null
      where session = any($1) and (job is not null or run is not null or room is not null)`,
    "delete from dure.events where session = any($1)",
    `
      update dure.jobs
      set origin_session = null, origin_turn = null
      where origin_session = any($1)`,
    `delete from dure.outbox
      where ordering = any($1)
        and (topic = 'hook' and state not in ('pending', 'sending')
          or topic = 'job.announce' and state <> 'sending')`,
  ]) {
    await tx.query({ text }, [ids]);
  }
}
