/**
 * Exchanges between agents (docs/spec/jobs). A job is a row, a finished exchange turn is a row.
 * What happens between two writes is an ordinary turn of a conversation, accepted under a key, with
 * its own journal.
 *
 * A job is held by a process under an epoch on its own row: the process that takes it raises the
 * epoch, and every write of an exchange names the epoch that it was taken under. One statement takes
 * a job and gives it its permit. Locks are taken in the order process, permit, job (ancestors
 * first), turn.
 */
export const sql = /* sql */ `
-- How long the product has run, in milliseconds. It grows while a process ticks, by bounded
-- steps: no job is late because the machine's clock jumped, or because nothing ran at night.
create table dure.job_clock (
  singleton boolean primary key default true check (singleton),
  running_ms bigint not null default 0,
  ticked_at timestamptz not null default clock_timestamp()
);
insert into dure.job_clock default values;

create table dure.jobs (
  id text primary key,
  -- Order of arrival: permits are given by it, and pages are read by it.
  seq bigint generated always as identity,
  tenant text not null default '',
  status text not null default 'PENDING'
    check (status in ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'ABANDONED')),
  outcome text,
  last_error jsonb,
  requester text not null,
  target text not null check (target <> requester),
  message text not null,
  payload jsonb,
  -- {turn, id, name, type, bytes} of each file; turn 0 is the request.
  files jsonb not null default '[]',
  topic text,
  intent text not null,
  conversation_id text not null,
  parent_id text,
  root_id text not null,
  -- The parent's, or the session in which a person set it off.
  root_work text not null,
  depth integer not null default 0,
  retry_of text,
  max_turns integer not null check (max_turns >= 0),
  turns_done integer not null default 0,
  resume_count integer not null default 0,
  resumes integer not null default 0,
  ask_key text,
  body_hash text,
  origin_session text,
  origin_turn text,
  -- 'held': the caller still waits for the answer; 'answered': it has it; 'told': the notice is
  -- in the outbox.
  announced text not null default 'open'
    check (announced in ('open', 'none', 'held', 'answered', 'told')),
  -- By the database's clock; null: no caller waits. The caller's own wait began a little later,
  -- so the end of a job allows for that.
  wait_until timestamptz,
  holder text,
  epoch integer not null default 1,
  held_at timestamptz not null default clock_timestamp(),
  has_permit boolean not null default false,
  -- For a person, or while the agent that is to speak is paused.
  waiting text check (waiting in ('person', 'pause')),
  -- Of the exchange turn under way: its attempt, what the agent is told, and the conversation
  -- turn that runs for it.
  attempt integer not null default 0,
  attempt_input jsonb,
  -- The session's first message that can be this attempt's.
  attempt_from bigint,
  turn_at timestamptz,
  current_turn text,
  attempt_turns text[] not null default '{}',
  -- The conversation turn in which end_conversation was called.
  ended_by_turn text,
  -- {how, by, text}; null: the target has said nothing.
  answer jsonb,
  -- What the tool finish was given in this attempt: {turn, text}.
  finish jsonb,
  -- By dure.job_clock: since when it waits in line, and when it last went forward.
  queued_ms bigint not null,
  progress_ms bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  finished_at timestamptz,
  -- An outcome belongs to its status.
  constraint jobs_outcome check (case status
    when 'COMPLETED' then outcome in (
      'max_turns', 'explicit_skip', 'conclusion',
      'repetition', 'empty_reply', 'minimal_content'
    )
      and turns_done > 0
    when 'FAILED' then outcome in (
      'no_reply', 'blocked', 'turn_timeout',
      'agent_error', 'agent_removed', 'budget'
    )
      and last_error is not null
    when 'CANCELLED' then outcome = 'cancelled'
    when 'ABANDONED' then outcome in ('stale', 'resume_limit')
    else outcome is null end)
) with (fillfactor = 70);
create unique index jobs_seq on dure.jobs (tenant, seq desc);
create unique index jobs_ask on dure.jobs (tenant, ask_key) where ask_key is not null;
create index jobs_pending on dure.jobs (target, seq) where status = 'PENDING';
create index jobs_running on dure.jobs (holder) where status = 'RUNNING';
create index jobs_permits on dure.jobs (target) where has_permit;
create index jobs_status on dure.jobs (tenant, status, seq desc);
create index jobs_target on dure.jobs (tenant, target, seq desc);
create index jobs_requester on dure.jobs (tenant, requester, seq desc);
create index jobs_waiting on dure.jobs (target, seq) where waiting is not null;
create index jobs_conversation on dure.jobs (conversation_id, seq desc);
create index jobs_parent on dure.jobs (parent_id) where parent_id is not null;
create index jobs_root on dure.jobs (root_id);
create index jobs_work on dure.jobs (root_work, seq desc);
create index jobs_finished on dure.jobs (finished_at) where finished_at is not null;
create index jobs_held_notice on dure.jobs (wait_until) where announced = 'held';
create index jobs_origin_turn on dure.jobs (origin_turn) where origin_turn is not null;

create table dure.job_turns (
  job_id text not null references dure.jobs (id) on delete cascade,
  number integer not null,
  speaker text not null,
  text text not null,
  tokens_in bigint not null default 0,
  tokens_out bigint not null default 0,
  cost_micro_usd bigint,
  turn_id text,
  attempts integer not null default 1,
  started_at timestamptz not null,
  finished_at timestamptz not null default clock_timestamp(),
  primary key (job_id, number)
);

-- What people said into an exchange; turn_number is the exchange turn that was told it.
create table dure.job_words (
  id bigint generated always as identity primary key,
  job_id text not null references dure.jobs (id) on delete cascade,
  author text not null,
  text text not null,
  turn_number integer,
  at timestamptz not null default clock_timestamp()
);
create index job_words_job on dure.job_words (job_id, id);

-- What came of background work that an agent asked for in this exchange. turn_number is the
-- exchange turn that was told it.
create table dure.job_results (
  job_id text not null references dure.jobs (id) on delete cascade,
  child_id text not null,
  agent text not null,
  turn_number integer,
  at timestamptz not null default clock_timestamp(),
  primary key (job_id, child_id)
);
create index job_results_untold on dure.job_results (job_id) where turn_number is null;

-- What came of background work that a session asked for, where no turn is made for it. turn_id
-- is the next turn of the session, which tells it.
create table dure.job_notes (
  session_id text not null references dure.sessions (id) on delete cascade,
  job_id text not null references dure.jobs (id) on delete cascade,
  turn_id text,
  at timestamptz not null default clock_timestamp(),
  primary key (session_id, job_id)
);
create index job_notes_job on dure.job_notes (job_id);

-- Since when all permits of an agent are given away, by dure.job_clock. No row: some are free.
create table dure.job_lines (
  target text primary key,
  full_since_ms bigint not null
);
`;
