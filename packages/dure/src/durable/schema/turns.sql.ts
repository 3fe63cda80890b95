/**
 * Sessions, their turns and what a turn writes: messages, journal, effects, calls of models. The
 * functions that write them lock in the order session, turn, effect. Why functions:
 * docs/decisions/0004-turns-are-functions-in-the-database.md
 */
export const sql = /* sql */ `
create table dure.sessions (
  -- Of a tenant '<tenant>/<id>', so that two tenants may use the same id.
  id text primary key,
  tenant text not null default '',
  -- Differs between sessions that had the same id one after another. Effect keys hold it.
  incarnation text not null default left(replace(gen_random_uuid()::text, '-', ''), 12),
  service text not null,
  locale text,
  time_zone text,
  title text not null default '',
  next_ordinal bigint not null default 1,
  running_turn text,
  -- Turns that wait for the running one.
  queue text[] not null default '{}',
  state jsonb not null default '{}',
  memory jsonb not null default '{}',
  memory_rev bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index sessions_recent on dure.sessions (tenant, updated_at desc, id desc);

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
  -- The state of the session before the turn; null until it ends.
  began jsonb,
  done jsonb,
  done_seq integer,
  trace_parent text,
  accepted_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
) with (fillfactor = 70);
create index turns_open on dure.turns (holder) where status = 'running';
create index turns_session on dure.turns (session_id, accepted_at);
create index turns_finished on dure.turns (finished_at) where status = 'done';

create table dure.messages (
  session_id text not null,
  ordinal bigint not null,
  turn_id text not null,
  -- The turn that was asked for; it differs from turn_id where the message was merged into a
  -- turn that waited. A repeated statement finds its message by it.
  asked text not null,
  author text not null,
  text text not null,
  input jsonb not null default '{}',
  queued boolean not null,
  at timestamptz not null default clock_timestamp(),
  primary key (session_id, ordinal)
);
create index messages_turn on dure.messages (turn_id);

-- The journal.
create table dure.turn_events (
  turn_id text not null,
  seq integer not null,
  place text not null,
  type text not null,
  data jsonb not null,
  at timestamptz not null default clock_timestamp(),
  primary key (turn_id, seq)
);

-- The turn that a caller's key has begun: asking again begins no second one.
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

-- What flows of a session have completed.
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

-- The ledger of effects that are done once.
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
  -- What it has made, beside its result. Null: nothing.
  files jsonb,
  error jsonb,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index effects_session on dure.effects (session_id);
create index effects_turn on dure.effects (turn_id);
create index effects_orphaned on dure.effects (updated_at) where session_id is null;

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
