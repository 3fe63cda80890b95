/** What the workers of a run's steps said and did, and the conversation that a step's agent had. */
export const sql = /* sql */ `
alter table dure.plan_steps add column session text;

-- Bounded per step by its writer. In the order of ids; ages with the rows of its run.
create table dure.plan_transcripts (
  id bigint generated always as identity primary key,
  step bigint not null references dure.plan_steps (id) on delete cascade,
  kind text not null,
  title text not null,
  content text not null,
  status text,
  at timestamptz not null default clock_timestamp()
);
create index plan_transcripts_step on dure.plan_transcripts (step, id);
`;
