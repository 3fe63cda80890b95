/**
 * Sessions, turns, their journal, the effect ledger, escalations, and the functions that write
 * them. Each function is one statement on the wire and one transaction; PL/pgSQL gives every
 * statement inside a fresh snapshot, so a decision is made on what is committed after the lock was
 * taken. Locks are taken in the order session, turn, effect. Why functions:
 * docs/decisions/0004-turns-are-functions-in-the-database.md
 */
export const sql = /* sql */ `
create table dure.sessions (
  id text primary key,
  tenant text not null default '',
  -- Which of the sessions that had this id: one that was forgotten and is made again is
  -- another. Effect keys hold it.
  incarnation text not null default left(replace(gen_random_uuid()::text, '-', ''), 12),
  service text not null,
  locale text,
  time_zone text,
  title text not null default '',
  next_ordinal bigint not null default 1,
  running_turn text,
  queue text[] not null default '{}',
  state jsonb not null default '{}',
  memory jsonb not null default '{}',
  memory_rev bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index sessions_recent
  on dure.sessions (tenant, updated_at desc, id desc);

create table dure.turns (
  id text primary key,
  session_id text not null,
  service text not null,
  version text not null,
  author text not null default 'person',
  status text not null check (status in ('queued', 'running', 'done')),
  holder text,
  epoch integer not null default 1,
  held_at timestamptz not null default clock_timestamp(),
  stop jsonb,
  done jsonb,
  done_seq integer,
  trace_parent text,
  accepted_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
) with (fillfactor = 70);
create index turns_open
  on dure.turns (holder)
  where status = 'running';
create index turns_session on dure.turns (session_id, accepted_at);
create index turns_finished
  on dure.turns (finished_at)
  where status = 'done';

create table dure.messages (
  session_id text not null,
  ordinal bigint not null,
  turn_id text not null,
  -- The turn that was asked for; another one than turn_id when it was merged. A repeated
  -- statement finds its message by it.
  asked text not null,
  author text not null,
  text text not null,
  input jsonb not null default '{}',
  queued boolean not null,
  at timestamptz not null default clock_timestamp(),
  primary key (session_id, ordinal)
);
create index messages_turn on dure.messages (turn_id);

create table dure.turn_events (
  turn_id text not null,
  seq integer not null,
  place text not null,
  type text not null,
  data jsonb not null,
  at timestamptz not null default clock_timestamp(),
  primary key (turn_id, seq)
);

create table dure.idempotency (
  caller text not null,
  path text not null,
  key text not null,
  body_hash text not null,
  turn_id text not null,
  session_id text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (caller, path, key)
);
create index idempotency_age on dure.idempotency (at);

create table dure.completed (
  id bigint generated always as identity primary key,
  session_id text not null,
  turn_id text not null,
  service text not null,
  flow text not null,
  stage text not null,
  data jsonb not null,
  at timestamptz not null default clock_timestamp()
);
create index completed_session on dure.completed (session_id, id desc);

create table dure.effects (
  key text primary key,
  -- Null: the session was forgotten while the outcome of the effect was unknown.
  session_id text,
  turn_id text not null,
  tool text not null,
  input jsonb not null,
  nonce text not null,
  status text not null check (status in ('intent', 'done', 'failed', 'unknown')),
  attempts integer not null default 0,
  sent_at timestamptz,
  result jsonb,
  error jsonb,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index effects_session on dure.effects (session_id);
create index effects_turn on dure.effects (turn_id);
create index effects_orphaned
  on dure.effects (updated_at)
  where session_id is null;

-- With a session go its effects, but those whose outcome is not known: it may still be found
-- out.
create function dure.forget_session_effects() returns trigger language plpgsql as $$
begin
  delete from dure.effects
  where session_id = old.id and status in ('done', 'failed');
  update dure.effects
  set session_id = null, updated_at = clock_timestamp()
  where session_id = old.id;
  return old;
end $$;
create trigger sessions_effects after delete on dure.sessions
  for each row execute function dure.forget_session_effects();

create table dure.escalations (
  id text primary key,
  tenant text not null default '',
  -- What it is about: one is open at a time.
  subject text not null,
  type text not null,
  severity text not null check (severity in ('low', 'medium', 'high', 'critical')),
  status text not null default 'open' check (status in ('open', 'resolved', 'dismissed')),
  run text,
  port text,
  job text,
  room text,
  session_id text,
  turn_id text,
  service text,
  title text not null,
  description text not null default '',
  context jsonb not null default '{}',
  actions jsonb not null default '[]',
  -- {value, note?}
  resolution jsonb,
  resolved_by text,
  resolved_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  used_at timestamptz,
  -- The turn that has used it.
  used_by text,
  -- Who has it, and when the next one is told; null: never.
  step text not null default 'worker' check (step in ('worker', 'operator', 'person')),
  next_step_at timestamptz,
  check ((status = 'open') = (resolution is null))
);
create unique index escalations_open
  on dure.escalations (subject)
  where status = 'open';
create index escalations_subject
  on dure.escalations (subject, created_at desc);
create index escalations_newest
  on dure.escalations (tenant, created_at desc, id desc);
create index escalations_run
  on dure.escalations (run, created_at desc)
  where run is not null;
create index escalations_due
  on dure.escalations (next_step_at)
  where status = 'open' and next_step_at is not null;
create index escalations_expiring
  on dure.escalations (expires_at)
  where status = 'open' and expires_at is not null;

create table dure.model_calls (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  session_id text not null,
  turn_id text not null,
  service text not null,
  agent text not null,
  provider text not null,
  model text not null,
  attempt integer not null,
  prompt_hash text not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  estimated boolean not null,
  cost_micro_usd bigint,
  latency_ms double precision not null,
  error text
);
create index model_calls_at on dure.model_calls (at);
create index model_calls_session on dure.model_calls (session_id);
`;
