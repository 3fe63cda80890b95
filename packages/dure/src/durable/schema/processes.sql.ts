/** Who works (releases, processes, leases), what happened (events), what is to leave (outbox). */
export const sql = /* sql */ `
-- Which release has put its functions here, and which may work here: one row. Why:
-- docs/decisions/0016-sql-has-an-address.md
create table dure.release (
  singleton boolean primary key default true check (singleton),
  -- Of the functions; a greater one is newer. 0: none are here yet.
  number integer not null default 0,
  -- A process of a release with a smaller number does not start.
  oldest integer not null default 0,
  checksum text not null default '',
  -- Of the package, for people.
  version text not null default '',
  at timestamptz not null default clock_timestamp()
);
insert into dure.release default values;

-- One row per start of a process. It is alive while ended_at is null. Once ended_at is set, its
-- work waits for recovery, until recovered_at is set.
create table dure.processes (
  id text primary key,
  epoch bigint not null default 1,
  app_version text not null,
  release integer not null default 0,
  host text not null,
  -- The machine is a boot and a pid namespace. With the pid and its start, a process on the
  -- same machine can see that this one is gone.
  machine text not null,
  pid integer not null,
  pid_started text not null,
  -- What it answers: [{name, busy}]. Any process accepts messages for these.
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
  -- The last event that retention removed: a reader at an earlier position has missed events.
  events_swept_xid xid8 not null default '0',
  events_swept_seq bigint not null default 0,
  -- Turns that ended before this have no journal any more.
  journals_swept_to timestamptz not null default '-infinity'
);
insert into dure.meta default values;

-- In the order of (xid, seq): an event that commits late never comes before one that was
-- already read.
create table dure.events (
  xid xid8 not null default pg_current_xact_id(),
  seq bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  type text not null,
  -- Whose event it is. Null: what it is about is gone; only a reader of all tenants sees it.
  tenant text,
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

-- How far a follower of the event log has read; moved in the transaction of what it did with
-- the event.
create table dure.cursors (
  name text primary key,
  position text not null,
  at timestamptz not null default clock_timestamp()
);

create table dure.outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  -- Entries of one topic with the same ordering leave one after another.
  ordering text not null,
  key text not null unique,
  payload jsonb not null,
  state text not null default 'pending'
    check (state in ('pending', 'sending', 'sent', 'failed', 'unknown')),
  attempts integer not null default 0,
  -- An attempt may have reached the outside: the next one looks first.
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
`;
