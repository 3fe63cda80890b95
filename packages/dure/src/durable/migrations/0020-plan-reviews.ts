/** What people say about lines that a port has changed, and ports that wait for a person. */
export const sql = /* sql */ `
create table dure.plan_comments (
  id bigint generated always as identity primary key,
  run text not null references dure.plan_runs (id) on delete cascade,
  port text not null,
  path text not null,
  -- 1-based; null: about the whole file.
  line integer,
  -- Which file the line is of: before the port's work, or after it.
  side text not null check (side in ('old', 'new')),
  -- The line as the person saw it.
  quote text not null,
  text text not null,
  by_whom text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- The try that it was said about; null: it was not sent yet.
  sent_try integer
);
create index plan_comments_port on dure.plan_comments (run, port, id);

alter table dure.plan_ports drop constraint plan_ports_status_check;
alter table dure.plan_ports add constraint plan_ports_status_check check (status in (
  'waiting', 'ready', 'running', 'held', 'succeeded', 'failed', 'blocked', 'cancelled'
));
`;
