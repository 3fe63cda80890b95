/** Drafts of plans: their questions and their text, until they are begun or removed. */
export const sql = /* sql */ `
create table dure.plan_drafts (
  id text primary key,
  tenant text not null,
  goal text not null,
  -- As it was asked for; null: the team's.
  repository text,
  text text not null,
  -- [{question, answer}], those that were answered first.
  questions jsonb not null,
  -- What it says it left open.
  open jsonb not null,
  -- One more with every change; a change names the one that it was made upon.
  version integer not null default 1,
  by_whom text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index plan_drafts_newest on dure.plan_drafts (tenant, updated_at desc);
`;
