/** Messages that came over A2A, the tasks that they belong to, and where clients want news of them. */
export const sql = /* sql */ `
create table dure.a2a_messages (
  session_id text not null,
  message_id text not null,
  -- In the order in which they came.
  ordinal bigint generated always as identity,
  turn_id text not null references dure.turns (id) on delete cascade,
  -- The turn that the task began with.
  task_id text not null references dure.turns (id) on delete cascade,
  -- The service that it is for.
  service text not null,
  body_hash text not null,
  primary key (session_id, message_id)
);
create index a2a_messages_task on dure.a2a_messages (task_id);
create index a2a_messages_turn on dure.a2a_messages (turn_id);

-- Where clients want to be told of tasks.
create table dure.a2a_pushes (
  task_id text not null references dure.turns (id) on delete cascade,
  id text not null,
  url text not null,
  -- As the client gave them: token, scheme and credentials of its receiver.
  secrets jsonb not null default '{}',
  -- The last turn and state that were told.
  told text,
  -- The newest turn of the session that was looked at.
  seen_turn text not null default '',
  -- The task is over, and that was told.
  is_over boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id)
);
create index a2a_pushes_open on dure.a2a_pushes (created_at) where not is_over;
`;
