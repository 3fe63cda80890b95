/**
 * Runs of plans (docs/spec/plans). A run belongs to the machine that holds its folder, and is led
 * by the process that holds the lease `run:<id>`; every write of a leader reads that lease first.
 * What a leader does is cut into steps: a step whose row has an end is never done again, one without
 * an end is done anew from the last commit.
 */
export const sql = /* sql */ `
create table dure.plan_runs (
  id text primary key,
  seq bigint generated always as identity,
  tenant text not null default '',
  -- The plan's name, and the plan as it was read and checked.
  plan text not null,
  definition jsonb not null,
  file text,
  repository text not null,
  -- The run's own, on the machine of host.
  folder text not null,
  host text not null,
  base_commit text not null,
  -- The commit that ports start from: the base with the contracts.
  start_commit text,
  status text not null default 'running'
    check (status in (
      'running', 'paused', 'cancelling', 'waiting_host', 'success', 'partial',
      'failed', 'cancelled'
    )),
  -- The status from before it waited for its machine.
  status_before text,
  phase text not null default 'preparing'
    check (phase in ('preparing', 'building', 'merging', 'over')),
  isolation text,
  -- What held for the processes of its workers, as a trial process of its machine showed it.
  promises jsonb,
  -- In order or side by side, with the value of each condition.
  mode jsonb,
  -- Result: commit, branch, what is kept and missing.
  report jsonb,
  because jsonb,
  tokens_in bigint not null default 0,
  tokens_out bigint not null default 0,
  tokens_most bigint,
  -- Calls of models that its workers have made, and may make. Null: no bound.
  calls bigint not null default 0,
  calls_most bigint,
  -- Number of the machine's range of TCP ports that its workers have while it is led.
  listen_slot integer,
  started_by text not null default '',
  start_key text,
  body_hash text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  -- When the removal of its files and refs began, and when they were gone.
  clean_began_at timestamptz,
  cleaned_at timestamptz
) with (fillfactor = 70);
create unique index plan_runs_seq on dure.plan_runs (tenant, seq desc);
create unique index plan_runs_key on dure.plan_runs (tenant, start_key) where start_key is not null;
create index plan_runs_going
  on dure.plan_runs (host) where status in ('running', 'paused', 'cancelling', 'waiting_host');
create unique index plan_runs_listen
  on dure.plan_runs (host, listen_slot) where listen_slot is not null;
create index plan_runs_finished on dure.plan_runs (finished_at) where finished_at is not null;

-- Machines that hold folders of runs, and when a process of theirs was last seen. A host is a
-- data folder, not a boot.
create table dure.plan_hosts (
  host text primary key,
  seen_at timestamptz not null default clock_timestamp()
);

create table dure.plan_ports (
  run text not null references dure.plan_runs (id) on delete cascade,
  -- In the plan.
  position integer not null,
  id text not null,
  status text not null default 'waiting'
    check (status in (
      'waiting', 'ready', 'running', 'held', 'succeeded', 'failed', 'blocked', 'cancelled'
    )),
  -- Starts by the scheduler, those after a crash included.
  attempt integer not null default 0,
  because jsonb,
  -- Tries that may be made by the pair and by the orchestrator; those that began are steps.
  tries_pair integer not null,
  tries_orchestrator integer not null,
  spent_ms bigint not null default 0,
  time_ms bigint not null,
  tokens_in bigint not null default 0,
  tokens_out bigint not null default 0,
  tokens_most bigint,
  -- What a person said for the next try, and the paths that were allowed beside the plan.
  hint text,
  grants jsonb not null default '[]',
  -- A person has accepted that its tests say less than before.
  weaker_tests_accepted boolean not null default false,
  start_commit text,
  result_commit text,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (run, position),
  unique (run, id)
) with (fillfactor = 70);

create table dure.plan_steps (
  id bigint generated always as identity primary key,
  run text not null references dure.plan_runs (id) on delete cascade,
  -- A port's id; 'orchestrator' for contracts and the merge.
  port text not null,
  -- 1-based, over all tries of the port; 0 for what comes before the first.
  try integer not null,
  kind text not null,
  -- implementer, tester, orchestrator; null for what dure does itself.
  member text,
  worker text,
  -- 'stopped': its port failed or was cancelled meanwhile; a later try begins it anew.
  status text not null default 'running' check (status in ('running', 'stopped', 'done')),
  -- Its port has failed since it ended, and what came of it was told.
  told boolean not null default false,
  -- How often it was begun; more than once after a crash.
  starts integer not null default 1,
  -- The process that works for it: ended by the process that takes the run over.
  process jsonb,
  -- The conversation that its agent had.
  session text,
  -- The provider of its worker takes no calls; null: it waits for nothing.
  waiting jsonb,
  progress real not null default 0,
  task text not null default '',
  tokens_in bigint not null default 0,
  tokens_out bigint not null default 0,
  manifest jsonb,
  output jsonb,
  log text not null default '',
  -- SHA-256 of the token with which tools of this step report tests; null once it has ended.
  hook_hash bytea,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  unique (run, port, try, kind)
) with (fillfactor = 70);
create unique index plan_steps_hook on dure.plan_steps (hook_hash) where hook_hash is not null;

-- What the worker of a step said and did, in the order of ids. Its writer bounds it per step.
create table dure.plan_transcripts (
  id bigint generated always as identity primary key,
  step bigint not null references dure.plan_steps (id) on delete cascade,
  kind text not null,
  title text not null,
  content text not null,
  status text,
  at timestamptz not null default clock_timestamp()
);
create index plan_transcripts_step on dure.plan_transcripts (step, id);

-- Words between the members of a pair, and from the operator, in the order of ids. Delivered
-- once.
create table dure.plan_messages (
  id bigint generated always as identity primary key,
  run text not null references dure.plan_runs (id) on delete cascade,
  port text not null,
  sender text not null,
  receiver text not null,
  type text not null check (type in ('result', 'feedback', 'query', 'ack')),
  payload jsonb not null,
  reply_to bigint,
  -- The same when a step that is done anew says it again.
  key text not null,
  created_at timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  processed_at timestamptz,
  unique (run, port, key)
);
create index plan_messages_waiting
  on dure.plan_messages (run, port, receiver, id) where processed_at is null;

create table dure.plan_violations (
  id bigint generated always as identity primary key,
  run text not null references dure.plan_runs (id) on delete cascade,
  port text not null,
  try integer not null,
  member text not null,
  path text not null,
  wanted text not null check (wanted in ('read', 'write')),
  because text not null,
  detail text,
  -- 'request': refused before it happened; 'commit': found when the work was taken.
  found text not null check (found in ('request', 'commit')),
  at timestamptz not null default clock_timestamp()
);
create index plan_violations_port on dure.plan_violations (run, port, id);

-- Orders of people and escalations to a run; its leader carries them out in order.
create table dure.plan_orders (
  id bigint generated always as identity primary key,
  run text not null references dure.plan_runs (id) on delete cascade,
  -- {type, port?, note?, …}
  wish jsonb not null,
  by_whom text not null,
  -- {ok} or {code, message}; null: not carried out yet.
  outcome jsonb,
  created_at timestamptz not null default clock_timestamp(),
  done_at timestamptz
);
create index plan_orders_open on dure.plan_orders (run, id) where outcome is null;

-- What people say about lines that a port has changed.
create table dure.plan_comments (
  id bigint generated always as identity primary key,
  run text not null references dure.plan_runs (id) on delete cascade,
  port text not null,
  path text not null,
  -- 1-based; null: about the whole file.
  line integer,
  -- The file before the port's work, or after it.
  side text not null check (side in ('old', 'new')),
  -- The line as the person saw it.
  quote text not null,
  text text not null,
  by_whom text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- The try for which it was sent; null: not sent yet.
  sent_try integer
);
create index plan_comments_port on dure.plan_comments (run, port, id);

-- Who has looked at the result of a run and agrees that it leaves.
create table dure.plan_approvals (
  run text not null references dure.plan_runs (id) on delete cascade,
  -- The commit that was looked at.
  result text not null,
  -- The name of the token; tokens of one person have the same name.
  person text not null,
  by_whom text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (run, result, person)
);

-- Drafts of plans, until they are begun or removed.
create table dure.plan_drafts (
  id text primary key,
  tenant text not null,
  goal text not null,
  -- As it was asked for; null: the team's.
  repository text,
  text text not null,
  -- [{question, answer}], answered ones first.
  questions jsonb not null,
  -- What its writer has left open.
  open jsonb not null,
  -- Raised by every change; a change names the version that it was made from.
  version integer not null default 1,
  by_whom text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index plan_drafts_newest on dure.plan_drafts (tenant, updated_at desc);
`;
