/** Who looks at a room now, and who writes there. */
export const sql = /* sql */ `
-- A person who looks at a room of the web, renewed while a page is open. It says nothing of
-- yesterday: a crash of the database may empty it.
create unlogged table dure.room_visits (
  place text not null,
  person text not null,
  seen_at timestamptz not null,
  -- When others were last told that the person writes, and until when that counts.
  told_at timestamptz,
  writes_until timestamptz,
  primary key (place, person)
);
create index room_visits_person on dure.room_visits (person);
create index room_visits_age on dure.room_visits (seen_at);
`;
