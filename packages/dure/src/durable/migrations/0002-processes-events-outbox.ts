/** Who works (processes, leases), what happened (events), what is to leave (outbox). */
export const sql = /* sql */ `
-- One row per process start. Alive: ended_at is null. Dead: ended_at is set, its work waits for
-- recovery. Done: recovered_at is set.
create table dure.processes (
  id text primary key,
  epoch bigint not null default 1,
  app_version text not null,
  host text not null,
  -- Machine (boot and pid namespace), pid and its start: who shares the machine can see that
  -- the process is gone.
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
create index processes_unrecovered
  on dure.processes (started_at)
  where recovered_at is null;

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

-- Ordered by (xid, seq): an event that commits late stands behind nothing that was read before
-- it.
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

create table dure.outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  -- Entries of one topic and ordering key leave one after another.
  ordering text not null,
  key text not null unique,
  payload jsonb not null,
  state text not null default 'pending'
    check (state in ('pending', 'sending', 'sent', 'failed', 'unknown')),
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
create index outbox_open
  on dure.outbox (topic, ordering, id)
  where state in ('pending', 'sending');
create index outbox_due
  on dure.outbox (next_at)
  where state in ('pending', 'sending');
create index outbox_settled
  on dure.outbox (settled_at)
  where state in ('sent', 'failed');
`;
