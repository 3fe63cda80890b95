/** Who has looked at the result of a run and agrees that it leaves: of one commit alone. */
export const sql = /* sql */ `
create table dure.plan_approvals (
  run text not null references dure.plan_runs (id) on delete cascade,
  result text not null,
  -- The name of the token, by which a person is known in all of theirs.
  person text not null,
  by_whom text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (run, result, person)
);
`;
