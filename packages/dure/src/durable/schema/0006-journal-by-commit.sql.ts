/**
 * The journal has one row for each commit. Rows of earlier releases, one for each line, stay where
 * they are and are swept with their turns. Releases up to this one read, write and remove lines
 * under the name `turn_events`. Why: docs/decisions/0024-what-a-turn-writes.md
 */
export const sql = /* sql */ `
alter table dure.turn_events rename to turn_journal;
alter index dure.turn_events_pkey rename to turn_journal_pkey;
alter table dure.turn_journal
  -- What one commit has added: [[seq, place, type, data], …]. Null: the row is one line itself.
  add column lines jsonb,
  alter column place drop not null,
  alter column type drop not null,
  alter column data drop not null;

-- The lines of the journal, one by one; first: seq of the row that has it.
create view dure.turn_events as
  select j.turn_id, l.seq, l.place, l.type, l.data, j.at, j.seq as first
  from dure.turn_journal j
  cross join lateral (
    select j.seq, j.place, j.type, j.data
    where j.lines is null
    union all
    -- an object: of a process of the release before
    select coalesce(line->>0, line->>'seq')::integer, coalesce(line->>1, line->>'place'),
      coalesce(line->>2, line->>'type'), coalesce(line->3, line->'data', 'null')
    from jsonb_array_elements(j.lines) line
  ) l;

create function dure.put_line() returns trigger language plpgsql as $$
begin
  insert into dure.turn_journal (turn_id, seq, place, type, data, at)
  values (
    new.turn_id, new.seq, new.place, new.type, new.data, coalesce(new.at, clock_timestamp())
  )
  on conflict do nothing;
  return case when found then new end;
end $$;
create trigger turn_events_put instead of insert on dure.turn_events
  for each row execute function dure.put_line();

-- Journals are removed as a whole.
create function dure.remove_journal() returns trigger language plpgsql as $$
begin
  delete from dure.turn_journal
  where turn_id = old.turn_id;
  return old;
end $$;
create trigger turn_events_remove instead of delete on dure.turn_events
  for each row execute function dure.remove_journal();
`;
