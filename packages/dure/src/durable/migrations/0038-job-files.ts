/** Files that an exchange carries: with the request, and with what its agents say. */
export const sql = /* sql */ `
-- {turn, id, name, type, bytes} of each; turn 0 is the request.
alter table dure.jobs add column files jsonb not null default '[]';
create function dure.forget_job_files() returns trigger language plpgsql as $$
begin
  return null;
end $$;
create trigger jobs_files after delete on dure.jobs
  referencing old table as gone
  for each statement execute function dure.forget_job_files();
`;
