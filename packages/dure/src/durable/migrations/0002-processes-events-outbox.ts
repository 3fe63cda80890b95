/** Who works (processes, leases), what happened (events), what is to leave (outbox). */
export const sql = /* sql */ `
-- One row per process start. Alive: ended_at is null. Dead: ended_at is set, its work waits for recovery. Done: recovered_at is set.
create table dure.processes (
  id text primary key,
  epoch bigint not null default 1,
  app_version text not null,
  host text not null,
  -- Machine (boot and pid namespace), pid and its start: who shares the machine can see that the process is gone.
  machine text not null,
  pid integer not null,
  pid_started text not null,
  -- What it answers, [{name, busy}]: messages for these may be accepted anywhere.
  services jsonb not null default '[]',
  started_at timestamptz not null default clock_timestamp(),
  renewed_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  ended_because text check (ended_because in ('stopped', 'silent', 'gone')),
  recovering_by text,
  recovered_at timestamptz
);
create index processes_unrecovered on dure.processes (started_at) where recovered_at is null;

create table dure.leases (
  name text primary key,
  holder text,
  epoch bigint not null default 0,
  acquired_at timestamptz,
  renewed_at timestamptz not null default clock_timestamp()
);

-- Facts of this database as a whole: one row.
create table dure.meta (
  singleton boolean primary key default true check (singleton),
  era bigint not null default 1,
  -- The last event that retention removed: a position before it has lost something.
  events_swept_xid xid8 not null default '0',
  events_swept_seq bigint not null default 0,
  -- Turns that ended up to here have no journal any more.
  journals_swept_to timestamptz not null default '-infinity'
);
insert into dure.meta default values;

-- Ordered by (xid, seq): an event that commits late stands behind nothing that was read before it.
create table dure.events (
  xid xid8 not null default pg_current_xact_id(),
  seq bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  type text not null,
  role text not null check (role in ('conversation', 'delegation', 'orchestration', 'system')),
  session text,
  turn text,
  service text,
  agent text,
  room text,
  run text,
  job text,
  data jsonb not null default '{}',
  primary key (xid, seq)
);

-- Appends a JSON array of events in its order, within the caller's transaction.
create function dure.emit(events jsonb) returns void language plpgsql as $$ -- not sql: PostgreSQL before 18 would plan it anew in each turn
begin
  insert into dure.events (type, role, session, turn, service, agent, room, run, job, data)
  select type, role, session, turn, service, agent, room, run, job, coalesce(data, '{}')
    from rows from (jsonb_to_recordset(events) as (
           type text, role text, session text, turn text, service text, agent text, room text, run text, job text, data jsonb
         )) with ordinality as event
   order by ordinality;
end $$;

-- A restored database starts a new era: old positions are void, and restored events come before all new ones.
create function dure.start_era() returns bigint language plpgsql as $$
declare
  new_era bigint;
begin
  update dure.meta set era = era + 1, events_swept_xid = '0', events_swept_seq = 0 returning era into new_era;
  update dure.events set xid = '1';
  return new_era;
end
$$;

-- Removes at most batch events older than keep_ms from the oldest end, and remembers how far.
create function dure.sweep_events(keep_ms double precision, batch integer) returns bigint language sql as $$
  with oldest as materialized (
    select xid, seq, at from dure.events order by xid, seq limit batch
  ), swept as (
    delete from dure.events e using oldest o
     where e.xid = o.xid and e.seq = o.seq and o.at < clock_timestamp() - keep_ms * interval '1 millisecond'
    returning e.xid, e.seq
  ), last as (
    select xid, seq from swept order by xid desc, seq desc limit 1
  ), remembered as (
    update dure.meta set events_swept_xid = last.xid, events_swept_seq = last.seq from last
     where (last.xid, last.seq) > (events_swept_xid, events_swept_seq)
  )
  select count(*) from swept
$$;

create table dure.outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  -- Entries of one topic and ordering key leave one after another.
  ordering text not null,
  key text not null unique,
  payload jsonb not null,
  state text not null default 'pending' check (state in ('pending', 'sending', 'sent', 'failed', 'unknown')),
  attempts integer not null default 0,
  -- Set when an attempt may have reached the outside: the next one looks first.
  in_doubt boolean not null default false,
  next_at timestamptz not null default clock_timestamp(),
  holder text,
  holder_epoch bigint,
  created_at timestamptz not null default clock_timestamp(),
  first_attempt_at timestamptz,
  settled_at timestamptz,
  result jsonb,
  error jsonb
);
create index outbox_open on dure.outbox (topic, ordering, id) where state in ('pending', 'sending');
create index outbox_due on dure.outbox (next_at) where state in ('pending', 'sending');
create index outbox_settled on dure.outbox (settled_at) where state in ('sent', 'failed');

-- Adds a JSON array of entries {topic, ordering, key, payload, delay_ms?}; a key that is there already is left alone.
create function dure.enqueue(entries jsonb) returns void language sql as $$
  insert into dure.outbox (topic, ordering, key, payload, next_at)
  select topic, ordering, key, coalesce(payload, 'null'), clock_timestamp() + coalesce(delay_ms, 0) * interval '1 millisecond'
    from rows from (jsonb_to_recordset(entries) as (
           topic text, ordering text, key text, payload jsonb, delay_ms double precision
         )) with ordinality as entry
   order by ordinality
  on conflict (key) do nothing
$$;
`;
