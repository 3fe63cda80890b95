/** Where questions of turns stand in rooms, and from when words count for them. */
export const sql = /* sql */ `
-- It refers to no escalation: one that is answered now holds its row, and
-- waits for the place.
create table dure.room_questions (
  escalation text primary key,
  message text not null references dure.room_messages (id) on delete cascade,
  -- Its platform has it; the newest message of the place was then at this position
  shown_seq bigint,
  shown_at timestamptz
);
create index room_questions_message on dure.room_questions (message);
`;
