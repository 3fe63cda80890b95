/** Two rows that turn out to be one thread of the platform become one. */

import type { Transaction } from "../../durable/database.ts";
import { recordOf, type RoomsSetting } from "../talk.ts";

/**
 * A thread that turns out to be ours was taken for a people's thread, a place of its own, by those
 * who wrote there first. All that was said, observed, asked and joined there is the thread's from
 * now on; the place that stood for it is closed and empty, and leads there. The lines keep their
 * times and follow behind what the thread holds already, so that readers that follow it get them too.
 * Runs in the transaction that records the thread, before its platform's id is known to dure.
 */
export async function mergeDuplicateThread(
  tx: Transaction,
  { directory }: Pick<RoomsSetting, "directory">,
  thread: { readonly place: string; readonly adapter: string; readonly platformId: string },
): Promise<void> {
  const { place, adapter, platformId } = thread;
  const locked = await tx.query<{ id: string }>(LOCK_BOTH, [place, adapter, platformId]);
  const double = locked.find(({ id }) => id !== place)?.id;
  if (double === undefined) return;
  await tx.query(MOVE_GUARDS, [place, double]);
  await tx.query(MOVE_STOP, [`room:loop:${place}`, `room:loop:${double}`]);
  await tx.query(DETACH, [double, place]);
  await tx.query(MOVE_MARKS, [place, double]);
  const lines = await tx.query<MovedLine>(MOVE_LINES, [place, double]);
  await tx.query(COUNT_LINES, [place, lines.length]);
  await tx.query(DROP_RECORDS, [double]);
  for (const line of lines.toSorted((one, other) => one.seq - other.seq).slice(-SLOTS)) {
    // Also those who answered: what they keep word for word stands in another session.
    await tx.query(RECORD, [
      place,
      line.seq,
      line.id,
      line.author_name,
      recordOf(line.text, directory),
      Object.keys(line.roles),
      line.at,
    ]);
  }
  for (const statement of [
    MOVE_WORK,
    MOVE_PARTICIPANTS,
    MOVE_READS,
    MOVE_REQUESTS,
    MOVE_ORIGINS,
    MOVE_ROUTES,
  ]) {
    await tx.query(statement, [place, double]);
  }
}

interface MovedLine {
  readonly id: string;
  readonly seq: number;
  readonly author_name: string;
  readonly text: string;
  readonly roles: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

/** Of a place's ring of records. Source: docs/spec/collaboration §7. */
const SLOTS = 50;

/** The smaller id first, the lock order of all code. */
const LOCK_BOTH = {
  name: "adopt.lock",
  text: `
    select id
    from dure.places
    where id = $1 or (adapter = $2 and thread = $3 and id <> $1 and owner is null)
    order by id
    for update`,
};
/**
 * What agents have said there counts in the thread, and what stopped them stops them; a thread that
 * is closed opens under it (`REOPEN_PLACE`).
 */
const MOVE_GUARDS = {
  name: "adopt.guards",
  text: `
    update dure.places p
    set agent_messages = p.agent_messages + d.agent_messages,
      recent = array(select at from unnest(p.recent || d.recent) at order by at),
      suspended_until = greatest(p.suspended_until, d.suspended_until),
      state = case
        when p.state = 'open' and d.state in ('resting', 'suspended') then d.state
        else p.state
      end
    from dure.places d
    where p.id = $1 and d.id = $2`,
};
/** Lifting the thread answers what was asked there. */
const MOVE_STOP = {
  name: "adopt.stop",
  text: `
    update dure.escalations
    set subject = $1
    where subject = $2
      and status = 'open'
      and not exists (select from dure.escalations where subject = $1 and status = 'open')`,
};
const DETACH = {
  name: "adopt.detach",
  text: `
    update dure.places
    set state = 'closed', closed_because = 'it is the thread ' || $2, moved_to = $2,
      channel = null, thread = null, next_seq = 1
    where id = $1`,
};
/**
 * How far a person has read, where all of the thread was read so far: a mark says that everything
 * before it was.
 */
const MOVE_MARKS = {
  name: "adopt.marks",
  text: `
    update dure.person_reads r
    set seq = p.next_seq - 1 + (
      select count(*)
      from dure.room_messages m
      where m.place = $2 and m.seq <= d.seq
    )
    from dure.places p, dure.person_reads d
    where p.id = $1
      and d.place = $2
      and r.place = $1
      and r.tenant = d.tenant
      and r.person = d.person
      and r.seq >= p.next_seq - 1`,
};
const MOVE_LINES = {
  name: "adopt.lines",
  text: `
    update dure.room_messages m
    set place = $1, seq = p.next_seq - 1 + n.nr
    from dure.places p,
      (
        select id, row_number() over (order by seq) as nr
        from dure.room_messages
        where place = $2
      ) n
    where p.id = $1 and m.id = n.id
    returning m.id, m.seq, m.author_name, m.text, m.roles, m.at`,
};
const COUNT_LINES = {
  name: "adopt.count",
  text: `
    update dure.places
    set next_seq = next_seq + $2::bigint
    where id = $1`,
};
const DROP_RECORDS = {
  name: "adopt.drop_records",
  text: "delete from dure.observations where place = $1",
};
const RECORD = {
  name: "adopt.record",
  text: `
    insert into dure.observations (place, slot, seq, message, sender, excerpt, agents, at)
    values ($1, $2::bigint % 50, $2::bigint, $3, $4, $5, $6, $7)
    on conflict (place, slot)
    do update set seq = excluded.seq, message = excluded.message, sender = excluded.sender,
      excerpt = excluded.excerpt, agents = excluded.agents, at = excluded.at`,
};
/** What has begun goes on in its session, and speaks in the thread. */
const MOVE_WORK = {
  name: "adopt.work",
  text: `
    update dure.handlings
    set place = $1,
      session = case
        when state = 'waiting' and turn is null then 'room:' || agent || ':' || $1
        else session
      end
    where place = $2`,
};
const MOVE_PARTICIPANTS = {
  name: "adopt.participants",
  text: `
    insert into dure.participants (place, agent, since)
    select $1, agent, since
    from dure.participants
    where place = $2
    on conflict do nothing`,
};
const MOVE_READS = {
  name: "adopt.reads",
  text: `
    insert into dure.account_reads (adapter, account, place, platform_id, at)
    select adapter, account, $1, platform_id, at
    from dure.account_reads
    where place = $2
    on conflict do nothing`,
};
const MOVE_REQUESTS = {
  name: "adopt.requests",
  text: "update dure.requests set thread = $1 where thread = $2",
};
/** Those that were asked from there: what is told where they began is told in the thread. */
const MOVE_ORIGINS = {
  name: "adopt.origins",
  text: `
    update dure.requests
    set origin = origin || jsonb_build_object('place', $1::text)
    where origin->>'place' = $2`,
};
const MOVE_ROUTES = {
  name: "adopt.routes",
  text: "update dure.thread_routes set thread = $1 where thread = $2",
};
