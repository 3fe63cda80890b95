/** Where clients of A2A want to be told of tasks. */
export const sql = /* sql */ `
create table dure.a2a_pushes (
  task_id text not null references dure.turns (id) on delete cascade,
  id text not null,
  url text not null,
  -- As the client gave them: token, scheme and credentials of its receiver.
  secrets jsonb not null default '{}',
  -- The turn and the state that were told last.
  told text,
  -- The newest turn of the session that was looked at.
  seen_turn text not null default '',
  -- The task is over, and that was told.
  is_over boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id)
);
create index a2a_pushes_open
  on dure.a2a_pushes (created_at)
  where not is_over;
`;
