/** Who has left a thread, what people say in a row, what they change of it, and their reactions. */
export const sql = /* sql */ `
-- Agents that have left the thread, or were taken out of it.
alter table dure.places add column departed text[] not null default '{}';

-- The person is taken to say no more from then on. Null: each message has an answer of its own.
alter table dure.handlings add column rests_at timestamptz;
-- The handling of the same person's earlier message, whose turn answers this one too.
alter table dure.handlings add column gathered_by text;
create index handlings_gathered on dure.handlings (gathered_by) where gathered_by is not null;

-- The author took the message back: its words are gone.
alter table dure.room_messages add column deleted_at timestamptz;
-- When it was last edited or deleted.
alter table dure.room_messages add column changed_at timestamptz;
create index room_messages_changed
  on dure.room_messages (place, changed_at) where changed_at is not null;

-- Signs that people set below messages. 👍 and 👎 below an agent's are feedback.
create table dure.room_reactions (
  message text not null references dure.room_messages (id) on delete cascade,
  -- The platform's id of the person; on the web the name.
  author text not null,
  emoji text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (message, author, emoji)
);
`;
