/**
 * Runs of plans (docs/spec/plans). A run belongs to the machine that holds its folder, and is led
 * by the process that holds the lease `run:<id>`; every write of a leader reads that lease first.
 * What a leader does is cut into steps: a step that has its row with an end is never done again,
 * one without an end is done anew from the last commit.
 */
export const sql = /* sql */ `
create table dure.plan_runs (
  id text primary key,
  seq bigint generated always as identity,
  tenant text not null default '',
  -- The name of the plan, and the plan as it was read and checked.
  plan text not null,
  definition jsonb not null,
  file text,
  repository text not null,
  -- Of this run, on the machine that host names.
  folder text not null,
  host text not null,
  base_commit text not null,
  -- What ports start from: the base with the contracts.
  start_commit text,
  status text not null default 'running'
    check (status in (
      'running', 'paused', 'cancelling', 'waiting_host', 'success', 'partial',
      'failed', 'cancelled'
    )),
  -- While it waits for its machine: how it stood before.
  status_before text,
  phase text not null default 'preparing'
    check (phase in ('preparing', 'building', 'merging', 'over')),
  isolation text,
  -- In order or side by side, with the value of each condition.
  mode jsonb,
  -- Result: commit, branch, what is kept and missing.
  report jsonb,
  because jsonb,
  tokens_in bigint not null default 0,
  tokens_out bigint not null default 0,
  tokens_most bigint,
  -- Which of the machine's ranges of TCP ports its workers have, while it is led.
  listen_slot integer,
  started_by text not null default '',
  start_key text,
  body_hash text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  -- Its files and refs are being removed; they are gone. No process works on it any more.
  clean_began_at timestamptz,
  cleaned_at timestamptz
) with (fillfactor = 70);
create unique index plan_runs_seq on dure.plan_runs (tenant, seq desc);
create unique index plan_runs_key
  on dure.plan_runs (tenant, start_key)
  where start_key is not null;
create index plan_runs_going
  on dure.plan_runs (host)
  where status in ('running', 'paused', 'cancelling', 'waiting_host');
create unique index plan_runs_listen
  on dure.plan_runs (host, listen_slot)
  where listen_slot is not null;
create index plan_runs_finished
  on dure.plan_runs (finished_at)
  where finished_at is not null;

-- Machines that hold folders of runs, and when a process of theirs was last seen. A host is a
-- folder of data, not a boot.
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
      'waiting', 'ready', 'running', 'succeeded', 'failed', 'blocked', 'cancelled'
    )),
  -- Starts by the scheduler, those after a crash included.
  attempt integer not null default 0,
  because jsonb,
  -- Tries that may be made, by who makes them; the tries that were begun are steps.
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
  -- stopped: its port failed or was cancelled meanwhile; a later try of the port begins it
  -- anew.
  status text not null default 'running' check (status in ('running', 'stopped', 'done')),
  -- Its port has failed since it ended: what came of it was told.
  told boolean not null default false,
  -- How often it was begun; more than once after a crash.
  starts integer not null default 1,
  -- The process that works for it: ended by the process that takes the run over.
  process jsonb,
  progress real not null default 0,
  task text not null default '',
  tokens_in bigint not null default 0,
  tokens_out bigint not null default 0,
  manifest jsonb,
  output jsonb,
  log text not null default '',
  -- SHA-256 of the token under which tools of this step report tests; none once it has ended.
  hook_hash bytea,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  unique (run, port, try, kind)
) with (fillfactor = 70);
create unique index plan_steps_hook
  on dure.plan_steps (hook_hash)
  where hook_hash is not null;

-- Words between the members of a pair, and from the operator. In the order of ids; delivered
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
  -- Said again by a step that is done anew it is the same message.
  key text not null,
  created_at timestamptz not null default clock_timestamp(),
  delivered_at timestamptz,
  processed_at timestamptz,
  unique (run, port, key)
);
create index plan_messages_waiting
  on dure.plan_messages (run, port, receiver, id)
  where processed_at is null;

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
  -- Refused before it happened, or found when the work was taken.
  found text not null check (found in ('request', 'commit')),
  at timestamptz not null default clock_timestamp()
);
create index plan_violations_port on dure.plan_violations (run, port, id);

-- What people and escalations want of a run; the leader carries it out, in order.
create table dure.plan_orders (
  id bigint generated always as identity primary key,
  run text not null references dure.plan_runs (id) on delete cascade,
  -- {type, port?, note?, …}
  wish jsonb not null,
  by_whom text not null,
  -- null: not carried out yet. {ok} or {code, message}.
  outcome jsonb,
  created_at timestamptz not null default clock_timestamp(),
  done_at timestamptz
);
create index plan_orders_open
  on dure.plan_orders (run, id)
  where outcome is null;
`;
