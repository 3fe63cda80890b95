/**
 * Changes of agents' files that were made on their pages: `dure/team/agent-edits`. And what began
 * what, to be found from both sides: `dure/team/trace-book`.
 */
export const sql = /* sql */ `
create table dure.agent_edits (
  id bigint generated always as identity primary key,
  -- The folder of data beside the team's files: what is changed here is changed on this disk alone.
  host text not null,
  agent text not null,
  file text not null,
  at timestamptz not null default clock_timestamp(),
  by_whom text not null,
  -- Null: there was no such file.
  before text,
  after text not null,
  -- The edit whose text it brings back.
  restores bigint,
  -- Null: it was begun, and its end is not known yet.
  outcome text check (outcome in ('done', 'refused', 'unknown'))
);
create index agent_edits_of_agent on dure.agent_edits (host, agent, id desc);
create index agent_edits_open on dure.agent_edits (host) where outcome is null;

create index jobs_origin_turn
  on dure.jobs (origin_turn)
  where origin_turn is not null;
create index requests_origin_turn
  on dure.requests ((origin->>'turn'))
  where origin->>'turn' is not null;
create index room_messages_during
  on dure.room_messages (during)
  where during is not null;
create index escalations_job
  on dure.escalations (job)
  where job is not null;
`;
