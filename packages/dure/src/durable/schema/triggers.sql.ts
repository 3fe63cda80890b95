/**
 * What goes with a row that is removed, and what a row may become. The functions stand with their
 * nouns (`*.sql.ts`), and the start that makes the tables puts them in place. Until then each
 * refuses, so no row is written past a trigger.
 */
export const sql = /* sql */ `
do $$
declare
  name text;
begin
  foreach name in array array[
    'forget_session_effects', 'forget_session_budget', 'forget_session_files',
    'forget_file_bytes', 'forget_message_files', 'forget_job_files',
    'check_job_status', 'guard_job_turn', 'handle_answered_turn'
  ]
  loop
    execute format(
      'create function dure.%I() returns trigger language plpgsql as %L',
      name,
      'begin raise exception ''the functions of dure are not in place yet''; end'
    );
  end loop;
end $$;

create trigger sessions_effects after delete on dure.sessions
  for each row execute function dure.forget_session_effects();
create trigger sessions_budget after delete on dure.sessions
  for each row execute function dure.forget_session_budget();
create trigger sessions_files after delete on dure.sessions
  for each row execute function dure.forget_session_files();
create trigger files_forgotten after delete on dure.files
  referencing old table as gone
  for each statement execute function dure.forget_file_bytes();
create trigger room_messages_files after delete on dure.room_messages
  referencing old table as gone
  for each statement execute function dure.forget_message_files();
create trigger jobs_files after delete on dure.jobs
  referencing old table as gone
  for each statement execute function dure.forget_job_files();
create trigger jobs_status before update of status on dure.jobs
  for each row when (new.status is distinct from old.status)
  execute function dure.check_job_status();
create trigger turns_job before insert on dure.turns
  for each row when (new.session_id like 'job:%')
  execute function dure.guard_job_turn();
create trigger turns_answered after insert on dure.turns
  for each row when (new.author = 'system' and new.session_id like 'room:%')
  execute function dure.handle_answered_turn();
`;
