/** Messages that came over A2A, by their own ids, and the tasks that they belong to. */
export const sql = /* sql */ `
create table dure.a2a_messages (
  session_id text not null,
  message_id text not null,
  -- Order of coming.
  ordinal bigint generated always as identity,
  turn_id text not null references dure.turns (id) on delete cascade,
  -- The turn that the task began with.
  task_id text not null references dure.turns (id) on delete cascade,
  -- The service that was spoken to.
  service text not null,
  body_hash text not null,
  primary key (session_id, message_id)
);
create index a2a_messages_task on dure.a2a_messages (task_id);
create index a2a_messages_turn on dure.a2a_messages (turn_id);

create index escalations_turn
  on dure.escalations (turn_id)
  where turn_id is not null;
`;
