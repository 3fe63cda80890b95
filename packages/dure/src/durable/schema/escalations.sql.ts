/** Requests for a decision, their steps from worker to person, and the answers. */
export const sql = /* sql */ `
create table dure.escalations (
  id text primary key,
  tenant text not null default '',
  -- What it is about: at most one of a subject is open.
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
  -- The turn that has used the answer.
  used_by text,
  -- Who has it now, and when the next step is told; null: never.
  step text not null default 'worker' check (step in ('worker', 'operator', 'person')),
  next_step_at timestamptz,
  check ((status = 'open') = (resolution is null))
);
create unique index escalations_open on dure.escalations (subject) where status = 'open';
create index escalations_subject on dure.escalations (subject, created_at desc);
create index escalations_newest on dure.escalations (tenant, created_at desc, id desc);
create index escalations_run on dure.escalations (run, created_at desc) where run is not null;
create index escalations_due
  on dure.escalations (next_step_at) where status = 'open' and next_step_at is not null;
create index escalations_expiring
  on dure.escalations (expires_at) where status = 'open' and expires_at is not null;
-- Answers that lift what a guard has stopped, or say what became of a post: looked for every
-- second, and few.
create index escalations_lifts
  on dure.escalations (resolved_at)
  where type in ('conflict', 'delivery') and status = 'resolved' and used_at is null;
create index escalations_open_session on dure.escalations (session_id) where status = 'open';
create index escalations_job_retry
  on dure.escalations (id) where type = 'job_abandoned' and status = 'resolved' and used_at is null;
create index escalations_turn on dure.escalations (turn_id) where turn_id is not null;
create index escalations_job on dure.escalations (job) where job is not null;
`;
